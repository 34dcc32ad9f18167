//! Reading the lines of standard input, for the commands that take them.
//!
//! Invariant: a line that has no end does not eat memory. Next stop: whichever command reads.

use std::io::{self, BufRead};

use super::CommandError;

/// Reads the next line into `line`, without its end and a return in front of it; false where the
/// input has ended. What is over `kept_max` bytes is left out.
pub(super) fn read_line(
    input: &mut impl BufRead,
    end: u8,
    line: &mut Vec<u8>,
    kept_max: usize,
) -> Result<bool, CommandError> {
    let read = read_until(input, end, line, kept_max, |_| {})?;
    if end == b'\n' && line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(read.is_some())
}

/// Reads a line without its end into `line`; the bytes it took of the input, or `None` at its end.
/// At most `kept_max` bytes of it are kept: when there are more, `shorten` may make room, and what
/// there is no room for is left out.
pub(super) fn read_until(
    input: &mut impl BufRead,
    end: u8,
    line: &mut Vec<u8>,
    kept_max: usize,
    mut shorten: impl FnMut(&mut Vec<u8>),
) -> Result<Option<usize>, CommandError> {
    line.clear();
    let (mut read, mut is_full) = (0, false);
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CommandError::Input(error)),
        };
        if buffer.is_empty() {
            return Ok((read > 0).then_some(read));
        }
        let at = memchr::memchr(end, buffer);
        let part = &buffer[..at.unwrap_or(buffer.len())];
        if part.len() > kept_max - line.len() && !is_full {
            shorten(line);
            // Half a line that cannot be made shorter is not tried again and again.
            is_full = line.len() > kept_max / 2;
        }
        line.extend_from_slice(&part[..part.len().min(kept_max - line.len())]);
        let taken = part.len() + usize::from(at.is_some());
        input.consume(taken);
        read += taken;
        if at.is_some() {
            return Ok(Some(read));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use riverhog_parsers::peel::{Layers, Parts};

    #[test]
    fn an_endless_line_does_not_eat_memory() {
        let mut line = Vec::new();
        let long = vec![b'x'; 100_000];
        let mut input = io::BufReader::with_capacity(1000, &long[..]);
        assert!(read_line(&mut input, b'\n', &mut line, 10).unwrap());
        assert_eq!((line.len(), line.capacity() < 1000), (10, true));
        assert!(!read_line(&mut input, b'\n', &mut line, 10).unwrap());
    }

    #[test]
    fn the_last_frame_of_an_endless_bar_is_kept() {
        let frame = |number: usize| format!("\r{}%|#| {number}/5000 [0<0, 1it/s]", number / 50);
        let frames: String = (0..5000).map(frame).collect();
        let long = format!("[rank3]: {frames}INFO x{frames}\nnext\n");
        let mut input = io::BufReader::with_capacity(100, long.as_bytes());
        let (mut line, mut parts) = (Vec::new(), Parts::default());
        let shorten = |line: &mut Vec<u8>| parts.shorten(line, Layers::ALL);
        let read = read_until(&mut input, b'\n', &mut line, 1000, shorten).unwrap();
        assert_eq!(read, Some(long.len() - 5));
        assert!(line.capacity() < 4000, "{}", line.capacity());
        let mut parts = Parts::default();
        assert!(parts.split(&line, Layers::ALL));
        let found: Vec<_> = (0..parts.count())
            .map(|number| String::from_utf8(parts.get(&line, number).to_vec()).unwrap())
            .collect();
        let last = format!("[rank3]: {}", &frame(4999)[1..]);
        assert_eq!(found, [&last, "[rank3]: INFO x", &last]);
    }
}
