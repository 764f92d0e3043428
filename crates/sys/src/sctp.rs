//! The kernel's SCTP: one-to-one sockets (RFC 6458, section 4), non-blocking.

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::association_change::AssociationChange;
use crate::association_status::Status;
use crate::options::with_raw_address;
use crate::socket::check;
use crate::usrsctp::{SctpReadiness, SctpReceived};
use crate::{Epoll, Token};

/// Milliseconds that an acknowledgement waits for company.
const DELAYED_SACK: u32 = 10;
/// Milliseconds between heartbeats on an idle path.
const HEARTBEAT: u32 = 500;
/// Milliseconds of the longest wait for an acknowledgement, and of the shortest.
const RTO: (u32, u32) = (1000, 100);
/// Unanswered sendings after which a peer is gone: some seconds with the above.
const RETRANSMISSIONS: u16 = 3;
/// Streams in each direction.
const STREAMS: u16 = 16;
/// Octets of a socket's buffer in each direction; the kernel caps it (`net.core.wmem_max`).
const BUFFER: c_int = 1024 * 1024;
const BACKLOG: c_int = 1024;

/// Looks at the bell at a time, each for as many sockets as an [`Epoll`] tells of at once.
const LOOKS: u32 = 16;

/// `struct sctp_event_subscribe` as far as needed: no data events, changes of the association.
const EVENTS: [u8; 2] = [0, 1];
const CHANGE: AssociationChange = AssociationChange {
    kind: 0x8001,
    lost: 1,
    cannot_start: 4,
    shut_down: 3,
};
const SPP_HB_ENABLE: u32 = 1;
/// Octets of `struct sctp_paddrparams`, which is packed.
const PATH_SETTINGS: usize = 156;
/// Octets for the one control message that goes with a message.
const CONTROL: usize = 64;

/// The kernel's sockets of one driver, and their bell.
#[derive(Debug)]
pub struct KernelSctp {
    /// Holds the sockets, edge triggered; it is readable itself when one of them rang.
    bell: Mutex<Epoll>,
    fd: OwnedFd,
}

/// A one-to-one socket of the kernel, non-blocking. Dropping it ends its association in order.
#[derive(Debug)]
pub struct KernelSocket {
    /// To the kernel's general calls it is a stream like TCP's.
    stream: TcpStream,
}

#[repr(C)]
struct RetransmissionTimes {
    association: i32,
    initial: u32,
    max: u32,
    min: u32,
}

#[repr(C)]
struct AssociationSettings {
    association: i32,
    retransmissions: u16,
    destinations: u16,
    peer_window: u32,
    local_window: u32,
    cookie_life: u32,
}

#[repr(C)]
struct DelayedAcknowledgement {
    association: i32,
    delay: u32,
    packets: u32,
}

impl KernelSctp {
    /// Whether this kernel has SCTP, and if so a set of its sockets.
    ///
    /// # Errors
    /// `Unsupported` when it has none; else what the kernel says.
    pub fn open() -> io::Result<Self> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        drop(KernelSocket::open(loopback)?);
        let bell = Epoll::new()?;
        let fd = bell.as_fd().try_clone_to_owned()?;
        Ok(Self {
            bell: Mutex::new(bell),
            fd,
        })
    }

    /// Becomes readable when a socket may have something to do.
    #[must_use]
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The tokens of the sockets that rang since the last time.
    #[must_use]
    pub fn rung(&self) -> Vec<usize> {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rung = Vec::new();
        for _ in 0..LOOKS {
            let Ok(ready @ 1..) = bell.wait(Some(Duration::ZERO)) else {
                break;
            };
            let all = (0..ready).filter_map(|index| bell.readiness(index));
            rung.extend(all.filter_map(|readiness| usize::try_from(readiness.token.0).ok()));
        }
        rung
    }

    /// Rings the bell with this token whenever the socket may have something to do.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ring(&self, socket: &KernelSocket, token: usize) -> io::Result<()> {
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        bell.add_edges(socket.stream.as_fd(), Token(token as u64))
    }
}

impl KernelSocket {
    fn open(address: SocketAddr) -> io::Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => libc::AF_INET,
            SocketAddr::V6(_) => libc::AF_INET6,
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket touches no memory.
        let raw = check(unsafe { libc::socket(family, kind, libc::IPPROTO_SCTP) });
        let raw = raw.map_err(|error| match error.raw_os_error() {
            Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::EAFNOSUPPORT) => {
                io::Error::new(io::ErrorKind::Unsupported, "this kernel has no SCTP")
            }
            _ => error,
        })?;
        // SAFETY: `raw` was just opened and nobody else owns it.
        let socket = Self::of(unsafe { OwnedFd::from_raw_fd(raw) });
        socket.prepare()?;
        Ok(socket)
    }

    fn of(fd: OwnedFd) -> Self {
        Self {
            stream: TcpStream::from(fd),
        }
    }

    /// What an association inherits from the socket that listens or connects.
    fn prepare(&self) -> io::Result<()> {
        let on: c_int = 1;
        self.set(libc::IPPROTO_SCTP, libc::SCTP_NODELAY, &on)?;
        self.set(libc::IPPROTO_SCTP, libc::SCTP_RECVRCVINFO, &on)?;
        // Who shut down learns only so that the association is over.
        self.set(libc::IPPROTO_SCTP, libc::SCTP_EVENTS, &EVENTS)?;
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &BUFFER)?;
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER)?;
        let streams = libc::sctp_initmsg {
            sinit_num_ostreams: STREAMS,
            sinit_max_instreams: STREAMS,
            sinit_max_attempts: RETRANSMISSIONS,
            sinit_max_init_timeo: 0,
        };
        self.set(libc::IPPROTO_SCTP, libc::SCTP_INITMSG, &streams)?;
        let times = RetransmissionTimes {
            association: 0,
            initial: RTO.1,
            max: RTO.0,
            min: RTO.1,
        };
        self.set(libc::IPPROTO_SCTP, libc::SCTP_RTOINFO, &times)?;
        let settings = AssociationSettings {
            association: 0,
            retransmissions: RETRANSMISSIONS,
            destinations: 0,
            peer_window: 0,
            local_window: 0,
            cookie_life: 0,
        };
        self.set(libc::IPPROTO_SCTP, libc::SCTP_ASSOCINFO, &settings)?;
        let acknowledgement = DelayedAcknowledgement {
            association: 0,
            delay: DELAYED_SACK,
            packets: 2,
        };
        self.set(
            libc::IPPROTO_SCTP,
            libc::SCTP_DELAYED_SACK,
            &acknowledgement,
        )?;
        self.set(
            libc::IPPROTO_SCTP,
            libc::SCTP_PEER_ADDR_PARAMS,
            &path_settings(),
        )
    }

    fn set<T>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        // SAFETY: pointer and length are those of a live value, which the call only reads.
        check(unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                level,
                name,
                ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        })
        .map(drop)
    }

    /// The streams of its association that may be sent by: as many as the peer takes.
    ///
    /// # Errors
    /// What the kernel says: for example that there is no association.
    pub fn streams(&self) -> io::Result<u16> {
        let mut status = Status::zeroed();
        let mut length = status.0.len() as libc::socklen_t;
        // SAFETY: pointer and length are those of a live buffer, which may be written.
        check(unsafe {
            libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::IPPROTO_SCTP,
                libc::SCTP_STATUS,
                status.0.as_mut_ptr().cast(),
                &raw mut length,
            )
        })?;
        Ok(status.outgoing())
    }

    fn bind(&self, address: SocketAddr) -> io::Result<()> {
        with_raw_address(address, |raw, length| {
            // SAFETY: the address is initialised and of the length given.
            check(unsafe { libc::bind(self.stream.as_raw_fd(), raw, length) })
        })
        .map(drop)
    }

    /// A socket that listens.
    ///
    /// # Errors
    /// What the kernel says: for example that no interface has the address.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let socket = Self::open(address)?;
        let on: c_int = 1;
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, &on)?;
        socket.bind(address)?;
        // SAFETY: the socket is open.
        check(unsafe { libc::listen(socket.stream.as_raw_fd(), BACKLOG) })?;
        Ok(socket)
    }

    /// A socket that begins to connect; [`Self::readiness`] tells when it has.
    ///
    /// # Errors
    /// What the kernel says at once.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = Self::open(address)?;
        // All addresses of the host would be offered to the peer otherwise: a peer at the loopback
        // address cannot reach the others, nor those it.
        if address.ip().is_loopback() {
            socket.bind(SocketAddr::new(address.ip(), 0))?;
        }
        let begun = with_raw_address(address, |raw, length| {
            // SAFETY: the address is initialised and of the length given.
            check(unsafe { libc::connect(socket.stream.as_raw_fd(), raw, length) })
        });
        match begun {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket),
        }
    }

    /// What the socket is ready for now.
    #[must_use]
    pub fn readiness(&self) -> SctpReadiness {
        let mut look = libc::pollfd {
            fd: self.stream.as_raw_fd(),
            events: libc::POLLIN | libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one entry, which outlives the call.
        unsafe { libc::poll(&raw mut look, 1, 0) };
        SctpReadiness {
            readable: look.revents & libc::POLLIN != 0,
            writable: look.revents & libc::POLLOUT != 0,
            failed: look.revents & (libc::POLLERR | libc::POLLHUP) != 0,
        }
    }

    /// The local address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// The next association at a socket that listens.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; else what the kernel says.
    pub fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the peer's address is not asked for.
        let raw = check(unsafe {
            libc::accept4(
                self.stream.as_raw_fd(),
                ptr::null_mut(),
                ptr::null_mut(),
                flags,
            )
        })?;
        // SAFETY: `raw` was just opened and nobody else owns it.
        let socket = Self::of(unsafe { OwnedFd::from_raw_fd(raw) });
        let unspecified = || SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        // An association that is over already has no peer any more; receiving tells its reader.
        let peer = socket.stream.peer_addr().unwrap_or_else(|_| unspecified());
        Ok((socket, peer))
    }

    /// Sends a whole message.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room for it; else what the kernel says.
    pub fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> io::Result<()> {
        let info = libc::sctp_sndinfo {
            snd_sid: stream,
            snd_flags: 0,
            snd_ppid: ppid.to_be(),
            snd_context: 0,
            snd_assoc_id: 0,
        };
        let mut piece = libc::iovec {
            iov_base: payload.as_ptr().cast_mut().cast(),
            iov_len: payload.len(),
        };
        let mut control = Control([0; CONTROL]);
        // SAFETY: an all-zero msghdr is valid: no address, no data, no control.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE only computes.
        header.msg_controllen =
            unsafe { libc::CMSG_SPACE(size_of_val(&info) as u32) } as libc::size_t;
        // SAFETY: the control buffer is aligned, larger than msg_controllen, and outlives the header.
        let first = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
        // SAFETY: there is room for one control message of this size: see above.
        unsafe {
            (*first).cmsg_level = libc::IPPROTO_SCTP;
            (*first).cmsg_type = libc::SCTP_SNDINFO;
            (*first).cmsg_len = libc::CMSG_LEN(size_of_val(&info) as u32) as libc::size_t;
            libc::CMSG_DATA(first)
                .cast::<libc::sctp_sndinfo>()
                .write_unaligned(info);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: header, piece, payload and control are live; the call only reads them.
        let sent = unsafe { libc::sendmsg(self.stream.as_raw_fd(), &raw const header, flags) };
        match usize::try_from(sent) {
            // The kernel takes a message whole or not at all.
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Receives into `buffer`.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came; else what the kernel says: an association that is lost is one.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<SctpReceived> {
        let mut piece = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let mut control = Control([0; CONTROL]);
        // SAFETY: an all-zero msghdr is valid: no address, no data, no control.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = CONTROL as libc::size_t;
        // SAFETY: header, piece, buffer and control are live and may be written.
        let received = unsafe {
            libc::recvmsg(
                self.stream.as_raw_fd(),
                &raw mut header,
                libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC,
            )
        };
        let octets = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        if header.msg_flags & libc::MSG_NOTIFICATION != 0 {
            return Ok(CHANGE.read(&buffer[..octets]));
        }
        if octets == 0 {
            return Ok(SctpReceived::ShutDown);
        }
        let (stream, ppid) = received_info(&header);
        Ok(SctpReceived::Data {
            octets,
            stream,
            ppid,
            last: header.msg_flags & libc::MSG_EOR != 0,
        })
    }

    /// Says that nothing more will be sent: what was sent arrives first.
    pub fn shutdown(&self) {
        // That there is no association any more is no fault.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// A buffer as control messages want it.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Stream and payload protocol identifier of what was just received.
fn received_info(header: &libc::msghdr) -> (u16, u32) {
    // SAFETY: the kernel filled the header; its control buffer is live.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !at.is_null() {
        // SAFETY: `at` is one of the header's control messages.
        let (level, kind) = unsafe { ((*at).cmsg_level, (*at).cmsg_type) };
        if (level, kind) == (libc::IPPROTO_SCTP, libc::SCTP_RCVINFO) {
            // SAFETY: a control message of this type holds one of these; it need not be aligned.
            let info = unsafe {
                libc::CMSG_DATA(at)
                    .cast::<libc::sctp_rcvinfo>()
                    .read_unaligned()
            };
            return (info.rcv_sid, u32::from_be(info.rcv_ppid));
        }
        // SAFETY: as above.
        at = unsafe { libc::CMSG_NXTHDR(header, at) };
    }
    (0, 0)
}

/// `struct sctp_paddrparams` for every path: it is packed, so it is written octet by octet.
fn path_settings() -> [u8; PATH_SETTINGS] {
    const FAMILY: usize = 4;
    const INTERVAL: usize = FAMILY + size_of::<libc::sockaddr_storage>();
    const RETRANSMISSIONS_AT: usize = INTERVAL + 4;
    const FLAGS: usize = RETRANSMISSIONS_AT + 2 + 4 + 4;
    let mut settings = [0; PATH_SETTINGS];
    let mut put =
        |at: usize, octets: &[u8]| settings[at..at + octets.len()].copy_from_slice(octets);
    put(FAMILY, &(libc::AF_INET as libc::sa_family_t).to_ne_bytes());
    put(INTERVAL, &HEARTBEAT.to_ne_bytes());
    put(RETRANSMISSIONS_AT, &RETRANSMISSIONS.to_ne_bytes());
    put(FLAGS, &SPP_HB_ENABLE.to_ne_bytes());
    settings
}
