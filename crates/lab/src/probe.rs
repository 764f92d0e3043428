//! How far apart two cores are at this moment: the time that a line of cache needs to go to the other
//! core and back.
//!
//! A hypervisor may move virtual cores between real ones that share a cache and real ones that do not.
//! Nothing else tells: each core computes as fast as before, no time is stolen, and yet every message
//! between the two takes two to eight times as long on its way through caches
//! (`docs/journal/machine-states.md`, "The machine's two states"). So a session asks before and after each run.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::CpuPlan;

/// Round trips that are timed together.
const TRIPS: u64 = 200;
/// How often: the middle one counts, so that neither an interrupt nor a change of cores does.
const ROUNDS: usize = 9;
/// Fewer say nothing.
const FEWEST: usize = 5;
/// An end that waits longer has no partner: its core is taken by others.
const PATIENCE: Duration = Duration::from_millis(10);
/// Looks at the line between two looks at the clock.
const LOOKS: u32 = 1_000;

/// A line of cache of its own; pairs of lines, since some processors fetch two.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Nanoseconds that a line needs from the client's core to the server's and back; `None` where both
/// have one core, or others kept a core from us.
pub(crate) fn line_ns(cpus: &CpuPlan) -> Option<f64> {
    let (here, there) = (cpus.client.first(), cpus.server.first());
    if here == there {
        return None;
    }
    let line = Line::default();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            if there.hold_this_thread().is_ok() {
                answer(&line.0, &over);
            }
        });
        let asking = scope.spawn(|| {
            let times = here.hold_this_thread().ok().map(|()| ask(&line.0));
            over.store(true, Ordering::Relaxed);
            times
        });
        middle(asking.join().ok()??)
    })
}

/// Adds one to odd numbers until told to stop.
fn answer(line: &AtomicU64, over: &AtomicBool) {
    let begun = Instant::now();
    let mut next = 1;
    loop {
        let mut looks = 0;
        while line.load(Ordering::Acquire) != next {
            looks += 1;
            if looks % LOOKS == 0
                && (over.load(Ordering::Relaxed) || begun.elapsed() > 2 * PATIENCE)
            {
                return;
            }
            hint::spin_loop();
        }
        line.store(next + 1, Ordering::Release);
        next += 2;
    }
}

/// Nanoseconds a round trip, of each round that came to its end.
fn ask(line: &AtomicU64) -> Vec<f64> {
    let begun = Instant::now();
    let mut times = Vec::with_capacity(ROUNDS);
    // The first answer waits for the other thread to start, and is no round.
    let mut next = 1;
    if !trips(line, &mut next, 1, begun) {
        return times;
    }
    while times.len() < ROUNDS {
        let round = Instant::now();
        if !trips(line, &mut next, TRIPS, begun) {
            break;
        }
        times.push(round.elapsed().as_nanos() as f64 / TRIPS as f64);
    }
    times
}

/// Whether all were answered in time.
fn trips(line: &AtomicU64, next: &mut u64, count: u64, begun: Instant) -> bool {
    for _ in 0..count {
        line.store(*next, Ordering::Release);
        let mut looks = 0;
        while line.load(Ordering::Acquire) != *next + 1 {
            looks += 1;
            if looks % LOOKS == 0 && begun.elapsed() > PATIENCE {
                return false;
            }
            hint::spin_loop();
        }
        *next += 2;
    }
    true
}

fn middle(mut times: Vec<f64>) -> Option<f64> {
    if times.len() < FEWEST {
        return None;
    }
    times.sort_by(f64::total_cmp);
    // To a tenth: more is noise.
    Some((times[times.len() / 2] * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_has_no_distance_and_two_have_one() {
        let mut plan = CpuPlan::choose(None).expect("a core");
        if plan.client.first() != plan.server.first() {
            // Other tests may hold a core for long; a machine that answers never is broken.
            let found = (0..100).find_map(|_| line_ns(&plan));
            assert!(found.is_some_and(|ns| ns > 0.0), "{found:?}");
        }
        plan.client = plan.server.clone();
        assert_eq!(line_ns(&plan), None);
    }

    #[test]
    fn nobody_there_is_no_answer_and_no_hang() {
        let line = Line::default();
        assert_eq!(ask(&line.0), Vec::<f64>::new());
        answer(&Line::default().0, &AtomicBool::new(true));
    }

    #[test]
    fn the_middle_round_counts_and_few_say_nothing() {
        assert_eq!(middle(vec![50.04, 900.0, 49.0, 51.0, 50.0]), Some(50.0));
        assert_eq!(middle(vec![50.0; FEWEST - 1]), None);
    }
}
