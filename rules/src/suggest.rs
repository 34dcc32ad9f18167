//! Finds the name that was meant: every "unknown name" message carries a `did you mean` from here.
//!
//! Invariant: a suggestion is close enough that it is more likely a slip than another word.

/// The candidate nearest to `word`, if it is near: at most one slip in three letters.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long texts are no names, and the distance is quadratic.
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let allowed = (word.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 96)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The same as a ready hint: "did you mean `x`?".
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    closest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// Edits (insert, delete, replace, swap of neighbours) between two words; case is free.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    let mut before = vec![0; right.len() + 1];
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut current = above.clone();
    for row in 1..=left.len() {
        current[0] = row;
        for column in 1..=right.len() {
            let same = left[row - 1] == right[column - 1];
            let mut best = above[column - 1] + usize::from(!same);
            best = best.min(above[column] + 1).min(current[column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                best = best.min(before[column - 2] + 1);
            }
            current[column] = best;
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expect: Option<&str>) {
        let names = ["project", "task", "role", "level", "content", "header", "fields"];
        assert_eq!(closest(word, names), expect, "{word}");
    }

    #[test]
    fn slips_are_recognised() {
        check("porject", Some("project"));
        check("projct", Some("project"));
        check("Level", Some("level"));
        check("taks", Some("task"));
        check("field", Some("fields"));
        check("gpu_model", None);
        check("x", None);
        check("", None);
        check(&"task".repeat(100), None);
    }
}
