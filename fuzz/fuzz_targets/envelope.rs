//! Fuzzes `entrances::envelope`: see there for what it looks at. Next: `../entrances.rs`.
#![no_main]

#[path = "../entrances.rs"]
mod entrances;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entrances::envelope(data));
