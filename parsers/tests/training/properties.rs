//! Properties of the formats of training logs: any text is read without a panic, and what is found
//! lies within the line and between its characters.
//!
//! The invariant: these hold for every beginning of a line, since a line may be cut anywhere. Next:
//! `documents.rs`.

use proptest::prelude::*;
use riverhog_parsers::fields::{FIELDS_MAX, FieldKind, FieldValue, Fields};
use riverhog_parsers::formats::{Format, FormatParser, Training};
use riverhog_parsers::grok::Outcome;

/// Every promise about one line.
#[track_caller]
fn check(parser: &FormatParser, fields: &mut Fields, line: &str) {
    if parser.run(line, fields) != Outcome::Matched {
        assert!(fields.is_empty() && fields.time_format().is_none(), "{line:?}");
        return;
    }
    assert!(fields.len() <= FIELDS_MAX, "{line:?}");
    let mut count = 0;
    for (index, field) in fields.iter(line).enumerate() {
        assert!(!field.name.is_empty(), "{line:?}");
        if let Some(place) = fields.place(index) {
            assert_eq!(line.get(place), Some(field.text), "{line:?}");
        }
        if matches!(field.kind, FieldKind::Float) {
            // Digits may be beyond what a float holds; then they stay a text.
            let is_number = matches!(field.value(), FieldValue::Float(_) | FieldValue::Text(_));
            assert!(is_number, "{line:?}");
        }
        if field.name == "format" {
            let known = Training::formats().iter().any(|format| format.name == field.text);
            assert!(known, "{line:?}");
            count += 1;
        }
    }
    assert_eq!(count, 1, "{line:?}");
    let (_, formats) = parser.format().time().expect("they have times");
    assert!(fields.time_format().is_none_or(|index| index < formats.len()), "{line:?}");
    assert!(fields.time_format().is_none() || fields.find("log_time", line).is_some(), "{line:?}");
}

/// Every sample, cut everywhere, and with every character left out or doubled.
#[test]
fn samples_are_cut_and_bent() {
    let parser = super::parser(Training::all());
    let mut fields = Fields::new();
    for format in Training::formats() {
        let alone = super::parser(Training::named(format.name).expect("it is in the table"));
        assert_eq!(alone.run(format.sample, &mut fields), Outcome::Matched, "{}", format.name);
        let format_of = fields.find("format", format.sample).expect("each line says its format");
        let name = fields.get(format_of, format.sample).expect("it is there").text;
        assert_eq!(name, format.name);
        for (at, letter) in format.sample.char_indices() {
            let (front, back) = format.sample.split_at(at);
            let after = &back[letter.len_utf8()..];
            for line in
                [front, back, &format!("{front}{after}"), &format!("{front}训{letter}{back}")]
            {
                check(&parser, &mut fields, line);
                check(&alone, &mut fields, line);
            }
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let samples: Vec<&str> = Training::formats().iter().map(|format| format.sample).collect();
    let sample = (prop::sample::select(samples), any::<prop::sample::Index>(), any::<bool>());
    let part = sample.prop_map(|(sample, at, is_front)| {
        let at = sample.floor_char_boundary(at.index(sample.len() + 1));
        if is_front { sample[..at].to_owned() } else { sample[at..].to_owned() }
    });
    let pieces = prop::sample::select(vec![
        "[rank3]:",
        "[default7]: ",
        "\u{1b}[31m",
        "\r",
        " ",
        "训",
        "'",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ":",
        "=",
        "|",
        ",",
        "%",
        "/",
        "\\",
        "1,234",
        "1e",
        "nan",
        "-",
        "2024-05-15 10:23:45,123",
        "INFO",
        "E0515 ",
    ]);
    let piece = prop_oneof![3 => part, 2 => pieces.prop_map(str::to_owned), 1 => ".{0,6}"];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_line_is_read(line in line()) {
        let mut fields = Fields::new();
        check(&super::parser(Training::all()), &mut fields, &line);
        for format in Training::formats() {
            let alone = Training::named(format.name).expect("it is in the table");
            check(&super::parser(alone), &mut fields, &line);
        }
    }

    #[test]
    fn any_text_is_read(line in "\\PC{0,80}") {
        check(&super::parser(Training::all()), &mut Fields::new(), &line);
    }
}

/// A line that all formats together read, one of them reads alone, and with the same answer.
#[test]
fn all_together_answer_as_one() {
    let all = super::parser(Training::all());
    for format in Training::formats() {
        let found = super::read(&all, format.sample).expect(format.name);
        assert_eq!(found["format"], format.name, "{}", format.sample);
        assert!(found.contains_key("content"), "{}", format.name);
    }
    assert!(matches!(all.format(), Format::Training(training) if *training == Training::all()));
}
