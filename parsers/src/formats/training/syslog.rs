//! Syslog among the formats of training: `<11>May  5 10:23:45 gpu-node-017 slurmd[1234]: error: …`,
//! and what `journalctl` prints, which has no priority.
//!
//! Invariant: what the kernel said is read as the kernel's own lines are. Next on the trip:
//! [`super::kernel`]; the format by itself is `formats/syslog.rs`.

use super::kernel;
use super::line::Line;
use super::stamp::{self, Form, Stamp};
use crate::formats::syslog;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;
use crate::level::Level;

/// Reads a line with a priority.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if !line.text.starts_with('<') {
        return Err(Reason::NoMatch);
    }
    syslog::read_from(writer, line.text)?;
    let time = part(writer, "log_time");
    let index = time.and_then(|time| Some(form(time)?.index(time) as u8));
    writer.fields.time_format = index;
    finish(writer)
}

/// Reads a line without one: the date, the host, the program.
pub(super) fn read_short(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (stamp, rest) = match line.stamp {
        Some(stamp) if stamp.form == Form::Iso => (stamp, line.rest),
        Some(_) => return Err(Reason::NoMatch),
        None => month_name(line.text).ok_or(Reason::NoMatch)?,
    };
    let rest = rest.strip_prefix(' ').ok_or(Reason::NoMatch)?;
    syslog::message(writer, rest)?;
    // A program is named, or any sentence behind a date would do; and a level is no host.
    part(writer, "component").ok_or(Reason::NoMatch)?;
    let host = part(writer, "host").ok_or(Reason::NoMatch)?;
    if Level::parse(host).is_some() {
        return Err(Reason::NoMatch);
    }
    writer.log_time(stamp)?;
    finish(writer)
}

fn month_name(text: &str) -> Option<(Stamp<'_>, &str)> {
    let length = stamp::month_name(text.as_bytes())?;
    let fraction = stamp::fraction(&text.as_bytes()[length..], b".");
    let form = if fraction == 0 { Form::MonthName } else { Form::MonthNamePoint };
    stamp::cut(text, length + fraction, form)
}

/// How a time of syslog is written.
fn form(time: &str) -> Option<Form> {
    let bytes = time.as_bytes();
    if stamp::month_name(bytes) == Some(bytes.len()) {
        return Some(Form::MonthName);
    }
    if stamp::month_name_year(bytes) == Some(bytes.len()) {
        return Some(Form::MonthNameYear);
    }
    stamp::date_time(time).filter(|(_, rest)| rest.is_empty()).map(|(stamp, _)| stamp.form)
}

/// A field that stands in the line.
fn part<'t>(writer: &Writer<'t>, name: &str) -> Option<&'t str> {
    let place = writer.fields.place(writer.fields.find(name, writer.text)?)?;
    writer.text.get(place)
}

/// Reads what the kernel said, where it was the kernel.
fn finish(writer: &mut Writer<'_>) -> Read {
    let is_kernel = part(writer, "component") == Some("kernel");
    match part(writer, "content").filter(|_| is_kernel) {
        Some(content) => kernel::codes(writer, content),
        None => Ok(()),
    }
}
