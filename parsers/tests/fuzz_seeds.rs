//! The seeds of the fuzz targets, through the same entrances as the targets call.
//!
//! The invariant: every target has seeds. Next: `fuzz/entrances.rs`.

#[path = "../../fuzz/entrances.rs"]
mod entrances;

use std::fs;
use std::path::Path;

/// What a target calls.
type Entrance = fn(&[u8]);

const TARGETS: [(&str, Entrance); 9] = [
    ("pattern", entrances::pattern),
    ("matching", entrances::matching),
    ("date", entrances::date),
    ("dissect", entrances::dissect),
    ("key_value", entrances::key_value),
    ("json", entrances::json),
    ("lines", entrances::lines),
    ("training", entrances::training),
    ("envelope", entrances::envelope),
];

#[test]
fn every_seed_goes_through() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    for (name, entrance) in TARGETS {
        let mut seeds = 0;
        for entry in fs::read_dir(root.join("seeds").join(name)).expect("the target has seeds") {
            let data = fs::read(entry.expect("a readable folder").path()).expect("a seed");
            entrance(&data);
            // Cut and bent ones too: what a fuzzer does first.
            for at in 0..data.len() {
                entrance(&data[..at]);
                let mut bent = data.clone();
                bent[at] ^= 0x20;
                entrance(&bent);
            }
            seeds += 1;
        }
        assert!(seeds >= 2, "{name} has {seeds} seeds");
        let target = fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs")));
        assert!(target.expect("the target").contains(&format!("entrances::{name}(")));
    }
}
