//! N2's transport: messages with a stream and a payload protocol identifier, between two nodes that
//! notice when the other is gone (TS 38.412: SCTP).
//!
//! | [`Carrier`] | what goes over the wire |
//! |---|---|
//! | [`Raw`](Carrier::Raw) | SCTP over IP, protocol 132, what any gNB speaks: the kernel's where it has it, else libusrsctp, which needs CAP_NET_RAW |
//! | [`Udp`](Carrier::Udp) | SCTP in UDP (RFC 6951), by libusrsctp |
//! | [`Tcp`](Carrier::Tcp) | our own records over TCP, for tests: no SCTP at all |
//!
//! ```text
//!   Driver::start(carrier) ── listen ──▶ Acceptor ── accept ──▶ Association
//!                          └─ connect ────────────────────────▶     │ receive: message | Ended
//!                                                        AssociationSender: send, shutdown
//! ```
//!
//! A driver has a thread of its own that receives for all its associations and queues what came.
//! Whoever waits for a message is woken, on whatever loop or thread; whoever sends writes at once and
//! is never blocked. Both queues are bounded: a peer that sends faster than it is read is not read,
//! and a message for a peer that does not read is refused.

mod association;
mod framing;
mod sockets;
mod stack;
mod tcp;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use corewire_sys::sctp::KernelSctp;
use corewire_sys::usrsctp::{Packets, Usrsctp};

pub use association::{
    Acceptor, Association, AssociationSender, Ended, MAX_QUEUED_MESSAGES, MAX_QUEUED_OCTETS,
    Message, SendError,
};
pub use framing::{Frame, FrameError, FrameKind, HEADER_LEN, MAX_MESSAGE};

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller chooses one of these")]
pub enum Carrier {
    /// SCTP over IP.
    Raw,
    /// SCTP in UDP.
    Udp {
        /// This node's UDP port; RFC 6951 names 9899.
        local: u16,
        /// The peers' UDP port.
        remote: u16,
    },
    /// Records over TCP.
    Tcp,
}

/// One way to carry messages, started.
#[derive(Clone)]
pub struct Driver {
    inner: Arc<dyn Drive>,
    description: String,
}

/// What a carrier does for its driver.
trait Drive: Send + Sync {
    fn listen(&self, address: SocketAddr) -> io::Result<Acceptor>;
    fn connect(&self, address: SocketAddr, timeout: Duration) -> io::Result<Association>;
}

impl Driver {
    /// Starts a carrier.
    ///
    /// # Errors
    /// What is missing for it: the library, a right, descriptors or threads.
    pub fn start(carrier: Carrier) -> io::Result<Self> {
        let (inner, description): (Arc<dyn Drive>, String) = match carrier {
            Carrier::Tcp => (
                Arc::new(tcp::TcpDriver::start()?),
                "records over TCP (for tests: no SCTP)".into(),
            ),
            Carrier::Raw => match KernelSctp::open() {
                Ok(kernel) => (
                    Arc::new(sockets::SctpDriver::start(kernel)?),
                    "SCTP over IP, by the kernel".into(),
                ),
                Err(error) if error.kind() == io::ErrorKind::Unsupported => (
                    Arc::new(usrsctp(Packets::Ip)?),
                    "SCTP over IP, by libusrsctp".into(),
                ),
                Err(error) => return Err(error),
            },
            Carrier::Udp { local, remote } => (
                Arc::new(usrsctp(Packets::Udp { local, remote })?),
                format!("SCTP in UDP, port {local}, peers' {remote}, by libusrsctp"),
            ),
        };
        Ok(Self { inner, description })
    }

    /// What was chosen, for people.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Listens for associations.
    ///
    /// # Errors
    /// What the system says, for example that the address is in use.
    pub fn listen(&self, address: SocketAddr) -> io::Result<Acceptor> {
        self.inner.listen(address)
    }

    /// Sets up an association; blocks until it is up, at most `timeout`.
    ///
    /// # Errors
    /// Nobody answers there, or not in time.
    pub fn connect(&self, address: SocketAddr, timeout: Duration) -> io::Result<Association> {
        self.inner.connect(address, timeout)
    }
}

/// The driver over libusrsctp: a process has one, as it has one library.
fn usrsctp(packets: Packets) -> io::Result<sockets::SctpDriver<&'static Usrsctp>> {
    static DRIVER: Mutex<Option<sockets::SctpDriver<&'static Usrsctp>>> = Mutex::new(None);
    let library = Usrsctp::start(packets)?;
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(driver) = &*driver {
        return Ok(driver.clone());
    }
    let started = sockets::SctpDriver::start(library)?;
    *driver = Some(started.clone());
    Ok(started)
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("carrier", &self.description)
            .finish_non_exhaustive()
    }
}
