//! Syslog: RFC 5424 with its structured data, RFC 3164 as it is really written, and the octet count
//! of RFC 6587 before either.
//!
//! Invariant: a priority is 0 to 191; a nil value (`-`) is no field. What RFC 3164 leaves open is
//! read as rsyslog writes it: without a priority too, and with an ISO 8601 time. Next on the trip:
//! [`crate::fields`].

mod structured;

use nom::bytes::complete::{tag, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, satisfy};
use nom::combinator::{map_res, opt, recognize, verify};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser as _};

use super::writer::{Read, Writer};
use crate::grok::Reason;

pub(super) const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
];
pub(super) const SEVERITIES: [&str; 8] =
    ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// A tag is a program's name; a longer word is no tag.
const TAG_BYTES_MAX: usize = 64;

/// How times are written: a day of one digit has a space before it.
pub(super) const TIMES: [&str; 5] =
    ["ISO8601", "MMM d HH:mm:ss", "MMM  d HH:mm:ss", "MMM d yyyy HH:mm:ss", "MMM  d yyyy HH:mm:ss"];

/// Reads a message of either form.
pub(super) fn read(writer: &mut Writer<'_>) -> Read {
    let text = uncounted(writer.text)?;
    read_from(writer, text)
}

/// As [`read`], of a part of the line without an octet count.
pub(super) fn read_from(writer: &mut Writer<'_>, text: &str) -> Read {
    let (text, priority) = opt(priority).parse(text).map_err(|_| Reason::NoMatch)?;
    if let Some(priority) = priority {
        let severity = SEVERITIES[usize::from(priority % 8)];
        let facility = FACILITIES[usize::from(priority / 8)];
        writer.fixed("level", severity)?;
        writer.fixed("facility", facility)?;
        if let Ok((rest, _)) = version(text) {
            return new_form(writer, rest);
        }
    }
    old_form(writer, text)
}

/// Takes an octet count off. It must be that of the line, whose end may have been taken off before.
fn uncounted(text: &str) -> Result<&str, Reason> {
    let counted: IResult<&str, &str> = terminated(digit1, (char(' '), char('<'))).parse(text);
    let Ok((_, count)) = counted else { return Ok(text) };
    let message = &text[count.len() + 1..];
    let length: usize = count.parse().map_err(|_| Reason::Invalid)?;
    let is_whole = (message.len()..=message.len() + 2).contains(&length);
    if is_whole { Ok(message) } else { Err(Reason::Invalid) }
}

fn priority(text: &str) -> IResult<&str, u8> {
    let digits = take_while_m_n(1, 3, |letter: char| letter.is_ascii_digit());
    let number = verify(map_res(digits, str::parse::<u8>), |number| *number < 192);
    delimited(char('<'), number, char('>')).parse(text)
}

fn version(text: &str) -> IResult<&str, &str> {
    let number = recognize((
        satisfy(|letter| ('1'..='9').contains(&letter)),
        take_while_m_n(0, 2, |letter: char| letter.is_ascii_digit()),
    ));
    terminated(number, char(' ')).parse(text)
}

/// A word and the space behind it, which the end may stand for.
fn word(text: &str) -> IResult<&str, &str> {
    terminated(take_while1(|letter: char| letter > ' '), opt(char(' '))).parse(text)
}

/// RFC 5424, from the time on.
fn new_form(writer: &mut Writer<'_>, text: &str) -> Read {
    let invalid = |_| Reason::Invalid;
    let (text, time) = word(text).map_err(invalid)?;
    let (text, host) = word(text).map_err(invalid)?;
    let (text, component) = word(text).map_err(invalid)?;
    let (text, process) = word(text).map_err(invalid)?;
    let (text, message_id) = word(text).map_err(invalid)?;
    let names = writer.names;
    for (name, value) in
        [(names.time, time), (names.host, host), ("component", component), ("msgid", message_id)]
    {
        if value != "-" {
            writer.part(name, value)?;
        }
    }
    if process != "-" {
        writer.whole("pid", process)?;
    }
    let text = structured::read(writer, text)?;
    let content = text.strip_prefix(' ').unwrap_or(text);
    writer.part("content", content.strip_prefix('\u{feff}').unwrap_or(content))
}

/// RFC 3164, from the time on.
fn old_form(writer: &mut Writer<'_>, text: &str) -> Read {
    let (text, time) = old_time(text).map_err(|_| Reason::NoMatch)?;
    writer.part(writer.names.time, time)?;
    message(writer, text)
}

/// RFC 3164, from the host on.
pub(super) fn message(writer: &mut Writer<'_>, text: &str) -> Read {
    let (text, host) = word(text).map_err(|_| Reason::NoMatch)?;
    writer.part(writer.names.host, host)?;
    let Ok((content, (component, process))) = program(text) else {
        return writer.part("content", text);
    };
    writer.part("component", component)?;
    if let Some(process) = process {
        writer.whole("pid", process)?;
    }
    writer.part("content", content)
}

/// `Oct 11 22:14:15`, or ISO 8601 in one word.
fn old_time(text: &str) -> IResult<&str, &str> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let clock = (
        take_while_m_n(2, 2, is_digit),
        tag(":"),
        take_while_m_n(2, 2, is_digit),
        tag(":"),
        take_while_m_n(2, 2, is_digit),
    );
    let month = take_while_m_n(3, 3, |letter: char| letter.is_ascii_alphabetic());
    let day = (take_while_m_n(1, 2, |letter| letter == ' '), take_while_m_n(1, 2, is_digit));
    let year = opt((take_while_m_n(4, 4, is_digit), tag(" ")));
    let old = recognize((month, day, tag(" "), year, clock));
    let iso = verify(take_while1(|letter: char| letter > ' '), |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() >= 19 && bytes[0].is_ascii_digit() && bytes[4] == b'-' && bytes[10] == b'T'
    });
    terminated(nom::branch::alt((old, iso)), char(' ')).parse(text)
}

/// `su[123]: ` or `su: `, and what follows it.
fn program(text: &str) -> IResult<&str, (&str, Option<&str>)> {
    let name =
        verify(take_while1(|letter: char| letter > ' ' && !"[:".contains(letter)), |name: &str| {
            name.len() <= TAG_BYTES_MAX
        });
    let process = delimited(char('['), take_while1(|it: char| it > ' ' && it != ']'), char(']'));
    let (text, found) = terminated((name, opt(process)), char(':')).parse(text)?;
    let (text, _) = opt(preceded(tag(""), char(' '))).parse(text)?;
    Ok((text, found))
}
