//! `[[parse]]`, `[time]`, `[hosts]`, `[labels]`, `[[route]]`, `[[tests]]`. Next: `sinks.rs`.

use super::{Kind, Section, Setting, formats, word};

/// `[[parse]]`
pub(crate) static PARSE: Section = Section {
    title: "`[[parse]]`",
    doc: "Each has one of `grok`, `as` and `dissect`. The fields `level`, `component`, `content` and \
          `rank` become parts of the event, the one that `time` names its time, and all others \
          stand in its `fields`; members of nested JSON have dotted names.",
    settings: &[
        Setting::new("name", Kind::Text, "Its name, in metrics and messages.").required(),
        Setting::new(
            "grok",
            Kind::Grok,
            "A grok expression, or an array of them of which the first that matches wins. Write \
             it as a literal string ('…'), so that backslashes stay what they are.",
        ),
        Setting::new("as", Kind::Choice(&formats::FORMATS), "A built-in format."),
        Setting::new(
            "dissect",
            Kind::Text,
            "A mapping of delimiters and fields, such as `%{level->} %{component}: %{content}`.",
        ),
        Setting::new(
            "patterns",
            Kind::TextMap,
            "Patterns of your own for `%{NAME}`: a table of names and regular expressions.",
        ),
        Setting::new(
            "pattern_files",
            Kind::Texts,
            "Files of patterns, or folders of them, as Logstash has them: `NAME regex` a line, `#` \
             before comments. A later definition of a name wins, and `patterns` win over files. \
             Relative paths start at the folder of this file; what the files hold is read once.",
        ),
        Setting::new(
            "set",
            Kind::Choice(&[
                word("legacy", "fields such as `clientip`, `program`, all of them texts"),
                word("ecs-v1", "those of the Elastic Common Schema, such as `source.address`"),
            ]),
            "Which of Logstash's stock pattern sets `%{NAME}` comes from: their fields differ.",
        )
        .absent("`legacy`"),
        Setting::new(
            "keep_empty_captures",
            Kind::Flag,
            "Groups of a grok expression that take nothing are fields too: empty ones, or `null` \
             where the group takes no part in the match.",
        )
        .absent("`false`"),
        Setting::new(
            "break_on_match",
            Kind::Flag,
            "`false`: all expressions of `grok` are run, and the event has the fields of every one \
             that matches; it is parsed where at least one does.",
        )
        .absent("`true`"),
        Setting::new(
            "target",
            Kind::Text,
            "The field that the fields of `grok` stand in: with `job`, `%{INT:step}` is `job.step`. \
             None of them is then `level`, `component`, `content` or `rank`, and `time` names the \
             whole name, such as `job.ts`.",
        ),
        Setting::new("time", Kind::Section(&PARSE_TIME), "Where the line says when it was."),
        Setting::new(
            "when",
            Kind::Condition,
            "Only lines for which this holds are tried. It may ask what the record says (topic, \
             key, headers, envelope, host, labels) and for the raw line, `message`.",
        )
        .absent("every line"),
        Setting::new(
            "field",
            Kind::Text,
            "What is parsed in place of the line, such as `envelope.log.message`.",
        )
        .absent("the line"),
        Setting::new(
            "types",
            Kind::TextMap,
            "Fields of a built-in format or of `dissect` that are numbers: names and `int` or \
             `float`. What is no such number stays text.",
        ),
        Setting::new(
            "numbers",
            Kind::Flag,
            "Its numbers are metrics where `[numbers]` or the table of docs/numbers.md has their \
             names, and stand in `metrics` in place of `fields`.",
        )
        .absent("`true` for formats of training logs"),
        Setting::new("json", Kind::Section(&formats::JSON), "Options of `as = \"json\"`."),
        Setting::new("kv", Kind::Section(&formats::KEY_VALUE), "Options of `as = \"kv\"`."),
        Setting::new("csv", Kind::Section(&formats::CSV), "Options of `as = \"csv\"`."),
    ],
    example: "[[parse]]\n\
              name = \"swift\"\n\
              grok = '%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: \
              %{GREEDYDATA:content}'\n\
              time = { field = \"log_time\", formats = [\"ISO8601\"], zone = \"Asia/Shanghai\" }\n",
};

/// `time = { … }` in `[[parse]]`
pub(crate) static PARSE_TIME: Section = Section {
    title: "`time` in `[[parse]]`",
    doc: "",
    settings: &[
        Setting::new("field", Kind::Text, "The field that holds the time.").required(),
        Setting::new(
            "formats",
            Kind::Texts,
            "Formats, tried in order: `ISO8601`, `UNIX`, `UNIX_MS`, `TAI64N`, or letters such as \
             `yyyy-MM-dd HH:mm:ss,SSS`. What is missing of a date comes from the record's time; see \
             docs/events.md.",
        )
        .default("ISO8601"),
        Setting::new(
            "locale",
            Kind::Text,
            "The language of the names of months and days: `en`, `zh`, `ja`, `de`, `fr`, `es`, \
             `it`, `pt`, `ru`, `ko` or `nl`, with a country or without.",
        )
        .default("en"),
        Setting::new(
            "zone",
            Kind::Text,
            "The zone of times that name none: an IANA name or an offset such as `+08:00`. A \
             time that its clock skips is none, one that it shows twice is the earlier.",
        )
        .absent("`zone` of `[time]`"),
        Setting::new(
            "zone_field",
            Kind::Text,
            "The field of the line that names the zone of a time that names none, as in `zone`. \
             Where it is absent or names no zone, `zone` counts.",
        ),
    ],
    example: "",
};

/// `[time]`
pub(crate) static TIME: Section = Section {
    title: "`[time]`",
    doc: "",
    settings: &[
        Setting::new(
            "zone",
            Kind::Text,
            "The zone of dates in index and prefix templates, and of times in lines that name \
             none: an IANA name or an offset such as `+08:00`.",
        )
        .default("UTC"),
        Setting::new(
            "skew_max",
            Kind::Duration { min: 0, max: 3650 * 86_400_000 },
            "A date in a template comes from the event's time while that is this close to the \
             record's, else from the record's: a line that says 1970 opens no index. Lines of \
             files and standard input, which nothing stamps, keep the event's time.",
        )
        .default("48h"),
        Setting::new(
            "skew_tag",
            Kind::Duration { min: 1000, max: 3650 * 86_400_000 },
            "An event whose time is further than this from the record's keeps it, and has the tag \
             `_timeskew`. Lines of files and standard input have no record to compare with.",
        )
        .default("24h"),
        Setting::new(
            "boot",
            Kind::Texts,
            "Where the time at which the machine was started may be found, RFC 3339 or a number \
             since the epoch: lines of the kernel that count from there, `[12345.678901] …`, then \
             have a time of their own. The first candidate that is a time counts: `host.COLUMN`, \
             `header.NAME`, `envelope.PATH`.",
        )
        .absent("they have the envelope's or the record's time"),
    ],
    example: "[time]\nzone = \"Asia/Shanghai\"\n",
};

/// `[hosts]`
pub(crate) static HOSTS: Section = Section {
    title: "`[hosts]`",
    doc: "",
    settings: &[
        Setting::new(
            "from",
            Kind::Texts,
            "Where the host's name may be found; the first candidate that is present wins.",
        )
        .default("header.host, envelope.host"),
        Setting::new(
            "table",
            Kind::Path,
            "What is known about each host: CSV with a header line whose first column is `host`, \
             or JSON lines (`.jsonl`, `.ndjson`) of objects with `host`. The other columns become \
             `host.<column>` of its events. `run` reads it again when it changes; other columns \
             need a restart.",
        ),
    ],
    example: "[hosts]\n\
              from  = [\"header.host\", \"envelope.host\", \"key\"]\n\
              table = \"hosts.csv\"\n",
};

/// `[labels]`
pub(crate) static LABEL: Section = Section {
    title: "a label",
    doc: "",
    settings: &[
        Setting::new(
            "from",
            Kind::Texts,
            "Where the value may be found; the first candidate that is present and not empty wins: \
             `header.NAME`, `key`, `topic`, `envelope.PATH`, `fields.NAME` (a parsed \
             field, else the envelope's `fields`), `host.COLUMN`, or any other dotted path of the \
             envelope, such as `kubernetes.labels.job`.",
        )
        .required(),
        Setting::new("default", Kind::Text, "The value where no candidate is present.")
            .absent("the label is absent"),
    ],
    example: "[labels]\n\
              task = { from = [\"header.task\", \"fields.task\"], default = \"unassigned\" }\n",
};

/// `[[route]]`
pub(crate) static ROUTE: Section = Section {
    title: "`[[route]]`",
    doc: "",
    settings: &[
        Setting::new("name", Kind::Text, "Its name, in metrics and messages."),
        Setting::new(
            "when",
            Kind::Condition,
            "Only events for which this holds. Values are compared with `==`, `!=`, `<`, `<=`, \
             `>`, `>=`, `in [..]` and `=~` (a regular expression), joined with `and`, `or`, `not` \
             and parentheses; an absent value compares false, `has(x)` asks for it.",
        )
        .absent("every event"),
        Setting::new("sinks", Kind::Texts, "Names of `[sinks.NAME]`.").required(),
    ],
    example: "[[route]]\n\
              when  = 'project == \"nlp\" and level >= \"warn\"'\n\
              sinks = [\"search\", \"archive\"]\n",
};

/// `[[tests]]`
pub(crate) static TEST: Section = Section {
    title: "`[[tests]]`",
    doc: "A line that names its time is received at that time, any other at \
          2026-01-01T00:00:00Z; that is also what gives a year or a date to lines without one.",
    settings: &[
        Setting::new("name", Kind::Text, "What is tested.")
            .absent("the line, shortened")
            .beside_events(),
        Setting::new("line", Kind::Text, "The line.").required().or_empty().beside_events(),
        Setting::new("key", Kind::Text, "The key of its record.").or_empty().beside_events(),
        Setting::new("headers", Kind::TextMap, "The headers of its record.").beside_events(),
        Setting::new(
            "expect",
            Kind::Expectations,
            "What must hold of the event: names as in conditions, and `sinks`, an array.",
        )
        .required()
        .beside_events(),
    ],
    example: "[[tests]]\n\
              line   = '2026-03-12 10:23:45,123 ERROR swift.trainer: CUDA out of memory.'\n\
              expect = { level = \"error\", sinks = [\"archive\"] }\n",
};
