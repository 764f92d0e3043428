//! When requests are sent and which of them count: the arithmetic of a run, without a clock.
//!
//! Times are nanoseconds on the clock of whoever drives it.

use super::schedule::Schedule;
use std::time::Duration;

/// Requests that may be in flight at a rate; more that are due wait, and their latency counts.
const MOST_IN_FLIGHT: usize = 100_000;
/// How long the last answers may take after the window.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How requests are generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Open loop: so many a second.
    Rate(f64),
    /// Closed loop: so many in flight, the next when one is answered.
    InFlight(usize),
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send a request now.
    Send {
        /// Which it is; the first is 1.
        number: u64,
        /// When it was due: not later than now.
        due: u64,
    },
    /// Send nothing before this time.
    Wait(u64),
}

/// One run: a warm-up, then the window that is measured, then the last answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// `None`: closed loop.
    schedule: Option<Schedule>,
    in_flight_at_most: usize,
    window_start: u64,
    window_end: u64,
    give_up: u64,
    /// Requests sent.
    sent: u64,
    /// When it was stopped before its time.
    stopped_at: Option<u64>,
    /// The last answer that counts, or the window's end if none came later.
    last_answer: u64,
}

impl Pacer {
    /// A run that begins at `start`.
    pub(super) fn new(pace: Pace, start: u64, warmup: Duration, window: Duration) -> Self {
        let window_start = start + ns(warmup);
        let window_end = window_start + ns(window);
        let (schedule, in_flight_at_most) = match pace {
            Pace::Rate(rate) => (Some(Schedule::new(start, rate)), MOST_IN_FLIGHT),
            Pace::InFlight(calls) => (None, calls),
        };
        Self {
            schedule,
            in_flight_at_most,
            window_start,
            window_end,
            give_up: window_end + ns(LAST_ANSWERS),
            sent: 0,
            stopped_at: None,
            last_answer: window_end,
        }
    }

    /// How many calls may be in flight.
    pub(super) const fn in_flight_at_most(&self) -> usize {
        self.in_flight_at_most
    }

    /// Ends the run early. Once the window has ended this changes nothing.
    pub(super) fn stop(&mut self, now: u64) {
        if now < self.window_end {
            self.stopped_at.get_or_insert(now);
        }
    }

    /// Whether the run was stopped before its time.
    pub(super) const fn is_partial(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Whether the warm-up is over.
    pub(super) const fn is_warm(&self, now: u64) -> bool {
        now >= self.window_start
    }

    /// Whether no more requests are sent: the window has ended or the run was stopped.
    pub(super) const fn is_closing(&self, now: u64) -> bool {
        now >= self.window_end || self.is_partial()
    }

    /// Whether all is done: no request is sent any more, and no answer is waited for.
    pub(super) const fn is_over(&self, now: u64, in_flight: usize) -> bool {
        self.is_closing(now) && (in_flight == 0 || now >= self.give_up)
    }

    /// What is to be done at `now` with so many calls in flight. What it says is to be sent it counts
    /// as sent.
    pub(super) fn next(&mut self, now: u64, in_flight: usize) -> Next {
        let phase_end = self.phase_end(now);
        if self.is_closing(now) || in_flight >= self.in_flight_at_most {
            return Next::Wait(phase_end);
        }
        let due = match &self.schedule {
            Some(schedule) => schedule.due(self.sent),
            None => now,
        };
        if due > now {
            return Next::Wait(due.min(phase_end));
        }
        self.sent += 1;
        Next::Send {
            number: self.sent,
            due,
        }
    }

    const fn phase_end(&self, now: u64) -> u64 {
        if now < self.window_start {
            self.window_start
        } else if self.is_closing(now) {
            self.give_up
        } else {
            self.window_end
        }
    }

    /// Counts an answer; says whether its request is measured. At a rate those are measured that were
    /// due in the window, otherwise those that were answered in it.
    pub(super) fn answered(&mut self, due: u64, answered: u64) -> bool {
        let at = if self.schedule.is_some() {
            due
        } else {
            answered
        };
        let in_window = (self.window_start..self.window_end).contains(&at);
        if in_window {
            self.last_answer = self.last_answer.max(answered);
        }
        in_window
    }

    /// Requests that were due in the window and were not sent. What was due while it warmed up is not
    /// measured, whether it was sent or not.
    pub(super) fn unsent(&self) -> u64 {
        let Some(schedule) = &self.schedule else {
            return 0;
        };
        let end = self.stopped_at.unwrap_or(self.window_end);
        let mut unsent = 0;
        for number in self.sent.. {
            let due = schedule.due(number);
            if due >= end {
                break;
            }
            unsent += u64::from(due >= self.window_start);
        }
        unsent
    }

    /// From the start of the window to its end, or to the last answer where that came later.
    pub(super) fn duration(&self) -> Duration {
        let end = self.stopped_at.unwrap_or(self.last_answer);
        Duration::from_nanos(end.saturating_sub(self.window_start))
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// When every run of these tests begins; its window is from 1,010 to 1,060 ms.
    const START: u64 = 1_000 * MS;
    const WINDOW: u64 = START + 10 * MS;
    const END: u64 = WINDOW + 50 * MS;
    const GIVE_UP: u64 = END + 2_000 * MS;

    fn pacer(pace: Pace) -> Pacer {
        let (warmup, window) = (Duration::from_millis(10), Duration::from_millis(50));
        Pacer::new(pace, START, warmup, window)
    }

    /// Sends all that is due; how many that were, and what comes next.
    fn send_all(pacer: &mut Pacer, now: u64) -> (u64, u64) {
        let mut sent = 0;
        loop {
            match pacer.next(now, 0) {
                Next::Send { .. } => sent += 1,
                Next::Wait(until) => return (sent, until),
            }
        }
    }

    #[test]
    fn a_rate_is_sent_when_due_and_waits_until_the_next() {
        // One each 500 us.
        let mut pacer = pacer(Pace::Rate(2_000.0));
        let first = Next::Send {
            number: 1,
            due: START,
        };
        assert_eq!(pacer.next(START, 0), first);
        assert_eq!(pacer.next(START, 1), Next::Wait(START + MS / 2));
        // A stall does not shift what is due.
        let late = Next::Send {
            number: 2,
            due: START + MS / 2,
        };
        assert_eq!(pacer.next(START + 3 * MS, 1), late);
        let after_stall = (5, START + 7 * MS / 2);
        assert_eq!(send_all(&mut pacer, START + 3 * MS), after_stall);
    }

    #[test]
    fn a_wait_ends_with_its_phase() {
        // One each 40 ms: the next is due behind the warm-up's end.
        let mut pacer = pacer(Pace::Rate(25.0));
        assert_eq!(send_all(&mut pacer, START), (1, WINDOW));
        assert_eq!(send_all(&mut pacer, WINDOW), (0, START + 40 * MS));
        assert_eq!(send_all(&mut pacer, START + 40 * MS), (1, END));
        assert_eq!(send_all(&mut pacer, END), (0, GIVE_UP));
    }

    #[test]
    fn a_closed_loop_sends_whenever_there_is_room() {
        let mut pacer = pacer(Pace::InFlight(2));
        for (in_flight, number) in [(0, 1), (1, 2)] {
            let send = Next::Send {
                number,
                due: WINDOW,
            };
            assert_eq!(pacer.next(WINDOW, in_flight), send);
        }
        assert_eq!(pacer.next(WINDOW, 2), Next::Wait(END));
        assert_eq!(pacer.unsent(), 0);
    }

    #[test]
    fn a_rate_fills_no_more_than_its_room() {
        let mut pacer = pacer(Pace::Rate(2_000.0));
        let full = pacer.next(WINDOW, MOST_IN_FLIGHT);
        assert_eq!(full, Next::Wait(END));
        let room = pacer.next(WINDOW, MOST_IN_FLIGHT - 1);
        assert!(matches!(room, Next::Send { .. }));
    }

    #[test]
    fn the_run_is_over_with_its_last_answer_or_when_that_takes_too_long() {
        let pacer = pacer(Pace::InFlight(1));
        assert!(!pacer.is_warm(WINDOW - 1) && pacer.is_warm(WINDOW));
        assert!(!pacer.is_closing(END - 1) && pacer.is_closing(END));
        assert!(!pacer.is_over(END - 1, 0) && pacer.is_over(END, 0));
        assert!(!pacer.is_over(GIVE_UP - 1, 1) && pacer.is_over(GIVE_UP, 1));
    }

    #[test]
    fn a_rate_measures_what_was_due_in_the_window_however_late_the_answer() {
        let mut pacer = pacer(Pace::Rate(2_000.0));
        assert!(!pacer.answered(WINDOW - 1, WINDOW));
        assert!(pacer.answered(WINDOW, WINDOW + 1));
        assert_eq!(pacer.duration(), Duration::from_millis(50));
        assert!(pacer.answered(END - 1, END + 7 * MS));
        assert!(!pacer.answered(END, END + 9 * MS));
        assert_eq!(pacer.duration(), Duration::from_millis(57));
    }

    #[test]
    fn a_closed_loop_measures_what_was_answered_in_the_window() {
        let mut pacer = pacer(Pace::InFlight(1));
        assert!(pacer.answered(START, WINDOW));
        assert!(!pacer.answered(START, WINDOW - 1));
        assert!(!pacer.answered(END - 1, END));
        assert_eq!(pacer.duration(), Duration::from_millis(50));
    }

    #[test]
    fn what_was_due_in_the_window_and_not_sent_is_counted() {
        // 20 were due during the warm-up, 100 in the window.
        let mut pacer = pacer(Pace::Rate(2_000.0));
        assert_eq!(pacer.unsent(), 100);
        assert_eq!(send_all(&mut pacer, WINDOW).0, 21);
        assert_eq!(pacer.unsent(), 99);
        pacer.stop(WINDOW + 10 * MS);
        assert_eq!(pacer.unsent(), 19);
    }

    #[test]
    fn the_first_stop_counts_and_one_behind_the_window_does_not() {
        let mut whole = pacer(Pace::InFlight(1));
        whole.stop(END);
        assert!(!whole.is_partial());
        let mut early = pacer(Pace::InFlight(1));
        early.stop(WINDOW + 20 * MS);
        early.stop(WINDOW + 30 * MS);
        assert!(early.is_partial() && early.is_closing(WINDOW + 20 * MS));
        assert_eq!(early.next(WINDOW + 30 * MS, 0), Next::Wait(GIVE_UP));
        assert!(early.answered(WINDOW, WINDOW + 40 * MS));
        assert_eq!(early.duration(), Duration::from_millis(20));
        let mut cold = pacer(Pace::InFlight(1));
        cold.stop(START);
        assert_eq!(cold.duration(), Duration::ZERO);
    }
}
