//! Admission: when there is too much, the least urgent requests are shed first.

use crate::config::Admission;
use corewire_message::Priority;

/// Whether a request of this priority is let in while so many are on their way.
///
/// The least urgent (31) are no longer let in from the soft limit on, the most urgent (0) from the
/// hard limit on, the others in even steps between.
#[must_use]
pub fn admits(admission: &Admission, in_flight: u32, priority: Priority) -> bool {
    let hard = admission.hard_limit;
    let room = u64::from(hard.saturating_sub(admission.soft_limit));
    let lowest = u64::from(Priority::LOWEST.value());
    let less = room * u64::from(priority.value()) / lowest;
    u64::from(in_flight) < u64::from(hard) - less.min(u64::from(hard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_urgent_are_shed_first() {
        let admission = Admission {
            soft_limit: 100,
            hard_limit: 200,
        };
        for (priority, limit) in [(0, 200), (8, 175), (16, 149), (24, 123), (31, 100)] {
            let priority = Priority::try_from(priority).unwrap();
            assert!(
                admits(&admission, limit - 1, priority),
                "{priority:?} below {limit}"
            );
            assert!(
                !admits(&admission, limit, priority),
                "{priority:?} at {limit}"
            );
        }
    }

    proptest! {
        #[test]
        fn who_is_more_urgent_is_let_in_wherever_the_less_urgent_is(
            soft_limit: u32, hard_limit: u32, in_flight: u32, a in 0_u8..32, b in 0_u8..32,
        ) {
            let admission = Admission { soft_limit, hard_limit };
            let of = |value| admits(&admission, in_flight, Priority::try_from(value).unwrap());
            prop_assert!(of(a.min(b)) || !of(a.max(b)));
            prop_assert!(in_flight < hard_limit || !of(a));
        }
    }
}
