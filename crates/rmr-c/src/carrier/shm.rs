//! Shared memory as a carrier: the native protocol between peers of one host, without system calls in a
//! stream.
//!
//! A context with `COREWIRE_RMR_TRANSPORT=shm` listens by a name beside its TCP port. A sender whose
//! endpoint is an address of this host connects by that name, and by TCP where nobody answers to it.
//! What is carried is the native protocol either way.

use super::native::Native;
use crate::interfaces::is_of_this_host;
use crate::outgoing::Outgoing;
use crate::ready::Ready;
use corewire_driver::clock;
use corewire_sys::{Address, Socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// How often a memory is asked whether its other end still lives, which costs a system call.
const ASKED_EVERY: Duration = Duration::from_millis(1);

/// A connection that events go out by, in shared memory.
pub(crate) struct Shm {
    native: Native,
    asked: Instant,
}

impl Shm {
    /// Over a memory that was just attached.
    pub(crate) fn new(memory: Socket, most_octets: usize) -> Self {
        Self {
            native: Native::new(memory, most_octets),
            asked: clock(),
        }
    }

    pub(crate) const fn socket(&self) -> &Socket {
        self.native.socket()
    }

    /// Leaves a message with those that wait.
    #[inline]
    pub(crate) fn push(&mut self, waiting: &mut Outgoing, message: &Ready<'_>) {
        self.native.push(waiting, message);
    }

    /// Writes what waits, as much as memory and peer take; whether that was everything.
    ///
    /// # Errors
    /// The connection is lost; what it did not take as a whole still waits.
    pub(crate) fn flush(&mut self, waiting: &mut Outgoing, now: Instant) -> io::Result<bool> {
        // A socket fails when it is written to; a memory takes octets until somebody looks.
        if now.saturating_duration_since(self.asked) >= ASKED_EVERY {
            self.asked = now;
            self.socket().acknowledge_wake();
        }
        self.native.flush(waiting, now)
    }

    /// Waits until the peer may take more. An error shows when it is written to again.
    pub(crate) fn wait_for_room(&self, until: Instant) {
        self.native.wait_for_room(until);
    }

    /// How the connection ended while it was not used, if it has.
    pub(crate) fn ended(&mut self) -> Option<io::Error> {
        self.socket().acknowledge_wake();
        self.native.ended()
    }
}

/// Where a context that listens at this address offers memory.
pub(crate) fn offered_at(at: SocketAddr) -> Address {
    Address::Memory(format!("rmr/{at}"))
}

/// Connects by memory to who listens at `at`, if that is on this host: at that very address, or at
/// all.
///
/// # Errors
/// Nobody offers memory there, or not to this user.
pub(crate) fn connect(at: SocketAddr) -> io::Result<Socket> {
    let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
    if !is_of_this_host(at.ip()) {
        return result;
    }
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    for ip in [at.ip()].into_iter().chain(any) {
        result = Socket::begin_connect(&offered_at(SocketAddr::new(ip, at.port())));
        let nobody = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if !result.as_ref().is_err_and(nobody) {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_sys::Listener;

    fn listener(ip: IpAddr, port: u16) -> Listener {
        Listener::bind(&offered_at(SocketAddr::new(ip, port)), false).unwrap()
    }

    /// A port that is this process's, as a TCP listener has it.
    fn port() -> (std::net::TcpListener, u16) {
        let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = holder.local_addr().unwrap().port();
        (holder, port)
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no Unix sockets")]
    fn a_memory_is_found_at_its_address_and_at_all() {
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        for ip in [
            loopback,
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv6Addr::UNSPECIFIED.into(),
        ] {
            let (_holder, port) = port();
            let at = SocketAddr::new(loopback, port);
            connect(at).map(drop).unwrap_err();
            let _listener = listener(ip, port);
            assert!(connect(at).unwrap().is_memory(), "{ip}");
        }
    }

    /// Its port may be offered here as well: that is somebody else.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no Unix sockets")]
    fn other_hosts_have_none() {
        let (_holder, port) = port();
        let _listener = listener(Ipv4Addr::UNSPECIFIED.into(), port);
        let elsewhere = SocketAddr::new(IpAddr::from([192, 0, 2, 1]), port);
        let error = connect(elsewhere).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
