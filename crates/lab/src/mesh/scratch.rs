//! What a run needs beside processes: a directory of its own, and ports that nobody uses.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;

/// A directory that goes with this value.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> anyhow::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("corewire-mesh-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the directory {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file whole or not at all: whoever watches it never sees half of it.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        let unfinished = self.path(&format!("{name}.new"));
        std::fs::write(&unfinished, text)
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind in the temporary directory at worst.
        let _ = std::fs::remove_dir_all::<&Path>(&self.0);
    }
}

/// So many ports of 127.0.0.1 that are free now. They lie below those that the kernel gives to
/// outgoing connections, so that no client takes one meanwhile.
pub(super) fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    const FIRST: u16 = 10_000;
    const LAST: u16 = 19_999;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let span = u32::from(LAST - FIRST) + 1;
    // Another lab on this machine begins elsewhere.
    let own = std::process::id().wrapping_mul(61);
    let mut ports = Vec::with_capacity(count);
    for _ in 0..span {
        if ports.len() == count {
            break;
        }
        let at = own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % span;
        let port = FIRST + u16::try_from(at).unwrap_or(0);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            ports.push(port);
        }
    }
    anyhow::ensure!(
        ports.len() == count,
        "there are not {count} free ports from {FIRST} to {LAST}"
    );
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_not_given_twice() {
        let mut ports = free_ports(20).expect("room");
        ports.extend(free_ports(20).expect("room"));
        let mut once = ports.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), 40);
    }

    #[test]
    fn a_directory_goes_with_its_value() {
        let scratch = Scratch::new().expect("room");
        let file = scratch.write("a", "text").expect("room");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "text");
        drop(scratch);
        assert!(!file.exists());
    }
}
