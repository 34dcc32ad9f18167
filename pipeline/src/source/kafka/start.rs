//! Where a partition is read from, and what a commit remembers of that. Pure.
//!
//! A commit's metadata is `rh1;t=<time>;id=<mark>;…`: fields after the version, split by ';', in
//! any order. Two of them belong to the source and are written by it: `t`, the time (milliseconds
//! since the epoch, base 36) that `start = "latest"` was resolved to, carried by every commit of
//! the group; and `id`, the cluster and the topic the offset belongs to, so that a commit that
//! outlived its topic is not taken for one of the topic re-created under the same name. All other
//! fields are the driver's, see [`crate::commit`].
//!
//! Invariant: a partition is never started behind a line that was never read: where two answers
//! are possible, the earlier one is taken. Next stop: `resolve`, which asks the broker.

use std::fmt::Write as _;

use twox_hash::XxHash64;

use crate::commit::push_base36;

/// First field of every metadata text this program writes.
const VERSION: &str = "rh1";

/// Most bytes of metadata: Kafka's default `offset.metadata.max.bytes`.
const METADATA_MAX: usize = 4096;

/// Longest `lineage` setting.
pub(crate) const LINEAGE_MAX: usize = 40;

/// Where a partition without a commit is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the first record there is.
    Earliest,
    /// At the first record that is at least as new as the group's first start.
    Latest,
    /// At the first record at or after a time, milliseconds since the epoch.
    Timestamp(i64),
    /// Where this other group has committed; at the first record where it has not.
    Group(String),
}

/// Where to begin, before the broker was asked for offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// At the committed offset.
    Committed(i64),
    /// Where other groups have come to.
    Adopted(i64),
    /// At the first record there is.
    Earliest,
    /// At the first record at or after this time.
    At(i64),
}

/// What is known of a partition that was handed to us.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// The group's commit: offset and metadata.
    pub(super) commit: Option<(i64, &'a [u8])>,
    /// Where other groups have come to in all sinks of this process.
    pub(super) elsewhere: Option<i64>,
    /// The commit of the group that `start` names.
    pub(super) other: Option<i64>,
    /// The mark of the topic as it is now, `None` when the broker tells no topic ids.
    pub(super) mark: Option<&'a str>,
    /// The time `latest` means; ignored by the other starts.
    pub(super) since: i64,
    /// The partition, or the topic as it is now, is younger than `since`.
    pub(super) came_later: bool,
}

/// Decides. A commit counts unless it was written for an earlier topic of the same name.
pub(super) fn decide(start: &Start, known: Known<'_>) -> Decision {
    if let Some((offset, metadata)) = known.commit {
        return match known.elsewhere {
            _ if belongs_to_another(metadata, known.mark) => Decision::Earliest,
            Some(further) if further > offset => Decision::Adopted(further),
            _ => Decision::Committed(offset),
        };
    }
    if let Some(offset) = known.elsewhere {
        return Decision::Adopted(offset);
    }
    match start {
        Start::Earliest => Decision::Earliest,
        Start::Group(_) => known.other.map_or(Decision::Earliest, Decision::Adopted),
        Start::Timestamp(time) => Decision::At(*time),
        Start::Latest if known.came_later => Decision::Earliest,
        Start::Latest => Decision::At(known.since),
    }
}

/// True when the commit names this cluster but another topic. A commit that names another cluster
/// was carried over by a mirror, which translates offsets: it counts.
pub(super) fn belongs_to_another(metadata: &[u8], mark: Option<&str>) -> bool {
    let written = field(metadata, "id").and_then(|id| id.split_once('-'));
    let now = mark.and_then(|mark| mark.split_once('-'));
    match (written, now) {
        (Some((cluster, topic)), Some((cluster_now, topic_now))) => {
            cluster == cluster_now && topic != topic_now
        }
        _ => false,
    }
}

/// The group's start time, when the metadata carries one.
pub fn parse_time(metadata: &[u8]) -> Option<i64> {
    let text = field(metadata, "t")?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    if plain { i64::from_str_radix(text, 36).ok() } else { None }
}

/// The metadata of a commit with the source's own fields in place of those it may hold already.
/// What is `None` is left as it was. The source's fields give way when the text would pass 4,096
/// bytes.
pub fn with_fields(metadata: &str, time: Option<i64>, mark: Option<&str>) -> String {
    let mut text = String::with_capacity(metadata.len() + 48);
    text.push_str(VERSION);
    if let Some(time) = time {
        text.push_str(";t=");
        push_base36(&mut text, time.max(0).unsigned_abs());
    }
    if let Some(mark) = mark {
        text.push_str(";id=");
        text.push_str(mark);
    }
    let mut fields = metadata.split(';');
    if !metadata.is_empty() && fields.next() != Some(VERSION) {
        // Not ours to change.
        return metadata.to_owned();
    }
    for field in fields {
        let replaced =
            time.is_some() && field.starts_with("t=") || mark.is_some() && field.starts_with("id=");
        if !replaced && !field.is_empty() {
            text.push(';');
            text.push_str(field);
        }
    }
    if text.len() > METADATA_MAX { metadata.to_owned() } else { text }
}

/// One field of a metadata text of any origin.
fn field<'a>(metadata: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(metadata).ok()?;
    let mut fields = text.split(';');
    if fields.next() != Some(VERSION) {
        return None;
    }
    fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// `<cluster>-<topic>`, 8 hex digits each.
pub(super) fn mark(cluster: &str, topic_id: &[u8]) -> String {
    format!("{cluster}-{}", short_hash(topic_id))
}

/// The first part of every event id of the source: 8 hex digits of the cluster's id (the low half
/// of its xxh64 with seed 0), and the `lineage` setting when there is one. `None` when the setting
/// holds what ids and keys cannot.
pub(crate) fn lineage(identity: &[u8], setting: Option<&str>) -> Option<String> {
    let mut text = short_hash(identity);
    if let Some(setting) = setting.filter(|setting| !setting.is_empty()) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if setting.len() > LINEAGE_MAX || !setting.bytes().all(plain) {
            return None;
        }
        text.push('-');
        text.push_str(setting);
    }
    Some(text)
}

/// 8 hex digits of some bytes.
pub(super) fn short_hash(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(8);
    // Writing to a string cannot fail.
    let written = write!(text, "{:08x}", XxHash64::oneshot(0, bytes) as u32);
    debug_assert!(written.is_ok());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// No commit, and nothing known of others.
    const NOTHING: Known<'_> = Known {
        commit: None,
        elsewhere: None,
        other: None,
        mark: Some("aaaaaaaa-11111111"),
        since: 500,
        came_later: false,
    };

    #[track_caller]
    fn check(start: &Start, known: Known<'_>, expect: Decision) {
        assert_eq!(decide(start, known), expect);
    }

    #[test]
    fn a_commit_counts_unless_its_topic_is_gone() {
        let check = |metadata: &'static [u8], expect: Decision| {
            let known = Known { commit: Some((7, metadata)), ..NOTHING };
            check(&Start::Latest, known, expect);
            check(&Start::Group("b".to_owned()), Known { other: Some(9), ..known }, expect);
            check(&Start::Latest, Known { came_later: true, ..known }, expect);
        };
        check(b"", Decision::Committed(7));
        check(b"\xff\xfe", Decision::Committed(7));
        check(b"rh1;id=aaaaaaaa-11111111", Decision::Committed(7));
        check(b"rh1;id=aaaaaaaa-22222222", Decision::Earliest);
        // A mirror carried it over from another cluster.
        check(b"rh1;id=bbbbbbbb-22222222", Decision::Committed(7));
        let unknown = Known { commit: Some((7, b"rh1;id=a-2")), mark: None, ..NOTHING };
        assert_eq!(decide(&Start::Earliest, unknown), Decision::Committed(7));
    }

    #[test]
    fn without_a_commit_the_setting_decides() {
        let later = Known { came_later: true, ..NOTHING };
        check(&Start::Earliest, NOTHING, Decision::Earliest);
        check(&Start::Timestamp(9), later, Decision::At(9));
        check(&Start::Latest, NOTHING, Decision::At(500));
        check(&Start::Latest, later, Decision::Earliest);
        let other = Start::Group("logstash".to_owned());
        check(&other, Known { other: Some(9), ..later }, Decision::Adopted(9));
        check(&other, later, Decision::Earliest);
    }

    #[test]
    fn what_other_groups_have_settled_counts_where_it_is_further() {
        let known = |offset, elsewhere, topic: &'static [u8]| Known {
            commit: Some((offset, topic)),
            elsewhere,
            ..NOTHING
        };
        check(&Start::Earliest, known(7, Some(9), b""), Decision::Adopted(9));
        check(&Start::Earliest, known(9, Some(7), b""), Decision::Committed(9));
        check(&Start::Earliest, known(9, Some(9), b""), Decision::Committed(9));
        let gone = known(7, Some(9), b"rh1;id=aaaaaaaa-22222222");
        check(&Start::Earliest, gone, Decision::Earliest);
        let without = Known { elsewhere: Some(9), ..NOTHING };
        check(&Start::Latest, without, Decision::Adopted(9));
    }

    #[test]
    fn the_fields_of_the_source_replace_what_was_there() {
        let text = with_fields("rh1;t=1;f=abc;w=0,10", Some(1_700_000_000_000), Some("a-b"));
        assert_eq!(text, "rh1;t=loyw3v28;id=a-b;f=abc;w=0,10");
        assert_eq!(parse_time(text.as_bytes()), Some(1_700_000_000_000));
        assert_eq!(with_fields(&text, None, None), "rh1;t=loyw3v28;id=a-b;f=abc;w=0,10");
        assert_eq!(with_fields("", Some(35), None), "rh1;t=z");
        assert_eq!(with_fields("somebody's", Some(35), None), "somebody's");
        let full = format!("rh1;w={}", "x".repeat(4090));
        assert_eq!(with_fields(&full, Some(35), Some("a-b")), full);
        assert_eq!(parse_time(b"rh2;t=z"), None);
        assert_eq!(parse_time(b"rh1;t=-5"), None);
    }

    #[test]
    fn a_lineage_is_plain() {
        assert_eq!(lineage(b"riverhogtestAAAAAAAAAA", None).expect("plain").len(), 8);
        let with = lineage(b"x", Some("blue-2")).expect("plain");
        assert_eq!(with, format!("{}-blue-2", short_hash(b"x")));
        assert_eq!(lineage(b"x", Some("Blue")), None);
        assert_eq!(lineage(b"x", Some("a/b")), None);
        assert_eq!(lineage(b"x", Some(&"a".repeat(LINEAGE_MAX + 1))), None);
    }

    proptest! {
        #[test]
        fn foreign_metadata_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut with_version = b"rh1;".to_vec();
            with_version.extend_from_slice(&bytes);
            for metadata in [bytes.as_slice(), with_version.as_slice()] {
                parse_time(metadata);
                let commit = Some((1, metadata));
                let known = Known { commit, mark: Some("a-b"), ..NOTHING };
                decide(&Start::Latest, known);
            }
        }

        #[test]
        fn a_time_is_read_as_written(time in 0i64..1 << 43, rest in "[a-z=;,0-9]{0,40}") {
            let text = with_fields(&format!("rh1;{rest}"), Some(time), Some("x-y"));
            prop_assert_eq!(parse_time(text.as_bytes()), Some(time));
        }
    }
}
