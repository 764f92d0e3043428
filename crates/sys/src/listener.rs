//! Listening sockets.

use crate::socket::check;
use crate::{Address, Socket};
use libc::{c_int, c_void};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// How many connections may wait to be accepted; the kernel caps it (`net.core.somaxconn`).
const BACKLOG: c_int = 4096;

/// A listening socket, non-blocking.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    /// A Unix socket's file, removed with the listener.
    path: Option<PathBuf>,
    tcp: bool,
}

impl Listener {
    /// Binds and listens. With `shared`, other listeners of this process may bind the same TCP
    /// port and the kernel spreads connections over them (`SO_REUSEPORT`): one a core, no lock.
    /// A Unix path that exists is replaced only when nobody answers there.
    ///
    /// # Errors
    /// What the kernel says, for example `AddrInUse`.
    pub fn bind(address: &Address, shared: bool) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => Self::bind_tcp(*address, shared),
            Address::Unix(path) => {
                if path.exists() && std::os::unix::net::UnixStream::connect(path).is_err() {
                    std::fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok(Self {
                    fd: listener.into(),
                    path: Some(path.clone()),
                    tcp: false,
                })
            }
        }
    }

    fn bind_tcp(address: SocketAddr, shared: bool) -> io::Result<Self> {
        let family = if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket touches no memory.
        let raw = check(unsafe { libc::socket(family, kind, 0) })?;
        // SAFETY: `raw` was just opened and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        set_option(&fd, libc::SO_REUSEADDR)?;
        if shared {
            set_option(&fd, libc::SO_REUSEPORT)?;
        }
        bind_fd(&fd, address)?;
        // SAFETY: listen touches no memory; the descriptor is open and bound.
        check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
        Ok(Self {
            fd,
            path: None,
            tcp: true,
        })
    }

    /// Where it listens; a port asked for as 0 is the one the kernel chose.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn address(&self) -> io::Result<Address> {
        match &self.path {
            Some(path) => Ok(Address::Unix(path.clone())),
            None => Ok(Address::Tcp(
                TcpListener::from(self.fd.try_clone()?).local_addr()?,
            )),
        }
    }

    /// The next connection, non-blocking, TCP without delay.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; else what the kernel says. A connection that was reset
    /// before it was accepted is skipped.
    pub fn accept(&self) -> io::Result<Socket> {
        loop {
            let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            let (nobody, nothing) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: null address pointers are allowed and mean that the peer is not asked for.
            let raw = unsafe { libc::accept4(self.fd.as_raw_fd(), nobody, nothing, flags) };
            match check(raw) {
                Ok(raw) => {
                    // SAFETY: `raw` was just opened and nobody else owns it.
                    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
                    if self.tcp {
                        set_level_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
                    }
                    return Ok(Socket::from_fd(fd));
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Gone already is as good; nobody can be told here.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn set_option(fd: &OwnedFd, option: c_int) -> io::Result<()> {
    set_level_option(fd, libc::SOL_SOCKET, option)
}

fn set_level_option(fd: &OwnedFd, level: c_int, option: c_int) -> io::Result<()> {
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

fn bind_fd(fd: &OwnedFd, address: SocketAddr) -> io::Result<()> {
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
            // SAFETY: pointer and size are those of one initialised sockaddr_in.
            check(unsafe {
                libc::bind(
                    fd.as_raw_fd(),
                    (&raw const raw).cast(),
                    size_of_val(&raw) as libc::socklen_t,
                )
            })
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
            // SAFETY: pointer and size are those of one initialised sockaddr_in6.
            check(unsafe {
                libc::bind(
                    fd.as_raw_fd(),
                    (&raw const raw).cast(),
                    size_of_val(&raw) as libc::socklen_t,
                )
            })
        }
    }
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_shared_only_when_asked() {
        let first = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into()), true).unwrap();
        let address = first.address().unwrap();
        assert!(Listener::bind(&address, true).is_ok());
        let error = Listener::bind(&address, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_dead_unix_path_is_replaced_and_a_live_one_is_not() {
        let path = std::env::temp_dir().join(format!("cw-listener-{}", std::process::id()));
        let address = Address::Unix(path.clone());
        drop(UnixListener::bind(&path).unwrap());
        let live = Listener::bind(&address, false).unwrap();
        assert_eq!(
            Listener::bind(&address, false).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        drop(live);
        assert!(!path.exists());
    }
}
