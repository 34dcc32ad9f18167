//! Where values come from: the one seam between conditions and templates and what they are asked
//! about (a line on its trip, later a stored document).
//!
//! Invariant: asking for a value allocates nothing and has no effect.
use riverhog_parsers::level::Level;

/// A value as it was found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// Text, as nearly everything in a log is.
    Text(&'a str),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A level, ordered by severity.
    Level(Level),
    /// Nanoseconds since the epoch.
    Time(i64),
}

/// Gives the values of names by their index in `Condition::names_used` or `Template::names_used`.
pub trait Values {
    /// The `nth` value (from 0) of the name with this index; most names have one or none.
    fn value(&self, name: usize, nth: usize) -> Option<Value<'_>>;
}

/// Values for tests, one list per name.
#[cfg(test)]
pub(crate) struct Fixed<'a>(pub(crate) Vec<Vec<Value<'a>>>);

#[cfg(test)]
impl Values for Fixed<'_> {
    fn value(&self, name: usize, nth: usize) -> Option<Value<'_>> {
        self.0.get(name)?.get(nth).copied()
    }
}
