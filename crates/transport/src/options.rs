//! What can be set for a connection or a server, with its defaults.

use crate::endpoint::{Endpoint, Protocol, memory_name};
use crate::http2;
use crate::tls::{ClientTls, ServerTls};
use corewire_driver::Resolver;
use corewire_message::Peer;
use corewire_sys::Address;
use corewire_wire::native;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Settings of the calling side.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// How long connecting may take, all addresses of the host and the TLS handshake together; a blocking call gives up
    /// at its deadline if that is earlier. Default 5 s.
    pub connect_timeout: Duration,
    /// The longest wait between two attempts to connect of a client on an event loop; waits double up to
    /// it. Default `None`: 2 s, in the mesh 5 s.
    pub longest_backoff: Option<Duration>,
    /// The deadline of a call that brings none. Default 10 s.
    pub call_timeout: Duration,
    /// How long a caller that drives its connection itself, blocking or by
    /// [`EventLoop::run_once`](crate::EventLoop::run_once), asks the socket again before it sleeps, as
    /// long as answers come meanwhile: they come sooner then, at more CPU for the caller and less for
    /// the service (`docs/journal/waiting.md` has the figures, and why it is on). Between two looks it lets
    /// other threads run, and it looks eight times however long that takes, so that callers that share a
    /// core go round without being put to sleep. It stops by itself when answers take longer or the core
    /// is wanted by threads that just work, and costs nothing while idle. Default 20 us; zero: off.
    pub patience: Duration,
    /// How long a blocking caller asks the socket again and again before it sleeps, whether it
    /// pays or not. Burns the CPU meanwhile. Default zero: off.
    pub busy_poll: Duration,
    /// Use shared memory for a `native://` endpoint whose service runs on this host and offers it
    /// ([`ServerOptions::shared_memory`]); where not, the socket. Not with `tls`. Default: no; an
    /// endpoint `shm://` asks for it by name.
    pub shared_memory: bool,
    /// Who looks the endpoint's name up again when all of its addresses have failed. Default: the
    /// system.
    pub resolver: Resolver,
    /// TLS: whom to believe, and what to present. Default: clear text.
    pub tls: Option<ClientTls>,
    /// Settings of the native protocol.
    pub native: native::Config,
    /// Settings of HTTP/2.
    pub http2: http2::Config,
}

impl ClientOptions {
    /// The shared memory to try before the socket, where it is wanted: a service of this host offers it by
    /// its address.
    pub(crate) fn memory_of(&self, endpoint: &Endpoint) -> Option<Address> {
        let wanted = self.shared_memory && self.tls.is_none();
        match endpoint.address() {
            Address::Tcp(address) if wanted && endpoint.protocol() == Protocol::Native => {
                Some(Address::Memory(memory_name(*address)))
            }
            _ => None,
        }
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            longest_backoff: None,
            call_timeout: Duration::from_secs(10),
            patience: Duration::from_micros(20),
            busy_poll: Duration::ZERO,
            shared_memory: false,
            resolver: Resolver::default(),
            tls: None,
            native: native::Config::default(),
            http2: http2::Config::default(),
        }
    }
}

/// Is told of a peer whose connection was ended, and why. Called on the event loop: it must neither
/// block nor panic, and it is called as often as strangers like.
#[derive(Clone)]
pub struct OnFault(Arc<Tell>);

type Tell = dyn Fn(&Peer, &str) + Send + Sync;

impl OnFault {
    /// Calls this.
    pub fn new(tell: impl Fn(&Peer, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, peer: &Peer, why: &str) {
        (self.0)(peer, why);
    }
}

impl fmt::Debug for OnFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFault")
    }
}

/// Settings of the answering side.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Event loops, one thread each. Default: one for each core this process may run on.
    pub loops: usize,
    /// What is spoken on the port; the first octets of a connection tell. Default: every protocol.
    pub protocols: Vec<Protocol>,
    /// Connections that may be open at a time in each loop; more are closed at once. Default
    /// 65,536.
    pub max_connections: usize,
    /// Octets that may wait for a peer that does not read, before it is not read either. Default
    /// 4 MiB.
    pub max_backlog: usize,
    /// Events of one connection that may be in progress. More wait, and what the peer sends behind
    /// them does too, until one of them has ended. An event that has begun is finished even when its
    /// connection closes meanwhile. Default 1024; zero counts as one.
    pub max_events_in_progress: usize,
    /// How long a new connection may take to show which protocol it speaks, with TLS to end the
    /// handshake too. Default 10 s.
    pub first_octets_timeout: Duration,
    /// How long an event loop asks again and again before it sleeps. Default zero: off.
    pub busy_poll: Duration,
    /// Offer shared memory to clients of this host, beside every TCP address, to processes of the same
    /// user. Default: yes, unless there is TLS.
    pub shared_memory: bool,
    /// How long an event loop that has connections in shared memory looks at them again and again
    /// before it sleeps, as long as something comes within it; it stops by itself when nothing does,
    /// and costs nothing while idle. One with sockets alone asks these for 5 us of it, and lets other
    /// threads run between. Default 50 us; zero: off.
    pub patience: Duration,
    /// Who is told that a connection was ended because its peer broke the protocol or was refused,
    /// and why. Default: nobody; they are counted.
    pub on_fault: Option<OnFault>,
    /// TLS: this server's certificate, and what it asks of clients. Default: clear text.
    pub tls: Option<ServerTls>,
    /// Settings of the native protocol.
    pub native: native::Config,
    /// Settings of HTTP/2.
    pub http2: http2::Config,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            protocols: Protocol::ALL.to_vec(),
            loops: std::thread::available_parallelism().map_or(1, usize::from),
            max_connections: 65_536,
            max_backlog: 4 * 1024 * 1024,
            max_events_in_progress: 1024,
            first_octets_timeout: Duration::from_secs(10),
            busy_poll: Duration::ZERO,
            shared_memory: true,
            patience: Duration::from_micros(50),
            on_fault: None,
            tls: None,
            native: native::Config::default(),
            http2: http2::Config::default(),
        }
    }
}
