//! The log of a process: `tracing` events as lines on standard error.
//!
//! ```text
//! 2026-11-22T22:50:46.123Z WARN amf 4f2c1d8e sbi-failure: the UDM: timed out supi=imsi-..
//!            time         level NF  instance  kind        message           fields
//!
//!   tracing event ─▶ level filter ─▶ RateLimit (a kind) ─▶ Line ─▶ standard error
//!                                        │ suppressed           │ lost
//!                                        └──────▶ counters ◀────┘
//! ```
//!
//! An event's **kind** is its `name:`; without one, the module it comes from. Of each kind at most
//! [`Options::lines_per_second`] lines are written a second; the rest is counted, and a line says
//! "and N more" at most a second later, so no peer can fill a disk by provoking lines.
//!
//! A line that standard error does not take at once (closed, full disk, stalled reader) is lost and
//! counted: logging never blocks, never panics, never ends the process. [`counters`] has the sums.

mod layer;
mod limit;
mod line;
mod output;

pub use tracing_subscriber::filter::{ParseError, Targets};

use layer::Lines;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;
use tracing_subscriber::layer::SubscriberExt as _;

/// How often the process looks for kinds of which lines were suppressed.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(1);

static LINES: OnceLock<Lines> = OnceLock::new();

/// How a process logs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Which events are written: a level, or levels by module
    /// (`warn,corewire_core5g_amf=debug`). Default: `info`.
    pub levels: Targets,
    /// Lines of one kind that are written a second. Default: 20; 0 is taken as 1.
    pub lines_per_second: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            levels: Targets::new().with_default(tracing::Level::INFO),
            lines_per_second: 20,
        }
    }
}

/// Logging has been started before in this process.
#[derive(Debug)]
pub struct AlreadyStarted;

impl fmt::Display for AlreadyStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("logging has been started before in this process")
    }
}

impl std::error::Error for AlreadyStarted {}

/// What has become of the lines of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Lines that standard error took.
    pub written: u64,
    /// Lines above the limit of their kind.
    pub suppressed: u64,
    /// Lines that standard error did not take.
    pub lost: u64,
    /// Panics of any thread, contained or not.
    pub panics: u64,
}

/// Starts logging to standard error under this name, the NF's or the program's.
///
/// # Errors
/// When it was called before, or other code has set a global `tracing` subscriber.
pub fn start(program: &str, options: Options) -> Result<(), AlreadyStarted> {
    let lines = Lines::new(program, options.lines_per_second.max(1));
    let subscriber = tracing_subscriber::registry()
        .with(options.levels)
        .with(lines.clone());
    tracing::subscriber::set_global_default(subscriber).map_err(|_| AlreadyStarted)?;
    hook_panics(&lines);
    let summaries = lines.clone();
    // The first one stays.
    let _ = LINES.set(lines);
    // Where no thread can be had, summaries come with the next line of their kind.
    let _thread = std::thread::Builder::new()
        .name("log".to_owned())
        .stack_size(64 * 1024)
        .spawn(move || summaries.summarize_forever(SUMMARY_INTERVAL));
    Ok(())
}

/// Logs panics as lines of kind `panic`, with their place, in place of the default hook's text:
/// like other lines they have a time and a limit.
fn hook_panics(lines: &Lines) {
    let lines = lines.clone();
    std::panic::set_hook(Box::new(move |panic| {
        lines.count_panic();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("unnamed");
        let text = panic.payload_as_str().unwrap_or("of unknown kind");
        match panic.location() {
            Some(place) => {
                tracing::error!(name: "panic", "thread {thread:?} at {place}: {text}");
            }
            None => tracing::error!(name: "panic", "thread {thread:?}: {text}"),
        }
    }));
}

/// Names the NF instance in every line from now on. The first eight characters are shown, which is
/// what tells the UUIDs of one core apart. Without [`start`] nothing happens.
pub fn set_instance(instance: &str) {
    if let Some(lines) = LINES.get() {
        lines.set_instance(instance);
    }
}

/// What has become of the lines so far. All zero without [`start`].
#[must_use]
pub fn counters() -> Counters {
    LINES.get().map(Lines::counters).unwrap_or_default()
}

/// Writes the summaries that are due at the end of the process.
pub fn finish() {
    if let Some(lines) = LINES.get() {
        lines.summarize_all();
    }
}
