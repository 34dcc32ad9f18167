//! The log on standard error: text on a terminal, one JSON object a line otherwise. One layer of
//! ours on `tracing` writes both, because each line has to pass [`super::repeats`] and
//! [`super::escape`], colours must stay ours and not the data's, and a line must go out in one
//! piece.
//!
//! Invariant: nothing a job or a store wrote reaches a terminal raw, and no line of the log can be
//! taken for two. What belongs to a message stands in the message's own fields: spans are not
//! shown. Next stop: [`line`] makes a line; a log that cannot be written is given up.

mod line;

use std::fmt::{self, Debug, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use line::{Fields, Style};
use tokio::time::Instant;
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::{EnvFilter, Registry};

use super::repeats::{Admission, Key, Repeated, Repeats};
use crate::clock;

/// The environment variable with a filter, such as `debug` or `riverhog::sink=trace`.
pub const FILTER_VARIABLE: &str = "RIVERHOG_LOG";

/// What holds unless the variable says otherwise. The libraries tell of each connection and
/// request at `info` and below; `debug` in the variable means ours, `hyper=debug` means theirs.
const FILTER_DEFAULT: &str = "info,aws=warn,h2=warn,hyper=warn,librdkafka=warn,opentelemetry=warn,\
                              rdkafka=warn,rustls=warn,tower=warn";

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// `2026-03-12T02:23:45.123Z  WARN message key=value`
    Text,
    /// `{"time":…,"level":…,"target":…,"message":…,"key":…}`
    Json,
}

/// Whether text is coloured. JSON never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogColor {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The log cannot be set up; the caller ends the process.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// What stands in the environment variable is not a filter.
    #[error("{FILTER_VARIABLE}={value:?} is not a filter: {reason}")]
    Filter {
        /// What stands there.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The log was set up before.
    #[error("the log is set up already")]
    SetUpTwice(#[from] SetGlobalDefaultError),
    /// The thread that tells counts of repeated messages cannot be started.
    #[error("a thread for the log cannot be started: {0}")]
    Thread(io::Error),
}

/// Sets up the log of the process, with the filter that the environment asks for. The guard is kept
/// until the process ends: dropping it tells the counts of repeated messages that are still open.
///
/// # Errors
/// The filter cannot be read, or the log was set up before.
pub fn init(format: LogFormat, color: LogColor) -> Result<LogGuard, LogError> {
    let is_terminal = io::stderr().is_terminal();
    let style = style(format, color, is_terminal, std::env::var_os("NO_COLOR").is_some());
    let wanted = std::env::var_os(FILTER_VARIABLE);
    let filter = filter(&wanted.unwrap_or_default().to_string_lossy())?;
    let shared = Arc::new(Shared::new(style, Box::new(io::stderr())));
    let layer = LogLayer { shared: Arc::clone(&shared) };
    tracing::subscriber::set_global_default(Registry::default().with(filter).with(layer))?;
    std::panic::set_hook(Box::new(tell_panic));
    let teller = Arc::clone(&shared);
    std::thread::Builder::new()
        .name("log-repeats".to_owned())
        .spawn(move || teller.tell_repeats())
        .map_err(LogError::Thread)?;
    Ok(LogGuard { shared })
}

/// A failure of the program in one line: its words may quote what a line of the log said.
fn tell_panic(info: &std::panic::PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    let words = info.payload_as_str().unwrap_or_default();
    tracing::error!(
        place = place.as_deref().unwrap_or("unknown"),
        words,
        "a bug in riverhog: please report it"
    );
}

/// Keeps the log complete: see [`init`].
#[derive(Debug)]
#[must_use = "dropping it ends the count of repeated messages"]
pub struct LogGuard {
    shared: Arc<Shared>,
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let mut output = self.shared.output();
        output.has_ended = true;
        let open = output.repeats.all();
        self.shared.write_repeated(&mut output, open);
        self.shared.changed.notify_all();
    }
}

fn filter(wanted: &str) -> Result<EnvFilter, LogError> {
    // A later directive for the same target replaces the earlier one.
    EnvFilter::builder()
        .parse(format!("{FILTER_DEFAULT},{wanted}"))
        .map_err(|error| LogError::Filter { value: wanted.to_owned(), reason: error.to_string() })
}

fn style(format: LogFormat, color: LogColor, is_terminal: bool, no_color: bool) -> Style {
    match (format, color) {
        (LogFormat::Json, _) => Style::Json,
        (LogFormat::Auto, _) if !is_terminal => Style::Json,
        (_, LogColor::Always) => Style::Colored,
        (_, LogColor::Auto) if is_terminal && !no_color => Style::Colored,
        _ => Style::Plain,
    }
}

/// Writes each event that passes the filter.
#[derive(Debug)]
struct LogLayer {
    shared: Arc<Shared>,
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let key = Key {
            place: metadata.name(),
            target: metadata.target(),
            level: *metadata.level(),
            sink: fields.text("sink"),
            destination: fields.text("destination"),
        };
        self.shared.write(clock::instant(), clock::now_ms(), &key, &fields);
    }
}

/// What the layer, the thread and the guard have in common.
struct Shared {
    style: Style,
    output: Mutex<Output>,
    /// Told when a first message of a window was not written, and when the log ends.
    changed: Condvar,
}

struct Output {
    writer: Box<dyn Write + Send>,
    repeats: Repeats,
    has_ended: bool,
}

impl Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("style", &self.style).finish_non_exhaustive()
    }
}

impl Shared {
    fn new(style: Style, writer: Box<dyn Write + Send>) -> Shared {
        let output = Output { writer, repeats: Repeats::default(), has_ended: false };
        Shared { style, output: Mutex::new(output), changed: Condvar::new() }
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, now: Instant, time_ms: i64, key: &Key, fields: &Fields) {
        let mut output = self.output();
        let ended = output.repeats.ended(now);
        self.write_repeated(&mut output, ended);
        match output.repeats.admit(now, key.clone(), &fields.message) {
            Admission::Written => {
                output.write(&self.style.line(time_ms, key.level, key.target, fields));
            }
            // The thread has a time to wake at.
            Admission::FirstCounted => self.changed.notify_all(),
            Admission::Counted => {}
        }
    }

    fn write_repeated(&self, output: &mut Output, repeated: Vec<Repeated>) {
        for Repeated { key, message, count } in repeated {
            let mut fields = Fields { message, ..Fields::default() };
            // "… repeated 1 times" is what a search finds, so there is no singular.
            write!(fields.message, " … repeated {count} times").expect("a string takes any text");
            for (name, value) in [("sink", key.sink), ("destination", key.destination)] {
                if !value.is_empty() {
                    fields.others.push((name, value.into()));
                }
            }
            fields.others.push(("repeated", count.into()));
            output.write(&self.style.line(clock::now_ms(), key.level, key.target, &fields));
        }
    }

    /// Tells counts when their window ends, until the log ends. Sleeps while there are none.
    fn tell_repeats(&self) {
        let mut output = self.output();
        while !output.has_ended {
            let now = clock::instant();
            let ended = output.repeats.ended(now);
            self.write_repeated(&mut output, ended);
            output = match output.repeats.next_end() {
                None => self.changed.wait(output).unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(now);
                    let waited = self.changed.wait_timeout(output, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Output {
    fn write(&mut self, line: &str) {
        // One write, so that lines of several processes on one pipe do not mix. When it fails there
        // is nowhere left to say so.
        self.writer.write_all(line.as_bytes()).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::time::Duration;

    use serde_json::Value;
    use tracing::Level;

    use super::*;

    /// What was written, for a look afterwards.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    fn shared(style: Style) -> (Arc<Shared>, Written) {
        let written = Written::default();
        (Arc::new(Shared::new(style, Box::new(written.clone()))), written)
    }

    /// What `log` writes under the filter, without the time.
    fn logged(style: Style, wanted: &str, log: impl FnOnce()) -> String {
        let (shared, written) = shared(style);
        let subscriber =
            Registry::default().with(filter(wanted).unwrap()).with(LogLayer { shared });
        tracing::subscriber::with_default(subscriber, log);
        let text = written.take();
        let time = match style {
            Style::Json => r#"{"time":"2026-03-12T02:23:45.123Z","#.len(),
            Style::Plain => "2026-03-12T02:23:45.123Z ".len(),
            Style::Colored => 0,
        };
        text.split_inclusive('\n').map(|line| &line[time..]).collect()
    }

    fn fields(message: &str, others: &[(&'static str, Value)]) -> Fields {
        Fields { message: message.to_owned(), others: others.to_vec() }
    }

    #[test]
    fn events_keep_the_types_of_their_fields() {
        let error = io::Error::other("connection refused");
        let text = logged(Style::Json, "", || {
            tracing::warn!(
                target: "riverhog::test",
                lines = 3_u64, offset = -1_i64, share = 0.5, odd = f64::NAN, first = true,
                sink = "search", error = &error as &dyn Error, detail = %"a b", "sent {}", 7
            );
        });
        let expect = "\"level\":\"warn\",\"target\":\"riverhog::test\",\"message\":\"sent 7\",\
                      \"lines\":3,\"offset\":-1,\"share\":0.5,\"odd\":\"NaN\",\"first\":true,\
                      \"sink\":\"search\",\"error\":\"connection refused\",\"detail\":\"a b\"}\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn the_filter_keeps_libraries_quiet() {
        let all = || {
            tracing::debug!(target: "riverhog::test", "ours, debug");
            tracing::info!(target: "riverhog::test", "ours, info");
            tracing::info!(target: "hyper_util::client", "theirs, info");
            tracing::warn!(target: "aws_smithy_runtime", "theirs, warn");
        };
        let check = |wanted: &str, expect: &str| {
            assert_eq!(logged(Style::Plain, wanted, all), expect, "{wanted:?}");
        };
        let theirs = " WARN aws_smithy_runtime: theirs, warn\n";
        check("", &format!(" INFO ours, info\n{theirs}"));
        check("debug", &format!("DEBUG ours, debug\n INFO ours, info\n{theirs}"));
        check("error,aws=off,hyper=info", " INFO hyper_util::client: theirs, info\n");
    }

    #[test]
    fn a_filter_that_cannot_be_read_names_the_variable() {
        let error = filter("riverhog=loud").unwrap_err().to_string();
        assert!(error.starts_with("RIVERHOG_LOG=\"riverhog=loud\" is not a filter: "), "{error}");
    }

    #[test]
    fn format_and_color_follow_the_terminal() {
        let check = |format, color, is_terminal, no_color, expect| {
            assert_eq!(style(format, color, is_terminal, no_color), expect);
        };
        check(LogFormat::Auto, LogColor::Auto, true, false, Style::Colored);
        check(LogFormat::Auto, LogColor::Auto, true, true, Style::Plain);
        check(LogFormat::Auto, LogColor::Never, true, false, Style::Plain);
        check(LogFormat::Auto, LogColor::Always, false, false, Style::Json);
        check(LogFormat::Text, LogColor::Auto, false, false, Style::Plain);
        check(LogFormat::Text, LogColor::Always, false, true, Style::Colored);
        check(LogFormat::Json, LogColor::Always, true, false, Style::Json);
    }

    fn key() -> Key {
        Key {
            place: "sink.rs:7",
            target: "riverhog::sink",
            level: Level::WARN,
            sink: "search".to_owned(),
            destination: String::new(),
        }
    }

    #[test]
    fn a_storm_ends_with_its_count() {
        let (shared, written) = shared(Style::Plain);
        let start = clock::instant();
        let slow = fields("slow answer", &[("sink", "search".into())]);
        for _ in 0..42 {
            shared.write(start, 0, &key(), &slow);
        }
        assert_eq!(written.take().lines().count(), 5);
        shared.write(start + Duration::from_secs(10), 0, &key(), &slow);
        let lines = written.take();
        let (count, next) = lines.split_once('\n').unwrap();
        let expect = "  WARN slow answer … repeated 37 times sink=search repeated=37";
        assert!(count.ends_with(expect), "{count}");
        assert!(next.ends_with(" WARN slow answer sink=search\n"), "{next}");
    }

    #[test]
    fn the_end_of_the_log_tells_what_is_open_and_ends_the_thread() {
        let (shared, written) = shared(Style::Plain);
        let teller = Arc::clone(&shared);
        let thread = std::thread::spawn(move || teller.tell_repeats());
        for _ in 0..6 {
            shared.write(clock::instant(), 0, &key(), &fields("slow answer", &[]));
        }
        drop(LogGuard { shared });
        thread.join().unwrap();
        assert!(
            written.take().ends_with("slow answer … repeated 1 times sink=search repeated=1\n")
        );
    }

    #[test]
    fn the_thread_tells_a_count_when_its_window_has_ended() {
        let (shared, written) = shared(Style::Plain);
        // A window that ended before now, as if the messages had come long ago.
        let past = clock::instant().checked_sub(Duration::from_secs(11)).unwrap();
        for _ in 0..7 {
            shared.write(past, 0, &key(), &fields("slow answer", &[]));
        }
        let teller = Arc::clone(&shared);
        let thread = std::thread::spawn(move || teller.tell_repeats());
        while !String::from_utf8_lossy(&written.0.lock().unwrap()).contains("repeated 2 times") {
            std::thread::yield_now();
        }
        drop(LogGuard { shared });
        thread.join().unwrap();
    }
}
