//! What can be set for a mesh, with its defaults.

use crate::config::{RetryPolicy, Transport, TransportFault};
use crate::policy::protect::retry::{Repeat, may_repeat};
use crate::policy::route::RequestHead;
use corewire_transport::{ClientOptions, LoopHandle};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The environment variable that names the transport of targets that say nothing.
pub const TRANSPORT_VARIABLE: &str = "COREWIRE_TRANSPORT";

/// Settings of a mesh.
#[derive(Clone)]
#[non_exhaustive]
pub struct MeshOptions {
    /// The event loops that drive connections; one connection an endpoint and loop. Default none:
    /// the mesh runs one on a thread of its own.
    pub loops: Vec<LoopHandle>,
    /// How targets are spoken to for which neither route, cluster nor endpoint says it. Default
    /// `None`: REST, which foreign network functions speak.
    pub transport: Option<Transport>,
    /// The deadline of a request for which neither its caller nor its route has one. Default 10 s.
    pub call_timeout: Duration,
    /// Settings of connections. `connect_timeout` is each cluster's own.
    pub client: ClientOptions,
    /// Which requests may be repeated although they may have been executed, when the route's retry
    /// policy names the failure. Default: those whose method is idempotent (GET, PUT, DELETE), and all
    /// of a route that declares its operations repeatable.
    pub repeat: RepeatRule,
}

impl Default for MeshOptions {
    fn default() -> Self {
        Self {
            loops: Vec::new(),
            transport: None,
            call_timeout: Duration::from_secs(10),
            client: ClientOptions::default(),
            repeat: RepeatRule::default(),
        }
    }
}

impl MeshOptions {
    /// The defaults, with the transport that `COREWIRE_TRANSPORT` names, if it is set.
    ///
    /// # Errors
    /// When it is set to a name that no transport has.
    pub fn from_env() -> Result<Self, TransportFault> {
        let mut options = Self::default();
        if let Some(name) = std::env::var_os(TRANSPORT_VARIABLE) {
            options.transport = Some(name.to_string_lossy().parse()?);
        }
        Ok(options)
    }

    /// The same with connections driven by this loop (too).
    #[must_use]
    pub fn with_loop(mut self, handle: LoopHandle) -> Self {
        self.loops.push(handle);
        self
    }

    /// The same with this transport for targets that say nothing.
    #[must_use]
    pub const fn with_transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }
}

/// Says of a request whether it may be repeated: what a process knows of its operations.
#[derive(Clone)]
pub struct RepeatRule(Arc<dyn Fn(&RequestHead<'_>) -> Repeat + Send + Sync>);

impl RepeatRule {
    /// This rule. It is asked once a request that has a retry policy.
    pub fn new(rule: impl Fn(&RequestHead<'_>) -> Repeat + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }

    pub(crate) fn allows(&self, policy: &RetryPolicy, request: &RequestHead<'_>) -> bool {
        may_repeat((self.0)(request), policy, request)
    }
}

impl Default for RepeatRule {
    fn default() -> Self {
        Self::new(|_| Repeat::ByMethod)
    }
}

impl fmt::Debug for RepeatRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RepeatRule")
    }
}

impl fmt::Debug for MeshOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeshOptions")
            .field("loops", &self.loops.len())
            .field("transport", &self.transport)
            .field("call_timeout", &self.call_timeout)
            .finish_non_exhaustive()
    }
}
