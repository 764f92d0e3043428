//! What each NF uses: CPU time to the nanosecond, memory.

use std::fs;
use std::time::Duration;

use super::core::Nf;

/// CPU time by NF.
pub(super) type Cpu = Vec<(String, Duration)>;

/// CPU time of every NF by now.
pub(super) fn cpu(nfs: &[Nf]) -> Vec<Duration> {
    nfs.iter().map(|nf| cpu_of(nf.pid)).collect()
}

/// What every NF has used between the two.
pub(super) fn between(nfs: &[Nf], before: &[Duration], after: &[Duration]) -> Cpu {
    nfs.iter()
        .zip(before.iter().zip(after))
        .map(|(nf, (before, after))| (nf.name.clone(), after.saturating_sub(*before)))
        .collect()
}

/// Adds the second to the first: the same NFs in the same order.
pub(super) fn add(sum: &mut Cpu, more: Cpu) {
    if sum.is_empty() {
        *sum = more;
        return;
    }
    for ((_, sum), (_, more)) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Resident memory of every NF's own by now, octets.
pub(super) fn memory(nfs: &[Nf]) -> Vec<u64> {
    nfs.iter()
        .map(|nf| memory_of(nf.pid).unwrap_or(0))
        .collect()
}

/// CPU time of all threads of a process that are there now. `/proc/PID/stat` counts in steps of
/// 10 ms, which an NF does not reach in a round of few UEs; the scheduler's own count is exact.
pub(super) fn cpu_of(pid: u32) -> Duration {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Duration::ZERO;
    };
    let nanoseconds = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum();
    Duration::from_nanos(nanoseconds)
}

/// Memory of its own that a process has resident: without the program's text, which all NFs share.
fn memory_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    };
    Some(field("RssAnon:")? + field("RssShmem:").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_seen_and_that_of_nobody_is_none() {
        let pid = std::process::id();
        let before = cpu_of(pid);
        let give_up = std::time::Instant::now() + Duration::from_secs(60);
        let mut sum = 0_u64;
        // However long it takes until it has had some of a busy machine.
        while cpu_of(pid) <= before {
            assert!(std::time::Instant::now() < give_up, "no work is seen");
            for _ in 0..1_000_000 {
                sum = std::hint::black_box(sum.wrapping_add(1));
            }
        }
        assert!(memory_of(pid) > Some(100_000));
        assert_eq!(
            (cpu_of(u32::MAX), memory_of(u32::MAX)),
            (Duration::ZERO, None)
        );
    }
}
