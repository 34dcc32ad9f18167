//! Parts of a line: what stands on one line and is more than one, or is written over.
//!
//! A line that returns to its beginning again and again is a progress bar: of each run of its
//! frames the last one stays, and one in so many where that is asked for. A log line that another
//! thread wrote behind a frame is a part of its own, and so is a record glued behind another one.
//! Invariant: every byte of the line is in a part, in the prefix that all parts share, or in a
//! frame that a later one wrote over, but for the returns themselves; work grows with the line and
//! no faster. Source of the form of a bar: `tqdm`. Next: `prefix`.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{Layers, Marks, ansi, prefix, prefixes};

/// No line has more parts; the last one has the rest.
pub const PARTS_MAX: usize = 2000;
/// A bar begins within so many bytes: its description stands in front of it.
const DESCRIPTION_BYTES_MAX: usize = 512;
/// A word behind a bar has no more bytes.
const WORD_BYTES_MAX: usize = 16;
/// The prefix that all parts share is not longer.
const PREFIX_BYTES_MAX: usize = 512;

static PERCENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("%|"));
static TIMES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" ["));
/// Of `[rank3]:` and of `[Rank 3] `.
static RANK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("ank"));

/// The parts of a line; holds memory that is used again.
#[derive(Debug, Default)]
pub struct Parts {
    prefix: Range<usize>,
    ranges: Vec<Range<usize>>,
    joined: Vec<u8>,
    overwritten: u64,
}

impl Parts {
    /// Takes a line apart: true when it is not one part that is the whole line. The layers say
    /// which parts are looked for.
    pub fn split(&mut self, line: &[u8], layers: Layers) -> bool {
        let is_framed = layers.frames && memchr::memchr(b'\r', line).is_some();
        if !is_framed && !layers.glued {
            return false;
        }
        self.ranges.clear();
        (self.prefix, self.overwritten) = (0..0, 0);
        if is_framed {
            self.prefix = 0..prefix_length(line, layers);
            let mut run = Run { every: layers.frames_every, ..Run::default() };
            let (mut has_progress, mut start) = (false, self.prefix.end);
            while start <= line.len() && self.ranges.len() < PARTS_MAX {
                let end = memchr::memchr(b'\r', &line[start..]).map_or(line.len(), |at| start + at);
                has_progress |= self.frame(line, start..end, &mut run);
                start = end + 1;
            }
            run.end(&mut self.ranges);
            if !has_progress {
                // A return that stands in a text.
                (self.prefix, self.overwritten) = (0..0, 0);
                self.ranges.clear();
            } else if start <= line.len()
                && let Some(last) = self.ranges.last_mut()
            {
                last.end = line.len();
            }
            self.overwritten = run.overwritten * u64::from(has_progress);
        }
        if layers.glued {
            self.split_glued(line);
        }
        !self.ranges.is_empty()
    }

    /// How many there are; each has a number below that.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Frames that are in no part, since a later one wrote over them.
    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }

    /// A part by its number, behind the prefix that all share; `line` is the one that was split. Of
    /// a part with a prefix of its own that one counts.
    pub fn get<'a>(&'a mut self, line: &'a [u8], number: usize) -> &'a [u8] {
        let part = self.ranges.get(number).cloned().unwrap_or_default();
        let (text, shared) = (&line[part.clone()], &line[self.prefix.clone()]);
        let shared = match text.first() {
            _ if own_prefix(text) == 0 => shared,
            // A rank stands behind the worker's name.
            Some(b'[') => &shared[..memchr::memchr(b'[', shared).unwrap_or(shared.len())],
            _ => b"",
        };
        if shared.is_empty() {
            return text;
        }
        if shared.len() == part.start {
            return &line[..part.end];
        }
        self.joined.clear();
        self.joined.extend_from_slice(shared);
        self.joined.extend_from_slice(text);
        &self.joined
    }

    /// Takes out of the beginning of an endless line what later frames wrote over; what stands
    /// behind the last return stays as it is.
    pub fn shorten(&mut self, line: &mut Vec<u8>, layers: Layers) {
        let Some(end) = memchr::memrchr(b'\r', line) else { return };
        let layers = Layers { glued: false, ..layers };
        if !self.split(&line[..end], layers) {
            return;
        }
        self.joined.clear();
        self.joined.extend_from_slice(&line[self.prefix.clone()]);
        let mut before = 0;
        for part in &self.ranges {
            // What stood behind a bar stays there.
            let is_behind =
                before > 0 && memchr::memchr(b'\r', &line[before..part.start]).is_none();
            let start = if is_behind { before } else { part.start };
            self.joined.extend_from_slice(if is_behind { b"" } else { b"\r" });
            self.joined.extend_from_slice(&line[start..part.end]);
            before = part.end;
        }
        self.joined.extend_from_slice(&line[end..]);
        std::mem::swap(line, &mut self.joined);
    }

    /// Takes a frame; true when it shows progress.
    fn frame(&mut self, line: &[u8], frame: Range<usize>, run: &mut Run) -> bool {
        let text = &line[frame.clone()];
        if is_blank(text) {
            return false;
        }
        if let Some(behind) = behind_bar(text) {
            let at = frame.start + behind;
            run.take(line, frame.start..at, true, &mut self.ranges);
            run.end(&mut self.ranges);
            self.ranges.push(skip_blanks(line, at..frame.end));
            return true;
        }
        if begins_as_log(text) && PERCENT.find(text).is_none() {
            run.end(&mut self.ranges);
            self.ranges.push(frame);
            return false;
        }
        let shows = shows_progress(text);
        run.take(line, frame, shows, &mut self.ranges);
        shows
    }

    /// Parts each part again in front of a record that is glued to the one before.
    fn split_glued(&mut self, line: &[u8]) {
        let is_whole = self.ranges.is_empty();
        if is_whole {
            self.ranges.push(0..line.len());
        }
        let mut number = 0;
        while number < self.ranges.len() && self.ranges.len() < PARTS_MAX {
            let part = self.ranges[number].clone();
            // Most lines are one part, where nothing moves; the others have a few.
            if let Some(at) = glued(&line[part.clone()]) {
                self.ranges[number].end = part.start + at;
                self.ranges.insert(number + 1, part.start + at..part.end);
            }
            number += 1;
        }
        if is_whole && self.ranges.len() == 1 {
            self.ranges.clear();
        }
    }
}

/// The frames since the last part.
#[derive(Default)]
struct Run {
    every: u32,
    last: Option<Range<usize>>,
    shows: bool,
    frames: u32,
    overwritten: u64,
}

impl Run {
    /// Takes the next frame.
    fn take(
        &mut self,
        line: &[u8],
        next: Range<usize>,
        shows: bool,
        parts: &mut Vec<Range<usize>>,
    ) {
        if let Some(last) = self.last.clone() {
            let (one, other) = (&line[last.clone()], &line[next.clone()]);
            let is_of_one = one[..own_prefix(one)] == other[..own_prefix(other)];
            let is_over = is_of_one && ((self.shows && shows) || are_alike(one, other));
            let is_kept = self.every > 0 && self.frames.is_multiple_of(self.every);
            if !is_over || is_kept {
                parts.push(last);
            } else {
                self.overwritten += 1;
            }
            self.frames = if is_over { self.frames } else { 0 };
        }
        self.frames = self.frames.saturating_add(1);
        (self.last, self.shows) = (Some(next), shows);
    }

    fn end(&mut self, parts: &mut Vec<Range<usize>>) {
        parts.extend(self.last.take());
        self.frames = 0;
    }
}

/// Length of the prefix that stands in front of the first frame and belongs to all.
fn prefix_length(line: &[u8], layers: Layers) -> usize {
    let head = &line[..line.len().min(PREFIX_BYTES_MAX)];
    let head = &head[..memchr::memchr(b'\r', head).unwrap_or(head.len())];
    // Up to the first byte that is no text, or to the last character that is whole.
    let head = head.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    // Prefixes may be coloured; then they must be all that stands there.
    let plain = ansi::strip(head);
    if prefixes(&plain, layers, &mut Marks::default()).trim().is_empty() {
        return head.len();
    }
    head.len() - prefixes(head, layers, &mut Marks::default()).len()
}

/// Length of the prefix that a frame has of its own: of one of several ranks.
fn own_prefix(frame: &[u8]) -> usize {
    if !matches!(frame.first(), Some(b'[' | b'(')) {
        return 0;
    }
    let head = &frame[..frame.len().min(PREFIX_BYTES_MAX)];
    let head = head.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let marks = &mut Marks::default();
    let behind = prefix::rank(head, marks).or_else(|| prefix::worker(head, marks));
    behind.map_or(0, |behind| head.len() - behind.len())
}

/// Spaces and escape sequences.
fn is_blank(text: &[u8]) -> bool {
    if memchr::memchr(0x1b, text).is_none() {
        return text.trim_ascii().is_empty();
    }
    std::str::from_utf8(text).is_ok_and(|text| ansi::strip(text).trim().is_empty())
}

/// Where a log line begins behind `NN%|███ | n/total [elapsed<left, rate]`.
fn behind_bar(frame: &[u8]) -> Option<usize> {
    let percent = PERCENT.find(&frame[..frame.len().min(DESCRIPTION_BYTES_MAX)])? + 2;
    let times = percent + TIMES.find(&frame[percent..])? + 2;
    let end = times + memchr::memchr(b']', &frame[times..])?;
    memchr::memchr(b'<', &frame[times..end])?;
    // Whatever it is: what tqdm writes ends with the bracket. A word or two that stay in the same
    // place are of the bar: `…it/s] done`.
    let behind = frame[end + 1..].trim_ascii_start();
    let is_word = behind.len() <= WORD_BYTES_MAX && behind.iter().all(u8::is_ascii_lowercase);
    (!is_word && !is_blank(behind)).then_some(end + 1)
}

fn skip_blanks(line: &[u8], part: Range<usize>) -> Range<usize> {
    let text = &line[part.clone()];
    part.start + (text.len() - text.trim_ascii_start().len())..part.end
}

/// A bar, a percentage, or a number of so many.
fn shows_progress(frame: &[u8]) -> bool {
    memchr::memchr2_iter(b'%', b'/', frame).any(|at| {
        let digit = |at: usize| frame.get(at).is_some_and(u8::is_ascii_digit);
        let before = at > 0 && digit(at - 1);
        match frame[at] {
            b'%' => before,
            _ => before && (digit(at + 1) || (frame.get(at + 1) == Some(&b' ') && digit(at + 2))),
        }
    })
}

/// A level, a date, a rank or a traceback: no frame begins so.
fn begins_as_log(frame: &[u8]) -> bool {
    let mut frame = frame.trim_ascii_start();
    while let [0x1b, b'[', rest @ ..] = frame {
        let code = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        let Some(b'm') = rest.get(code) else { break };
        frame = &rest[code + 1..];
    }
    let digit = |at: usize| frame.get(at).is_some_and(u8::is_ascii_digit);
    match frame {
        [b'[', b'r', b'a', b'n', b'k', ..] => true,
        [b'[', b'I' | b'W' | b'E' | b'F', next, ..] => {
            next.is_ascii_digit() || *next == b' ' || next.is_ascii_uppercase()
        }
        [b'[', b'0'..=b'9', ..] => digit(2) && digit(3) && digit(4),
        [b'0'..=b'9', ..] => {
            digit(1) && digit(2) && digit(3) && matches!(frame.get(4), Some(b'-' | b'/'))
        }
        _ => [&b"INFO"[..], b"WARN", b"ERROR", b"DEBUG", b"CRITICAL", b"FATAL", b"Traceback "]
            .iter()
            .any(|word| frame.starts_with(word)),
    }
}

/// True for texts that are the same for the first three quarters.
fn are_alike(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    4 * same >= 3 * one.len().min(other.len())
}

/// Where a record of another rank begins that was written right behind this one's last letter:
/// `[rank3]:` and Megatron's `[Rank 38] (after`.
fn glued(part: &[u8]) -> Option<usize> {
    RANK.find_iter(part).map(|at| at.saturating_sub(2)).find(|at| {
        let is_behind = *at > 0 && part[at - 1].is_ascii_alphanumeric();
        is_behind && begins_as_rank(&part[*at..])
    })
}

fn begins_as_rank(text: &[u8]) -> bool {
    let text = &text[..text.len().min(32)];
    let end = text.iter().position(|byte| *byte == b']').map_or(text.len(), |end| end + 1);
    let (name, behind) = text.split_at(end);
    if let [b'[', b'R', b'a', b'n', b'k', b' ', digits @ .., b']'] = name {
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        return is_number && behind.starts_with(b" (after ");
    }
    let head = std::str::from_utf8(&text[..text.len().min(end + 1)]);
    head.is_ok_and(|head| prefix::rank(head, &mut Marks::default()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BAR: &str = "Epoch 0:   6%|▋         | 320/5001 [6:28:43<94:39:17,  1.37it/s, loss=2.6]";

    fn parts(line: &[u8], layers: Layers) -> Vec<Vec<u8>> {
        let mut parts = Parts::default();
        if !parts.split(line, layers) {
            return vec![line.to_vec()];
        }
        (0..parts.count()).map(|number| parts.get(line, number).to_vec()).collect()
    }

    #[track_caller]
    fn check(line: &str, expect: &[&str]) {
        let found = parts(line.as_bytes(), Layers::ALL);
        let found: Vec<_> = found.iter().map(|part| String::from_utf8_lossy(part)).collect();
        assert_eq!(found, expect, "{line:?}");
    }

    #[test]
    fn frames_that_were_written_over() {
        check("plain", &["plain"]);
        check(
            "\rTrain:   0%|   | 0/3 [00:00<?, ?it/s]\rTrain:  33%|█  | 1/3 [00:01<00:02,  1.0s/it]",
            &["Train:  33%|█  | 1/3 [00:01<00:02,  1.0s/it]"],
        );
        check("50%\r\r  \r\u{1b}[2K", &["50%"]);
        check("Loading |\rLoading /\rLoading 1/2", &["Loading 1/2"]);
        check("  1/10 [>...] - ETA: 3s\r 10/10 [====] - 2s", &[" 10/10 [====] - 2s"]);
    }

    #[test]
    fn returns_in_a_text() {
        for line in ["\r", "a\rb", "a\r", "line one\rline two", "\r\r"] {
            check(line, &[line]);
        }
    }

    #[test]
    fn a_line_behind_a_bar_is_a_part() {
        check(&format!("\r{BAR}[E a.cpp:458] x"), &[BAR, "[E a.cpp:458] x"]);
        check(&format!("\r{BAR} INFO next"), &[BAR, "INFO next"]);
        check(&format!("\r{BAR}\r{BAR}INFO x\r{BAR}\r{BAR}"), &[BAR, "INFO x", BAR]);
        check(&format!("INFO start\r{BAR}"), &["INFO start", BAR]);
        check(&format!("\r{BAR} done\u{1b}[A"), &[BAR, "done\u{1b}[A"]);
        check(&format!("\r{BAR} done"), &[&format!("{BAR} done")]);
        check(&format!("\r{BAR}\u{1b}[A\r{BAR}"), &[BAR]);
        for behind in ["{'loss': 2.1}", "警告 x", "rank 3 failed", "loss: 2.5"] {
            check(&format!("\r{BAR}{behind}\r{BAR}"), &[BAR, behind, BAR]);
        }
        for log in [
            "ERROR rank 3/8 failed",
            "2026/08/02 10:30:23 worker 1/4 died",
            "[rank3]: 50% down",
            "\u{1b}[31mERROR boom 3/4",
        ] {
            check(&format!("\r{BAR}\r{log}\r{BAR}"), &[BAR, log, BAR]);
        }
        check(&format!("\r{BAR}\r{BAR}\rdone"), &[BAR, "done"]);
        check(
            &format!("(W pid=4) \r{BAR}2026-08-02 10:30:23,802 - INFO - x"),
            &[&format!("(W pid=4) {BAR}"), "(W pid=4) 2026-08-02 10:30:23,802 - INFO - x"],
        );
        check(&format!("[default3]:{BAR}\r{BAR}"), &[&format!("[default3]:{BAR}")]);
        let ray = "\u{1b}[36m(main pid=4)\u{1b}[0m ";
        check(&format!("{ray}\r{BAR}\r{BAR}"), &[&format!("{ray}{BAR}")]);
    }

    #[test]
    fn prefixes_of_frames() {
        let wide = format!("Trainx: 10%|{}| 1/9 [0<1]", "█".repeat(200));
        for blanks in ["", " ", "  "] {
            let line = format!("[rank3]: {blanks}{wide}\r{wide}");
            check(&line, &[&format!("[rank3]: {wide}")]);
        }
        let worker = format!("(W pid=1) [rank3]: \r{BAR}[rank4]: x");
        check(&worker, &[&format!("(W pid=1) [rank3]: {BAR}"), "(W pid=1) [rank4]: x"]);
        let two = format!("[rank3]: {BAR}\r[rank4]: {BAR}\r[rank4]: {BAR}");
        check(&two, &[&format!("[rank3]: {BAR}"), &format!("[rank4]: {BAR}")]);
        let found = parts(b"[rank3]: \xff10%\r20%", Layers::ALL);
        assert_eq!(found, [b"[rank3]: 20%".to_vec()]);
    }

    #[test]
    fn records_on_one_line() {
        let (one, two) = ("[Rank 39] (after 1 iterations) x: 18304.0", "[Rank 38] (after 1) y");
        check(&format!("{one}{two}"), &[one, two]);
        check(
            "[rank1]: KeyError: x[rank0]: Traceback",
            &["[rank1]: KeyError: x", "[rank0]: Traceback"],
        );
        for line in ["[rank0]:[rank0]: x", "x[rank] y", "a [rank3]: b", "x[Rank 3] y", "x[rank"] {
            check(line, &[line]);
        }
    }

    #[test]
    fn one_frame_in_so_many() {
        let frame = |number: usize| format!("{number}%|#| {number}/100 [0<0, 1it/s]");
        let frames: Vec<String> = (1..=10).map(|number| format!("\r{}", frame(number))).collect();
        let line = frames.concat();
        let layers = Layers { frames_every: 4, ..Layers::SURE };
        let mut split = Parts::default();
        assert!(split.split(line.as_bytes(), layers));
        assert_eq!((split.count(), split.overwritten()), (3, 7));
        for (part, number) in [4, 8, 10].into_iter().enumerate() {
            assert_eq!(split.get(line.as_bytes(), part), frame(number).as_bytes());
        }
    }

    #[test]
    fn the_number_of_parts_is_bounded() {
        let line = format!("\r{BAR}INFO x").repeat(2 * PARTS_MAX);
        let found = parts(line.as_bytes(), Layers::ALL);
        assert!(found.len() <= PARTS_MAX + 1, "{}", found.len());
        assert!(line.as_bytes().ends_with(&found[found.len() - 1]));
        let glued = "x[rank1]: y".repeat(2 * PARTS_MAX);
        assert_eq!(parts(glued.as_bytes(), Layers::ALL).len(), PARTS_MAX);
    }

    proptest! {
        #[test]
        fn parts_stand_in_the_line_in_their_order(
            line in proptest::collection::vec(
                proptest::sample::select(vec![
                    "\r", BAR, "[rank3]: x", "(W pid=1) ", "INFO y", "50%", " ", "显", "\u{1b}[A",
                    "1/2", "[Rank 3] (after ", "z",
                ]),
                0..24,
            ).prop_map(|words| words.concat()),
            every in 0..4_u32,
        ) {
            let layers = Layers { frames_every: every, ..Layers::ALL };
            let mut split = Parts::default();
            if !split.split(line.as_bytes(), layers) {
                return Ok(());
            }
            let mut from = 0;
            for part in split.ranges.clone() {
                prop_assert!(from <= part.start && part.start <= part.end, "{line:?}");
                from = part.end;
            }
            // The last thing that shows anything is never lost.
            let last = line[split.prefix.end..].rsplit('\r').find(|it| !is_blank(it.as_bytes()));
            let last = last.unwrap_or_default().trim_end();
            let part = line[split.ranges[split.count() - 1].clone()].trim_end();
            prop_assert!(last.ends_with(part) || part.ends_with(last), "{part:?} of {line:?}");
        }

        #[test]
        fn any_bytes_are_taken_apart(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _parts = parts(&line, Layers::ALL);
        }
    }
}
