//! Which calls begin, which wait and which are refused: a core that is given the time.

use corewire_message::Priority;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// What is taken at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverloadLimits {
    /// Calls in progress. Default 4096; zero counts as one.
    pub in_progress: usize,
    /// Calls that wait for one of those to end. Default 4096.
    pub waiting: usize,
    /// How long one waits at most: after that its caller has better tried elsewhere. Default 500 ms.
    pub longest_wait: Duration,
}

impl Default for OverloadLimits {
    fn default() -> Self {
        Self {
            in_progress: 4096,
            waiting: 4096,
            longest_wait: Duration::from_millis(500),
        }
    }
}

/// A call that waits, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ticket(u64);

/// What becomes of a call that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Begins,
    Waits(Ticket),
    Refused,
}

/// What became of a call that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Begins(Ticket),
    Refused(Ticket),
}

/// Calls in progress and calls that wait, the most urgent first and among equals the oldest.
///
/// When no more may wait the least urgent is refused: the one that comes, unless one that waits is less
/// urgent still.
#[derive(Debug)]
pub(super) struct Admission {
    limits: OverloadLimits,
    in_progress: usize,
    /// By priority (0 is the most urgent), then by age.
    waiting: BTreeMap<(Priority, Ticket), Instant>,
    outcomes: VecDeque<Outcome>,
    next: u64,
}

impl Admission {
    pub(super) const fn new(limits: OverloadLimits) -> Self {
        Self {
            limits,
            in_progress: 0,
            waiting: BTreeMap::new(),
            outcomes: VecDeque::new(),
            next: 0,
        }
    }

    /// A call comes.
    pub(super) fn arrive(&mut self, now: Instant, priority: Priority) -> Verdict {
        self.expire(now);
        if self.in_progress < self.limits.in_progress.max(1) {
            self.in_progress += 1;
            return Verdict::Begins;
        }
        if self.waiting.len() >= self.limits.waiting {
            let last = self.waiting.last_key_value().map(|(key, _)| *key);
            match last {
                Some(least) if least.0 > priority => {
                    self.waiting.remove(&least);
                    self.outcomes.push_back(Outcome::Refused(least.1));
                }
                _ => return Verdict::Refused,
            }
        }
        let ticket = Ticket(self.next);
        self.next += 1;
        self.waiting.insert((priority, ticket), now);
        Verdict::Waits(ticket)
    }

    /// A call that was in progress has ended: the most urgent of those that wait begins.
    pub(super) fn end(&mut self, now: Instant) {
        self.in_progress = self.in_progress.saturating_sub(1);
        self.expire(now);
        if let Some(((_, ticket), _)) = self.waiting.pop_first() {
            self.in_progress += 1;
            self.outcomes.push_back(Outcome::Begins(ticket));
        }
    }

    /// The caller of a call that waits has given it up.
    pub(super) fn give_up(&mut self, priority: Priority, ticket: Ticket) {
        self.waiting.remove(&(priority, ticket));
    }

    /// What became of calls that waited.
    pub(super) fn poll(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// Refuses those that have waited for too long: of the most urgent, which would begin next, and of the
    /// least urgent, whose place others want. Those between them come to one of the ends.
    fn expire(&mut self, now: Instant) {
        let longest = self.limits.longest_wait;
        let is_late = |since: &Instant| now.saturating_duration_since(*since) > longest;
        while let Some(first) = self
            .waiting
            .first_entry()
            .filter(|entry| is_late(entry.get()))
        {
            let ((_, ticket), _) = first.remove_entry();
            self.outcomes.push_back(Outcome::Refused(ticket));
        }
        while let Some(last) = self
            .waiting
            .last_entry()
            .filter(|entry| is_late(entry.get()))
        {
            let ((_, ticket), _) = last.remove_entry();
            self.outcomes.push_back(Outcome::Refused(ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn priority(value: u8) -> Priority {
        Priority::try_from(value).unwrap()
    }

    fn limits(in_progress: usize, waiting: usize) -> OverloadLimits {
        OverloadLimits {
            in_progress,
            waiting,
            ..OverloadLimits::default()
        }
    }

    fn outcomes(core: &mut Admission) -> Vec<Outcome> {
        std::iter::from_fn(|| core.poll()).collect()
    }

    #[test]
    fn the_most_urgent_begins_first_and_among_equals_the_oldest() {
        let now = Instant::now();
        let mut core = Admission::new(limits(1, 10));
        assert_eq!(core.arrive(now, Priority::NORMAL), Verdict::Begins);
        for value in [24, 3, 31, 3] {
            assert!(matches!(
                core.arrive(now, priority(value)),
                Verdict::Waits(_)
            ));
        }
        for _ in 0..4 {
            core.end(now);
        }
        let begun = [1, 3, 0, 2].map(|number| Outcome::Begins(Ticket(number)));
        assert_eq!(outcomes(&mut core), begun);
    }

    #[test]
    fn the_least_urgent_is_refused_when_no_more_may_wait() {
        let now = Instant::now();
        let mut core = Admission::new(limits(1, 2));
        assert_eq!(core.arrive(now, priority(5)), Verdict::Begins);
        assert_eq!(core.arrive(now, priority(20)), Verdict::Waits(Ticket(0)));
        assert_eq!(core.arrive(now, priority(30)), Verdict::Waits(Ticket(1)));
        assert_eq!(core.arrive(now, priority(30)), Verdict::Refused);
        assert_eq!(core.arrive(now, priority(31)), Verdict::Refused);
        assert_eq!(core.arrive(now, priority(10)), Verdict::Waits(Ticket(2)));
        assert_eq!(outcomes(&mut core), [Outcome::Refused(Ticket(1))]);
        assert_eq!(core.arrive(now, priority(20)), Verdict::Refused);
        assert_eq!(core.arrive(now, priority(0)), Verdict::Waits(Ticket(3)));
        assert_eq!(outcomes(&mut core), [Outcome::Refused(Ticket(0))]);
    }

    #[test]
    fn a_call_that_has_waited_for_too_long_is_refused() {
        let mut now = Instant::now();
        let mut core = Admission::new(limits(1, 10));
        assert_eq!(core.arrive(now, Priority::NORMAL), Verdict::Begins);
        assert_eq!(
            core.arrive(now, Priority::NORMAL),
            Verdict::Waits(Ticket(0))
        );
        now += Duration::from_millis(400);
        assert_eq!(
            core.arrive(now, Priority::NORMAL),
            Verdict::Waits(Ticket(1))
        );
        now += Duration::from_millis(101);
        core.end(now);
        let expected = [Outcome::Refused(Ticket(0)), Outcome::Begins(Ticket(1))];
        assert_eq!(outcomes(&mut core), expected);
    }

    #[test]
    fn a_call_that_is_given_up_does_not_begin() {
        let now = Instant::now();
        let mut core = Admission::new(limits(1, 10));
        core.arrive(now, Priority::NORMAL);
        core.arrive(now, Priority::NORMAL);
        core.give_up(Priority::NORMAL, Ticket(0));
        core.end(now);
        assert_eq!(outcomes(&mut core), []);
        assert_eq!(core.arrive(now, Priority::NORMAL), Verdict::Begins);
    }

    proptest! {
        #[test]
        fn no_more_are_in_progress_or_wait_than_may(
            steps in prop::collection::vec((0u8..3, 0u8..32, 0u64..300), 1..300)
        ) {
            let mut now = Instant::now();
            let mut core = Admission::new(limits(3, 5));
            let (mut running, mut waiting) = (0_usize, Vec::new());
            for (step, value, millis) in steps {
                now += Duration::from_millis(millis / 10);
                match step {
                    0 | 1 => match core.arrive(now, priority(value)) {
                        Verdict::Begins => running += 1,
                        Verdict::Waits(ticket) => waiting.push((priority(value), ticket)),
                        Verdict::Refused => {
                            prop_assert!(waiting.iter().all(|(other, _)| *other <= priority(value)));
                        }
                    },
                    _ if running > 0 => {
                        running -= 1;
                        core.end(now);
                    }
                    _ => {}
                }
                while let Some(outcome) = core.poll() {
                    let (Outcome::Begins(ticket) | Outcome::Refused(ticket)) = outcome;
                    let place = waiting.iter().position(|(_, other)| *other == ticket);
                    waiting.remove(place.expect("it waited"));
                    running += usize::from(matches!(outcome, Outcome::Begins(_)));
                }
                prop_assert!(running <= 3 && waiting.len() <= 5);
                prop_assert_eq!(core.waiting.len(), waiting.len());
                prop_assert!(waiting.is_empty() || running == 3, "none waits for nothing");
            }
        }
    }
}
