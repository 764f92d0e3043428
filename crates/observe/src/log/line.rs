//! An event as one line of text.

use crate::utc::rfc3339;
use std::fmt::{self, Write as _};
use std::time::SystemTime;
use tracing::Level;
use tracing::field::{Field, Visit};

/// Longest line, in bytes with its line feed: what a pipe takes whole (`PIPE_BUF` of POSIX and
/// Linux), so that lines of several processes on one pipe never mix.
pub(super) const MAX_LINE: usize = 4096;
/// Stands at the end of a line that was cut.
const CUT: &str = "…";

/// Writes the line of an event.
///
/// Control characters are escaped: what a peer sent can neither begin a line of its own nor command
/// a terminal.
#[derive(Debug)]
pub(super) struct Line(String);

impl Line {
    /// Time, level, process and kind.
    pub(super) fn new(time: SystemTime, level: Level, process: &str, kind: &str) -> Self {
        let mut text = String::with_capacity(160);
        // Writing to a string does not fail.
        let _ = write!(text, "{} {level} {process} {kind}:", rfc3339(time));
        Self(text)
    }

    /// The rest of the line, after a space.
    pub(super) fn push(&mut self, text: fmt::Arguments<'_>) {
        self.0.push(' ');
        // Writing to a string does not fail.
        let _ = Escaped(&mut self.0).write_fmt(text);
    }

    /// The bytes to write, at most [`MAX_LINE`], with a line feed at the end.
    pub(super) fn finish(self) -> String {
        let Self(mut text) = self;
        if text.len() + 1 > MAX_LINE {
            let end = text.floor_char_boundary(MAX_LINE - 1 - CUT.len());
            text.truncate(end);
            text.push_str(CUT);
        }
        text.push('\n');
        text
    }
}

/// The fields of an event: its message first, then `name=value`.
impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.push(format_args!("{value:?}"));
        } else {
            self.push(format_args!("{}={value:?}", field.name()));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.push(format_args!("{value}"));
        } else {
            self.push(format_args!("{}={value:?}", field.name()));
        }
    }
}

/// Escapes control characters, and stops taking text when the line is long enough to be cut.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.0.len() > MAX_LINE {
                return Err(fmt::Error);
            }
            if character.is_control() {
                self.0.extend(character.escape_default());
            } else {
                self.0.push(character);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn line(text: &str) -> String {
        let time = UNIX_EPOCH + Duration::from_millis(1_000_000_000_042);
        let mut line = Line::new(time, Level::WARN, "amf 4f2c1d8e", "sbi-failure");
        line.push(format_args!("{text}"));
        line.finish()
    }

    #[test]
    fn names_time_level_process_and_kind() {
        assert_eq!(
            line("the UDM: timed out"),
            "2001-09-09T01:46:40.042Z WARN amf 4f2c1d8e sbi-failure: the UDM: timed out\n"
        );
    }

    #[test]
    fn escapes_line_feeds_and_terminal_commands() {
        assert!(line("a\nb\u{1b}[2J\u{9b}").ends_with("a\\nb\\u{1b}[2J\\u{9b}\n"));
    }

    #[test]
    fn cuts_a_long_line_at_a_character() {
        let cut = line(&"ä".repeat(MAX_LINE));
        assert!(
            cut.len() <= MAX_LINE && cut.len() > MAX_LINE - 8,
            "{}",
            cut.len()
        );
        assert!(cut.ends_with("ä…\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_one_line_of_bounded_length(text in ".{0,6000}") {
            let line = line(&text);
            prop_assert!(line.len() <= MAX_LINE);
            prop_assert_eq!(line.matches('\n').count(), 1);
        }
    }
}
