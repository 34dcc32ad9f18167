//! Numbers of training logs: which printed names are metrics, how each is called, and in what unit.
//!
//! A metric has one name whoever prints it: `lm loss`, `train_loss` and `reduced_train_loss` are
//! `loss`, and a name that ends in a unit (`step_seconds`, `memory_gib`) says in which. Invariant:
//! a number is a metric or one of the event's `fields`, never both; of two numbers of one name the
//! first is the metric and the second stays a field, so that none is lost. The stops: `table` (the
//! names), `lookup` (a field's name to a metric), `text` (numbers in texts), `found` (a line's),
//! `written` (as JSON).
mod found;
mod lookup;
mod table;
mod text;
mod written;

use std::fmt::Write as _;

pub(crate) use found::{Found, WantedMetric, of_capture, value_of_json};
pub use lookup::{MetricNames, NameSlip};
pub(crate) use text::{Read, read as read_text};

/// A line has no more metrics; further ones stay fields.
pub const METRICS_MAX: usize = 64;

/// The tag of an event of which a metric is `nan` or infinite.
pub const NOT_FINITE_TAG: &str = "_not_finite";

/// The metrics as the guide shows them: a table with a row for each.
pub fn table_of_metrics() -> String {
    let mut page = "| metric | meaning | printed as |\n|---|---|---|\n".to_owned();
    for metric in table::METRICS {
        let exact = metric.exact.iter().map(|(name, _)| *name);
        let names: Vec<String> =
            metric.printed.iter().copied().chain(exact).map(|name| format!("`{name}`")).collect();
        writeln!(page, "| `{}` | {} | {} |", metric.name, metric.meaning, names.join(", "))
            .expect("writing to a String cannot fail");
    }
    page
}

/// True for what can be the name of a metric: small letters of any script, digits, underscores.
pub fn is_metric_name(name: &str) -> bool {
    let mut written = String::new();
    riverhog_parsers::number::push_name(&mut written, name, "");
    !name.is_empty() && name.len() <= lookup::NAME_BYTES_MAX && written == name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const START: &str = "<!-- metrics: written by the tests -->\n";
    const END: &str = "<!-- end of metrics -->\n";

    /// Between its two marks the guide's page has the table. `UPDATE=1` writes it.
    #[test]
    fn the_page_shows_each_metric() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/numbers.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (front, rest) = page.split_once(START).unwrap();
        let (found, back) = rest.split_once(END).unwrap();
        let expect = format!("\n{}\n", table_of_metrics());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, format!("{front}{START}{expect}{END}{back}")).unwrap();
            return;
        }
        assert!(found == expect, "the page is stale: UPDATE=1 writes it anew");
    }

    #[test]
    fn names_of_metrics() {
        for name in ["loss", "a_1", "损失", "x"] {
            assert!(is_metric_name(name), "{name}");
        }
        for name in ["", "Loss", "a b", "a__b", "_a", "a.b", &"a".repeat(65)] {
            assert!(!is_metric_name(name), "{name}");
        }
    }
}
