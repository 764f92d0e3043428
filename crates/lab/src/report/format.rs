//! Numbers as a reader wants them: three significant digits, a unit, no false precision.

/// The label of a tick at `value` on an axis whose ticks are `step` apart.
pub(super) fn tick(value: f64, step: f64) -> String {
    let (divisor, suffix) = magnitude(value.abs().max(step));
    // As many decimals as tell two neighbouring ticks apart.
    let decimals = (-(step / divisor).log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    let digits = format!("{:.decimals$}", value / divisor);
    if value == 0.0 {
        "0".to_owned()
    } else {
        format!("{}{suffix}", trim_zeros(&digits))
    }
}

/// Three significant digits with k, M or G (powers of 1000): `1.23k`.
pub(super) fn compact(value: f64) -> String {
    let (divisor, suffix) = magnitude(value.abs());
    format!("{}{suffix}", significant(value / divisor))
}

/// A duration given in microseconds: `21.3 µs`, `1.24 ms`, `2.10 s`.
pub(super) fn micros(value: f64) -> String {
    if value.abs() < 1_000.0 {
        format!("{} µs", significant(value))
    } else if value.abs() < 1_000_000.0 {
        format!("{} ms", significant(value / 1_000.0))
    } else {
        format!("{} s", significant(value / 1_000_000.0))
    }
}

/// A payload size, k = 1000: `0 B`, `100 B`, `10 kB`.
pub(super) fn bytes(value: u64) -> String {
    match value {
        0..1_000 => format!("{value} B"),
        1_000..1_000_000 => format!("{} kB", plain(value as f64 / 1_000.0)),
        _ => format!("{} MB", plain(value as f64 / 1_000_000.0)),
    }
}

/// A rate of bytes: `1.23 MB/s`.
pub(super) fn bytes_per_second(value: f64) -> String {
    let (divisor, suffix) = magnitude(value.abs());
    format!("{} {suffix}B/s", significant(value / divisor))
}

/// A ratio: `1.23x`; two decimals up to ten.
pub(super) fn ratio(value: f64) -> String {
    if value < 0.1 {
        format!("{value:.3}×")
    } else if value < 10.0 {
        format!("{value:.2}×")
    } else {
        format!("{value:.1}×")
    }
}

/// A count with its thousands apart: `1 234 567` (thin spaces that do not break).
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Three significant digits, without an exponent.
pub(super) fn significant(value: f64) -> String {
    let size = value.abs();
    // Rounding can carry into one more digit (99.96 is 100), so the bounds are a half below.
    if size < 9.995 {
        format!("{value:.2}")
    } else if size < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A number as it is, without trailing zeros.
pub(super) fn plain(value: f64) -> String {
    trim_zeros(&format!("{value:.3}")).to_owned()
}

/// `one, two and three`.
pub(super) fn list<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

fn magnitude(size: f64) -> (f64, &'static str) {
    // Half a unit below each power, so that 999 999 does not become "1000k".
    if size < 999.5 {
        (1.0, "")
    } else if size < 999.5e3 {
        (1e3, "k")
    } else if size < 999.5e6 {
        (1e6, "M")
    } else {
        (1e9, "G")
    }
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        assert_eq!(compact(0.0), "0.00");
        assert_eq!(compact(12_345.0), "12.3k");
        assert_eq!(compact(999_999.0), "1.00M");
        assert_eq!(compact(99.96), "100");
        assert_eq!(micros(21.34), "21.3 µs");
        assert_eq!(micros(1_240.0), "1.24 ms");
        assert_eq!(micros(2_100_000.0), "2.10 s");
        assert_eq!(bytes_per_second(1.5e9), "1.50 GB/s");
    }

    #[test]
    fn payloads_are_named_as_the_thesis_names_them() {
        let names: Vec<String> = [0, 10, 100, 1_000, 10_000, 100_000]
            .map(bytes)
            .into_iter()
            .collect();
        assert_eq!(names, ["0 B", "10 B", "100 B", "1 kB", "10 kB", "100 kB"]);
    }

    #[test]
    fn ticks_show_what_tells_them_apart() {
        assert_eq!(tick(0.5, 0.5), "0.5");
        assert_eq!(tick(1_500.0, 500.0), "1.5k");
        assert_eq!(tick(2_000.0, 500.0), "2k");
        assert_eq!(tick(0.04, 0.02), "0.04");
        assert_eq!(tick(0.0, 5.0), "0");
    }

    #[test]
    fn lists_and_counts_read_as_prose() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(12), "12");
        assert_eq!(ratio(1.234), "1.23×");
        assert_eq!(ratio(0.05), "0.050×");
    }
}
