//! What is redacted on request: e-mail addresses, IP addresses, names in home paths.
//!
//! Invariant: each is looked for only where it is asked for; addresses of IP are what the standard
//! library reads as such. Next stop: `find`.
use core::net::{Ipv4Addr, Ipv6Addr};

use memchr::{memchr_iter, memmem};

use super::find::Finding;
use super::kind::Kind;
use super::text::{ALPHANUMERIC, NAME, Text, is};
use super::{Action, Redact};

/// Finds what this redaction asks for.
pub(super) fn find(redact: &Redact, text: &mut Text<'_>, found: &mut Vec<Finding>) {
    let asked = |kind: Kind| redact.actions[kind as usize] != Action::Keep;
    if asked(Kind::Email) {
        emails(text, found);
    }
    if asked(Kind::Ip) {
        addresses(text, found);
    }
    if asked(Kind::Home) {
        for prefix in ["/home/", "/Users/", "\\Users\\"] {
            homes(text, prefix.as_bytes(), found);
        }
    }
}

fn emails(text: &mut Text<'_>, found: &mut Vec<Finding>) {
    let local = |byte: u8| is(byte, NAME) || matches!(byte, b'+' | b'%');
    for at in memchr_iter(b'@', text.bytes) {
        // RFC 5321: 64 characters in front of the sign, 255 behind it.
        let before = text.slice(at.saturating_sub(64), at);
        let length = before.iter().rev().position(|byte| !local(*byte));
        let start = at - length.unwrap_or(before.len());
        let mut end = text.run_end(at + 1, NAME, 255);
        text.steps += (at - start) as u64;
        while end > at + 1 && !is(text.bytes[end - 1], ALPHANUMERIC) {
            end -= 1;
        }
        let domain = text.slice(at + 1, end);
        let last = domain.iter().rposition(|byte| *byte == b'.').map(|dot| &domain[dot + 1..]);
        let is_domain =
            last.is_some_and(|last| last.len() >= 2 && last.iter().all(u8::is_ascii_alphabetic));
        if start < at && is_domain {
            found.push(Finding::plain(start, end, Kind::Email));
        }
    }
}

fn addresses(text: &mut Text<'_>, found: &mut Vec<Finding>) {
    let part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
    let bytes = text.bytes;
    let mut start = 0;
    while start < bytes.len() {
        let rest = &bytes[start..];
        let Some(skipped) = rest.iter().position(|byte| part(*byte)) else { return };
        let first = start + skipped;
        let length = bytes[first..].iter().position(|byte| !part(*byte));
        let end = length.map_or(bytes.len(), |length| first + length);
        text.steps += (end - start) as u64;
        let alone = first == 0 || !is_word(bytes[first - 1]);
        let alone = alone && bytes.get(end).is_none_or(|byte| !is_word(*byte));
        if alone {
            found.extend(address(bytes, first, end));
        }
        start = end;
    }
}

fn is_word(byte: u8) -> bool {
    is(byte, ALPHANUMERIC) || byte == b'_'
}

/// The address in a run of hexadecimal digits, dots and colons.
fn address(bytes: &[u8], start: usize, end: usize) -> Option<Finding> {
    // A sentence may end behind an address, and a port may follow one.
    let run = std::str::from_utf8(&bytes[start..end]).ok()?;
    let run = run.trim_end_matches(['.', ':']);
    let host = match run.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.len() <= 5 => host,
        _ => run,
    };
    // The longest form has 45 characters; a form without a digit is a path in C++.
    let is_address = host.len() <= 45
        && host.bytes().any(|byte| byte.is_ascii_digit())
        && (host.parse::<Ipv4Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok());
    is_address.then(|| Finding::plain(start, start + host.len(), Kind::Ip))
}

fn homes(text: &mut Text<'_>, prefix: &[u8], found: &mut Vec<Finding>) {
    for at in memmem::find_iter(text.bytes, prefix) {
        let start = at + prefix.len();
        let end = text.run_end(start, NAME, 64);
        if end > start {
            found.push(Finding::plain(start, end, Kind::Home));
        }
    }
}
