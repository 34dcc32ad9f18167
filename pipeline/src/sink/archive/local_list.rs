//! Lists the keys of a folder store as S3 would: ascending by bytes, in pages.
//!
//! Invariant: a page holds at most `PAGE_KEYS` keys and memory one folder's names at a time for
//! each level; links are not followed, so a walk ends. Next stop: `local.rs` answers with it.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::local::TEMPORARY_START;
use super::store::{Depth, ListRequest, Listed, PAGE_KEYS, Page};

/// Deepest folder a walk goes into: prefixes are templates of a few segments.
const LEVELS_MAX: usize = 64;

/// One page of the keys below `root`.
///
/// # Errors
/// Of the file system; a folder that is not there has no keys.
pub(super) fn list_page(root: &Path, request: &ListRequest) -> io::Result<Page> {
    let folder = request.prefix.rfind('/').map_or("", |end| &request.prefix[..=end]);
    if folder.split('/').any(|segment| segment == "..") || folder.starts_with('/') {
        return Ok(Page::default());
    }
    let after = request.next.as_deref().max(request.start_after.as_deref()).unwrap_or("");
    let mut walk = Walk { request, after, objects: Vec::new() };
    let path = root.join(folder);
    if request.depth == Depth::Folder {
        // What is read here may be taken for stored, so its name must be on the disk.
        match File::open(&path) {
            Ok(open) => open.sync_all()?,
            Err(error) if is_gone(&error) => return Ok(Page::default()),
            Err(error) => return Err(error),
        }
    }
    walk.folder(&path, folder, 0)?;
    let full = walk.objects.len() > PAGE_KEYS;
    walk.objects.truncate(PAGE_KEYS);
    let next = walk.objects.last().filter(|_| full).map(|object| object.key.clone());
    Ok(Page { objects: walk.objects, next })
}

/// Nothing is there: neither is anything below a file.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

struct Walk<'a> {
    request: &'a ListRequest,
    /// Only keys greater than this.
    after: &'a str,
    objects: Vec<Listed>,
}

impl Walk<'_> {
    fn folder(&mut self, path: &Path, key: &str, level: usize) -> io::Result<()> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            // Deleted on the way, or never made.
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(self.wanted(&entry?, key)?);
        }
        names.sort_unstable();
        for name in names {
            if self.objects.len() > PAGE_KEYS {
                break;
            }
            if name.ends_with('/') {
                if level < LEVELS_MAX {
                    self.folder(&path.join(&name), &format!("{key}{name}"), level + 1)?;
                }
                continue;
            }
            match fs::metadata(path.join(&name)) {
                Ok(metadata) => {
                    self.objects
                        .push(Listed { key: format!("{key}{name}"), bytes: metadata.len() });
                }
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The entry's name when keys of the page may come of it; a folder's ends in `/`, which is also
    /// what puts it at its place among the files.
    fn wanted(&self, entry: &DirEntry, key: &str) -> io::Result<Option<String>> {
        let Ok(mut name) = entry.file_name().into_string() else {
            return Ok(None);
        };
        if name.starts_with(TEMPORARY_START) {
            return Ok(None);
        }
        let kind = entry.file_type()?;
        let mut full = format!("{key}{name}");
        let prefix = &self.request.prefix;
        if kind.is_dir() {
            full.push('/');
            name.push('/');
            let below = full.starts_with(prefix.as_str()) || prefix.starts_with(&full);
            let passed = *full < *self.after && !self.after.starts_with(&full);
            let wanted = self.request.depth == Depth::Tree && below && !passed;
            return Ok(wanted.then_some(name));
        }
        let wanted = kind.is_file() && full.starts_with(prefix.as_str()) && *full > *self.after;
        Ok(wanted.then_some(name))
    }
}
