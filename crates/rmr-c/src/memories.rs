//! Connections in shared memory: where they are offered, and when to look at them.
//!
//! A context with `COREWIRE_RMR_TRANSPORT=shm` listens by a name beside its TCP port. A sender whose
//! endpoint is an address of this host connects by that name, and by TCP where nobody answers to it.
//! What is carried is the native protocol either way.
//!
//! Whoever drives looks at the memories for a moment before it sleeps, so that a stream needs no
//! system call; where nothing comes within that moment it soon stops looking, and is rung for.

use crate::interfaces;
use corewire_sys::{Address, Socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// How long to look before sleeping.
const WINDOW: Duration = Duration::from_micros(50);
/// Looks between two looks at the clock.
pub(crate) const LOOKS_A_TURN: usize = 64;
/// With more than this, looking costs more than being rung for.
const MOST_LOOKED_AT: usize = 64;
/// Times that something was found in a memory between two looks at the sockets.
const TURNS_WITHOUT_SOCKETS: u32 = 16;

/// A score of this is as sure as it gets that looking pays.
const SURE: u8 = 8;
/// What looking in vain takes off the score; once that paid adds one.
const IN_VAIN: u8 = 2;
/// While it does not pay, one wait in so many looks whether it would.
const LOOK_AGAIN: u16 = 256;

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

/// Whether an address is one of this host's.
pub(crate) fn is_of_this_host(ip: IpAddr) -> bool {
    ip.is_loopback()
        || interfaces::addresses(None).contains(&ip)
        || interfaces::addresses(Some("lo")).contains(&ip)
}

/// What a driver has learned of looking at the memories among its connections.
pub(crate) struct Memories {
    score: u8,
    waits: u16,
    turns: u32,
}

impl Memories {
    pub(crate) fn new() -> Self {
        Self {
            score: SURE / 2,
            waits: 0,
            turns: 0,
        }
    }

    /// Something was found; whether it is the sockets' turn now.
    pub(crate) fn is_sockets_turn(&mut self) -> bool {
        self.turns = (self.turns + 1) % TURNS_WITHOUT_SOCKETS;
        self.turns == 0
    }

    /// How long to look before a wait of at most `timeout`, if it is worth it.
    pub(crate) fn window(
        &mut self,
        timeout: Option<Duration>,
        memories: usize,
    ) -> Option<Duration> {
        let window = timeout.map_or(WINDOW, |timeout| timeout.min(WINDOW));
        if window.is_zero() || memories == 0 || memories > MOST_LOOKED_AT {
            return None;
        }
        self.waits = (self.waits + 1) % LOOK_AGAIN;
        (self.score > 0 || self.waits == 0).then_some(window)
    }

    /// Learns from a wait that looked.
    pub(crate) fn learn(&mut self, paid: bool) {
        self.score = if paid {
            (self.score + 1).min(SURE)
        } else {
            self.score.saturating_sub(IN_VAIN)
        };
    }
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

    #[test]
    fn looking_in_vain_stops_soon() {
        let mut memories = Memories::new();
        assert_eq!(memories.window(None, 0), None);
        assert_eq!(memories.window(Some(Duration::ZERO), 1), None);
        let mut looked = 0;
        for _ in 0..1024 {
            if memories.window(None, 1) == Some(WINDOW) {
                looked += 1;
                memories.learn(false);
            }
        }
        assert!((2..10).contains(&looked), "{looked}");
        for _ in 0..8 {
            memories.learn(true);
        }
        assert_eq!(memories.window(None, 1), Some(WINDOW));
        assert_eq!(memories.window(None, MOST_LOOKED_AT), Some(WINDOW));
        assert_eq!(memories.window(None, MOST_LOOKED_AT + 1), None);
    }
}
