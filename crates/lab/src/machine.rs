//! The machine: what it is, and what it does besides our work.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::record::{Host, MachineLoad};

/// What this machine is. Whatever cannot be learnt is left empty, never guessed.
pub(crate) fn host() -> Host {
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    Host {
        cpu_model: field("model name")
            .or_else(|| field("Model"))
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        distribution: pretty_name(&read("/etc/os-release")),
        governor: Some(read(
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ))
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty()),
        virtualised: virtualised(field("flags").as_deref().unwrap_or_default()),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn memory_bytes(meminfo: &str) -> u64 {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"))
        .and_then(|kibibytes| kibibytes.trim().parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes * 1024)
}

fn pretty_name(os_release: &str) -> String {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_owned())
        .unwrap_or_default()
}

fn virtualised(cpu_flags: &str) -> Option<String> {
    let container = ["/.dockerenv", "/run/.containerenv"]
        .iter()
        .any(|path| Path::new(path).exists());
    let hypervisor = cpu_flags
        .split(' ')
        .any(|flag| flag == "hypervisor")
        .then(|| {
            let vendor = read("/sys/class/dmi/id/sys_vendor");
            match vendor.trim() {
                "" => "hypervisor".to_owned(),
                vendor => format!("hypervisor ({vendor})"),
            }
        });
    match (hypervisor, container) {
        (Some(hypervisor), true) => Some(format!("{hypervisor}, container")),
        (None, true) => Some("container".to_owned()),
        (hypervisor, false) => hypervisor,
    }
}

/// Watches the machine while a run goes on.
#[derive(Debug)]
pub(crate) struct LoadWatch {
    begun: Instant,
    total: Ticks,
}

impl LoadWatch {
    /// Begins; call before the client process starts.
    pub(crate) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            total: Ticks::now(),
        }
    }

    /// What the machine did since, less `ours`: the CPU time of our own processes meanwhile.
    pub(crate) fn end(&self, ours: Duration) -> MachineLoad {
        let elapsed = self.begun.elapsed().as_secs_f64().max(1e-9);
        let now = Ticks::now();
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second();
        let busy = seconds(now.busy.saturating_sub(self.total.busy));
        let steal = seconds(now.steal.saturating_sub(self.total.steal));
        MachineLoad {
            foreign_cpu_percent: (busy - ours.as_secs_f64()).max(0.0) / elapsed * 100.0,
            steal_percent: steal / elapsed * 100.0,
            loadavg_1m: load_average(&read("/proc/loadavg")),
        }
    }
}

fn load_average(text: &str) -> f64 {
    text.split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0.0)
}

fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// Sums over all cores since boot, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    steal: u64,
}

impl Ticks {
    fn now() -> Self {
        Self::parse(&read("/proc/stat"))
    }

    /// `cpu user nice system idle iowait irq softirq steal guest guest_nice`, proc(5); the guests'
    /// time is part of `user` and `nice` already.
    fn parse(stat: &str) -> Self {
        let fields: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        Self {
            busy: field(0) + field(1) + field(2) + field(5) + field(6),
            steal: field(7),
        }
    }
}

/// CPU time that a process has used, all threads, also when it has ended but was not waited for;
/// zero when there is no such process. Steps of a clock tick (10 ms).
pub(crate) fn process_cpu(pid: u32) -> Duration {
    cpu_of_stat(&read(&format!("/proc/{pid}/stat")))
}

fn cpu_of_stat(stat: &str) -> Duration {
    // The second field is the program's name in brackets and may itself hold brackets and spaces;
    // user and system time are the 14th and 15th field.
    let ticks: u64 = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest)
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_secs_f64(ticks as f64 / ticks_per_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_waiting_and_guests() {
        let stat = "cpu  100 20 30 4000 500 6 7 80 9 10\ncpu0 1 2 3 4\n";
        assert_eq!(
            Ticks::parse(stat),
            Ticks {
                busy: 163,
                steal: 80
            }
        );
        assert_eq!(Ticks::parse(""), Ticks { busy: 0, steal: 0 });
    }

    #[test]
    fn cpu_time_of_a_process_with_an_odd_name() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194304 500 0 0 0 150 50 0 0 20 0 1 0 7 8 9";
        let ticks = Duration::from_secs_f64(200.0 / ticks_per_second());
        assert_eq!(cpu_of_stat(stat), ticks);
        assert_eq!(cpu_of_stat(""), Duration::ZERO);
    }

    #[test]
    fn facts_of_files() {
        assert_eq!(
            memory_bytes("MemFree: 1 kB\nMemTotal:       2048 kB\n"),
            2 << 20
        );
        assert_eq!(
            pretty_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n"),
            "Debian 12"
        );
        assert!((load_average("0.50 0.40 0.30 1/200 1234\n") - 0.5).abs() < 1e-9);
    }

    #[test]
    fn this_machine_has_a_core_and_a_kernel() {
        let host = host();
        assert!(host.cores >= 1);
        assert!(!host.kernel.is_empty() && !host.cpu_model.is_empty());
    }

    #[test]
    fn work_of_others_is_what_is_left() {
        let watch = LoadWatch {
            begun: Instant::now() - Duration::from_secs(1),
            total: Ticks { busy: 0, steal: 0 },
        };
        // All that the machine ever did, less more than that: never below zero.
        let load = watch.end(Duration::from_secs(u64::from(u32::MAX)));
        assert!(load.foreign_cpu_percent.abs() < f64::EPSILON);
        assert!(watch.end(Duration::ZERO).foreign_cpu_percent > 0.0);
    }
}
