//! The metrics of one line, written as they stand in its document.
//!
//! Invariant: what is written is JSON: floats, which have a fraction or an exponent, or `null` for
//! what is not finite; it is bounded by [`METRICS_MAX`]. Nothing is allocated in steady state. Next
//! stop: `encode`, and `view` for rules that read them.
use riverhog_parsers::fields::{FIELDS_MAX, FieldKind, FieldValue, name_hash};
use riverhog_parsers::number::{duration, is_count, is_name, push_name};

use super::METRICS_MAX;
use super::lookup::{Meaning, MetricNames};
use super::text::{self, Read};
use super::written::{scaled, write_number, write_value};
use crate::json::write_string;
use crate::value::Value;

/// A number of a metric that has none.
const OWN: u16 = u16::MAX;

/// A metric that rules read.
#[derive(Clone, Debug)]
pub(crate) struct WantedMetric {
    name: String,
    known: u16,
}

impl WantedMetric {
    pub(crate) fn new(names: &MetricNames, name: &str) -> WantedMetric {
        WantedMetric { name: name.to_owned(), known: names.number(name).unwrap_or(OWN) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

#[derive(Clone, Copy, Debug)]
struct Item {
    known: u16,
    /// Places in `json`: the name without its quotes, the value.
    name: (u32, u32),
    value: (u32, u32),
}

/// The metrics of one line.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// `"loss":2.104,"step":100.0`
    json: Vec<u8>,
    items: Vec<Item>,
    /// So many of them the event had before: they are not this line's.
    kept: usize,
    /// A bit for each known metric that is there.
    known: [u64; 4],
    /// A bit for each field that became one.
    taken: [u64; FIELDS_MAX / 64],
    taken_count: usize,
    not_finite: bool,
    wanted: Vec<WantedMetric>,
    /// Buffers for names that are put together.
    pool: Vec<String>,
}

impl Found {
    /// For rules that read these.
    pub(crate) fn new(wanted: Vec<WantedMetric>) -> Found {
        Found { wanted, ..Found::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.json.clear();
        self.items.clear();
        self.kept = 0;
        self.known = [0; 4];
        self.taken = [0; FIELDS_MAX / 64];
        self.taken_count = 0;
        self.not_finite = false;
    }

    /// Begins with the names of metrics that the event has already: a second one of such a name
    /// stays a field. Only [`Found::iter`] shows what is taken then.
    pub(crate) fn keep<'n>(&mut self, names: &MetricNames, before: impl Iterator<Item = &'n str>) {
        for name in before {
            let known = names.number(name).unwrap_or(OWN);
            if known != OWN {
                self.known[usize::from(known / 64) & 3] |= 1 << (known % 64);
            }
            self.begin(known);
            let at = self.json.len() as u32;
            self.json.extend_from_slice(name.as_bytes());
            self.end((at, at + name.len() as u32), |_| true);
        }
        self.kept = self.items.len();
    }

    /// Takes a field, if it is a metric. `index` counts the line's fields.
    pub(crate) fn take(
        &mut self,
        names: &MetricNames,
        index: usize,
        (name, hash): (&str, u32),
        value: (&str, FieldKind),
    ) {
        if self.items.len() >= METRICS_MAX || index >= FIELDS_MAX || !may_be(value) {
            return;
        }
        let is_taken = match names.meaning(name, hash) {
            Meaning::Nothing => self.take_otherwise(names, name, value),
            Meaning::Own if is_name(name) => self.take_own(name, value),
            Meaning::Own => self.take_otherwise(names, name, value),
            Meaning::Known { metric, factor } => {
                self.take_known(names, name, (metric, factor), value)
            }
        };
        if is_taken {
            self.taken[index / 64] |= 1 << (index % 64);
            self.taken_count += 1;
        }
    }

    fn take_known(
        &mut self,
        names: &MetricNames,
        name: &str,
        (metric, factor): (u16, f64),
        (text, kind): (&str, FieldKind),
    ) -> bool {
        if kind != FieldKind::Text {
            return self.add_known(names, metric, |out| write_number(out, text, factor));
        }
        match text::read(text) {
            Some(Read::Number(value)) => {
                self.add_known(names, metric, |out| write_value(out, scaled(value, factor)))
            }
            Some(Read::Unit(value, unit)) => {
                self.take_with_unit(names, (name, unit), value)
                    || (has_unit(name, unit)
                        && self.add_known(names, metric, |out| {
                            write_value(out, scaled(value, factor))
                        }))
                    || self.take_duration(names, metric, text)
            }
            Some(Read::Share(value, total)) => self.take_share(names, name, (value, total)),
            None => self.take_duration(names, metric, text),
        }
    }

    /// `61.75GiB`: the unit belongs to the name.
    fn take_with_unit(
        &mut self,
        names: &MetricNames,
        (name, unit): (&str, &str),
        value: f64,
    ) -> bool {
        let whole = self.named(name, unit);
        let meaning = names.meaning(&whole, name_hash(&whole));
        self.pool.push(whole);
        let Meaning::Known { metric, factor } = meaning else { return false };
        self.add_known(names, metric, |out| write_value(out, scaled(value, factor)))
    }

    fn take_duration(&mut self, names: &MetricNames, metric: u16, text: &str) -> bool {
        let is_duration = names.known(metric).is_some_and(|known| known.is_duration);
        let text = text.trim_matches(['\'', '"']);
        match duration(text).filter(|_| is_duration) {
            Some(seconds) => self.add_known(names, metric, |out| write_value(out, seconds)),
            None => false,
        }
    }

    /// `100/1000` of a name, of `step/max_steps` or of `step`, whose total is `step_total`.
    fn take_share(&mut self, names: &MetricNames, name: &str, (value, total): (f64, f64)) -> bool {
        // Elsewhere a slash parts the steps of a path: `train/loss`.
        let counts = name.split_once('/').filter(|it| is_count(it.0) && is_count(it.1));
        let (first, second) = counts.unwrap_or((name, ""));
        let number = |found: &mut Found, name: &str, unit: &str| {
            let whole = found.named(name, unit);
            let meaning = names.meaning(&whole, name_hash(&whole));
            found.pool.push(whole);
            match meaning {
                Meaning::Known { metric, factor } if !found.has(metric) => Some((metric, factor)),
                _ => None,
            }
        };
        let (name, unit) = if second.is_empty() { (first, "total") } else { (second, "") };
        let (Some(first), Some(second)) = (number(self, first, ""), number(self, name, unit))
        else {
            return false;
        };
        // Both or neither: half of a share would be lost.
        if first.0 == second.0 || self.items.len() + 2 > METRICS_MAX {
            return false;
        }
        self.add_known(names, first.0, |out| write_value(out, scaled(value, first.1)));
        self.add_known(names, second.0, |out| write_value(out, scaled(total, second.1)));
        true
    }

    /// A name that the table does not have as it is printed: `memory(GiB)`, `train/loss`, or one of
    /// nested JSON, whose last step may be enough.
    fn take_otherwise(
        &mut self,
        names: &MetricNames,
        printed: &str,
        value: (&str, FieldKind),
    ) -> bool {
        if printed.len() > 2 * super::lookup::NAME_BYTES_MAX {
            return false;
        }
        if is_name(printed) {
            // A share or a unit says what a name alone does not.
            let read = if value.1 == FieldKind::Text { text::read(value.0) } else { None };
            let Some(Read::Unit(number, unit)) = read else { return false };
            return self.take_with_unit(names, (printed, unit), number);
        }
        if printed.contains('/')
            && value.1 == FieldKind::Text
            && let Some(Read::Share(one, total)) = text::read(value.0)
        {
            return self.take_share(names, printed, (one, total));
        }
        let whole = self.named(printed, "");
        let is_taken = match names.meaning(&whole, name_hash(&whole)) {
            Meaning::Nothing => self.take_last_step(names, printed, value),
            Meaning::Own => {
                (is_wrapped(printed) && self.take_last_step(names, printed, value))
                    || self.take_own(&whole, value)
                    || self.take_last_step(names, printed, value)
            }
            Meaning::Known { metric, factor } => {
                self.take_known(names, &whole, (metric, factor), value)
                    || self.take_last_step(names, printed, value)
            }
        };
        self.pool.push(whole);
        is_taken
    }

    /// `lr` of `metrics.lr`, if the table has it.
    fn take_last_step(
        &mut self,
        names: &MetricNames,
        printed: &str,
        value: (&str, FieldKind),
    ) -> bool {
        let Some((_, last)) = printed.rsplit_once('.') else { return false };
        let last = self.named(last, "");
        let is_taken = match names.meaning(&last, name_hash(&last)) {
            Meaning::Known { metric, factor } => {
                self.take_known(names, &last, (metric, factor), value)
            }
            Meaning::Own | Meaning::Nothing => false,
        };
        self.pool.push(last);
        is_taken
    }

    fn take_own(&mut self, name: &str, (text, kind): (&str, FieldKind)) -> bool {
        let same = |item: &&Item| item.known == OWN && self.show(item.name) == name.as_bytes();
        if self.items.iter().any(|item| same(&item)) {
            return false;
        }
        let value = match (kind, text::read(text)) {
            (FieldKind::Text, Some(Read::Number(value))) => Some(value),
            (FieldKind::Text, _) => return false,
            _ => None,
        };
        self.begin(OWN);
        let at = self.json.len() as u32 + 1;
        write_string(&mut self.json, name);
        self.json.push(b':');
        self.end((at, at + name.len() as u32), |out| match value {
            Some(value) => write_value(out, value),
            None => write_number(out, text, 1.0),
        });
        true
    }

    fn add_known(
        &mut self,
        names: &MetricNames,
        metric: u16,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let Some(known) = names.known(metric).filter(|_| !self.has(metric)) else { return false };
        if self.items.len() >= METRICS_MAX {
            return false;
        }
        self.known[usize::from(metric / 64) & 3] |= 1 << (metric % 64);
        self.begin(metric);
        let at = self.json.len() as u32 + 1;
        self.json.extend_from_slice(&known.key);
        self.end((at, at + known.name.len() as u32), write);
        true
    }

    fn has(&self, metric: u16) -> bool {
        self.known[usize::from(metric / 64) & 3] & 1 << (metric % 64) != 0
    }

    fn begin(&mut self, known: u16) {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
        self.items.push(Item { known, name: (0, 0), value: (0, 0) });
    }

    /// Writes the value; `write` answers whether it is finite.
    fn end(&mut self, name: (u32, u32), write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let start = self.json.len() as u32;
        self.not_finite |= !write(&mut self.json);
        let value = (start, self.json.len() as u32);
        if let Some(item) = self.items.last_mut() {
            (item.name, item.value) = (name, value);
        }
    }

    /// The name of a printed key, in a buffer that goes back to the pool.
    fn named(&mut self, printed: &str, unit: &str) -> String {
        let mut name = self.pool.pop().unwrap_or_default();
        name.clear();
        push_name(&mut name, printed, unit);
        name
    }

    fn show(&self, (start, end): (u32, u32)) -> &[u8] {
        self.json.get(start as usize..end as usize).unwrap_or_default()
    }

    fn text(&self, place: (u32, u32)) -> &str {
        std::str::from_utf8(self.show(place)).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.len() == self.kept
    }

    /// Some metric is not finite.
    pub(crate) fn not_finite(&self) -> bool {
        self.not_finite
    }

    /// True for a field that became a metric, by its index.
    pub(crate) fn has_taken(&self, index: usize) -> bool {
        self.taken.get(index / 64).is_some_and(|bits| bits & 1 << (index % 64) != 0)
    }

    /// How many fields became metrics.
    pub(crate) fn taken_count(&self) -> usize {
        self.taken_count
    }

    /// The members of the document's `metrics`.
    pub(crate) fn json(&self) -> &[u8] {
        &self.json
    }

    /// Name and value of each; the value as JSON writes it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items.iter().skip(self.kept).map(|item| (self.text(item.name), self.text(item.value)))
    }

    /// The value of a metric that rules read, by its id.
    pub(crate) fn value(&self, id: u16) -> Option<Value<'_>> {
        let wanted = self.wanted.get(usize::from(id))?;
        let is_wanted = |item: &&Item| match wanted.known {
            OWN => item.known == OWN && self.show(item.name) == wanted.name.as_bytes(),
            known => item.known == known,
        };
        let item = self.items.iter().find(is_wanted)?;
        Some(value_of_json(self.text(item.value)))
    }
}

/// A metric's value as rules see it: `null` is no number.
pub(crate) fn value_of_json<'a>(json: &str) -> Value<'a> {
    Value::Float(json.parse().unwrap_or(f64::NAN))
}

/// A look at the first byte: most texts are no numbers.
fn may_be((text, kind): (&str, FieldKind)) -> bool {
    match kind {
        FieldKind::Int | FieldKind::Float | FieldKind::Number => true,
        FieldKind::Text => text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit() || b"+-.nNiI'\"[ ".contains(&byte)),
        FieldKind::Bool | FieldKind::Null | FieldKind::Json => false,
    }
}

/// True for a path of nested JSON whose steps but the last say nothing of their own: `metrics.lr`.
/// Of others the whole path is the name: `aux.loss` is not the loss.
fn is_wrapped(printed: &str) -> bool {
    const WRAPPERS: [&str; 16] = [
        "metrics", "metric", "stats", "scalars", "values", "data", "log", "logs", "train",
        "training", "trainer", "progress", "extra", "fields", "message", "payload",
    ];
    let mut steps = printed.split('.');
    let _last = steps.next_back();
    steps.all(|step| WRAPPERS.iter().any(|word| step.eq_ignore_ascii_case(word)))
}

/// `memory.used [MiB]` of `62464 MiB`: the name says the unit already.
fn has_unit(name: &str, unit: &str) -> bool {
    let (name, unit) = (name.as_bytes(), unit.as_bytes());
    let Some(at) = name.len().checked_sub(unit.len() + 1) else { return false };
    name[at] == b'_' && name[at + 1..].eq_ignore_ascii_case(unit)
}

/// A capture's text and kind as a field's.
pub(crate) fn of_capture<'a>(value: FieldValue<'_>, text: &'a str) -> Option<(&'a str, FieldKind)> {
    Some(match value {
        // What follows a number may have been cut off: the text is read again.
        FieldValue::Int(_) | FieldValue::Float(_) | FieldValue::Text(_) => (text, FieldKind::Text),
        _ => return None,
    })
}
