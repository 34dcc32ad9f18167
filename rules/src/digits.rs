//! Writes whole numbers, two digits at a time: `std::fmt` costs several times as much, and every
//! event has half a dozen of them.
//!
//! Invariant: the digits are those that `std::fmt` writes. Next stop: `json`, `origin`.

/// `00` to `99`.
pub(crate) static PAIRS: [[u8; 2]; 100] = pairs::<10, 100>();
static PAIRS_36: [[u8; 2]; 1296] = pairs::<36, 1296>();
static HEX: &[u8; 16] = b"0123456789abcdef";

const fn pairs<const RADIX: usize, const COUNT: usize>() -> [[u8; 2]; COUNT] {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut pairs = [[0; 2]; COUNT];
    let mut number = 0;
    while number < COUNT {
        pairs[number] = [DIGITS[number / RADIX], DIGITS[number % RADIX]];
        number += 1;
    }
    pairs
}

/// Appends a number in decimal.
pub(crate) fn write_decimal(out: &mut Vec<u8>, number: u64) {
    if number < 10 {
        // Indices, partitions and ranks mostly are.
        out.push(b'0' + number as u8);
        return;
    }
    write_pairs(out, number, &PAIRS);
}

/// Appends a signed number in decimal.
pub(crate) fn write_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    write_decimal(out, number.unsigned_abs());
}

/// Appends a number in base 36, lower case.
pub(crate) fn write_base36(out: &mut Vec<u8>, number: u64) {
    write_pairs(out, number, &PAIRS_36);
}

/// Appends eight hex digits, lower case.
pub(crate) fn write_hex(out: &mut Vec<u8>, number: u32) {
    let digit = |shift: u32| HEX[(number >> shift & 15) as usize];
    out.extend_from_slice(&[28, 24, 20, 16, 12, 8, 4, 0].map(digit));
}

#[inline]
fn write_pairs<const COUNT: usize>(out: &mut Vec<u8>, mut number: u64, pairs: &[[u8; 2]; COUNT]) {
    // Twenty decimal digits hold every u64.
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&pairs[(number % COUNT as u64) as usize]);
        number /= COUNT as u64;
        if number == 0 {
            break;
        }
    }
    // The first pair of an odd number of digits begins with a zero too many; 0 is one digit.
    start += usize::from(digits[start] == b'0');
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(number: u64, decimal: &str, base36: &str) {
        let (mut found, mut found36) = (Vec::new(), Vec::new());
        write_decimal(&mut found, number);
        write_base36(&mut found36, number);
        assert_eq!((found.as_slice(), found36.as_slice()), (decimal.as_bytes(), base36.as_bytes()));
    }

    #[test]
    fn numbers_are_written() {
        check(0, "0", "0");
        check(9, "9", "9");
        check(10, "10", "a");
        check(36, "36", "10");
        check(1295, "1295", "zz");
        check(100_000, "100000", "255s");
        check(u64::MAX, "18446744073709551615", "3w5e11264sgsf");
    }

    proptest! {
        #[test]
        fn numbers_agree_with_fmt(number in any::<i64>(), shift in 0..64_u32) {
            let number = number >> shift;
            let (mut found, mut hex) = (Vec::new(), Vec::new());
            write_signed(&mut found, number);
            prop_assert_eq!(String::from_utf8(found).unwrap(), number.to_string());
            write_hex(&mut hex, number as u32);
            prop_assert_eq!(String::from_utf8(hex).unwrap(), format!("{:08x}", number as u32));
        }
    }
}
