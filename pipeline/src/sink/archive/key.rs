//! Names of objects: the chain's part, the number, and strict reading of both.
//!
//! Invariant: a name that is read gives the very same name when written, so nothing but what this
//! program wrote is ever taken for an object of a chain. Next stop: `store.rs` puts and lists them.

use std::fmt;

use twox_hash::XxHash64;

/// Greatest number an object may have: ten digits keep names in order.
pub const NUMBER_MAX: u64 = 9_999_999_999;

/// What every object's name ends in.
const EXTENSION: &str = ".jsonl.zst";
const NUMBER_DIGITS: usize = 10;
const PARTITION_DIGITS: usize = 5;
/// Longest form of a lineage and of a topic in a name: the whole name stays below the 255 bytes
/// that file systems allow.
const LINEAGE_BYTES_MAX: usize = 60;
const TOPIC_BYTES_MAX: usize = 150;
/// The same beside a branch.
const BRANCHED_TOPIC_BYTES_MAX: usize = 130;
const BRANCH_BYTES_MAX: usize = 16;
/// `~` and sixteen hex digits, in place of what was cut off.
const HASH_BYTES: usize = 17;

/// A chain within its prefix: who numbers objects one after the other.
///
/// In names lineage and topic are written so that every store takes them: other letters as `%XX`,
/// and what is too long ends in a hash. Chains are the same when they are written alike.
#[derive(Clone, Debug)]
pub struct ChainName {
    lineage: String,
    topic: String,
    // Invariant: not negative.
    partition: i32,
    // Invariant: `<lineage>-<topic>-<partition>[.<branch>]` as written; neither a written lineage
    // nor a branch holds a `-`.
    written: String,
}

impl ChainName {
    /// The chain of one partition; a negative partition counts as 0.
    pub fn new(lineage: &str, topic: &str, partition: i32) -> ChainName {
        let partition = partition.max(0);
        let written = write_stem(lineage, topic, partition, TOPIC_BYTES_MAX);
        ChainName { lineage: lineage.to_owned(), topic: topic.to_owned(), partition, written }
    }

    /// Lineage of its events; of a name that was read and was too long, its shortened form.
    pub fn lineage(&self) -> &str {
        &self.lineage
    }

    /// Topic of its events; of a name that was read and was too long, its shortened form.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Partition of its events, from 0.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// A chain beside it for the same partition: of events that come from elsewhere than the
    /// source, such as `redrive`. See [`is_branch`].
    pub fn branch(mut self, branch: &str) -> ChainName {
        debug_assert!(is_branch(branch), "{branch}");
        let Self { lineage, topic, partition, .. } = &self;
        let stem = write_stem(lineage, topic, *partition, BRANCHED_TOPIC_BYTES_MAX);
        self.written = format!("{stem}.{branch}");
        self
    }

    fn parse(written: &str) -> Option<ChainName> {
        let (stem, partition) = written.rsplit_once('-')?;
        let (partition, branch) = match partition.split_once('.') {
            Some((partition, branch)) => (partition, Some(branch)),
            None => (partition, None),
        };
        if !branch.is_none_or(is_branch) {
            return None;
        }
        let topic_bytes_max =
            if branch.is_some() { BRANCHED_TOPIC_BYTES_MAX } else { TOPIC_BYTES_MAX };
        let (lineage, topic) = stem.split_once('-')?;
        let number: i32 = partition.parse().ok().filter(|number| *number >= 0)?;
        // Signs and spare zeros parse, but nothing writes them.
        (format!("{number:0PARTITION_DIGITS$}") == partition).then_some(ChainName {
            lineage: read_part(lineage, LINEAGE_BYTES_MAX, false)?,
            topic: read_part(topic, topic_bytes_max, true)?,
            partition: number,
            written: written.to_owned(),
        })
    }
}

impl PartialEq for ChainName {
    fn eq(&self, other: &ChainName) -> bool {
        self.written == other.written
    }
}

impl Eq for ChainName {}

impl fmt::Display for ChainName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

fn write_stem(lineage: &str, topic: &str, partition: i32, topic_bytes_max: usize) -> String {
    format!(
        "{}-{}-{partition:0PARTITION_DIGITS$}",
        write_part(lineage, LINEAGE_BYTES_MAX, false),
        write_part(topic, topic_bytes_max, true),
    )
}

/// Whether a word may name a branch of chains: a letter, then letters, digits and `_`, at most 16.
pub fn is_branch(word: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    word.len() <= BRANCH_BYTES_MAX
        && word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.bytes().all(is_plain)
}

/// The branch in the name of an object, whatever stands before.
fn branch_of(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(EXTENSION)?;
    let (chain, _number) = stem.rsplit_once('-')?;
    let (_, partition) = chain.rsplit_once('-')?;
    let (_, branch) = partition.split_once('.')?;
    is_branch(branch).then_some(branch)
}

/// Writes what may be a file's name in the letters that every store takes.
fn write_part(text: &str, bytes_max: usize, hyphen: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        // A name that begins with a dot is hidden, and `..` is a folder.
        if is_plain(byte, hyphen) && (byte != b'.' || !out.is_empty()) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 15] {
                out.push(
                    char::from_digit(u32::from(digit), 16).map_or('0', |c| c.to_ascii_uppercase()),
                );
            }
        }
    }
    if out.is_empty() {
        out.push('%');
    }
    if out.len() > bytes_max {
        out.truncate(bytes_max - HASH_BYTES);
        // Invariant: only here does a `~` come in.
        out = format!("{out}~{:016x}", XxHash64::oneshot(0, text.as_bytes()));
    }
    out
}

/// What was written; none for what `write_part` never writes.
fn read_part(written: &str, bytes_max: usize, hyphen: bool) -> Option<String> {
    if let Some((head, hash)) = written.split_once('~') {
        let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let plain = head.bytes().all(|byte| is_plain(byte, hyphen) || byte == b'%');
        let whole = written.len() == bytes_max && hash.len() == HASH_BYTES - 1;
        return (plain && whole && hash.bytes().all(hexadecimal) && !head.starts_with('.'))
            .then(|| written.to_owned());
    }
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = if written == "%" { "" } else { written };
    while let Some(first) = rest.bytes().next() {
        let used = if first == b'%' {
            bytes.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            3
        } else {
            bytes.push(first);
            1
        };
        rest = rest.get(used..)?;
    }
    let text = String::from_utf8(bytes).ok()?;
    (write_part(&text, bytes_max, hyphen) == written).then_some(text)
}

fn is_plain(byte: u8, hyphen: bool) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || (byte == b'-' && hyphen)
}

/// The name of one object, without its prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectName {
    /// Its chain.
    pub chain: ChainName,
    /// Its number in the chain, from 1 to `NUMBER_MAX`.
    pub number: u64,
    /// Eight hex digits of the writer, where the store creates nothing exclusively.
    pub nonce: Option<u32>,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{:010}", self.chain, self.number)?;
        if let Some(nonce) = self.nonce {
            write!(out, ".{nonce:08x}")?;
        }
        out.write_str(EXTENSION)
    }
}

impl ObjectName {
    /// The whole key: the prefix comes from a template and may end in any character.
    pub fn key(&self, prefix: &str) -> String {
        format!("{prefix}{self}")
    }

    /// Reads a name without its prefix; none for anything that was not written by `Display`.
    pub fn parse(name: &str) -> Option<ObjectName> {
        let stem = name.strip_suffix(EXTENSION)?;
        let (stem, nonce) = match stem.rsplit_once('.') {
            Some((rest, nonce)) if !nonce.contains('-') => {
                (rest, Some(u32::from_str_radix(nonce, 16).ok()?))
            }
            _ => (stem, None),
        };
        let (chain, number) = stem.rsplit_once('-')?;
        if number.len() != NUMBER_DIGITS {
            return None;
        }
        let object = ObjectName {
            chain: ChainName::parse(chain)?,
            number: number.parse().ok().filter(|number| *number > 0)?,
            nonce,
        };
        // Signs and upper case parse as numbers, but nothing writes them.
        (object.to_string() == name).then_some(object)
    }

    /// The same in the branch that another name stands in: a footer knows the partition, and the
    /// name alone which chain of it this is.
    pub fn branched_as(self, name: &str) -> ObjectName {
        match branch_of(name) {
            Some(branch) => ObjectName { chain: self.chain.branch(branch), ..self },
            None => self,
        }
    }

    /// Reads a key under a known prefix.
    pub fn parse_key(prefix: &str, key: &str) -> Option<ObjectName> {
        ObjectName::parse(key.strip_prefix(prefix)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(name: &str, expect: Option<(&str, &str, i32, u64, Option<u32>)>) {
        let parsed = ObjectName::parse(name);
        let parts = parsed.as_ref().map(|object| {
            let chain = &object.chain;
            (chain.lineage(), chain.topic(), chain.partition(), object.number, object.nonce)
        });
        assert_eq!(parts, expect, "{name}");
        if let Some(object) = &parsed {
            assert_eq!(object.to_string(), name);
        }
    }

    #[test]
    fn names_are_read_strictly() {
        check("1a2b3c4d-logs-00003-0000000042.jsonl.zst", Some(("1a2b3c4d", "logs", 3, 42, None)));
        check(
            "1a2b3c4d-train-logs-7-00012-0000000001.jsonl.zst",
            Some(("1a2b3c4d", "train-logs-7", 12, 1, None)),
        );
        check(
            "1a2b.west-a.b-123456-9999999999.jsonl.zst",
            Some(("1a2b.west", "a.b", 123_456, 9_999_999_999, None)),
        );
        check(
            "1a2b3c4d-logs-00003-0000000042.00ff00aa.jsonl.zst",
            Some(("1a2b3c4d", "logs", 3, 42, Some(0x00ff_00aa))),
        );
        check(
            "1a2b3c4d-logs-00003.again-0000000042.jsonl.zst",
            Some(("1a2b3c4d", "logs", 3, 42, None)),
        );
        let chain = ChainName::new("1a2b3c4d", "logs", 3);
        let name = "1a2b3c4d-logs-00003.again-0000000042.jsonl.zst";
        assert_eq!(
            (branch_of(name), branch_of(&name.replace(".again", ""))),
            (Some("again"), None)
        );
        let branch = ObjectName::parse(name).map(|object| object.chain);
        assert_ne!(branch.as_ref(), Some(&chain), "another chain than the source's");
        assert_eq!(branch, Some(chain.branch("again")));
        for refused in [
            "",
            ".jsonl.zst",
            "1a2b3c4d-logs-00003-0000000042.jsonl",
            "1a2b3c4d-logs-00003-000000042.jsonl.zst",
            "1a2b3c4d-logs-00003-00000000042.jsonl.zst",
            "1a2b3c4d-logs-00003-0000000000.jsonl.zst",
            "1a2b3c4d-logs-00003-+000000042.jsonl.zst",
            "1a2b3c4d-logs-3-0000000042.jsonl.zst",
            "1a2b3c4d-logs-000003-0000000042.jsonl.zst",
            "1a2b3c4d-logs-+0003-0000000042.jsonl.zst",
            "1a2b3c4d-logs-99999999999-0000000042.jsonl.zst",
            "logs-00003-0000000042.jsonl.zst",
            "-logs-00003-0000000042.jsonl.zst",
            "deep/1a2b3c4d-logs-00003-0000000042.jsonl.zst",
            "1a2b3c4d-logs-00003-0000000042.ff00aa.jsonl.zst",
            "1a2b3c4d-logs-00003-0000000042.00FF00AA.jsonl.zst",
            "1a2b3c4d-logs-00003.Again-0000000042.jsonl.zst",
            "1a2b3c4d-logs-00003.-0000000042.jsonl.zst",
            "1a2b3c4d-logs-00003.1-0000000042.jsonl.zst",
            "1a2b3c4d-logs-00003.abcdefghijklmnopq-0000000042.jsonl.zst",
            "_riverhog/probe",
            "1a2b-a%2fb-00000-0000000001.jsonl.zst",
            "1a2b-a%41-00000-0000000001.jsonl.zst",
            "1a2b-a%-00000-0000000001.jsonl.zst",
            "1a2b-.a-00000-0000000001.jsonl.zst",
            "1a2b-a b-00000-0000000001.jsonl.zst",
            "1a2b-a~0123456789abcdef-00000-0000000001.jsonl.zst",
        ] {
            check(refused, None);
        }
    }

    #[test]
    fn a_key_keeps_its_prefix() {
        let chain = ChainName::new("1a2b3c4d", "logs", 0);
        let object = ObjectName { chain, number: 7, nonce: None };
        for prefix in ["", "nlp/2026-03-12/worker/", "half-a-name-"] {
            let key = object.key(prefix);
            assert_eq!(ObjectName::parse_key(prefix, &key), Some(object.clone()), "{key}");
        }
        assert_eq!(
            ObjectName::parse_key("nlp/", "nlp/x/1a2b-logs-00000-0000000007.jsonl.zst"),
            None
        );
    }

    #[test]
    fn what_a_name_cannot_carry_is_written_otherwise() {
        for (lineage, topic, expect) in [
            ("1a2b", "train.log", "1a2b-train.log-00000"),
            ("1a-2b", "a/b", "1a%2D2b-a%2Fb-00000"),
            (".1a", "..", "%2E1a-%2E.-00000"),
            ("", "a b\n", "%-a%20b%0A-00000"),
        ] {
            let chain = ChainName::new(lineage, topic, 0);
            assert_eq!(chain.to_string(), expect);
            let object = ObjectName { chain, number: 1, nonce: None };
            let read = ObjectName::parse(&object.to_string()).unwrap();
            assert_eq!((read.chain.lineage(), read.chain.topic()), (lineage, topic));
            assert_eq!(read, object);
        }
        let long = |end: &str| ChainName::new("1a2b3c4d", &("x".repeat(248) + end), i32::MAX);
        let object = ObjectName { chain: long("a"), number: NUMBER_MAX, nonce: Some(1) };
        assert!(object.to_string().len() <= 255 && long("a") != long("b"));
        assert_eq!(ObjectName::parse(&object.to_string()), Some(object));
    }

    proptest! {
        #[test]
        fn any_chain_comes_back(
            lineage in "[0-9a-f]{8}(\\.[a-z.]{1,8})?",
            topic in "[a-zA-Z0-9._/ é-]{0,200}",
            partition in 0..=i32::MAX,
            number in 1..=NUMBER_MAX,
            nonce in any::<Option<u32>>(),
        ) {
            let chain = ChainName::new(&lineage, &topic, partition);
            let object = ObjectName { chain, number, nonce };
            prop_assert_eq!(ObjectName::parse(&object.to_string()), Some(object));
        }

        #[test]
        fn whatever_is_read_is_written_alike(name in "[0-9a-f.-]{0,40}(\\.jsonl\\.zst)?") {
            if let Some(object) = ObjectName::parse(&name) {
                prop_assert_eq!(object.to_string(), name);
            }
        }
    }
}
