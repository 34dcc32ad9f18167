//! The fingerprint of a configuration: 16 hexadecimal digits that change whenever an event could
//! come out differently. Invariant: depends on the resolved values of all settings that bear on an
//! event (`declare` says which do not), the order of sections, the tables' texts and the
//! program's version; never on spelling, comments, the order of keys in a section, or secrets. Next
//! stop: none, it travels in commits and footers.

use twox_hash::XxHash3_64;

/// xxh3 over bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The hash of everything but the tables.
pub(crate) fn of_settings(mut resolved: Vec<(String, String)>, version: &str) -> u64 {
    resolved.sort();
    let mut bytes = Vec::new();
    push(&mut bytes, version);
    for (path, value) in &resolved {
        push(&mut bytes, path);
        push(&mut bytes, value);
    }
    hash(&bytes)
}

/// Lengths keep neighbours apart: no value can look like two.
fn push(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Settings and tables together, as it is shown.
pub(crate) fn combine(settings: u64, tables: &[u64]) -> String {
    let parts = std::iter::once(&settings).chain(tables);
    let bytes: Vec<u8> = parts.flat_map(|hash| hash.to_le_bytes()).collect();
    format!("{:016x}", hash(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)], version: &str) -> u64 {
        let pairs = pairs.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned()));
        of_settings(pairs.collect(), version)
    }

    #[test]
    fn order_does_not_count_and_all_else_does() {
        let base = of(&[("a", "1"), ("b", "2")], "0.1.0");
        assert_eq!(base, of(&[("b", "2"), ("a", "1")], "0.1.0"));
        assert_ne!(base, of(&[("a", "1"), ("b", "3")], "0.1.0"));
        assert_ne!(base, of(&[("a", "1"), ("b", "2")], "0.1.1"));
        assert_ne!(of(&[("a", "1b")], ""), of(&[("a1", "b")], ""));
        assert_ne!(combine(base, &[1]), combine(base, &[2]));
        assert_ne!(combine(base, &[1, 2]), combine(base, &[2, 1]));
        assert_eq!(combine(0, &[]).len(), 16);
    }
}
