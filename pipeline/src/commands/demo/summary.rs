//! What the demo leaves behind, read back from the disk: lines by task and level, dead letters.
//!
//! Invariant: nothing is told from memory: what counts is what the files hold. Next stop: none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::commands::console::{Console, Mood, grouped};
use crate::sink::archive::footer::LevelCounts;
use crate::sink::archive::local::LocalStore;
use crate::sink::archive::store::{Depth, Listed, ReadOutcome, list_all, read_footer};
use crate::sink::archive::verify::{Report, verify_chains};
use crate::telemetry::escape::escape_control;

/// What the files hold.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// By task, the first part of the key.
    tasks: BTreeMap<String, LevelCounts>,
    /// What reading all of the archive back has shown.
    pub(super) archive: Report,
    /// Event ids of the dead letters.
    dead: BTreeSet<String>,
    /// One of them.
    sample: Option<Value>,
}

impl Summary {
    /// Reads archive and dead letters.
    ///
    /// # Errors
    /// In words, what cannot be read.
    pub(super) async fn read(archive: &Path, dead_letters: &Path) -> Result<Summary, String> {
        let store = LocalStore::new(archive);
        let mut summary = Summary::default();
        let mut keys = Vec::new();
        let each = |listed: Listed| {
            if listed.key.ends_with(".jsonl.zst") {
                keys.push(listed.key);
            }
        };
        done(list_all(&store, "", None, Depth::Tree, each).await)?;
        for key in keys {
            let footer = done(read_footer(&store, &key).await)?;
            let task = key.split('/').next().unwrap_or_default().to_owned();
            add(summary.tasks.entry(task).or_default(), &footer.levels);
        }
        summary.archive = done(verify_chains(&store, "").await)?;
        summary.read_dead_letters(dead_letters)?;
        Ok(summary)
    }

    fn read_dead_letters(&mut self, folder: &Path) -> Result<(), String> {
        let unread = |error: std::io::Error| format!("{}: {error}", folder.display());
        if !folder.exists() {
            return Ok(());
        }
        for entry in std::fs::read_dir(folder).map_err(unread)? {
            let path = entry.map_err(unread)?.path();
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(&path).map_err(unread)?.lines() {
                let letter: Value = serde_json::from_str(line)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                let id = letter["event_id"].as_str().unwrap_or_default().to_owned();
                self.dead.insert(id);
                self.sample.get_or_insert(letter);
            }
        }
        Ok(())
    }

    /// Lines in archive and dead letters.
    pub(super) fn lines(&self) -> u64 {
        self.archive.lines + self.dead_letters()
    }

    /// Lines in the dead letters.
    pub(super) fn dead_letters(&self) -> u64 {
        self.dead.len() as u64
    }

    /// The table of lines by task and level, and a dead letter.
    pub(super) fn write(&self, out: &mut impl Write, console: Console) -> std::io::Result<()> {
        const HEADS: [&str; 6] = ["fatal", "error", "warn", "info", "debug", "none"];
        let mut all = LevelCounts::default();
        for levels in self.tasks.values() {
            add(&mut all, levels);
        }
        let width = self.tasks.keys().map(|task| task.chars().count()).max().unwrap_or(0).max(8);
        let heads: Vec<String> = HEADS.iter().map(|level| format!(" {level:>8}")).collect();
        let head = format!("{:width$}  {:>9}{}", "task", "lines", heads.concat());
        writeln!(out, "{}", console.paint(Mood::Dim, &head))?;
        let total = ("all".to_owned(), all);
        let rows = self.tasks.iter().map(|(task, levels)| (task.clone(), *levels));
        for (task, levels) in rows.chain([total]) {
            let counts =
                [levels.fatal, levels.error, levels.warn, levels.info, levels.debug, levels.none];
            write!(out, "{:width$}  {:>9}", escape_control(&task), grouped(levels.total()))?;
            for count in counts {
                write!(out, " {:>8}", grouped(count))?;
            }
            writeln!(out)?;
        }
        if let Some(sample) = &self.sample {
            let reason = sample["reason"].as_str().unwrap_or_default();
            let raw = sample["records"][0]["value"].as_str().unwrap_or_default();
            let raw: String = raw.chars().take(60).collect();
            writeln!(
                out,
                "dead letters: {} ({}: the prefix names a task, the line has none), such as: {}…",
                grouped(self.dead_letters()),
                escape_control(reason),
                escape_control(&raw),
            )?;
        }
        Ok(())
    }
}

fn done<T>(outcome: ReadOutcome<T>) -> Result<T, String> {
    match outcome {
        ReadOutcome::Done(value) => Ok(value),
        ReadOutcome::Unreadable(it) => Err(it.to_string()),
        ReadOutcome::Retry(it) => Err(it.to_string()),
        ReadOutcome::Halt(it) => Err(it.to_string()),
    }
}

fn add(sum: &mut LevelCounts, levels: &LevelCounts) {
    sum.trace += levels.trace;
    sum.debug += levels.debug;
    sum.info += levels.info;
    sum.warn += levels.warn;
    sum.error += levels.error;
    sum.fatal += levels.fatal;
    sum.none += levels.none;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn dead_letters_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let dead = folder.path().join("dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join("a.jsonl"), "{\"event_id\":\"1\"}\n{\"event_id\":\"2\"}\n")
            .unwrap();
        std::fs::write(dead.join("b.jsonl"), "{\"event_id\":\"2\"}\n").unwrap();
        std::fs::write(dead.join(".c.part"), "{").unwrap();
        let summary = Summary::read(&folder.path().join("archive"), &dead).await.unwrap();
        assert_eq!((summary.dead_letters(), summary.lines()), (2, 2));
        std::fs::write(dead.join("d.jsonl"), "{").unwrap();
        assert!(Summary::read(&folder.path().join("archive"), &dead).await.is_err());
    }
}
