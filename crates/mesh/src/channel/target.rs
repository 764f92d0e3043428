//! A target that channels lead to.

use super::plan::Plan;
use super::signal::Signal;
use arc_swap::ArcSwap;
use std::any::Any;
use std::sync::Arc;

/// What all channels to one target share.
pub(crate) struct TargetState {
    pub(crate) name: Arc<str>,
    pub(crate) plan: ArcSwap<Plan>,
    /// What a hash policy over the channel hashes.
    pub(crate) hash: u64,
    /// The subscription, or why there is none.
    pub(crate) watch: Result<Box<dyn Any + Send + Sync>, String>,
    pub(crate) signal: Arc<Signal>,
}

impl Drop for TargetState {
    fn drop(&mut self) {
        // What only this target needed can be removed.
        self.signal.raise();
    }
}
