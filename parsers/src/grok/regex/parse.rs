//! The parser of Ruby's syntax.
//!
//! Invariant: it ends within a bounded depth and gives a span with every fault. Next on the trip:
//! [`super::super::engine`].

use super::escape::Charset;
use super::{Assert, Group, Kind, Mode, Node, Regex, SyntaxError};

/// Groups within groups; the engine has a bound of its own near this one.
const DEPTH_MAX: usize = 200;
/// The largest number in `{n,m}`: the engine's.
const REPEAT_MAX: u32 = 65_535;
/// Quantifiers on one part, each around the last.
const QUANTIFIERS_MAX: usize = 20;
/// Capturing groups; each costs a pair of positions per worker.
pub(super) const GROUPS_MAX: usize = 10_000;

/// Parses an expression.
pub(in crate::grok) fn parse(text: &str) -> Result<Regex, SyntaxError> {
    let mut parser = Parser { text, at: 0, flags: Flags::default(), groups: Vec::new() };
    let root = parser.alternation(0)?;
    if parser.peek().is_some() {
        return Err(parser.error(parser.at, "a closing parenthesis without its opening one"));
    }
    Ok(Regex { root, groups: parser.groups })
}

/// What `(?imx-imx)` sets.
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) fold: bool,
    /// White space and comments are none of the expression.
    pub(super) extended: bool,
    /// `.` takes no line feed: the opposite of Ruby's `m`, which grok sets.
    pub(super) dot_stops: bool,
    pub(super) charset: Charset,
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) flags: Flags,
    pub(super) groups: Vec<Group>,
}

impl<'t> Parser<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn groups_so_far(&self) -> usize {
        self.groups.len()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn take_until(&mut self, close: char, start: usize) -> Result<String, SyntaxError> {
        let rest = self.rest();
        let Some(end) = rest.find(close) else {
            return Err(self.error(start, &format!("`{close}` is missing")));
        };
        self.at += end + close.len_utf8();
        Ok(rest[..end].to_owned())
    }

    /// From `start` to where the parser stands.
    pub(super) fn error(&self, start: usize, message: &str) -> SyntaxError {
        let end = if self.at > start {
            self.at
        } else {
            start + self.text[start..].chars().next().map_or(0, char::len_utf8)
        };
        SyntaxError { span: start..end, message: message.to_owned(), help: None }
    }

    pub(super) fn check_depth(&self, start: usize, depth: usize) -> Result<(), SyntaxError> {
        if depth > DEPTH_MAX {
            return Err(self.error(start, "groups within groups too deep"));
        }
        Ok(())
    }

    /// Up to a closing parenthesis or the end.
    pub(super) fn alternation(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        let start = self.at;
        self.check_depth(start, depth)?;
        let mut branches = vec![self.concat(depth)?];
        while self.eat("|") {
            branches.push(self.concat(depth)?);
        }
        if branches.len() == 1 {
            return Ok(branches.remove(0));
        }
        Ok(Node::new(Kind::Alternate(branches), start..self.at))
    }

    fn concat(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        let start = self.at;
        let mut nodes = Vec::new();
        loop {
            self.skip_comments();
            match self.peek() {
                None | Some('|' | ')') => break,
                Some(_) => {
                    if let Some(node) = self.atom(depth)? {
                        nodes.push(self.quantifiers(node)?);
                    }
                }
            }
        }
        Ok(match nodes.len() {
            0 => Node::new(Kind::Empty, start..self.at),
            1 => nodes.remove(0),
            _ => Node::new(Kind::Concat(nodes), start..self.at),
        })
    }

    /// `(?#…)` anywhere, white space and `#` to the end of its line where the flag says so.
    fn skip_comments(&mut self) {
        loop {
            let rest = self.rest();
            if let Some(comment) = rest.strip_prefix("(?#")
                && let Some(end) = comment.find(')')
            {
                self.at += 3 + end + 1;
            } else if self.flags.extended
                && rest.starts_with([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
            {
                self.at += 1;
            } else if self.flags.extended && rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    /// One part; `None` for flags that change nothing by themselves.
    fn atom(&mut self, depth: usize) -> Result<Option<Node>, SyntaxError> {
        let start = self.at;
        let letter = self.bump().expect("the caller saw a character");
        let kind = match letter {
            '(' => return self.group(start, depth),
            '[' => Kind::Set(self.bracket(start, depth)?),
            '\\' => self.escape(start)?,
            '.' if self.flags.dot_stops => Kind::Set(super::Set::of_ranges(&[('\n', '\n')], true)),
            '.' => Kind::Any,
            '^' => Kind::Assert(Assert::LineStart),
            '$' => Kind::Assert(Assert::LineEnd),
            '*' | '+' | '?' => {
                return Err(self.error(start, "a quantifier with nothing to repeat"));
            }
            letter => Kind::Char { letter, fold: self.flags.fold },
        };
        Ok(Some(Node::new(kind, start..self.at)))
    }

    fn quantifiers(&mut self, mut node: Node) -> Result<Node, SyntaxError> {
        for _ in 0..QUANTIFIERS_MAX {
            self.skip_comments();
            let start = self.at;
            let (min, max, interval) = match self.peek() {
                Some('*') => (0, None, false),
                Some('+') => (1, None, false),
                Some('?') => (0, Some(1), false),
                Some('{') => match self.interval() {
                    Some((min, max)) => (min, max, true),
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            if !interval {
                self.bump();
            }
            if min.max(max.unwrap_or(0)) > REPEAT_MAX {
                let message = format!("a repeat of more than {REPEAT_MAX} times");
                return Err(self.error(start, &message));
            }
            if max.is_some_and(|max| max < min) {
                return Err(self.error(start, "a repeat whose most is less than its least"));
            }
            // `{n}?` is an optional `{n}` in Ruby, and `{n,m}+` a repeated `{n,m}`.
            let mode = if interval && max == Some(min) {
                Mode::Greedy
            } else if self.eat("?") {
                Mode::Lazy
            } else if !interval && self.eat("+") {
                Mode::Possessive
            } else {
                Mode::Greedy
            };
            let span = node.span.start..self.at;
            node = Node::new(Kind::Repeat { node: Box::new(node), min, max, mode }, span);
        }
        Err(self.error(self.at, "too many quantifiers on one part"))
    }

    /// `{n}`, `{n,}`, `{,m}`, `{n,m}`; anything else in braces is text.
    fn interval(&mut self) -> Option<(u32, Option<u32>)> {
        let inner = self.rest().strip_prefix('{')?;
        let inner = &inner[..inner.find('}')?];
        let number = |digits: &str| match digits {
            "" => None,
            digits if !digits.bytes().all(|byte| byte.is_ascii_digit()) => None,
            digits => Some(digits.parse().unwrap_or(u32::MAX)),
        };
        let bounds = match inner.split_once(',') {
            None => {
                let count = number(inner)?;
                (count, Some(count))
            }
            Some(("", most)) => (0, Some(number(most)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        self.at += inner.len() + 2;
        Some(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let found = match parse(text) {
            Ok(regex) => show(&regex.root),
            Err(error) => format!("{:?} {}", error.span, error.message),
        };
        assert_eq!(found, expect, "{text:?}");
    }

    /// The tree in words short enough to compare.
    fn show(node: &Node) -> String {
        let list = |nodes: &[Node], between: &str| {
            nodes.iter().map(show).collect::<Vec<_>>().join(between)
        };
        match &node.kind {
            Kind::Empty => "nothing".to_owned(),
            Kind::Char { letter, fold: false } => letter.to_string(),
            Kind::Char { letter, fold: true } => format!("{letter}~"),
            Kind::Any => "any".to_owned(),
            Kind::Concat(nodes) => list(nodes, " "),
            Kind::Alternate(nodes) => format!("<{}>", list(nodes, " | ")),
            Kind::Group(node) => format!("({})", show(node)),
            Kind::Capture { slot, node } => format!("{slot}({})", show(node)),
            Kind::Atomic(node) => format!("atomic({})", show(node)),
            Kind::Repeat { node, min, max, mode } => {
                let max = max.map_or("inf".to_owned(), |max| max.to_string());
                format!("{}{{{min},{max} {mode:?}}}", show(node))
            }
            Kind::Assert(assert) => format!("{assert:?}"),
            kind => format!("{kind:?}").chars().take_while(|letter| *letter != ' ').collect(),
        }
    }

    #[test]
    fn trees() {
        check("ab|c", "<a b | c>");
        check("", "nothing");
        check("a|", "<a | nothing>");
        check(".*?", "any{0,inf Lazy}");
        check("a++", "a{1,inf Possessive}");
        check("a{2}{3}", "a{2,2 Greedy}{3,3 Greedy}");
        check("a{1,3}+", "a{1,3 Greedy}{1,inf Greedy}");
        check("a{2}?", "a{2,2 Greedy}{0,1 Greedy}");
        check("a{2,}?", "a{2,inf Lazy}");
        check("a{,2}", "a{0,2 Greedy}");
        check("a{x", "a { x");
        check("a]b}", "a ] b }");
        check("(?<x>a)(b)", "0(a) 1(b)");
        check("(?'x'a)", "0(a)");
        check("(?>a|b)", "atomic(<a | b>)");
        check("a(?i)b|c", "a (<b~ | c~>)");
        check("(?i:b)c", "(b~) c");
        check("((?i)a)b", "0((a~)) b");
        check("(?x: a b # c\n)d", "(a b) d");
        check("(?x: a + )", "(a{1,inf Greedy})");
        check("a(?#b)*", "a{0,inf Greedy}");
        check(r"\Qa\E\N", "Q a E N");
        check(r"\x41\u00e9\t\101", "A é \t A");
        check(r"\xe8\xae\xad", "训");
        check(r"^\A\z$", "LineStart TextStart TextEnd LineEnd");
    }

    #[test]
    fn faults() {
        check("(?<x>a", "0..6 a group that is not closed");
        check("ab)", "2..3 a closing parenthesis without its opening one");
        check("[a", "0..2 a set of characters that is not closed");
        check("[]", "0..1 an empty set of characters");
        check("[b-a]", "1..4 a range whose end is before its start");
        check("\\", "0..1 a backslash at the end");
        check("*a", "0..1 a quantifier with nothing to repeat");
        check("a|+", "2..3 a quantifier with nothing to repeat");
        check("a{3,1}", "1..6 a repeat whose most is less than its least");
        check("a{99999}", "1..8 a repeat of more than 65535 times");
        check("(?<1x>a)", "0..6 `1x` is no name for a group");
        check("(?P<x>a)", "0..3 an unknown kind of group");
        check("(?<!a+)x", "0..7 a look-behind of no fixed width");
        check("(?<=(?:a|bc)d)x", "0..14 a look-behind of no fixed width");
        check(r"\x{42}", "0..2 an escape without hexadecimal digits");
        check(r"a\g<x>", "1..2 calls of groups (`\\g`) are not supported");
        check(&"(".repeat(300), "201..202 groups within groups too deep");
    }

    #[test]
    fn alternatives_of_a_look_behind_may_differ() {
        assert!(parse("(?<=a|bc)d").is_ok());
    }
}
