//! How messages are carried to a peer: one enum, a file for each carrier.
//!
//! A carrier is an open connection. It knows nothing of other peers, of who sends and of what is done
//! when it is lost: that is the [link](mod@crate::link)'s.

pub(crate) mod native;
pub(crate) mod nng;
pub(crate) mod shm;
pub(crate) mod si95;

use crate::dial::dial;
use crate::outgoing::Outgoing;
use crate::ready::Ready;
use corewire_driver::clock;
use corewire_sys::Socket;
use native::Native;
use nng::NngSender;
use shm::Shm;
use si95::Si95;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a context sends by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarrierKind {
    /// SI95 frames over TCP.
    Si95,
    /// Events of the native protocol over TCP; messages up to so many octets.
    Native { most_octets: usize },
    /// The same through shared memory where the peer offers it.
    Shm { most_octets: usize },
    /// NNG, which connects before the first message is sent, or meanwhile.
    Nng { waits: bool },
}

impl CarrierKind {
    /// Whether messages go as records, which have no room for trace data of any length.
    #[inline]
    pub(crate) const fn has_records(self) -> bool {
        matches!(self, Self::Native { .. } | Self::Shm { .. })
    }

    /// Connects to "host:port" within `wait`.
    ///
    /// # Errors
    /// Nobody is there, or it cannot be found out in time.
    pub(crate) fn connect(
        self,
        name: &str,
        wait: Duration,
        quick_ack: bool,
    ) -> io::Result<Carrier> {
        let tcp = |address| dial(address, wait, quick_ack, |_| None);
        match self {
            Self::Si95 => Ok(Carrier::si95(Arc::new(tcp(name)?))),
            Self::Native { most_octets } => Ok(Carrier::native(tcp(name)?, most_octets)),
            Self::Shm { most_octets } => {
                let socket = dial(name, wait, quick_ack, |at| shm::connect(at).ok())?;
                Ok(if socket.is_memory() {
                    Carrier::Shm(Box::new(Shm::new(socket, most_octets)))
                } else {
                    Carrier::native(socket, most_octets)
                })
            }
            Self::Nng { waits } => {
                if waits {
                    // NNG would wait as long as the kernel does: two minutes for a host that is silent.
                    self.probe(name, wait)
                        .map_err(|error| io::Error::new(io::ErrorKind::HostUnreachable, error))?;
                }
                NngSender::dial(name, waits).map(Carrier::Nng)
            }
        }
    }

    /// Finds out whether a peer is there, for a carrier that would try for ever and say nothing.
    ///
    /// # Errors
    /// Nobody is there, or it cannot be found out in time.
    pub(crate) fn probe(self, name: &str, wait: Duration) -> io::Result<()> {
        match self {
            Self::Nng { .. } => dial(name, wait, false, |_| None).map(drop),
            Self::Si95 | Self::Native { .. } | Self::Shm { .. } => Ok(()),
        }
    }
}

/// An open connection.
pub(crate) enum Carrier {
    Si95(Si95),
    Native(Box<Native>),
    Shm(Box<Shm>),
    Nng(NngSender),
}

impl Carrier {
    /// SI95 over a connection, whoever made it.
    pub(crate) const fn si95(socket: Arc<Socket>) -> Self {
        Self::Si95(Si95::new(socket))
    }

    fn native(socket: Socket, most_octets: usize) -> Self {
        Self::Native(Box::new(Native::new(socket, most_octets)))
    }

    /// Leaves a message with those that wait.
    #[inline]
    pub(crate) fn push(&mut self, waiting: &mut Outgoing, message: &Ready<'_>) {
        match self {
            Self::Si95(_) | Self::Nng(_) => waiting.push(message.frame(), 0),
            Self::Native(native) => native.push(waiting, message),
            Self::Shm(shm) => shm.push(waiting, message),
        }
    }

    /// Writes what waits, as much as kernel and peer take; whether that was everything.
    ///
    /// # Errors
    /// The connection is lost; what it did not take as a whole still waits.
    pub(crate) fn flush(&mut self, waiting: &mut Outgoing) -> io::Result<bool> {
        match self {
            Self::Si95(si95) => si95.flush(waiting),
            Self::Native(native) => native.flush(waiting, clock()),
            Self::Shm(shm) => shm.flush(waiting, clock()),
            // What it took it keeps in queues of its own.
            Self::Nng(_) => Ok(true),
        }
    }

    /// Waits until the peer may take more. An error shows when it is written to again.
    pub(crate) fn wait_for_room(&self, until: Instant) {
        match self {
            Self::Si95(si95) => si95.wait_for_room(until),
            Self::Native(native) => native.wait_for_room(until),
            Self::Shm(shm) => shm.wait_for_room(until),
            Self::Nng(_) => {}
        }
    }

    /// How the connection ended while it was not used, if it has.
    pub(crate) fn ended(&mut self) -> Option<io::Error> {
        match self {
            Self::Si95(si95) => si95.ended(),
            Self::Native(native) => native.ended(),
            Self::Shm(shm) => shm.ended(),
            Self::Nng(_) => None,
        }
    }

    /// Whether it goes over this connection.
    pub(crate) fn is_over(&self, socket: &Arc<Socket>) -> bool {
        matches!(self, Self::Si95(si95) if Arc::ptr_eq(si95.socket(), socket))
    }

    /// Octets that the kernel keeps until more comes or it is to send them.
    #[inline]
    pub(crate) fn kept(&self) -> usize {
        match self {
            Self::Si95(si95) => si95.kept(),
            Self::Native(_) | Self::Shm(_) | Self::Nng(_) => 0,
        }
    }

    /// Has the kernel send what it keeps.
    pub(crate) fn push_kept(&mut self) {
        if let Self::Si95(si95) = self {
            si95.push_kept();
        }
    }

    /// Everything is written and nothing will follow.
    pub(crate) fn finish(&mut self, deadline: Instant) {
        if let Self::Native(native) = self {
            native.finish(deadline);
        }
    }

    /// Ends the connection for both ends.
    pub(crate) fn shutdown(&self) {
        match self {
            Self::Si95(si95) => si95.socket().shutdown(),
            Self::Native(native) => native.socket().shutdown(),
            Self::Shm(shm) => shm.socket().shutdown(),
            Self::Nng(_) => {}
        }
    }
}
