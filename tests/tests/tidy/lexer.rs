//! Just enough of Rust's grammar to tell code from comments and strings.
//!
//! The invariant: the code has as many lines as the source, and every character of a comment or a
//! string in it is a blank, so that a rule can look for words without being fooled.

use std::collections::HashSet;

/// A source file, split.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lexed {
    /// The code alone.
    pub(crate) code: String,
    /// Lines from 1 on that a string of several lines goes through.
    pub(crate) inside_strings: HashSet<usize>,
}

enum State {
    Code,
    LineComment,
    /// How deep it is nested.
    BlockComment(usize),
    /// `None` for a plain string, else the number of `#` that close a raw one.
    Str(Option<usize>),
}

/// Splits a source file.
pub(crate) fn lex(source: &str) -> Lexed {
    let characters: Vec<char> = source.chars().collect();
    let mut lexed = Lexed::default();
    let mut state = State::Code;
    let (mut at, mut line) = (0, 1);
    while at < characters.len() {
        let rest = &characters[at..];
        let (length, next) = step(&state, rest);
        let was_code = matches!(state, State::Code) && matches!(next, None | Some(State::Str(_)));
        for character in &rest[..length] {
            let kept = was_code && next.is_none() || *character == '\n';
            lexed.code.push(if kept { *character } else { ' ' });
            if *character == '\n' {
                if matches!(state, State::Str(_)) {
                    lexed.inside_strings.extend([line, line + 1]);
                }
                line += 1;
            }
        }
        at += length;
        state = next.unwrap_or(state);
    }
    lexed
}

/// How many characters belong together here, and the state after them if it is another one.
fn step(state: &State, rest: &[char]) -> (usize, Option<State>) {
    let begins = |text: &str| text.chars().eq(rest.iter().copied().take(text.len()));
    match state {
        State::Code => step_code(rest),
        State::LineComment if rest[0] == '\n' => (1, Some(State::Code)),
        State::LineComment => (1, None),
        State::BlockComment(depth) if begins("*/") => match depth {
            1 => (2, Some(State::Code)),
            _ => (2, Some(State::BlockComment(depth - 1))),
        },
        State::BlockComment(depth) if begins("/*") => (2, Some(State::BlockComment(depth + 1))),
        State::BlockComment(_) => (1, None),
        State::Str(None) if rest[0] == '\\' => (rest.len().min(2), None),
        State::Str(None) if rest[0] == '"' => (1, Some(State::Code)),
        State::Str(Some(hashes)) if rest[0] == '"' => {
            let closes = rest[1..].iter().take_while(|c| **c == '#').take(*hashes).count();
            if closes == *hashes { (1 + hashes, Some(State::Code)) } else { (1, None) }
        }
        State::Str(_) => (1, None),
    }
}

fn step_code(rest: &[char]) -> (usize, Option<State>) {
    match rest {
        ['/', '/', ..] => (2, Some(State::LineComment)),
        ['/', '*', ..] => (2, Some(State::BlockComment(1))),
        ['"', ..] => (1, Some(State::Str(None))),
        // A character, as opposed to a lifetime; a quote in one opens no string.
        ['\'', '\\', escaped, ..] if *escaped != 'u' && *escaped != 'x' => (4, None),
        ['\'', _, '\'', ..] => (3, None),
        ['r', '"' | '#', ..] => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            match rest.get(1 + hashes) {
                Some('"') => (2 + hashes, Some(State::Str(Some(hashes)))),
                _ => (1 + hashes, None),
            }
        }
        [letter, ..] if letter.is_alphanumeric() || *letter == '_' => {
            // A whole word, so that the `r` at the end of one opens no string. `br"` is two.
            let word = |c: &&char| c.is_alphanumeric() || **c == '_';
            let length = rest.iter().take_while(word).count();
            if rest[..length] == ['b', 'r'] { (1, None) } else { (length, None) }
        }
        _ => (1, None),
    }
}

#[test]
fn code_is_told_from_the_rest() {
    let check = |source: &str, expect: &str| {
        let lexed = lex(source);
        let words: Vec<&str> = lexed.code.split_whitespace().collect();
        assert_eq!(words.join(" "), expect, "{source}");
        assert_eq!(lexed.code.lines().count(), source.lines().count(), "{source}");
    };
    check("a // b \"c\nd", "a d");
    check("a /* b /* c */ d */ e", "a e");
    check(r#"a("b\"c") d"#, "a( ) d");
    check("a(r#\"b\"c\"#) d", "a( ) d");
    check("a(br\"b\\\") d", "a(b ) d");
    check("a('\"') b ('\\'') c", "a('\"') b ('\\'') c");
    check("fn a<'b>(c: &'b str) {}", "fn a<'b>(c: &'b str) {}");
    check("for \"x\" in r", "for in r");
    assert_eq!(lex("a = r\"x\ny\nz\";\nb").inside_strings, HashSet::from([1, 2, 3]));
}
