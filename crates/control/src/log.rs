//! Lines for whoever watches the process: who refused what, which reload was taken.

use std::sync::Arc;

/// Where lines go.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    /// Lines go to this.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    /// Lines go to standard error.
    #[must_use]
    pub fn to_stderr() -> Self {
        Self::new(|line| tracing::info!(name: "control", "{line}"))
    }

    pub(crate) fn line(&self, line: &str) {
        (self.0)(line);
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Log")
    }
}
