//! `rmr_vlog` and its kin.
//!
//! The functions with printf's arguments are C (`vlog.c`); what stands here jumps there with all
//! arguments where they are, because only symbols of Rust leave a shared library made by rustc.

use crate::boundary::boundary;
use crate::log;
use libc::{c_char, c_int};

unsafe extern "C" {
    fn corewire_rmr_vlog(level: c_int, format: *const c_char, ...);
    fn corewire_rmr_vlog_force(level: c_int, format: *const c_char, ...);
}

macro_rules! jump_to {
    ($target:ident) => {
        core::arch::naked_asm!(
            #[cfg(target_arch = "x86_64")]
            "jmp {target}",
            #[cfg(target_arch = "aarch64")]
            "b {target}",
            target = sym $target
        )
    };
}

/// Declared to C with printf's arguments.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_vlog(_write_level: c_int, _fmt: *const c_char) {
    jump_to!(corewire_rmr_vlog)
}

/// Declared to C with printf's arguments.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_vlog_force(_write_level: c_int, _fmt: *const c_char) {
    jump_to!(corewire_rmr_vlog_force)
}

#[unsafe(no_mangle)]
pub extern "C" fn rmr_vlog_init() -> c_int {
    boundary(0, log::init)
}

#[unsafe(no_mangle)]
pub extern "C" fn rmr_set_vlevel(new_level: c_int) {
    log::set_level(new_level);
}
