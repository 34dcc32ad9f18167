//! The stock patterns.
//!
//! Invariant: the legacy set's core names (the file `grok-patterns`) mean what Logstash's stock
//! ones mean; the text comes from the `grok` crate's data and, where that differs, from here. Next
//! on the trip: [`super::syntax`] expands them.

use super::PatternSet;

/// Names whose text in the crate's data differs from Logstash's legacy set. Sorted.
const OWN_LEGACY: [(&str, &str); 3] = [
    // A letter, then letters, digits, `_`, `.`, the characters from `+` to `=`, and `:`.
    ("EMAILLOCALPART", r"[A-Za-z][\w.+-=:]+"),
    // The words in lower, title and upper case, with the shortened forms that Logstash lets in.
    (
        "LOGLEVEL",
        "([Aa]lert|[Tt]race|[Dd]ebug|[Nn]otice|[Ii]nfo?(?:rmation)?|[Ww]arn?(?:ing)?|\
         [Ee](?:rr?(?:or)?|merg(?:ency)?)|[Cc]rit?(?:ical)?|[Ff]atal|[Ss]evere|\
         ALERT|TRACE|DEBUG|NOTICE|INFO?(?:RMATION)?|WARN?(?:ING)?|\
         E(?:RR?(?:OR)?|MERG(?:ENCY)?)|CRIT?(?:ICAL)?|FATAL|SEVERE)",
    ),
    // English and German names, short and long; the crate's data lacks `Juli`.
    (
        "MONTH",
        concat!(
            r"\b(?:[Jj](?:an(?:uary?)?|un[ei]?|ul[yi]?)|[Ff]eb(?:ruary?)?|",
            r"[Mm](?:[aä]?r(?:ch|z)?|a[yi]?)|[Aa](?:pr(?:il)?|ug(?:ust)?)|[Ss]ep(?:tember)?|",
            r"[Oo][ck]?t(?:ober)?|[Nn]ov(?:ember)?|[Dd]e[cz](?:ember)?)\b",
        ),
    ),
];

/// The stock definition of a name.
pub(super) fn definition(set: PatternSet, name: &str) -> Option<&'static str> {
    match set {
        PatternSet::Legacy => find(&OWN_LEGACY, name).or_else(|| find(grok::patterns(), name)),
        // Refused before a name is asked for.
        PatternSet::EcsV1 => None,
    }
}

/// Every stock name of a set.
pub(super) fn names(set: PatternSet) -> impl Iterator<Item = &'static str> {
    let patterns = match set {
        PatternSet::Legacy => grok::patterns(),
        PatternSet::EcsV1 => &[],
    };
    patterns.iter().map(|(name, _)| *name)
}

fn find(sorted: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let index = sorted.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    Some(sorted[index].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        assert!(OWN_LEGACY.is_sorted() && grok::patterns().is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn own_definitions_go_before_the_crate() {
        let month = definition(PatternSet::Legacy, "MONTH").unwrap();
        assert!(month.contains("ul[yi]?"));
        assert_eq!(definition(PatternSet::Legacy, "NOTSPACE"), Some(r"\S+"));
        assert_eq!(definition(PatternSet::Legacy, "NOTHING"), None);
    }

    #[test]
    fn names_are_those_with_a_definition() {
        assert!(names(PatternSet::Legacy).count() > 300);
        assert!(
            names(PatternSet::Legacy).all(|name| definition(PatternSet::Legacy, name).is_some())
        );
    }
}
