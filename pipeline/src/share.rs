//! A process's share of a pipeline: all its sinks, or some of them as a consumer group of their
//! own, so that no sink waits for another.
//!
//! Invariant: routing is decided on the whole configuration; what belongs to a sink of another
//! group is settled here at once, and dead letters of no sink belong to one group alone. Next
//! stop: [`crate::dispatch`].

use crate::source::kafka::Beside;

/// With more sinks than this, a group of its own has one sink or all: a plain run asks every group
/// there may be how far it has come.
pub const COMBINED_MAX: usize = 4;

/// See the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// A bit for each sink of the configuration, in its order.
    here: u64,
    count: usize,
}

/// Why sinks cannot be run as a group of their own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// No sink has this name.
    #[error("there is no sink `{0}`")]
    Unknown(String),
    /// Too many combinations.
    #[error(
        "with {0} sinks a group of its own has one of them: beyond {COMBINED_MAX} there would be \
         too many groups to ask how far they have come"
    )]
    Combined(usize),
}

impl Share {
    /// All of so many sinks.
    pub fn all(count: usize) -> Share {
        Share { here: all(count), count }
    }

    /// Those of `names` that are in `wanted`.
    ///
    /// # Errors
    /// A name that is none, or too many.
    pub fn of(names: &[&str], wanted: &[String]) -> Result<Share, ShareError> {
        let mut here = 0;
        for name in wanted {
            let place = names.iter().position(|known| known == name);
            here |= 1 << place.ok_or_else(|| ShareError::Unknown(name.clone()))?;
        }
        let share = Share { here, count: names.len() };
        let is_combined = !share.is_all() && here.count_ones() > 1;
        if is_combined && names.len() > COMBINED_MAX {
            return Err(ShareError::Combined(names.len()));
        }
        Ok(share)
    }

    /// True when every sink is here.
    pub fn is_all(self) -> bool {
        self.here == all(self.count)
    }

    /// True when this sink, by its number, is here.
    pub fn has(self, sink: usize) -> bool {
        self.here & (1 << sink) != 0
    }

    /// True when dead letters of no sink are written here: by the group with the first sink.
    pub fn has_unrouted(self) -> bool {
        self.count == 0 || self.has(0)
    }

    /// A bit for each sink that is here.
    pub fn bits(self) -> u64 {
        self.here
    }

    /// The consumer group of this share: `<group>`, or `<group>.<sink>`, or `<group>.<a>+<b>`.
    pub fn group(self, group: &str, names: &[&str]) -> String {
        if self.is_all() {
            return group.to_owned();
        }
        let here = names.iter().enumerate().filter(|(sink, _)| self.has(*sink));
        let here: Vec<&str> = here.map(|(_, name)| *name).collect();
        format!("{group}.{}", here.join("+"))
    }

    /// The groups of other shares that settle lines in some sink of this one.
    pub fn beside(self, group: &str, names: &[&str]) -> Vec<Beside> {
        let count = names.len();
        let shares: Vec<u64> = if count <= COMBINED_MAX {
            (1..=all(count)).collect()
        } else {
            (0..count).map(|sink| 1 << sink).chain([all(count)]).collect()
        };
        let others = shares.into_iter().filter(|sinks| *sinks != self.here);
        let others = others.filter(|sinks| sinks & self.here != 0);
        let others = others.map(|here| Share { here, count });
        others
            .map(|share| Beside {
                group: share.group(group, names),
                sinks: share.here,
                is_whole: share.is_all(),
            })
            .collect()
    }
}

fn all(count: usize) -> u64 {
    1u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [&str; 2] = ["search", "archive"];

    /// A group, and those beside it with their sinks.
    type Groups<'a> = (&'a str, &'a [(&'a str, u64)]);

    #[track_caller]
    fn check(names: &[&str], wanted: &[&str], expect: Result<Groups<'_>, ShareError>) {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let found = Share::of(names, &wanted).map(|share| {
            let beside = share.beside("hog", names);
            (share.group("hog", names), beside.into_iter().map(|it| (it.group, it.sinks)).collect())
        });
        let owned = |(group, beside): Groups<'_>| -> (String, Vec<(String, u64)>) {
            let beside = beside.iter().map(|(name, sinks)| ((*name).to_owned(), *sinks));
            (group.to_owned(), beside.collect())
        };
        assert_eq!(found, expect.map(owned));
    }

    #[test]
    fn a_share_has_its_group_and_looks_at_those_with_its_sinks() {
        check(&TWO, &["archive"], Ok(("hog.archive", &[("hog", 0b11)])));
        let split: [(&str, u64); 2] = [("hog.search", 0b01), ("hog.archive", 0b10)];
        check(&TWO, &["archive", "search"], Ok(("hog", &split)));
        let three = ["a", "b", "c"];
        let beside = [("hog.a", 1), ("hog.b", 2), ("hog.a+c", 5), ("hog.b+c", 6), ("hog", 7)];
        check(&three, &["b", "a"], Ok(("hog.a+b", &beside)));
    }

    #[test]
    fn a_share_that_cannot_be_says_why() {
        check(&TWO, &["serch"], Err(ShareError::Unknown("serch".to_owned())));
        let five = ["a", "b", "c", "d", "e"];
        check(&five, &["a", "b"], Err(ShareError::Combined(5)));
        check(&five, &["e"], Ok(("hog.e", &[("hog", 31)])));
    }

    #[test]
    fn dead_letters_of_no_sink_belong_to_the_first() {
        let share = |name: &str| Share::of(&TWO, &[name.to_owned()]).expect("a sink");
        assert!(share("search").has_unrouted() && !share("archive").has_unrouted());
        assert!(Share::all(2).has_unrouted() && Share::all(64).is_all());
    }
}
