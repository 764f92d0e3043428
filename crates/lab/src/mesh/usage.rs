//! What each process uses: CPU time to the nanosecond, memory.

use std::fs;
use std::time::Duration;

use serde_json::{Map, Value, json};

/// Who a process is in the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Gateway,
    /// The Envoy in the gateway's pod.
    GatewaySidecar,
    /// The Envoys in the replicas' pods.
    ReplicaSidecar,
    /// A microservice between gateway and replicas.
    Link,
    Replica,
    Control,
}

impl Role {
    const ALL: [Self; 6] = [
        Self::Gateway,
        Self::GatewaySidecar,
        Self::ReplicaSidecar,
        Self::Link,
        Self::Replica,
        Self::Control,
    ];

    /// As it stands in records.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::GatewaySidecar => "gateway_sidecar",
            Self::ReplicaSidecar => "replica_sidecar",
            Self::Link => "link",
            Self::Replica => "replica",
            Self::Control => "control",
        }
    }
}

/// A process that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) role: Role,
    pub(super) pid: u32,
}

/// CPU time and memory of each watched process at one moment.
#[derive(Debug, Clone)]
pub(super) struct Usage(Vec<(Watched, Duration, Option<u64>)>);

impl Usage {
    pub(super) fn now(watched: &[Watched]) -> Self {
        let of = |it: &Watched| (*it, cpu_of(it.pid), rss_of(it.pid));
        Self(watched.iter().map(of).collect())
    }

    /// What each has used since `before`. A gateway that has printed its result may be gone: of
    /// those, in their order, `gateways` is what they say themselves of their CPU time, and their
    /// memory is that at the start of the window where there is none at its end.
    pub(super) fn since(&self, before: &Self, gateways: &[Option<Duration>]) -> Used {
        let mut own = gateways.iter();
        let used = self.0.iter().map(|(watched, now, rss)| {
            let then = before.0.iter().find(|(other, ..)| other == watched);
            let seen = now.saturating_sub(then.map_or(Duration::ZERO, |(_, cpu, _)| *cpu));
            let told = match watched.role {
                Role::Gateway => own.next().copied().flatten(),
                _ => None,
            };
            One {
                watched: *watched,
                cpu: told.unwrap_or(seen),
                rss_bytes: rss.or(then.and_then(|(.., rss)| *rss)),
            }
        });
        Used(used.collect())
    }
}

#[derive(Debug, Clone)]
struct One {
    watched: Watched,
    cpu: Duration,
    rss_bytes: Option<u64>,
}

/// What the watched processes used in the measured window.
#[derive(Debug, Clone)]
pub(super) struct Used(Vec<One>);

impl Used {
    /// Of all processes of a role.
    pub(super) fn cpu(&self, role: Role) -> Duration {
        let of_role = self.0.iter().filter(|one| one.watched.role == role);
        of_role.map(|one| one.cpu).sum()
    }

    /// Of all processes.
    pub(super) fn total(&self) -> Duration {
        self.0.iter().map(|one| one.cpu).sum()
    }

    /// The fields of the record.
    pub(super) fn fields(&self, requests: u64, window: Duration, extra: &mut Map<String, Value>) {
        let seconds = window.as_secs_f64().max(1e-9);
        let per_request = |cpu: Duration| cpu.as_secs_f64() * 1e6 / requests.max(1) as f64;
        let percent = |cpu: Duration| cpu.as_secs_f64() / seconds * 100.0;
        let mut by_role = Map::new();
        let mut milli = Map::new();
        let mut rss = Map::new();
        for role in Role::ALL {
            let ones: Vec<&One> = self
                .0
                .iter()
                .filter(|one| one.watched.role == role)
                .collect();
            if ones.is_empty() {
                continue;
            }
            by_role.insert(role.name().into(), per_request(self.cpu(role)).into());
            milli.insert(role.name().into(), (percent(self.cpu(role)) * 10.0).into());
            let largest = ones.iter().filter_map(|one| one.rss_bytes).max();
            let sum: u64 = ones.iter().filter_map(|one| one.rss_bytes).sum();
            rss.insert(
                role.name().into(),
                json!({"processes": ones.len(), "largest": largest, "sum": sum}),
            );
        }
        by_role.insert("all".into(), per_request(self.total()).into());
        milli.insert("all".into(), (percent(self.total()) * 10.0).into());
        extra.insert("role_cpu_us_per_request".into(), by_role.into());
        extra.insert("role_cpu_milli".into(), milli.into());
        extra.insert("role_rss_bytes".into(), rss.into());
        let processes: Vec<Value> = self
            .0
            .iter()
            .map(|one| {
                json!({
                    "role": one.watched.role.name(),
                    "cpu_us_per_request": per_request(one.cpu),
                    "cpu_percent": percent(one.cpu),
                    "rss_bytes": one.rss_bytes,
                })
            })
            .collect();
        extra.insert("processes".into(), processes.into());
    }
}

/// CPU time of all threads of a process that are there now. `/proc/PID/stat` counts in steps of
/// 10 ms, which one of thirty replicas does not reach in a run; the scheduler's own count is exact.
fn cpu_of(pid: u32) -> Duration {
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

/// Memory that a process has resident, shared pages too.
fn rss_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_seen_by_role() {
        let me = Watched {
            role: Role::Gateway,
            pid: std::process::id(),
        };
        let before = Usage::now(&[me]);
        let mut sum = 0_u64;
        let give_up = std::time::Instant::now() + Duration::from_secs(60);
        // However long it takes until it has had some of a busy machine.
        let used = loop {
            let used = Usage::now(&[me]).since(&before, &[]);
            if used.cpu(Role::Gateway) > Duration::from_millis(1) {
                break used;
            }
            assert!(std::time::Instant::now() < give_up, "no work is seen");
            for _ in 0..1_000_000 {
                sum = std::hint::black_box(sum.wrapping_add(1));
            }
        };
        assert_eq!(used.cpu(Role::Replica), Duration::ZERO);
        let mut extra = Map::new();
        used.fields(10, Duration::from_secs(1), &mut extra);
        assert!(
            extra["role_cpu_us_per_request"]["all"]
                .as_f64()
                .expect("a number")
                > 0.0
        );
        assert!(extra["processes"][0]["rss_bytes"].as_u64().expect("a size") > 100_000);
        assert_eq!(extra["role_rss_bytes"]["gateway"]["processes"], 1);
    }

    #[test]
    fn a_gateway_that_is_gone_is_believed() {
        let gone = Watched {
            role: Role::Gateway,
            pid: u32::MAX,
        };
        let before = Usage(vec![(gone, Duration::from_secs(1), Some(4096))]);
        let told = Duration::from_millis(7);
        let used = Usage::now(&[gone]).since(&before, &[Some(told)]);
        assert_eq!(
            (used.cpu(Role::Gateway), used.0[0].rss_bytes),
            (told, Some(4096))
        );
    }

    #[test]
    fn a_process_that_is_gone_used_nothing() {
        assert_eq!(cpu_of(u32::MAX), Duration::ZERO);
        assert_eq!(rss_of(u32::MAX), None);
    }
}
