//! Files of grok patterns, as Logstash has them. Invariant: the files of a folder come in the order
//! of their names, hidden ones left out, and everything read is bounded. Next:
//! `compile/patterns.rs`, which checks the definitions.

use riverhog_parsers::grok::{PatternLine, pattern_lines};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of all files that one path names; all stock ones together have some hundred thousand.
const BYTES_MAX: u64 = 4 << 20;
/// Files of one folder.
const FILES_MAX: usize = 1_000;

/// One file of patterns, a `NAME` and a regular expression a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternFile {
    /// Where it was read.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
}

impl PatternFile {
    /// Its lines but for comments, in their order: of one name the last counts.
    pub fn lines(&self) -> impl Iterator<Item = PatternLine<'_>> {
        pattern_lines(&self.text)
    }

    /// Its definitions, without the lines that have no regular expression.
    pub fn definitions(&self) -> impl Iterator<Item = (String, String)> {
        let whole = self.lines().filter(|line| !line.regex.is_empty());
        whole.map(|line| (line.name.to_owned(), line.regex.to_owned()))
    }
}

/// Reads a file of patterns, or the files that stand in a folder, those in folders below it not.
///
/// # Errors
/// What cannot be read, is no text, or is larger than 4 MiB together: in words, with its path.
pub fn read_pattern_files(path: &Path) -> Result<Vec<PatternFile>, String> {
    let paths = if path.is_dir() { folder(path)? } else { vec![path.to_owned()] };
    let mut left = BYTES_MAX;
    let mut files = Vec::new();
    for path in paths {
        let text = read(&path, left).map_err(|error| at(&path, &error))?;
        left -= text.len() as u64;
        files.push(PatternFile { path, text });
    }
    Ok(files)
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("`{}` cannot be read: {error}", path.display())
}

fn folder(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let entry = entry.map_err(|error| at(folder, &error))?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.path().is_file() {
            paths.push(entry.path());
        }
        if paths.len() > FILES_MAX {
            return Err(format!("`{}` holds more than {FILES_MAX} files", folder.display()));
        }
    }
    paths.sort();
    Ok(paths)
}

/// A pipe or a device has no end that can be waited for: only files are read.
fn read(path: &Path, bytes_max: u64) -> std::io::Result<String> {
    let other = std::io::Error::other;
    if !std::fs::metadata(path)?.is_file() {
        return Err(other("it is no file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(other("the files are larger than 4MiB together"));
    }
    String::from_utf8(bytes).map_err(|_| other("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Result<Vec<String>, String> {
        let files = read_pattern_files(path)?;
        Ok(files.iter().flat_map(|it| it.definitions().map(|pair| pair.0)).collect())
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("b", "STEP step [0-9]+\n");
        write("a", "# words\nWORDS x\n\nALONE\n RANK\trank[0-9]+ \n");
        write(".hidden", "HIDDEN x\n");
        std::fs::create_dir(folder.path().join("below")).unwrap();
        write("below/c", "BELOW x\n");
        assert_eq!(names(folder.path()).unwrap(), ["WORDS", "RANK", "STEP"]);
        assert_eq!(names(&folder.path().join("b")).unwrap(), ["STEP"]);
    }

    #[test]
    fn what_is_no_file_of_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let error = names(&path).unwrap_err();
        assert!(error.starts_with('`') && error.contains("cannot be read"), "{error}");
        std::fs::write(&path, b"A \xff").unwrap();
        assert!(names(&path).unwrap_err().ends_with("it is not UTF-8"));
        std::fs::write(&path, vec![b'x'; 5 << 20]).unwrap();
        assert!(names(folder.path()).unwrap_err().contains("4MiB"));
        assert!(names(Path::new("/dev/zero")).unwrap_err().ends_with("it is no file"));
    }
}
