//! Pitfalls of real training logs, one named test each: what has broken other readers of logs, fed
//! to `riverhog parse` as a file.
//!
//! Invariant: whatever a file holds, each of its lines is in the events that come out, and what a
//! line does not say is not made up.

mod bytes;
mod envelopes;
mod prefixes;
mod records;
mod times;
mod words;

use riverhog_tests::run_on_file;
use serde_json::Value;

const REFERENCE: &str = "2026-03-12T10:00:00Z";

/// The events of a file of training logs.
#[track_caller]
fn parse(input: impl AsRef<[u8]>) -> Vec<Value> {
    parse_with(input, &["--as", "training", "--reference", REFERENCE])
}

/// The events of a file whose lines may be envelopes, and are read and joined as a configuration
/// says.
#[track_caller]
fn parse_enveloped(input: impl AsRef<[u8]>) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("riverhog.toml");
    std::fs::write(&config, CONFIG).expect("the configuration is written");
    std::fs::write(folder.path().join("train.log"), "").expect("its file is written");
    parse_with(input, &["--config", &config.to_string_lossy(), "--reference", REFERENCE])
}

const CONFIG: &str = "[sources.log]\ntype = 'file'\npath = 'train.log'\nenvelope = 'auto'\n\
    [peel]\n[join]\n[hosts]\nfrom = ['envelope.host']\n\
    [[parse]]\nname = 'training'\nas = 'training'\n[[route]]\nsinks = ['out']\n\
    [sinks.out]\ntype = 'local'\npath = 'out'\nprefix = ''\n";

#[track_caller]
fn parse_with(input: impl AsRef<[u8]>, arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("train.log");
    std::fs::write(&file, input).expect("the file is written");
    let finished = run_on_file(&file, &[&["parse"], arguments].concat()).expect("it runs");
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let events = finished.stdout.lines();
    events.map(|event| serde_json::from_str(event).expect("each event is JSON")).collect()
}

/// A part of an event: `level`, `fields.loss`, `lines`; as text without quotes, `-` where absent.
fn show(event: &Value, name: &str) -> String {
    let pointer = format!("/{}", name.replace('.', "/"));
    match event.pointer(&pointer) {
        None => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Compares parts of all events, those of one event parted by blanks.
#[track_caller]
fn check(events: &[Value], names: &[&str], expect: &[&str]) {
    let shown = events
        .iter()
        .map(|event| names.iter().map(|name| show(event, name)).collect::<Vec<_>>().join(" "));
    assert_eq!(shown.collect::<Vec<_>>(), expect);
}
