//! The text of a mapping, read into delimiters and fields.
//!
//! Invariant: every part has what its role needs: a name to save under, or the part that holds the
//! name. Next on the trip: [`super::Dissect`].

use std::ops::Range;

use super::FormatError;

const MAPPING_BYTES_MAX: usize = 16 << 10;
const PARTS_MAX: usize = 512;

/// A field and the delimiter behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Dotted where it has several steps.
    pub(super) name: String,
    pub(super) steps: Vec<String>,
    pub(super) role: Role,
    /// `->`: the delimiter may stand several times.
    pub(super) is_padded: bool,
    /// Empty behind the last field, and between two that touch.
    pub(super) delimiter: String,
}

/// What a field is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// `%{name}`
    Plain,
    /// `%{+name}`, `%{+name/2}`
    Append { order: u32 },
    /// `%{}`, `%{?name}`, `%{*name}`: not saved; a name is there to be referred to.
    Skip,
    /// `%{&name}`: saved under the value of the part of that index.
    Indirect(usize),
}

impl Role {
    /// Plain fields are saved first, then those that are appended in their order, then those whose
    /// name is found in the line.
    pub(super) fn rank(self) -> (u8, u32) {
        match self {
            Role::Plain | Role::Skip => (0, 0),
            Role::Append { order } => (1, order),
            Role::Indirect(_) => (2, 0),
        }
    }
}

/// A mapping, read.
pub(super) struct Mapping {
    /// The text before its first field.
    pub(super) prefix: String,
    pub(super) parts: Vec<Part>,
    /// Where fields stand whose name is that of no other.
    pub(super) unresolved: Vec<Range<usize>>,
    pub(super) slips: Vec<DissectSlip>,
}

/// Something in a mapping that is hardly meant, though Logstash takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DissectSlip {
    /// Bytes of the mapping.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
    /// No line can match the mapping.
    pub is_hopeless: bool,
}

/// Reads a mapping.
pub(super) fn read(mapping: &str) -> Result<Mapping, FormatError> {
    if mapping.len() > MAPPING_BYTES_MAX {
        return Err(error(0..0, format!("a mapping of more than {MAPPING_BYTES_MAX} bytes"), None));
    }
    let mut pieces = pieces(mapping);
    let Some(first) = pieces.first() else {
        if let Some(slip) = unclosed(mapping, 0) {
            return Err(error(slip.span, slip.message, Some(slip.help.to_owned())));
        }
        let help = Some("for example `%{time} %{level} %{content}`".to_owned());
        return Err(error(0..mapping.len(), "a mapping without a field".to_owned(), help));
    };
    if pieces.len() > PARTS_MAX {
        return Err(error(0..0, format!("a mapping of more than {PARTS_MAX} fields"), None));
    }
    let prefix = mapping[..first.span.start].to_owned();
    let mut parts: Vec<Part> = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        parts.push(part(piece)?);
    }
    for (part, piece) in parts.iter_mut().zip(&mut pieces) {
        part.delimiter.clone_from(&piece.delimiter);
    }
    let unresolved = resolve(&mut parts, &pieces);
    let slips = slips(mapping, &pieces);
    Ok(Mapping { prefix, parts, unresolved, slips })
}

fn slips(mapping: &str, pieces: &[Piece<'_>]) -> Vec<DissectSlip> {
    let mut slips = Vec::new();
    for pair in pieces.windows(2) {
        if pair[0].delimiter.is_empty() {
            slips.push(DissectSlip {
                span: pair[0].span.start..pair[1].span.end,
                message: "two fields without a delimiter between them match no line".to_owned(),
                help: "write what stands between them, or take one field for both",
                is_hopeless: true,
            });
        }
    }
    for piece in pieces {
        // The brace that closes it was meant for another field.
        if let Some(at) = piece.inside.find("%{") {
            slips.extend(unclosed(&mapping[..piece.span.start + 2 + at], piece.span.start));
        }
    }
    slips.extend(unclosed(mapping, pieces.last().map_or(0, |last| last.span.end)));
    slips
}

/// A `%{` without its brace, at or after a place.
fn unclosed(mapping: &str, from: usize) -> Option<DissectSlip> {
    let start = from + mapping[from..].find("%{")?;
    Some(DissectSlip {
        span: start..mapping.len(),
        message: "`%{` is never closed".to_owned(),
        help: "close it with `}`",
        is_hopeless: false,
    })
}

/// A field as it is written.
struct Piece<'m> {
    inside: &'m str,
    span: Range<usize>,
    delimiter: String,
}

/// `%{` to the next `}`; an open one stands for itself.
fn pieces(mapping: &str) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut at = 0;
    while let Some(found) = mapping[at..].find("%{") {
        let start = at + found;
        let Some(length) = mapping[start..].find('}') else { break };
        if let Some(last) = pieces.last_mut() {
            mapping[last.span.end..start].clone_into(&mut last.delimiter);
        }
        let span = start..start + length + 1;
        at = span.end;
        let inside = &mapping[start + 2..start + length];
        pieces.push(Piece { inside, span, delimiter: String::new() });
    }
    if let Some(last) = pieces.last_mut() {
        mapping[last.span.end..].clone_into(&mut last.delimiter);
    }
    pieces
}

fn part(piece: &Piece<'_>) -> Result<Part, FormatError> {
    let inside = piece.inside;
    let (inside, is_padded) = match inside.strip_suffix("->") {
        Some(inside) => (inside, true),
        None => (inside, false),
    };
    let (role, name) = match inside.chars().next() {
        Some('+') => append(&inside[1..]),
        Some('&') => (Role::Indirect(0), &inside[1..]),
        Some('?' | '*') => (Role::Skip, &inside[1..]),
        Some(_) => (Role::Plain, inside),
        None => (Role::Skip, ""),
    };
    if name.is_empty() && role != Role::Skip {
        let message = format!("`%{{{}}}` has no name", piece.inside);
        let help = Some("name the field, or write `%{}` to skip it".to_owned());
        return Err(error(piece.span.clone(), message, help));
    }
    if (inside.starts_with('+') || inside.starts_with('&')) && name.starts_with(['+', '&']) {
        let message = format!("`%{{{}}}` is both appended and of a name in the line", piece.inside);
        return Err(error(piece.span.clone(), message, Some("take one of the two".to_owned())));
    }
    let steps = match role {
        Role::Plain | Role::Append { .. } => steps(name).ok_or_else(|| {
            let help = Some("write `[outer][inner]`".to_owned());
            error(piece.span.clone(), format!("`{name}` is no field name"), help)
        })?,
        _ => vec![name.to_owned()],
    };
    Ok(Part { name: steps.join("."), steps, role, is_padded, delimiter: String::new() })
}

/// `name/2`: appended second. Without a number a field comes after those that have one.
fn append(text: &str) -> (Role, &str) {
    if let Some((name, digits)) = text.rsplit_once('/')
        && let Ok(order) = digits.parse()
    {
        return (Role::Append { order }, name);
    }
    (Role::Append { order: u32::MAX }, text)
}

/// One step for `name`, two for `[outer][inner]`.
fn steps(name: &str) -> Option<Vec<String>> {
    let Some(inner) = name.strip_prefix('[') else {
        return (!name.contains(['[', ']'])).then(|| vec![name.to_owned()]);
    };
    let steps: Vec<String> = inner.strip_suffix(']')?.split("][").map(str::to_owned).collect();
    let plain = |step: &String| !step.is_empty() && !step.contains(['[', ']']);
    steps.iter().all(plain).then_some(steps)
}

/// Points indirect fields at the part that holds their name; where there is none they are skipped,
/// and it is said where.
fn resolve(parts: &mut [Part], pieces: &[Piece<'_>]) -> Vec<Range<usize>> {
    let mut unresolved = Vec::new();
    for index in 0..parts.len() {
        if !matches!(parts[index].role, Role::Indirect(_)) {
            continue;
        }
        let name = &parts[index].name;
        let key = parts.iter().position(|part| {
            part.name == *name && !matches!(part.role, Role::Indirect(_)) && !name.is_empty()
        });
        parts[index].role = key.map_or(Role::Skip, Role::Indirect);
        if key.is_none() {
            unresolved.push(pieces[index].span.clone());
        }
    }
    unresolved
}

fn error(span: Range<usize>, message: String, help: Option<String>) -> FormatError {
    FormatError { option: "mapping", span, message, help }
}
