//! Neighbours: other work on the same cores while a run is measured, since a network function is never
//! alone on its machine.
//!
//! A neighbour is a loop on every core, in threads of the lab itself, so that it ends with the lab
//! and counts as the lab's in `machine_load`. A quota is none that works: the ends may use so much of
//! their cores and no more, which the kernel sees to ([`CpuPlan::bound`]).

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::ValueEnum;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;
use serde::{Deserialize, Serialize};

use crate::process::{CpuPlan, Cpus};
use crate::record::{Cell, Failure};
use crate::scenario::Plan;

/// The setting of a cell that names its neighbour.
pub(crate) const SETTING: &str = "neighbour";
/// The option of a record that names all of its session, for `--resume`.
pub(crate) const OPTION: &str = "neighbours";

/// How much nicer [`Neighbour::Low`] is than the ends: a tenth of their weight.
const LOW: i32 = 10;
/// How long bursts are.
const BURSTS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];
/// Between two bursts, at random up to so long.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Rounds of the loop between two looks at whether it is to end.
const ROUNDS: u32 = 2_000;

/// Other work on the cores, or a bound on what both ends may use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Neighbour {
    /// No other work
    None,
    /// A busy loop on each core at nice 10: a tenth of the weight
    Low,
    /// A busy loop on each core, of the same weight
    Same,
    /// On each core bursts of 1 or 10 ms, at random, of the same weight; idle half of the time and more
    Burst,
    /// Each end may use one core's time, by a cgroup's CPU quota (needs the right to make cgroups)
    #[value(alias = "quota-100")]
    Quota,
    /// Each end may use half of one core's time
    #[value(name = "quota-50")]
    #[serde(rename = "quota-50")]
    HalfQuota,
}

impl Neighbour {
    /// The share of one core that each end may use.
    const fn quota_percent(self) -> Option<u32> {
        match self {
            Self::Quota => Some(100),
            Self::HalfQuota => Some(50),
            Self::None | Self::Low | Self::Same | Self::Burst => None,
        }
    }

    /// Whether it is loops of our own.
    const fn works(self) -> bool {
        matches!(self, Self::Low | Self::Same | Self::Burst)
    }

    /// That of a cell.
    pub(crate) fn of(cell: &Cell) -> Self {
        let name = cell.settings.get(SETTING).map_or("none", String::as_str);
        Self::from_str(name, false).unwrap_or(Self::None)
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// The same plan beside each of the neighbours: turn by turn, so that they take turns, too.
pub(crate) fn beside(plan: Plan, neighbours: &[Neighbour]) -> Plan {
    let count = u32::try_from(neighbours.len().max(1)).unwrap_or(u32::MAX);
    let mut turns = Vec::new();
    for turn in plan.turns {
        for &neighbour in neighbours {
            let mut turn = turn.clone();
            if neighbour != Neighbour::None {
                turn.title.push_str(&format!(", neighbour {neighbour}"));
                for step in &mut turn.steps {
                    let name = neighbour.to_string();
                    step.cell.settings.insert(SETTING.to_owned(), name);
                }
            }
            turns.push(turn);
        }
    }
    Plan {
        turns,
        budget: plan.budget.map(|budget| budget * count),
        notes: plan.notes,
        neighbours: neighbours.to_vec(),
    }
}

/// The neighbour of a run, at work until this is dropped.
#[derive(Debug)]
pub(crate) struct AtWork {
    ended: Arc<AtomicBool>,
    loops: Vec<JoinHandle<()>>,
}

impl AtWork {
    /// Has it begin, on every core that this process may use; bounds the ends that run by this plan.
    ///
    /// # Errors
    /// When threads cannot be started or held to their cores, when there is no quota here or nothing
    /// that it would bound.
    pub(crate) fn begin(neighbour: Neighbour, ends: Option<&mut CpuPlan>) -> Result<Self, Failure> {
        let mut this = Self {
            ended: Arc::default(),
            loops: Vec::new(),
        };
        this.settle(neighbour, ends).map_err(|error| Failure {
            what: format!("{error:#}"),
            place: format!("starting the neighbour {neighbour}"),
            next: "leave this --neighbour out".to_owned(),
        })?;
        Ok(this)
    }

    fn settle(&mut self, neighbour: Neighbour, ends: Option<&mut CpuPlan>) -> anyhow::Result<()> {
        match (neighbour.quota_percent(), ends) {
            (Some(percent), Some(ends)) => ends.bound(percent)?,
            (Some(_), None) => {
                bail!("this scenario starts its processes by itself: no quota can be set on them")
            }
            (None, _) => {}
        }
        if !neighbour.works() {
            return Ok(());
        }
        for (number, core) in Cpus::allowed()?.each().enumerate() {
            let ended = Arc::clone(&self.ended);
            let (sender, begun) = std::sync::mpsc::channel();
            let work = move || {
                let settled = settle_in(neighbour, &core);
                let is_settled = settled.is_ok();
                // `settle` waits for this before it starts the next one.
                let _ = sender.send(settled);
                match neighbour {
                    _ if !is_settled => {}
                    Neighbour::Burst => bursts(&ended, number as u64),
                    _ => busy(&ended, None),
                }
            };
            let named = thread::Builder::new().name("neighbour".into());
            self.loops.push(named.spawn(work)?);
            begun.recv()??;
        }
        Ok(())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for one in self.loops.drain(..) {
            // It cannot panic.
            let _ = one.join();
        }
    }
}

fn settle_in(neighbour: Neighbour, core: &Cpus) -> io::Result<()> {
    core.hold_this_thread()?;
    if neighbour == Neighbour::Low {
        // Linux takes a thread's number here, and then it is of that thread alone. The ends have what the
        // lab was started with.
        let own = getpriority_process(Some(gettid()))?;
        setpriority_process(Some(gettid()), own + LOW)?;
    }
    Ok(())
}

/// Works until then, or until it is ended.
fn busy(ended: &AtomicBool, until: Option<Instant>) {
    while !ended.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
        for round in 0..ROUNDS {
            std::hint::black_box(round);
        }
    }
}

fn bursts(ended: &AtomicBool, seed: u64) {
    let mut random = seed;
    while !ended.load(Ordering::Relaxed) {
        let length = BURSTS[(next(&mut random) % 2) as usize];
        busy(ended, Some(Instant::now() + length));
        let pause = next(&mut random) % LONGEST_PAUSE.as_micros() as u64;
        thread::sleep(Duration::from_micros(pause));
    }
}

/// SplitMix64: the same bursts in every run.
const fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Length, Step, Turn};

    #[test]
    fn each_turn_is_run_beside_each_neighbour_and_told_apart() {
        let step = Step {
            cell: crate::record::tests::example().cell,
            repetition: 1,
            length: Length::Requests(1),
            expected: Duration::from_secs(1),
            hole: None,
        };
        let plan = Plan {
            turns: vec![Turn {
                title: "a".into(),
                steps: vec![step],
                overhead: Duration::ZERO,
            }],
            budget: Some(Duration::from_secs(60)),
            ..Plan::default()
        };
        let plan = beside(plan, &[Neighbour::None, Neighbour::HalfQuota]);
        let found = plan
            .turns
            .iter()
            .map(|turn| Neighbour::of(&turn.steps[0].cell));
        let found: Vec<_> = found.collect();
        assert_eq!(found, [Neighbour::None, Neighbour::HalfQuota]);
        assert_eq!(plan.turns[1].title, "a, neighbour quota-50");
        assert_eq!(plan.turns[1].steps[0].cell.settings[SETTING], "quota-50");
        assert!(plan.turns[0].steps[0].cell.settings.is_empty());
        assert_eq!(plan.budget, Some(Duration::from_secs(120)));
    }

    #[test]
    fn a_neighbour_works_until_it_is_dropped() {
        for neighbour in [Neighbour::Low, Neighbour::Same, Neighbour::Burst] {
            let at_work = AtWork::begin(neighbour, None).expect("threads");
            assert!(!at_work.loops.is_empty());
            assert!(at_work.loops.iter().all(|one| !one.is_finished()));
        }
        let alone = AtWork::begin(Neighbour::None, None).expect("nothing to do");
        assert!(alone.loops.is_empty());
        let of_thread = |neighbour| {
            let settled = thread::spawn(move || {
                settle_in(neighbour, &Cpus::allowed()?.first())?;
                anyhow::Ok(getpriority_process(Some(gettid()))?)
            });
            settled.join().expect("no panic").expect("settles in")
        };
        let own = getpriority_process(None).expect("our own");
        assert_eq!(of_thread(Neighbour::Low), (own + LOW).min(19));
        assert_eq!(of_thread(Neighbour::Same), own);
        let refused = AtWork::begin(Neighbour::Quota, None).expect_err("nothing to bound");
        assert!(refused.what.contains("quota"), "{refused}");
    }
}
