//! What is written with a commit, and how it is read again. The metadata of a commit is ASCII of at
//! most 4,096 bytes: `rh1;f=<fingerprint>;t=<time>;w=<delta>,<delta>,…`. `f` is the fingerprint
//! the own watermarks `w` were written under, one a sink in the order of the configuration, each
//! as the distance from the committed offset in base 36; `t` is the group's start time (see
//! [`crate::source::kafka`]). Every part but the first is optional.
//!
//! Invariant: what cannot be read, was written under another fingerprint, or does not fit counts as
//! "only the common watermark is known"; it is never guessed. Next stop: the source.

use crate::delivery_rules::DeliveryRules;

/// Most bytes of metadata written here: Kafka takes 4,096 by default (`offset.metadata.max.bytes`),
/// and the source adds two short fields of its own.
pub const METADATA_MAX: usize = 4096 - 64;

/// First field of every metadata text this program writes.
const VERSION: &str = "rh1";

/// The own watermarks of one partition, and the group's start time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// Per sink, first line not settled in it. `None`: only the commit itself is known.
    pub sink_watermarks: Option<Vec<i64>>,
    /// The time `start = "latest"` resolved to, milliseconds since the epoch.
    pub start_time_ms: Option<i64>,
}

/// Writes the metadata of a commit at `offset`. Own watermarks are left out when `None`, or when
/// the text would pass [`METADATA_MAX`].
pub fn encode(
    offset: i64,
    fingerprint: &str,
    sink_watermarks: Option<&[i64]>,
    start_time_ms: Option<i64>,
) -> String {
    let mut text = String::from(VERSION);
    if let Some(time) = start_time_ms {
        text.push_str(";t=");
        push_base36(&mut text, time.max(0) as u64);
    }
    let Some(watermarks) = sink_watermarks else { return text };
    let common_only = text.len();
    text.push_str(";f=");
    text.push_str(fingerprint);
    text.push_str(";w=");
    for (index, watermark) in watermarks.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_base36(&mut text, watermark.saturating_sub(offset).max(0) as u64);
    }
    if text.len() > METADATA_MAX {
        text.truncate(common_only);
    }
    text
}

/// Reads the metadata of a commit at `offset`, written by any program. `sink_count` sinks are
/// expected; own watermarks of another fingerprint or count are ignored.
pub fn decode(
    metadata: &[u8],
    offset: i64,
    fingerprint: &str,
    sink_count: usize,
    rules: DeliveryRules,
) -> Metadata {
    let mut read = Metadata::default();
    let Ok(text) = std::str::from_utf8(metadata) else { return read };
    let mut fields = text.split(';');
    if fields.next() != Some(VERSION) {
        return read;
    }
    let mut written_under = None;
    let mut deltas = None;
    for field in fields {
        match field.split_once('=') {
            Some(("t", value)) => read.start_time_ms = parse_base36(value),
            Some(("f", value)) => written_under = Some(value),
            Some(("w", value)) => deltas = value.split(',').map(parse_base36).collect(),
            _ => {}
        }
    }
    let same = written_under == Some(fingerprint) || !rules.own_watermarks_need_their_fingerprint;
    let deltas: Option<Vec<i64>> = deltas.filter(|d: &Vec<i64>| same && d.len() == sink_count);
    read.sink_watermarks = deltas.and_then(|deltas| {
        deltas.into_iter().map(|delta| offset.checked_add(delta)).collect::<Option<Vec<i64>>>()
    });
    read
}

/// Appends a number in base 36, as metadata texts hold numbers.
pub(crate) fn push_base36(text: &mut String, mut value: u64) {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut buffer = [0u8; 13];
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = DIGITS[(value % 36) as usize];
        value /= 36;
        if value == 0 {
            break;
        }
    }
    text.extend(buffer[at..].iter().map(|digit| char::from(*digit)));
}

fn parse_base36(text: &str) -> Option<i64> {
    let plain =
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
    if plain { i64::from_str_radix(text, 36).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: DeliveryRules = DeliveryRules::all();

    #[test]
    fn another_fingerprint_or_count_leaves_the_common_watermark() {
        let text = encode(100, "0123456789abcdef", Some(&[100, 136]), Some(1_700_000_000_000));
        assert_eq!(text, "rh1;t=loyw3v28;f=0123456789abcdef;w=0,10");
        let read = |f: &str, n| decode(text.as_bytes(), 100, f, n, RULES);
        assert_eq!(read("0123456789abcdef", 2).sink_watermarks, Some(vec![100, 136]));
        assert_eq!(read("fedcba9876543210", 2).sink_watermarks, None);
        assert_eq!(read("0123456789abcdef", 3).sink_watermarks, None);
        assert_eq!(read("fedcba9876543210", 2).start_time_ms, Some(1_700_000_000_000));
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let far = vec![i64::MAX; 64];
        let long = encode(0, &"f".repeat(3500), Some(&far), None);
        assert_eq!(long, "rh1");
        assert!(encode(0, "0123456789abcdef", Some(&far), None).len() <= METADATA_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut with_version = b"rh1;".to_vec();
            with_version.extend_from_slice(&bytes);
            decode(&bytes, 5, "x", 2, RULES);
            decode(&with_version, i64::MAX, "x", 2, RULES);
        }

        #[test]
        fn what_was_written_is_read(
            offset in 0i64..1 << 40,
            deltas in prop::collection::vec(0i64..1 << 40, 1..64),
            time in prop::option::of(0i64..1 << 43),
        ) {
            let watermarks: Vec<i64> = deltas.iter().map(|delta| offset + delta).collect();
            let text = encode(offset, "0123456789abcdef", Some(&watermarks), time);
            prop_assert!(text.is_ascii());
            let read = decode(text.as_bytes(), offset, "0123456789abcdef", deltas.len(), RULES);
            prop_assert_eq!(read.sink_watermarks, Some(watermarks));
            prop_assert_eq!(read.start_time_ms, time);
        }
    }
}
