//! Host and labels of a line, where a rule lets them depend on more than the record.
//!
//! Invariant: labels that the record decides are those of `record`; only the others are found anew.
//! Next stop: `destination`.
use std::sync::Arc;

use super::bind::Bound;
use super::record::{HostState, LabelState, RecordState, find_host, write_host_and_labels};
use super::view::View;
use crate::hosts::HostTable;
use crate::plan::Plan;

/// Reused from line to line.
#[derive(Debug, Default)]
pub(super) struct LineState {
    host: HostState,
    labels: Vec<LabelState>,
    host_and_labels: Vec<u8>,
    /// Of the record that `labels` was copied from.
    generation: u64,
}

impl LineState {
    pub(super) fn new(bound: &Bound) -> LineState {
        let labels = vec![LabelState::default(); bound.labels.len()];
        LineState { labels, ..LineState::default() }
    }

    pub(super) fn set_table(&mut self, bound: &Bound, table: Option<Arc<HostTable>>) {
        self.host.set_table(bound, table);
    }

    /// Finds the host of a line that names its own, while the line is whole.
    pub(super) fn set_host(&mut self, plan: &Plan, bound: &Bound, view: &View<'_>) {
        if bound.host_of_line {
            self.host.set(find_host(bound, view), plan.redact.as_deref());
        }
    }

    /// The host as far as it is known before the steps.
    pub(super) fn host<'a>(&'a self, bound: &Bound, view: &View<'a>) -> &'a HostState {
        if bound.host_of_line && !bound.host_of_steps { &self.host } else { view.host }
    }

    /// Completes the view of a parsed line by the host that was set and its labels, and gives them
    /// encoded as `,"host":{…},"labels":{…}`.
    pub(super) fn resolve<'a>(
        &'a mut self,
        plan: &Plan,
        bound: &Bound,
        record: &'a RecordState,
        view: &mut View<'a>,
    ) -> &'a [u8] {
        if !bound.host_of_line && !bound.label_of_line {
            return &record.host_and_labels;
        }
        if bound.host_of_line {
            view.host = &self.host;
        }
        if bound.label_of_line {
            if self.generation != record.generation {
                self.generation = record.generation;
                for (label, of_record) in self.labels.iter_mut().zip(&record.labels) {
                    label.copy(of_record);
                }
            }
            for ((label, rule), bound) in
                self.labels.iter_mut().zip(&plan.labels).zip(&bound.labels)
            {
                if bound.of_line {
                    label.set(rule, bound, view);
                }
            }
            view.labels = &self.labels;
        }
        self.host_and_labels.clear();
        write_host_and_labels(&mut self.host_and_labels, view.host, &plan.labels, view.labels);
        &self.host_and_labels
    }
}
