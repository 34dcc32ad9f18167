//! Levels: one scale of six for the many words that logs print.
//!
//! Invariant: a level is read from a word that stands for one, never guessed from a message.
//! Next on the trip: `rules` puts the level into the event.

/// How serious an event is, from least to most; compares in that order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Level {
    /// Finer than debugging.
    Trace,
    /// For whoever debugs the program.
    Debug,
    /// Normal progress.
    Info,
    /// Unexpected, and the work goes on.
    Warn,
    /// Something failed.
    Error,
    /// The process, or the run, cannot go on.
    Fatal,
}

/// The longest word of the table; anything longer is no level.
const WORD_BYTES_MAX: usize = 12;

impl Level {
    /// All levels, from least to most serious.
    pub const ALL: [Level; 6] =
        [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error, Level::Fatal];

    /// Reads a level word: any case, with or without a colon after it, the single letters of glog
    /// (upper case only), syslog's names and its digits 0 to 7. `None` for anything else.
    pub fn parse(text: &str) -> Option<Level> {
        let word = text.strip_suffix(':').unwrap_or(text).as_bytes();
        if let [letter] = word {
            return Level::from_letter(*letter);
        }
        let mut buffer = [0; WORD_BYTES_MAX];
        let lower = buffer.get_mut(..word.len())?;
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        Some(match &*lower {
            b"trace" | b"verbose" => Level::Trace,
            b"debug" | b"debug1" | b"debug2" | b"debug3" | b"debug4" | b"debug5" | b"dbg" => {
                Level::Debug
            }
            b"info" | b"inf" | b"information" | b"notice" | b"success" => Level::Info,
            b"warn" | b"warning" | b"wrn" => Level::Warn,
            b"error" | b"err" | b"severe" => Level::Error,
            b"fatal" | b"critical" | b"crit" | b"alert" | b"emerg" | b"emergency" | b"panic" => {
                Level::Fatal
            }
            _ => return None,
        })
    }

    fn from_letter(letter: u8) -> Option<Level> {
        Some(match letter {
            b'V' | b'T' => Level::Trace,
            b'D' | b'7' => Level::Debug,
            b'I' | b'5' | b'6' => Level::Info,
            b'W' | b'4' => Level::Warn,
            b'E' | b'3' => Level::Error,
            b'F' | b'C' | b'0' | b'1' | b'2' => Level::Fatal,
            _ => return None,
        })
    }

    /// The word used in events, conditions and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Trace => "trace",
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
            Level::Fatal => "fatal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expect: Option<Level>) {
        for word in words.split(' ') {
            assert_eq!(Level::parse(word), expect, "word {word:?}");
        }
    }

    #[test]
    fn table() {
        check("V T TRACE Trace trace VERBOSE", Some(Level::Trace));
        check("D DEBUG Debug debug2 debug5 7", Some(Level::Debug));
        check("I INFO Info info notice NOTICE SUCCESS Information 5 6", Some(Level::Info));
        check("W WARN WARNING Warning WRN 4", Some(Level::Warn));
        check("E ERR ERROR error: Error SEVERE 3", Some(Level::Error));
        check("F FATAL C CRITICAL crit alert emerg EMERGENCY panic PANIC 0 2", Some(Level::Fatal));
        check("", None);
        check("e x 8 errors INFOX criticality_of_it : ERROR:: 训练", None);
    }

    #[test]
    fn every_level_reads_its_own_word_and_the_order_is_the_scale() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.as_str()), Some(level));
        }
        assert!(Level::ALL.is_sorted() && Level::Warn >= Level::Warn && Level::Error > Level::Warn);
    }
}
