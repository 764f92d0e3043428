//! libusrsctp, SCTP in user space, opened when a program asks for it.
//!
//! The library is opened at run time, not linked: whoever does not use SCTP needs nothing, and whoever
//! does learns at start what is missing. It keeps one state a process, with threads of its own; its
//! upcalls come from those, and here they do nothing but ring a bell.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::WakeFd;
use crate::association_change::AssociationChange;
use crate::association_status::Status;

/// What Debian and others call the library's second version.
const LIBRARY: &CStr = c"libusrsctp.so.2";

/// libusrsctp drops packets for nobody without a word: every process on a host sees all of them.
const BLACKHOLE: u32 = 2;
/// Milliseconds that an acknowledgement waits for company; the default of 200 shows in every answer
/// that is not followed by another.
const DELAYED_SACK: u32 = 10;
/// Milliseconds between heartbeats on an idle path.
const HEARTBEAT: u32 = 500;
/// Milliseconds of the longest wait for an acknowledgement.
const RTO_MAX: u32 = 1000;
/// Milliseconds of the shortest; the default of 1000 is a stall of a second for each lost packet.
const RTO_MIN: u32 = 100;
/// Unanswered sendings after which a peer is gone: some seconds with the above.
const RETRANSMISSIONS: u32 = 3;
/// Streams in each direction.
const STREAMS: u32 = 16;
/// Octets of a socket's buffer in each direction: several of the largest messages.
const BUFFER: c_int = 1024 * 1024;

const IPPROTO_SCTP: c_int = 132;
const SCTP_NODELAY: c_int = 0x04;
const SCTP_EVENT: c_int = 0x1e;
const SCTP_RECVRCVINFO: c_int = 0x1f;
const SCTP_REMOTE_UDP_ENCAPS_PORT: c_int = 0x24;
const SCTP_STATUS: c_int = 0x100;
const CHANGE: AssociationChange = AssociationChange {
    kind: 1,
    lost: 2,
    cannot_start: 5,
    shut_down: 4,
};
const SCTP_SENDV_SNDINFO: c_uint = 1;
const SCTP_RECVV_RCVINFO: c_uint = 1;
const MSG_NOTIFICATION: c_int = 0x2000;
const EVENT_READ: c_int = 1;
const EVENT_WRITE: c_int = 2;
const EVENT_ERROR: c_int = 4;

/// The library's socket: never looked into.
#[repr(C)]
struct Raw {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Default)]
struct SendInfo {
    stream: u16,
    flags: u16,
    ppid: u32,
    context: u32,
    association: u32,
}

#[repr(C)]
#[derive(Default)]
struct ReceiveInfo {
    stream: u16,
    sequence: u16,
    flags: u16,
    ppid: u32,
    tsn: u32,
    cumulative_tsn: u32,
    context: u32,
    association: u32,
}

#[repr(C)]
struct Event {
    association: u32,
    kind: u16,
    on: u8,
}

#[repr(C)]
struct UdpEncapsulation {
    address: libc::sockaddr_storage,
    association: u32,
    port: u16,
}

type Upcall = unsafe extern "C" fn(*mut Raw, *mut c_void, c_int);

/// The functions that are used, as `usrsctp.h` of version 0.9.5 declares them.
struct Functions {
    init: unsafe extern "C" fn(u16, *const c_void, *const c_void),
    socket: unsafe extern "C" fn(
        c_int,
        c_int,
        c_int,
        *const c_void,
        *const c_void,
        u32,
        *mut c_void,
    ) -> *mut Raw,
    bind: unsafe extern "C" fn(*mut Raw, *mut libc::sockaddr, libc::socklen_t) -> c_int,
    listen: unsafe extern "C" fn(*mut Raw, c_int) -> c_int,
    accept: unsafe extern "C" fn(*mut Raw, *mut libc::sockaddr, *mut libc::socklen_t) -> *mut Raw,
    connect: unsafe extern "C" fn(*mut Raw, *mut libc::sockaddr, libc::socklen_t) -> c_int,
    close: unsafe extern "C" fn(*mut Raw),
    shutdown: unsafe extern "C" fn(*mut Raw, c_int) -> c_int,
    sendv: unsafe extern "C" fn(
        *mut Raw,
        *const c_void,
        usize,
        *mut libc::sockaddr,
        c_int,
        *mut c_void,
        libc::socklen_t,
        c_uint,
        c_int,
    ) -> isize,
    recvv: unsafe extern "C" fn(
        *mut Raw,
        *mut c_void,
        usize,
        *mut libc::sockaddr,
        *mut libc::socklen_t,
        *mut c_void,
        *mut libc::socklen_t,
        *mut c_uint,
        *mut c_int,
    ) -> isize,
    setsockopt:
        unsafe extern "C" fn(*mut Raw, c_int, c_int, *const c_void, libc::socklen_t) -> c_int,
    getsockopt:
        unsafe extern "C" fn(*mut Raw, c_int, c_int, *mut c_void, *mut libc::socklen_t) -> c_int,
    set_non_blocking: unsafe extern "C" fn(*mut Raw, c_int) -> c_int,
    set_upcall: unsafe extern "C" fn(*mut Raw, Option<Upcall>, *mut c_void) -> c_int,
    get_events: unsafe extern "C" fn(*mut Raw) -> c_int,
    local_addresses: unsafe extern "C" fn(*mut Raw, u32, *mut *mut libc::sockaddr) -> c_int,
    free_addresses: unsafe extern "C" fn(*mut libc::sockaddr),
    settings: [Setting; 7],
}

/// A function that sets one of the library's variables, and the value that it is to have.
type Setting = (unsafe extern "C" fn(u32) -> c_int, u32);

/// How packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the library has these two ways")]
pub enum Packets {
    /// In IP, protocol 132.
    Ip,
    /// In UDP (RFC 6951).
    Udp {
        /// This process's UDP port.
        local: u16,
        /// The peers' UDP port.
        remote: u16,
    },
}

/// The library, opened and started.
pub struct Usrsctp {
    functions: Functions,
    packets: Packets,
    bell: WakeFd,
    rung: Mutex<Vec<usize>>,
}

static STARTED: OnceLock<Result<Usrsctp, String>> = OnceLock::new();

impl Usrsctp {
    /// Opens and starts the library; a process has it once.
    ///
    /// # Errors
    /// It is not installed, the right to receive packets is missing, or it was started with packets
    /// that travel another way.
    pub fn start(packets: Packets) -> io::Result<&'static Self> {
        let started = STARTED.get_or_init(|| Self::open(packets).map_err(|e| e.to_string()));
        match started {
            Ok(library) if library.packets == packets => Ok(library),
            Ok(_) => Err(io::Error::other(
                "libusrsctp was started with packets that travel another way",
            )),
            Err(error) => Err(io::Error::other(error.clone())),
        }
    }

    fn open(packets: Packets) -> io::Result<Self> {
        may_receive(packets)?;
        let bell = WakeFd::new()?;
        let functions = Functions::load()?;
        let port = match packets {
            Packets::Ip => 0,
            Packets::Udp { local, .. } => local,
        };
        // SAFETY: called once in the process; null stands for the library's own output and no
        // debug text, as its documentation has it.
        unsafe { (functions.init)(port, ptr::null(), ptr::null()) };
        for (set, value) in functions.settings {
            // SAFETY: the library was started; the functions take a number.
            check(unsafe { set(value) })?;
        }
        Ok(Self {
            functions,
            packets,
            bell,
            rung: Mutex::new(Vec::new()),
        })
    }

    /// Becomes readable when a socket may have something to do.
    #[must_use]
    pub const fn bell(&self) -> &WakeFd {
        &self.bell
    }

    /// The tokens of the sockets that rang since the last time.
    #[must_use]
    pub fn rung(&self) -> Vec<usize> {
        std::mem::take(&mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A socket that listens.
    ///
    /// # Errors
    /// What the library says: for example that no interface has the address.
    pub fn listen(&'static self, address: SocketAddr) -> io::Result<SctpSocket> {
        const BACKLOG: c_int = 1024;
        let socket = self.socket(address.ip())?;
        socket.bind(address)?;
        // SAFETY: the socket is open.
        check(unsafe { (self.functions.listen)(socket.raw, BACKLOG) })?;
        Ok(socket)
    }

    /// A socket that begins to connect; [`SctpSocket::readiness`] tells when it has.
    ///
    /// # Errors
    /// What the library says at once.
    pub fn connect(&'static self, address: SocketAddr) -> io::Result<SctpSocket> {
        let socket = self.socket(address.ip())?;
        socket.encapsulate(address.ip())?;
        // All addresses of the host would be offered to the peer otherwise: a peer at the loopback
        // address cannot reach the others, nor those it.
        let from = match (address.ip(), address.ip().is_loopback()) {
            (loopback, true) => loopback,
            (IpAddr::V4(_), false) => Ipv4Addr::UNSPECIFIED.into(),
            (IpAddr::V6(_), false) => Ipv6Addr::UNSPECIFIED.into(),
        };
        socket.bind(SocketAddr::new(from, 0))?;
        let (mut raw, length) = raw_address(address);
        // SAFETY: the address is initialised, and at least as long as given.
        let result = unsafe { (self.functions.connect)(socket.raw, (&raw mut raw).cast(), length) };
        match check(result) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket),
        }
    }

    fn socket(&'static self, family_of: IpAddr) -> io::Result<SctpSocket> {
        // SAFETY: no callbacks: the socket is read, as a socket is.
        let raw = unsafe {
            (self.functions.socket)(
                family(family_of),
                libc::SOCK_STREAM,
                IPPROTO_SCTP,
                ptr::null(),
                ptr::null(),
                0,
                ptr::null_mut(),
            )
        };
        if raw.is_null() {
            return Err(io::Error::last_os_error());
        }
        let socket = SctpSocket { library: self, raw };
        socket.prepare()?;
        Ok(socket)
    }
}

/// A one-to-one socket of the library, non-blocking. Dropping it ends its association in order.
pub struct SctpSocket {
    library: &'static Usrsctp,
    raw: *mut Raw,
}

// SAFETY: the library locks its sockets itself; any thread may use one. That nobody uses it while it
// is closed is what ownership gives: `close` is called by `drop` alone.
unsafe impl Send for SctpSocket {}
// SAFETY: as above.
unsafe impl Sync for SctpSocket {}

/// What a socket is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpReadiness {
    /// Something can be received or accepted, or the end.
    pub readable: bool,
    /// There is room to send; a socket that connects is connected.
    pub writable: bool,
    /// The association failed.
    pub failed: bool,
}

/// What was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a receiver acts on each")]
pub enum SctpReceived {
    /// Octets of a message.
    Data {
        /// How many.
        octets: usize,
        /// On which stream.
        stream: u16,
        /// What the message is.
        ppid: u32,
        /// The message ends here.
        last: bool,
    },
    /// The association is lost.
    Lost,
    /// The association was shut down.
    ShutDown,
    /// The library says something that nobody acts on.
    Nothing,
}

impl SctpSocket {
    fn prepare(&self) -> io::Result<()> {
        // SAFETY: the socket is open.
        check(unsafe { (self.library.functions.set_non_blocking)(self.raw, 1) })?;
        let on: c_int = 1;
        self.set(IPPROTO_SCTP, SCTP_NODELAY, &on)?;
        self.set(IPPROTO_SCTP, SCTP_RECVRCVINFO, &on)?;
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &BUFFER)?;
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER)?;
        let event = Event {
            association: 0,
            kind: CHANGE.kind,
            on: 1,
        };
        self.set(IPPROTO_SCTP, SCTP_EVENT, &event)
    }

    /// Says to which UDP port the first packet goes; an accepted association has learned its own.
    fn encapsulate(&self, family_of: IpAddr) -> io::Result<()> {
        let Packets::Udp { remote, .. } = self.library.packets else {
            return Ok(());
        };
        // SAFETY: an all-zero sockaddr_storage is valid; with a family it means every address.
        let mut address: libc::sockaddr_storage = unsafe { zeroed() };
        address.ss_family = family(family_of) as libc::sa_family_t;
        let encapsulation = UdpEncapsulation {
            address,
            association: 0,
            port: remote.to_be(),
        };
        self.set(IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encapsulation)
    }

    fn set<T>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        // SAFETY: pointer and length are those of a live value, which the call only reads.
        check(unsafe {
            (self.library.functions.setsockopt)(
                self.raw,
                level,
                name,
                ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        })
    }

    /// The streams of its association that may be sent by: as many as the peer takes.
    ///
    /// # Errors
    /// What the library says: for example that there is no association.
    pub fn streams(&self) -> io::Result<u16> {
        let mut status = Status::zeroed();
        let mut length = status.0.len() as libc::socklen_t;
        // SAFETY: pointer and length are those of a live buffer, which may be written.
        check(unsafe {
            (self.library.functions.getsockopt)(
                self.raw,
                IPPROTO_SCTP,
                SCTP_STATUS,
                status.0.as_mut_ptr().cast(),
                &raw mut length,
            )
        })?;
        Ok(status.outgoing())
    }

    fn bind(&self, address: SocketAddr) -> io::Result<()> {
        let (mut raw, length) = raw_address(address);
        // SAFETY: the address is initialised, and at least as long as given.
        check(unsafe { (self.library.functions.bind)(self.raw, (&raw mut raw).cast(), length) })
    }

    /// Rings the library's bell with this token whenever there may be something to do.
    ///
    /// # Errors
    /// What the library says.
    pub fn ring(&self, token: usize) -> io::Result<()> {
        // SAFETY: the argument is a number that the upcall never follows as a pointer.
        check(unsafe {
            (self.library.functions.set_upcall)(
                self.raw,
                Some(ring),
                ptr::without_provenance_mut(token),
            )
        })
    }

    /// What the socket is ready for now.
    #[must_use]
    pub fn readiness(&self) -> SctpReadiness {
        // SAFETY: the socket is open.
        let events = unsafe { (self.library.functions.get_events)(self.raw) };
        SctpReadiness {
            readable: events & EVENT_READ != 0,
            writable: events & EVENT_WRITE != 0,
            failed: events & EVENT_ERROR != 0,
        }
    }

    /// The local port.
    #[must_use]
    pub fn local_port(&self) -> Option<u16> {
        let mut addresses = ptr::null_mut();
        let functions = &self.library.functions;
        // SAFETY: the socket is open; on success the library gives a list of its own.
        let count = unsafe { (functions.local_addresses)(self.raw, 0, &raw mut addresses) };
        if count < 1 || addresses.is_null() {
            return None;
        }
        // SAFETY: the list has at least one address, a sockaddr_in or the longer sockaddr_in6. The port
        // is at the same place in both, and nothing behind it is read. It need not be aligned.
        let first = unsafe { addresses.cast::<libc::sockaddr_in>().read_unaligned() };
        // SAFETY: the list came from the library and is given back once.
        unsafe { (functions.free_addresses)(addresses) };
        Some(u16::from_be(first.sin_port))
    }

    /// The next association at a socket that listens.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; else what the library says.
    pub fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        // SAFETY: an all-zero sockaddr_storage is valid.
        let mut from: libc::sockaddr_storage = unsafe { zeroed() };
        let mut length = size_of_val(&from) as libc::socklen_t;
        // SAFETY: address and length are live and may be written.
        let raw = unsafe {
            (self.library.functions.accept)(self.raw, (&raw mut from).cast(), &raw mut length)
        };
        if raw.is_null() {
            return Err(io::Error::last_os_error());
        }
        let socket = Self {
            library: self.library,
            raw,
        };
        socket.prepare()?;
        Ok((socket, address_of(&from)?))
    }

    /// Sends a whole message.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room for it; else what the library says.
    pub fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> io::Result<()> {
        let mut info = SendInfo {
            stream,
            ppid: ppid.to_be(),
            ..SendInfo::default()
        };
        // SAFETY: payload and info are live and of the lengths given; there are no addresses.
        let sent = unsafe {
            (self.library.functions.sendv)(
                self.raw,
                payload.as_ptr().cast(),
                payload.len(),
                ptr::null_mut(),
                0,
                (&raw mut info).cast(),
                size_of::<SendInfo>() as libc::socklen_t,
                SCTP_SENDV_SNDINFO,
                0,
            )
        };
        match usize::try_from(sent) {
            // The library takes a message whole or not at all.
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Receives into `buffer`.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came; else what the library says.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<SctpReceived> {
        let mut info = ReceiveInfo::default();
        let mut info_length = size_of::<ReceiveInfo>() as libc::socklen_t;
        let (mut kind, mut flags): (c_uint, c_int) = (0, 0);
        // SAFETY: an all-zero sockaddr_storage is valid.
        let mut from: libc::sockaddr_storage = unsafe { zeroed() };
        let mut from_length = size_of_val(&from) as libc::socklen_t;
        // SAFETY: all pointers are to live values of the lengths given, which may be written.
        let received = unsafe {
            (self.library.functions.recvv)(
                self.raw,
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                (&raw mut from).cast(),
                &raw mut from_length,
                (&raw mut info).cast(),
                &raw mut info_length,
                &raw mut kind,
                &raw mut flags,
            )
        };
        let octets = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        if flags & MSG_NOTIFICATION != 0 {
            return Ok(CHANGE.read(&buffer[..octets]));
        }
        if octets == 0 {
            return Ok(SctpReceived::ShutDown);
        }
        let known = kind == SCTP_RECVV_RCVINFO;
        Ok(SctpReceived::Data {
            octets,
            stream: if known { info.stream } else { 0 },
            ppid: if known { u32::from_be(info.ppid) } else { 0 },
            last: flags & libc::MSG_EOR != 0,
        })
    }

    /// Says that nothing more will be sent: what was sent arrives first.
    pub fn shutdown(&self) {
        // SAFETY: the socket is open. That there is no association any more is no fault.
        unsafe { (self.library.functions.shutdown)(self.raw, libc::SHUT_WR) };
    }
}

impl Drop for SctpSocket {
    fn drop(&mut self) {
        // SAFETY: the socket is open, closed nowhere else, and no thread waits in it: it never
        // blocks. The upcall stays: the library's threads look at it and call it without a lock, so
        // taking it away would let them call nothing. A bell for a token that is gone does nothing,
        // and tokens are not used again.
        unsafe { (self.library.functions.close)(self.raw) };
    }
}

/// The library's upcall, on a thread of its own: it may only wake.
unsafe extern "C" fn ring(_socket: *mut Raw, token: *mut c_void, _flags: c_int) {
    if let Some(Ok(library)) = STARTED.get() {
        let mut rung = library.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let first = rung.is_empty();
        rung.push(token.addr());
        drop(rung);
        if first {
            library.bell.wake();
        }
    }
}

const fn family(of: IpAddr) -> c_int {
    match of {
        IpAddr::V4(_) => libc::AF_INET,
        IpAddr::V6(_) => libc::AF_INET6,
    }
}

/// An address as the library takes it, and its length.
fn raw_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: an all-zero sockaddr_storage is valid.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let length = match address {
        SocketAddr::V4(address) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from(*address.ip()).to_be(),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: a sockaddr_storage has room for any address, and its alignment.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: address.ip().octets(),
                },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

/// An address as the library gives it.
fn address_of(storage: &libc::sockaddr_storage) -> io::Result<SocketAddr> {
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is one; a sockaddr_storage is aligned for it.
            let raw = unsafe { ptr::from_ref(storage).cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(u32::from_be(raw.sin_addr.s_addr));
            Ok(SocketAddr::from((ip, u16::from_be(raw.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let raw = unsafe { ptr::from_ref(storage).cast::<libc::sockaddr_in6>().read() };
            Ok(SocketAddr::V6(SocketAddrV6::new(
                Ipv6Addr::from(raw.sin6_addr.s6_addr),
                u16::from_be(raw.sin6_port),
                raw.sin6_flowinfo,
                raw.sin6_scope_id,
            )))
        }
        family => Err(io::Error::other(format!("an address of family {family}"))),
    }
}

/// The library itself is silent about a socket that it could not open.
fn may_receive(packets: Packets) -> io::Result<()> {
    match packets {
        Packets::Ip => {
            // SAFETY: socket touches no memory.
            let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_RAW, IPPROTO_SCTP) };
            if raw < 0 {
                let error = io::Error::last_os_error();
                return Err(io::Error::new(
                    error.kind(),
                    format!("SCTP over IP needs CAP_NET_RAW: {error}"),
                ));
            }
            // SAFETY: `raw` was just opened and nobody else owns it.
            unsafe { libc::close(raw) };
            Ok(())
        }
        Packets::Udp { local, .. } => std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, local))
            .map(drop)
            .map_err(|error| {
                io::Error::new(error.kind(), format!("UDP port {local} for SCTP: {error}"))
            }),
    }
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

impl Functions {
    #[expect(
        clippy::missing_transmute_annotations,
        reason = "the type is that of the field, which is the declaration"
    )]
    fn load() -> io::Result<Self> {
        // SAFETY: the name is a C string; the library's initialisers are those of a C library.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "SCTP needs libusrsctp.so.2 (Debian: apt-get install libusrsctp2)",
            ));
        }
        /// A function of the library by its name.
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: the handle is open and stays so; the name is a C string.
                let found = unsafe { libc::dlsym(library, $name.as_ptr()) };
                if found.is_null() {
                    return Err(missing($name));
                }
                // SAFETY: the function of this name has the type that usrsctp.h declares, which the
                // field's type repeats; both are pointers to functions.
                unsafe { std::mem::transmute(found) }
            }};
        }
        let functions = Self {
            init: function!(c"usrsctp_init"),
            socket: function!(c"usrsctp_socket"),
            bind: function!(c"usrsctp_bind"),
            listen: function!(c"usrsctp_listen"),
            accept: function!(c"usrsctp_accept"),
            connect: function!(c"usrsctp_connect"),
            close: function!(c"usrsctp_close"),
            shutdown: function!(c"usrsctp_shutdown"),
            sendv: function!(c"usrsctp_sendv"),
            recvv: function!(c"usrsctp_recvv"),
            setsockopt: function!(c"usrsctp_setsockopt"),
            getsockopt: function!(c"usrsctp_getsockopt"),
            set_non_blocking: function!(c"usrsctp_set_non_blocking"),
            set_upcall: function!(c"usrsctp_set_upcall"),
            get_events: function!(c"usrsctp_get_events"),
            local_addresses: function!(c"usrsctp_getladdrs"),
            free_addresses: function!(c"usrsctp_freeladdrs"),
            settings: [
                (function!(c"usrsctp_sysctl_set_sctp_blackhole"), BLACKHOLE),
                (
                    function!(c"usrsctp_sysctl_set_sctp_delayed_sack_time_default"),
                    DELAYED_SACK,
                ),
                (
                    function!(c"usrsctp_sysctl_set_sctp_heartbeat_interval_default"),
                    HEARTBEAT,
                ),
                (
                    function!(c"usrsctp_sysctl_set_sctp_rto_min_default"),
                    RTO_MIN,
                ),
                (
                    function!(c"usrsctp_sysctl_set_sctp_rto_max_default"),
                    RTO_MAX,
                ),
                (
                    function!(c"usrsctp_sysctl_set_sctp_assoc_rtx_max_default"),
                    RETRANSMISSIONS,
                ),
                (
                    function!(c"usrsctp_sysctl_set_sctp_nr_outgoing_streams_default"),
                    STREAMS,
                ),
            ],
        };
        Ok(functions)
    }
}

fn missing(name: &CStr) -> io::Error {
    let name = name.to_string_lossy();
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("libusrsctp.so.2 has no function {name}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_read_as_they_were_written() {
        for text in ["10.1.2.3:38412", "[2001:db8::7]:38412", "[fe80::1%3]:9"] {
            let address: SocketAddr = text.parse().expect("an address");
            let (raw, length) = raw_address(address);
            assert_eq!(address_of(&raw).expect("a known family"), address);
            let expected = if address.is_ipv4() { 16 } else { 28 };
            assert_eq!(length, expected);
        }
        let (mut raw, _) = raw_address("10.1.2.3:1".parse().expect("an address"));
        raw.ss_family = libc::AF_UNIX as libc::sa_family_t;
        assert!(address_of(&raw).is_err());
    }
}
