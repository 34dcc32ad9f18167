//! The delivery simulation: the real driver, ledger, sinks and chains against a simulated broker
//! and simulated stores, with seeded faults. `RIVERHOG_SEEDS=FROM..TO` runs other seeds than the
//! usual ones; a failing seed is printed and belongs into [`PINNED`].
//!
//! Invariant: what is checked is the promise of `docs/delivery.md`: no commit passes an unsettled
//! line; every line is in each of its stores; exactly once while the configuration stays; progress
//! once faults cease.

mod joined;
mod lines;
mod member;
mod random;
mod store;
mod variants;
mod world;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use riverhog::delivery_rules::DeliveryRules;
use riverhog::driver::Ended;

use crate::lines::{SimRecord, rids_of};
use crate::member::Member;
use crate::store::Shared;
use crate::variants::{ARCHIVE, COUNT, SEARCH};
use crate::world::{BUCKETS, PARTITIONS, Told, World};

/// Seeds of the usual run.
const SEEDS: u64 = 2000;
/// Seeds that failed once.
const PINNED: &[u64] = &[];
/// Seeds of the run over stores that overwrite.
const SHARED_SEEDS: u64 = 600;
/// Seeds within which every switched-off rule must show.
const MUTATION_SEEDS: u64 = 2000;

#[test]
fn nothing_is_lost_and_nothing_comes_twice() {
    let (from, to) = match std::env::var("RIVERHOG_SEEDS") {
        Ok(range) => {
            let (from, to) = range.split_once("..").expect("FROM..TO");
            (from.parse().expect("a number"), to.parse().expect("a number"))
        }
        Err(_) => (0, SEEDS),
    };
    // One seed alone can be watched: RIVERHOG_SEEDS=7..8 RIVERHOG_LOG=debug.
    let _log = (from + 1 == to).then(|| {
        riverhog::telemetry::log::init(
            riverhog::telemetry::log::LogFormat::Text,
            riverhog::telemetry::log::LogColor::Never,
        )
    });
    run_seeds(from..to, PINNED, |seed| simulate(seed, DeliveryRules::all(), true));
}

/// With `exclusive = "none"` lines may come twice, and none may be lost: no object takes the name
/// of another, whatever a stale list says.
#[test]
fn stores_that_overwrite_lose_nothing() {
    run_seeds(0..SHARED_SEEDS, &[], |seed| simulate(seed, DeliveryRules::all(), false));
}

/// Runs all of them on every core and tells which went wrong.
fn run_seeds(
    seeds: std::ops::Range<u64>,
    pinned_seeds: &[u64],
    simulate: impl Fn(u64) -> Vec<String> + Sync,
) {
    let next = AtomicU64::new(seeds.start);
    let failed = Mutex::new(Vec::new());
    let pinned = AtomicU64::new(0);
    let worker = || {
        loop {
            let place = pinned.fetch_add(1, Ordering::Relaxed) as usize;
            let seed = match pinned_seeds.get(place) {
                Some(seed) => *seed,
                None => next.fetch_add(1, Ordering::Relaxed),
            };
            if seed >= seeds.end && place >= pinned_seeds.len() {
                return;
            }
            let violations = simulate(seed);
            if !violations.is_empty() {
                failed.lock().expect("nobody panics with it").push((seed, violations));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(worker);
        }
    });
    let failed = failed.into_inner().expect("nobody panics with it");
    let shown = failed.iter().take(20).map(|(seed, violations)| {
        let few = &violations[..violations.len().min(6)];
        format!("seed {seed}:\n  {}\n", few.join("\n  "))
    });
    let shown: String = shown.collect();
    let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    assert!(seeds.is_empty(), "{shown}failing seeds: {seeds:?}");
}

#[test]
fn every_rule_is_needed() {
    let wanted = std::env::var("RIVERHOG_MUTATION").ok();
    let mut unnoticed = Vec::new();
    // A switched-off rule may break an invariant that the code itself asserts; that counts, and its
    // message is noise here.
    std::panic::set_hook(Box::new(|_| {}));
    for (name, switch_off) in DeliveryRules::MUTATIONS {
        if wanted.as_ref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let mut rules = DeliveryRules::all();
        switch_off(&mut rules);
        let found = (0..MUTATION_SEEDS).find(|seed| !simulate(*seed, rules, true).is_empty());
        match found {
            Some(seed) => println!("{name}: noticed by seed {seed}"),
            None => unnoticed.push(*name),
        }
    }
    let _hook = std::panic::take_hook();
    assert!(unnoticed.is_empty(), "nobody notices when these are off: {unnoticed:?}");
}

/// One run, with stores that create exclusively or not; returns what went wrong.
fn simulate(seed: u64, rules: DeliveryRules, exclusive: bool) -> Vec<String> {
    let world = Shared(Arc::new(Mutex::new(World::new(seed))));
    world.lock().exclusive = exclusive;
    let mut run = Run { world, members: Vec::new(), rules, variants: Vec::new(), recreated: false };
    run.storm();
    run.calm();
    run.check()
}

struct Run {
    world: Shared,
    members: Vec<Member>,
    rules: DeliveryRules,
    /// Configurations used so far; one in most runs.
    variants: Vec<usize>,
    recreated: bool,
}

impl Run {
    fn storm(&mut self) {
        let (steps, changes) = {
            let mut world = self.world.lock();
            (world.random.between(15, 60), world.random.chance(30))
        };
        let first = if self.chance(25) { self.below(COUNT as u64) as usize } else { 0 };
        self.variants.push(first);
        self.append(20);
        self.start();
        for _ in 0..steps {
            self.act(changes);
            self.rebalance();
            self.run_members();
        }
    }

    fn chance(&self, percent: u64) -> bool {
        self.world.lock().random.chance(percent)
    }

    fn below(&self, bound: u64) -> u64 {
        self.world.lock().random.below(bound)
    }

    fn append(&self, records: u64) {
        self.append_to(records, false);
    }

    fn append_to(&self, records: u64, quiet: bool) {
        let mut world = self.world.lock();
        let world = &mut *world;
        for _ in 0..records {
            let partition = world.random.below(PARTITIONS as u64) as usize;
            world.now_ms += world.random.below(40_000) as i64;
            let (random, lines) = (&mut world.random, &mut world.lines);
            world.logs[partition].append(random, lines, world.now_ms, quiet);
        }
    }

    fn start(&mut self) {
        let number = self.world.lock().inboxes.len();
        let variant = self.variants[self.variants.len() - 1];
        {
            let mut world = self.world.lock();
            world.inboxes.push(VecDeque::new());
            world.variants_of.push(vec![(0, variant)]);
        }
        self.members.push(Member::start(&self.world, number, variant, self.rules));
    }

    /// One thing happens.
    fn act(&mut self, changes: bool) {
        match self.below(26) {
            0..=4 => self.append(8),
            5 | 6 if self.members.len() < 2 => self.start(),
            7 => self.crash_now(),
            8 | 9 => {
                let calls = self.below(30) as u32 + 1;
                let member = self.pick_member();
                self.world.lock().death = member.map(|member| (member, calls));
            }
            10 => self.graceful_stop(),
            11 => self.toggle(|world, on| world.search.unauthorised = on),
            12 => self.toggle(|world, on| world.search.down = on),
            13 => self.toggle(|world, on| {
                world.search.blocked = on.then(|| "logs-a".to_owned());
            }),
            14 => self.toggle(|world, on| {
                if on {
                    world.forbidden.insert("archive")
                } else {
                    world.forbidden.clear();
                    true
                };
            }),
            15 => self.toggle(|world, on| world.stubborn_key = on.then(|| "b/".to_owned())),
            16 => self.freeze_footer(),
            17 => self.steal(),
            18 if self.chance(30) => self.truncate(),
            19 if self.chance(30) => self.recreate(),
            20 if changes => self.change_configuration(),
            21 => self.outage(),
            22 => self.toggle(|world, on| world.letters_down = on),
            23 if changes => self.swap_tables(),
            24 => self.reload(changes),
            _ => {}
        }
    }

    fn toggle(&self, set: impl Fn(&mut World, bool)) {
        let mut world = self.world.lock();
        let on = world.random.chance(40);
        set(&mut world, on);
    }

    fn pick_member(&self) -> Option<usize> {
        let place = self.below(self.members.len() as u64) as usize;
        self.members.get(place).map(|member| member.number)
    }

    fn crash_now(&mut self) {
        if let Some(number) = self.pick_member() {
            self.bury(number);
        }
    }

    /// Drops a member's runtime; its partitions are free after the session timeout, which is now.
    fn bury(&mut self, number: usize) {
        self.members.retain(|member| member.number != number);
        let mut world = self.world.lock();
        for seat in &mut world.seats {
            if seat.owner == Some(number) {
                seat.owner = None;
            }
            if seat.leaving == Some(number) {
                seat.leaving = None;
            }
        }
        world.death = None;
        // Whoever died meanwhile hangs in a call and must not be taken for alive.
        let other = world.dead_member.take().filter(|dead| *dead != number);
        drop(world);
        if let Some(other) = other {
            self.bury(other);
        }
        if self.members.is_empty() {
            self.start();
        }
    }

    fn graceful_stop(&mut self) {
        let Some(number) = self.pick_member() else { return };
        if let Some(member) = self.members.iter_mut().find(|member| member.number == number) {
            member.stop();
            for _ in 0..60 {
                member.run(&self.world, 100);
                if member.ended().is_some() {
                    break;
                }
            }
        }
        self.bury(number);
    }

    /// A random object's footer goes to an archive class.
    fn freeze_footer(&self) {
        let mut world = self.world.lock();
        let keys: Vec<_> = world.objects.keys().cloned().collect();
        let objects: Vec<_> =
            keys.into_iter().filter(|(_, key)| !key.starts_with("_riverhog/")).collect();
        if objects.is_empty() || !world.random.chance(50) {
            return;
        }
        let place = world.random.below(objects.len() as u64) as usize;
        world.unreadable.insert(objects[place].clone());
    }

    /// The broker fences an owner without telling him for a while.
    fn steal(&self) {
        let mut world = self.world.lock();
        let partition = world.random.below(PARTITIONS as u64) as usize;
        let Some(owner) = world.seats[partition].owner.take() else { return };
        if world.random.chance(50) {
            world.inboxes[owner].push_back(Told::Lost(partition));
        }
    }

    fn truncate(&self) {
        let mut world = self.world.lock();
        let world = &mut *world;
        let partition = world.random.below(PARTITIONS as u64) as usize;
        let log = &mut world.logs[partition];
        let low = log.low + world.random.below(15) as i64;
        log.low = low.min(log.next_offset);
        let cut = log.records.iter().filter(|record| record.offset < log.low);
        for rid in cut.flat_map(SimRecord::rids) {
            world.lines[rid as usize].excused = true;
        }
        let low = log.low;
        log.records.retain(|record| record.offset >= low);
        world.logs[partition].end_records();
        Run::excuse_orphans(world, partition);
    }

    /// What would be another event for whoever begins here than for whoever read what was cut off:
    /// a continuation without its opener, and a record that was ended by a line of which only the
    /// last pieces are left.
    fn excuse_orphans(world: &mut World, partition: usize) {
        // As the variants tell streams apart.
        for keys in [&[" s=", " task="][..], &[" task="]] {
            let mut open: BTreeMap<Vec<Option<char>>, Vec<u64>> = BTreeMap::new();
            for line in world.logs[partition].records.iter().flat_map(|record| &record.lines) {
                let value = |key: &&str| line.text.split(*key).nth(1).unwrap_or("").chars().next();
                let stream: Vec<Option<char>> = keys.iter().map(value).collect();
                let continues = line.text.contains("]: + ");
                let lines = &mut world.lines;
                if lines[line.rid as usize].excused {
                    let ended = if continues { None } else { open.remove(&stream) };
                    for rid in ended.unwrap_or_default() {
                        lines[rid as usize].excused = true;
                    }
                } else if !continues {
                    if line.ends {
                        open.insert(stream, rids_of(&line.text));
                    }
                } else if let Some(rids) = open.get_mut(&stream) {
                    if line.ends {
                        rids.push(line.rid);
                    }
                } else {
                    lines[line.rid as usize].excused = true;
                }
            }
        }
    }

    fn recreate(&mut self) {
        self.recreated = true;
        let mut world = self.world.lock();
        let world = &mut *world;
        let partition = world.random.below(PARTITIONS as u64) as usize;
        let log = &mut world.logs[partition];
        for rid in log.records.iter().flat_map(SimRecord::rids) {
            world.lines[rid as usize].excused = true;
        }
        *log = log.anew();
        world.now_ms += 60_000;
        let seat = &mut world.seats[partition];
        seat.commit = None;
        seat.checked = 0;
        // Commits on their way are for the topic that is gone.
        seat.generation += 1;
        if let Some(owner) = seat.owner {
            if world.tells_incarnation && world.random.chance(60) {
                // Its topic id tells the owner, who goes on with the new one.
                world.inboxes[owner].push_back(Told::Recreated(partition));
            } else {
                // A loss and an assignment, as to a consumer that subscribes anew.
                seat.owner = None;
                world.inboxes[owner].push_back(Told::Lost(partition));
            }
        }
        for _ in 0..world.random.between(0, 25) {
            world.now_ms += 500;
            let (random, lines) = (&mut world.random, &mut world.lines);
            world.logs[partition].append(random, lines, world.now_ms, false);
        }
    }

    /// Search is away while the archive goes on, and somebody dies of it.
    fn outage(&mut self) {
        self.world.lock().search.down = true;
        for (records, quiet) in [(12, false), (0, false), (3, true), (0, false)] {
            self.append_to(records, quiet);
            for member in &self.members {
                member.run(&self.world, 900);
            }
        }
        self.crash_now();
        self.world.lock().search.down = false;
    }

    /// The host table changes, and with it where lines go, under the feet of all members; now and
    /// then one dies right afterwards.
    fn swap_tables(&mut self) {
        let variant = match self.variants[self.variants.len() - 1] {
            0 => 1,
            1 => 0,
            _ => return,
        };
        self.append(6);
        for member in &self.members {
            member.run(&self.world, 60);
        }
        self.variants.push(variant);
        for member in &self.members {
            let mut world = self.world.lock();
            let written = world.lines.len() as u64;
            world.variants_of[member.number].push((written, variant));
            drop(world);
            member.swap_tables(variant);
        }
        self.run_members();
        if self.chance(50) {
            self.crash_now();
        }
    }

    /// All members load their configuration again, another one if there may be changes; now and
    /// then one dies on the way, or soon after.
    fn reload(&mut self, changes: bool) {
        let last = self.variants[self.variants.len() - 1];
        let variant = if changes { self.below(COUNT as u64) as usize } else { last };
        self.variants.push(variant);
        self.append(6);
        for member in &self.members {
            member.run(&self.world, 30);
        }
        for member in &self.members {
            let mut world = self.world.lock();
            let written = world.lines.len() as u64;
            world.variants_of[member.number].push((written, variant));
            drop(world);
            member.reload(variant);
        }
        if self.chance(30) {
            self.crash_now();
        }
        self.run_members();
        if self.chance(30) {
            self.crash_now();
        }
    }

    /// Everybody restarts with another configuration.
    fn change_configuration(&mut self) {
        let variant = self.below(COUNT as u64) as usize;
        self.variants.push(variant);
        let numbers: Vec<usize> = self.members.iter().map(|member| member.number).collect();
        for number in numbers {
            self.bury(number);
        }
    }

    /// The broker hands free partitions out, and moves some.
    fn rebalance(&mut self) {
        let mut world = self.world.lock();
        let world = &mut *world;
        let members: Vec<usize> = self.members.iter().map(|member| member.number).collect();
        if members.is_empty() {
            return;
        }
        for partition in 0..PARTITIONS {
            let seat = &mut world.seats[partition];
            if seat.leaving.is_some() {
                continue;
            }
            match seat.owner {
                None => {
                    let to = world.random.pick(&members);
                    world.seats[partition].owner = Some(to);
                    world.seats[partition].generation += 1;
                    world.inboxes[to].push_back(Told::Assign(partition));
                }
                Some(owner) if members.len() > 1 && world.random.chance(8) => {
                    seat.owner = None;
                    seat.leaving = Some(owner);
                    world.inboxes[owner].push_back(Told::Revoke(partition));
                }
                Some(_) => {}
            }
        }
    }

    fn run_members(&mut self) {
        let mut gone = Vec::new();
        for member in &mut self.members {
            // Now and then one stands still while the others go on.
            let milliseconds = {
                let mut world = self.world.lock();
                if world.random.chance(15) { 0 } else { world.random.between(20, 400) }
            };
            member.run(&self.world, milliseconds);
            let dead = self.world.lock().dead_member == Some(member.number);
            match member.ended() {
                Some(Err(panic)) => {
                    self.world.lock().violations.push(format!("the driver panicked: {panic}"));
                    gone.push(member.number);
                }
                Some(Ok(Ended::Failed(why))) => {
                    self.world.lock().violations.push(format!("the driver failed: {why}"));
                    gone.push(member.number);
                }
                Some(Ok(_)) => gone.push(member.number),
                None if dead => gone.push(member.number),
                None => {}
            }
            let memory = &member.memory;
            if memory.archive_used() > memory.archive_limit() * 2 {
                let used = memory.archive_used();
                self.world.lock().violations.push(format!("{used} bytes of open objects"));
            }
        }
        for number in gone {
            self.bury(number);
        }
    }

    /// Faults cease; everything must settle and be committed.
    fn calm(&mut self) {
        let dead = self.world.lock().dead_member;
        if let Some(dead) = dead {
            self.bury(dead);
        }
        {
            let mut world = self.world.lock();
            let world = &mut *world;
            world.fault_percent = 0;
            world.death = None;
            world.search.unauthorised = false;
            world.search.down = false;
            world.letters_down = false;
            world.search.blocked = None;
            world.forbidden.clear();
            world.stubborn_key = None;
            for log in &mut world.logs {
                log.close(&mut world.random, &mut world.lines, world.now_ms);
            }
        }
        if self.members.is_empty() {
            self.start();
        }
        for _ in 0..120 {
            self.rebalance_calmly();
            for member in &mut self.members {
                member.run(&self.world, 250);
                if let Some(ended) = member.ended() {
                    let what = format!("the driver ended in calm: {ended:?}");
                    self.world.lock().violations.push(what);
                    return;
                }
            }
            if self.is_done() {
                return;
            }
        }
        let world = self.world.lock();
        let state: Vec<String> = world
            .seats
            .iter()
            .zip(&world.logs)
            .map(|(seat, log)| format!("{:?} of {}", seat.commit, log.next_offset))
            .collect();
        drop(world);
        let what = format!("no progress although faults ceased: {}", state.join(", "));
        self.world.lock().violations.push(what);
    }

    fn rebalance_calmly(&self) {
        let mut world = self.world.lock();
        let world = &mut *world;
        let members: Vec<usize> = self.members.iter().map(|member| member.number).collect();
        for partition in 0..PARTITIONS {
            let seat = &mut world.seats[partition];
            if seat.owner.is_none() && seat.leaving.is_none() {
                seat.owner = Some(members[0]);
                seat.generation += 1;
                world.inboxes[members[0]].push_back(Told::Assign(partition));
            }
        }
    }

    fn is_done(&self) -> bool {
        let world = self.world.lock();
        let mut seats = world.seats.iter().zip(&world.logs);
        seats.all(|(seat, log)| {
            seat.commit.as_ref().is_some_and(|commit| commit.0 == log.next_offset)
        })
    }

    fn check(self) -> Vec<String> {
        let mut world = self.world.lock();
        let held = world.held();
        let mut violations = std::mem::take(&mut world.violations);
        for (rid, count) in &held.dead {
            let line = &world.lines[*rid as usize];
            if !line.poison {
                violations.push(format!("line {rid} is a dead letter ({count} times)"));
            }
        }
        let same_configuration = self.variants.iter().all(|variant| *variant == self.variants[0]);
        let excused_twice = world.lines_in_unreadable();
        for (sink, bucket) in BUCKETS.iter().enumerate() {
            for (rid, count) in &held.sinks[sink] {
                let line = &world.lines[*rid as usize];
                if line.poison && sink == SEARCH {
                    violations.push(format!("poisoned line {rid} is in search"));
                }
                let may_repeat = !same_configuration
                    || line.excused
                    || (sink >= ARCHIVE && !world.exclusive)
                    || (sink >= ARCHIVE && excused_twice.contains(rid));
                if *count > 1 && !may_repeat {
                    violations.push(format!(
                        "line {rid} at {} of incarnation {} is {count} times in sink {sink} {bucket}",
                        line.offset, line.incarnation
                    ));
                }
            }
        }
        violations
    }
}
