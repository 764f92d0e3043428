//! What an implementation of SCTP does for its driver: sockets that never block, and a bell for all.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use corewire_sys::sctp::{KernelSctp, KernelSocket};
use corewire_sys::usrsctp::{SctpReadiness, SctpReceived, SctpSocket, Usrsctp};

/// An implementation of SCTP.
pub(super) trait Stack: Send + Sync + 'static {
    type Socket: Sctp;

    /// Becomes readable when a socket may have something to do.
    fn bell(&self) -> BorrowedFd<'_>;
    /// The tokens of those sockets, since the last time.
    fn rung(&self) -> Vec<usize>;
    fn listen(&self, address: SocketAddr) -> io::Result<Self::Socket>;
    /// Begins to connect.
    fn connect(&self, address: SocketAddr) -> io::Result<Self::Socket>;
    /// Rings the bell with this token from now on.
    fn ring(&self, socket: &Self::Socket, token: usize) -> io::Result<()>;
}

/// A one-to-one socket (RFC 6458, section 4).
pub(super) trait Sctp: Sized + Send + Sync + 'static {
    fn readiness(&self) -> SctpReadiness;
    fn local_port(&self) -> Option<u16>;
    fn accept(&self) -> io::Result<(Self, SocketAddr)>;
    fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> io::Result<()>;
    fn receive(&self, buffer: &mut [u8]) -> io::Result<SctpReceived>;
    fn shutdown(&self);
    /// Of an association that is up: the streams that may be sent by.
    fn streams(&self) -> io::Result<u16>;
}

impl Stack for KernelSctp {
    type Socket = KernelSocket;

    fn bell(&self) -> BorrowedFd<'_> {
        self.bell()
    }

    fn rung(&self) -> Vec<usize> {
        self.rung()
    }

    fn listen(&self, address: SocketAddr) -> io::Result<KernelSocket> {
        KernelSocket::listen(address)
    }

    fn connect(&self, address: SocketAddr) -> io::Result<KernelSocket> {
        KernelSocket::connect(address)
    }

    fn ring(&self, socket: &KernelSocket, token: usize) -> io::Result<()> {
        self.ring(socket, token)
    }
}

impl Sctp for KernelSocket {
    fn readiness(&self) -> SctpReadiness {
        self.readiness()
    }

    fn local_port(&self) -> Option<u16> {
        self.local_address().ok().map(|address| address.port())
    }

    fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        self.accept()
    }

    fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> io::Result<()> {
        self.send(stream, ppid, payload)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<SctpReceived> {
        self.receive(buffer)
    }

    fn shutdown(&self) {
        self.shutdown();
    }

    fn streams(&self) -> io::Result<u16> {
        self.streams()
    }
}

impl Stack for &'static Usrsctp {
    type Socket = SctpSocket;

    fn bell(&self) -> BorrowedFd<'_> {
        Usrsctp::bell(self).as_fd()
    }

    fn rung(&self) -> Vec<usize> {
        Usrsctp::rung(self)
    }

    fn listen(&self, address: SocketAddr) -> io::Result<SctpSocket> {
        Usrsctp::listen(self, address)
    }

    fn connect(&self, address: SocketAddr) -> io::Result<SctpSocket> {
        Usrsctp::connect(self, address)
    }

    fn ring(&self, socket: &SctpSocket, token: usize) -> io::Result<()> {
        socket.ring(token)
    }
}

impl Sctp for SctpSocket {
    fn readiness(&self) -> SctpReadiness {
        self.readiness()
    }

    fn local_port(&self) -> Option<u16> {
        self.local_port()
    }

    fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        self.accept()
    }

    fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> io::Result<()> {
        self.send(stream, ppid, payload)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<SctpReceived> {
        self.receive(buffer)
    }

    fn shutdown(&self) {
        self.shutdown();
    }

    fn streams(&self) -> io::Result<u16> {
        self.streams()
    }
}
