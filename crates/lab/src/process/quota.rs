//! A bound on the CPU time of processes, as a pod has one: a control group with a CFS quota.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};

/// What Linux itself and Kubernetes divide time into.
const PERIOD: Duration = Duration::from_millis(100);
/// How long the last process of a group may take to be gone.
const GONE: Duration = Duration::from_millis(500);

/// A control group. Dropping it removes it, once its processes have ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    dir: PathBuf,
}

impl Quota {
    /// A group whose processes have so much of one core's time together.
    ///
    /// # Errors
    /// When groups cannot be made here; says what is missing.
    pub(crate) fn new(percent: u32) -> anyhow::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let parent = Parent::find()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = parent
            .dir
            .join(format!("corewire-lab-{}-{number}", std::process::id()));
        fs::create_dir(&dir).with_context(|| {
            format!(
                "cannot make the control group {}: a CPU quota needs root, or a delegated group \
                 (`systemd-run --user --scope -p Delegate=yes corewire lab run ...`)",
                dir.display()
            )
        })?;
        let this = Self { dir };
        let period = PERIOD.as_micros();
        let quota = period * u128::from(percent) / 100;
        if parent.is_unified {
            this.set("cpu.max", &format!("{quota} {period}"))?;
        } else {
            this.set("cpu.cfs_period_us", &period.to_string())?;
            this.set("cpu.cfs_quota_us", &quota.to_string())?;
        }
        Ok(this)
    }

    fn set(&self, name: &str, value: &str) -> anyhow::Result<()> {
        let path = self.dir.join(name);
        fs::write(&path, value).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Takes a process in, with all its threads and those that it starts from now on.
    pub(super) fn admit(&self, pid: u32) -> anyhow::Result<()> {
        self.set("cgroup.procs", &pid.to_string())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let step = Duration::from_millis(5);
        for _ in 0..GONE.as_millis() / step.as_millis() {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            thread::sleep(step);
        }
    }
}

/// The group in which groups are made.
struct Parent {
    dir: PathBuf,
    /// Version 2 of control groups.
    is_unified: bool,
}

impl Parent {
    /// The lab's own group of the CPU controller.
    fn find() -> anyhow::Result<Self> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let found = place(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        let Some((dir, is_unified)) = found else {
            bail!("no control groups with a CPU controller are mounted here");
        };
        if is_unified {
            // The root has the controller, other groups hand it on when told to.
            let _ = fs::write(dir.join("cgroup.subtree_control"), "+cpu");
            let handed_on = read_words(&dir.join("cgroup.subtree_control"));
            if !handed_on.iter().any(|word| word == "cpu") {
                bail!(
                    "the control group {} does not hand on the CPU controller",
                    dir.display()
                );
            }
        }
        Ok(Self { dir, is_unified })
    }
}

fn read_words(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Where the group of `/proc/self/cgroup` that has the CPU controller is mounted, and whether it is of
/// version 2; see cgroups(7) and proc(5).
fn place(groups: &str, mounts: &str) -> Option<(PathBuf, bool)> {
    let group_of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            wanted(controllers).then(|| path.to_owned())
        })
    };
    let mount_of = |wanted: &dyn Fn(&str, &str) -> bool| {
        mounts.lines().find_map(|line| {
            let (fields, rest) = line.split_once(" - ")?;
            let mut rest = rest.split(' ');
            let (kind, options) = (rest.next()?, rest.nth(1)?);
            let mut fields = fields.split(' ').skip(3);
            let (root, at) = (fields.next()?, fields.next()?);
            wanted(kind, options).then(|| (root.to_owned(), at.to_owned()))
        })
    };
    let has_cpu = |list: &str| list.split(',').any(|name| name == "cpu");
    let (group, (root, at), is_unified) =
        match mount_of(&|kind, options| kind == "cgroup" && has_cpu(options)) {
            Some(mount) => (group_of(&has_cpu)?, mount, false),
            None => {
                let mount = mount_of(&|kind, _| kind == "cgroup2")?;
                (group_of(&str::is_empty)?, mount, true)
            }
        };
    // In a container the mount may begin at the container's own group.
    let below = group.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
    Some((
        Path::new(&at).join(below.trim_start_matches('/')),
        is_unified,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let v1 = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "3:cpu,cpuacct:/user.slice\n1:name=systemd:/x\n0::/y\n";
        let expected = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/user.slice");
        assert_eq!(place(groups, v1), Some((expected, false)));

        let v2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let expected = PathBuf::from("/sys/fs/cgroup/user.slice/a.scope");
        assert_eq!(
            place("0::/user.slice/a.scope\n", v2),
            Some((expected, true))
        );

        let inside = "29 23 0:26 /pod/1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        let expected = PathBuf::from("/sys/fs/cgroup/lab");
        assert_eq!(place("0::/pod/1/lab\n", inside), Some((expected, true)));
        assert_eq!(place("", ""), None);
    }
}
