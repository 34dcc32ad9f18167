//! `%{NAME:field:type}` and `%{NAME:field=definition}`: where a reference stands and what it says.
//!
//! Invariant: a reference is read as Logstash's own expression reads it, junk before the closing
//! brace included; what that passes over in silence is told by [`super::explain`]. Next on the
//! trip: [`super::syntax`] puts the definition in its place.

use std::ops::Range;
use std::sync::OnceLock;

use pcre2::bytes::Regex;

use super::types::GrokError;

/// One `%{…}`.
pub(super) struct Reference {
    pub(super) range: Range<usize>,
    pub(super) name: String,
    pub(super) subname: Option<String>,
    pub(super) definition: Option<String>,
    /// What stands before the closing brace and is not looked at.
    pub(super) junk: Range<usize>,
}

/// What a `%{` is.
pub(super) enum Opening {
    /// No name follows: it stands for itself.
    NoName,
    /// No brace follows anywhere: it stands for itself, as does every later one.
    Unclosed,
    /// A reference.
    Reference(Reference),
}

impl Reference {
    /// The first reference at or after a position. `%{` that does not read as one stays as it is.
    /// `origins` are the bytes of the user's pattern that each byte of the text came from.
    pub(super) fn find(
        text: &str,
        mut from: usize,
        origins: &[(u32, u32)],
    ) -> Result<Option<Reference>, GrokError> {
        while let Some(found) = text[from..].find("%{") {
            let start = from + found;
            from = start + 2;
            match Opening::read(text, start) {
                Ok(Opening::NoName) => {}
                Ok(Opening::Unclosed) => return Ok(None),
                Ok(Opening::Reference(reference)) => return Ok(Some(reference)),
                Err(equals) => {
                    return Err(GrokError {
                        span: origins[start].0 as usize..origins[equals].1 as usize,
                        message: "an inline definition with too many braces to be taken apart"
                            .to_owned(),
                        help: Some("define it by name".to_owned()),
                    });
                }
            }
        }
        Ok(None)
    }
}

impl Opening {
    /// Reads the `%{` at a position; the error is the place of the `=` of an inline definition that
    /// cannot be taken apart.
    pub(super) fn read(text: &str, start: usize) -> Result<Opening, usize> {
        let bytes = text.as_bytes();
        let name = run(bytes, start + 2, is_name_byte);
        if name.is_empty() {
            return Ok(Opening::NoName);
        }
        let mut at = name.end;
        let mut subname = None;
        if bytes.get(at) == Some(&b':') {
            let range = run(bytes, at + 1, is_subname_byte);
            if !range.is_empty() {
                at = range.end;
                subname = Some(text[range].to_owned());
            }
        }
        // Every reference ends in the brace: without one there is none from here on.
        let Some(brace) = memchr::memchr(b'}', &bytes[at..]) else { return Ok(Opening::Unclosed) };
        let mut end = at + brace + 1;
        let mut junk = at..end - 1;
        let mut definition = None;
        if bytes.get(at) == Some(&b'=')
            && let Some((range, after)) = inline_definition(text, at)?
        {
            junk = range.end..after - 1;
            definition = Some(text[range].to_owned());
            end = after;
        }
        let name = text[name].to_owned();
        Ok(Opening::Reference(Reference { range: start..end, name, subname, definition, junk }))
    }
}

/// The name after the `%{` at a position; empty where there is none.
pub(super) fn name_at(text: &str, start: usize) -> &str {
    &text[run(text.as_bytes(), start + 2, is_name_byte)]
}

fn run(bytes: &[u8], from: usize, accept: fn(u8) -> bool) -> Range<usize> {
    let length = bytes[from..].iter().take_while(|byte| accept(**byte)).count();
    from..from + length
}

/// Logstash's `[A-z0-9]`, with the six characters that lie between Z and a.
fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'A'..=b'z' | b'0'..=b'9')
}

fn is_subname_byte(byte: u8) -> bool {
    is_name_byte(byte) || matches!(byte, b'@' | b':' | b'.' | b'-')
}

/// The definition after `=`, and the end of the reference; the error is the place of the `=`. How
/// far it reaches where braces and backslashes mix is Logstash's rule and no simpler one: after a
/// backslash it takes what it can.
fn inline_definition(text: &str, equals: usize) -> Result<Option<(Range<usize>, usize)>, usize> {
    const RULE: &str = concat!(
        r"(*LIMIT_MATCH=100000)(*LF)\G=((?:(?:[^{}\\]+|\\.+)+|",
        r"(?<curly>\{(?:(?>[^{}]+|(?>\\[{}])+)|(?&curly))*\})+)+)[^}]*\}",
    );
    static REGEX: OnceLock<Regex> = OnceLock::new();
    let regex = REGEX.get_or_init(|| Regex::new(RULE).expect("the rule is constant"));
    let mut locations = regex.capture_locations();
    match regex.captures_read_at(&mut locations, text.as_bytes(), equals) {
        Ok(None) => Ok(None),
        Ok(Some(whole)) => {
            let (start, end) = locations.get(1).expect("the group takes part in every match");
            Ok(Some((start..end, whole.end())))
        }
        Err(_) => Err(equals),
    }
}
