//! Dead letters in a local folder: each write is one file of JSON lines, made durable before it is
//! acknowledged.
//!
//! Invariant: a file appears under its name only when it is whole and on disk; its name is made of
//! the letters' ids, so that the same letters written again meet their file. Next stop: `redrive`
//! reads the folder.

use std::fs::{File, OpenOptions, create_dir_all, hard_link, remove_file};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use twox_hash::XxHash64;

use super::letter::Letter;
use super::{DeadLetterTarget, LetterOutcome, Writing};

/// Most characters of an event id that go into a file name.
const NAME_ID_MAX: usize = 120;

/// A folder of dead letters.
#[derive(Debug, Clone)]
pub struct LocalLetters {
    folder: PathBuf,
}

impl LocalLetters {
    /// Letters go into `folder`, which is made when it is not there.
    pub fn new(folder: PathBuf) -> LocalLetters {
        LocalLetters { folder }
    }
}

impl DeadLetterTarget for LocalLetters {
    fn write<'a>(&'a self, letters: &'a [Letter]) -> Writing<'a> {
        let count = letters.len();
        let folder = self.folder.clone();
        let mut text = Vec::new();
        for letter in letters {
            text.extend_from_slice(&letter.value);
            text.push(b'\n');
        }
        let name = file_name(letters);
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || write_file(&folder, &name, &text));
            let outcome = match written.await {
                Ok(Ok(())) => LetterOutcome::Done,
                Ok(Err(error)) if error.kind() == ErrorKind::PermissionDenied => {
                    LetterOutcome::Halt(error.to_string())
                }
                Ok(Err(error)) => LetterOutcome::Retry(error.to_string()),
                Err(error) => LetterOutcome::Retry(error.to_string()),
            };
            vec![outcome; count]
        })
    }
}

fn file_name(letters: &[Letter]) -> String {
    let mut ids = Vec::new();
    for letter in letters {
        ids.extend_from_slice(&letter.key);
        // One event may be owed by several sinks: each has a letter of its own.
        let said: Value = serde_json::from_slice(&letter.value).unwrap_or_default();
        for part in ["sink", "reason"] {
            ids.push(b'\t');
            ids.extend_from_slice(said[part].as_str().unwrap_or_default().as_bytes());
        }
        ids.push(b'\n');
    }
    let first = letters.first().map(|letter| String::from_utf8_lossy(&letter.key).into_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let first: String = first.unwrap_or_default().chars().take(NAME_ID_MAX).map(plain).collect();
    format!("{first}-{}-{:016x}.jsonl", letters.len(), XxHash64::oneshot(0, &ids))
}

fn write_file(folder: &Path, name: &str, text: &[u8]) -> std::io::Result<()> {
    create_dir_all(folder)?;
    let path = folder.join(name);
    if path.exists() {
        return Ok(());
    }
    let unfinished = folder.join(format!(".{name}.{}.part", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&unfinished)?;
    file.write_all(text)?;
    file.sync_all()?;
    let linked = hard_link(&unfinished, &path);
    remove_file(&unfinished)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(id: &str) -> Letter {
        Letter {
            key: id.as_bytes().to_vec(),
            value: format!("{{\"event_id\":\"{id}\"}}").into_bytes(),
        }
    }

    /// Both stores were down, and the same lines were diverted from both.
    #[tokio::test]
    async fn two_sinks_that_owe_one_event_have_a_letter_each() {
        let folder = tempfile::tempdir().unwrap();
        let target = LocalLetters::new(folder.path().to_owned());
        let of_sink = |sink: &str| Letter {
            key: b"c-t-0-1".to_vec(),
            value: format!(r#"{{"event_id":"c-t-0-1","reason":"halted","sink":"{sink}"}}"#).into(),
        };
        for sink in ["a", "b", "a"] {
            assert_eq!(target.write(&[of_sink(sink)]).await, [LetterOutcome::Done]);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn the_same_letters_make_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = LocalLetters::new(folder.path().join("dead"));
        let letters = [letter("c-../t-0-1-x-0"), letter("c-t-0-2-x-0")];
        for _ in 0..2 {
            assert_eq!(target.write(&letters).await, vec![LetterOutcome::Done; 2]);
        }
        let files: Vec<_> = std::fs::read_dir(folder.path().join("dead")).unwrap().collect();
        assert_eq!(files.len(), 1);
        let text = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
        assert_eq!(text.lines().count(), 2);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let target = LocalLetters::new(file.join("dead"));
        let outcome = target.write(&[letter("a")]).await;
        assert!(matches!(outcome[..], [LetterOutcome::Retry(_)]), "{outcome:?}");
    }
}
