//! Lines of container runtimes: their form, and which of them are pieces.
//!
//! The invariant: what has not quite the form is a raw line. Next: `tests/properties.rs`.

use std::ops::ControlFlow;

use super::support::{check, check_kind, shown};
use super::wrapped;
use crate::envelope::{Envelope, EnvelopeKind, Piece, Taker, Unwrapper};
use crate::lines::to_text;

#[test]
fn lines_of_a_container_runtime() {
    check(
        "2024-05-15T10:23:45.123456789Z stdout F step 100  loss 2.104\n",
        &["cri - 1715768625123456789 \"step 100  loss 2.104\" stream=stdout \
           time=2024-05-15T10:23:45.123456789Z"],
    );
    // Several in one record, with another offset, further tags, and texts that are empty.
    check(
        "2024-05-15T18:23:45.5+08:00 stderr P:x [rank3]: \\x\n2024-05-15T10:23:46Z stdout F \n\
         2024-05-15T10:23:46Z stdout F\n2024-05-15T10:23:46Z stdout F a\r",
        &[
            "cri - 1715768625500000000 \"[rank3]: \\\\x\" stream=stderr \
             time=2024-05-15T18:23:45.5+08:00",
            "cri - 1715768626000000000 \"\" stream=stdout time=2024-05-15T10:23:46Z",
            "cri - 1715768626000000000 \"\" stream=stdout time=2024-05-15T10:23:46Z",
            "cri - 1715768626000000000 \"a\\r\" stream=stdout time=2024-05-15T10:23:46Z",
        ],
    );
    let raw = [
        "2024-05-15T10:23:45 stdout F no offset",
        "2024-05-15 10:23:45.5Z stdout F x",
        "2024-05-15T10:23:45,5Z stdout F x",
        "2024-05-15T10:23:45.5Z stdin F x",
        "2024-05-15T10:23:45.5Z stdout X x",
        "2024-05-15T10:23:45.5Z stdout FP x",
        "2024-05-15T10:23:45.5Z stdout  F x",
        " 2024-05-15T10:23:45.5Z stdout F x",
        "2024-13-15T10:23:45.5Z stdout F x",
        "2024-05-15T10:23:45.5Z stdout",
        "2024-05-15T10:23:45.5Z stdout F a\n\n",
        "2024-05-15T10:23:45.5Z stdout F a\nx",
        "x\n2024-05-15T10:23:45.5Z stdout F a",
    ];
    for value in raw {
        check(value, &[]);
    }
}

#[test]
fn around_and_inside_of_others() {
    let line = "2024-05-15T10:23:45Z stdout F x";
    check(
        &wrapped(&format!("{line}\n{line}y\n"), ""),
        &[
            "filebeat outer 1715768625000000000 \"x\" @metadata.beat=b host.name=outer \
             stream=stdout time=2024-05-15T10:23:45Z",
            "filebeat outer 1715768625000000000 \"xy\" @metadata.beat=b host.name=outer \
             stream=stdout time=2024-05-15T10:23:45Z",
        ],
    );
    check(
        r#"2024-05-15T10:23:45Z stdout F {"pod":"p","_entry":"x"}"#,
        &["cri - 1715768625000000000 \"x\" stream=stdout time=2024-05-15T10:23:45Z labels.pod=p"],
    );
    let packed = r#"2024-05-15T10:23:45Z stdout F {"_entry":"x"}"#;
    let expect =
        r#"cri - 1715768625000000000 "{\"_entry\":\"x\"}" stream=stdout time=2024-05-15T10:23:45Z"#;
    check_kind(EnvelopeKind::Cri, packed, &[expect]);
    for kind in [EnvelopeKind::Docker, EnvelopeKind::Loki, EnvelopeKind::Otlp] {
        assert_eq!(shown(kind, line.as_bytes()), [""; 0]);
    }
}

/// Takes every piece as one, but for the last of a line where it is told to leave those.
struct Pieces {
    leaves_last: bool,
    seen: Vec<String>,
}

impl Taker for Pieces {
    fn piece(&mut self, envelope: &Envelope) -> Option<ControlFlow<()>> {
        if self.leaves_last && envelope.piece == Piece::Last {
            return None;
        }
        let (text, depth) = (to_text(&envelope.message), envelope.depth);
        self.seen.push(format!("{:?} {depth} {text:?}", envelope.piece));
        Some(ControlFlow::Continue(()))
    }

    fn take(&mut self, envelope: &Envelope) -> ControlFlow<()> {
        assert_eq!(envelope.piece, Piece::Whole);
        self.seen.push(format!("{} {:?}", envelope.depth, to_text(&envelope.message)));
        ControlFlow::Continue(())
    }
}

#[track_caller]
fn check_pieces(value: &str, leaves_last: bool, expect: &[&str]) {
    let mut pieces = Pieces { leaves_last, seen: Vec::new() };
    Unwrapper::new().run_pieces(EnvelopeKind::Auto, value.as_bytes(), &mut pieces);
    assert_eq!(pieces.seen, expect, "{value}");
}

fn docker(log: &str) -> String {
    let log = serde_json::to_string(log).unwrap();
    format!(r#"{{"log":{log},"stream":"stdout","time":"2024-05-15T10:23:45Z"}}"#)
}

#[test]
fn pieces_are_not_looked_into() {
    let cri = "2024-05-15T10:23:45Z stdout P {\"_entry\":\"x\"}\n2024-05-15T10:23:45Z stdout F b";
    check_pieces(cri, false, &[r#"Open 1 "{\"_entry\":\"x\"}""#, r#"Last 1 "b""#]);
    check_pieces(cri, true, &[r#"Open 1 "{\"_entry\":\"x\"}""#, r#"1 "b""#]);
    check_pieces(&docker("a"), true, &[r#"Open 1 "a""#]);
    check_pieces(&docker("a\n"), false, &[r#"Last 1 "a\n""#]);
    check_pieces(&docker("\n"), false, &[r#"Last 1 "\n""#]);
    check_pieces(&docker("a\nb\n"), false, &[r#"Last 1 "a\nb\n""#]);
    for whole in ["", "a\nb"] {
        check_pieces(&docker(whole), false, &[&format!("1 {whole:?}")]);
    }
    // One that is left is looked into as any other, up to the innermost piece.
    let packed = docker("{\"_entry\":\"x\"}\n");
    check_pieces(&packed, true, &[r#"2 "x""#]);
    check_pieces(&packed, false, &[r#"Last 1 "{\"_entry\":\"x\"}\n""#]);
    check_pieces(&wrapped(&packed, ""), false, &[r#"Last 2 "{\"_entry\":\"x\"}\n""#]);
    check_pieces(&docker("2024-05-15T10:23:45Z stdout P x\n"), true, &[r#"Open 2 "x""#]);
    // A program's own object, and the records of a shipper that puts pieces together itself.
    check_pieces(r#"{"log":"a","stream":"stdout","time":"now"}"#, false, &[]);
    let record = r#"{"time":"2024-05-15T10:23:45Z","stream":"stdout","_p":"P","log":"a"}"#;
    check_pieces(record, false, &[r#"1 "a""#]);
}

#[test]
fn what_was_put_together_is_looked_into() {
    let mut outer = Envelope::default();
    outer.fields.push("stream", "stdout");
    (outer.kind, outer.time_ns) = ("docker", Some(5));
    let mut unwrapper = Unwrapper::new();
    let mut inside = |kind, depth: usize, text: &str| {
        let mut seen = Vec::new();
        let outer = Envelope { depth, ..outer.clone() };
        let found = unwrapper.run_inside(kind, (&outer, text.as_bytes()), &mut |envelope| {
            let fields: Vec<String> =
                envelope.fields.iter().map(|(path, value)| format!("{path}={value}")).collect();
            let (text, time) = (to_text(&envelope.message), envelope.time_ns);
            seen.push(format!("{} {time:?} {text:?} {}", envelope.kind, fields.join(" ")));
            ControlFlow::Continue(())
        });
        assert_eq!(found, !seen.is_empty());
        seen
    };
    let packed = "{\"pod\":\"p\",\"_entry\":\"x\"}\n";
    let expect = [r#"docker Some(5) "x" stream=stdout labels.pod=p"#];
    assert_eq!(inside(EnvelopeKind::Auto, 1, packed), expect);
    assert_eq!(inside(EnvelopeKind::Auto, 2, packed), expect);
    assert_eq!(inside(EnvelopeKind::Auto, 3, packed), [""; 0]);
    assert_eq!(inside(EnvelopeKind::Docker, 1, packed), [""; 0]);
    assert_eq!(inside(EnvelopeKind::Auto, 1, "{\"loss\":1}\n"), [""; 0]);
}
