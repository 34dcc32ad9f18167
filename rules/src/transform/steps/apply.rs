//! What each action makes of an event.
//!
//! Invariant: an action does all that it says for one of its targets or nothing of it, and says so
//! when it fails. Next stops: `given`, `fields`, `texts`, `reparse`.
use std::sync::Arc;

use super::super::bind::BoundStep;
use super::super::view::View;
use super::edit::{Edit, Failed};
use super::reparse::ReparseScratch;
use super::{fields, given, texts};
use crate::plan::Plan;
use crate::step::{Action, Removal, Step};
use crate::table::Table;

/// Runs an action that changes the event; those that only choose do nothing here.
pub(super) fn apply(
    edit: &mut Edit,
    base: &View<'_>,
    (plan, step, bound): (&Plan, &Step, &BoundStep),
    (parser, lookups): (&mut Option<ReparseScratch>, &[Arc<Table>]),
) -> Result<(), Failed> {
    match &step.action {
        Action::Set(given) => given::set(edit, base, given, (&bound.templates, plan.zone)),
        Action::Lookup(lookup) => match (lookups.get(lookup.table), bound.slots.first()) {
            (Some(table), Some(slot)) => given::lookup(edit, base, (lookup, table), *slot),
            _ => Err(Failed),
        },
        Action::Fingerprint(fingerprint) => {
            given::fingerprint(edit, base, (&bound.slots, &fingerprint.into))
        }
        Action::Rename(moved) => fields::rename(edit, base, moved),
        Action::Convert(wanted) => fields::convert(edit, wanted),
        Action::Split(separators) => fields::split(edit, separators),
        Action::Join(separators) => fields::join(edit, separators),
        Action::Remove(removals) => {
            for removal in removals {
                match removal {
                    Removal::Part(part) => edit.remove(part),
                    Removal::Fields(pattern) => edit.remove_fields(|name| pattern.matches(name)),
                    Removal::Metrics(pattern) => {
                        edit.remove_metrics(|name| pattern.matches(name));
                    }
                }
            }
            Ok(())
        }
        Action::Keep(kept) => {
            fields::keep(edit, kept);
            Ok(())
        }
        Action::Restyle(style, targets) => texts::restyle(edit, base, *style, targets),
        Action::Gsub(gsub) => texts::gsub(edit, base, gsub),
        Action::Truncate(limits) => texts::truncate(edit, base, limits),
        Action::Parse(reparse) => match parser {
            Some(scratch) => scratch.run(edit, base, (plan, reparse), &bound.rules),
            None => Err(Failed),
        },
        Action::Tag(tags) => {
            for tag in tags {
                edit.add_tag(tag);
            }
            Ok(())
        }
        Action::Untag(tags) => {
            for tag in tags {
                edit.remove_tag(tag);
            }
            Ok(())
        }
        Action::Drop(_) | Action::Sample(_) | Action::RateLimit(_) => Ok(()),
    }
}
