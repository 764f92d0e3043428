//! Listening sockets.

use crate::memory;
use crate::options::{open_tcp, set_level_option, set_option, with_raw_address};
use crate::socket::check;
use crate::{Address, Socket};
use libc::c_int;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many connections may wait to be accepted; the kernel caps it (`net.core.somaxconn`).
const BACKLOG: c_int = 4096;

/// How long a live listener on this host may take to accept a connection.
const PROBE: Duration = Duration::from_millis(200);

/// A listening socket, non-blocking.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    /// A Unix socket's file, removed with the listener.
    path: Option<PathBuf>,
    tcp: bool,
    /// The name by which shared memory is offered.
    memory: Option<String>,
}

impl Listener {
    /// Binds and listens. With `shared`, [`bind_another`](Self::bind_another) gives more listeners
    /// at the same TCP port. A port that somebody else listens at is refused either way. A Unix
    /// socket that is there already is replaced when nobody answers at it; any other file is not.
    ///
    /// # Errors
    /// What the kernel says, for example `AddrInUse`.
    pub fn bind(address: &Address, shared: bool) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                if shared && address.port() != 0 {
                    // Sharing is between sockets, not between owners: another server that shares
                    // the port would get half of our connections, and nobody were told. One that
                    // does not share cannot be bound beside it. (Of two servers that start in the
                    // same instant both may still pass.)
                    drop(Self::bind_tcp(*address, false)?);
                }
                Self::bind_tcp(*address, shared)
            }
            Address::Unix(path) => Self::bind_unix(path),
            Address::Memory(name) => Ok(Self {
                fd: memory::bind(name, BACKLOG)?,
                path: None,
                tcp: false,
                memory: Some(name.clone()),
            }),
        }
    }

    /// Another listener at the same place, for another thread: at a TCP port bound as shared it is
    /// a socket of its own, and the kernel spreads connections over them (`SO_REUSEPORT`): one a
    /// core, no lock. For a Unix socket as [`share`](Self::share).
    ///
    /// # Errors
    /// What the kernel says; `AddrInUse` when the port was not bound as shared.
    pub fn bind_another(&self) -> io::Result<Self> {
        match self.address()? {
            Address::Tcp(address) => Self::bind_tcp(address, true),
            Address::Unix(_) | Address::Memory(_) => self.share(),
        }
    }

    /// Binds a TCP port that is handed over between this program and one that binds with
    /// `SO_REUSEPORT` alone, in either direction. The kernel keeps the addresses of closed
    /// connections for a minute, and lets a socket bind over them only if both have the same option
    /// set. So this sets `SO_REUSEADDR` and `SO_REUSEPORT`. A port with a live listener is refused,
    /// as by [`bind`](Self::bind).
    ///
    /// # Errors
    /// What the kernel says, for example `AddrInUse`.
    pub fn bind_handed_over(address: SocketAddr) -> io::Result<Self> {
        // Without `SO_REUSEPORT` at first: with it a live listener that set it too would share its
        // connections with this one, and neither would notice.
        let listener = Self::bind_tcp(address, false).or_else(|error| {
            let in_use = error.kind() == io::ErrorKind::AddrInUse;
            if in_use && TcpStream::connect_timeout(&address, PROBE).is_err() {
                Self::bind_tcp(address, true)
            } else {
                Err(error)
            }
        })?;
        // Inherited by accepted connections, whose addresses stay when they are closed.
        set_option(&listener.fd, libc::SO_REUSEPORT)?;
        Ok(listener)
    }

    fn bind_unix(path: &Path) -> io::Result<Self> {
        let is_socket =
            std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
        if is_socket
            && let Err(error) = UnixStream::connect(path)
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            fd: listener.into(),
            path: Some(path.to_owned()),
            tcp: false,
            memory: None,
        })
    }

    fn bind_tcp(address: SocketAddr, shared: bool) -> io::Result<Self> {
        let fd = open_tcp(address)?;
        set_option(&fd, libc::SO_REUSEADDR)?;
        if shared {
            set_option(&fd, libc::SO_REUSEPORT)?;
        }
        with_raw_address(address, |raw, length| {
            // SAFETY: pointer and length are those of an initialised socket address.
            check(unsafe { libc::bind(fd.as_raw_fd(), raw, length) })
        })?;
        // SAFETY: listen touches no memory; the descriptor is open and bound.
        check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
        Ok(Self {
            fd,
            path: None,
            tcp: true,
            memory: None,
        })
    }

    /// The same listener for another thread: each connection is accepted by one of them.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn share(&self) -> io::Result<Self> {
        // The file of a Unix socket goes with the first.
        Ok(Self {
            fd: self.fd.try_clone()?,
            path: None,
            tcp: self.tcp,
            memory: self.memory.clone(),
        })
    }

    /// Where it listens; a port asked for as 0 is the one the kernel chose.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn address(&self) -> io::Result<Address> {
        if let Some(name) = &self.memory {
            return Ok(Address::Memory(name.clone()));
        }
        if self.tcp {
            let socket = TcpListener::from(self.fd.try_clone()?);
            return Ok(Address::Tcp(socket.local_addr()?));
        }
        let socket = UnixListener::from(self.fd.try_clone()?);
        let path = socket.local_addr()?.as_pathname().map(Into::into);
        Ok(Address::Unix(path.unwrap_or_default()))
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
                    return Ok(match self.memory {
                        Some(_) => Socket::from_memory_fd(fd),
                        None => Socket::from_fd(fd),
                    });
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

// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_shared_by_one_owner_only() {
        let first = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into()), true).unwrap();
        let address = first.address().unwrap();
        let another = first.bind_another().unwrap();
        assert_eq!(another.address().unwrap(), address);
        for shared in [false, true] {
            let error = Listener::bind(&address, shared).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "shared: {shared}");
        }
        drop((first, another));
        let again = Listener::bind(&address, true).unwrap();
        assert!(again.bind_another().is_ok());
    }

    /// A listener like the O-RAN SC library's: `SO_REUSEPORT`, and nothing else.
    fn shared_port_only(address: SocketAddr) -> io::Result<TcpListener> {
        let fd = open_tcp(address)?;
        set_option(&fd, libc::SO_REUSEPORT)?;
        with_raw_address(address, |raw, length| {
            // SAFETY: pointer and length are those of an initialised socket address.
            check(unsafe { libc::bind(fd.as_raw_fd(), raw, length) })
        })?;
        // SAFETY: listen touches no memory; the descriptor is open and bound.
        check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
        Ok(fd.into())
    }

    /// Accepts a connection and closes it first, so that its address stays in TIME_WAIT here.
    fn leave_closed_connection(listener: &TcpListener) {
        listener.set_nonblocking(false).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        drop(client);
    }

    #[test]
    fn port_is_handed_over_in_both_directions() {
        let theirs = shared_port_only(([127, 0, 0, 1], 0).into()).unwrap();
        let address = theirs.local_addr().unwrap();
        let error = Listener::bind_handed_over(address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "it is live");
        leave_closed_connection(&theirs);
        drop(theirs);

        let ours = Listener::bind_handed_over(address).unwrap();
        let error = Listener::bind_handed_over(address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "ours is live");
        leave_closed_connection(&TcpListener::from(ours.fd.try_clone().unwrap()));
        drop(ours);

        shared_port_only(address).unwrap();
    }

    #[test]
    fn a_file_that_is_no_socket_is_kept() {
        let path = std::env::temp_dir().join(format!("cw-file-{}", std::process::id()));
        std::fs::write(&path, "precious").unwrap();
        let error = Listener::bind(&Address::Unix(path.clone()), false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        std::fs::remove_file(&path).unwrap();
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
