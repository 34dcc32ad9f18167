//! Labels: what an event is about (`task`, `role`, `project`, free others), from the first
//! candidate that is present; and the rank, where a record says it and the line does not.
//!
//! Invariant: an empty value counts as absent, so that a label is never empty text. Next stop:
//! `route`.
use std::num::NonZeroU32;

use crate::selector::Selector;

/// How one label is found.
#[derive(Clone, Debug, Default)]
pub struct LabelRule {
    /// The label's name.
    pub name: String,
    /// Candidates; the first that is present and not empty wins.
    pub from: Vec<Selector>,
    /// Those of presets, asked where none of `from` is present.
    pub presets: Vec<Candidate>,
    /// The value where no candidate is present; without one the label is absent then.
    pub default: Option<String>,
}

/// The label that holds the number of the node, or of the pod, within its job.
pub const NODE_RANK: &str = "node_rank";

/// How the rank of a line that states none is found.
#[derive(Clone, Debug, Default)]
pub struct RankRule {
    /// Candidates; the first that is a number wins.
    pub from: Vec<Candidate>,
    /// Ranks of a node, where each has as many: a rank is then that of the node, the label
    /// `node_rank`, times this, and the rank on the node that the line states.
    pub per_node: Option<NonZeroU32>,
}

/// A candidate of a preset.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where it stands.
    pub from: Selector,
    /// What of it is the value.
    pub reading: Reading,
    /// It counts only where each of these has this value.
    pub when: Vec<(Selector, String)>,
}

impl Candidate {
    /// All places that it reads.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.from).chain(self.when.iter().map(|(selector, _)| selector))
    }
}

/// What of a candidate's text is the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// All of it.
    Whole,
    /// The number after it: workers that are counted behind a master of number 0.
    Next,
    /// The number of Slurm's job in the path of a file, see [`slurm_job`].
    SlurmJob,
}

impl Reading {
    /// Appends the value; false where there is none.
    pub(crate) fn push(self, text: &str, out: &mut String) -> bool {
        use std::fmt::Write as _;
        match self {
            Reading::Whole => out.push_str(text),
            Reading::Next => {
                let next = text.parse::<u32>().ok().and_then(|number| number.checked_add(1));
                let Some(next) = next else { return false };
                write!(out, "{next}").expect("writing to a String cannot fail");
            }
            Reading::SlurmJob => match slurm_job(text) {
                Some(job) => out.push_str(job),
                None => return false,
            },
        }
        !text.is_empty()
    }
}

/// The job in the path of a file of Slurm: `4711` of `slurm-4711.out`, `4711_3` of
/// `slurm-4711_3.out` (`sbatch`'s own names, `%j` and `%A_%a`), `4711` of a folder `job-4711` or
/// `job_4711`. The last part of the path that says one counts.
pub fn slurm_job(path: &str) -> Option<&str> {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let of_file = file.strip_prefix("slurm-").and_then(|rest| {
        let job = rest.split('.').next().unwrap_or(rest);
        is_job(job).then_some(job)
    });
    of_file.or_else(|| {
        let folders = folders.rsplit('/');
        let jobs = folders.filter_map(|name| {
            let rest = name.strip_prefix("job")?;
            rest.strip_prefix(['-', '_']).filter(|job| is_job(job))
        });
        jobs.into_iter().next()
    })
}

/// `4711` or `4711_3`.
fn is_job(text: &str) -> bool {
    let is_number =
        |it: &str| (1..=12).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit());
    match text.split_once('_') {
        Some((job, task)) => is_number(job) && is_number(task),
        None => is_number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: Option<&str>) {
        assert_eq!(slurm_job(path), expect, "{path}");
    }

    #[test]
    fn jobs_of_slurm_are_found_in_paths() {
        check("slurm-4711.out", Some("4711"));
        check("/home/a/slurm-4711_3.out", Some("4711_3"));
        check("/logs/slurm-4711.gpu-07.3.err", Some("4711"));
        check("/logs/job-4711/rank3.log", Some("4711"));
        check("/logs/job_4711/job-x/rank3.log", Some("4711"));
        check("/logs/job-4711/job-4712_1/slurm-x.out", Some("4712_1"));
        check("/logs/job-4711/slurm-4712.out", Some("4712"));
        for path in ["", "/", "slurm-.out", "job-4711", "slurm-4711", "/jobs-4711/a", "/job4711/a"]
        {
            check(path, if path == "slurm-4711" { Some("4711") } else { None });
        }
        check("/job-47_11_3/slurm-_3.out", None);
        check("/job-1234567890123/a", None);
    }
}
