//! The tables of a configuration, each file read once. Invariant: a table has the number that it is
//! looked up by, and files and hashes stand in the order in which they are read again. Next:
//! `parse.rs`.

use crate::document::Text;
use crate::reader::Context;
use crate::sections::{Drafts, ShapeOfStep};
use crate::settings::Secret;
use crate::table_file;
use riverhog_rules::plan::Tables;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tables, and the files they were read from.
#[derive(Default)]
pub(crate) struct TableFiles {
    pub(crate) tables: Tables,
    /// That of hosts first, if it was read, then the others by their numbers.
    pub(crate) paths: Vec<PathBuf>,
    /// Of their texts, in the same order.
    pub(crate) hashes: Vec<u64>,
}

impl TableFiles {
    /// Reads every table that is named; what cannot be read is reported.
    pub(super) fn read(context: &Context<'_>, drafts: &Drafts) -> TableFiles {
        let mut files = TableFiles::default();
        if let Some((path, text)) = &drafts.hosts.table {
            match table_file::read_hosts(path, &name_of(path, text)) {
                Ok((table, hash)) => {
                    files.tables.hosts = Some(Arc::new(table));
                    files.push(path, hash);
                }
                Err(problem) => context.report(problem.at(&text.place)),
            }
        }
        for draft in &drafts.steps {
            let Some(ShapeOfStep::Lookup(lookup)) = &draft.shape else { continue };
            let Some((path, text)) = &lookup.table else { continue };
            if files.number(path).is_some() {
                continue;
            }
            match table_file::read_lookup(path, &name_of(path, text)) {
                Ok((table, hash)) => {
                    files.tables.lookups.push(Arc::new(table));
                    files.push(path, hash);
                }
                Err(problem) => context.report(problem.at(&text.place)),
            }
        }
        files
    }

    fn push(&mut self, path: &Path, hash: u64) {
        self.paths.push(path.to_owned());
        self.hashes.push(hash);
    }

    /// The number of the table that steps look up in this file.
    pub(super) fn number(&self, path: &Path) -> Option<usize> {
        let hosts = usize::from(self.tables.hosts.is_some());
        self.paths.get(hosts..)?.iter().position(|known| known == path)
    }
}

fn name_of(path: &Path, text: &Text) -> Secret<String> {
    let file = if text.is_secret() { text.shown().into() } else { path.to_string_lossy() };
    Secret::with_shown(file.into_owned(), text.shown())
}
