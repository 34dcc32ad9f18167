//! Joda's format letters, compiled into items.
//!
//! What it is for: `yyyy-MM-dd HH:mm:ss,SSS` becomes a list that a text is read against, and the
//! usual shape of it a handful of fixed positions. Invariant: the fixed positions accept nothing
//! that the list would read otherwise. Next on the trip: [`super::fields`] makes an instant of what
//! was read.

use super::civil::fraction_nanos;
use super::fields::Fields;
use super::fixed::FixedShape;
use super::locale::{Locale, NameKind};
use super::zone::Zone;
use super::{Instant, TimeFormatError, civil, offset};

/// A compiled format.
#[derive(Debug)]
pub(super) struct Items {
    list: Vec<Item>,
    has_year: bool,
    fixed: Option<FixedShape>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// Compared without regard to ASCII case.
    Literal(String),
    /// Digits, at most so many.
    Number {
        part: Part,
        digits_max: usize,
    },
    /// Two digits in the century around the reference; other lengths as they stand when `lenient`.
    TwoDigitYear {
        lenient: bool,
    },
    /// Digits after a decimal point, at most so many.
    Fraction {
        digits_max: usize,
    },
    Name(NameKind, &'static Locale),
    Era,
    Offset,
    Abbreviation,
    ZoneId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Century,
    Year,
    WeekYear,
    Month,
    Week,
    Day,
    DayOfYear,
    Weekday,
    /// 0 to 23.
    Hour,
    /// 1 to 24.
    ClockHour,
    /// 0 to 11.
    HalfHour,
    /// 1 to 12.
    ClockHalfHour,
    Minute,
    Second,
}

/// Longer formats are refused: a format is a line, not a document.
const FORMAT_BYTES_MAX: usize = 1024;

impl Items {
    /// Compiles a format with the names of a language. The error's `format` is left to the caller.
    pub(super) fn compile(format: &str, locale: &'static Locale) -> Result<Items, TimeFormatError> {
        if format.len() > FORMAT_BYTES_MAX {
            let message = format!("a time format of more than {FORMAT_BYTES_MAX} bytes");
            return Err(error(0, message, None));
        }
        if let Some(position) = format.find('%') {
            let message = "`%` in a time format".to_owned();
            let help = "times are read by letters such as `yyyy-MM-dd HH:mm:ss`, not by `%Y-%m-%d`";
            return Err(error(position, message, Some(help.to_owned())));
        }
        if format.is_empty() {
            let help = "for example `yyyy-MM-dd HH:mm:ss,SSS`, `ISO8601` or `UNIX`".to_owned();
            return Err(error(0, "an empty time format".to_owned(), Some(help)));
        }
        let tokens = tokenize(format);
        let mut items = Vec::with_capacity(tokens.len());
        for (index, token) in tokens.iter().enumerate() {
            let digits_follow = matches!(
                tokens.get(index + 1),
                Some(Token::Letters { letter, count, .. }) if is_numeric(*letter, *count)
            );
            items.push(match token {
                Token::Literal(text) => Item::Literal(text.clone()),
                Token::Letters { letter, count, position } => {
                    item(*letter, *count, digits_follow, locale)
                        .ok_or_else(|| unknown_letter(*letter, *position))?
                }
            });
        }
        let fixed = FixedShape::of(&items);
        // Letters inside quotes count too: so it is in Logstash.
        Ok(Items { list: items, has_year: format.contains(['y', 'Y']), fixed })
    }

    /// Reads a text from end to end; `None` when it does not fit.
    pub(super) fn parse(&self, text: &str, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        if let Some(fixed) = &self.fixed
            && let Some((local, nanos)) = fixed.parse(text.as_bytes())
        {
            return Some(Instant { seconds: zone.to_utc(local)?, nanos });
        }
        let mut fields = Fields::default();
        let mut rest = text;
        for item in &self.list {
            rest = item.parse(rest, &mut fields, reference_ns)?;
        }
        if !rest.is_empty() {
            return None;
        }
        if self.has_year && !fields.is_clock_alone() {
            fields.instant(zone)
        } else {
            fields.instant_near(zone, reference_ns)
        }
    }
}

fn error(position: usize, message: String, help: Option<String>) -> TimeFormatError {
    TimeFormatError { format: 0, is_locale: false, position, message, help }
}

fn unknown_letter(letter: char, position: usize) -> TimeFormatError {
    let help = match letter {
        'T' => "text stands in quotes: `'T'`",
        _ => "letters are y M d H h m s S a E Z z (and C x w e D k K G Y); text stands in quotes",
    };
    error(position, format!("unknown letter `{letter}` in a time format"), Some(help.to_owned()))
}

enum Token {
    Literal(String),
    Letters { letter: char, count: usize, position: usize },
}

/// Parts a format into runs of one letter and the text between them. Two quotes are a quote; an
/// unclosed one reaches to the end.
fn tokenize(format: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut in_quotes = false;
    let mut letters = format.char_indices().peekable();
    while let Some((position, letter)) = letters.next() {
        let literal = if letter == '\'' {
            if letters.next_if(|(_, next)| *next == '\'').is_none() {
                in_quotes = !in_quotes;
                continue;
            }
            letter
        } else if !in_quotes && letter.is_ascii_alphabetic() {
            let mut count = 1;
            while letters.next_if(|(_, next)| *next == letter).is_some() {
                count += 1;
            }
            tokens.push(Token::Letters { letter, count, position });
            continue;
        } else {
            letter
        };
        match tokens.last_mut() {
            Some(Token::Literal(text)) => text.push(literal),
            _ => tokens.push(Token::Literal(literal.to_string())),
        }
    }
    tokens
}

fn is_numeric(letter: char, count: usize) -> bool {
    match letter {
        'M' => count <= 2,
        _ => "cCxyYdhHmsSeDFwWkK".contains(letter),
    }
}

fn item(letter: char, count: usize, digits_follow: bool, locale: &'static Locale) -> Option<Item> {
    let number = |part, digits_max| Some(Item::Number { part, digits_max });
    match letter {
        'G' => Some(Item::Era),
        'C' => number(Part::Century, count),
        'x' | 'y' | 'Y' if count == 2 => Some(Item::TwoDigitYear { lenient: !digits_follow }),
        'x' => number(Part::WeekYear, if digits_follow { count } else { 9 }),
        'y' | 'Y' => number(Part::Year, if digits_follow { count } else { 9 }),
        'M' if count >= 3 => Some(Item::Name(NameKind::Month, locale)),
        'M' => number(Part::Month, 2),
        'd' => number(Part::Day, 2),
        'D' => number(Part::DayOfYear, 3),
        'w' => number(Part::Week, 2),
        'e' => number(Part::Weekday, 1),
        'E' => Some(Item::Name(NameKind::Weekday, locale)),
        'a' => Some(Item::Name(NameKind::Halfday, locale)),
        'H' => number(Part::Hour, 2),
        'k' => number(Part::ClockHour, 2),
        'K' => number(Part::HalfHour, 2),
        'h' => number(Part::ClockHalfHour, 2),
        'm' => number(Part::Minute, 2),
        's' => number(Part::Second, 2),
        'S' => Some(Item::Fraction { digits_max: count }),
        'z' => Some(Item::Abbreviation),
        'Z' if count >= 3 => Some(Item::ZoneId),
        'Z' => Some(Item::Offset),
        _ => None,
    }
}

impl Item {
    /// Reads the item off the front of `text` and gives what follows it.
    fn parse<'t>(&self, text: &'t str, fields: &mut Fields, reference_ns: i64) -> Option<&'t str> {
        match self {
            Item::Literal(literal) => strip_ignoring_case(text, literal),
            Item::Number { part, digits_max } => {
                let signed = matches!(part, Part::Year | Part::WeekYear);
                let (value, rest) = number(text, *digits_max, signed)?;
                part.set(value, fields)?;
                Some(rest)
            }
            Item::TwoDigitYear { lenient } => {
                let digits = digit_count(text, 9);
                if *lenient && digits != 2 {
                    let (value, rest) = number(text, 9, true)?;
                    fields.year = Some(value);
                    return Some(rest);
                }
                if digits < 2 {
                    return None;
                }
                let (value, rest) = number(text, 2, false)?;
                fields.year = Some(in_century(value, reference_ns));
                Some(rest)
            }
            Item::Fraction { digits_max } => {
                let digits = digit_count(text, *digits_max);
                fields.nanos = fraction_nanos(&text.as_bytes()[..digits.min(9)]);
                (digits > 0).then(|| &text[digits..])
            }
            Item::Name(kind, locale) => {
                let (index, rest) = locale.strip(*kind, text)?;
                match kind {
                    NameKind::Month => fields.month = Some(index + 1),
                    NameKind::Weekday => fields.weekday = Some(index + 1),
                    NameKind::Halfday => fields.afternoon = Some(index == 1),
                }
                Some(rest)
            }
            Item::Era => {
                strip_ignoring_case(text, "AD").or_else(|| strip_ignoring_case(text, "CE"))
            }
            Item::Offset => {
                let (seconds, rest) = offset::parse(text)?;
                fields.offset = Some(seconds);
                Some(rest)
            }
            Item::Abbreviation | Item::ZoneId => {
                let (zone, rest) = match self {
                    Item::ZoneId => offset::parse_zone_id(text)?,
                    _ => offset::parse_abbreviation(text)?,
                };
                fields.zone = Some(zone);
                Some(rest)
            }
        }
    }
}

impl Part {
    /// Notes a value; `None` when it can be none of this part. What depends on other parts is
    /// checked when all are known.
    fn set(self, value: i64, fields: &mut Fields) -> Option<()> {
        let small = u32::try_from(value).unwrap_or(u32::MAX);
        let within = |min: u32, max: u32| (min..=max).contains(&small).then_some(small);
        match self {
            // A century is said again by the year beside it.
            Part::Century => {}
            Part::Year => fields.year = Some(value),
            Part::WeekYear => fields.week_year = Some(value),
            Part::Month => fields.month = Some(within(1, 12)?),
            Part::Week => fields.week = Some(within(1, 53)?),
            Part::Day => fields.day = Some(within(1, 31)?),
            Part::DayOfYear => fields.day_of_year = Some(within(1, 366)?),
            Part::Weekday => fields.weekday = Some(within(1, 7)?),
            Part::Hour => fields.hour = Some(within(0, 23)?),
            Part::ClockHour => fields.hour = Some(within(1, 24)? % 24),
            Part::HalfHour => fields.half_hour = Some(within(0, 11)?),
            Part::ClockHalfHour => fields.half_hour = Some(within(1, 12)? % 12),
            Part::Minute => fields.minute = within(0, 59)?,
            Part::Second => fields.second = within(0, 59)?,
        }
        Some(())
    }
}

/// The year of two digits within the hundred years that end 19 years after the reference.
fn in_century(two_digits: i64, reference_ns: i64) -> i64 {
    let (year_now, _) = civil::year_and_month(reference_ns);
    let first = year_now - 80;
    first + (two_digits - first).rem_euclid(100)
}

fn digit_count(text: &str, max: usize) -> usize {
    text.bytes().take(max).take_while(u8::is_ascii_digit).count()
}

/// A number off the front; at most nine digits count, so that it cannot overflow.
fn number(text: &str, digits_max: usize, signed: bool) -> Option<(i64, &str)> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' if signed => (true, &text[1..]),
        b'+' if signed => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = digit_count(text, digits_max.min(9));
    if digits == 0 {
        return None;
    }
    let value =
        text.bytes().take(digits).fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some((if negative { -value } else { value }, &text[digits..]))
}

fn strip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (front, rest) = text.split_at_checked(prefix.len())?;
    front.eq_ignore_ascii_case(prefix).then_some(rest)
}
