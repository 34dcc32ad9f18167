//! Progress bars: of tqdm, `Train:  10%|█ | 100/1000 [03:12<28:51,  1.92s/it, loss=2.1]`, of Keras,
//! `100/1000 [==>...] - ETA: 28:51 - loss: 2.1`, of rich,
//! `Epoch 0/9 ━━━━━ 100/1000 0:03:12 • 0:28:51 5.00it/s loss: 2.1`.
//!
//! Invariant: one bar a line, to the line's end; what is unknown (`?`) is left out. Names are
//! `percent`, `step`, `step_total`, `elapsed`, `remaining`, `rate` with its unit, and those that
//! are printed. Next on the trip: [`super::numbers`].

use super::line::skip_color;
use super::numbers;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;
use crate::number::{duration, number, power};

/// A bar begins within so many bytes: its description stands in front of it.
const DESCRIPTION_BYTES_MAX: usize = 512;

/// Signs that rich and Keras draw with.
const DRAWN: [char; 4] = ['━', '╸', '╺', '─'];

/// Adds what a bar says and gives its description.
///
/// # Errors
/// `NoMatch`, when the text is no bar.
pub(super) fn read<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let text = trim_end(text);
    match text.as_bytes().last() {
        Some(b']') => tqdm(writer, text),
        Some(_) => drawn(writer, text),
        None => Err(Reason::NoMatch),
    }
}

/// True for what may be a bar: a look at both ends and for its signs.
pub(super) fn is_likely(text: &str) -> bool {
    let text = trim_end(text);
    let head = &text[..text.floor_char_boundary(DESCRIPTION_BYTES_MAX)];
    match text.as_bytes().last() {
        Some(b']') => {
            text.ends_with("/s]") || text.ends_with("/it]") || head.contains("%|") || {
                head.contains("it [")
            }
        }
        // All signs of [`DRAWN`] begin with this byte, which few lines have.
        Some(_) => {
            (memchr::memchr(0xe2, head.as_bytes()).is_some() && head.contains(DRAWN))
                || (head.starts_with(|it: char| it.is_ascii_digit()) && head.contains("] - "))
        }
        None => false,
    }
}

/// Without spaces and codes that move a cursor (nested bars go up a line).
fn trim_end(text: &str) -> &str {
    let mut text = text.trim_end();
    loop {
        // No longer code than this moves a cursor.
        let tail = text.floor_char_boundary(text.len().saturating_sub(8));
        let Some(at) = text[tail..].rfind("\u{1b}[").map(|at| tail + at) else { break };
        let code = &text[at + 2..];
        if !code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b';') {
            break;
        }
        text = text[..at].trim_end();
    }
    text
}

fn tqdm<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let head = &text[..text.floor_char_boundary(DESCRIPTION_BYTES_MAX)];
    let (description, percent, rest) = if let Some(at) = head.find("%|") {
        let (front, percent) = split_number_end(&text[..at]).ok_or(Reason::NoMatch)?;
        let (_, rest) = text[at + 2..].split_once("| ").ok_or(Reason::NoMatch)?;
        (front, percent, rest)
    } else {
        // `Reading: 100it [00:05, 19.5it/s]`: nobody knows where it ends.
        let at = head.find(" [").ok_or(Reason::NoMatch)?;
        let start = text[..at].rfind(": ").map_or(0, |colon| colon + 2);
        (&text[..start], "", &text[start..])
    };
    let (counts, inner) = rest.split_once(" [").ok_or(Reason::NoMatch)?;
    let inner = inner.strip_suffix(']').ok_or(Reason::NoMatch)?;
    let elapsed = inner.split(['<', ',']).next().unwrap_or_default();
    let is_count = number(counts.trim()).is_some_and(|(found, _)| !found.has_commas);
    // Behind a second bar nobody knows which of the two counts.
    if !is_count || duration(elapsed).is_none() || inner.contains("%|") {
        return Err(Reason::NoMatch);
    }
    numbers::add(writer, "percent", percent)?;
    counted(writer, counts.trim())?;
    inside(writer, inner)?;
    Ok(description.trim().trim_end_matches(':').trim_end())
}

/// `Train:  10` without its number, and the number.
fn split_number_end(text: &str) -> Option<(&str, &str)> {
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let length = text.bytes().rev().take_while(is_number).count();
    (1..=8).contains(&length).then(|| text.split_at(text.len() - length))
}

/// `100/1000`, `1.2k/10.0M`, `100MB/1GB`, `100it`
fn counted(writer: &mut Writer<'_>, counts: &str) -> Read {
    let (done, total) = counts.split_once('/').unwrap_or((counts, ""));
    for (name, count) in [("step", done), ("step_total", total)] {
        let count = count.trim();
        let Some((found, rest)) = number(count) else { continue };
        let plain = &count[..found.text.len()];
        let unit = rest.trim_start();
        // `100it` counts things; `4.98G` and `4.98GB` say how many. Of powers of two none is said.
        let letter = unit.strip_suffix('B').filter(|letter| !letter.is_empty()).unwrap_or(unit);
        if power(letter).is_some() {
            numbers::add(writer, name, &count[..count.len() - (unit.len() - letter.len())])?;
        } else if !letter.ends_with('i') {
            numbers::add(writer, name, plain)?;
        }
    }
    Ok(())
}

/// `03:12<28:51,  1.92s/it, loss=2.1, lr=[6e-05]`
fn inside(writer: &mut Writer<'_>, inner: &str) -> Read {
    let (times, rest) = inner.split_once(',').unwrap_or((inner, ""));
    let (elapsed, remaining) = times.split_once('<').unwrap_or((times, "?"));
    time(writer, "elapsed", elapsed)?;
    // A day and its clock: `1 day, 2:03:04`.
    let (remaining, rest) = match rest.split_once(',') {
        Some((clock, after)) if remaining.contains("day") => {
            let end = remaining.len() + 1 + clock.len();
            let start = elapsed.len() + 1;
            (inner.get(start..start + end).unwrap_or(remaining), after)
        }
        _ => (remaining, rest),
    };
    time(writer, "remaining", remaining)?;
    for part in rest.split(", ") {
        match part.split_once('=') {
            Some((key, value)) => numbers::add(writer, key.trim(), value)?,
            None => numbers::add(writer, "rate", part.trim())?,
        };
    }
    Ok(())
}

fn time(writer: &mut Writer<'_>, name: &'static str, text: &str) -> Read {
    let text = text.trim();
    if duration(text).is_none() { Ok(()) } else { writer.part(name, text) }
}

/// Bars of Keras and rich: what they draw, and words behind it.
fn drawn<'t>(writer: &mut Writer<'_>, text: &'t str) -> Result<&'t str, Reason> {
    let head = &text[..text.floor_char_boundary(DESCRIPTION_BYTES_MAX)];
    let (front, rest) = if let Some(at) = head.find(DRAWN) {
        let rest = text[at..].trim_start_matches(|it| DRAWN.contains(&it));
        (&text[..at], rest)
    } else {
        // `100/1000 [==>...] - ETA: 28:51`
        let (front, rest) = text.split_once(" [").ok_or(Reason::NoMatch)?;
        let (bar, rest) = rest.split_once(']').ok_or(Reason::NoMatch)?;
        if bar.is_empty() || !bar.bytes().all(|byte| matches!(byte, b'=' | b'>' | b'.')) {
            return Err(Reason::NoMatch);
        }
        (front, rest)
    };
    let (front, description) = match front.trim() {
        counts if is_fraction(counts) => {
            counted(writer, counts)?;
            (counts, "")
        }
        description => ("", description),
    };
    let found = words(writer, rest, front.is_empty())?;
    if front.is_empty() && found == 0 {
        return Err(Reason::NoMatch);
    }
    Ok(description.trim_end_matches(':'))
}

/// `100/1000`
fn is_fraction(text: &str) -> bool {
    let is_whole = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    text.split_once('/').is_some_and(|(done, total)| is_whole(done) && is_whole(total))
}

/// `100/1000 0:03:12 • 0:28:51 5.00it/s loss: 2.1` and `- 28s 31ms/step - loss: 2.1`: gives how
/// many of them say how far it is. `counts`: how far it is may stand here.
fn words(writer: &mut Writer<'_>, text: &str, counts: bool) -> Result<usize, Reason> {
    let (mut found, mut times) = (0, 0);
    let mut words = text.split_ascii_whitespace().map(skip_color).peekable();
    while let Some(word) = words.next() {
        if let Some(key) = word.strip_suffix(':') {
            let Some(value) = words.peek() else { break };
            if key == "ETA" {
                time(writer, "remaining", value)?;
            } else {
                numbers::add(writer, key, value)?;
            }
            words.next();
        } else if counts && found == 0 && is_fraction(word) {
            counted(writer, word)?;
            found += 1;
        } else if let Some(percent) = word.strip_suffix('%') {
            found += usize::from(numbers::add(writer, "percent", percent)?);
        } else if word.contains('/') {
            numbers::add(writer, "rate", word)?;
        } else if duration(word).is_some() && times < 2 {
            time(writer, if times == 0 { "elapsed" } else { "remaining" }, word)?;
            times += 1;
        }
    }
    Ok(found)
}
