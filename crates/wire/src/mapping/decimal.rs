//! Decimal numbers in header values, without allocating.

/// A number as text.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    /// Its digits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

/// A number's text.
#[must_use]
pub fn write(mut number: u64) -> Decimal {
    let mut text = Decimal {
        digits: [b'0'; 20],
        start: 20,
    };
    loop {
        text.start -= 1;
        // A remainder of ten is one digit; twenty of them hold any u64.
        text.digits[text.start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return text;
        }
    }
}

/// The number that digits alone say; `None` for anything else or more than a `u64`.
#[must_use]
pub fn read(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_both_ways() {
        for number in [0, 1, 9, 10, 99_999_999, u64::MAX] {
            assert_eq!(read(write(number).as_bytes()), Some(number));
            assert_eq!(write(number).as_bytes(), number.to_string().as_bytes());
        }
        for bad in [
            "",
            "-1",
            "+1",
            " 1",
            "1 ",
            "0x1",
            ":",
            "1/",
            "18446744073709551616",
        ] {
            assert_eq!(read(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
