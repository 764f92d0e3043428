//! From `tracing` events to lines.

use super::Counters;
use super::limit::{Kind, RateLimit};
use super::line::Line;
use super::output::write_line;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Characters of an instance's name that are shown.
const SHOWN_INSTANCE: usize = 8;

/// Writes events to standard error. Clones share everything.
#[derive(Debug, Clone)]
pub(super) struct Lines(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    written: AtomicU64,
    suppressed: AtomicU64,
    lost: AtomicU64,
    panics: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The program's name, and the instance's when it is known.
    process: String,
    program: String,
    limit: RateLimit,
}

impl Lines {
    pub(super) fn new(program: &str, lines_per_second: u32) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                process: program.to_owned(),
                program: program.to_owned(),
                limit: RateLimit::new(lines_per_second),
            }),
            written: AtomicU64::new(0),
            suppressed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        }))
    }

    pub(super) fn set_instance(&self, instance: &str) {
        let shown: String = instance.chars().take(SHOWN_INSTANCE).collect();
        let mut state = self.state();
        state.process = format!("{} {shown}", state.program);
    }

    pub(super) fn counters(&self) -> Counters {
        Counters {
            written: self.0.written.load(Relaxed),
            suppressed: self.0.suppressed.load(Relaxed),
            lost: self.0.lost.load(Relaxed),
            panics: self.0.panics.load(Relaxed),
        }
    }

    pub(super) fn count_panic(&self) {
        self.0.panics.fetch_add(1, Relaxed);
    }

    pub(super) fn summarize_forever(&self, interval: Duration) {
        loop {
            std::thread::sleep(interval);
            let due = self.state().limit.take_due(Instant::now());
            self.write_summaries(&due);
        }
    }

    pub(super) fn summarize_all(&self) {
        let all = self.state().limit.take_all();
        self.write_summaries(&all);
    }

    fn write_summaries(&self, summaries: &[(Kind, u64)]) {
        let process = if summaries.is_empty() {
            return;
        } else {
            self.state().process.clone()
        };
        for (kind, more) in summaries {
            let mut line = Line::new(SystemTime::now(), Level::WARN, &process, kind);
            line.push(format_args!("and {more} more"));
            self.write(line);
        }
    }

    fn write(&self, line: Line) {
        let counter = match write_line(std::io::stderr().as_fd(), &line.finish()) {
            Ok(()) => &self.0.written,
            Err(_) => &self.0.lost,
        };
        counter.fetch_add(1, Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every step leaves the counts whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        let kind = kind(metadata);
        let process = {
            let mut state = self.state();
            if !state.limit.admit(kind, Instant::now()) {
                self.0.suppressed.fetch_add(1, Relaxed);
                return;
            }
            state.process.clone()
        };
        // Written without the lock, in one call: lines of several threads do not mix.
        let mut line = Line::new(SystemTime::now(), *metadata.level(), &process, kind);
        event.record(&mut line);
        self.write(line);
    }
}

/// The event's `name:`; without one (`tracing` makes it "event FILE:LINE") its module.
fn kind(metadata: &'static Metadata<'static>) -> Kind {
    match metadata.name() {
        name if name.starts_with("event ") => metadata.target(),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn counts_lines_above_the_limit_of_their_kind() {
        let lines = Lines::new("test", 2);
        let subscriber = tracing_subscriber::registry().with(lines.clone());
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..5 {
                tracing::info!(name: "flood", "line {number}");
            }
            tracing::info!(name: "other", "once");
        });
        let counters = lines.counters();
        assert_eq!(counters.suppressed, 3);
        assert_eq!(counters.written + counters.lost, 3);
        assert_eq!(lines.state().limit.take_all(), [("flood", 3)]);
    }
}
