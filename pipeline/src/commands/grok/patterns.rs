//! `riverhog grok --patterns FOLDER`: definitions from Logstash's pattern files.
//!
//! Invariant: as Logstash reads them: files in the order of their names, comments and lines without
//! an expression left out, a later definition of a name before an earlier one. Next stop:
//! `grok.rs`, which compiles with them.

use std::path::Path;

use super::super::CommandError;

/// Bytes of one file; the largest stock one has some ten thousand.
const FILE_BYTES_MAX: u64 = 16 << 20;

pub(super) fn read(folder: &Path) -> Result<Vec<(String, String)>, CommandError> {
    let wrong = |error: &std::io::Error| {
        CommandError::wrong(format!("reading the patterns in {}: {error}", folder.display()))
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(&error))? {
        let path = entry.map_err(|error| wrong(&error))?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut definitions = Vec::new();
    for path in paths {
        if path.metadata().map_err(|error| wrong(&error))?.len() > FILE_BYTES_MAX {
            let message = format!("{} is longer than {FILE_BYTES_MAX} bytes", path.display());
            return Err(CommandError::wrong(message));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        definitions.extend(text.lines().filter_map(definition));
    }
    Ok(definitions)
}

/// `NAME REGEX`.
fn definition(line: &str) -> Option<(String, String)> {
    let line = line.trim_start();
    if line.starts_with('#') {
        return None;
    }
    let (name, regex) = line.split_once(char::is_whitespace)?;
    let regex = regex.trim();
    (!regex.is_empty()).then(|| (name.to_owned(), regex.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_files_come_later() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b"), "STEP step [0-9]+\n").unwrap();
        std::fs::write(folder.path().join("a"), "# words\nSTEP x\n\nALONE\n RANK\trank[0-9]+ \n")
            .unwrap();
        let found = read(folder.path()).unwrap();
        let pair = |name: &str, regex: &str| (name.to_owned(), regex.to_owned());
        let expect = [pair("STEP", "x"), pair("RANK", "rank[0-9]+"), pair("STEP", "step [0-9]+")];
        assert_eq!(found, expect);
        assert!(read(&folder.path().join("none")).is_err());
    }
}
