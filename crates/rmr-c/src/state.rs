//! The states of a message, as `rmr.h` numbers them.

use libc::c_int;

pub(crate) const OK: c_int = 0;
pub(crate) const BAD_ARGUMENT: c_int = 1;
pub(crate) const NO_ENDPOINT: c_int = 2;
pub(crate) const NO_HEADER: c_int = 4;
pub(crate) const SEND_FAILED: c_int = 5;
pub(crate) const NO_WORMHOLE_OPEN: c_int = 7;
pub(crate) const WORMHOLE_ID: c_int = 8;
pub(crate) const OVERFLOW: c_int = 9;
pub(crate) const RETRY: c_int = 10;
pub(crate) const TIMEOUT: c_int = 12;
pub(crate) const INIT_FAILED: c_int = 15;

/// Why a message was not taken, with the `errno` that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What `state` becomes.
    pub(crate) state: c_int,
    /// What `tp_state` and `errno` become.
    pub(crate) errno: c_int,
}

impl Refused {
    pub(crate) const fn new(state: c_int, errno: c_int) -> Self {
        Self { state, errno }
    }
}
