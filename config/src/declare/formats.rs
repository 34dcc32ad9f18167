//! `as` of `[[parse]]` and the options of the built-in formats. Next: `rules.rs`.

use super::{Choice, Kind, Section, Setting, word};
use riverhog_parsers::formats::Training;

/// `as`: the words below, and a word for each format of training logs that has none there.
pub(crate) static FORMATS: [Choice; COUNT] = {
    let mut all = [word("", ""); COUNT];
    let (mut count, mut row) = (0, 0);
    while count < GENERAL.len() {
        all[count] = GENERAL[count];
        count += 1;
    }
    while row < Training::formats().len() {
        let format = &Training::formats()[row];
        if !is_general(format.name) {
            all[count] = word(format.name, format.about);
            count += 1;
        }
        row += 1;
    }
    assert!(count == COUNT, "as many as there are words");
    all
};

/// `klog` and `syslog` are in both lists.
const COUNT: usize = GENERAL.len() + Training::formats().len() - 2;

const fn is_general(name: &str) -> bool {
    let mut index = 0;
    while index < GENERAL.len() {
        if is_same(GENERAL[index].word.as_bytes(), name.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([first, one @ ..], [second, other @ ..]) => *first == *second && is_same(one, other),
        _ => false,
    }
}

/// Formats of logs in general.
const GENERAL: [Choice; 8] = [
    word(
        "json",
        "a JSON object; `msg`, `message`, `severity`, `lvl`, `levelname` and `logger` are \
                  content, level and component too",
    ),
    word("kv", "`name=value` anywhere in the line, with the same names"),
    word("logfmt", "`name=value` and nothing else, with the same names"),
    word("csv", "values in columns; a line of one value where more are expected does not match"),
    word(
        "syslog",
        "RFC 5424 and RFC 3164, with an octet count or without; gives `facility`, \
                    `hostname`, `pid`, `msgid`, `sd.ID.NAME`",
    ),
    word(
        "cri",
        "what container runtimes write; gives `stream`, and `partial` for a part of a line",
    ),
    word(
        "klog",
        "what Kubernetes components and glog write; gives `thread` and `line`, the source \
                  file is the component",
    ),
    word(
        "training",
        "any of the formats of training logs, which are the words after this one; the first that \
                      accepts the line is named in `format` (see training.md)",
    ),
];

/// `json = { … }`
pub(crate) static JSON: Section = Section {
    title: "`json` in `[[parse]]`",
    doc: "",
    settings: &[Setting::new(
        "target",
        Kind::Text,
        "Put before every name, with a dot: `target.name`.",
    )
    .absent("none")],
    example: "",
};

/// `kv = { … }`
pub(crate) static KEY_VALUE: Section = Section {
    title: "`kv` in `[[parse]]`",
    doc: "",
    settings: &[
        Setting::new(
            "field_split",
            Kind::Texts,
            "What stands between two pairs: any of these texts, of one character or several. For \
             Logstash's `field_split_pattern`, write out the texts that it takes.",
        )
        .default(" "),
        Setting::new(
            "value_split",
            Kind::Texts,
            "What stands between a name and its value: any of these texts.",
        )
        .default("="),
        Setting::new("whitespace", Kind::Choice(&WHITESPACE), "White space around `value_split`.")
            .default("lenient"),
        Setting::new("trim_key", Kind::Text, "Characters taken off both ends of a name.")
            .absent("none"),
        Setting::new("trim_value", Kind::Text, "Characters taken off both ends of a value.")
            .absent("none"),
        Setting::new(
            "remove_char_key",
            Kind::Text,
            "Characters taken out of a name, wherever they stand.",
        )
        .absent("none"),
        Setting::new(
            "remove_char_value",
            Kind::Text,
            "Characters taken out of a value, wherever they stand.",
        )
        .absent("none"),
        Setting::new(
            "transform_key",
            Kind::Choice(&LETTER_CASES),
            "The case that names are put into, before `include_keys` and `exclude_keys` look at \
             them.",
        )
        .absent("as it is"),
        Setting::new(
            "transform_value",
            Kind::Choice(&LETTER_CASES),
            "The case that values are put into.",
        )
        .absent("as it is"),
        Setting::new(
            "include_brackets",
            Kind::Flag,
            "`(a b)`, `[a b]` and `<a b>` are values without their brackets.",
        )
        .default("true"),
        Setting::new("prefix", Kind::Text, "Put before every name.").absent("none"),
        Setting::new("include_keys", Kind::Texts, "Only these names.").absent("all"),
        Setting::new("exclude_keys", Kind::Texts, "Not these names.").absent("none"),
        Setting::new("allow_empty_values", Kind::Flag, "Pairs with an empty value count too.")
            .default("false"),
        Setting::new(
            "recursive",
            Kind::Flag,
            "A value that holds pairs becomes fields `outer.inner`, at most four deep.",
        )
        .default("false"),
        Setting::new(
            "duplicates",
            Kind::Choice(&DUPLICATES),
            "What becomes of a name that comes again.",
        )
        .default("all"),
    ],
    example: "",
};

static WHITESPACE: [Choice; 2] = [
    word("lenient", "`a = b` is `a=b`; names and values are trimmed"),
    word("strict", "it belongs to the name or the value, or parts fields"),
];

static LETTER_CASES: [Choice; 3] = [
    word("lowercase", "`loss`"),
    word("uppercase", "`LOSS`"),
    word("capitalize", "`Loss`: the first letter, all others are lower case"),
];

static DUPLICATES: [Choice; 4] = [
    word("all", "an array of all values"),
    word("distinct", "an array of the different values"),
    word("first", "the first value"),
    word("last", "the last value"),
];

/// `csv = { … }`
pub(crate) static CSV: Section = Section {
    title: "`csv` in `[[parse]]`",
    doc: "",
    settings: &[
        Setting::new("separator", Kind::Text, "What stands between two values.").default(","),
        Setting::new("quote", Kind::Text, "The character that a value may be enclosed in.")
            .absent("`\"`"),
        Setting::new("columns", Kind::Texts, "The names of the columns, in order.")
            .absent("`column1`, `column2`, …"),
        Setting::new(
            "autogenerate_column_names",
            Kind::Flag,
            "Columns beyond those are named `column4` and so on; else they are left out.",
        )
        .default("true"),
        Setting::new("skip_empty_columns", Kind::Flag, "Empty values are no fields.")
            .default("false"),
    ],
    example: "",
};
