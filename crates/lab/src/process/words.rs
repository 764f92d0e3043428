//! What a process said on standard error: its last lines, for the message when it fails.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Lines that are kept.
const LINES_KEPT: usize = 8;

/// The last lines of a pipe that a thread reads.
#[derive(Debug, Default)]
pub(super) struct Words {
    heard: Mutex<Heard>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    lines: VecDeque<String>,
    ended: bool,
}

impl Words {
    /// One line more.
    pub(super) fn hear(&self, line: String) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.lines.len() == LINES_KEPT {
            heard.lines.pop_front();
        }
        heard.lines.push_back(line);
    }

    /// No line will come any more.
    pub(super) fn end(&self) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.ended = true;
        self.ended.notify_all();
    }

    /// The lines in one, waiting at most so long for their end. Somebody else may hold the pipe open
    /// for ever: a child's own child.
    pub(super) fn last(&self, wait: Duration) -> String {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let (heard, _late) = self
            .ended
            .wait_timeout_while(heard, wait, |heard| !heard.ended)
            .unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = heard.lines.iter().map(|line| line.trim()).collect();
        lines.join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_their_end_is_waited_for() {
        let words = Words::default();
        for line in 0..=LINES_KEPT {
            words.hear(line.to_string());
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                words.hear("late".to_owned());
                words.end();
            });
            let last = words.last(Duration::from_secs(10));
            assert_eq!(last, "2 | 3 | 4 | 5 | 6 | 7 | 8 | late");
        });
    }

    #[test]
    fn an_end_that_does_not_come_is_not_waited_for_longer() {
        let words = Words::default();
        words.hear("hello".to_owned());
        assert_eq!(words.last(Duration::from_millis(1)), "hello");
    }
}
