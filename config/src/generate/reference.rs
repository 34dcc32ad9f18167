//! docs/reference.md. Next stop: none.

use super::default_toml;
use crate::declare::{self, Choice, Kind, Part, Section, Setting, Shape, Variant};
use crate::quantity;
use std::fmt::Write as _;

const HEAD: &str = "\
# Configuration reference

<!-- Made from config/src/declare by `UPDATE=1 cargo test -p riverhog-config`. Do not edit. -->

A configuration is one TOML file, or a folder whose `*.toml` files are read in the order of their
names as if they were one; a name may stand in one of them only. `riverhog check` reports every
problem with its place and its cure. Unknown keys are errors.

- **Quantities** carry their unit: `\"64MiB\"` (`B`, `KiB`, `MiB`, `GiB`, `TiB`, `kB`, `MB`, `GB`,
  `TB`), `\"10m\"` (`ms`, `s`, `m`, `h`, `d`; `\"1h30m\"` too).
- **The environment**: inside strings, `${NAME}`, `${NAME:-default}` and `${file:PATH}` are replaced
  after the file has been read; `$$` is a dollar sign. What came from there is shown in no message.
  A count or a boolean may be such a string too.
- **Paths** start at the folder of the file.
- **Patterns, conditions and templates** are best written as literal strings (`'…'`), where a
  backslash is a backslash and a problem is shown exactly where it is.
- **Names** in conditions and templates: `timestamp`, `received`, `level`, `component`, `content`,
  `message`, `host`, `host.COLUMN`, `rank`, `tags`, `topic`, `partition`, `key`, `header.NAME`,
  `envelope.PATH`, `fields.NAME`, and each label by its own name.
- **Templates**: `{task}`, `{timestamp:%Y.%m.%d}`; `{{` and `}}` are braces. What log data puts into
  one is made fit to stand in an index name or a key.
";

/// The reference page in Markdown.
pub fn reference_page() -> String {
    let mut page = HEAD.to_owned();
    let top = &declare::ROOT;
    page.push_str("\n## The top of the file\n");
    section_body(&mut page, top);
    for part in &declare::PARTS {
        part_text(&mut page, part);
    }
    page
}

fn part_text(page: &mut String, part: &Part) {
    let key = part.key;
    let heading = match part.shape {
        Shape::One(_) | Shape::OneOf(_) => format!("[{key}]"),
        Shape::Named(_) if key == "labels" => "[labels]".to_owned(),
        Shape::Named(_) | Shape::NamedOf(_) => format!("[{key}.NAME]"),
        Shape::List(_) => format!("[[{key}]]"),
    };
    let _infallible = write!(page, "\n## `{heading}`\n\n{}\n", wrapped(part.doc));
    match &part.shape {
        Shape::One(section) | Shape::Named(section) | Shape::List(section) => {
            section_body(page, section);
        }
        Shape::OneOf(variants) | Shape::NamedOf(variants) => {
            for Variant { word, section } in *variants {
                let _infallible = write!(page, "\n### `type = \"{word}\"`\n");
                section_body(page, section);
            }
        }
    }
}

fn section_body(page: &mut String, section: &Section) {
    if !section.doc.is_empty() {
        let _infallible = write!(page, "\n{}\n", wrapped(section.doc));
    }
    if !section.example.is_empty() {
        let _infallible = write!(page, "\n```toml\n{}```\n", section.example);
    }
    page.push_str("\n| setting | value | default | |\n|---|---|---|---|\n");
    let mut words = String::new();
    rows(page, &mut words, "", section);
    if !words.is_empty() {
        page.push('\n');
        page.push_str(&words);
    }
}

fn rows(page: &mut String, words: &mut String, before: &str, section: &Section) {
    for setting in section.settings {
        let name = format!("{before}{}", setting.name);
        let (kind, default) = (kind_text(&setting.kind), default_text(setting));
        let _infallible =
            writeln!(page, "| `{name}` | {kind} | {default} | {} |", cell(setting.doc));
        match &setting.kind {
            Kind::Section(inner) | Kind::Sections(inner) => {
                rows(page, words, &format!("{name}."), inner);
            }
            Kind::Choice(choices) | Kind::Choices(choices) => {
                for Choice { word, doc, .. } in choices.iter().filter(|it| it.later.is_none()) {
                    let _infallible = writeln!(words, "- `{name} = \"{word}\"`: {doc}.");
                }
                let later: Vec<&str> =
                    choices.iter().filter(|it| it.later.is_some()).map(|it| it.word).collect();
                if !later.is_empty() {
                    let list = later.join("`, `");
                    let _infallible =
                        writeln!(words, "- `{list}` for `{name}`: with a later version.");
                }
            }
            _ => {}
        }
    }
}

fn kind_text(kind: &Kind) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Secret => "string, never shown".to_owned(),
        Kind::Path => "path".to_owned(),
        Kind::Template => "template".to_owned(),
        Kind::Condition => "condition".to_owned(),
        Kind::Grok => "string or array of strings".to_owned(),
        Kind::Start => "string or time".to_owned(),
        Kind::Texts => "array of strings".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Integer { min, max } => format!("count, {min} to {max}"),
        Kind::Bytes { min, max } => {
            format!("size, {} to {}", quantity::show_bytes(*min), quantity::show_bytes(*max))
        }
        Kind::Duration { min, max } => {
            let (min, max) = (quantity::show_duration(*min), quantity::show_duration(*max));
            format!("duration, {min} to {max}")
        }
        Kind::Choice(_) => "word".to_owned(),
        Kind::Choices(_) => "array of words".to_owned(),
        Kind::TextMap => "table of strings".to_owned(),
        Kind::TextLists => "table of arrays of strings".to_owned(),
        Kind::Properties | Kind::Expectations => "table".to_owned(),
        Kind::Section(_) => "table".to_owned(),
        Kind::Sections(_) => "array of tables".to_owned(),
    }
}

fn default_text(setting: &Setting) -> String {
    match (default_toml(setting), setting.absent) {
        _ if setting.required => "required".to_owned(),
        (Some(default), _) => format!("`{default}`"),
        (None, Some(absent)) => cell(absent),
        (None, None) => String::new(),
    }
}

/// A `|` would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 100 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out
}
