//! The files of the repository, read once.
//!
//! The invariant: build output and what belongs to git is not looked at; everything else is.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::lexer::{Lexed, lex};

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];
/// Names of text files without an ending.
const NAMES: [&str; 5] = ["x", "run", "LICENSE", "Dockerfile", ".gitignore"];
/// Endings of text files.
const ENDINGS: [&str; 17] = [
    "rs",
    "md",
    "toml",
    "sh",
    "java",
    "xml",
    "in",
    "properties",
    "lock",
    "json",
    "yaml",
    "yml",
    "csv",
    "js",
    "css",
    "html",
    "service",
];

/// A text file.
pub(crate) struct Text {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) content: String,
    lexed: OnceLock<Lexed>,
}

/// All text files, by path.
pub(crate) fn repository() -> &'static [Text] {
    static TEXTS: OnceLock<Vec<Text>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let mut texts = Vec::new();
        collect(root(), &mut texts);
        texts.sort_by(|a, b| a.path.cmp(&b.path));
        texts
    })
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn collect(folder: &Path, texts: &mut Vec<Text>) {
    let entries = fs::read_dir(folder).expect("the folder was listed by its parent");
    for entry in entries.map(|entry| entry.expect("a readable folder")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                collect(&path, texts);
            }
            continue;
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !NAMES.contains(&name.as_str()) && !ENDINGS.contains(&ending) {
            continue;
        }
        // What is not UTF-8 (golden files of broken input) is data.
        let Ok(content) = fs::read_to_string(&path) else {
            continue;
        };
        let relative = path.strip_prefix(root()).expect("below the root");
        let path = relative.to_string_lossy().replace('\\', "/");
        texts.push(Text { path, content, lexed: OnceLock::new() });
    }
}

impl Text {
    pub(crate) fn absolute(&self) -> PathBuf {
        root().join(&self.path)
    }

    /// Is this the ending of its name?
    pub(crate) fn ends_in(&self, ending: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == ending)
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.ends_in("rs")
    }

    pub(crate) fn is_shell(&self) -> bool {
        !self.is_rust() && (self.content.starts_with("#!") || self.ends_in("sh"))
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.ends_in("md")
    }

    /// Input and expected output of tests, and what a program wrote.
    pub(crate) fn is_data(&self) -> bool {
        ["/golden/", "/transcripts/"].iter().any(|folder| self.path.contains(folder))
            || self.path == "Cargo.lock"
    }

    /// Is the whole file test code?
    pub(crate) fn is_test(&self) -> bool {
        let folder = self.path.starts_with("tests/") || self.path.contains("/tests/");
        folder || self.path.ends_with("/tests.rs")
    }

    /// Lines from 1 on.
    pub(crate) fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.content.lines())
    }

    /// Lines with comments and strings blanked out, from 1 on.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.lexed().code.lines())
    }

    /// The first line of the tests at the end of a source file, or the line after the last.
    pub(crate) fn first_test_line(&self) -> usize {
        let lines: Vec<&str> = self.lexed().code.lines().map(str::trim).collect();
        let opens = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].ends_with('{')
        };
        lines.windows(2).position(opens).map_or(lines.len(), |index| index) + 1
    }

    /// The numbers of the lines that a string goes through, or that hold little but a string.
    pub(crate) fn lines_of_strings(&self) -> HashSet<usize> {
        if !self.is_rust() {
            return HashSet::new();
        }
        let lines = self.code_lines().zip(self.content.lines());
        let little =
            |code: &str, line: &str| code.trim().len() < 4 && !line.trim_start().starts_with("//");
        let alone = lines.filter(|((_, code), line)| little(code, line));
        alone.map(|((number, _), _)| number).chain(self.lexed().inside_strings.clone()).collect()
    }

    fn lexed(&self) -> &Lexed {
        self.lexed.get_or_init(|| lex(&self.content))
    }
}
