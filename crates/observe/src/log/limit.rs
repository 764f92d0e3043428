//! How many lines of a kind are written in a second. No clock: time is an argument.

use std::collections::HashMap;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);

/// A kind of event. Names are part of the program's text, so their number is bounded.
pub(super) type Kind = &'static str;

/// Counts lines by kind in windows of one second that begin with a kind's first line.
#[derive(Debug)]
pub(super) struct RateLimit {
    lines_per_second: u32,
    windows: HashMap<Kind, Window>,
    /// How many windows have suppressed lines of which no summary was taken.
    unreported: usize,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    admitted: u32,
    suppressed: u64,
}

impl RateLimit {
    pub(super) fn new(lines_per_second: u32) -> Self {
        Self {
            lines_per_second,
            windows: HashMap::new(),
            unreported: 0,
        }
    }

    /// Whether a line of this kind may be written now; counts it as suppressed if not.
    pub(super) fn admit(&mut self, kind: Kind, now: Instant) -> bool {
        let window = self.windows.entry(kind).or_insert(Window {
            began: now,
            admitted: 0,
            suppressed: 0,
        });
        // What an elapsed window suppressed stays until a summary takes it.
        if now.saturating_duration_since(window.began) >= WINDOW {
            window.began = now;
            window.admitted = 0;
        }
        if window.admitted < self.lines_per_second {
            window.admitted += 1;
            return true;
        }
        if window.suppressed == 0 {
            self.unreported += 1;
        }
        window.suppressed += 1;
        false
    }

    /// Takes the kinds whose window has elapsed with suppressed lines, and how many.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<(Kind, u64)> {
        self.take(|window| now.saturating_duration_since(window.began) >= WINDOW)
    }

    /// Takes every kind with suppressed lines, elapsed or not.
    pub(super) fn take_all(&mut self) -> Vec<(Kind, u64)> {
        self.take(|_| true)
    }

    fn take(&mut self, is_due: impl Fn(&Window) -> bool) -> Vec<(Kind, u64)> {
        if self.unreported == 0 {
            return Vec::new();
        }
        let mut taken: Vec<(Kind, u64)> = self
            .windows
            .iter_mut()
            .filter(|(_, window)| window.suppressed > 0 && is_due(window))
            .map(|(kind, window)| (*kind, std::mem::take(&mut window.suppressed)))
            .collect();
        self.unreported -= taken.len();
        taken.sort_unstable();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(limit: &mut RateLimit, kind: Kind, now: Instant, times: usize) -> usize {
        (0..times).filter(|_| limit.admit(kind, now)).count()
    }

    #[test]
    fn admits_the_limit_of_each_kind_in_a_second() {
        let (mut limit, now) = (RateLimit::new(3), Instant::now());
        assert_eq!(admitted(&mut limit, "a", now, 10), 3);
        assert_eq!(admitted(&mut limit, "b", now, 2), 2);
        let later = now + Duration::from_millis(999);
        assert_eq!(admitted(&mut limit, "a", later, 10), 0);
        let later = now + Duration::from_secs(1);
        assert_eq!(admitted(&mut limit, "a", later, 10), 3);
    }

    #[test]
    fn summary_is_due_a_second_after_the_window_began() {
        let (mut limit, now) = (RateLimit::new(1), Instant::now());
        assert_eq!(admitted(&mut limit, "b", now, 3), 1);
        assert_eq!(admitted(&mut limit, "a", now, 6), 1);
        assert_eq!(limit.take_due(now + Duration::from_millis(999)), []);
        let later = now + Duration::from_secs(1);
        assert_eq!(limit.take_due(later), [("a", 5), ("b", 2)]);
        assert_eq!(limit.take_due(later), []);
    }

    #[test]
    fn suppressed_lines_of_an_old_window_are_not_forgotten() {
        let (mut limit, now) = (RateLimit::new(1), Instant::now());
        assert_eq!(admitted(&mut limit, "a", now, 4), 1);
        let later = now + Duration::from_secs(5);
        assert_eq!(admitted(&mut limit, "a", later, 3), 1);
        assert_eq!(limit.take_all(), [("a", 5)]);
    }
}
