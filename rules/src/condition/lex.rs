//! Cuts the text of a condition into tokens with their place in it.
//!
//! Invariant: spans lie on character boundaries of the text. Next stop: `parse`.
use std::borrow::Cow;
use std::ops::Range;

use super::ConditionError;

/// One token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A name or a word of the language.
    Word(&'a str),
    /// Text in quotes.
    Text(Cow<'a, str>),
    Number(f64),
    Sign(&'static str),
    End,
}

/// Longest first, so that `==` is not read as `=`.
const SIGNS: [&str; 12] = ["==", "!=", "<=", ">=", "=~", "!~", "<", ">", "(", ")", "[", "]"];

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    pub(super) fn next(&mut self) -> Result<(Token<'a>, Range<usize>), ConditionError> {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        self.at = start;
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, start..start));
        };
        if first == '"' || first == '\'' {
            return self.quoted(first);
        }
        if first.is_ascii_digit() || (first == '-' && rest[1..].starts_with(digit)) {
            return self.number();
        }
        if first.is_alphabetic() || first == '_' || first == '@' {
            let length = rest.find(|letter| !in_word(letter)).unwrap_or(rest.len());
            return Ok((Token::Word(&rest[..length]), self.take(length)));
        }
        if first == ',' {
            return Ok((Token::Sign(","), self.take(1)));
        }
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            return Ok((Token::Sign(sign), self.take(sign.len())));
        }
        Err(unexpected(start, rest, first))
    }

    fn take(&mut self, length: usize) -> Range<usize> {
        let start = self.at;
        self.at += length;
        start..self.at
    }

    fn number(&mut self) -> Result<(Token<'a>, Range<usize>), ConditionError> {
        let rest = &self.text[self.at..];
        let mut length = rest.len();
        let mut before = ' ';
        for (position, letter) in rest.char_indices() {
            let exponent_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E');
            if !(in_word(letter) || exponent_sign) && position > 0 {
                length = position;
                break;
            }
            before = letter;
        }
        let span = self.take(length);
        match rest[..length].parse() {
            Ok(number) => Ok((Token::Number(number), span)),
            Err(_) => Err(ConditionError {
                message: format!("`{}` is no number", &rest[..length]),
                help: Some(format!("text stands in quotes: write `\"{}\"`", &rest[..length])),
                span,
            }),
        }
    }

    /// Text in quotes. `\"` and `\\` are the quote and the backslash; any other backslash stands
    /// for itself, so that regular expressions need no doubling.
    fn quoted(&mut self, quote: char) -> Result<(Token<'a>, Range<usize>), ConditionError> {
        let rest = &self.text[self.at + 1..];
        let mut owned: Option<String> = None;
        let mut letters = rest.char_indices().peekable();
        while let Some((position, letter)) = letters.next() {
            if letter == quote {
                let text = owned.map_or(Cow::Borrowed(&rest[..position]), Cow::Owned);
                return Ok((Token::Text(text), self.take(position + 2)));
            }
            let mut letter = letter;
            if letter == '\\'
                && let Some((_, next)) =
                    letters.next_if(|(_, next)| *next == quote || *next == '\\')
            {
                owned.get_or_insert_with(|| rest[..position].to_owned());
                letter = next;
            }
            if let Some(owned) = &mut owned {
                owned.push(letter);
            }
        }
        Err(ConditionError {
            span: self.at..self.text.len(),
            message: "the text is not closed".to_owned(),
            help: Some(format!("add a `{quote}`")),
        })
    }
}

fn digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '@' | '/')
}

fn unexpected(start: usize, rest: &str, first: char) -> ConditionError {
    let (length, help) = match first {
        '=' => (1, Some("write `==` to compare")),
        '&' if rest.starts_with("&&") => (2, Some("write `and`")),
        '|' if rest.starts_with("||") => (2, Some("write `or`")),
        '&' => (1, Some("write `and`")),
        '|' => (1, Some("write `or`")),
        '!' => (1, Some("write `not`")),
        _ => (first.len_utf8(), None),
    };
    ConditionError {
        span: start..start + length,
        message: format!("unexpected `{}`", rest[..length].escape_debug()),
        help: help.map(str::to_owned),
    }
}
