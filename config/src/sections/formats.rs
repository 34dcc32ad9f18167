//! What a `[[parse]]` reads lines with: `grok`, `as`, `dissect`, and their options. Invariant: a
//! rule has exactly one of the three, and options only for the one it has. Next: `rules.rs`.

use super::one_or_more;
use crate::document::Text;
use crate::reader::Reader;
use riverhog_parsers::fields::Duplicates;
use riverhog_parsers::formats::{
    Delimited, DelimitedOptions, FieldConversion, Format, FormatError, Json, JsonOptions, KeyValue,
    KeyValueOptions, LetterCase, Whitespace,
};

/// What lines are read with.
pub(crate) enum ShapeDraft {
    /// Grok expressions; empty where none could be read.
    Groks(Vec<Text>),
    Dissect(Text),
    Format(Format),
}

const GROK_OPTIONS: [&str; 5] =
    ["patterns", "pattern_files", "set", "keep_empty_captures", "break_on_match"];

/// Reads the one of `grok`, `as` and `dissect` that is there. `for_grok`: further options that only
/// grok has here.
pub(super) fn read(reader: &Reader<'_>, for_grok: &[&str]) -> ShapeDraft {
    let node = reader.node("grok");
    let groks = node.map(|it| one_or_more(reader, "grok", it)).unwrap_or_default();
    for (index, grok) in groks.iter().enumerate() {
        reader.note(&format!("grok[{index}]"), &*grok.value);
    }
    let format = reader.chosen("as");
    let dissect = reader.text("dissect");
    let options = (read_json(reader), read_key_value(reader), read_csv(reader));
    check_one(reader, for_grok);
    check_options(reader, format);
    let format = match (format, options) {
        (Some("json"), (json, _, _)) => Some(Format::Json(json)),
        (Some("kv"), (_, key_value, _)) => key_value.map(Format::KeyValue),
        (Some("csv"), (_, _, csv)) => csv.map(Format::Delimited),
        // The others have no options.
        (Some(name), _) => Format::named(name),
        (None, _) => None,
    };
    match (format, dissect) {
        (Some(format), _) => ShapeDraft::Format(format),
        (None, Some(mapping)) => ShapeDraft::Dissect(mapping),
        (None, None) => ShapeDraft::Groks(groks),
    }
}

fn check_one(reader: &Reader<'_>, for_grok: &[&str]) {
    let found: Vec<&str> =
        ["grok", "as", "dissect"].into_iter().filter(|key| reader.has(key)).collect();
    let path = &reader.path;
    match found[..] {
        [] if !reader.context.broken => {
            let message = format!("`{path}` has neither `grok` nor `as` nor `dissect`");
            let help = "add for example `grok = '%{LOGLEVEL:level} %{GREEDYDATA:content}'`";
            reader.context.error(&reader.place, message, help);
        }
        [first, second, ..] => {
            let message = format!("`{path}` has both `{first}` and `{second}`");
            reader.context.error(&reader.place_of(second), message, "keep one of them");
        }
        _ => {}
    }
    for option in GROK_OPTIONS.iter().chain(for_grok) {
        if reader.has(option) && !reader.has("grok") && !found.is_empty() {
            let message = format!("`{path}.{option}` is for `grok`");
            reader.context.error(&reader.place_of(option), message, "take it out");
        }
    }
    if reader.has("types") && reader.has("grok") {
        let message = format!("`{path}.types` is for `as` and `dissect`");
        let help = "write the type into the pattern: `%{INT:step:int}`";
        reader.context.error(&reader.place_of("types"), message, help);
    }
}

/// A table of options stands only beside the format that it is for.
fn check_options(reader: &Reader<'_>, format: Option<&str>) {
    for key in ["json", "kv", "csv"] {
        // What is wrong with `as` itself has been said.
        if reader.has(key) && format != Some(key) && (format.is_some() || !reader.has("as")) {
            let message = format!("`{}` is for `as = \"{key}\"`", reader.name_of(key));
            let help = format!("write `as = \"{key}\"`, or take it out");
            reader.context.error(&reader.place_of(key), message, help);
        }
    }
}

/// The names and types of fields.
pub(super) fn read_types(reader: &Reader<'_>) -> Vec<(String, FieldConversion)> {
    let read = |(entry, text): (&crate::document::Entry, Text)| {
        let found = FieldConversion::parse(&text.value);
        if found.is_none() {
            let name = reader.name_of("types");
            let message = format!("`{name}.{}` cannot be \"{}\"", entry.key, text.shown());
            reader.context.error(&text.place, message, "write `int` or `float`");
        }
        found.map(|found| (entry.key.clone(), found))
    };
    reader.text_map("types").into_iter().filter_map(read).collect()
}

fn value(reader: &Reader<'_>, key: &str) -> String {
    reader.text(key).map(|text| text.value).unwrap_or_default()
}

fn values(reader: &Reader<'_>, key: &str) -> Vec<String> {
    reader.texts(key).into_iter().map(|text| text.value).collect()
}

/// Reports what the format says about one of its options.
fn report(reader: &Reader<'_>, error: FormatError) {
    let place = reader.place_of(error.option);
    let message = format!("`{}`: {}", reader.name_of(error.option), error.message);
    reader.context.error(&place, message, error.help.unwrap_or_default());
}

fn read_json(reader: &Reader<'_>) -> Json {
    match reader.section("json") {
        Some(inner) if reader.has("json") => {
            let options = JsonOptions { target: value(&inner, "target") };
            inner.reject_unknown();
            Json::new(&options)
        }
        _ => Json::new(&JsonOptions::default()),
    }
}

fn read_key_value(reader: &Reader<'_>) -> Option<KeyValue> {
    let inner = match reader.section("kv") {
        Some(inner) if reader.has("kv") => inner,
        _ => return KeyValue::compile(&KeyValueOptions::default()).ok(),
    };
    let options = KeyValueOptions {
        field_split: values(&inner, "field_split"),
        value_split: values(&inner, "value_split"),
        whitespace: match inner.choice("whitespace") {
            "strict" => Whitespace::Strict,
            _ => Whitespace::Lenient,
        },
        trim_key: value(&inner, "trim_key"),
        trim_value: value(&inner, "trim_value"),
        remove_char_key: value(&inner, "remove_char_key"),
        remove_char_value: value(&inner, "remove_char_value"),
        transform_key: case(&inner, "transform_key"),
        transform_value: case(&inner, "transform_value"),
        include_brackets: inner.flag("include_brackets").unwrap_or_default(),
        prefix: value(&inner, "prefix"),
        include_keys: values(&inner, "include_keys"),
        exclude_keys: values(&inner, "exclude_keys"),
        allow_empty_values: inner.flag("allow_empty_values").unwrap_or_default(),
        recursive: inner.flag("recursive").unwrap_or_default(),
        duplicates: match inner.choice("duplicates") {
            "distinct" => Duplicates::Distinct,
            "first" => Duplicates::First,
            "last" => Duplicates::Last,
            _ => Duplicates::All,
        },
    };
    inner.reject_unknown();
    // An empty array has been reported; what it would be is the default.
    if options.field_split.is_empty() || options.value_split.is_empty() {
        return None;
    }
    KeyValue::compile(&options).map_err(|error| report(&inner, error)).ok()
}

fn case(reader: &Reader<'_>, key: &str) -> Option<LetterCase> {
    match reader.chosen(key)? {
        "uppercase" => Some(LetterCase::Upper),
        "capitalize" => Some(LetterCase::Capital),
        _ => Some(LetterCase::Lower),
    }
}

fn read_csv(reader: &Reader<'_>) -> Option<Delimited> {
    let inner = match reader.section("csv") {
        Some(inner) if reader.has("csv") => inner,
        _ => return Delimited::compile(&DelimitedOptions::default()).ok(),
    };
    let options = DelimitedOptions {
        separator: inner.text("separator")?.value,
        quote: read_quote(&inner),
        columns: values(&inner, "columns"),
        autogenerate_column_names: inner.flag("autogenerate_column_names").unwrap_or_default(),
        skip_empty_columns: inner.flag("skip_empty_columns").unwrap_or_default(),
    };
    inner.reject_unknown();
    Delimited::compile(&options).map_err(|error| report(&inner, error)).ok()
}

fn read_quote(inner: &Reader<'_>) -> Option<char> {
    let Some(text) = inner.text("quote") else { return Some('"') };
    let mut letters = text.value.chars();
    let quote = letters.next();
    if letters.next().is_some() {
        let message = format!("`{}` is more than one character", inner.name_of("quote"));
        inner.context.error(&text.place, message, "write one, such as `\"'\"`");
    }
    quote
}
