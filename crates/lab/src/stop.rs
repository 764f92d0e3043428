//! Ctrl-C: the first asks for an orderly end, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::process::kill_all;

/// What shells report for a program that SIGINT ended.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Signals closer together are one request: `timeout`, for one, signals the process and then its
/// whole group.
const SAME: Duration = Duration::from_millis(500);

/// Whether the user asked to stop. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens to SIGINT, SIGTERM and SIGHUP from now on.
    pub(crate) fn on_signal() -> anyhow::Result<Self> {
        let stop = Self::default();
        let asked = stop.clone();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot catch signals")?;
        std::thread::spawn(move || {
            let mut first = None;
            for _ in signals.forever() {
                let at = *first.get_or_insert_with(Instant::now);
                if at.elapsed() > SAME {
                    kill_all();
                    std::process::exit(EXIT_INTERRUPTED.into());
                }
                asked.0.store(true, Ordering::Relaxed);
            }
        });
        Ok(stop)
    }

    /// Whether to stop.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
