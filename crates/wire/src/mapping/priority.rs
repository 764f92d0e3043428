//! Urgency: [`Priority`] to and from `3gpp-Sbi-Message-Priority` (TS 29.500, 5.2.3.2.2): the same
//! numbers, 0 the most urgent.

use corewire_message::Priority;

/// The header of service-based interfaces that carries it.
pub const MESSAGE_PRIORITY: &str = "3gpp-sbi-message-priority";

/// The header's text; `None` for what a message has that says nothing.
#[must_use]
pub fn text(priority: Priority) -> Option<&'static str> {
    const TEXTS: [&str; 32] = [
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
        "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
    ];
    (priority != Priority::NORMAL).then(|| TEXTS[usize::from(priority.value())])
}

/// The priority that the header's text means; what is none is normal.
#[must_use]
pub fn read(value: &[u8]) -> Priority {
    super::decimal::read(value)
        .and_then(|value| u8::try_from(value).ok())
        .and_then(|value| Priority::try_from(value).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_priority_goes_both_ways() {
        for value in 0..=31u8 {
            let priority = Priority::try_from(value).unwrap();
            match text(priority) {
                Some(text) => {
                    assert_eq!(text, value.to_string());
                    assert_eq!(read(text.as_bytes()), priority);
                }
                None => assert_eq!(priority, Priority::NORMAL),
            }
        }
        assert_eq!(read(b"24"), Priority::NORMAL);
    }

    #[test]
    fn what_is_no_priority_is_normal() {
        for bad in ["", "32", "-1", "high", "999999999999999999999"] {
            assert_eq!(read(bad.as_bytes()), Priority::NORMAL, "{bad:?}");
        }
    }
}
