//! Which process may use which cores.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use super::Quota;
use anyhow::{Context as _, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Some cores, at least one, and how much of their time may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cpus {
    cores: BTreeSet<usize>,
    quota: Option<Arc<Quota>>,
}

impl From<BTreeSet<usize>> for Cpus {
    fn from(cores: BTreeSet<usize>) -> Self {
        Self { cores, quota: None }
    }
}

impl Cpus {
    /// All that this process may use.
    pub(crate) fn allowed() -> anyhow::Result<Self> {
        let mask = sched_getaffinity(None).context("cannot learn which cores may be used")?;
        let cores = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu));
        Ok(cores.collect::<BTreeSet<_>>().into())
    }

    /// The first of them alone.
    pub(crate) fn first(&self) -> Self {
        let first = self.cores.first().copied();
        first.into_iter().collect::<BTreeSet<_>>().into()
    }

    /// Each of them alone.
    pub(crate) fn each(&self) -> impl Iterator<Item = Self> {
        let cores = self.cores.iter();
        cores.map(|&core| BTreeSet::from([core]).into())
    }

    /// Starts a process that is held to these cores, as are all its threads.
    ///
    /// The mask is inherited: a thread that only exists for this takes it on and starts the
    /// process. So there is no moment at which the child runs elsewhere, no other program
    /// (`taskset`) is needed, and no code runs between `fork` and `exec`.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let mut child = thread::scope(|scope| {
            scope
                .spawn(|| {
                    self.hold_this_thread()?;
                    command.spawn()
                })
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the starting thread panicked")))
        })?;
        if let Some(quota) = &self.quota
            && let Err(error) = quota.admit(child.id())
        {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("{error:#}")));
        }
        Ok(child)
    }

    /// Holds the calling thread, and what it starts, to these cores from now on.
    pub(crate) fn hold_this_thread(&self) -> io::Result<()> {
        let mut mask = CpuSet::new();
        for &cpu in &self.cores {
            mask.set(cpu);
        }
        Ok(sched_setaffinity(None, &mask)?)
    }
}

/// As Linux writes lists of cores: `0-2,5`.
impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.cores.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

/// The cores of the server and of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuPlan {
    pub(crate) server: Cpus,
    pub(crate) client: Cpus,
    /// What the user should know about this choice.
    pub(crate) caveat: Option<String>,
}

impl CpuPlan {
    /// One core for the server: the one asked for, else the last (the first ones serve most
    /// interrupts). The client has the others, except the hardware threads that share the
    /// server's core, as long as something is left.
    pub(crate) fn choose(server: Option<usize>) -> anyhow::Result<Self> {
        Self::among(&Cpus::allowed()?.cores, server, &siblings)
    }

    /// One core for both ends: the one asked for, else the last.
    pub(crate) fn one(core: Option<usize>) -> anyhow::Result<Self> {
        let apart = Self::choose(core)?;
        Self::among(&apart.server.cores, None, &siblings)
    }

    /// Bounds the time of the processes that each end starts from now on, percent of one core.
    ///
    /// # Errors
    /// When control groups cannot be made here.
    pub(crate) fn bound(&mut self, percent: u32) -> anyhow::Result<()> {
        for end in [&mut self.server, &mut self.client] {
            end.quota = Some(Arc::new(Quota::new(percent)?));
        }
        Ok(())
    }

    /// Ends that bound.
    pub(crate) fn unbound(&mut self) {
        self.server.quota = None;
        self.client.quota = None;
    }

    fn among(
        allowed: &BTreeSet<usize>,
        server: Option<usize>,
        siblings: &dyn Fn(usize) -> BTreeSet<usize>,
    ) -> anyhow::Result<Self> {
        let Some(&last) = allowed.last() else {
            bail!("this process may run on no core");
        };
        let server = server.unwrap_or(last);
        if !allowed.contains(&server) {
            bail!(
                "--server-cpu {server}: this process may use core {} only",
                Cpus::from(allowed.clone())
            );
        }
        let others: BTreeSet<usize> = allowed
            .iter()
            .copied()
            .filter(|&cpu| cpu != server)
            .collect();
        let apart: BTreeSet<usize> = &others - &siblings(server);
        let (client, caveat) = if !apart.is_empty() {
            (apart, None)
        } else if !others.is_empty() {
            let caveat = "server and client share a physical core: figures are pessimistic";
            (others, Some(caveat))
        } else {
            let caveat = "one core for server and client: figures show scheduling as much as work";
            (allowed.clone(), Some(caveat))
        };
        Ok(Self {
            server: BTreeSet::from([server]).into(),
            client: client.into(),
            caveat: caveat.map(str::to_owned),
        })
    }
}

/// The hardware threads of the same physical core; empty where the kernel does not say.
fn siblings(cpu: usize) -> BTreeSet<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    std::fs::read_to_string(path).map_or_else(|_| BTreeSet::new(), |text| parse_list(&text))
}

/// `0-2,5`; what is not understood is left out.
fn parse_list(text: &str) -> BTreeSet<usize> {
    text.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(cpus: &str, server: Option<usize>, smt: bool) -> anyhow::Result<CpuPlan> {
        let pairs = move |cpu: usize| {
            if smt {
                BTreeSet::from([cpu & !1, cpu | 1])
            } else {
                BTreeSet::from([cpu])
            }
        };
        CpuPlan::among(&parse_list(cpus), server, &pairs)
    }

    #[test]
    fn server_gets_the_last_core_and_client_the_others() {
        let plan = plan("0-3", None, false).expect("four cores");
        assert_eq!(
            (plan.server.to_string(), plan.client.to_string()),
            ("3".into(), "0-2".into())
        );
        assert_eq!(plan.caveat, None);
    }

    #[test]
    fn client_keeps_off_the_servers_sibling_while_it_can() {
        let four = plan("0-3", Some(0), true).expect("four cores");
        assert_eq!(four.client.to_string(), "2-3");
        let two = plan("0-1", None, true).expect("two cores");
        assert_eq!(two.client.to_string(), "0");
        assert!(two.caveat.is_some());
    }

    #[test]
    fn both_ends_are_on_one_core_where_that_is_asked_for() {
        let plan = CpuPlan::one(None).expect("a core");
        assert_eq!(plan.server, plan.client);
        assert_eq!(plan.server.each().count(), 1);
        assert!(plan.caveat.expect("said so").contains("one core"));
    }

    #[test]
    fn one_core_is_shared_and_said_so() {
        let plan = plan("5", None, false).expect("one core");
        assert_eq!(
            (plan.server.to_string(), plan.client.to_string()),
            ("5".into(), "5".into())
        );
        assert!(plan.caveat.is_some());
    }

    #[test]
    fn a_core_that_is_not_ours_is_refused_with_those_that_are() {
        let error = plan("0-1,4", Some(9), false)
            .expect_err("no core 9")
            .to_string();
        assert!(error.contains("0-1,4"), "{error}");
    }
}
