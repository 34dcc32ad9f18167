//! `[[transform]]`. Next: `redact.rs`.

use super::{Kind, Section, Setting, formats, rules, word};

/// `[[transform]]`
pub(crate) static TRANSFORM: Section = Section {
    title: "`[[transform]]`",
    doc: "Each has one action. Steps run in the order of the file, between parsing and hosts, on \
          the event as the step before left it. They change `level`, `component`, `content`, \
          `rank`, `fields.NAME` and `metrics.NAME`; the raw line, times, hosts and labels stay what they are. A \
          step that fails leaves the event as it was, with the tag `_stepfailure`. Keys and values \
          that are secret are masked before the first step; see docs/transform.md.",
    settings: &[
        Setting::new("name", Kind::Text, "Its name, in metrics and messages.")
            .absent("its place, such as `transform[0]`"),
        Setting::new(
            "when",
            Kind::Condition,
            "Only events for which this holds. Host and labels have the values that the record \
             alone gives them.",
        )
        .absent("every event"),
        Setting::new(
            "set",
            Kind::TextMap,
            "Gives values by templates: `{ \"fields.place\" = \"{topic}/{partition}\" }`. A name \
             alone, `\"{rank}\"`, stays a number where it is one. Where a name has no value, \
             nothing is given.",
        ),
        Setting::new("rename", Kind::TextMap, "Moves values: `{ \"fields.msg\" = \"content\" }`."),
        Setting::new(
            "remove",
            Kind::Texts,
            "Takes values away: `level`, `component`, `rank`, `fields.NAME`, `metrics.NAME`. `*` stands for any \
             characters, and a name for all below it, such as `fields.kubernetes`.",
        ),
        Setting::new(
            "keep",
            Kind::Texts,
            "Takes every parsed field away but these; written as in `remove`.",
        ),
        Setting::new(
            "convert",
            Kind::TextMap,
            "Gives fields a type: `int`, `float`, `boolean` or `text`. It fails for what has no \
             such value.",
        ),
        Setting::new("lowercase", Kind::Texts, "Writes values in small letters."),
        Setting::new("uppercase", Kind::Texts, "Writes values in capital letters."),
        Setting::new("trim", Kind::Texts, "Takes white space off the ends of values."),
        Setting::new(
            "split",
            Kind::TextMap,
            "Makes an array of a field's value: names and separators, `{ \"fields.hosts\" = \",\" }`.",
        ),
        Setting::new("join", Kind::TextMap, "Makes one text of an array: names and separators."),
        Setting::new(
            "gsub",
            Kind::Section(&GSUB),
            "Replaces whatever a regular expression matches.",
        ),
        Setting::new(
            "truncate",
            Kind::TextMap,
            "Cuts values between two characters: names and sizes, `{ content = \"4KiB\" }`.",
        ),
        Setting::new("lookup", Kind::Section(&LOOKUP), "Gives what a table says about a value."),
        Setting::new("fingerprint", Kind::Section(&FINGERPRINT), "Gives a hash of several values."),
        Setting::new(
            "parse",
            Kind::Section(&REPARSE),
            "Reads a value with a parser, such as the JSON in the content of a line.",
        ),
        Setting::new(
            "drop",
            Kind::Text,
            "Drops a share of the events, chosen by their ids: `\"100%\"`, `\"99.5%\"`.",
        ),
        Setting::new(
            "sample",
            Kind::Section(&SAMPLE),
            "Keeps a share of the streams, each of them whole.",
        ),
        Setting::new(
            "rate_limit",
            Kind::Section(&RATE_LIMIT),
            "Keeps a number of lines for each window of record time.",
        ),
        Setting::new("tag", Kind::Texts, "Adds tags."),
        Setting::new("untag", Kind::Texts, "Takes tags away."),
    ],
    example: "[[transform]]\n\
              when  = 'fields.loss == \"n/a\"'\n\
              remove = [\"fields.loss\"]\n\
              \n\
              [[transform]]\n\
              convert = { \"fields.loss\" = \"float\" }\n",
};

/// `gsub = { … }`
static GSUB: Section = Section {
    title: "`gsub` in `[[transform]]`",
    doc: "",
    settings: &[
        Setting::new("field", Kind::Text, "What is changed.").default("content"),
        Setting::new(
            "regex",
            Kind::Text,
            "A regular expression, matched in linear time. Write it as a literal string ('…').",
        )
        .required(),
        Setting::new(
            "with",
            Kind::Text,
            "What takes the place of each match: `\\1` and `\\k<name>` are groups, `\\\\` is a \
             backslash. Write it as a literal string ('…').",
        )
        .absent("nothing does")
        .or_empty(),
    ],
    example: "",
};

/// `lookup = { … }`
static LOOKUP: Section = Section {
    title: "`lookup` in `[[transform]]`",
    doc: "",
    settings: &[
        Setting::new("from", Kind::Text, "What is looked up, such as `fields.xid`.").required(),
        Setting::new(
            "table",
            Kind::Path,
            "CSV with a header line whose first column is the key, or JSON lines (`.jsonl`, \
             `.ndjson`) of objects with the key under `key`. `run` reads it again when it changes; \
             other columns need a restart.",
        )
        .required(),
        Setting::new(
            "into",
            Kind::TextMap,
            "Columns and what each is given to: `{ meaning = \"fields.xid_meaning\" }`.",
        )
        .absent("each column is given to the field of its name"),
        Setting::new("default", Kind::Text, "Given where the table has no such key.")
            .absent("nothing is given"),
    ],
    example: "",
};

/// `fingerprint = { … }`
static FINGERPRINT: Section = Section {
    title: "`fingerprint` in `[[transform]]`",
    doc: "",
    settings: &[
        Setting::new(
            "from",
            Kind::Texts,
            "What is hashed, in this order. An empty value counts as absent.",
        )
        .required(),
        Setting::new(
            "into",
            Kind::Text,
            "What is given the hash: 32 hexadecimal digits, the first half of a SHA-256.",
        )
        .default("fields.fingerprint"),
    ],
    example: "",
};

/// `parse = { … }`
static REPARSE: Section = Section {
    title: "`parse` in `[[transform]]`",
    doc: "The options are those of `[[parse]]`. Parts of the event that the parser finds take the \
          place of those it has; fields stand beside those of their name. Without a match the step \
          fails.",
    settings: &[
        Setting::new("field", Kind::Text, "What is parsed.").absent("`content`"),
        Setting::new("grok", Kind::Grok, "A grok expression, or an array of them."),
        Setting::new("as", Kind::Choice(&formats::FORMATS), "A built-in format."),
        Setting::new("dissect", Kind::Text, "A mapping of delimiters and fields."),
        Setting::new("patterns", Kind::TextMap, "Patterns of your own for `%{NAME}`."),
        Setting::new("pattern_files", Kind::Texts, "Files and folders of patterns."),
        Setting::new(
            "set",
            Kind::Choice(&[
                word("legacy", "fields such as `clientip`, `program`"),
                word("ecs-v1", "those of the Elastic Common Schema"),
            ]),
            "Which of Logstash's stock pattern sets `%{NAME}` comes from.",
        )
        .absent("`legacy`"),
        Setting::new(
            "keep_empty_captures",
            Kind::Flag,
            "Groups of a grok expression that take nothing are fields too.",
        )
        .absent("`false`"),
        Setting::new(
            "break_on_match",
            Kind::Flag,
            "Of several grok expressions the first that matches counts; `false`: all that do.",
        )
        .absent("`true`"),
        Setting::new(
            "time",
            Kind::Section(&rules::PARSE_TIME),
            "Where the value says when it was.",
        ),
        Setting::new("types", Kind::TextMap, "Fields that are numbers: names, `int` or `float`."),
        Setting::new(
            "numbers",
            Kind::Flag,
            "Its numbers are metrics, as in `[[parse]]`; not beside `target`.",
        )
        .absent("`true` for formats of training logs"),
        Setting::new("json", Kind::Section(&formats::JSON), "Options of `as = \"json\"`."),
        Setting::new("kv", Kind::Section(&formats::KEY_VALUE), "Options of `as = \"kv\"`."),
        Setting::new("csv", Kind::Section(&formats::CSV), "Options of `as = \"csv\"`."),
        Setting::new(
            "overwrite",
            Kind::Texts,
            "Fields that take the place of those of their name; written as `fields.NAME`, with \
             `*` as in `remove`.",
        )
        .absent("fields of one name become an array"),
        Setting::new(
            "target",
            Kind::Text,
            "What the names of all fields begin with, `target.NAME`; `time` names its field without \
             it. Nothing becomes a part of the event then but its time.",
        )
        .absent("names stay as they are"),
    ],
    example: "",
};

/// `sample = { … }`
static SAMPLE: Section = Section {
    title: "`sample` in `[[transform]]`",
    doc: "",
    settings: &[
        Setting::new("keep", Kind::Text, "The share of the streams that is kept: `\"10%\"`.")
            .required(),
        Setting::new(
            "key",
            Kind::Texts,
            "Events with equal values here are one stream, such as `[\"header.task\", \"rank\"]`.",
        )
        .required(),
    ],
    example: "",
};

/// `rate_limit = { … }`
static RATE_LIMIT: Section = Section {
    title: "`rate_limit` in `[[transform]]`",
    doc: "The first line that passes in a window says in `fields.held_back` how many lines of its \
          key were held back before it.",
    settings: &[
        Setting::new(
            "lines",
            Kind::Integer { min: 1, max: 1_000_000_000 },
            "Lines of a partition that pass in a window.",
        )
        .required(),
        Setting::new(
            "per",
            Kind::Duration { min: 1000, max: 86_400_000 },
            "The length of a window, in record time.",
        )
        .default("1m"),
        Setting::new(
            "key",
            Kind::Texts,
            "Lines with equal values here share a limit; a partition has up to 2,048 of them.",
        )
        .absent("all lines of a partition share one"),
    ],
    example: "",
};
