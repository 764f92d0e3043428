//! Whether this machine is ours while we measure.
//!
//! Two real-time measurements at once turn 80 us into a second, and two labs at once halve each
//! other's machine. A lab therefore holds a lock while it measures, and looks for real-time
//! programs of others that ran meanwhile.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::stop::Stop;

const LOCK: &str = "corewire-lab.lock";
/// Between two looks at the lock.
const AGAIN: Duration = Duration::from_millis(50);
/// A real-time program of others that used more than this of a core has spoilt a run.
const MUCH_PERCENT: f64 = 2.0;

/// Held while a run is measured. Dropping it lets the next lab go on.
#[derive(Debug)]
pub(crate) struct LabLock(#[expect(dead_code, reason = "held, and unlocked when dropped")] File);

impl LabLock {
    /// Waits until no other lab measures on this machine, at most so long.
    ///
    /// # Errors
    /// When another one still does, with what to do about it. A machine whose lock cannot be made
    /// is measured without one.
    pub(crate) fn pass(patience: Duration, stop: &Stop) -> Result<Option<Self>, String> {
        let path: PathBuf = std::env::temp_dir().join(LOCK);
        let Ok(file) = File::options().create(true).append(true).open(&path) else {
            return Ok(None);
        };
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::Error(_)) => return Ok(None),
                Err(TryLockError::WouldBlock) if stop.asked() => return Ok(None),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(format!(
                        "another lab has been measuring on this machine for {} s (it holds {})",
                        patience.as_secs(),
                        path.display()
                    ));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(AGAIN),
            }
        }
    }
}

/// Watches for real-time programs of others.
#[derive(Debug)]
pub(crate) struct RealTimeWatch {
    begun: Instant,
    before: BTreeMap<u32, RealTime>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RealTime {
    name: String,
    ticks: u64,
}

impl RealTimeWatch {
    pub(crate) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            before: real_time_programs(),
        }
    }

    /// The one that used most, if it was too much, as words; `ours` are not counted.
    pub(crate) fn end(&self, ours: &[u32]) -> Option<String> {
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-9);
        let per_tick = 100.0 / rustix::param::clock_ticks_per_second() as f64 / seconds;
        real_time_programs()
            .into_iter()
            .filter(|(pid, _)| !ours.contains(pid) && *pid != std::process::id())
            .map(|(pid, now)| {
                let then = self.before.get(&pid).map_or(0, |before| before.ticks);
                (
                    now.ticks.saturating_sub(then) as f64 * per_tick,
                    pid,
                    now.name,
                )
            })
            .filter(|(percent, ..)| *percent > MUCH_PERCENT)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(percent, pid, name)| {
                format!(
                    "{name} (process {pid}) ran with real-time priority, {percent:.0} % of a core"
                )
            })
    }
}

/// Programs with a real-time policy, kernel threads left out.
fn real_time_programs() -> BTreeMap<u32, RealTime> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, real_time(&stat)?))
        })
        .collect()
}

/// Of a line of `/proc/PID/stat`, proc(5): `SCHED_FIFO` is 1, `SCHED_RR` 2, `SCHED_DEADLINE` 6.
fn real_time(stat: &str) -> Option<RealTime> {
    /// The parent of all kernel threads.
    const KTHREADD: u32 = 2;
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first field here is the third of the page.
    let field = |number: usize| fields.get(number - 3).copied();
    let parent: u32 = field(4)?.parse().ok()?;
    let policy = field(41)?;
    if parent == KTHREADD || !matches!(policy, "1" | "2" | "6") {
        return None;
    }
    let ticks = field(14)?.parse::<u64>().ok()? + field(15)?.parse::<u64>().ok()?;
    Some(RealTime { name, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(parent: u32, policy: u32) -> String {
        let middle = "7 7 0 -1 4194304 500 0 0 0 150 50 0 0 20 0 1 0 7 8 9";
        let more = vec!["0"; 16].join(" ");
        // Fields 3 to 40, then the policy.
        let line = format!("42 (a ) b) S {parent} {middle} {more} {policy} 0 0");
        assert_eq!(
            line.rsplit_once(')')
                .expect("there")
                .1
                .split_ascii_whitespace()
                .count()
                + 2,
            43
        );
        line
    }

    #[test]
    fn real_time_programs_are_told_from_others_and_from_the_kernel() {
        let found = real_time(&stat(1, 1)).expect("FIFO");
        assert_eq!((found.name.as_str(), found.ticks), ("a ) b", 200));
        assert_eq!(real_time(&stat(1, 0)), None);
        assert_eq!(real_time(&stat(2, 1)), None);
        assert_eq!(real_time(""), None);
    }

    #[test]
    fn ours_do_not_count_against_us() {
        let watch = RealTimeWatch {
            begun: Instant::now(),
            before: BTreeMap::new(),
        };
        let all: Vec<u32> = real_time_programs().into_keys().collect();
        assert_eq!(watch.end(&all), None);
    }
}
