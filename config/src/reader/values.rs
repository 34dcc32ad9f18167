//! The kinds of value a setting may have. Invariant: limits and defaults come from the declaration;
//! a value is noted for the fingerprint in one spelling, however the file spells it, and secrets
//! are not noted. Next: `sections/`.

use super::{Reader, default_text};
use crate::declare::{Choice, Kind};
use crate::document::{Entry, Node, Text, Value};
use crate::quantity::{self, QuantityError};
use crate::settings::Secret;
use crate::suggest;
use std::path::PathBuf;

impl<'a> Reader<'a> {
    /// A string; none when absent without a default, or not a string.
    pub(crate) fn text(&self, key: &str) -> Option<Text> {
        let (setting, entry) = self.take(key);
        let text = match entry {
            None => default_text(setting, &self.place)?,
            Some(entry) => self.string(entry)?.clone(),
        };
        if text.value.is_empty() && !setting.may_be_empty && !text.unresolved {
            let message = format!("`{}` is empty", self.name_of(key));
            let help = if setting.required {
                "give it a value"
            } else {
                "give it a value, or leave the key out"
            };
            self.context.error(&text.place, message, help);
            return None;
        }
        self.note(key, &*text.value);
        Some(text)
    }

    fn string(&self, entry: &'a Entry) -> Option<&'a Text> {
        match &entry.node.value {
            Value::Text(text) => Some(text),
            Value::Integer(_) | Value::Float(_) | Value::Flag(_) | Value::Datetime(_) => {
                self.mismatch(entry, "a string", "put quotes around it");
                None
            }
            _ => {
                self.mismatch(entry, "a string", format!("write `{} = \"…\"`", entry.key));
                None
            }
        }
    }

    /// A string that is never shown and does not count for the fingerprint.
    pub(crate) fn secret(&self, key: &str) -> Option<(Secret<String>, Text)> {
        let (_, entry) = self.take(key);
        let entry = entry?;
        self.hide(entry);
        let text = self.string(entry)?;
        if text.value.is_empty() && !text.unresolved {
            let message = format!("`{}` is empty", self.name_of(key));
            self.context.error(&text.place, message, "give it a value, or leave the key out");
            return None;
        }
        Some((Secret::new(text.value.clone()), text.clone()))
    }

    /// Keeps a value out of what is printed, unless it is only a reference to the environment.
    pub(crate) fn hide(&self, entry: &Entry) {
        if !matches!(&entry.node.value, Value::Text(text) if text.is_secret()) {
            self.context.hide(&entry.node.place);
        }
    }

    /// A path, joined to the folder of the file.
    pub(crate) fn path(&self, key: &str) -> Option<(PathBuf, Text)> {
        let text = self.text(key)?;
        self.joined(key, text)
    }

    /// An array of paths, joined to the folder of the file.
    pub(crate) fn paths(&self, key: &str) -> Vec<(PathBuf, Text)> {
        self.texts(key).into_iter().filter_map(|text| self.joined(key, text)).collect()
    }

    fn joined(&self, key: &str, text: Text) -> Option<(PathBuf, Text)> {
        if text.value.contains('\0') {
            let message = format!("`{}` holds a NUL character", self.name_of(key));
            self.context.error(&text.place, message, "no path may hold one");
            return None;
        }
        Some((self.context.folder.join(&text.value), text))
    }

    /// `true` or `false`; the default, or none, when absent.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let (setting, entry) = self.take(key);
        let default = setting.default.and_then(|default| default.parse().ok());
        let Some(entry) = entry else { return default };
        let flag = match &entry.node.value {
            Value::Flag(flag) => Some(*flag),
            // The environment can only give strings.
            Value::Text(text) if text.is_secret() => text.value.parse().ok(),
            _ => None,
        };
        match flag {
            Some(flag) => self.note(key, flag.to_string()),
            None => self.mismatch(entry, "`true` or `false`", "write it without quotes"),
        }
        flag.or(default)
    }

    /// A count within its limits.
    pub(crate) fn integer(&self, key: &str) -> u64 {
        let (setting, entry) = self.take(key);
        let Kind::Integer { min, max } = setting.kind else { unreachable!("declared as a count") };
        let default = setting.default.and_then(|it| it.parse().ok()).unwrap_or(min);
        let value = entry.and_then(|entry| {
            let number = match &entry.node.value {
                Value::Integer(number) => number.parse::<i128>().ok(),
                Value::Text(text) if text.is_secret() => text.value.trim().parse().ok(),
                _ => {
                    let help = format!("write `{key} = {default}`");
                    self.mismatch(entry, "a whole number", help);
                    return None;
                }
            };
            match number.and_then(|it| u64::try_from(it).ok()) {
                Some(number) if (min..=max).contains(&number) => Some(number),
                _ => {
                    let shown = shown_number(entry);
                    let message =
                        format!("`{}` is {shown}, outside {min} to {max}", self.name_of(key));
                    let help = match setting.default {
                        Some(default) => format!("the default is {default}"),
                        None => format!("write a number from {min} to {max}"),
                    };
                    self.context.error(&entry.node.place, message, help);
                    None
                }
            }
        });
        let value = value.unwrap_or(default);
        self.note(key, value.to_string());
        value
    }

    /// Bytes within the limits.
    pub(crate) fn bytes(&self, key: &str) -> u64 {
        self.quantity(key).unwrap_or_default()
    }

    /// Milliseconds within the limits.
    pub(crate) fn duration_ms(&self, key: &str) -> u64 {
        self.quantity(key).unwrap_or_default()
    }

    /// A quantity within its limits; none when absent without a default.
    pub(crate) fn quantity(&self, key: &str) -> Option<u64> {
        let (setting, entry) = self.take(key);
        let unit = Unit::of(&setting.kind);
        let default = setting.default.map(|it| (unit.parse)(it).expect("defaults are well formed"));
        let value = entry.and_then(|entry| self.checked_quantity(entry, &unit));
        let value = value.or(default);
        if let Some(value) = value {
            self.note(key, value.to_string());
        }
        value
    }

    fn checked_quantity(&self, entry: &Entry, unit: &Unit) -> Option<u64> {
        let name = self.name_of(&entry.key);
        let text = match &entry.node.value {
            Value::Text(text) => text,
            Value::Integer(number) | Value::Float(number) => {
                let message = format!("`{name}` is the bare number {number}");
                let help = format!("write the unit, such as `\"{number}{}\"`", unit.example);
                self.context.error(&entry.node.place, message, help);
                return None;
            }
            _ => {
                let help = format!("write it like `\"16{}\"`", unit.example);
                self.mismatch(entry, unit.expected, help);
                return None;
            }
        };
        match (unit.parse)(&text.value) {
            Ok(value) if (unit.min..=unit.max).contains(&value) => Some(value),
            Ok(_) => {
                let (min, max) = ((unit.show)(unit.min), (unit.show)(unit.max));
                let message = format!("`{name}` is {}, outside {min} to {max}", text.shown());
                let help = format!("write a value from {min} to {max}");
                self.context.error(&text.place, message, help);
                None
            }
            Err(error) if text.is_secret() => {
                let message = format!("`{name}` is {}, expected {}", text.shown(), unit.expected);
                self.context.error(&text.place, message, error.help);
                None
            }
            Err(error) => {
                self.context.error(&text.place, format!("`{name}`: {}", error.message), error.help);
                None
            }
        }
    }

    /// One of the declared words; the default when absent or wrong.
    pub(crate) fn choice(&self, key: &str) -> &'static str {
        let (setting, entry) = self.take(key);
        let Kind::Choice(words) = setting.kind else { unreachable!("declared as a choice") };
        let default = setting.default.expect("every choice has a default");
        let word = entry.and_then(|entry| match self.string(entry) {
            Some(text) => self.declared(key, text, words),
            None => None,
        });
        let word = word.unwrap_or(default);
        self.note(key, word);
        word
    }

    /// One of the declared words; none when absent or wrong.
    pub(crate) fn chosen(&self, key: &str) -> Option<&'static str> {
        let (setting, entry) = self.take(key);
        let Kind::Choice(words) = setting.kind else { unreachable!("declared as a choice") };
        let word = self.declared(key, self.string(entry?)?, words)?;
        self.note(key, word);
        Some(word)
    }

    /// The declared words that are listed.
    pub(crate) fn choices(&self, key: &str) -> Vec<&'static str> {
        let (setting, entry) = self.take(key);
        let Kind::Choices(words) = setting.kind else { unreachable!("declared as choices") };
        let texts = entry.map(|entry| self.strings(entry)).unwrap_or_default();
        let found: Vec<_> =
            texts.iter().filter_map(|text| self.declared(key, text, words)).collect();
        self.note(key, found.join(","));
        found
    }

    fn declared(&self, key: &str, text: &Text, words: &'static [Choice]) -> Option<&'static str> {
        let name = self.name_of(key);
        let shown = text.shown();
        match words.iter().find(|choice| choice.word == text.value) {
            Some(Choice { word, later: None, .. }) => Some(word),
            Some(Choice { later: Some(instead), .. }) => {
                let message = format!("`{name} = \"{shown}\"` arrives with a later version");
                self.context.error(&text.place, message, *instead);
                None
            }
            None => {
                let known: Vec<&str> =
                    words.iter().filter(|it| it.later.is_none()).map(|it| it.word).collect();
                let message = format!("`{name}` cannot be \"{shown}\"");
                let help = match suggest::closest(shown, known.iter().copied()) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("write {}", suggest::list(&known)),
                };
                self.context.error(&text.place, message, help);
                None
            }
        }
    }

    /// An array of strings, none of them empty; the default, or nothing, when absent.
    pub(crate) fn texts(&self, key: &str) -> Vec<Text> {
        let (setting, entry) = self.take(key);
        let texts = match entry {
            Some(entry) => self.strings(entry),
            None => setting
                .default
                .map(|it| it.split(", ").map(|part| Text::fixed(part, &self.place)).collect())
                .unwrap_or_default(),
        };
        for (index, text) in texts.iter().enumerate() {
            self.note(&format!("{key}[{index}]"), &*text.value);
        }
        texts
    }

    fn strings(&self, entry: &Entry) -> Vec<Text> {
        let name = self.name_of(&entry.key);
        let nodes = match &entry.node.value {
            Value::Array(nodes) => nodes,
            Value::Text(text) => {
                let help = format!("write `{} = [\"{}\"]`", entry.key, text.shown());
                self.mismatch(entry, "an array of strings", help);
                return Vec::new();
            }
            _ => {
                let help = format!("write `{} = [\"…\"]`", entry.key);
                self.mismatch(entry, "an array of strings", help);
                return Vec::new();
            }
        };
        if nodes.is_empty() {
            let help = "name at least one, or leave the key out";
            self.context.error(&entry.node.place, format!("`{name}` is empty"), help);
        }
        nodes.iter().filter_map(|node| self.element(&name, node)).collect()
    }

    /// A string inside an array, not empty.
    pub(crate) fn element(&self, name: &str, node: &Node) -> Option<Text> {
        match &node.value {
            Value::Text(text) if text.value.is_empty() && !text.unresolved => {
                let message = format!("`{name}` holds an empty string");
                self.context.error(&node.place, message, "give it a value, or take it out");
                None
            }
            Value::Text(text) => Some(text.clone()),
            other => {
                let message = format!("`{name}` holds {}, expected strings", other.kind());
                self.context.error(&node.place, message, "put quotes around it");
                None
            }
        }
    }

    /// A table of strings, with the places of its keys.
    pub(crate) fn text_map(&self, key: &str) -> Vec<(&'a Entry, Text)> {
        let Some(entries) = self.table(key) else { return Vec::new() };
        let name = self.name_of(key);
        let texts = entries.iter().filter_map(|entry| match &entry.node.value {
            Value::Text(text) => Some((entry, text.clone())),
            other => {
                let message =
                    format!("`{name}.{}` is {}, expected a string", entry.key, other.kind());
                self.context.error(&entry.node.place, message, "put quotes around it");
                None
            }
        });
        let texts: Vec<_> = texts.collect();
        for (entry, text) in &texts {
            self.note(&format!("{key}.{}", entry.key), &*text.value);
        }
        texts
    }

    /// A table of arrays of strings, with the places of its keys.
    pub(crate) fn text_lists(&self, key: &str) -> Vec<(&'a Entry, Vec<Text>)> {
        let entries = self.table(key).unwrap_or_default().iter();
        let name = self.name_of(key);
        let list = |entry: &'a Entry| match &entry.node.value {
            Value::Array(nodes) => {
                let name = format!("{name}.{}", entry.key);
                nodes.iter().filter_map(|node| self.element(&name, node)).collect()
            }
            other => {
                let kind = other.kind();
                let message = format!("`{name}.{}` is {kind}, expected an array", entry.key);
                let help = format!("write `{} = [\"…\"]`", entry.key);
                self.context.error(&entry.node.place, message, help);
                Vec::new()
            }
        };
        let lists: Vec<_> = entries.map(|entry| (entry, list(entry))).collect();
        for (entry, texts) in &lists {
            for (index, text) in texts.iter().enumerate() {
                self.note(&format!("{key}.{}[{index}]", entry.key), &*text.value);
            }
        }
        lists
    }

    /// The entries of a table, as they are; not noted for the fingerprint.
    pub(crate) fn table(&self, key: &str) -> Option<&'a [Entry]> {
        let (setting, entry) = self.take(key);
        let entry = entry?;
        if let Value::Table(table) = &entry.node.value {
            return Some(&table.entries);
        }
        let help = format!("write `{key} = {}`", super::skeleton(&setting.kind));
        self.mismatch(entry, "a table", help);
        None
    }

    /// The value as it is; not noted for the fingerprint.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        self.take(key).1.map(|entry| &entry.node)
    }
}

fn shown_number(entry: &Entry) -> &str {
    match &entry.node.value {
        Value::Integer(number) => number,
        Value::Text(text) => text.shown(),
        _ => "",
    }
}

/// How one kind of quantity is read and shown.
struct Unit {
    parse: fn(&str) -> Result<u64, QuantityError>,
    show: fn(u64) -> String,
    expected: &'static str,
    example: &'static str,
    min: u64,
    max: u64,
}

impl Unit {
    fn of(kind: &Kind) -> Self {
        match *kind {
            Kind::Bytes { min, max } => Self {
                parse: quantity::bytes,
                show: quantity::show_bytes,
                expected: "a size in a string",
                example: "MiB",
                min,
                max,
            },
            Kind::Duration { min, max } => Self {
                parse: quantity::duration_ms,
                show: quantity::show_duration,
                expected: "a duration in a string",
                example: "s",
                min,
                max,
            },
            _ => unreachable!("declared as a quantity"),
        }
    }
}
