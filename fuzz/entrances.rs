//! What is fuzzed: one function for each target, called by the fuzz targets and by the test that
//! runs the seeds.
//!
//! The invariant: an entrance panics exactly when a promise of the room `parsers` is broken: no
//! panic, fields within the text, numbers and arrays that are JSON, JSON read as serde_json reads
//! it, and envelopes within their bounds. Next: `fuzz_targets/`, and `parsers/tests/fuzz_seeds.rs`.
#![allow(dead_code, reason = "each fuzz target calls one entrance")]

use std::ops::ControlFlow;
use std::sync::OnceLock;

use riverhog_parsers::envelope::{
    Envelope, EnvelopeKind, FIELDS_MAX, LINES_MAX, Piece, Taker, Unwrapper,
};
use riverhog_parsers::fields::{Duplicates, FieldValue, Fields};
use riverhog_parsers::formats::{
    Delimited, DelimitedOptions, Dissect, FieldConversion, Format, FormatParser, Json, JsonOptions,
    KeyValue, KeyValueOptions, LetterCase, Training, Whitespace,
};
use riverhog_parsers::grok::{Grok, GrokOptions, Outcome};
use riverhog_parsers::lines::to_text;
use riverhog_parsers::time::TimeParser;

/// The first line of the data and the rest.
fn two(data: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(data).ok()?.split_once('\n')
}

fn run_grok(grok: &Grok, text: &str) {
    let mut captures = Vec::new();
    if grok.run(text, &mut grok.scratch(), &mut captures) == Outcome::Matched {
        for capture in captures.iter().filter(|capture| !capture.is_absent()) {
            let place = capture.start as usize..capture.end as usize;
            assert_eq!(text.get(place), Some(capture.text(text)));
            assert!(usize::from(capture.field) < grok.fields().len());
        }
    }
}

/// A pattern, then a text.
pub(crate) fn pattern(data: &[u8]) {
    let Some((pattern, text)) = two(data) else { return };
    if let Ok(grok) = Grok::compile(pattern, &GrokOptions::default()) {
        run_grok(&grok, text);
    }
}

/// A text for patterns that are often used.
pub(crate) fn matching(data: &[u8]) {
    static GROKS: OnceLock<Vec<Grok>> = OnceLock::new();
    let groks = GROKS.get_or_init(|| {
        let patterns = [
            "%{TIMESTAMP_ISO8601:time} %{LOGLEVEL:level} %{NOTSPACE:component}: %{GREEDYDATA:x}",
            "%{SYSLOGLINE}",
            "%{COMBINEDAPACHELOG}",
            "%{IP:client} %{NUMBER:value:float} %{QUOTEDSTRING:text}",
            "^(?<key>[^=]+)=(?<value>(?:\\d+|\\w+)?)$",
        ];
        let compile = |pattern: &&str| Grok::compile(pattern, &GrokOptions::default()).ok();
        patterns.iter().filter_map(compile).collect()
    });
    let text = to_text(data);
    for grok in groks {
        run_grok(grok, &text);
    }
}

/// A time format, then a text.
pub(crate) fn date(data: &[u8]) {
    let Some((format, text)) = two(data) else { return };
    let fixed = ["ISO8601", "UNIX", "UNIX_MS", "TAI64N"];
    for (formats, zone, locale) in
        [(&[format][..], "Europe/London", "zh"), (&fixed[..], "Asia/Shanghai", "en")]
    {
        if let Ok(parser) = TimeParser::compile_with_locale(formats, zone, locale)
            && let Some(instant) = parser.parse_instant(text, 1_773_282_225_000_000_000)
        {
            assert!(instant.nanos < 1_000_000_000);
            let mut out = Vec::new();
            instant.write_rfc3339(&mut out);
            assert_eq!(out.len(), 30);
        }
    }
}

fn run(parser: &FormatParser, text: &str) {
    let mut fields = Fields::new();
    let outcome = parser.run(text, &mut fields);
    assert!(outcome == Outcome::Matched || fields.is_empty());
    for index in 0..fields.len() {
        let field = fields.get(index, text).expect("it is there");
        if let Some(place) = fields.place(index) {
            assert_eq!(text.get(place), Some(field.text));
        }
        if let FieldValue::Json(json) | FieldValue::Number(json) = field.value() {
            let read = serde_json::from_str::<serde_json::Value>(json);
            let fine =
                read.is_ok() || read.is_err_and(|error| error.to_string().contains("out of range"));
            assert!(fine, "{json}");
        }
        assert!(fields.find(field.name, text).is_some());
    }
}

/// A mapping, then a text.
pub(crate) fn dissect(data: &[u8]) {
    let Some((mapping, text)) = two(data) else { return };
    if let Ok(dissect) = Dissect::compile(mapping) {
        let types = [("a".to_owned(), FieldConversion::Int)];
        run(&FormatParser::new(Format::Dissect(dissect), types), text);
    }
}

/// Two separators in the first line, then a text.
pub(crate) fn key_value(data: &[u8]) {
    let Some((separators, text)) = two(data) else { return };
    let (fields, values) = separators.split_once('|').unwrap_or((separators, "="));
    let own = KeyValueOptions {
        field_split: vec![fields.to_owned(), " ".to_owned()],
        value_split: vec![values.to_owned()],
        whitespace: Whitespace::Strict,
        trim_key: "\"<".to_owned(),
        trim_value: "',".to_owned(),
        remove_char_value: "ß%".to_owned(),
        transform_key: Some(LetterCase::Capital),
        transform_value: Some(LetterCase::Upper),
        prefix: "p.".to_owned(),
        allow_empty_values: true,
        recursive: true,
        duplicates: Duplicates::Distinct,
        ..KeyValueOptions::default()
    };
    for options in [own, KeyValueOptions::default()] {
        if let Ok(key_value) = KeyValue::compile(&options) {
            run(&FormatParser::new(Format::KeyValue(key_value), []), text);
        }
    }
}

/// A text that may be JSON.
pub(crate) fn json(data: &[u8]) {
    let text = to_text(data);
    let parser = FormatParser::new(Format::Json(Json::new(&JsonOptions::default())), []);
    run(&parser, &text);
    let outcome = parser.run(&text, &mut Fields::new());
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(value) if !value.is_object() => assert_ne!(outcome, Outcome::Matched),
        Ok(_) => {
            let limit = Outcome::Unmatched(riverhog_parsers::grok::Reason::Limit);
            assert!(outcome == Outcome::Matched || outcome == limit, "{text}");
        }
        Err(error) if error.to_string().contains("out of range") => {}
        Err(_) => assert_ne!(outcome, Outcome::Matched, "{text}"),
    }
}

/// A line for the formats without options.
pub(crate) fn lines(data: &[u8]) {
    let text = to_text(data);
    let csv = Delimited::compile(&DelimitedOptions::default()).expect("the defaults compile");
    for format in
        [Format::Syslog, Format::Cri, Format::Klog, Format::Logfmt, Format::Delimited(csv)]
    {
        run(&FormatParser::new(format, []), &text);
    }
}

/// A line for the formats of training logs, and for each of them alone.
pub(crate) fn training(data: &[u8]) {
    let text = to_text(data);
    let alone = Training::formats().iter().filter_map(|format| Training::named(format.name));
    for training in alone.chain([Training::all()]) {
        run(&FormatParser::new(Format::Training(training), []), &text);
    }
}

/// Takes every piece of a line as one.
struct Pieces;

impl Taker for Pieces {
    fn piece(&mut self, envelope: &Envelope) -> Option<ControlFlow<()>> {
        assert!(envelope.piece != Piece::Whole);
        Some(ControlFlow::Continue(()))
    }

    fn take(&mut self, envelope: &Envelope) -> ControlFlow<()> {
        assert!(envelope.piece == Piece::Whole);
        ControlFlow::Continue(())
    }
}

/// A value for each kind of envelope.
pub(crate) fn envelope(data: &[u8]) {
    let mut unwrapper = Unwrapper::new();
    for kind in [
        EnvelopeKind::None,
        EnvelopeKind::Auto,
        EnvelopeKind::Filebeat,
        EnvelopeKind::FluentBit,
        EnvelopeKind::Vector,
        EnvelopeKind::Cri,
        EnvelopeKind::Docker,
        EnvelopeKind::Otlp,
        EnvelopeKind::Loki,
        EnvelopeKind::Journald,
        EnvelopeKind::Pack,
    ] {
        let (mut lines, mut bytes) = (0, 0);
        let found = unwrapper.run(kind, data, &mut |envelope| {
            lines += 1;
            bytes += envelope.message.len();
            assert!(envelope.fields.len() <= FIELDS_MAX);
            ControlFlow::Continue(())
        });
        assert_eq!(found, lines > 0);
        assert_eq!(unwrapper.run_pieces(kind, data, &mut Pieces), found);
        // Each envelope around others has up to so many; a body is at most a few times its bytes.
        assert!(lines <= LINES_MAX.max(data.len()) && bytes <= 8 * data.len() + 8);
    }
}
