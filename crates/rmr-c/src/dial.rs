//! Connecting to a peer by its name.

use crate::names;
use corewire_driver::clock;
use corewire_sys::{Address, Socket};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Connects to the first address of "host:port" that answers within `wait`; what `nearer` finds at an
/// address is taken before TCP is tried there.
///
/// # Errors
/// What the last address said; `HostUnreachable` when the name was not found in time.
pub(crate) fn dial(
    name: &str,
    wait: Duration,
    quick_ack: bool,
    nearer: impl Fn(SocketAddr) -> Option<Socket>,
) -> io::Result<Socket> {
    let deadline = clock() + wait;
    let mut result = Err(io::Error::from_raw_os_error(libc::EADDRNOTAVAIL));
    let addresses = names::addresses(name, wait).map_err(|error| {
        // As silent as a host that does not answer, and asking may have taken as long.
        io::Error::new(io::ErrorKind::HostUnreachable, error)
    })?;
    for address in addresses {
        if let Some(socket) = nearer(address) {
            return Ok(socket);
        }
        result = dial_one(&Address::Tcp(address), deadline);
        if result.is_ok() {
            break;
        }
    }
    let socket = result?;
    if quick_ack {
        socket.set_quick_ack()?;
    }
    Ok(socket)
}

fn dial_one(address: &Address, deadline: Instant) -> io::Result<Socket> {
    let socket = Socket::begin_connect(address)?;
    if !socket.wait_for_room(deadline)? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.take_error()?;
    if socket.is_its_own_peer() {
        // The kernel chose the port asked for as the one to ask from, and connected it to itself.
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(socket)
}
