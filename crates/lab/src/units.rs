//! Numbers as users write them. k = 1000, as in the thesis.

/// `0`, `10`, `10k`, `100kB`, `1M`: bytes, up to 64 MB.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const MOST: u64 = 64_000_000;
    let number = text.trim().trim_end_matches(['B', 'b']).trim_end();
    match scaled(number) {
        Some(bytes) if bytes <= MOST => Ok(bytes),
        Some(_) => Err("at most 64M bytes".to_owned()),
        None => Err("a number of bytes such as 0, 100 or 10k (k = 1000)".to_owned()),
    }
}

/// A rate in requests a second, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    /// As fast as answers come: no-rate mode.
    Max,
    /// So many a second.
    PerSecond(u64),
}

/// `100`, `2k`, `max`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("max") {
        return Ok(Rate::Max);
    }
    match scaled(text.trim_end_matches("/s")) {
        Some(rate) if (1..=100_000_000).contains(&rate) => Ok(Rate::PerSecond(rate)),
        _ => Err("requests a second such as 100 or 2k, from 1 to 100M, or max".to_owned()),
    }
}

fn scaled(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// A number of bytes as users write it: `10k`.
pub(crate) fn show_bytes(bytes: u64) -> String {
    match bytes {
        0 => "0 B".to_owned(),
        bytes if bytes % 1_000_000 == 0 => format!("{} MB", bytes / 1_000_000),
        bytes if bytes % 1000 == 0 => format!("{} kB", bytes / 1000),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_not_kibibytes() {
        for (text, value) in [
            ("0", 0),
            ("10k", 10_000),
            ("100kB", 100_000),
            ("7 B", 7),
            ("1M", 1_000_000),
        ] {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "k",
            "-1",
            "1.5k",
            "+3",
            "10kk",
            "65M",
            "99999999999999999999",
            "ten",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("MAX"), Ok(Rate::Max));
        assert_eq!(rate("2k"), Ok(Rate::PerSecond(2000)));
        assert_eq!(rate("100/s"), Ok(Rate::PerSecond(100)));
        for text in ["0", "", "fast", "-5", "200M"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown_as_written() {
        assert_eq!(show_bytes(0), "0 B");
        assert_eq!(show_bytes(100), "100 B");
        assert_eq!(show_bytes(10_000), "10 kB");
        assert_eq!(show_bytes(2_000_000), "2 MB");
    }
}
