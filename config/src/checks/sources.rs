//! No line is read twice: by two sources, or as its own dead letter; and no parser waits for what
//! has come off. Next: `archives.rs`.

use riverhog_parsers::formats::Format;

use crate::EnvelopeKind;
use crate::diagnostic::Diagnostic;
use crate::reader::Context;
use crate::sections::{Drafts, ShapeDraft, SourceDraft};
use crate::settings::{SourceKind, Topics};

pub(super) fn check(context: &Context<'_>, drafts: &Drafts) {
    for (index, second) in drafts.sources.iter().enumerate() {
        for first in &drafts.sources[..index] {
            check_pair(context, first, second);
        }
    }
    check_cri(context, drafts);
    let Some(dead_letter) = &drafts.dead_letter else { return };
    let Some(topic) = &dead_letter.topic else { return };
    for source in &drafts.sources {
        let Some(kafka) = source.source.kafka() else { continue };
        if reads(&kafka.topics, &topic.value) {
            let message = format!("dead letters would go to \"{}\", which is read", topic.shown());
            let help = "name a topic that no source reads, such as `….dead`";
            let label = format!("read by `sources.{}`", source.source.name);
            let place = source.topics.iter().find(|it| it.value == topic.value);
            let place = place.map_or(&source.place, |text| &text.place);
            context
                .report(Diagnostic::error(&topic.place, message, help).with_related(place, label));
        }
    }
}

/// A format that can match nothing, for the envelope was taken off before.
fn check_cri(context: &Context<'_>, drafts: &Drafts) {
    let takes =
        |it: &&SourceDraft| matches!(it.source.envelope, EnvelopeKind::Auto | EnvelopeKind::Cri);
    let Some(source) = drafts.sources.iter().find(takes) else { return };
    let rules = drafts.parse.iter().filter(|rule| {
        rule.field.is_none() && matches!(rule.shape, ShapeDraft::Format(Format::Cri))
    });
    for rule in rules {
        let place = rule.name.as_ref().map_or(&source.place, |name| &name.place);
        let message = "`as = \"cri\"` sees no such line: the envelope is taken off before";
        let help = "set `envelope = \"none\"` in the source, or remove this parser";
        let problem = Diagnostic::warning(place, message, help);
        context.report(problem.with_related(&source.place, "takes it off"));
    }
}

fn check_pair(context: &Context<'_>, first: &SourceDraft, second: &SourceDraft) {
    if let (SourceKind::Stdin, SourceKind::Stdin) = (&first.source.kind, &second.source.kind) {
        let problem =
            Diagnostic::error(&second.place, "standard input can be read once", "keep one source");
        context.report(problem.with_related(&first.place, "first here"));
        return;
    }
    let (Some(one), Some(two)) = (first.source.kafka(), second.source.kafka()) else { return };
    let shared = one.brokers.iter().any(|broker| two.brokers.contains(broker));
    if !shared || first.source.lineage != second.source.lineage {
        return;
    }
    for topic in &second.topics {
        if reads(&one.topics, &topic.value) {
            let message = format!("two sources read the topic \"{}\"", topic.shown());
            let problem = Diagnostic::error(&topic.place, message, "let one source read it");
            let label = format!("`sources.{}` reads it", first.source.name);
            context.report(problem.with_related(&first.place, label));
        }
    }
    let same_pattern = matches!(
        (&one.topics, &two.topics),
        (Topics::Pattern(one), Topics::Pattern(two)) if one == two
    );
    if same_pattern {
        let message = "two sources read the same topics";
        let problem = Diagnostic::error(&second.place, message, "let one source read them");
        context.report(problem.with_related(&first.place, "first here"));
    } else if let Topics::Pattern(_) = &two.topics {
        for topic in first.topics.iter().filter(|topic| reads(&two.topics, &topic.value)) {
            let message = format!("two sources read the topic \"{}\"", topic.shown());
            let problem = Diagnostic::error(&second.place, message, "narrow `topic_pattern`");
            context.report(problem.with_related(&topic.place, "first here"));
        }
    }
}

fn reads(topics: &Topics, topic: &str) -> bool {
    match topics {
        Topics::List(topics) => topics.iter().any(|it| it == topic),
        Topics::Pattern(pattern) => {
            regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(topic))
        }
    }
}
