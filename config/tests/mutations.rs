//! Whatever bytes stand in a configuration, `load` answers and `render` prints: nothing panics, and
//! nothing is refused without a place or a name. Seeds are fixed; a failing text is printed.

use riverhog_config::{Env, load};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

struct NoEnv;

impl Env for NoEnv {
    fn var(&self, name: &str) -> Option<String> {
        (name == "BROKER").then(|| "kafka-1".to_owned())
    }
}

/// xorshift64*: steady on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Pieces that mean something to one of the readers.
const PIECES: [&[u8]; 34] = [
    b"\"",
    b"'",
    b"'''",
    b"\"\"\"",
    b"[",
    b"]",
    b"[[",
    b"]]",
    b"{",
    b"}",
    b"=",
    b"\n",
    b"\r\n",
    b"#",
    b",",
    b".",
    b"${",
    b"${X}",
    b"$$",
    b"${file:.}",
    b"%{",
    b"%{WORD:a}",
    b"{timestamp:%Y}",
    b"\\",
    b"\\u00e9",
    b"\\U0010FFFF",
    b"\0",
    b"\xff",
    "é名\u{202e}".as_bytes(),
    b"-1",
    b"1e400",
    b"2026-03-12",
    b"(((((",
    b"*+?|",
];

fn mutate(random: &mut Random, mut text: Vec<u8>) -> Vec<u8> {
    for _ in 0..=random.below(6) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(24)).min(text.len());
        match random.below(5) {
            0 => drop(text.drain(at..end)),
            1 => drop(text.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            2 => drop(text.splice(at..end, PIECES[random.below(PIECES.len())].iter().copied())),
            3 => {
                let piece = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                drop(text.splice(to..to, piece));
            }
            _ => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
        }
    }
    text
}

fn check(folder: &Path, text: &[u8]) {
    let path = folder.join("riverhog.toml");
    fs::write(&path, text).expect("a folder of our own");
    let answered = catch_unwind(AssertUnwindSafe(|| match load(&path, &NoEnv) {
        Ok(config) => assert_eq!(config.fingerprint.len(), 16),
        Err(report) => {
            assert!(!report.diagnostics.is_empty());
            assert!(report.diagnostics.iter().all(|it| !it.help.is_empty()));
            for color in [false, true] {
                let shown = report.render(color);
                let raw = |it: char| it.is_control() && !matches!(it, '\n' | '\u{1b}');
                assert!(!shown.contains(raw), "control characters are shown");
            }
        }
    }));
    assert!(answered.is_ok(), "this text panics:\n{:?}", String::from_utf8_lossy(text));
}

#[test]
fn mutated_configurations_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["hosts.csv", "secret.txt"] {
        fs::copy(Path::new("golden/good").join(name), folder.path().join(name)).unwrap();
    }
    for (seed, name) in [(1, "design.toml"), (2, "full.toml"), (3, "minimal.toml")] {
        let good = fs::read(Path::new("golden/good").join(name)).unwrap();
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
        for _ in 0..400 {
            check(folder.path(), &mutate(&mut random, good.clone()));
        }
    }
}

#[test]
fn every_beginning_of_a_configuration_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read("golden/good/design.toml").unwrap();
    for end in (0..good.len()).step_by(7) {
        check(folder.path(), &good[..end]);
    }
}

#[test]
fn large_and_deep_texts_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "a.".repeat(50_000),
        format!("a = {}", "[".repeat(50_000)),
        format!("[sinks.{}]\ntype = \"s3\"", "a.".repeat(200) + "b"),
        format!("[[route]]\nwhen = '{}'", "(".repeat(100_000)),
        format!("[[route]]\nwhen = '{}'", "not ".repeat(100_000)),
        format!("[[parse]]\nname = 'a'\ngrok = '{}'", "(".repeat(100_000)),
        format!("[[parse]]\nname = 'a'\ngrok = '{}'", "%{WORD:a}".repeat(10_000)),
        format!("[sinks.a]\ntype = 'local'\npath = 'a'\nprefix = '{}'", "{topic}/".repeat(10_000)),
        "x = 1\n".repeat(20_000),
        (0..20_000).map(|it| format!("k{it} = 1")).collect::<Vec<_>>().join("\n"),
        format!("memory = \"{}\"", "9".repeat(100_000)),
        format!("memory = {}", "9".repeat(100_000)),
    ] {
        check(folder.path(), text.as_bytes());
    }
}
