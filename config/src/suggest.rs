//! "Did you mean …": the known word that was meant, or all there are. Invariant: silent rather than
//! far-fetched; distance between words is measured in `riverhog_rules`. Next: `quantity.rs`.

/// The known word that `word` most likely stands for: a slip, or a word cut short.
pub(crate) fn closest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    riverhog_rules::suggest::closest(word, known.clone()).or_else(|| {
        let same_start = |it: &&str| it.starts_with(word) || word.starts_with(it);
        known.into_iter().find(|it| word.len() >= 3 && it.len() >= 3 && same_start(it))
    })
}

/// The help for an unknown word: the closest known one, or all there are.
pub(crate) fn help(word: &str, known: &[&str], what: &str) -> String {
    match closest(word, known.iter().copied()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => format!("there is no {what} yet"),
        None => format!("the {what}s are {}", list_all(known)),
    }
}

/// `` `a`, `b` or `c` ``.
pub(crate) fn list(words: &[&str]) -> String {
    joined(words, "or")
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn list_all(words: &[&str]) -> String {
    joined(words, "and")
}

fn joined(words: &[&str], conjunction: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("{} {conjunction} {last}", rest.join(", "))
        }
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expect: Option<&str>) {
        let known = ["level", "size", "age", "elasticsearch", "s3", "topic_pattern"];
        assert_eq!(closest(word, known), expect, "{word}");
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        check("levle", Some("level"));
        check("Size", Some("size"));
        check("elastic", Some("elasticsearch"));
        check("topic-pattern", Some("topic_pattern"));
        check("bucket", None);
        check("", None);
        check(&"y".repeat(10_000), None);
    }

    #[test]
    fn all_are_listed_when_none_is_near() {
        assert_eq!(help("zzzz", &["a", "b"], "sink"), "the sinks are `a` and `b`");
        assert_eq!(help("zzzz", &[], "sink"), "there is no sink yet");
        assert_eq!(help("serach", &["search"], "sink"), "did you mean `search`?");
    }
}
