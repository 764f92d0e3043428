//! The log: lines on standard error, at or below a level of the process. `vlog.c` writes them.

use libc::{c_char, c_int};
use std::fmt;

/// How much a line matters; what the level is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Critical = 1,
    Error = 2,
    Warning = 3,
    Info = 4,
}

unsafe extern "C" {
    safe fn corewire_rmr_log_init() -> c_int;
    safe fn corewire_rmr_log_level() -> c_int;
    safe fn corewire_rmr_log_set_level(wanted: c_int);
    fn corewire_rmr_log_put(line_level: c_int, text: *const c_char, length: usize);
}

/// Reads the level from the environment; gives the level in force.
pub(crate) fn init() -> i32 {
    corewire_rmr_log_init()
}

/// The level in force.
pub(crate) fn level() -> i32 {
    corewire_rmr_log_level()
}

/// Changes the level; negative ones are ignored, as they always were.
pub(crate) fn set_level(level: i32) {
    corewire_rmr_log_set_level(level);
}

/// Writes a line if the level asks for it.
pub(crate) fn write(line_level: Level, text: fmt::Arguments<'_>) {
    if line_level as i32 <= level() {
        put(line_level, text);
    }
}

/// Writes a line unless the log is off: what the route collector was asked to tell.
pub(crate) fn write_always(line_level: Level, text: fmt::Arguments<'_>) {
    if level() > 0 {
        put(line_level, text);
    }
}

macro_rules! say {
    ($level:ident, $($text:tt)*) => {
        $crate::log::write($crate::log::Level::$level, format_args!($($text)*))
    };
}
pub(crate) use say;

fn put(line_level: Level, text: fmt::Arguments<'_>) {
    let text = text.to_string();
    // SAFETY: pointer and length are those of a live text.
    unsafe { corewire_rmr_log_put(line_level as c_int, text.as_ptr().cast(), text.len()) };
}
