//! Opening and naming sockets: what `Socket` and `Listener` share.

use crate::socket::check;
use libc::{c_int, c_void};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A new TCP socket, non-blocking.
pub(crate) fn open_tcp(address: SocketAddr) -> io::Result<OwnedFd> {
    open(if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    })
}

/// A new Unix stream socket, non-blocking.
pub(crate) fn open_unix() -> io::Result<OwnedFd> {
    open(libc::AF_UNIX)
}

fn open(family: c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket touches no memory.
    let raw = check(unsafe { libc::socket(family, kind, 0) })?;
    // SAFETY: `raw` was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Switches an option of the socket level on.
pub(crate) fn set_option(fd: &OwnedFd, option: c_int) -> io::Result<()> {
    set_level_option(fd, libc::SOL_SOCKET, option)
}

/// Switches an option on.
pub(crate) fn set_level_option(fd: &OwnedFd, level: c_int, option: c_int) -> io::Result<()> {
    let on: c_int = 1;
    // SAFETY: the option reads one int of the size given; the descriptor is open.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const on).cast::<c_void>(),
            size_of_val(&on) as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Calls `f` with the address as the kernel wants it.
pub(crate) fn with_raw_address<T>(
    address: SocketAddr,
    f: impl FnOnce(*const libc::sockaddr, libc::socklen_t) -> T,
) -> T {
    match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from(*v4.ip()).to_be(),
                },
                sin_zero: [0; 8],
            };
            f(
                (&raw const raw).cast(),
                size_of_val(&raw) as libc::socklen_t,
            )
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            f(
                (&raw const raw).cast(),
                size_of_val(&raw) as libc::socklen_t,
            )
        }
    }
}
