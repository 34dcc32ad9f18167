//! The kernel's ring buffer: `[123456.789012] NVRM: Xid (PCI:0000:9b:00): 79, …` with any of the
//! times that dmesg prints, raw records of `/dev/kmsg`, and the codes of GPUs and switches in them.
//!
//! Invariant: seconds since the boot are no time of day; they are the field `uptime`. Next on the
//! trip: [`super::syslog`], which finds the same contents behind another header.

use std::fmt::Write as _;

use nom::Parser as _;
use nom::bytes::complete::{tag, take_till, take_while, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::{opt, recognize, verify};
use nom::sequence::{delimited, preceded, terminated};

use super::line::Line;
use super::stamp::{self, Form, Stamp};
use super::words::{self, Part};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::formats::syslog::{FACILITIES, SEVERITIES};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// A machine that runs for more seconds than have this many digits has another clock there.
const UPTIME_DIGITS_MAX: usize = 8;

/// Reads a line with any of the headers.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let content = match line.text.as_bytes() {
        [b'[' | b'<', ..] => bracketed(writer, line.text)?,
        [b'0'..=b'9', ..] => record(writer, line.text)?,
        _ => decoded(writer, line.text)?,
    };
    if content.starts_with("NVRM: ") {
        writer.part("component", &content[..4])?;
    } else if line.text.as_bytes()[0].is_ascii_digit() {
        writer.fixed("component", "kernel")?;
    }
    codes(writer, content)?;
    writer.part("content", content)
}

/// `[123456.789012] `, `[Wed May 15 10:23:45 2024] `, after `<4>` or not.
fn bracketed<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let priority = opt(delimited(char('<'), digit1, char('>'))).parse(text);
    let (text, priority) = words::split(priority)?;
    if let Some(priority) = priority {
        severity(writer, priority)?;
    }
    let inner = delimited(char('['), take_till(|it| it == ']'), char(']')).parse(text);
    let (rest, inner) = words::split(inner)?;
    let time = inner.trim_start_matches(' ');
    if time.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        let uptime: Part<'_, &str> =
            nom::combinator::all_consuming(recognize((digit1, char('.'), digit1))).parse(time);
        let uptime = words::matched(uptime)?;
        if stamp::digits(uptime.as_bytes()) > UPTIME_DIGITS_MAX {
            return Err(Reason::NoMatch);
        }
        add_float(writer, "uptime", uptime)?;
    } else {
        weekday(writer, time)?;
    }
    // Who printed it: `[ T1234]`, `[    C0]`.
    let caller = delimited((char('['), take_while(|it| it == ' ')), words::name, char(']'));
    let is_caller = |name: &&str| name.starts_with(['T', 'C']) && name.len() < 12;
    let caller = opt(verify(caller, move |name: &str| is_caller(&name))).parse(rest);
    let (rest, caller) = words::split(caller)?;
    if let Some(caller) = caller {
        writer.part("caller", caller)?;
    }
    let content = rest.strip_prefix(' ');
    content.or(Some(rest).filter(|rest| rest.is_empty())).ok_or(Reason::NoMatch)
}

/// The months by their numbers.
const MONTHS: [&str; 13] =
    ["", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"];

/// `Wed May 15 10:23:45 2024` in English, or as the machine's locale has it: `Mi Mai 15 …`.
fn weekday(writer: &mut Writer<'_>, text: &str) -> Read {
    let (day, rest) = text.split_once(' ').ok_or(Reason::NoMatch)?;
    let is_english = day.len() == 3 && day.bytes().all(|byte| byte.is_ascii_alphabetic());
    let length = stamp::month_name(rest.as_bytes()).filter(|_| is_english);
    if let Some(length) = length {
        let year: Part<'_, &str> = preceded(char(' '), digit1).parse(&rest[length..]);
        let is_whole = year.is_ok_and(|(rest, year)| rest.is_empty() && year.len() == 4);
        let stamp = Stamp { text, form: Form::Weekday };
        return if is_whole { writer.log_time(stamp) } else { Err(Reason::NoMatch) };
    }
    let named = match rest.split_once("月") {
        Some((month, rest)) => Some((writer.piece(month), rest)),
        None => crate::time::weekday_and_month(text)
            .and_then(|(month, rest)| Some((Piece::Fixed(MONTHS.get(month)?), rest))),
    };
    let (month, rest) = named.ok_or(Reason::NoMatch)?;
    let rest = rest.trim_start_matches(' ');
    let date = |text: &str| (1..=2).contains(&text.len()) && text.parse::<u8>().is_ok();
    let (day, rest) = rest.split_once(' ').ok_or(Reason::NoMatch)?;
    let is_month = date(writer.fields.show(month, writer.text));
    if !is_month || !date(day) || !stamp::has_shape(rest.as_bytes(), b"99:99:99 9999") {
        return Err(Reason::NoMatch);
    }
    let (dash, space) = (Piece::Fixed("-"), Piece::Fixed(" "));
    let [year, day, clock] = [&rest[9..13], day, &rest[..8]].map(|part| writer.piece(part));
    writer.composed_time(&[year, dash, month, dash, day, space, clock], Form::Plain)
}

/// `4,3964,206764307,-;content`: priority, number, microseconds since the boot, flags.
fn record<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let number = || terminated(digit1, char(','));
    let flags = terminated(take_till(|it| it == ';'), char(';'));
    let header = (number(), number(), number(), flags).parse(text);
    let (rest, (priority, sequence, micros, _)) = words::split(header)?;
    severity(writer, priority)?;
    writer.whole("sequence", sequence)?;
    let micros: u64 = micros.parse().map_err(|_| Reason::NoMatch)?;
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let uptime = writer.fields.compose(|buffer| {
        let written = write!(buffer, "{seconds}.{micros:06}");
        debug_assert!(written.is_ok(), "a String takes everything");
    });
    writer.add(Piece::Fixed("uptime"), uptime, FieldKind::Float, Duplicates::All)?;
    Ok(rest)
}

/// `kern  :warn  : 2024-05-15T10:23:45,287197+00:00 content`
fn decoded<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let facility = take_while1(|letter: char| letter.is_ascii_alphanumeric());
    let facility = verify(facility, |name: &str| FACILITIES.contains(&name));
    let colon = || (take_while(|it| it == ' '), char(':'));
    let header = (terminated(facility, colon()), terminated(words::level, (colon(), char(' '))));
    let (rest, (facility, level)) = words::split({ header }.parse(text))?;
    let (stamp, rest) = stamp::date_time(rest).ok_or(Reason::NoMatch)?;
    writer.log_time(stamp)?;
    writer.part("level", level)?;
    writer.part("facility", facility)?;
    Ok(rest.strip_prefix(' ').unwrap_or(rest))
}

fn severity(writer: &mut Writer<'_>, priority: &str) -> Read {
    let priority: usize = priority.parse().map_err(|_| Reason::NoMatch)?;
    let facility = FACILITIES.get(priority / 8).ok_or(Reason::NoMatch)?;
    writer.fixed("level", SEVERITIES[priority % 8])?;
    writer.fixed("facility", facility)
}

fn add_float(writer: &mut Writer<'_>, name: &'static str, text: &str) -> Read {
    let value = writer.piece(text);
    writer.add(Piece::Fixed(name), value, FieldKind::Float, Duplicates::All)
}

/// The codes of GPUs and switches: `NVRM: Xid (PCI:0000:9b:00 GPU-I:05): 94, …` and
/// `nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, …`.
pub(super) fn codes(writer: &mut Writer<'_>, content: &str) -> Read {
    let content = uptime_inside(writer, content)?;
    let (name, rest) = if let Some(rest) = content.strip_prefix("NVRM: Xid (") {
        ("xid", rest)
    } else if content.starts_with("nvidia-nvswitch") {
        let Some((_, rest)) = content.split_once(": SXid (") else { return Ok(()) };
        ("sxid", rest)
    } else {
        return Ok(());
    };
    let device = terminated(take_till(|it| it == ')'), tag("): "));
    let found: Part<'_, _> = (device, digit1).parse(rest);
    let Ok((_, (device, code))) = found else { return Ok(()) };
    writer.part("pci", device.strip_prefix("PCI:").unwrap_or(device))?;
    // Numbers of switches are padded by zeros.
    let zeros = code.trim_start_matches('0');
    writer.whole(name, if zeros.is_empty() { code } else { zeros })
}

/// `[123.456] ` behind the header of syslog; gives what follows it.
fn uptime_inside<'t>(writer: &mut Writer<'_>, content: &'t str) -> Result<&'t str, Reason> {
    let uptime = recognize((digit1, char('.'), digit1));
    let inner = delimited((char('['), take_while(|it| it == ' ')), uptime, tag("] "));
    let found: Part<'_, &str> = { inner }.parse(content);
    let Ok((rest, uptime)) = found else { return Ok(content) };
    if writer.fields.find("uptime", writer.text).is_none() {
        add_float(writer, "uptime", uptime)?;
    }
    Ok(rest)
}
