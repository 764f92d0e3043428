//! The three profiles: how much of the brief's experiments is run, and for how long.

use std::time::Duration;

use super::condition::{Condition, Nagle, Pin};
use crate::args::Profile;

/// The brief's rates below the highest, messages a second: its tables 2 and 3.
const RATES: [u64; 6] = [100, 850, 4_000, 8_000, 10_000, 39_000];
/// Its table 3.
const LOW_RATES: [u64; 2] = [1, 10];
/// The rate at which latencies are compared.
const COMPARED: u64 = 10_000;
/// About the highest rates that gRPC reaches with its buffer hint, and real RMR too, by the machine:
/// what latency ours have there. The second is beyond what it reached anywhere.
pub(crate) const HIGH: [u64; 2] = [300_000, 600_000];
/// The size of a usual message, and of the smallest.
const USUAL: u64 = 1_000;
const SMALL: u64 = 16;
const LARGE: u64 = 4_096;

/// Those for which Nagle's algorithm, routes and numbers of processes are varied: our own, and the
/// real one.
const ROUTERS: &[&str] = &["si95", "native", "rmr"];
/// Those of the brief's table 5.
const GRPC: &[&str] = &["grpc", "grpc-hint"];
/// Those that reach the high rate.
const FAST: &[&str] = &["si95", "si95-gather", "native", "rmr", "grpc-hint"];
/// Ours, which reach more.
const FASTEST: &[&str] = &["si95-gather", "native"];
/// Those whose latencies at the compared rate are judged, and the others.
const JUDGED: &[&str] = &[
    "si95",
    "si95-gather",
    "native",
    "shm",
    "rmr",
    "grpc",
    "grpc-hint",
];
const UNJUDGED: &[&str] = &["nng", "nng-raw", "rmr-to-si95", "si95-to-rmr"];
/// Those whose table a route manager can swap.
const SWAPPED: &[&str] = &["si95", "native", "rmr"];

/// A percentile that is to decide something needs more than a rate does: at 10,000/s this is 30,000
/// messages a run, so that what the machine does besides comes into every run, not into one of two.
const PERCENTILE_WINDOW: Duration = Duration::from_secs(3);
const PERCENTILE_REPETITIONS: u32 = 9;

/// How long a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    /// An equal share of what the budget leaves.
    Share,
    Each(Duration),
}

/// Runs that differ in the subject only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) condition: Condition,
    /// Names of the subjects that take part; all when there are none.
    pub(super) subjects: &'static [&'static str],
    pub(super) repetitions: u32,
    pub(super) amount: Amount,
}

impl Group {
    fn new(condition: Condition, repetitions: u32, amount: Amount) -> Self {
        Self {
            condition,
            subjects: &[],
            repetitions,
            amount,
        }
    }

    fn only(self, subjects: &'static [&'static str]) -> Self {
        Self { subjects, ..self }
    }
}

/// A profile in figures.
#[derive(Debug)]
pub(super) struct Spec {
    /// What the session promises to keep to.
    pub(super) budget: Option<Duration>,
    pub(super) longest_window: Duration,
    pub(super) warm_up: Duration,
    pub(super) baseline: Duration,
    /// Of what the command line asks for.
    pub(super) repetitions: u32,
    pub(super) amount: Amount,
    pub(super) groups: Vec<Group>,
    pub(super) grid_note: &'static str,
}

impl Spec {
    pub(super) fn of(profile: Profile) -> Self {
        match profile {
            Profile::Smoke => smoke(),
            Profile::Quick => quick(),
            // `run` refuses the last two, which are guti's.
            Profile::Full | Profile::Cells | Profile::Floor => full(),
        }
    }
}

/// Repetitions and time of a cell at `rate` where nothing else is said.
pub(super) fn usual(rate: Option<u64>, spec: &Spec) -> (u32, Amount) {
    match rate {
        // Too few messages for a 99th percentile, whatever the repetitions.
        Some(rate) if rate < COMPARED => (
            spec.repetitions,
            long_enough(rate, spec.longest_window, PERCENTILE_WINDOW),
        ),
        Some(COMPARED) if spec.repetitions > 1 => (
            spec.repetitions.max(PERCENTILE_REPETITIONS),
            Amount::Each(spec.longest_window.max(PERCENTILE_WINDOW)),
        ),
        _ => (spec.repetitions, spec.amount),
    }
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn max(size: u64) -> Condition {
    Condition::plain(None, size)
}

fn rated(rate: u64) -> Condition {
    Condition::plain(Some(rate), USUAL)
}

/// A rate needs time for its messages: a thousand of them, within reason.
fn long_enough(rate: u64, least: Duration, most: Duration) -> Amount {
    Amount::Each(Duration::from_secs_f64(1000.0 / rate as f64).clamp(least, most))
}

/// Does everything work? Well under a minute; no figure of it means much.
fn smoke() -> Spec {
    let each = Amount::Each(millis(200));
    Spec {
        budget: Some(Duration::from_secs(50)),
        longest_window: millis(200),
        warm_up: millis(50),
        baseline: millis(100),
        repetitions: 1,
        amount: each,
        groups: vec![
            Group::new(max(USUAL), 1, each),
            Group::new(rated(COMPARED), 1, each),
            Group::new(
                Condition {
                    receivers: 2,
                    senders: 2,
                    pin: Pin::None,
                    ..max(SMALL)
                },
                1,
                each,
            )
            .only(ROUTERS),
            Group::new(
                Condition {
                    routes: 100,
                    swaps_per_s: 10,
                    ..max(USUAL)
                },
                1,
                each,
            )
            .only(SWAPPED),
        ],
        grid_note: "smoke shows that everything works; it names no winner",
    }
}

/// Nagle's algorithm and pinning, as the brief's table 4 combines them.
fn tuning(repetitions: u32, amount: Amount, mtu: Option<u32>) -> Vec<Group> {
    let mut groups = Vec::new();
    for nagle in [Nagle::On, Nagle::Off] {
        for pin in [Pin::None, Pin::Receiver, Pin::Both] {
            let condition = Condition {
                nagle,
                pin,
                mtu,
                ..max(USUAL)
            };
            if condition == max(USUAL) {
                continue;
            }
            let group = Group::new(condition.clone(), repetitions, amount);
            let as_usual = nagle == Nagle::Off && pin == Pin::Both;
            // The usual setting over another link is for everyone.
            groups.push(if as_usual { group } else { group.only(ROUTERS) });
        }
    }
    groups
}

/// Numbers of processes, entries and swaps.
fn sweeps(
    repetitions: u32,
    amount: Amount,
    counts: &[u32],
    routes: &[u32],
    swaps: &[u32],
) -> Vec<Group> {
    let mut groups = Vec::new();
    for &count in counts {
        for (senders, receivers) in [(count, 1), (1, count)] {
            let condition = Condition {
                senders,
                receivers,
                ..max(USUAL)
            };
            groups.push(Group::new(condition, repetitions, amount).only(ROUTERS));
        }
    }
    for &routes in routes {
        for &swaps_per_s in swaps {
            let condition = Condition {
                routes,
                swaps_per_s,
                ..max(USUAL)
            };
            groups.push(Group::new(condition, repetitions, amount).only(SWAPPED));
        }
    }
    groups
}

/// The tables and figures in about nine minutes, thinned.
fn quick() -> Spec {
    let share = Amount::Share;
    let percentiles = Amount::Each(PERCENTILE_WINDOW);
    let mut groups = vec![
        Group::new(max(USUAL), 5, share),
        Group::new(max(SMALL), 5, share),
        Group::new(rated(COMPARED), PERCENTILE_REPETITIONS, percentiles).only(JUDGED),
        Group::new(rated(COMPARED), 1, percentiles).only(UNJUDGED),
        Group::new(rated(HIGH[0]), 5, share).only(FAST),
        Group::new(rated(HIGH[1]), 5, share).only(FASTEST),
    ];
    for rate in RATES.into_iter().filter(|&rate| rate != COMPARED) {
        let amount = long_enough(rate, millis(300), millis(800));
        groups.push(Group::new(rated(rate), 1, amount));
    }
    groups.extend(tuning(1, share, None));
    groups.push(
        Group::new(
            Condition {
                nagle: Nagle::On,
                ..rated(COMPARED)
            },
            1,
            share,
        )
        .only(ROUTERS),
    );
    for size in [SMALL, USUAL] {
        let unpinned = Condition {
            pin: Pin::None,
            ..max(size)
        };
        groups.push(Group::new(unpinned, 1, share).only(GRPC));
    }
    groups.push(
        Group::new(
            Condition {
                receivers: 2,
                nagle: Nagle::On,
                ..max(USUAL)
            },
            1,
            share,
        )
        .only(ROUTERS),
    );
    groups.extend(sweeps(5, share, &[2, 4, 8], &[10_000], &[0, 10]));
    Spec {
        budget: Some(Duration::from_secs(600)),
        longest_window: millis(500),
        warm_up: millis(100),
        baseline: millis(100),
        repetitions: 5,
        amount: share,
        groups,
        grid_note: "quick repeats five times what the requirements compare (1000 B and 16 B at the \
                    highest rate, numbers of processes, tables swapped) and nine times, for three \
                    seconds, what is compared at 10,000/s; everything else is run once, so no \
                    winner is named there. No MTU: name one with --mtu, or take --profile full",
    }
}

/// The brief's own rates, sizes, MTUs and settings, each five times.
fn full() -> Spec {
    let five = Amount::Each(Duration::from_secs(5));
    let mut groups = Vec::new();
    for size in [USUAL, SMALL, LARGE] {
        groups.push(Group::new(max(size), 5, five));
    }
    for rate in RATES {
        let amount = long_enough(rate, Duration::from_secs(5), Duration::from_secs(10));
        let repetitions = if rate == COMPARED {
            PERCENTILE_REPETITIONS
        } else {
            5
        };
        groups.push(Group::new(rated(rate), repetitions, amount));
    }
    groups.push(Group::new(rated(HIGH[0]), 5, five).only(FAST));
    groups.push(Group::new(rated(HIGH[1]), 5, five).only(FASTEST));
    for rate in LOW_RATES {
        let amount = long_enough(rate, Duration::from_secs(60), Duration::from_secs(60));
        groups.push(Group::new(rated(rate), 1, amount));
    }
    groups.extend(tuning(5, five, None));
    for mtu in [9_000, 1_500] {
        groups.extend(tuning(5, five, Some(mtu)));
        let small = Condition {
            mtu: Some(mtu),
            ..max(SMALL)
        };
        groups.push(Group::new(small, 5, five));
    }
    for size in [SMALL, USUAL] {
        let unpinned = Condition {
            pin: Pin::None,
            ..max(size)
        };
        groups.push(Group::new(unpinned, 5, five).only(GRPC));
    }
    groups.push(
        Group::new(
            Condition {
                receivers: 2,
                nagle: Nagle::On,
                ..max(USUAL)
            },
            5,
            five,
        )
        .only(ROUTERS),
    );
    groups.extend(sweeps(
        5,
        five,
        &[2, 4, 8],
        &[10, 100, 1_000, 10_000],
        &[0, 1, 10],
    ));
    Spec {
        budget: None,
        longest_window: Duration::from_secs(5),
        warm_up: Duration::from_secs(1),
        baseline: Duration::from_secs(1),
        repetitions: 5,
        amount: five,
        groups,
        grid_note: "full runs the brief's rates, sizes, MTUs and settings, five times each; rates \
                    of 1 and 10 a second for a minute, not for its half an hour",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_there_twice() {
        let shared = |one: &Group, other: &Group| {
            one.subjects.is_empty()
                || other.subjects.is_empty()
                || one
                    .subjects
                    .iter()
                    .any(|name| other.subjects.contains(name))
        };
        for profile in [Profile::Smoke, Profile::Quick, Profile::Full] {
            let groups = Spec::of(profile).groups;
            for (at, group) in groups.iter().enumerate() {
                let again = groups[at + 1..]
                    .iter()
                    .any(|other| other.condition == group.condition && shared(group, other));
                assert!(!again, "{profile:?}: {}", group.condition);
            }
        }
    }

    #[test]
    fn what_the_requirements_compare_has_five_repetitions() {
        for profile in [Profile::Quick, Profile::Full] {
            let groups = Spec::of(profile).groups;
            let swapped = |swaps_per_s| Condition {
                routes: 10_000,
                swaps_per_s,
                ..max(USUAL)
            };
            for wanted in [
                max(USUAL),
                max(SMALL),
                rated(COMPARED),
                rated(HIGH[0]),
                rated(HIGH[1]),
                swapped(0),
                swapped(10),
            ] {
                let group = groups.iter().find(|group| group.condition == wanted);
                assert!(
                    group.is_some_and(|group| group.repetitions >= 5),
                    "{wanted}"
                );
            }
        }
    }
}
