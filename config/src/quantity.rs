//! Quantities with their unit: `"64MiB"`, `"10m"`, `"500ms"`. Invariant: a bare number is
//! never taken, so no reader of a file has to guess a unit. Next: `declare/`.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

const BYTE_UNITS: [(&str, u64); 10] = [
    ("B", 1),
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", TIB),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

const TIME_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Unit names people write, with the one that is meant.
const OTHER_NAMES: [(&str, &str); 24] = [
    ("k", "KiB"),
    ("kib", "KiB"),
    ("kb", "KiB"),
    ("mb", "MiB"),
    ("mib", "MiB"),
    ("gb", "GiB"),
    ("g", "GiB"),
    ("gi", "GiB"),
    ("gib", "GiB"),
    ("mi", "MiB"),
    ("ki", "KiB"),
    ("byte", "B"),
    ("bytes", "B"),
    ("b", "B"),
    ("msec", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("min", "m"),
    ("mins", "m"),
    ("minutes", "m"),
    ("hours", "h"),
    ("hour", "h"),
    ("days", "d"),
];

/// Why a quantity was not taken, and what to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QuantityError {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, QuantityError> {
    single(text, &BYTE_UNITS, "a size is written like `64MiB`")
}

/// Milliseconds; several parts may follow each other (`1h30m`).
pub(crate) fn duration_ms(text: &str) -> Result<u64, QuantityError> {
    let example = "a duration is written like `500ms`, `10s`, `10m` or `48h`";
    let mut rest = text.trim();
    let mut total = 0_u64;
    let mut first = true;
    while first || !rest.is_empty() {
        first = false;
        let digits = rest.find(|it: char| !is_digit(it)).unwrap_or(rest.len());
        let unit_end = rest[digits..].find(is_digit).map_or(rest.len(), |at| digits + at);
        let part = single(&rest[..unit_end], &TIME_UNITS, example)?;
        total = total.checked_add(part).ok_or_else(|| too_large(text))?;
        rest = &rest[unit_end..];
    }
    Ok(total)
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

fn single(text: &str, units: &[(&str, u64)], example: &str) -> Result<u64, QuantityError> {
    let text = text.trim();
    let digits = text.find(|it: char| !is_digit(it)).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    if number.is_empty() {
        let message = format!("`{text}` does not begin with a number");
        return Err(QuantityError { message, help: example.to_owned() });
    }
    if unit.is_empty() {
        let message = format!("`{text}` has no unit");
        let choices: Vec<&str> =
            units.iter().map(|(name, _)| *name).filter(|it| *it != "KB").collect();
        let help = format!("{example}; units: {}", choices.join(", "));
        return Err(QuantityError { message, help });
    }
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let lower = unit.to_lowercase();
        let meant = OTHER_NAMES
            .iter()
            .find(|(other, meant)| *other == lower && units.iter().any(|it| it.0 == *meant))
            .map(|(_, meant)| *meant);
        let help = match meant {
            Some(meant) => format!("did you mean `{number}{meant}`?"),
            None => example.to_owned(),
        };
        return Err(QuantityError { message: format!("`{unit}` is not a unit here"), help });
    };
    scaled(number, *factor).ok_or_else(|| match number.matches('.').count() {
        0 | 1 if number != "." => too_large(text),
        _ => QuantityError {
            message: format!("`{number}` is not a number"),
            help: example.to_owned(),
        },
    })
}

fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(factor)?;
    if !fraction.is_empty() {
        // Nine digits are below a byte of any unit but TiB, where they are below a kilobyte.
        let fraction = &fraction[..fraction.len().min(9)];
        let scale = 10_u128.pow(fraction.len() as u32);
        let part = fraction.parse::<u128>().ok()? * u128::from(factor) / scale;
        total = total.checked_add(part as u64)?;
    }
    Some(total)
}

fn too_large(text: &str) -> QuantityError {
    QuantityError {
        message: format!("`{text}` is too large to count"),
        help: "write a smaller number".to_owned(),
    }
}

/// Bytes with the largest unit that leaves no fraction.
pub(crate) fn show_bytes(bytes: u64) -> String {
    let units = [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    show(bytes, &units, "B")
}

/// Milliseconds with the largest unit that leaves no fraction.
pub(crate) fn show_duration(ms: u64) -> String {
    show(ms, &[(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")], "ms")
}

fn show(value: u64, units: &[(u64, &str)], smallest: &str) -> String {
    let unit = units.iter().find(|(factor, _)| value >= *factor && value.is_multiple_of(*factor));
    match unit {
        Some((factor, name)) => format!("{}{name}", value / factor),
        None => format!("{value}{smallest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, expect: u64| assert_eq!(bytes(text), Ok(expect), "{text}");
        check("64MiB", 64 * MIB);
        check("1.5 GiB", 3 * GIB / 2);
        check("0B", 0);
        check("10kB", 10_000);
        check(".5KiB", 512);
    }

    #[test]
    fn durations() {
        let check = |text: &str, expect: u64| assert_eq!(duration_ms(text), Ok(expect), "{text}");
        check("500ms", 500);
        check("10m", 600_000);
        check("48h", 172_800_000);
        check("1h30m", 5_400_000);
        check("1.5s", 1_500);
        check("2d", 172_800_000);
    }

    #[test]
    fn what_is_refused_says_what_to_write() {
        let check = |result: Result<u64, QuantityError>, message: &str, help: &str| {
            let error = result.expect_err(message);
            assert_eq!(error.message, message);
            assert!(error.help.contains(help), "{}", error.help);
        };
        check(bytes("64"), "`64` has no unit", "`64MiB`; units: B, KiB");
        check(bytes("64mb"), "`mb` is not a unit here", "did you mean `64MiB`?");
        check(bytes("64m"), "`m` is not a unit here", "`64MiB`");
        check(bytes(""), "`` does not begin with a number", "`64MiB`");
        check(bytes("-1MiB"), "`-1MiB` does not begin with a number", "`64MiB`");
        check(bytes("99999999999TiB"), "`99999999999TiB` is too large to count", "smaller");
        check(bytes("1.2.3MiB"), "`1.2.3` is not a number", "`64MiB`");
        check(bytes(".MiB"), "`.` is not a number", "`64MiB`");
        check(duration_ms("10"), "`10` has no unit", "`10m`");
        check(duration_ms("10min"), "`min` is not a unit here", "did you mean `10m`?");
        check(duration_ms("1h30"), "`30` has no unit", "`10m`");
    }

    #[test]
    fn shown_as_written() {
        assert_eq!(show_bytes(64 * MIB), "64MiB");
        assert_eq!(show_bytes(1500), "1500B");
        assert_eq!(show_duration(90_000), "90s");
        assert_eq!(show_duration(0), "0ms");
    }
}
