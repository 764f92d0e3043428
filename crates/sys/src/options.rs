//! Opening and naming sockets, what `Socket` and `Listener` share; and what the kernel tells of a connection.

use crate::socket::check;
use libc::{c_int, c_void};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

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

/// Bytes that were written to a socket and that its peer's kernel has not got.
#[must_use]
pub fn unsent(socket: BorrowedFd<'_>) -> usize {
    let mut bytes: c_int = 0;
    // SAFETY: the descriptor is open, and the kernel writes one int, which is alive.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if asked < 0 {
        // It has ended.
        return 0;
    }
    usize::try_from(bytes).unwrap_or(0)
}

/// What has come over a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "two counts of the kernel's, which tests make up"
)]
pub struct Arrived {
    /// Bytes.
    pub bytes: u64,
    /// Segments with bytes in them.
    pub segments: u32,
}

impl Arrived {
    /// Asks the kernel what has come over a connection; `None` when it does not tell.
    #[must_use]
    pub fn over(socket: BorrowedFd<'_>) -> Option<Self> {
        // Of the kernel's `struct tcp_info`, which grows at its end: beyond what libc knows of it.
        const BYTES: usize = 128;
        const SEGMENTS: usize = 152;
        let mut info = [0u8; 160];
        let mut length = info.len() as libc::socklen_t;
        // SAFETY: pointer and length are those of a live array, and the kernel writes no more than that.
        let asked = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if asked < 0 || (length as usize) < info.len() {
            return None;
        }
        let bytes = info[BYTES..].first_chunk()?;
        let segments = info[SEGMENTS..].first_chunk()?;
        Some(Self {
            bytes: u64::from_ne_bytes(*bytes),
            segments: u32::from_ne_bytes(*segments),
        })
    }
}

/// Has the kernel hold about so many bytes that nobody has read. When it fails the buffer stays.
pub fn set_receive_buffer(socket: BorrowedFd<'_>, bytes: i32) {
    // SAFETY: pointer and length are those of one live int.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
}

// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_tells_what_came_and_takes_a_smaller_buffer() {
        const SENT: usize = 300_000;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let sender = std::thread::spawn(move || {
            peer.write_all(&vec![7; SENT]).unwrap();
            peer
        });
        socket.read_exact(&mut vec![0; SENT]).unwrap();
        let peer = sender.join().unwrap();
        let came = Arrived::over(socket.as_fd()).unwrap();
        assert_eq!(came.bytes, SENT as u64);
        assert!((1..1000).contains(&came.segments), "{came:?}");
        assert_eq!(unsent(socket.as_fd()), 0);
        drop(peer);

        set_receive_buffer(socket.as_fd(), 65_536);
        let mut buffer: c_int = 0;
        let mut length = size_of::<c_int>() as libc::socklen_t;
        // SAFETY: pointer and length are those of one live int that may be written.
        let asked = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw mut buffer).cast(),
                &raw mut length,
            )
        };
        assert_eq!((asked, buffer), (0, 2 * 65_536));
    }
}
