//! What follows a backslash.
//!
//! Invariant: `\d \w \s` are ASCII unless `(?u)` says otherwise, `\h` is a hexadecimal digit, and
//! what means nothing is the character itself. Next on the trip: [`super::parse`].

use super::class::{self, Item, Named, Set};
use super::parse::Parser;
use super::{Assert, Kind, SyntaxError, Target};

/// How classes, `\b` and escapes are read: `(?d)`, `(?u)`, `(?a)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Charset {
    /// `\d \w \s` ASCII, POSIX brackets and `\b` Unicode.
    #[default]
    Default,
    Unicode,
    Ascii,
}

/// An escape that stands for characters, inside a bracket or outside.
pub(super) enum Escaped {
    Char(char),
    /// As the items of a bracket.
    Items(Vec<Item>),
}

impl Parser<'_> {
    /// After the backslash, outside a bracket.
    pub(super) fn escape(&mut self, start: usize) -> Result<Kind, SyntaxError> {
        let ascii = self.flags.charset == Charset::Ascii;
        let Some(letter) = self.peek() else {
            return Err(self.error(start, "a backslash at the end"));
        };
        let kind = match letter {
            'A' => Kind::Assert(Assert::TextStart),
            'z' => Kind::Assert(Assert::TextEnd),
            'Z' => Kind::Assert(Assert::TextEndOrLineFeed),
            'G' => Kind::Assert(Assert::SearchStart),
            'b' => Kind::Assert(Assert::WordBoundary { ascii }),
            'B' => Kind::Assert(Assert::NotWordBoundary { ascii }),
            'K' => Kind::Keep,
            'R' => Kind::LineBreak,
            'X' => Kind::Grapheme,
            'k' if matches!(self.peek_second(), Some('<' | '\'')) => {
                self.bump();
                let target = self.reference(start)?;
                return Ok(Kind::Backreference { target, fold: self.flags.fold });
            }
            'g' if matches!(self.peek_second(), Some('<' | '\'')) => {
                let help = "write the group's expression again, or define it by name and refer to \
                            it as `%{NAME}` in both places";
                let error = self.error(start, "calls of groups (`\\g`) are not supported");
                return Err(SyntaxError { help: Some(help), ..error });
            }
            '1'..='9' => return Ok(self.numbered()),
            _ => {
                return Ok(match self.escaped(start)? {
                    Escaped::Char(letter) => Kind::Char { letter, fold: self.flags.fold },
                    Escaped::Items(items) => {
                        Kind::Set(Set { items, fold: self.flags.fold, ..Set::default() })
                    }
                });
            }
        };
        self.bump();
        Ok(kind)
    }

    /// `<name>` or `'name'`.
    fn reference(&mut self, start: usize) -> Result<Target, SyntaxError> {
        let close = if self.bump() == Some('\'') { '\'' } else { '>' };
        let name = self.take_until(close, start)?;
        if name.is_empty() {
            return Err(self.error(start, "a reference without a name"));
        }
        Ok(match name.parse::<usize>() {
            Ok(number) => Target::Number(number),
            Err(_) => Target::Name(name),
        })
    }

    /// `\1` to `\9` refer to groups; more digits do where there are so many groups, and are octal
    /// else.
    fn numbered(&mut self) -> Kind {
        let digits: String = self.rest().chars().take(3).take_while(char::is_ascii_digit).collect();
        let number: usize = digits.parse().expect("one to three digits");
        if number <= 9 || number <= self.groups_so_far() {
            self.advance(digits.len());
            return Kind::Backreference { target: Target::Number(number), fold: self.flags.fold };
        }
        let letter = match self.octal() {
            Some(letter) => letter,
            // 8 and 9 are no octal digits: the character itself.
            None => self.bump().expect("a digit was seen"),
        };
        Kind::Char { letter, fold: self.flags.fold }
    }

    fn octal(&mut self) -> Option<char> {
        let digits: String =
            self.rest().chars().take(3).take_while(|digit| digit.is_digit(8)).collect();
        let value = u32::from_str_radix(&digits, 8).ok()?;
        self.advance(digits.len());
        char::from_u32(value)
    }

    /// After the backslash: the escapes that a bracket knows too.
    pub(super) fn escaped(&mut self, start: usize) -> Result<Escaped, SyntaxError> {
        if self.peek() == Some('0') {
            let letter = self.octal().expect("a zero is an octal digit");
            return Ok(Escaped::Char(letter));
        }
        let Some(letter) = self.bump() else {
            return Err(self.error(start, "a backslash at the end"));
        };
        let unicode = self.flags.charset == Charset::Unicode;
        let negated = letter.is_ascii_uppercase();
        let items = match letter {
            'd' | 'D' if unicode => vec![Item::Named { named: Named::Digit, negated }],
            'w' | 'W' if unicode => vec![Item::Named { named: Named::Word, negated }],
            's' | 'S' if unicode => vec![Item::Named { named: Named::Space, negated }],
            'd' | 'D' => fixed(class::DIGIT, negated),
            'w' | 'W' => fixed(class::WORD, negated),
            's' | 'S' => fixed(class::SPACE, negated),
            'h' | 'H' => fixed(class::HEX, negated),
            'p' | 'P' if self.peek() == Some('{') => vec![self.property(start, negated)?],
            _ => return self.escaped_char(letter, start).map(Escaped::Char),
        };
        Ok(Escaped::Items(items))
    }

    fn escaped_char(&mut self, letter: char, start: usize) -> Result<char, SyntaxError> {
        Ok(match letter {
            't' => '\t',
            'n' => '\n',
            'v' => '\x0b',
            'f' => '\x0c',
            'r' => '\r',
            'a' => '\x07',
            'e' => '\x1b',
            'x' => self.hex_byte(start)?,
            'u' => self.code_point(start)?,
            'c' => match self.bump() {
                Some('?') => '\x7f',
                Some(letter) if letter.is_ascii() => char::from(letter as u8 & 0x1f),
                _ => return Err(self.error(start, "`\\c` without a letter")),
            },
            letter => letter,
        })
    }

    /// `\x41`; beyond ASCII the bytes of one character, each with its own `\x`.
    fn hex_byte(&mut self, start: usize) -> Result<char, SyntaxError> {
        let mut bytes = vec![self.hex_digits(2, start)? as u8];
        let length = match bytes[0] {
            0..=0x7f => 1,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Err(self.error(start, "`\\x` names a byte that begins no character")),
        };
        while bytes.len() < length {
            if !self.eat("\\x") {
                return Err(self.error(start, "`\\x` names a part of a character"));
            }
            bytes.push(self.hex_digits(2, start)? as u8);
        }
        match std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next()) {
            Some(letter) => Ok(letter),
            None => Err(self.error(start, "`\\x` names bytes that are no character")),
        }
    }

    /// `\u00e9` or `\u{e9}`.
    fn code_point(&mut self, start: usize) -> Result<char, SyntaxError> {
        let value = if self.eat("{") {
            let digits = self.take_until('}', start)?;
            u32::from_str_radix(digits.trim(), 16).ok()
        } else {
            let value = self.hex_digits(4, start)?;
            Some(value).filter(|_| self.position() - start == 6)
        };
        value.and_then(char::from_u32).ok_or_else(|| self.error(start, "`\\u` names no character"))
    }

    fn hex_digits(&mut self, max: usize, start: usize) -> Result<u32, SyntaxError> {
        let digits: String =
            self.rest().chars().take(max).take_while(char::is_ascii_hexdigit).collect();
        self.advance(digits.len());
        u32::from_str_radix(&digits, 16)
            .map_err(|_| self.error(start, "an escape without hexadecimal digits"))
    }

    /// `\p{Name}`, `\p{^Name}`, `\P{Name}`.
    fn property(&mut self, start: usize, mut negated: bool) -> Result<Item, SyntaxError> {
        self.bump();
        if self.eat("^") {
            negated = !negated;
        }
        let name = self.take_until('}', start)?;
        let known =
            name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_- ".contains(letter));
        if name.is_empty() || !known {
            return Err(self.error(start, "a property without a name"));
        }
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        if let Some(named) = class::posix_unicode(&plain) {
            return Ok(Item::Named { named, negated });
        }
        if let Some(ranges) = class::posix_ascii(&plain) {
            return Ok(Item::Set(Set::of_ranges(ranges, negated)));
        }
        let name = general_category(&plain).map_or(plain, str::to_owned);
        Ok(Item::Named { named: Named::Property(name), negated })
    }
}

fn fixed(ranges: &[(char, char)], negated: bool) -> Vec<Item> {
    let fixed = |(first, last): &(char, char)| Item::Fixed(*first, *last);
    if negated {
        class::complement(ranges).iter().map(fixed).collect()
    } else {
        ranges.iter().map(fixed).collect()
    }
}

/// The short name of a general category by its long one: engines know the short ones.
fn general_category(plain: &str) -> Option<&'static str> {
    const LONG: [(&str, &str); 22] = [
        ("letter", "L"),
        ("uppercaseletter", "Lu"),
        ("lowercaseletter", "Ll"),
        ("titlecaseletter", "Lt"),
        ("modifierletter", "Lm"),
        ("otherletter", "Lo"),
        ("mark", "M"),
        ("nonspacingmark", "Mn"),
        ("number", "N"),
        ("decimalnumber", "Nd"),
        ("letternumber", "Nl"),
        ("othernumber", "No"),
        ("punctuation", "P"),
        ("connectorpunctuation", "Pc"),
        ("dashpunctuation", "Pd"),
        ("symbol", "S"),
        ("mathsymbol", "Sm"),
        ("currencysymbol", "Sc"),
        ("separator", "Z"),
        ("spaceseparator", "Zs"),
        ("other", "C"),
        ("control", "Cc"),
    ];
    LONG.iter().find(|(long, _)| *long == plain).map(|(_, short)| *short)
}
