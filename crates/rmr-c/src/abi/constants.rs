//! The constants of `rmr.h` as JSON, for bindings that do not read C.

use crate::boundary::boundary;
use libc::{c_char, c_void};
use std::ffi::CString;
use std::fmt::Write;
use std::ptr::null_mut;

/// As `rmr.h` has them, but for RMR_ERR_NOTSUPP: the original does not list it, and the Python frame's
/// tests compare exactly; `tests/header.rs` compares.
const CONSTANTS: &[(&str, i32)] = &[
    ("RMR_MAX_XID", 32),
    ("RMR_MAX_SID", 32),
    ("RMR_MAX_MEID", 32),
    ("RMR_MAX_SRC", 64),
    ("RMR_MAX_RCV_BYTES", 2048),
    ("RMRFL_NONE", 0),
    ("RMRFL_AUTO_ALLOC", 3),
    ("RMRFL_MTCALL", 2),
    ("RMR_DEF_SIZE", 0),
    ("RMR_VOID_MSGTYPE", -1),
    ("RMR_VOID_SUBID", -1),
    ("RMR_OK", 0),
    ("RMR_ERR_BADARG", 1),
    ("RMR_ERR_NOENDPT", 2),
    ("RMR_ERR_EMPTY", 3),
    ("RMR_ERR_NOHDR", 4),
    ("RMR_ERR_SENDFAILED", 5),
    ("RMR_ERR_CALLFAILED", 6),
    ("RMR_ERR_NOWHOPEN", 7),
    ("RMR_ERR_WHID", 8),
    ("RMR_ERR_OVERFLOW", 9),
    ("RMR_ERR_RETRY", 10),
    ("RMR_ERR_RCVFAILED", 11),
    ("RMR_ERR_TIMEOUT", 12),
    ("RMR_ERR_UNSET", 13),
    ("RMR_ERR_TRUNC", 14),
    ("RMR_ERR_INITFAILED", 15),
];

#[unsafe(no_mangle)]
pub extern "C" fn rmr_get_consts() -> *mut c_char {
    boundary(null_mut(), || {
        let text = CString::new(json()).unwrap_or_default();
        // SAFETY: a text that ends with NUL.
        unsafe { libc::strdup(text.as_ptr()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_free_consts(text: *mut c_char) {
    // SAFETY: null or from `rmr_get_consts`, and freed once, says the header.
    unsafe { libc::free(text.cast::<c_void>()) };
}

fn json() -> String {
    let mut json = String::from("{");
    for (index, (name, value)) in CONSTANTS.iter().enumerate() {
        let separator = if index == 0 { " " } else { ", " };
        // Writing to a `String` does not fail.
        let _ = write!(json, "{separator}\"{name}\": {value}");
    }
    json.push_str(" }");
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that bindings read are the header's.
    #[test]
    fn the_constants_are_the_header_s() {
        let header = include_str!("../../include/rmr/rmr.h");
        for (name, value) in CONSTANTS {
            let line = header
                .lines()
                .find_map(|line| line.strip_prefix(&format!("#define {name} ")))
                .unwrap_or_else(|| panic!("{name} is not in rmr.h"));
            let text = line.split("/*").next().unwrap().trim();
            let text = text.trim_matches(['(', ')']);
            let found = match text.split_once('*') {
                Some((a, b)) => a.trim().parse::<i32>().unwrap() * b.trim().parse::<i32>().unwrap(),
                None => match text.strip_prefix("0x") {
                    Some(digits) => i32::from_str_radix(digits, 16).unwrap(),
                    None => text.parse().unwrap(),
                },
            };
            assert_eq!(found, *value, "{name}");
        }
    }

    #[test]
    fn the_text_is_an_object() {
        let json = json();
        assert!(json.starts_with("{ \"RMR_MAX_XID\": 32, "), "{json}");
        assert!(json.ends_with("\"RMR_ERR_INITFAILED\": 15 }"), "{json}");
    }
}
