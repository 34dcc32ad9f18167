//! Properties of all envelopes.
//!
//! The invariant: see each test. Next: `fuzz/entrances.rs`, which asks the same of any bytes.

use std::ops::ControlFlow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::FILEBEAT;
use super::support::shown;
use crate::envelope::{DEPTH_MAX, EnvelopeKind, FIELDS_MAX, Unwrapper};

const KINDS: [EnvelopeKind; 11] = [
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
];

/// JSON of any shape, without the names that shippers are known by.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec(("[a-d.]{0,4}", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_value_panics(
        value in proptest::collection::vec(any::<u8>(), 0..60),
        cut in 0..600_usize,
    ) {
        let line_end = [b"\n", &value[..]].concat();
        for kind in KINDS {
            let _envelopes = shown(kind, &value);
            let _envelopes = shown(kind, &line_end);
            let _envelopes = shown(kind, &FILEBEAT.as_bytes()[..cut.min(FILEBEAT.len())]);
        }
    }

    #[test]
    fn what_has_no_marks_is_left_alone(value in any_json()) {
        prop_assert!(shown(EnvelopeKind::Auto, value.to_string().as_bytes()).is_empty());
    }

    /// Beside the marks anything may stand: the line comes out, and each scalar by its path.
    #[test]
    fn what_is_wrapped_comes_out(inner in any_json(), line in "\\PC{0,20}", depth in 1..5_usize) {
        let mut value = line.clone();
        for _ in 0..depth {
            let outer = json!({ "x": &inner, "message": value, "@metadata": { "beat": "b" } });
            value = outer.to_string();
        }
        let mut seen = Vec::new();
        Unwrapper::new().run(EnvelopeKind::Auto, value.as_bytes(), &mut |envelope| {
            seen.push(envelope.clone());
            ControlFlow::Continue(())
        });
        prop_assert_eq!(seen.len(), 1);
        let message = std::str::from_utf8(&seen[0].message).unwrap();
        prop_assert_eq!(depth <= DEPTH_MAX, message == line);
        prop_assert!(seen[0].fields.len() <= FIELDS_MAX);
        if let Value::String(text) = &inner {
            prop_assert_eq!(seen[0].fields.get("x"), Some(text.as_str()));
        }
    }

    /// One that was used for other values says the same as a fresh one.
    #[test]
    fn nothing_is_left_of_the_value_before(values in proptest::collection::vec(0..4_usize, 1..6)) {
        let all = [
            FILEBEAT.to_owned(),
            r#"{"streams":[{"stream":{"host":"h"},"values":[["1","a"]]}]}"#.to_owned(),
            r#"{"a":1}"#.to_owned(),
            r#"{"_entry":"x"}"#.to_owned(),
        ];
        let mut used = Unwrapper::new();
        for value in values {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            let bytes = all[value].as_bytes();
            used.run(EnvelopeKind::Auto, bytes, &mut |envelope| {
                left.push(envelope.clone());
                ControlFlow::Continue(())
            });
            Unwrapper::new().run(EnvelopeKind::Auto, bytes, &mut |envelope| {
                right.push(envelope.clone());
                ControlFlow::Continue(())
            });
            prop_assert_eq!(left, right);
        }
    }
}
