//! Several patterns as one: every one of them is run on a text, and their captures stand one after
//! the other.
//!
//! Invariant: a text matches where at least one pattern matches it, and the captures are those of
//! every pattern that does, in the patterns' order. Next on the trip: [`super::Grok::run`], which
//! comes here where there are several.

use std::sync::Arc;

use super::types::{Capture, GrokField, Outcome, Reason};
use super::{Grok, GrokScratch};

/// The patterns of one.
pub(super) struct All {
    pub(super) fields: Vec<GrokField>,
    members: Vec<Member>,
}

struct Member {
    grok: Grok,
    /// By field of the pattern: the field of all.
    fields: Vec<u16>,
}

/// What a worker reuses for them.
pub(super) struct AllScratch {
    members: Vec<GrokScratch>,
    captures: Vec<Capture>,
}

impl Grok {
    /// Makes one pattern of several that are all to be run. What it says of itself, its pattern,
    /// its engine and where a line stopped, is what the first of them says. `None` where there is
    /// no pattern, and where they have more than 65,535 fields together.
    pub fn all_of(patterns: Vec<Grok>) -> Option<Grok> {
        let mut fields: Vec<GrokField> = Vec::new();
        let mut members = Vec::with_capacity(patterns.len());
        for grok in patterns {
            let mut indices = Vec::with_capacity(grok.fields().len());
            for field in grok.fields() {
                let known = fields.iter().position(|known| known == field);
                let index = known.unwrap_or(fields.len());
                if known.is_none() {
                    fields.push(field.clone());
                }
                indices.push(u16::try_from(index).ok()?);
            }
            members.push(Member { grok, fields: indices });
        }
        let inner = Arc::clone(&members.first()?.grok.inner);
        let all = (members.len() > 1).then(|| Arc::new(All { fields, members }));
        Some(Grok { inner, all })
    }
}

impl All {
    pub(super) fn scratch(&self) -> AllScratch {
        let members = self.members.iter().map(|member| member.grok.scratch()).collect();
        AllScratch { members, captures: Vec::new() }
    }

    pub(super) fn run(
        &self,
        text: &str,
        scratch: &mut AllScratch,
        out: &mut Vec<Capture>,
    ) -> Outcome {
        let mut outcome = Outcome::Unmatched(Reason::NoMatch);
        for (member, own) in self.members.iter().zip(&mut scratch.members) {
            match member.grok.run(text, own, &mut scratch.captures) {
                Outcome::Matched => {
                    outcome = Outcome::Matched;
                    out.extend(scratch.captures.iter().map(|capture| {
                        let field = member.fields[usize::from(capture.field)];
                        Capture { field, ..*capture }
                    }));
                }
                // Of several reasons the one that leaves most open counts.
                unmatched if outcome == Outcome::Unmatched(Reason::NoMatch) => outcome = unmatched,
                Outcome::Unmatched(_) => {}
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Dispatch, GrokOptions};
    use super::*;

    fn all(patterns: &[&str]) -> Grok {
        let options = GrokOptions::default();
        let compile = |pattern: &&str| Grok::compile(pattern, &options).unwrap();
        Grok::all_of(patterns.iter().map(compile).collect()).unwrap()
    }

    #[track_caller]
    fn check(patterns: &[&str], text: &str, expect: Option<&str>) {
        let grok = all(patterns);
        let mut captures = Vec::new();
        // Twice: nothing of the first run is left for the second.
        let mut scratch = grok.scratch();
        for _ in 0..2 {
            let outcome = grok.run(text, &mut scratch, &mut captures);
            let show = |capture: &Capture| {
                let field = &grok.fields()[usize::from(capture.field)];
                format!("{}={}", field.name, capture.text(text))
            };
            let found = captures.iter().map(show).collect::<Vec<_>>().join("|");
            let found = (outcome == Outcome::Matched).then_some(found);
            assert_eq!(found.as_deref(), expect, "{patterns:?} on {text:?}");
        }
    }

    #[test]
    fn captures_stand_one_after_the_other() {
        let patterns = ["step=%{INT:step:int}", "loss=%{NUMBER:loss:float}", "%{INT:step:int}$"];
        check(&patterns, "step=1 loss=2.5 3", Some("step=1|loss=2.5|step=3"));
        check(&patterns, "loss=2.5", Some("loss=2.5|step=5"));
        check(&patterns, "step=1 x", Some("step=1"));
        check(&patterns, "x", None);
        check(&["^x"], "x", Some(""));
        let names: Vec<_> = all(&patterns).fields().iter().map(|it| it.name.clone()).collect();
        assert_eq!(names, ["step", "loss"]);
        assert!(Grok::all_of(Vec::new()).is_none());
    }

    #[test]
    fn a_limit_is_no_answer_unless_another_matches() {
        let endless = r"^(?<k>(?:\w+ ?)+)(?=!)";
        let text = format!("{} 7 .", "a".repeat(60));
        let grok = all(&[endless, "no"]);
        let outcome = grok.run(&text, &mut grok.scratch(), &mut Vec::new());
        assert_eq!(outcome, Outcome::Unmatched(Reason::Limit));
        check(&[endless, " %{INT:n} "], &text, Some("n=7"));
    }

    #[test]
    fn none_is_ruled_out_for_what_the_first_needs() {
        let groks =
            [all(&["^abc", "xyz"]), Grok::compile("^abc", &GrokOptions::default()).unwrap()];
        let dispatch = Dispatch::new(&groks);
        let left: Vec<usize> = dispatch.select("w xyz").collect();
        assert_eq!(left, [0]);
    }
}
