//! Times at the front of a line: `2024-05-15 10:23:45,123` and its relatives, found in one pass.
//!
//! Invariant: what is taken for a time is one of [`TIMES`], and says which; a text that only begins
//! like a time is none. Next on the trip: [`super::line`].

/// How the formats of this folder write their times; an entry accepts no text of another one, so
/// that they may be tried in order as well. First those that come most often.
pub(in crate::formats) const TIMES: [&str; 21] = [
    "yyyy-MM-dd HH:mm:ss,SSSSSSSSS",
    "yyyy-MM-dd HH:mm:ss.SSSSSSSSS",
    "yyyy-MM-dd HH:mm:ss",
    "ISO8601",
    "MMdd HH:mm:ss.SSSSSSSSS",
    "MM-dd HH:mm:ss",
    "yyyy/MM/dd HH:mm:ss",
    "yyyy/MM/dd HH:mm:ss.SSSSSSSSS",
    "MM/dd HH:mm:ss",
    "MM/dd/yy HH:mm:ss",
    "MM/dd/yyyy HH:mm:ss",
    "MMM d HH:mm:ss",
    "MMM d HH:mm:ss.SSSSSSSSS",
    "MMM d yyyy HH:mm:ss",
    "EEE MMM d HH:mm:ss yyyy",
    "UNIX",
    "UNIX_MS",
    "MMM  d HH:mm:ss",
    "MMM  d HH:mm:ss.SSSSSSSSS",
    "MMM  d yyyy HH:mm:ss",
    "EEE MMM  d HH:mm:ss yyyy",
];

/// How far behind its form that with a padded day stands, in [`TIMES`].
const PADDED: usize = 6;

/// An index into [`TIMES`], which has a padded day of the forms that name months behind them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Form {
    Comma,
    Point,
    Plain,
    Iso,
    MonthDay,
    Dashes,
    Slashes,
    SlashesPoint,
    SlashesNoYear,
    SlashesYearLast,
    SlashesLongYearLast,
    MonthName,
    MonthNamePoint,
    MonthNameYear,
    Weekday,
    Unix,
    UnixMillis,
}

impl Form {
    /// The index of the very format that reads this text: where a month has a name, a day of one
    /// digit may have a space before it.
    pub(super) fn index(self, text: &str) -> usize {
        let is_padded = self.names_month() && text.as_bytes().windows(2).any(|two| two == b"  ");
        self as usize + if is_padded { PADDED } else { 0 }
    }

    /// The formats that read it, as indices.
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        let padded = self.names_month().then_some(self as usize + PADDED);
        std::iter::once(self as usize).chain(padded)
    }

    fn names_month(self) -> bool {
        use Form::{MonthName, MonthNamePoint, MonthNameYear, Weekday};
        matches!(self, MonthName | MonthNamePoint | MonthNameYear | Weekday)
    }
}

/// A time as it stands in the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'t> {
    pub(super) text: &'t str,
    pub(super) form: Form,
}

/// A digit where the shape has a `9`, else the very byte.
pub(super) fn has_shape(bytes: &[u8], shape: &[u8]) -> bool {
    bytes.len() >= shape.len()
        && shape.iter().zip(bytes).all(|(expect, found)| match expect {
            b'9' => found.is_ascii_digit(),
            _ => found == expect,
        })
}

/// How many of the first bytes are digits.
pub(super) fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The length of a fraction of one to nine digits with the byte before it; 0 where there is none.
pub(super) fn fraction(bytes: &[u8], points: &[u8]) -> usize {
    if bytes.first().is_none_or(|point| !points.contains(point)) {
        return 0;
    }
    match digits(&bytes[1..]) {
        count @ 1..=9 => count + 1,
        _ => 0,
    }
}

/// Reads a date and a time off the front of a text, and gives what follows it.
pub(super) fn date_time(text: &str) -> Option<(Stamp<'_>, &str)> {
    let bytes = text.as_bytes();
    if has_shape(bytes, b"9999/99/99 99:99:99") {
        let fraction = fraction(&bytes[19..], b".");
        let form = if fraction == 0 { Form::Slashes } else { Form::SlashesPoint };
        return cut(text, 19 + fraction, form);
    }
    if has_shape(bytes, b"99/99/9999 99:99:99") {
        return cut(text, 19, Form::SlashesLongYearLast);
    }
    if !has_shape(bytes, b"9999-99-99") || !has_shape(bytes.get(11..)?, b"99:99:99") {
        return None;
    }
    let separator = bytes[10];
    if !matches!(separator, b' ' | b'T') {
        return None;
    }
    let end = 19 + fraction(&bytes[19..], b".,");
    let zone = zone(&bytes[end..]);
    let form = match (separator, zone, bytes.get(19)) {
        (b'T', _, _) => Form::Iso,
        (_, 1.., _) => Form::Iso,
        (_, _, Some(b',')) if end > 19 => Form::Comma,
        (_, _, Some(b'.')) if end > 19 => Form::Point,
        _ => Form::Plain,
    };
    cut(text, end + zone, form)
}

/// The length of `Z`, `+08:00` or `+0800`.
fn zone(bytes: &[u8]) -> usize {
    match bytes {
        [b'Z', ..] => 1,
        [b'+' | b'-', rest @ ..] if has_shape(rest, b"99:99") => 6,
        [b'+' | b'-', rest @ ..] if has_shape(rest, b"9999") => 5,
        _ => 0,
    }
}

/// A time of that many bytes, which are ASCII, unless another digit follows.
pub(super) fn cut(text: &str, length: usize, form: Form) -> Option<(Stamp<'_>, &str)> {
    let (stamp, rest) = text.split_at_checked(length)?;
    let goes_on = rest.as_bytes().first().is_some_and(u8::is_ascii_digit);
    (!goes_on).then_some((Stamp { text: stamp, form }, rest))
}

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The length of `May 15 10:23:45`, whose day may be one digit behind one space or two.
pub(super) fn month_name(bytes: &[u8]) -> Option<usize> {
    let (name, rest) = bytes.split_first_chunk::<3>()?;
    if !MONTHS.contains(&name) {
        return None;
    }
    let length = match rest {
        [b' ', b' ', day, b' ', ..] if day.is_ascii_digit() => 7,
        [b' ', day, b' ', ..] if day.is_ascii_digit() => 6,
        [b' ', tens, ones, b' ', ..] if tens.is_ascii_digit() && ones.is_ascii_digit() => 7,
        _ => return None,
    };
    has_shape(&bytes[length..], b"99:99:99").then_some(length + 8)
}

/// The length of `May 15 2024 10:23:45`.
pub(super) fn month_name_year(bytes: &[u8]) -> Option<usize> {
    let day = bytes.get(..3).is_some_and(|name| MONTHS.iter().any(|month| *month == name));
    let length = match bytes.get(3..)? {
        [b' ', b' ' | b'0'..=b'9', b'0'..=b'9', b' ', ..] => 7,
        _ => return None,
    };
    (day && has_shape(&bytes[length..], b"9999 99:99:99")).then_some(length + 13)
}
