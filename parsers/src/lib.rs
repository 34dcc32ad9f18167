//! The `parsers` room: from bytes to fields.
//!
//! What it is for: taking one value apart (envelope, lines), finding the fields of a line (grok),
//! and giving text its meaning (time, level). Invariant of the whole room: no I/O, no async, no
//! clock, no configuration format; what a function needs to know comes in as an argument, and bad
//! input is an answer (`Outcome`, `Option`), never a panic.
//!
//! In the order of a line's trip: [`envelope`] takes the shipper's wrapping off, [`lines`] splits a
//! value into raw lines, [`peel`] takes prefixes and escape sequences off them, [`grok`] and the
//! built-in [`formats`] find [`fields`], [`time`] and [`level`] read two of them,
//! [`number`] those that are measures. [`known`] lists what needs no pattern. The next stop of
//! the trip is the `rules` room.

mod suggest;

pub mod envelope;
pub mod lines;
pub mod peel;

pub mod known;

pub mod fields;
pub mod formats;
pub mod grok;
pub mod level;
pub mod number;
pub mod time;
