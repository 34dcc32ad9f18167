//! A page of metrics in Prometheus' text form, read for tests.
//!
//! The invariant: a series that is not there counts as 0, as it does in a sum of Prometheus'.

/// One scrape.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Metrics {
    /// Reads a page; lines that are no series are passed over.
    pub fn parse(page: &str) -> Self {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        Self { series: lines.filter_map(parse_series).collect() }
    }

    /// The sum over the series of this name that carry all these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let carries = |series: &&Series| {
            labels.iter().all(|(key, value)| {
                series.labels.iter().any(|(name, found)| name == key && found == value)
            })
        };
        let named = self.series.iter().filter(|series| series.name == name);
        named.filter(carries).map(|series| series.value).sum()
    }

    /// Is there a series of this name?
    pub fn has(&self, name: &str) -> bool {
        self.series.iter().any(|series| series.name == name)
    }
}

fn parse_series(line: &str) -> Option<Series> {
    // Without labels the name ends at the first space; with some, at the last brace.
    let end = line.rfind('}').or_else(|| line.find(' '))?;
    let (head, rest) = line.split_at(end);
    let value = rest.trim_start_matches('}').split_whitespace().next()?;
    let (name, labels) = head.split_once('{').unwrap_or((head, ""));
    Some(Series {
        name: name.to_owned(),
        labels: parse_labels(labels)?,
        value: value.parse().ok()?,
    })
}

fn parse_labels(mut text: &str) -> Option<Vec<(String, String)>> {
    let mut labels = Vec::new();
    loop {
        text = text.trim_start_matches([',', ' ']);
        if text.is_empty() {
            return Some(labels);
        }
        let (key, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = rest.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        labels.push((key.to_owned(), value));
        text = &rest[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP riverhog_lines_total Lines.
# TYPE riverhog_lines_total counter
riverhog_lines_total{sink="search",outcome="done"} 40
riverhog_lines_total{sink="search",outcome="refused"} 2 1773281025000
riverhog_lines_total{sink="archive",outcome="done"} 1.5e3
riverhog_odd{text="a \"quoted\" } and, \\ n=\n"} 7
riverhog_up 1
"#;

    fn check(name: &str, labels: &[(&str, &str)], expect: f64) {
        let found = Metrics::parse(PAGE).sum(name, labels);
        assert!((found - expect).abs() < f64::EPSILON, "{name} {labels:?}: {found}");
    }

    #[test]
    fn sums_what_carries_the_labels() {
        check("riverhog_lines_total", &[], 1542.0);
        check("riverhog_lines_total", &[("sink", "search")], 42.0);
        check("riverhog_lines_total", &[("outcome", "done"), ("sink", "search")], 40.0);
        check("riverhog_lines_total", &[("sink", "none")], 0.0);
        check("riverhog_up", &[], 1.0);
    }

    #[test]
    fn reads_escapes() {
        check("riverhog_odd", &[("text", "a \"quoted\" } and, \\ n=\n")], 7.0);
        assert!(Metrics::parse(PAGE).has("riverhog_odd"));
        assert!(!Metrics::parse(PAGE).has("riverhog_none"));
    }
}
