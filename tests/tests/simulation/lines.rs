//! The simulated training job: lines whose task decides their level and so their route, single
//! lines, records joined of an opener and its continuations, Kafka records of several lines, and
//! lines of several parts.
//!
//! Invariant: every line carries a `rid` of its own, by which the checker finds it in any store,
//! and the last lines of a partition close every record that is open.

use std::fmt::Write as _;

use crate::random::Random;

/// What the checker must know of a line.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) offset: i64,
    pub(crate) incarnation: u64,
    pub(crate) task: char,
    /// The search store refuses it.
    pub(crate) poison: bool,
    /// Its offset was cut off before anybody read it, or its topic was deleted.
    pub(crate) excused: bool,
}

/// One Kafka record.
#[derive(Debug, Clone)]
pub(crate) struct SimRecord {
    pub(crate) offset: i64,
    pub(crate) time_ms: i64,
    pub(crate) value: String,
    /// Its lines' numbers.
    pub(crate) rids: Vec<u64>,
}

/// One partition's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) incarnation: u64,
    pub(crate) low: i64,
    pub(crate) next_offset: i64,
    pub(crate) records: Vec<SimRecord>,
    /// Streams with an open record: what their continuations must look like.
    open: [Option<(char, u32)>; 2],
}

/// Record time of the first line: 15:45 UTC, a quarter of an hour before midnight in Shanghai.
const START_MS: i64 = 1_773_330_300_000;

impl Log {
    /// The log of a topic created again under the same name.
    pub(crate) fn anew(&self) -> Log {
        Log { incarnation: self.incarnation + 1, ..Log::default() }
    }

    /// Appends a record, of the quiet stream when `quiet`.
    pub(crate) fn append(
        &mut self,
        random: &mut Random,
        lines: &mut Vec<Written>,
        now_ms: i64,
        quiet: bool,
    ) {
        // Compaction and aborted transactions leave gaps.
        if random.chance(6) {
            self.next_offset += random.between(1, 4) as i64;
        }
        let stream = usize::from(quiet || random.chance(8));
        let values = if random.chance(8) { random.between(2, 3) } else { 1 };
        let (mut value, mut rids) = (String::new(), Vec::new());
        for number in 0..values {
            if number > 0 {
                value.push('\n');
            }
            let stream = if number > 0 { usize::from(random.chance(8)) } else { stream };
            self.line(random, lines, stream, now_ms, &mut value, &mut rids);
        }
        self.push(value, rids, now_ms);
    }

    fn line(
        &mut self,
        random: &mut Random,
        lines: &mut Vec<Written>,
        stream: usize,
        now_ms: i64,
        value: &mut String,
        rids: &mut Vec<u64>,
    ) {
        let rid = lines.len() as u64;
        let (task, poison) = if let Some((task, left)) = self.open[stream] {
            self.open[stream] = (left > 1).then_some((task, left - 1));
            let line = single(now_ms, task, stream, rid, "more", "fine");
            value.push_str(&line.replacen("]: ", "]: + ", 1));
            (task, false)
        } else {
            let task = random.pick(&['a', 'a', 'b', 'b', 'b', 'c', 'd']);
            let poison = task == 'c' && random.chance(30);
            let opens = !poison && random.chance(if stream == 1 { 70 } else { 20 });
            let kind = if opens { "open" } else { "one" };
            self.open[stream] = opens.then(|| (task, random.between(1, 2) as u32));
            let word = if poison { "poison" } else { "fine" };
            let line = single(now_ms, task, stream, rid, kind, word);
            if !poison && !opens && random.chance(10) {
                // A bar, and a line behind it: two parts with one prefix.
                let (prefix, bar) = line.split_once("]: ").expect("the line has a prefix");
                let behind = single(now_ms, task, stream, rid + 1, "one", "fine");
                let behind = behind.split_once("]: ").map_or("", |(_, behind)| behind);
                write!(value, "{prefix}]: \r{bar} 50%|#| 1/2 [0<1]{behind}")
                    .expect("writing to a String cannot fail");
                self.written(lines, rids, (task, false));
            } else {
                value.push_str(&line);
            }
            (task, poison)
        };
        self.written(lines, rids, (task, poison));
    }

    /// Notes the next line.
    fn written(&self, lines: &mut Vec<Written>, rids: &mut Vec<u64>, (task, poison): (char, bool)) {
        rids.push(lines.len() as u64);
        let (offset, incarnation) = (self.next_offset, self.incarnation);
        lines.push(Written { offset, incarnation, task, poison, excused: false });
    }

    fn push(&mut self, value: String, rids: Vec<u64>, now_ms: i64) {
        let offset = self.next_offset;
        self.records.push(SimRecord { offset, time_ms: START_MS + now_ms, value, rids });
        self.next_offset += 1;
    }

    /// No more continuations of what is open: its opener may be cut off.
    pub(crate) fn end_records(&mut self) {
        self.open = [None; 2];
    }

    /// Closes what is open: the log's last lines belong to no record.
    pub(crate) fn close(&mut self, lines: &mut Vec<Written>, now_ms: i64) {
        for stream in 0..2 {
            self.open[stream] = None;
            // One for each way to tell streams apart, so that every record ends.
            for task in ['a', 'b', 'c', 'd'] {
                let rid = lines.len() as u64;
                let value = single(now_ms, task, stream, rid, "one", "last");
                let (offset, incarnation) = (self.next_offset, self.incarnation);
                lines.push(Written { offset, incarnation, task, poison: false, excused: false });
                self.push(value, vec![rid], now_ms);
            }
        }
    }

    /// The records from `position` on, at most `count`.
    pub(crate) fn read(&self, position: i64, count: usize) -> &[SimRecord] {
        let first = self.records.partition_point(|record| record.offset < position);
        let last = (first + count).min(self.records.len());
        &self.records[first..last]
    }
}

fn single(now_ms: i64, task: char, stream: usize, rid: u64, kind: &str, word: &str) -> String {
    let seconds = (START_MS + now_ms) / 1000 % 86_400;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let level = level_of(task);
    format!(
        "(W-{task} pid=1) [rank{stream}]: 2026-03-12 {hour:02}:{minute:02}:{second:02},{:03} {level} task={task} s={stream} \
         rid={rid} {kind} {word}",
        now_ms % 1000
    )
}

fn level_of(task: char) -> &'static str {
    match task {
        'a' => "WARNING",
        'c' => "ERROR",
        _ => "INFO",
    }
}

/// The numbers of the lines that a document was made of.
pub(crate) fn rids_of(text: &str) -> Vec<u64> {
    let number = |rest: &str| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    // A document without `message` has the first line's number as a field.
    let text = text.replace("\"rid\":\"", "rid=");
    let mut rids: Vec<u64> = text.split("rid=").skip(1).filter_map(number).collect();
    // A document may hold its line twice, as content and as message.
    rids.sort_unstable();
    rids.dedup();
    rids
}
