//! Fifty formats, each with its line: what telling them apart costs beside the right one alone, for
//! the patterns by themselves and for lines on their way to documents.
//!
//! The invariant: as in `engines.rs`, what is compared runs in turns. Next stop: `report.rs`.

use anyhow::Result;
use riverhog_parsers::grok::{Dispatch, Grok, Outcome};
use riverhog_rules::event::EventBuffer;
use riverhog_rules::plan::{LineParser, ParseRule, Plan};
use riverhog_rules::transform::{Line, ReceivedSource, Record, Transformer};
use std::hint::black_box;
use std::sync::Arc;

use crate::engines::{Args, Spread, compile, each};
use crate::load::START_MS;
use crate::report;

pub(crate) fn run(args: &Args) -> Result<()> {
    for anchor in ["^", ""] {
        let kind = if anchor.is_empty() { "without" } else { "with" };
        let (groks, lines) = fifty(anchor)?;
        report::print(&format!("\n50 formats {kind} an anchor, ns a line:"))?;
        report::print(&format!("patterns: {}", patterns(args, &groks, &lines)))?;
        report::print(&format!("to documents: {}", documents(args, &groks, &lines)))?;
    }
    Ok(())
}

/// The patterns, and a line of each.
fn fifty(anchor: &str) -> Result<(Vec<Grok>, Vec<String>)> {
    let (mut groks, mut lines) = (Vec::new(), Vec::new());
    for word in ["Trainer", "Loader", "Saver", "NCCL", "Eval"] {
        for (pattern, line) in SHAPES {
            groks.push(compile(&format!("{anchor}{}", pattern.replace("WHO", word)))?);
            lines.push(line.replace("WHO", word));
        }
    }
    Ok((groks, lines))
}

/// The right pattern alone, those that are left of fifty, and all fifty in order.
fn patterns(args: &Args, groks: &[Grok], lines: &[String]) -> String {
    let dispatch = Dispatch::new(groks);
    let mut scratches: Vec<_> = groks.iter().map(Grok::scratch).collect();
    let mut captures = Vec::new();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let turns = args.lines / lines.len() as u32;
    for _ in 0..args.rounds {
        let mut matches = |index: usize, line: &str| {
            groks[index].run(line, &mut scratches[index], &mut captures) == Outcome::Matched
        };
        times[0].push(each(turns, || {
            for (index, line) in lines.iter().enumerate() {
                black_box(matches(index, black_box(line)));
            }
        }));
        times[1].push(each(turns, || {
            for line in lines {
                let mut left = dispatch.select(black_box(line));
                black_box(left.find(|index| matches(*index, line)));
            }
        }));
        times[2].push(each(turns, || {
            for line in lines {
                black_box((0..groks.len()).find(|index| matches(*index, black_box(line))));
            }
        }));
    }
    let [alone, chosen, all] = times.map(|times| spread(times, lines.len()));
    let (ratio, in_order) = (chosen.median / alone.median, all.median / alone.median);
    format!(
        "the right one alone {alone}; chosen {chosen}, ratio {ratio:.2}; all in order {all}, ratio \
         {in_order:.2}"
    )
}

/// From line to document, with the right rule alone and with all fifty. The plan has nothing else
/// that costs time but redaction: no time, label, host or route.
fn documents(args: &Args, groks: &[Grok], lines: &[String]) -> String {
    let transformer = |groks: &[Grok]| {
        let rule = |grok: &Grok| ParseRule {
            name: String::new(),
            when: None,
            field: None,
            parser: LineParser::Grok(grok.clone()),
            time: None,
            numbers: false,
        };
        let parse = groks.iter().map(rule).collect();
        let mut transformer = Transformer::new(Arc::new(Plan { parse, ..Plan::default() }));
        transformer.begin_record(&RECORD);
        transformer
    };
    let mut alone: Vec<Transformer> = groks.chunks(1).map(transformer).collect();
    let mut all = transformer(groks);
    let mut out = EventBuffer::new();
    let mut times = [Vec::new(), Vec::new()];
    let turns = args.lines / lines.len() as u32;
    for _ in 0..args.rounds {
        let mut run = |transformer: &mut Transformer, line: &str| {
            let line = Line { raw: line.as_bytes(), index: 0, cut: false, returns: false };
            transformer.line(&RECORD, &line, &mut out);
            if out.events.len() >= EVENTS_MAX {
                out.clear();
            }
        };
        times[0].push(each(turns, || {
            for (transformer, line) in alone.iter_mut().zip(lines) {
                run(transformer, black_box(line));
            }
        }));
        times[1].push(each(turns, || {
            for line in lines {
                run(&mut all, black_box(line));
            }
        }));
    }
    let [alone, all] = times.map(|times| spread(times, lines.len()));
    format!("the right one alone {alone}; of fifty {all}, ratio {:.2}", all.median / alone.median)
}

/// Events after which the buffer is emptied, as it is after a batch.
const EVENTS_MAX: usize = 5_000;

const RECORD: Record<'_> = Record {
    topic: "bench",
    partition: 0,
    offset: 18_422,
    key: None,
    headers: &[],
    received_ns: START_MS * 1_000_000,
    received_source: ReceivedSource::CreateTime,
    envelope: None,
    lineage: "5f2a9c01",
    time_ms: START_MS,
};

/// Of one line, where a turn is so many.
fn spread(mut times: Vec<f64>, lines: usize) -> Spread {
    for time in &mut times {
        *time /= lines as f64;
    }
    Spread::of(&mut times)
}

/// A pattern and a line of it.
const SHAPES: [(&str, &str); 10] = [
    (
        "%{TIMESTAMP_ISO8601:t} %{LOGLEVEL:l} WHO: %{GREEDYDATA:m}",
        "2026-03-12 10:23:45,123 INFO WHO: step 12 of 5000 with loss 2.15 and lr 1e-5",
    ),
    (
        r"\[%{TIMESTAMP_ISO8601:t}\] \[%{LOGLEVEL:l}\] \[WHO\] %{GREEDYDATA:m}",
        "[2026-03-12 10:23:45,123] [INFO] [WHO] step 12 of 5000 with loss 2.15 and lr 1e-5",
    ),
    ("%{LOGLEVEL:l}:WHO:%{GREEDYDATA:m}", "INFO:WHO:step 12 of 5000 with loss 2.15 and lr 1e-5"),
    (r"\[rank%{INT:r}\]: WHO %{GREEDYDATA:m}", "[rank12]: WHO step 12 of 5000 with loss 2.15"),
    (
        r"%{SYSLOGTIMESTAMP:t} %{HOSTNAME:h} WHO\[%{INT:p}\]: %{GREEDYDATA:m}",
        "Mar  7 04:02:11 node-12 WHO[123]: step 12 of 5000 with loss 2.15 and lr 1e-5",
    ),
    (r"\{'WHO': %{NUMBER:loss}, 'lr': %{NOTSPACE:lr}", "{'WHO': 2.15, 'lr': 1e-5, 'step': 12}"),
    ("WHO step=%{INT:s} loss=%{NUMBER:l} %{GREEDYDATA:m}", "WHO step=12 loss=2.15 lr=1e-5 x=1"),
    (r"\(WHO pid=%{INT:p}\) %{GREEDYDATA:m}", "(WHO pid=1234) step 12 of 5000 with loss 2.15"),
    (
        r"I%{INT:d} %{TIME:t} +%{INT:p} WHO.py:%{INT:n}\] %{GREEDYDATA:m}",
        "I0312 10:23:45.123456  1234 WHO.py:120] step 12 of 5000 with loss 2.15 and lr 1e-5",
    ),
    ("<%{INT:pri}>WHO %{NOTSPACE:h} %{GREEDYDATA:m}", "<13>WHO node-12 step 12 of 5000 loss 2.15"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A ratio to a pattern that does not take its line would say nothing.
    #[test]
    fn each_line_is_of_its_format_and_no_earlier_one() {
        for anchor in ["^", ""] {
            let (groks, lines) = fifty(anchor).unwrap();
            for (index, line) in lines.iter().enumerate() {
                let first = groks.iter().position(|grok| {
                    grok.run(line, &mut grok.scratch(), &mut Vec::new()) == Outcome::Matched
                });
                assert_eq!(first, Some(index), "{line}");
            }
        }
    }
}
