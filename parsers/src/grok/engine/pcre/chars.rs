//! Characters, sets and boundaries as PCRE2's text.
//!
//! Invariant: a set is one character of the text, whatever it is written as. Next on the trip:
//! [`super::write`].

use std::fmt::Write as _;

use crate::grok::regex::{Assert, Item, Named, Set};

/// Word characters as Ruby's `\b` counts them; PCRE2's own differ in marks and in numbers that are
/// no digits. ASCII stands in front, where it is found without asking for properties.
macro_rules! word {
    () => {
        r"[0-9A-Za-z_\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]"
    };
}

/// A condition instead of two alternatives: each side is looked at once, as fast as PCRE2's own.
macro_rules! boundary {
    ($class:expr) => {
        concat!("(?(?<=", $class, ")(?!", $class, ")|(?=", $class, "))")
    };
}

macro_rules! no_boundary {
    ($class:expr) => {
        concat!("(?(?<=", $class, ")(?=", $class, ")|(?!", $class, "))")
    };
}

pub(super) fn assert_text(assert: Assert) -> &'static str {
    match assert {
        Assert::LineStart => "^",
        Assert::LineEnd => "$",
        Assert::TextStart => r"\A",
        Assert::TextEnd => r"\z",
        Assert::TextEndOrLineFeed => r"\Z",
        Assert::SearchStart => r"\G",
        Assert::WordBoundary { ascii: false } => boundary!(word!()),
        Assert::NotWordBoundary { ascii: false } => no_boundary!(word!()),
        Assert::WordBoundary { ascii: true } => boundary!("[0-9A-Za-z_]"),
        Assert::NotWordBoundary { ascii: true } => no_boundary!("[0-9A-Za-z_]"),
    }
}

/// A character as itself, in a bracket or outside.
pub(super) fn push_char(text: &mut String, letter: char) {
    if letter.is_ascii_alphanumeric() || !letter.is_ascii() {
        text.push(letter);
    } else if letter.is_ascii_punctuation() {
        text.push('\\');
        text.push(letter);
    } else {
        write!(text, "\\x{{{:x}}}", u32::from(letter)).expect("a string takes all text");
    }
}

/// Letters of which one, in another case, is several.
const FOLDS: [(&str, &[char]); 6] = [
    ("ffi", &['ﬃ']),
    ("ffl", &['ﬄ']),
    ("ss", &['ß', 'ẞ']),
    ("ff", &['ﬀ']),
    ("fi", &['ﬁ']),
    ("fl", &['ﬂ']),
];

/// Letters in any case.
pub(super) fn push_folded(text: &mut String, letters: &[char]) {
    text.push_str("(?i:");
    let mut rest = letters;
    while let Some((first, others)) = rest.split_first() {
        let found = FOLDS.iter().find_map(|(several, ones)| {
            if ones.contains(first) {
                return Some((*several, *ones, 1));
            }
            let front = rest.get(..several.len())?;
            let same =
                several.chars().zip(front).all(|(one, other)| one == other.to_ascii_lowercase());
            same.then_some((*several, *ones, several.len()))
        });
        if let Some((several, ones, length)) = found {
            text.push_str("(?:");
            text.push_str(several);
            for one in ones {
                text.push('|');
                text.push(*one);
            }
            text.push(')');
            rest = &rest[length..];
        } else {
            push_char(text, *first);
            rest = others;
        }
    }
    text.push(')');
}

/// One character of a set.
pub(super) fn set_text(set: &Set) -> String {
    let mut plain = String::new();
    let mut fixed = String::new();
    let mut others = Vec::new();
    for item in &set.items {
        match item {
            Item::Range(first, last) => push_range(&mut plain, *first, *last),
            Item::Fixed(first, last) => {
                push_range(if set.fold { &mut fixed } else { &mut plain }, *first, *last);
            }
            Item::Named { named, negated: false } => push_named(&mut plain, named),
            Item::Named { named, negated: true } => {
                let mut body = String::new();
                push_named(&mut body, named);
                others.push(format!("[^{body}]"));
            }
            Item::Set(inner) => others.push(set_text(inner)),
        }
    }
    let caret = if set.negated { "^" } else { "" };
    if others.is_empty() && set.within.is_empty() {
        match (plain.is_empty(), fixed.is_empty()) {
            (false, true) if set.fold => return format!("(?i:[{caret}{plain}])"),
            (false, true) => return format!("[{caret}{plain}]"),
            (true, false) => return format!("[{caret}{fixed}]"),
            _ => {}
        }
    }
    if !plain.is_empty() {
        others.push(if set.fold { format!("(?i:[{plain}])") } else { format!("[{plain}]") });
    }
    if !fixed.is_empty() {
        others.push(format!("[{fixed}]"));
    }
    // A set of nothing is never met.
    let union = if others.is_empty() { "(?!)".to_owned() } else { others.join("|") };
    let mut text = "(?:".to_owned();
    for within in &set.within {
        text.push_str("(?=");
        text.push_str(&set_text(within));
        text.push(')');
    }
    write!(text, "(?:{union}))").expect("a string takes all text");
    if set.negated { format!("(?:(?!{text}).)") } else { text }
}

fn push_range(text: &mut String, first: char, last: char) {
    push_char(text, first);
    if first != last {
        text.push('-');
        push_char(text, last);
    }
}

/// The body of a bracket, with ASCII in front: it is found without asking for properties.
fn push_named(text: &mut String, named: &Named) {
    text.push_str(match named {
        Named::Alnum => r"0-9A-Za-z\p{Alphabetic}\p{Nd}",
        Named::Alpha => r"A-Za-z\p{Alphabetic}",
        Named::Blank => r"\t\x{20}\p{Zs}",
        Named::Cntrl => r"\p{Cc}",
        Named::Digit => r"0-9\p{Nd}",
        Named::Graph => r"!-~\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}",
        Named::Lower => r"a-z\p{Lowercase}",
        Named::Print => r"\x{20}-~\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Zs}",
        Named::Punct => r"!-\/:-@\[-`\{-~\p{P}",
        Named::Space => r"\t-\r\x{20}\p{White_Space}",
        Named::Upper => r"A-Z\p{Uppercase}",
        Named::Word => r"0-9A-Za-z_\p{Alphabetic}\p{M}\p{Nd}\p{Pc}",
        Named::Property(name) => {
            write!(text, r"\p{{{name}}}").expect("a string takes all text");
            return;
        }
    });
}
