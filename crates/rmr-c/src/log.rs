//! The log: lines on standard error, at or below a level of the process.

use libc::{c_char, c_int};
use std::ffi::CStr;
use std::fmt;
use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How much a line matters; what the level is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Critical = 1,
    Error = 2,
    Warning = 3,
    Info = 4,
    Debug = 5,
}

const LEVEL_VARIABLE: &str = "RMR_LOG_VLEVEL";
/// Housekeeping lines are left out, too.
const LOWEST: i32 = -1;
const HIGHEST: i32 = Level::Debug as i32;

static LEVEL: AtomicI32 = AtomicI32::new(Level::Error as i32);
static READ_ENVIRONMENT: Once = Once::new();

/// Reads the level from the environment; gives the level in force.
pub(crate) fn init() -> i32 {
    let set = std::env::var(LEVEL_VARIABLE).ok();
    if let Some(level) = set.and_then(|text| text.trim().parse::<i32>().ok()) {
        LEVEL.store(level.clamp(LOWEST, HIGHEST), Ordering::Relaxed);
    }
    level()
}

/// The level in force.
pub(crate) fn level() -> i32 {
    LEVEL.load(Ordering::Relaxed)
}

/// Changes the level; negative ones are ignored, as they always were.
pub(crate) fn set_level(level: i32) {
    if level >= 0 {
        LEVEL.store(level, Ordering::Relaxed);
    }
}

/// Writes a line if the level asks for it.
pub(crate) fn write(line_level: Level, text: fmt::Arguments<'_>) {
    if wanted(line_level as i32, false) {
        put(line_level as i32, &text.to_string());
    }
}

/// Writes a line unless the log is off: what the route collector was asked to tell.
pub(crate) fn write_always(line_level: Level, text: fmt::Arguments<'_>) {
    if wanted(line_level as i32, true) {
        put(line_level as i32, &text.to_string());
    }
}

macro_rules! say {
    ($level:ident, $($text:tt)*) => {
        $crate::log::write($crate::log::Level::$level, format_args!($($text)*))
    };
}
pub(crate) use say;

fn wanted(line_level: i32, force: bool) -> bool {
    READ_ENVIRONMENT.call_once(|| {
        init();
    });
    let level = level();
    if force { level > 0 } else { line_level <= level }
}

fn put(line_level: i32, text: &str) {
    let situation = match line_level {
        1 => "CRIT",
        2 => "ERR",
        3 => "WARN",
        4 => "INFO",
        _ => "DBUG",
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_millis());
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let line = format!("{now} {}/RMR [{situation}] {text}{end}", std::process::id());
    // One write, so that lines of several threads stay whole. Nobody can be told if it fails.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Whether a line of C's is to be formatted at all (`vlog.c`).
#[unsafe(no_mangle)]
extern "C" fn corewire_rmr_log_wanted(line_level: c_int, force: c_int) -> c_int {
    c_int::from(wanted(line_level, force != 0))
}

/// A line of C's (`vlog.c`).
#[unsafe(no_mangle)]
unsafe extern "C" fn corewire_rmr_log_text(line_level: c_int, text: *const c_char) {
    crate::boundary::boundary((), || {
        // SAFETY: `vlog.c` gives its own buffer, which ends with NUL.
        let text = unsafe { CStr::from_ptr(text) };
        put(line_level, &text.to_string_lossy());
    });
}
