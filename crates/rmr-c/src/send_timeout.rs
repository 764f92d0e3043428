//! How long a send waits for a peer that does not read.

use std::time::Duration;

/// How long a send waits for a peer that does not read, before its message is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendTimeout(pub(crate) Duration);

impl SendTimeout {
    /// What `rmr_set_stimeout` and `rmr_mtosend_msg` count.
    pub(crate) fn from_retries(retries: i32) -> Self {
        Self(match retries {
            ..=0 => Duration::from_micros(100),
            loops => Duration::from_millis(loops.unsigned_abs().into()),
        })
    }
}
