//! Prints diagnostics with the lines they speak of. Invariant: the only file that knows
//! annotate-snippets; control characters of a file never reach the terminal raw. Next: `document/`.

use crate::diagnostic::{Counts, Diagnostic, Place, Report, Severity};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use std::borrow::Cow;
use std::fmt::Write as _;

/// More than this help no one; the rest is counted.
const PRINTED_MAX: usize = 100;

/// A cure up to this long stands beside the place it belongs to, a longer one below.
const LABEL_MAX_CHARS: usize = 64;

impl Report {
    /// All problems and a last line with counts, as `check` prints them.
    pub fn render(&self, color: bool) -> String {
        let mut out = render_all(&self.diagnostics, color);
        out.push_str(&summary(self.counts, &self.diagnostics));
        out.push('\n');
        out
    }
}

/// The problems, each with its snippet, without the last line.
pub fn render_all(diagnostics: &[Diagnostic], color: bool) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(PRINTED_MAX) {
        out.push_str(&diagnostic.render(color));
        out.push('\n');
    }
    if diagnostics.len() > PRINTED_MAX {
        let _infallible = writeln!(out, "… and {} more", diagnostics.len() - PRINTED_MAX);
    }
    out
}

/// `1 source, 2 parsers, 2 routes, 2 sinks: 1 error, 1 warning`.
pub fn summary(counts: Counts, diagnostics: &[Diagnostic]) -> String {
    let of = |severity| diagnostics.iter().filter(|it| it.severity == severity).count();
    format!(
        "{}, {}, {}, {}: {}, {}",
        plural(counts.sources, "source"),
        plural(counts.parsers, "parser"),
        plural(counts.routes, "route"),
        plural(counts.sinks, "sink"),
        plural(of(Severity::Error), "error"),
        plural(of(Severity::Warning), "warning"),
    )
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl Diagnostic {
    /// The problem with its snippet; no newline at the end.
    pub fn render(&self, color: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let message = printable(&self.message);
        let help = printable(&self.help);
        let beside =
            self.place.is_some() && help.chars().count() <= LABEL_MAX_CHARS && !help.contains('\n');
        let label = format!("help: {help}");
        let related: Vec<(&Place, Cow<'_, str>)> =
            self.related.iter().map(|(place, label)| (place, printable(label))).collect();

        let mut group = Group::with_title(level.primary_title(message.as_ref()));
        if let Some(place) = &self.place {
            let mut snippet = snippet_of(place).annotation(
                AnnotationKind::Primary.span(place.span()).label(beside.then_some(label.as_str())),
            );
            for (other, text) in related.iter().filter(|(it, _)| it.file() == place.file()) {
                snippet = snippet
                    .annotation(AnnotationKind::Context.span(other.span()).label(text.as_ref()));
            }
            group = group.element(snippet);
            for (other, text) in related.iter().filter(|(it, _)| it.file() != place.file()) {
                group =
                    group.element(snippet_of(other).annotation(
                        AnnotationKind::Context.span(other.span()).label(text.as_ref()),
                    ));
            }
        }
        if !beside {
            group = group.element(Level::HELP.message(help.as_ref()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

fn snippet_of(place: &Place) -> Snippet<'_, Annotation<'_>> {
    Snippet::source(place.file().text.as_str()).path(place.file().name.as_str())
}

/// Control characters as escapes, so that a key or value cannot drive the terminal.
fn printable(text: &str) -> Cow<'_, str> {
    let risky = |it: char| (it.is_control() && it != '\n') || is_bidi(it);
    if !text.contains(risky) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if risky(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn is_bidi(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
