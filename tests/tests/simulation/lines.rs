//! The simulated training job: lines whose task decides their level and so their route, single
//! lines, records joined of an opener and its continuations, lines that a container runtime has cut
//! into pieces, lines of several parts, and Kafka records of several lines.
//!
//! Invariant: every line carries a `rid` of its own, by which the checker finds it in any store,
//! and the last lines of a partition close every record that is open.

use std::collections::VecDeque;

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
    /// Its lines, and those that it holds a piece of.
    pub(crate) lines: Vec<SimLine>,
}

/// A line of a record.
#[derive(Debug, Clone)]
pub(crate) struct SimLine {
    /// The first, where it has several parts.
    pub(crate) rid: u64,
    /// Whole, without what the runtime has put before it.
    pub(crate) text: String,
    /// It ends in this record.
    pub(crate) ends: bool,
}

/// A line that a container runtime has cut, and has not yet written to its end.
#[derive(Debug, Clone)]
struct Pieces {
    rid: u64,
    text: String,
    left: VecDeque<String>,
    /// Docker's driver wrote it.
    is_docker: bool,
    last_ms: i64,
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
    /// By stream.
    pieces: [Option<Pieces>; 2],
}

/// Record time of the first line: 15:45 UTC, a quarter of an hour before midnight in Shanghai.
const START_MS: i64 = 1_773_330_300_000;
/// A line in pieces is written to its end by then: the variants wait for an hour.
const LATE_MS: i64 = 1_800_000;

impl SimRecord {
    /// The numbers of its lines, and of their parts.
    pub(crate) fn rids(&self) -> impl Iterator<Item = u64> {
        self.lines.iter().flat_map(|line| rids_of(&line.text))
    }
}

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
        self.finish_late(random, lines, now_ms);
        if self.pieces[stream].is_some() && random.chance(50) {
            self.next_piece(random, lines, stream, now_ms);
            return;
        }
        let values = if random.chance(8) { random.between(2, 3) } else { 1 };
        let (mut value, mut of_record) = (String::new(), Vec::new());
        for number in 0..values {
            if number > 0 {
                value.push('\n');
            }
            let stream = if number > 0 { usize::from(random.chance(8)) } else { stream };
            let line = self.line(random, lines, stream, now_ms);
            value.push_str(&line.text);
            of_record.push(line);
        }
        if values == 1 && self.pieces[stream].is_none() && random.chance(25) {
            let is_docker = random.chance(40);
            if random.chance(20) {
                value = written(&value, stream, is_docker, true);
            } else {
                let rid = of_record[0].rid;
                let left = cut(random, &value);
                let pieces = Pieces { rid, text: value, left, is_docker, last_ms: now_ms };
                self.pieces[stream] = Some(pieces);
                self.next_piece(random, lines, stream, now_ms);
                return;
            }
        }
        self.push(value, of_record, now_ms);
    }

    /// Writes those lines to their end that would soon be too late.
    fn finish_late(&mut self, random: &mut Random, lines: &mut Vec<Written>, now_ms: i64) {
        for stream in 0..2 {
            while let Some(pieces) = &self.pieces[stream] {
                if now_ms - pieces.last_ms <= LATE_MS {
                    break;
                }
                let in_time = now_ms.min(pieces.last_ms + LATE_MS);
                self.next_piece(random, lines, stream, in_time);
            }
        }
    }

    /// Appends the next piece of what is cut, now and then with a line of the other stream.
    fn next_piece(
        &mut self,
        random: &mut Random,
        lines: &mut Vec<Written>,
        stream: usize,
        now_ms: i64,
    ) {
        let Some(mut pieces) = self.pieces[stream].take() else { return };
        pieces.last_ms = now_ms;
        let piece = pieces.left.pop_front().unwrap_or_default();
        let (is_docker, is_last) = (pieces.is_docker, pieces.left.is_empty());
        let mut value = written(&piece, stream, is_docker, is_last);
        let (rid, text) = (pieces.rid, pieces.text.clone());
        let mut of_record = vec![SimLine { rid, text, ends: is_last }];
        if !is_last {
            self.pieces[stream] = Some(pieces);
        }
        let other = 1 - stream;
        if !is_docker && self.pieces[other].is_none() && random.chance(15) {
            let line = self.line(random, lines, other, now_ms);
            value.push('\n');
            value.push_str(&written(&line.text, other, false, true));
            of_record.push(line);
        }
        self.push(value, of_record, now_ms);
    }

    fn line(
        &mut self,
        random: &mut Random,
        lines: &mut Vec<Written>,
        stream: usize,
        now_ms: i64,
    ) -> SimLine {
        let rid = lines.len() as u64;
        let (task, poison, text) = if let Some((task, left)) = self.open[stream] {
            self.open[stream] = (left > 1).then_some((task, left - 1));
            let line = single(now_ms, task, stream, rid, "more", "fine");
            (task, false, line.replacen("]: ", "]: + ", 1))
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
                self.write(lines, task, false);
                (task, poison, format!("{prefix}]: \r{bar} 50%|#| 1/2 [0<1]{behind}"))
            } else {
                (task, poison, line)
            }
        };
        self.write(lines, task, poison);
        SimLine { rid, text, ends: true }
    }

    /// Notes the next line, or part of one.
    fn write(&self, lines: &mut Vec<Written>, task: char, poison: bool) {
        let (offset, incarnation) = (self.next_offset, self.incarnation);
        lines.push(Written { offset, incarnation, task, poison, excused: false });
    }

    fn push(&mut self, value: String, lines: Vec<SimLine>, now_ms: i64) {
        let offset = self.next_offset;
        self.records.push(SimRecord { offset, time_ms: START_MS + now_ms, value, lines });
        self.next_offset += 1;
    }

    /// No more continuations of what is open: its opener may be cut off.
    pub(crate) fn end_records(&mut self) {
        self.open = [None; 2];
    }

    /// Closes what is open: the log's last lines belong to no record.
    pub(crate) fn close(&mut self, random: &mut Random, lines: &mut Vec<Written>, now_ms: i64) {
        self.finish_late(random, lines, now_ms);
        for stream in 0..2 {
            while self.pieces[stream].is_some() {
                self.next_piece(random, lines, stream, now_ms);
            }
        }
        for stream in 0..2 {
            self.open[stream] = None;
            // One for each way to tell streams apart, so that every record ends; and one without
            // marks, as what is left of a line in pieces whose first was cut off.
            for (task, is_marked) in
                [('a', true), ('b', true), ('c', true), ('d', true), ('b', false)]
            {
                let rid = lines.len() as u64;
                let value = single(now_ms, task, stream, rid, "one", "last");
                let unmarked = value.split_once("]: ").map(|(_, rest)| rest.to_owned());
                let value = unmarked.filter(|_| !is_marked).unwrap_or(value);
                let (offset, incarnation) = (self.next_offset, self.incarnation);
                lines.push(Written { offset, incarnation, task, poison: false, excused: false });
                let line = SimLine { rid, text: value.clone(), ends: true };
                self.push(value, vec![line], now_ms);
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

/// A text as a container runtime or Docker's driver writes it.
fn written(text: &str, stream: usize, is_docker: bool, is_last: bool) -> String {
    let (stream, time) = (["stdout", "stderr"][stream], "2026-03-12T15:45:00.5Z");
    if is_docker {
        let end = if is_last { "\\n" } else { "" };
        let text = text.replace('\r', "\\r");
        format!(r#"{{"log":"{text}{end}","stream":"{stream}","time":"{time}"}}"#)
    } else {
        format!("{time} {stream} {} {text}", if is_last { "F" } else { "P" })
    }
}

/// Cuts a line into two to four pieces: behind the marks, which would be another process's else,
/// and not inside of a number, by which the checker knows it.
fn cut(random: &mut Random, text: &str) -> VecDeque<String> {
    let first = text.find(" task=").unwrap_or(0);
    let numbers = text.match_indices("rid=").map(|(number, _)| {
        let end = text[number..].find(' ').map_or(text.len(), |length| number + length);
        number + 1..end
    });
    let numbers: Vec<_> = numbers.collect();
    let mut places: Vec<usize> = (0..random.between(1, 3))
        .map(|_| random.between(first as u64 + 1, text.len() as u64 - 1) as usize)
        .filter(|place| !numbers.iter().any(|number| number.contains(place)))
        .collect();
    places.push(first);
    places.push(text.len());
    places.sort_unstable();
    places.dedup();
    let mut start = 0;
    let piece = |place: usize| {
        let piece = text[start..place].to_owned();
        start = place;
        piece
    };
    places.into_iter().map(piece).collect()
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
