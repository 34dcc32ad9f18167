//! No two archive sinks can write the same key. Invariant: silent only where that is certain: keys
//! of different depth, or a segment whose fixed beginnings or ends differ. Next: `dead_letters.rs`.

use crate::diagnostic::Diagnostic;
use crate::pieces::{Piece, literal, pieces};
use crate::reader::Context;
use crate::sections::{Drafts, SinkDraft};
use crate::settings::SinkKind;
use std::path::{Component, Path};

pub(super) fn check(context: &Context<'_>, drafts: &Drafts) {
    for (index, second) in drafts.sinks.iter().enumerate() {
        check_unreachable_buckets(context, second);
        for first in &drafts.sinks[..index] {
            if let Some((outer, inner)) = nested(first, second) {
                let message = format!(
                    "the folder of `{inner}` lies in that of `{outer}`: they could write the same keys"
                );
                let help = "give each a folder of its own that is not inside the other's";
                let problem = Diagnostic::error(&second.place, message, help);
                context.report(problem.with_related(&first.place, "the other"));
            } else if may_meet(first, second) {
                let (one, two) = (&first.sink.name, &second.sink.name);
                let message = format!("`{one}` and `{two}` could write the same keys");
                let prefix = second.templates.get(1).map_or("", |it| it.shown());
                let help = format!("put a folder of its own in front: `{two}/{prefix}`");
                let place = second.templates.get(1).map_or(&second.place, |it| &it.place);
                let problem = Diagnostic::error(place, message, help);
                context.report(problem.with_related(&first.place, "the other"));
            }
        }
    }
}

fn check_unreachable_buckets(context: &Context<'_>, draft: &SinkDraft) {
    let Some(bucket) = draft.templates.first().filter(|it| it.value.contains('{')) else { return };
    for listed in &draft.buckets {
        if !overlap(&pieces(&bucket.value), &pieces(&listed.value)) {
            let message = format!("`bucket` never gives \"{}\"", listed.shown());
            context.warn(&listed.place, message, "correct it, or take it out of `buckets`");
        }
    }
}

/// The names of two local sinks of which one writes inside the folder of the other: that first.
fn nested<'a>(first: &'a SinkDraft, second: &'a SinkDraft) -> Option<(&'a str, &'a str)> {
    let (SinkKind::Local(one), SinkKind::Local(two)) = (&first.sink.kind, &second.sink.kind) else {
        return None;
    };
    let lies_in = |inner: &Path, outer: &Path| {
        let rest = parts(inner);
        let rest = rest.strip_prefix(&parts(outer)[..]);
        rest.is_some_and(|rest| rest.first().is_some_and(|next| next != ".."))
    };
    let (first, second) = (first.sink.name.as_str(), second.sink.name.as_str());
    if lies_in(&two.path, &one.path) {
        Some((first, second))
    } else {
        lies_in(&one.path, &two.path).then_some((second, first))
    }
}

fn may_meet(first: &SinkDraft, second: &SinkDraft) -> bool {
    let prefix = |draft: &SinkDraft| draft.templates.get(1).map(|it| it.value.clone());
    let (Some(one), Some(two)) = (prefix(first), prefix(second)) else { return false };
    match (&first.sink.kind, &second.sink.kind) {
        (SinkKind::S3(a), SinkKind::S3(b)) => {
            let endpoint = |it: &crate::S3Sink| {
                it.endpoint.as_ref().map(|url| url.reveal().trim_end_matches('/').to_lowercase())
            };
            let shared = a.buckets.iter().any(|bucket| b.buckets.contains(bucket));
            endpoint(a) == endpoint(b) && shared && overlap(&pieces(&one), &pieces(&two))
        }
        (SinkKind::Local(a), SinkKind::Local(b)) => {
            // A folder may hold characters that mean something in a template.
            let whole = |path: &Path, prefix: &str| {
                let mut all = literal(&normal(path));
                all.push(Piece::Letter('/'));
                all.append(&mut pieces(prefix));
                all
            };
            overlap(&whole(&a.path, &one), &whole(&b.path, &two))
        }
        _ => false,
    }
}

/// The path as one text, see [`parts`].
fn normal(path: &Path) -> String {
    parts(path).join("/")
}

/// The path without `.` and with `..` taken together, as far as text can tell.
fn parts(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|it| it != "..") => {
                parts.pop();
            }
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    parts
}

/// Whether two templates may give the same text; says yes when in doubt.
fn overlap(one: &[Piece], two: &[Piece]) -> bool {
    let slash = |piece: &Piece| *piece == Piece::Letter('/');
    let (one, two) = (one.split(slash), two.split(slash));
    one.clone().count() == two.clone().count() && one.zip(two).all(|(a, b)| segments_overlap(a, b))
}

fn segments_overlap(one: &[Piece], two: &[Piece]) -> bool {
    let variable = |segment: &[Piece]| segment.contains(&Piece::Value);
    if !variable(one) && !variable(two) {
        return one == two;
    }
    let letters = |pair: &(&Piece, &Piece)| *pair.0 != Piece::Value && *pair.1 != Piece::Value;
    let starts = one.iter().zip(two).take_while(letters).all(|(a, b)| a == b);
    let ends = one.iter().rev().zip(two.iter().rev()).take_while(letters).all(|(a, b)| a == b);
    starts && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, two: &str, expect: bool) {
        assert_eq!(overlap(&pieces(one), &pieces(two)), expect, "{one} {two}");
        assert_eq!(overlap(&pieces(two), &pieces(one)), expect, "{two} {one}");
    }

    #[test]
    fn keys_that_could_meet() {
        check("", "", true);
        check("{task}/", "{role}/", true);
        check("{task}/{timestamp:%Y-%m-%d}/", "second/{task}/", true);
        check("a-{task}/", "{task}-b/", true);
        check("{timestamp:%Y/%m}/", "{a}/{b}/", true);
        check("{task}/", "archive/", true);
    }

    #[test]
    fn keys_that_cannot() {
        check("", "a/", false);
        check("a/", "b/", false);
        check("{task}/{role}/", "second/{task}/{role}/", false);
        check("a-{task}/", "b-{task}/", false);
        check("{task}-a/", "{task}-b/", false);
        check("a{{b}}/", "a{b}/x/", false);
    }

    #[test]
    fn folders_are_compared_as_one_would_open_them() {
        assert_eq!(normal(Path::new("a/./b/../c")), "a/c");
        assert_eq!(normal(Path::new("../a")), "../a");
    }
}
