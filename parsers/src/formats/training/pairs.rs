//! Names and numbers and nothing else, as scripts print them: `step:0/5100 val_loss:16.0058`,
//! `epoch: 0|step: 0|act_loss: 0.2`, `Epoch 3/10, Step 1250, Loss=2.104`, `iter 100: loss 1.23`.
//!
//! Invariant: a text is pairs to its very end, one of which is surely of a training, or it is none:
//! nothing is written then. Next on the trip: [`super::numbers`].

use super::numbers;
use crate::formats::writer::Writer;
use crate::grok::Reason;
use crate::number::number;

/// Longer texts are no row of numbers.
const TEXT_BYTES_MAX: usize = 16_384;
/// A key has no more words.
const WORDS_MAX: usize = 6;
/// Units that stand apart from their numbers.
const UNITS: [&str; 16] =
    ["s", "ms", "us", "%", "B", "K", "M", "G", "KB", "MB", "GB", "KiB", "MiB", "GiB", "it/s", "W"];

/// Adds the numbers of a text and gives how many there were: none where it is anything else.
pub(super) fn read(writer: &mut Writer<'_>, text: &str) -> Result<usize, Reason> {
    if text.len() > TEXT_BYTES_MAX || !is_all(text) {
        return Ok(0);
    }
    let (mut count, mut rest) = (0, text);
    while let Some((key, value, after)) = pair(rest) {
        count += usize::from(numbers::add(writer, key, value)?);
        rest = after;
    }
    Ok(count)
}

/// Pairs from one end to the other, and one of them of a training.
fn is_all(text: &str) -> bool {
    let (mut rest, mut is_training) = (text, false);
    loop {
        if rest.trim_start_matches(SEPARATORS).is_empty() {
            return is_training;
        }
        let Some((key, _, after)) = pair(rest) else { return false };
        is_training |= is_of_training(key);
        rest = after;
    }
}

const SEPARATORS: [char; 5] = [' ', ',', '|', ';', ':'];

/// A key, its value, and what follows.
fn pair(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.trim_start_matches(SEPARATORS);
    let text = text.strip_prefix("- ").or_else(|| text.strip_prefix("and ")).unwrap_or(text);
    let (key, after) = key(text)?;
    let length = value_length(after)?;
    let rest = &after[length..];
    let is_end = rest.is_empty() || rest.starts_with(SEPARATORS);
    is_end.then_some((key, &after[..length], behind_rate(rest)))
}

/// What follows a word such as `tokens/s` that stands apart from its number: it is neither part of
/// the next key nor, with a value behind it, a key itself.
fn behind_rate(text: &str) -> &str {
    let Some(word) = text.strip_prefix(' ').and_then(|rest| rest.split(SEPARATORS).next()) else {
        return text;
    };
    let rest = &text[1 + word.len()..];
    let is_key = rest.trim_start_matches(' ').starts_with([':', '='])
        || number(rest.trim_start_matches(SEPARATORS)).is_some();
    let is_rate = ["/s", "/sec", "/step", "/it"].iter().any(|end| word.ends_with(end));
    if is_rate && !is_key && !word.contains('=') { rest } else { text }
}

/// Words up to a colon, an equals sign or a number; what follows begins with the value.
fn key(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    if !bytes.first()?.is_ascii_alphabetic() {
        return None;
    }
    let mut at = 0;
    for _ in 0..WORDS_MAX {
        at += bytes[at..].iter().take_while(|byte| is_of_word(**byte)).count();
        let end = at;
        at += bytes[at..].iter().take_while(|byte| **byte == b' ').count();
        match bytes.get(at)? {
            b':' | b'=' => return Some((&text[..end], text[at + 1..].trim_start_matches(' '))),
            _ if at == end => return None,
            b'0'..=b'9' | b'+' | b'-' | b'n' | b'N' | b'i' | b'I'
                if number(&text[at..]).is_some() =>
            {
                return Some((&text[..end], &text[at..]));
            }
            byte if is_of_word(*byte) => {}
            _ => return None,
        }
    }
    None
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./()%@".contains(&byte) || byte >= 0x80
}

/// A number, its unit or total, and what stands in parentheses behind it.
fn value_length(text: &str) -> Option<usize> {
    let (found, rest) = number(text)?;
    let at = |rest: &str| text.len() - rest.len();
    if let Some(total) = rest.trim_start_matches(' ').strip_prefix('/')
        && let Some((_, after)) = number(total.trim_start_matches(' '))
    {
        return Some(at(after));
    }
    let is_of_unit = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'%' | b'/');
    let unit = rest.bytes().take_while(is_of_unit).count();
    let mut end = found.text.len() + unit;
    if unit == 0
        && let Some(after) = rest.strip_prefix(' ')
    {
        let length = after.bytes().take_while(is_of_unit).count();
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with(SEPARATORS);
        if UNITS.contains(&&after[..length]) && is_end(&after[length..]) {
            end += 1 + length;
        }
    }
    let behind = text[end..].trim_start_matches(' ');
    if let Some(inner) = behind.strip_prefix('(')
        && let Some(length) = inner.bytes().take(24).position(|byte| byte == b')')
    {
        end = at(&inner[length + 1..]);
    }
    Some(end)
}

/// True for a key that no other program prints with a number alone.
fn is_of_training(key: &str) -> bool {
    const WORDS: [&str; 14] = [
        "step",
        "steps",
        "iter",
        "iteration",
        "epoch",
        "lr",
        "ppl",
        "perplexity",
        "accuracy",
        "kl",
        "tel",
        "trl",
        "mfu",
        "grad_norm",
    ];
    const PARTS: [&str; 6] =
        ["loss", "reward", "flops", "samplespersec", "learning rate", "learning_rate"];
    let last = key.rsplit([' ', '_', '/', '.']).next().unwrap_or_default();
    let contains = |part: &&str| {
        let mut windows = key.as_bytes().windows(part.len());
        windows.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
    };
    WORDS.iter().any(|word| last.eq_ignore_ascii_case(word)) || PARTS.iter().any(contains)
}
