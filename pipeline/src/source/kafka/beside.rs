//! What other consumer groups have committed, for a group that goes on where they are: sinks that
//! were run as groups of their own, and the group that `start` names.
//!
//! Invariant: a position that is taken over was settled in every sink of this process by some
//! group; where that is not known for one of them, nothing is taken over. Next stop: `resolve`.

use std::collections::{HashMap, HashSet};

use rdkafka::consumer::BaseConsumer;

use super::context::Context;
use super::resolve::{Commits, NoCommits, committed};
use super::start::belongs_to_another;
use super::{KafkaSettings, create, properties};
use crate::source::Partition;

/// Another group of the same pipeline, and the sinks whose lines it settles, a bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// Its name.
    pub group: String,
    /// Its sinks.
    pub sinks: u64,
    /// They are all there are.
    pub is_whole: bool,
}

/// The groups that a source looks at when it is handed a partition for the first time.
pub(super) struct Others {
    settings: KafkaSettings,
    /// Those answered before: once this group has a commit of its own there, what others have
    /// committed since is no news.
    asked: HashSet<Partition>,
}

/// Where a partition may go on, by what other groups have committed.
pub(super) type Elsewhere = HashMap<Partition, Result<Option<i64>, String>>;

impl Others {
    pub(super) fn new(settings: &KafkaSettings) -> Others {
        Others { settings: settings.clone(), asked: HashSet::new() }
    }

    /// What the groups beside this one have settled of partitions that were not asked for before,
    /// or of which this group has no commit: what it took over may not have been committed.
    pub(super) fn settled(
        &mut self,
        partitions: &[Partition],
        own: &Commits,
        marks: &HashMap<String, String>,
    ) -> Elsewhere {
        let has_own = |it: &Partition| matches!(own.get(it), Some(Ok(Some(_))));
        let fresh = partitions.iter().filter(|it| !has_own(it) || !self.asked.contains(*it));
        let fresh: Vec<Partition> = fresh.cloned().collect();
        if fresh.is_empty() || self.settings.beside.is_empty() {
            return HashMap::new();
        }
        let mut told: HashMap<Partition, Vec<(u64, i64)>> = HashMap::new();
        for beside in &self.settings.beside {
            match self.commits(&beside.group, &fresh, marks) {
                Ok(commits) => {
                    for (partition, offset) in commits {
                        told.entry(partition).or_default().push((beside.sinks, offset));
                    }
                }
                // Of the group of all sinks only its commits tell where to go on.
                Err(no) if no.is_forbidden && !beside.is_whole => {
                    tracing::warn!(
                        group = %beside.group,
                        "not allowed to read its commits: lines that it has settled are read again"
                    );
                }
                Err(NoCommits { reason, .. }) => {
                    let reason = format!("of group {}: {reason}", beside.group);
                    return fresh.into_iter().map(|it| (it, Err(reason.clone()))).collect();
                }
            }
        }
        self.asked.extend(fresh.iter().cloned());
        let wanted = self.settings.sinks;
        let settled = |partition: Partition| {
            let commits = told.get(&partition).map_or(&[][..], Vec::as_slice);
            let offset = settled(wanted, commits);
            (partition, Ok(offset))
        };
        fresh.into_iter().map(settled).collect()
    }

    /// The commits of one group; partitions without one are left out.
    pub(super) fn commits(
        &self,
        group: &str,
        partitions: &[Partition],
        marks: &HashMap<String, String>,
    ) -> Result<HashMap<Partition, i64>, NoCommits> {
        let config = properties::of_group(&self.settings, group);
        let failed = |reason: String| NoCommits { is_forbidden: false, reason };
        let consumer: BaseConsumer<Context> =
            create(&config, Context::default()).map_err(|error| failed(error.to_string()))?;
        let commits: Commits = committed(&consumer, partitions)?;
        let mut found = HashMap::new();
        for (partition, commit) in commits {
            let mark = marks.get(&*partition.topic).map(String::as_str);
            if let Some((offset, metadata)) = commit.map_err(failed)?
                && !belongs_to_another(&metadata, mark)
            {
                found.insert(partition, offset);
            }
        }
        Ok(found)
    }
}

/// The first line that is not settled in all of `wanted`, by commits of groups with their sinks;
/// `None` where one of the sinks has no group.
fn settled(wanted: u64, commits: &[(u64, i64)]) -> Option<i64> {
    let mut lowest = None;
    let mut left = wanted;
    while left != 0 {
        let sink = left & left.wrapping_neg();
        left &= !sink;
        let of_sink = commits.iter().filter(|(sinks, _)| sinks & sink != 0);
        let offset = of_sink.map(|(_, offset)| *offset).max()?;
        lowest = Some(lowest.map_or(offset, |lowest: i64| lowest.min(offset)));
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: u64, commits: &[(u64, i64)], expect: Option<i64>) {
        assert_eq!(settled(wanted, commits), expect);
    }

    #[test]
    fn a_position_is_settled_in_every_sink() {
        check(0b11, &[], None);
        check(0b11, &[(0b01, 50)], None);
        check(0b11, &[(0b01, 50), (0b10, 70)], Some(50));
        check(0b11, &[(0b01, 50), (0b10, 70), (0b11, 60)], Some(60));
        check(0b01, &[(0b11, 60)], Some(60));
        check(0b01, &[(0b10, 90)], None);
        check(0b111, &[(0b011, 10), (0b110, 20)], Some(10));
    }
}
