//! Reads a condition: `or` of `and` of `not` of comparisons, with every error at its place.
//!
//! Invariant: nesting is bounded, so neither reading nor asking can exhaust the stack. Next stop:
//! `eval`.
use std::borrow::Cow;
use std::ops::Range;

use regex::Regex;
use riverhog_parsers::level::Level;

use super::ConditionError;
use super::eval::{Node, Order, Test};
use super::lex::{Lexer, Token};
use crate::names::{Name, Names};
use crate::suggest::did_you_mean;

/// Deeper conditions are nobody's intention.
const DEPTH_MAX: usize = 64;

pub(super) fn parse(text: &str, names: &Names) -> Result<(Node, Vec<Name>), ConditionError> {
    let mut lexer = Lexer::new(text);
    let (token, span) = lexer.next()?;
    if token == Token::End {
        return Err(ConditionError {
            span: 0..text.len(),
            message: "the condition is empty".to_owned(),
            help: Some("leave `when` out to take every event".to_owned()),
        });
    }
    let mut parser = Parser { text, lexer, token, span, names, used: Vec::new(), depth: 0 };
    let root = parser.any()?;
    match &parser.token {
        Token::End => Ok((root, parser.used)),
        _ => Err(parser.expected("`and` or `or`")),
    }
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    token: Token<'a>,
    span: Range<usize>,
    names: &'a Names,
    used: Vec<Name>,
    depth: usize,
}

type Parsed<T> = Result<T, ConditionError>;

/// A value written in the condition.
struct Literal<'a> {
    value: LiteralValue<'a>,
    span: Range<usize>,
}

enum LiteralValue<'a> {
    Text(Cow<'a, str>),
    Number(f64),
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Parsed<Node> {
        let mut node = self.all()?;
        while self.skip_word("or")? {
            node = node.or(self.all()?);
        }
        Ok(node)
    }

    fn all(&mut self) -> Parsed<Node> {
        let mut node = self.negation()?;
        while self.skip_word("and")? {
            node = node.and(self.negation()?);
        }
        Ok(node)
    }

    fn negation(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("nested more than {DEPTH_MAX} deep"), None));
        }
        let node = if self.skip_word("not")? { self.negation()?.not() } else { self.primary()? };
        self.depth -= 1;
        Ok(node)
    }

    fn primary(&mut self) -> Parsed<Node> {
        if self.skip_sign("(")? {
            let node = self.any()?;
            self.expect_sign(")")?;
            return Ok(node);
        }
        let Token::Word(word) = self.token else {
            return Err(self.expected("a name, `not`, `has(…)` or `(`"));
        };
        let span = self.advance()?;
        match word {
            "true" => Ok(Node::Constant(true)),
            "false" => Ok(Node::Constant(false)),
            "has" if self.token == Token::Sign("(") => {
                self.advance()?;
                let Token::Word(name) = self.token else {
                    return Err(self.expected("a name"));
                };
                let span = self.advance()?;
                let name = self.name(name, span)?;
                self.expect_sign(")")?;
                Ok(Node::Has(name))
            }
            _ => self.comparison(word, span),
        }
    }

    fn comparison(&mut self, word: &str, span: Range<usize>) -> Parsed<Node> {
        let name = self.name(word, span)?;
        if self.skip_word("in")? {
            return self.list(name, false);
        }
        if self.token == Token::Word("not") {
            self.advance()?;
            if self.skip_word("in")? {
                return self.list(name, true);
            }
            return Err(self.expected("`in` after `not`"));
        }
        let Token::Sign(sign) = self.token else {
            return Err(self.no_comparison(word));
        };
        if matches!(sign, "(" | ")" | "[" | "]" | ",") {
            return Err(self.no_comparison(word));
        }
        self.advance()?;
        let literal = self.literal()?;
        let (order, negated) = match sign {
            "==" => (Order::Equal, false),
            "!=" => (Order::Equal, true),
            "<" => (Order::Less, false),
            "<=" => (Order::LessOrEqual, false),
            ">" => (Order::Greater, false),
            ">=" => (Order::GreaterOrEqual, false),
            _ => {
                let test = self.regex(&literal)?;
                return Ok(Node::Compare { name, negated: sign == "!~", tests: vec![test] });
            }
        };
        let test = self.test(name, order, &literal)?;
        Ok(Node::Compare { name, negated, tests: vec![test] })
    }

    fn list(&mut self, name: usize, negated: bool) -> Parsed<Node> {
        self.expect_sign("[")?;
        let mut tests = Vec::new();
        loop {
            let literal = self.literal()?;
            tests.push(self.test(name, Order::Equal, &literal)?);
            if self.skip_sign(",")? && self.token != Token::Sign("]") {
                continue;
            }
            self.expect_sign("]")?;
            return Ok(Node::Compare { name, negated, tests });
        }
    }

    fn literal(&mut self) -> Parsed<Literal<'a>> {
        let value = match &mut self.token {
            Token::Text(text) => LiteralValue::Text(std::mem::take(text)),
            Token::Number(number) => LiteralValue::Number(*number),
            _ => {
                let mut error = self.expected("a value in quotes or a number");
                if let Token::Word(word) = self.token {
                    error.help = Some(format!("write `\"{word}\"`"));
                }
                return Err(error);
            }
        };
        Ok(Literal { value, span: self.advance()? })
    }

    /// The test that the kind of the name asks for.
    fn test(&self, name: usize, order: Order, literal: &Literal<'a>) -> Parsed<Test> {
        let name = &self.used[name];
        let written = &self.text[literal.span.clone()];
        let fail = |message: String, help: Option<String>| {
            Err(ConditionError { span: literal.span.clone(), message, help })
        };
        match (name, &literal.value) {
            (Name::Level, LiteralValue::Text(text)) => match Level::parse(text) {
                Some(level) => Ok(Test::Level(order, level)),
                None => fail(format!("unknown level `{text}`"), level_help(text)),
            },
            (Name::Level, LiteralValue::Number(_)) => {
                fail(format!("`level` is compared with text, not with `{written}`"), level_help(""))
            }
            (Name::Timestamp | Name::Received, value) => {
                let time = match value {
                    LiteralValue::Text(text) => chrono::DateTime::parse_from_rfc3339(text).ok(),
                    LiteralValue::Number(_) => None,
                };
                match time.and_then(|time| time.timestamp_nanos_opt()) {
                    Some(time) => Ok(Test::Time(order, time)),
                    None => fail(
                        format!("`{name}` is a time, `{written}` is none"),
                        Some("write it as \"2026-03-12T10:23:45+08:00\"".to_owned()),
                    ),
                }
            }
            (Name::Rank | Name::Partition | Name::Metric(_), LiteralValue::Text(text)) => {
                match text.parse() {
                    Ok(number) => Ok(Test::Number(order, number)),
                    Err(_) => fail(format!("`{name}` is a number, `{written}` is none"), None),
                }
            }
            (_, LiteralValue::Number(number)) => Ok(Test::Number(order, *number)),
            (_, LiteralValue::Text(text)) => {
                let number = text.parse().ok();
                Ok(Test::Text { order, text: text.as_ref().into(), number })
            }
        }
    }

    fn regex(&self, literal: &Literal<'a>) -> Parsed<Test> {
        let span = literal.span.clone();
        let LiteralValue::Text(pattern) = &literal.value else {
            let message = "a regular expression stands in quotes".to_owned();
            let help = Some(format!("write `\"{}\"`", &self.text[span.clone()]));
            return Err(ConditionError { span, message, help });
        };
        match Regex::new(pattern) {
            Ok(regex) => Ok(Test::Regex(Box::new(regex))),
            Err(error) => {
                // The library draws its own picture over several lines; the last one says it all.
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                let last = last.trim_start_matches("error: ");
                let message = format!("invalid regular expression: {last}");
                Err(ConditionError { span, message, help: None })
            }
        }
    }

    fn name(&mut self, text: &str, span: Range<usize>) -> Parsed<usize> {
        let name = self.names.resolve(text).map_err(|error| {
            let help = match text.to_ascii_lowercase().as_str() {
                word @ ("and" | "or" | "not" | "has" | "in") => Some(format!("write `{word}`")),
                _ => error.help,
            };
            ConditionError { span, message: error.message, help }
        })?;
        if let Some(known) = self.used.iter().position(|used| *used == name) {
            return Ok(known);
        }
        self.used.push(name);
        Ok(self.used.len() - 1)
    }

    fn advance(&mut self) -> Parsed<Range<usize>> {
        let (token, span) = self.lexer.next()?;
        self.token = token;
        Ok(std::mem::replace(&mut self.span, span))
    }

    fn skip_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.token == Token::Word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn skip_sign(&mut self, sign: &'static str) -> Parsed<bool> {
        let found = self.token == Token::Sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_sign(&mut self, sign: &'static str) -> Parsed<()> {
        if self.skip_sign(sign)? { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    fn no_comparison(&self, word: &str) -> ConditionError {
        let help = format!("compare it, or ask for its presence with `has({word})`");
        self.error(format!("expected a comparison after `{word}`"), Some(help))
    }

    fn expected(&self, what: &str) -> ConditionError {
        let found = match &self.token {
            Token::End => "the end".to_owned(),
            _ => format!("`{}`", &self.text[self.span.clone()]),
        };
        self.error(format!("expected {what}, found {found}"), None)
    }

    fn error(&self, message: String, help: Option<String>) -> ConditionError {
        ConditionError { span: self.span.clone(), message, help }
    }
}

fn level_help(text: &str) -> Option<String> {
    let levels = Level::ALL.map(Level::as_str);
    did_you_mean(text, levels).or_else(|| Some(format!("levels are {}", levels.join(", "))))
}
