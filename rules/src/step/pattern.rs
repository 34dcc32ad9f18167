//! Names of fields with `*` in them, for steps that take many fields at once.
//!
//! Invariant: matching takes time in proportion to name and pattern multiplied, never more. Next
//! stop: `transform/steps/edit`.

/// A name, or many: `*` stands for any number of characters, and a name for everything below it
/// (`kubernetes` for `kubernetes.labels.job` too).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamePattern {
    text: String,
}

impl NamePattern {
    /// A pattern.
    pub fn new(text: impl Into<String>) -> NamePattern {
        NamePattern { text: text.into() }
    }

    /// The pattern as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it names this.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.text.as_bytes(), name.as_bytes());
        // Where to go on when what follows the last star does not match after all.
        let (mut at, mut star) = (0, None);
        let mut index = 0;
        while index < name.len() {
            if pattern.get(at) == Some(&b'*') {
                star = Some((at + 1, index));
                at += 1;
            } else if pattern.get(at) == Some(&name[index]) {
                (at, index) = (at + 1, index + 1);
            } else if at == pattern.len() && name[index] == b'.' {
                return true;
            } else if let Some((after, from)) = star {
                star = Some((after, from + 1));
                (at, index) = (after, from + 1);
            } else {
                return false;
            }
        }
        pattern[at.min(pattern.len())..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(pattern: &str, name: &str, expect: bool) {
        assert_eq!(NamePattern::new(pattern).matches(name), expect, "{pattern} on {name}");
    }

    #[test]
    fn names_and_stars() {
        check("loss", "loss", true);
        check("loss", "lossy", false);
        check("loss", "los", false);
        check("kube", "kube.labels.job", true);
        check("kube", "kubernetes", false);
        check("tmp_*", "tmp_1", true);
        check("tmp_*", "tmp_", true);
        check("*.pid", "a.b.pid", true);
        check("*.pid", "a.pid.b", true);
        check("*.pid", "pid", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("*", "anything", true);
    }

    proptest! {
        #[test]
        fn a_pattern_agrees_with_a_regex(pattern in "[ab.*]{0,6}", name in "[ab.]{0,10}") {
            let regex: String = pattern.chars().map(|letter| match letter {
                '*' => ".*".to_owned(),
                letter => regex::escape(&letter.to_string()),
            }).collect();
            let regex = regex::Regex::new(&format!(r"^(?:{regex})(?:\..*)?$")).unwrap();
            prop_assert_eq!(NamePattern::new(&*pattern).matches(&name), regex.is_match(&name));
        }
    }
}
