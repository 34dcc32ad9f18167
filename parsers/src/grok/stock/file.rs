//! The files of pattern definitions, as they stand in this folder.
//!
//! What it is for: a definition is one long line; here it may be written over several, and beside
//! it a definition of Logstash's legacy set may be taken with other names for its fields. The
//! invariant: nothing is dropped in silence: what is no item of a file is an error, and the files
//! are constant. Next on the trip: [`super`] looks names up.
//!
//! ```text
//! # a comment
//! NAME a regular expression
//!     that goes on: four spaces are taken off
//! field OLD NEW             what stands in place of a legacy field, in this file
//! field NAME.OLD NEW        the same, in one pattern alone
//! legacy NAME NAME=OTHER    the legacy definition of NAME (or of OTHER) with those fields
//! ```
//!
//! A group that is a field of several steps is written `(?<NAME:[a][b]>…)`, for the name of a group
//! cannot begin with a bracket.
//!
//! `NEW` is the name of a field, with a type where it has one; `-` for no field; or, when it begins
//! otherwise, what stands in place of the whole reference.

use std::collections::HashMap;

/// What continues the line above.
const INDENT: &str = "    ";

/// One file, read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PatternFile {
    /// Names and their regular expressions, in the order of the file.
    pub(super) definitions: Vec<(String, String)>,
    /// The new names of fields, by `OLD` and by `NAME.OLD`.
    pub(super) fields: HashMap<String, String>,
    /// Names, and the legacy names whose definitions they take.
    pub(super) legacy: Vec<(String, String)>,
}

impl PatternFile {
    /// Reads a file, or says which line is wrong.
    pub(super) fn read(text: &str) -> Result<PatternFile, String> {
        let mut file = PatternFile::default();
        let mut item: Option<(String, String)> = None;
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match (line.strip_prefix(INDENT), &mut item) {
                (Some(rest), Some((key, value))) => {
                    if key == "legacy" {
                        value.push(' ');
                    }
                    value.push_str(rest);
                }
                (Some(_), None) => return Err(format!("`{line}` continues nothing")),
                (None, _) => {
                    let Some((key, value)) = line.split_once(' ') else {
                        return Err(format!("`{line}` has no value"));
                    };
                    file.add(item.replace((key.to_owned(), value.to_owned())))?;
                }
            }
        }
        file.add(item)?;
        Ok(file)
    }

    fn add(&mut self, item: Option<(String, String)>) -> Result<(), String> {
        let Some((key, value)) = item else { return Ok(()) };
        match key.as_str() {
            "legacy" => self.legacy.extend(value.split_whitespace().map(|name| {
                let (name, source) = name.split_once('=').unwrap_or((name, name));
                (name.to_owned(), source.to_owned())
            })),
            "field" => {
                let Some((old, new)) = value.split_once(' ') else {
                    return Err(format!("`field {value}` has no new name"));
                };
                if self.fields.insert(old.to_owned(), new.to_owned()).is_some() {
                    return Err(format!("`field {old}` stands there twice"));
                }
            }
            _ => self.definitions.push((key, value)),
        }
        Ok(())
    }

    /// A legacy definition with this file's fields. `name` is the pattern's own.
    pub(super) fn renamed(&self, name: &str, legacy: &str) -> String {
        let mut text = String::with_capacity(legacy.len() * 2);
        let mut rest = legacy;
        while let Some(start) = rest.find(['%', '(']) {
            text.push_str(&rest[..start]);
            rest = &rest[start..];
            let taken = match Field::read(rest) {
                Some(field) => match self.new_name(name, field.old) {
                    Some(new) => {
                        field.write(name, new, &mut text);
                        field.length
                    }
                    None => 0,
                },
                None => 0,
            };
            if taken == 0 {
                text.push_str(&rest[..1]);
            }
            rest = &rest[taken.max(1)..];
        }
        text.push_str(rest);
        text
    }

    fn new_name(&self, name: &str, old: &str) -> Option<&str> {
        let new = self.fields.get(&format!("{name}.{old}")).or_else(|| self.fields.get(old));
        new.map(String::as_str)
    }
}

/// `%{PATTERN:old}`, `%{PATTERN:old:type}` or `(?<old>`.
struct Field<'a> {
    /// `None` for a group.
    pattern: Option<&'a str>,
    old: &'a str,
    length: usize,
}

impl<'a> Field<'a> {
    fn read(text: &'a str) -> Option<Field<'a>> {
        if let Some(rest) = text.strip_prefix("(?<") {
            let end = rest.find('>')?;
            let old = &rest[..end];
            let is_name = !old.starts_with(['=', '!']);
            return is_name.then_some(Field { pattern: None, old, length: 3 + end + 1 });
        }
        let rest = text.strip_prefix("%{")?;
        let end = rest.find('}')?;
        let (pattern, old) = rest[..end].split_once(':')?;
        let old = old.split(':').next().unwrap_or(old);
        Some(Field { pattern: Some(pattern), old, length: 2 + end + 1 })
    }

    /// A group is named as a reference to the pattern would be, so that a type works there too.
    fn write(&self, name: &str, new: &str, text: &mut String) {
        let is_name = new.starts_with(|first: char| first == '[' || first.is_ascii_lowercase());
        match (self.pattern, new) {
            (Some(pattern), "-") => text.extend(["%{", pattern, "}"]),
            (Some(pattern), _) if is_name => text.extend(["%{", pattern, ":", new, "}"]),
            (None, "-") => text.push_str("(?:"),
            (None, _) if is_name => text.extend(["(?<", name, ":", new, ">"]),
            (_, whole) => text.push_str(whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_go_over_lines() {
        let file = PatternFile::read("# c\nA a b\n\nB b\n     c\n    # d\nC x  \n").unwrap();
        let expect = [("A", "a b"), ("B", "b c# d"), ("C", "x  ")];
        let found: Vec<(&str, &str)> =
            file.definitions.iter().map(|(name, regex)| (&**name, &**regex)).collect();
        assert_eq!(found, expect);
    }

    #[track_caller]
    fn check(legacy: &str, expect: &str) {
        let file =
            "field a [x][y]:int\nfield b -\nfield c (?:-|%{D:c})\nfield P.a z\nlegacy P\n    Q=R";
        let file = PatternFile::read(file).unwrap();
        assert_eq!(file.renamed("Q", legacy), expect);
        let legacies = [("P".to_owned(), "P".to_owned()), ("Q".to_owned(), "R".to_owned())];
        assert_eq!(file.legacy, legacies);
        assert_eq!(file.renamed("P", "%{W:a}"), "%{W:z}");
    }

    #[test]
    fn fields_are_renamed() {
        check("%{W:a} (%{W:a:float})?", "%{W:[x][y]:int} (%{W:[x][y]:int})?");
        check("(?<a>x)(?<b>y)%{W:b}", "(?<Q:[x][y]:int>x)(?:y)%{W}");
        check("%{W:c}|%{W}|%{W:other}", "(?:-|%{D:c})|%{W}|%{W:other}");
        check(r"(?<=a)(?<!b)\({%", r"(?<=a)(?<!b)\({%");
    }

    #[test]
    fn what_is_no_item_is_an_error() {
        for text in ["    a", "A", "field a", "field a b\nfield a c", "A b\n    c\nB"] {
            assert!(PatternFile::read(text).is_err(), "{text:?}");
        }
    }
}
