//! The client of an endpoint that one event loop drives: it opens the connection and reports what
//! happens to it.

use super::chance::{ThreadRandom, clock};
use super::connection::EndpointConnection;
use crate::observe::story;
use corewire_transport::{Client, ClientOptions, ConnectionWatcher, Endpoint, LoopHandle};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A client, made when it is first needed.
pub(crate) struct LoopClient {
    client: OnceLock<Client>,
    handle: LoopHandle,
    connection: Arc<EndpointConnection>,
}

impl LoopClient {
    pub(crate) const fn new(handle: LoopHandle, connection: Arc<EndpointConnection>) -> Self {
        Self {
            client: OnceLock::new(),
            handle,
            connection,
        }
    }

    /// The client, for a call.
    pub(crate) fn for_call(&self, endpoint: &Endpoint, options: &ClientOptions) -> &Client {
        self.connection.mark_used();
        self.client(endpoint, options)
    }

    fn client(&self, endpoint: &Endpoint, options: &ClientOptions) -> &Client {
        self.client.get_or_init(|| {
            let watcher = Arc::new(Watcher(Arc::clone(&self.connection)));
            self.handle
                .connect_watched(endpoint.clone(), options.clone(), watcher)
        })
    }

    /// Opens the connection.
    pub(crate) fn connect(&self, now: Instant, endpoint: &Endpoint, options: &ClientOptions) {
        if let Err(error) = self.client(endpoint, options).prepare() {
            self.connection
                .disconnected(now, &story(&error), &mut ThreadRandom);
        }
    }
}

/// Hands on what the event loop says about a connection.
struct Watcher(Arc<EndpointConnection>);

impl ConnectionWatcher for Watcher {
    fn connected(&self) {
        self.0.connected(clock());
    }

    fn disconnected(&self, why: &str) {
        self.0.disconnected(clock(), why, &mut ThreadRandom);
    }

    fn draining(&self) {
        self.0.draining(clock(), &mut ThreadRandom);
    }
}
