//! What the records of late have said, and where their lines went: lines of many hosts alternate in
//! one partition, and what follows from a record's texts is found once for each host.
//!
//! Invariant: a context is made anew when it is given to other records than before; a hash decides
//! only where to look. Next stop: `record`, which says what a context holds.
use std::sync::Arc;

use super::bind::Bound;
use super::destination::DestinationCache;
use super::record::RecordState;
use crate::hosts::HostTable;
use crate::plan::Plan;

/// Contexts that a hash may be given to, and how many such groups there are: 256 contexts, a few
/// hundred bytes each.
const WAYS: usize = 4;
const GROUPS: usize = 64;

/// Where a context stands: its group, and its place there.
pub(super) type Place = (usize, usize);

/// What a record says, and where its lines went last.
pub(super) struct Context {
    pub(super) record: RecordState,
    pub(super) destinations: DestinationCache,
}

/// The contexts of one worker.
pub(super) struct Contexts {
    groups: Vec<Vec<Held>>,
    hosts: Option<Arc<HostTable>>,
    uses: u64,
}

struct Held {
    hash: u64,
    used: u64,
    context: Context,
}

impl Contexts {
    /// None yet, over a host table.
    pub(super) fn new(hosts: Option<Arc<HostTable>>) -> Contexts {
        let groups = std::iter::repeat_with(Vec::new).take(GROUPS).collect();
        Contexts { groups, hosts, uses: 0 }
    }

    /// The place of the context for records of this hash: the one that they had, else a new one,
    /// else the one of its group that was not used for longest. True when nothing was resolved in
    /// it yet.
    pub(super) fn find(&mut self, hash: u64, bound: &Bound, plan: &Plan) -> (Place, bool) {
        self.uses += 1;
        let number = hash as usize % GROUPS;
        let group = &mut self.groups[number];
        let known = group.iter().position(|held| held.hash == hash);
        let way = known.unwrap_or_else(|| {
            if group.len() < WAYS {
                let mut record = RecordState::new(bound);
                record.host.set_table(bound, self.hosts.clone());
                let context = Context { record, destinations: DestinationCache::new(plan) };
                group.push(Held { hash, used: 0, context });
                return group.len() - 1;
            }
            let oldest = group.iter().enumerate().min_by_key(|(_, held)| held.used);
            oldest.map_or(0, |(way, _)| way)
        });
        let held = &mut group[way];
        let is_new = held.used == 0;
        (held.hash, held.used) = (hash, self.uses);
        ((number, way), is_new)
    }

    /// A context by its place.
    pub(super) fn at(&mut self, (group, way): Place) -> &mut Context {
        &mut self.groups[group][way].context
    }

    /// Takes another host table; the contexts that there are must be resolved anew.
    pub(super) fn set_hosts(&mut self, hosts: Option<Arc<HostTable>>) {
        self.hosts = hosts;
    }

    /// Every context that there is.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Context> {
        self.groups.iter_mut().flatten().map(|held| &mut held.context)
    }
}
