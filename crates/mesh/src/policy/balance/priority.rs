//! Priorities: who gets how much when some of the preferred endpoints are gone.

/// How the endpoints of one priority are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "counts of the three ways to be")]
pub struct Availability {
    /// How many can be used.
    pub healthy: u32,
    /// How many can be used but should not, if others can.
    pub degraded: u32,
    /// How many there are.
    pub total: u32,
}

/// Which endpoints of a priority get a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the healthy, the degraded, or all")]
pub enum Members {
    /// Those that can be used.
    Healthy,
    /// Those that are degraded.
    Degraded,
    /// All, since too few can be used: panic.
    All,
}

/// A share of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "who and how much")]
pub struct Share {
    /// Of which priority.
    pub priority: usize,
    /// Which of its endpoints.
    pub members: Members,
    /// In percent.
    pub percent: u32,
}

/// Shares out the traffic among priorities, as Envoy does ("Priority levels").
///
/// A priority bears `overprovisioning` percent of the traffic that its healthy part stands for, at
/// most all; what it cannot bear spills to the next. When all together cannot bear it, each takes
/// its part of the whole, and those of which fewer than `panic_threshold` percent are healthy use
/// all their endpoints: some of those that look ill may not be.
#[must_use]
pub fn shares(
    priorities: &[Availability],
    overprovisioning: u32,
    panic_threshold: u8,
) -> Vec<Share> {
    let bears = |count: u32, total: u32| match total {
        0 => 0,
        total => {
            let percent = u64::from(overprovisioning) * u64::from(count) / u64::from(total);
            u32::try_from(percent.min(100)).unwrap_or(100)
        }
    };
    let healthy: Vec<u32> = priorities
        .iter()
        .map(|it| bears(it.healthy, it.total))
        .collect();
    let degraded: Vec<u32> = priorities
        .iter()
        .map(|it| bears(it.degraded, it.total))
        .collect();
    let together = healthy.iter().chain(&degraded).sum::<u32>().min(100);
    if together == 0 {
        // Nobody can: all of the first that has any, or nobody.
        let first = priorities.iter().position(|it| it.total > 0);
        let share = first.filter(|_| panic_threshold > 0).map(|priority| Share {
            priority,
            members: Members::All,
            percent: 100,
        });
        return share.into_iter().collect();
    }
    let panics = |it: &Availability| {
        together < 100
            && it.total > 0
            && u64::from(it.healthy) * 100 < u64::from(panic_threshold) * u64::from(it.total)
    };
    let mut left = 100;
    let mut shares = Vec::new();
    for (members, bear) in [(Members::Healthy, healthy), (Members::Degraded, degraded)] {
        for (priority, bears) in bear.into_iter().enumerate() {
            let percent = (bears * 100 / together).min(left);
            if percent > 0 {
                left -= percent;
                let members = if panics(&priorities[priority]) {
                    Members::All
                } else {
                    members
                };
                shares.push(Share {
                    priority,
                    members,
                    percent,
                });
            }
        }
    }
    // What rounding left over.
    if let Some(first) = shares.first_mut() {
        first.percent += left;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(healthy: u32, total: u32) -> Availability {
        Availability {
            healthy,
            degraded: 0,
            total,
        }
    }

    fn percents(priorities: &[Availability]) -> Vec<(usize, u32)> {
        shares(priorities, 140, 50)
            .iter()
            .map(|share| (share.priority, share.percent))
            .collect()
    }

    #[test]
    fn traffic_spills_over_as_endpoints_go() {
        // Envoy's own table: two priorities of which the second is whole.
        for (healthy, expected) in [
            (100, vec![(0, 100)]),
            (72, vec![(0, 100)]),
            (71, vec![(0, 99), (1, 1)]),
            (50, vec![(0, 70), (1, 30)]),
            (25, vec![(0, 35), (1, 65)]),
            (0, vec![(1, 100)]),
        ] {
            assert_eq!(
                percents(&[of(healthy, 100), of(100, 100)]),
                expected,
                "{healthy}"
            );
        }
        assert_eq!(percents(&[of(25, 100), of(25, 100)]), [(0, 50), (1, 50)]);
        assert_eq!(percents(&[of(0, 0), of(3, 3)]), [(1, 100)]);
    }

    #[test]
    fn too_few_healthy_ones_are_helped_by_all() {
        let all = shares(&[of(2, 10)], 140, 50);
        assert_eq!((all[0].members, all[0].percent), (Members::All, 100));
        let enough = shares(&[of(8, 10)], 140, 50);
        assert_eq!(enough[0].members, Members::Healthy);
        let without_panic = shares(&[of(2, 10)], 140, 0);
        assert_eq!(without_panic[0].members, Members::Healthy);
        // Others can bear it: no panic.
        let spilled = shares(&[of(2, 10), of(10, 10)], 140, 50);
        assert!(
            spilled
                .iter()
                .all(|share| share.members == Members::Healthy)
        );
    }

    #[test]
    fn at_the_threshold_healthy_ones_are_enough_and_below_it_all_help() {
        for (healthy, members) in [(49, Members::All), (50, Members::Healthy)] {
            let found = shares(&[of(healthy, 100)], 100, 50);
            assert_eq!(found[0].members, members, "{healthy} of 100");
        }
    }

    #[test]
    fn when_nobody_is_healthy_all_are_tried_or_none() {
        let all = shares(&[of(0, 0), of(0, 5)], 140, 50);
        assert_eq!((all[0].priority, all[0].members), (1, Members::All));
        assert!(shares(&[of(0, 5)], 140, 0).is_empty());
        assert!(shares(&[], 140, 50).is_empty());
        assert!(shares(&[of(0, 0)], 140, 50).is_empty());
    }

    #[test]
    fn degraded_ones_are_used_after_all_healthy_ones() {
        let some = Availability {
            healthy: 1,
            degraded: 3,
            total: 4,
        };
        let shares = shares(&[some, of(1, 4)], 140, 50);
        let found: Vec<_> = shares
            .iter()
            .map(|it| (it.priority, it.members, it.percent))
            .collect();
        assert_eq!(
            found,
            [
                (0, Members::Healthy, 35),
                (1, Members::Healthy, 35),
                (0, Members::Degraded, 30)
            ]
        );
    }

    proptest! {
        #[test]
        fn all_of_the_traffic_is_shared_out(
            counts in prop::collection::vec((0_u32..50, 0_u32..50, 0_u32..50), 0..5),
            overprovisioning in 100_u32..300, panic in 0_u8..=100,
        ) {
            let priorities: Vec<_> = counts.iter().map(|(healthy, degraded, ill)| Availability {
                healthy: *healthy, degraded: *degraded, total: healthy + degraded + ill,
            }).collect();
            let shares = shares(&priorities, overprovisioning, panic);
            let total: u32 = shares.iter().map(|share| share.percent).sum();
            let usable = priorities.iter().any(|it| it.healthy + it.degraded > 0);
            if usable { prop_assert!(total == 100 || shares.is_empty()); }
            for share in &shares {
                let of = priorities[share.priority];
                match share.members {
                    Members::Healthy => prop_assert!(of.healthy > 0),
                    Members::Degraded => prop_assert!(of.degraded > 0),
                    Members::All => prop_assert!(of.total > 0),
                }
            }
        }
    }
}
