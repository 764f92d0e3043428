//! Stream sockets, TCP and Unix, with just the calls that the drivers make.

use crate::WakeFd;
use crate::calls::count;
use crate::memory::{self, Ends};
use crate::options::{open_tcp, open_unix, set_level_option, with_raw_address};
use bytes::BytesMut;
use libc::{c_int, c_void};
use std::fmt;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shorter bounds are rounded up to this: to the kernel zero would mean "no bound".
const LEAST_TIMEOUT: Duration = Duration::from_micros(1);

/// Where a socket listens or connects to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "every driver handles every family")]
pub enum Address {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A Unix stream socket in the file system.
    Unix(PathBuf),
    /// Shared memory with a process of this host that listens by this name.
    Memory(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Memory(name) => write!(f, "shm:{name}"),
        }
    }
}

/// A connected stream of octets: a socket, or shared memory with a socket as its bell. All calls take
/// `&self`; one thread at a time sends and one receives.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    memory: Option<Box<Memory>>,
}

/// What carries the octets instead of the socket.
struct Memory {
    /// Server: not set before the client has handed its memory over; an error when that was none.
    ends: OnceLock<io::Result<Ends>>,
    /// Nanoseconds of a blocking receive; 0: no bound.
    receive_timeout: AtomicU64,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// Octets of kernel memory that wait to be sent and acknowledged, with what the kernel needs beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what there is to say")]
pub struct SendMemory {
    /// Beyond this it takes nothing more.
    pub limit: usize,
    /// Taken now.
    pub used: usize,
}

impl Socket {
    /// Connects, waiting at most `timeout`. The socket is blocking; TCP has no delay.
    ///
    /// # Errors
    /// What the kernel says, or `TimedOut`: over TCP the peer did not answer, over Unix the
    /// listener's queue stayed full.
    pub fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, timeout.max(LEAST_TIMEOUT))?;
                stream.set_nodelay(true)?;
                Ok(Self::from_fd(stream.into()))
            }
            Address::Unix(path) => Self::connect_unix(path, timeout),
            Address::Memory(name) => Self::connect_memory(name),
        }
    }

    /// A Unix socket connects or is refused at once, except when the listener's queue is full: then
    /// connecting waits as sending would, so the bound on sending is the bound. A non-blocking one
    /// would be told `WouldBlock`, and nothing reports when to try again.
    fn connect_unix(path: &Path, timeout: Duration) -> io::Result<Self> {
        let raw = unix_address(path)?;
        let socket = Self::from_fd(open_unix()?);
        socket.set_nonblocking(false)?;
        let deadline = Instant::now().checked_add(timeout);
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            socket.set_timeout(libc::SO_SNDTIMEO, left)?;
            // SAFETY: pointer and length are those of an initialised socket address.
            let result = check(unsafe {
                libc::connect(
                    socket.fd.as_raw_fd(),
                    (&raw const raw).cast(),
                    size_of_val(&raw) as libc::socklen_t,
                )
            });
            match result {
                Ok(_) => return Ok(socket),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let text = "the listener's queue stayed full";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins to connect and does not wait: the socket, non-blocking, becomes writable when it is
    /// connected or has failed; [`take_error`](Self::take_error) tells which.
    ///
    /// # Errors
    /// What the kernel says at once, for example that a Unix path does not exist, or `WouldBlock`
    /// when a Unix listener's queue is full: nothing reports when it has room again.
    pub fn begin_connect(address: &Address) -> io::Result<Self> {
        let (fd, result) = match address {
            Address::Tcp(address) => {
                let fd = open_tcp(*address)?;
                set_level_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
                let result = with_raw_address(*address, |raw, length| {
                    // SAFETY: pointer and length are those of an initialised socket address.
                    check(unsafe { libc::connect(fd.as_raw_fd(), raw, length) })
                });
                (fd, result)
            }
            Address::Unix(path) => {
                let fd = open_unix()?;
                let raw = unix_address(path)?;
                // SAFETY: pointer and length are those of an initialised socket address.
                let result = check(unsafe {
                    libc::connect(
                        fd.as_raw_fd(),
                        (&raw const raw).cast(),
                        size_of_val(&raw) as libc::socklen_t,
                    )
                });
                (fd, result)
            }
            Address::Memory(name) => return Self::connect_memory(name),
        };
        match result {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(Self::from_fd(fd)),
        }
    }

    /// Shared memory is there or it is not: nothing is waited for.
    fn connect_memory(name: &str) -> io::Result<Self> {
        let (fd, ends) = memory::connect(name)?;
        Ok(Self {
            fd,
            memory: Some(Box::new(Memory {
                ends: OnceLock::from(Ok(ends)),
                receive_timeout: AtomicU64::new(0),
            })),
        })
    }

    /// The answering end of a shared memory, whose client has connected.
    pub(crate) fn from_memory_fd(fd: OwnedFd) -> Self {
        Self {
            fd,
            memory: Some(Box::new(Memory {
                ends: OnceLock::new(),
                receive_timeout: AtomicU64::new(0),
            })),
        }
    }

    /// Whether octets go through shared memory. Its descriptor is a bell then: when it is readable
    /// [`acknowledge_wake`](Self::acknowledge_wake) is called, it is never asked whether it can be written, and before a
    /// thread waits for it, it asks whether it [`may_sleep`](Self::may_sleep).
    #[must_use]
    pub const fn is_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Takes note of the bell of a shared memory: what came, that there is room, or the peer's end.
    /// Costs a system call.
    pub fn acknowledge_wake(&self) {
        let Some(memory) = &self.memory else {
            return;
        };
        match memory.ends.get() {
            Some(Ok(ends)) => ends.acknowledge_wake(self.as_fd()),
            Some(Err(_)) => {}
            None => match memory::join(self.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Only one thread has this end.
                joined => drop(memory.ends.set(joined)),
            },
        }
    }

    /// Whether a shared memory has something to receive, the end included.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.ends()
            .is_some_and(|ends| ends.map_or(true, Ends::is_readable))
    }

    /// Whether a shared memory has room to send.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.ends()
            .is_some_and(|ends| ends.map_or(true, Ends::is_writable))
    }

    /// Before a thread that receives from a shared memory waits for its bell: whether nothing is
    /// there. The peer rings from now on, until [`is_awake`](Self::is_awake).
    #[must_use]
    pub fn may_sleep(&self) -> bool {
        match self.ends() {
            None => true,
            Some(Ok(ends)) => ends.may_sleep(),
            Some(Err(_)) => false,
        }
    }

    /// Says to the peer of a shared memory that it need not ring.
    pub fn is_awake(&self) {
        if let Some(Ok(ends)) = self.ends() {
            ends.is_awake();
        }
    }

    fn ends(&self) -> Option<Result<&Ends, &io::Error>> {
        Some(self.memory.as_ref()?.ends.get()?.as_ref())
    }

    /// Waits for the bell of a shared memory, and for what else is given.
    fn wait_for_bell(&self, deadline: Option<Instant>) -> io::Result<bool> {
        let rung = poll(&[(self.fd.as_fd(), libc::POLLIN)], deadline);
        self.is_awake();
        if *rung.as_ref().unwrap_or(&false) {
            self.acknowledge_wake();
        }
        rung
    }

    /// The error that waits on the socket, for example why connecting failed.
    ///
    /// # Errors
    /// That error.
    pub fn take_error(&self) -> io::Result<()> {
        let mut code: c_int = 0;
        let mut length = size_of_val(&code) as libc::socklen_t;
        // SAFETY: the option writes one int; its size is given; both outlive the call.
        check(unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast::<c_void>(),
                &raw mut length,
            )
        })?;
        if code == 0 {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(code))
        }
    }

    pub(crate) const fn from_fd(fd: OwnedFd) -> Self {
        Self { fd, memory: None }
    }

    /// Switches between blocking and non-blocking.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        let mut value = c_int::from(nonblocking);
        // SAFETY: FIONBIO reads one int, which outlives the call; the descriptor is open.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::FIONBIO, &raw mut value) }).map(drop)
    }

    /// Bounds each blocking receive. Zero is rounded up: to the kernel it would mean "no bound".
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        if let Some(memory) = &self.memory {
            let nanos = timeout.map_or(0, |timeout| timeout.max(LEAST_TIMEOUT).as_nanos());
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            memory.receive_timeout.store(nanos, Ordering::Relaxed);
            return Ok(());
        }
        self.set_timeout(libc::SO_RCVTIMEO, timeout)
    }

    fn set_timeout(&self, which: c_int, timeout: Option<Duration>) -> io::Result<()> {
        let value = timeval(timeout.map_or(Duration::ZERO, |timeout| timeout.max(LEAST_TIMEOUT)));
        // SAFETY: the option reads one timeval of the size given; the descriptor is open.
        check(unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                which,
                (&raw const value).cast::<c_void>(),
                size_of_val(&value) as libc::socklen_t,
            )
        })
        .map(drop)
    }

    /// Receives what is there, at most the spare room of `buffer`, behind its octets; `Ok(0)` is
    /// the peer's end. The caller reserves room first. Blocks as the socket is set.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came (in time); else what the kernel says. Interrupted calls are
    /// made again.
    pub fn receive(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        let Some(memory) = &self.memory else {
            return self.receive_with(buffer, 0);
        };
        if self.may_sleep() {
            let bound = match memory.receive_timeout.load(Ordering::Relaxed) {
                0 => None,
                nanos => Instant::now().checked_add(Duration::from_nanos(nanos)),
            };
            self.wait_for_bell(bound)?;
        }
        // Also when it rang for something else: the caller looks what there is to do.
        self.receive_now(buffer)
    }

    /// As [`receive`](Self::receive), but never blocks.
    ///
    /// # Errors
    /// As `receive`.
    pub fn receive_now(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.receive_with(buffer, libc::MSG_DONTWAIT)
    }

    fn receive_from_memory(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self.ends() {
            None => Err(io::ErrorKind::WouldBlock.into()),
            Some(Ok(ends)) => ends.receive(self.as_fd(), buffer),
            Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    fn receive_with(&self, buffer: &mut BytesMut, flags: c_int) -> io::Result<usize> {
        let spare = buffer.spare_capacity_mut();
        if spare.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no room was reserved to receive into",
            ));
        }
        if self.is_memory() {
            return self.receive_from_memory(buffer);
        }
        loop {
            count(|calls| &mut calls.receives);
            // SAFETY: the pointer and length are those of the buffer's spare capacity, which the
            // kernel may fill; nothing else refers to it while `buffer` is borrowed.
            let received = unsafe {
                libc::recv(
                    self.fd.as_raw_fd(),
                    spare.as_mut_ptr().cast::<c_void>(),
                    spare.len(),
                    flags,
                )
            };
            if let Ok(count) = usize::try_from(received) {
                // SAFETY: the kernel has just initialised `count` octets behind the length, and
                // `count` is at most the spare capacity.
                unsafe { buffer.set_len(buffer.len() + count) };
                return Ok(count);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Sends from the slices, as much as the kernel takes. Never raises `SIGPIPE`, never blocks.
    ///
    /// # Errors
    /// `WouldBlock` when the kernel takes nothing; else what it says.
    pub fn send_now(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.is_memory() {
            return match self.ends() {
                None => Err(io::ErrorKind::WouldBlock.into()),
                Some(Ok(ends)) => ends.send(self.as_fd(), slices),
                Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            };
        }
        self.send_flagged(slices, 0)
    }

    /// Sends as [`send_now`](Self::send_now) does, and says that more follows: the kernel may keep
    /// what fills no segment until it does, until [`push`](Self::push), for about 200 ms at most. It
    /// has it all the same, and delivers it when the process ends.
    ///
    /// # Errors
    /// As `send_now`.
    pub fn send_more(&self, octets: &[u8]) -> io::Result<usize> {
        let slices = [IoSlice::new(octets)];
        if self.is_memory() {
            return self.send_now(&slices);
        }
        self.send_flagged(&slices, libc::MSG_MORE)
    }

    /// Has the kernel send what it keeps since [`send_more`](Self::send_more).
    pub fn push(&self) {
        // Setting the option, also anew, is what pushes. A connection that has failed tells when it is
        // written to.
        let _ = set_level_option(&self.fd, libc::IPPROTO_TCP, libc::TCP_NODELAY);
    }

    /// What the kernel holds that was sent by this socket; `None` when it does not tell.
    #[must_use]
    pub fn send_memory(&self) -> Option<SendMemory> {
        // Of what `SO_MEMINFO` gives, by their places in the kernel's `SK_MEMINFO_*`.
        const LIMIT: usize = 3;
        const USED: usize = 5;
        let mut numbers = [0u32; 16];
        let mut length = size_of_val(&numbers) as libc::socklen_t;
        // SAFETY: pointer and length are those of a live array, and the kernel writes no more than that.
        let asked = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                numbers.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let told = length as usize / size_of::<u32>();
        (asked == 0 && told > USED).then(|| SendMemory {
            limit: numbers[LIMIT] as usize,
            used: numbers[USED] as usize,
        })
    }

    fn send_flagged(&self, slices: &[IoSlice<'_>], flags: c_int) -> io::Result<usize> {
        let flags = flags | libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        loop {
            count(|calls| &mut calls.sends);
            let sent = if let [one] = slices {
                // SAFETY: pointer and length are those of a live slice.
                unsafe {
                    libc::send(
                        self.fd.as_raw_fd(),
                        one.as_ptr().cast::<c_void>(),
                        one.len(),
                        flags,
                    )
                }
            } else {
                // SAFETY: an all-zero msghdr is valid (no name, no control data).
                let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
                // `IoSlice` is guaranteed to have iovec's layout; the kernel only reads.
                message.msg_iov = slices.as_ptr().cast::<libc::iovec>().cast_mut();
                message.msg_iovlen = slices.len();
                // SAFETY: the message points to `slices.len()` valid slices that outlive the call.
                unsafe { libc::sendmsg(self.fd.as_raw_fd(), &raw const message, flags) }
            };
            if let Ok(count) = usize::try_from(sent) {
                return Ok(count);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Waits until the socket can be read (or written, if asked), at most until `deadline`; says
    /// whether it can.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&self, writable: bool, deadline: Option<Instant>) -> io::Result<bool> {
        if self.is_memory() {
            let no_room = !writable || self.may_wait_for_room();
            if self.may_sleep() && no_room {
                self.wait_for_bell(deadline)?;
            }
            return Ok(self.is_readable() || writable && self.is_writable());
        }
        let events = libc::POLLIN | if writable { libc::POLLOUT } else { 0 };
        poll(&[(self.fd.as_fd(), events)], deadline)
    }

    /// Waits until the socket can be written, at most until `deadline` or until it is woken: for a
    /// thread that has octets left over while another one reads.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait_writable(&self, wake: &WakeFd, deadline: Option<Instant>) -> io::Result<()> {
        if self.is_memory() {
            // The bell stays rung for the thread that receives: it is woken by it too, and clears it.
            if self.may_wait_for_room() {
                let both = [
                    (self.fd.as_fd(), libc::POLLIN),
                    (wake.as_fd(), libc::POLLIN),
                ];
                poll(&both, deadline)?;
            }
            return Ok(());
        }
        let both = [
            (self.fd.as_fd(), libc::POLLOUT),
            (wake.as_fd(), libc::POLLIN),
        ];
        poll(&both, deadline).map(drop)
    }

    /// Waits until the socket can be written, at most until `deadline`; says whether it can. A
    /// connection that has failed can be: writing tells.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait_for_room(&self, deadline: Instant) -> io::Result<bool> {
        if self.is_memory() {
            if self.may_wait_for_room() {
                self.wait_for_bell(Some(deadline))?;
            }
            return Ok(self.is_writable());
        }
        poll(&[(self.fd.as_fd(), libc::POLLOUT)], Some(deadline))
    }

    /// Whether the peer has closed its side, or the connection has failed, and everything that it
    /// sent before has been read. Does not block and reads nothing.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        if self.is_memory() {
            self.acknowledge_wake();
            return self
                .ends()
                .is_some_and(|ends| ends.map_or(true, Ends::has_ended));
        }
        let mut octet = 0u8;
        // SAFETY: pointer and length are those of one live octet that may be written.
        let looked = unsafe {
            libc::recv(
                self.fd.as_raw_fd(),
                (&raw mut octet).cast::<c_void>(),
                1,
                libc::MSG_PEEK | libc::MSG_DONTWAIT,
            )
        };
        match looked {
            0 => true,
            1.. => false,
            _ => !matches!(
                io::Error::last_os_error().kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        }
    }

    fn may_wait_for_room(&self) -> bool {
        match self.ends() {
            None => true,
            Some(Ok(ends)) => ends.may_wait_for_room(),
            Some(Err(_)) => false,
        }
    }

    /// Whether a TCP socket is connected to itself: to a port of this host where nobody listens, a
    /// connection can be made from that very port.
    #[must_use]
    pub fn is_its_own_peer(&self) -> bool {
        let Ok(fd) = self.fd.try_clone() else {
            return false;
        };
        let stream = TcpStream::from(fd);
        matches!((stream.local_addr(), stream.peer_addr()), (Ok(a), Ok(b)) if a == b)
    }

    /// Has what comes acknowledged at once (`TCP_QUICKACK`), until the kernel thinks otherwise.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_quick_ack(&self) -> io::Result<()> {
        set_level_option(&self.fd, libc::IPPROTO_TCP, libc::TCP_QUICKACK)
    }

    /// Says that nothing more is sent; the peer's octets can still be read.
    pub fn shutdown_sending(&self) {
        // SAFETY: shutdown touches no memory; the descriptor is open. It fails only when the peer
        // has gone already.
        unsafe { libc::shutdown(self.fd.as_raw_fd(), libc::SHUT_WR) };
    }

    /// Ends both directions; a thread that waits in `receive` wakes with the end.
    pub fn shutdown(&self) {
        // SAFETY: shutdown touches no memory; the descriptor is open. It fails only when the peer
        // is gone already, which is what is wanted.
        unsafe { libc::shutdown(self.fd.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// The peer's address as text; Unix peers have none of their own.
    #[must_use]
    pub fn peer(&self) -> String {
        if self.is_memory() {
            return "shm".into();
        }
        // The clone is only looked at: std has the address parsing.
        let Ok(fd) = self.fd.try_clone() else {
            return "unknown".into();
        };
        match TcpStream::from(fd).peer_addr() {
            Ok(address) => address.to_string(),
            Err(_) => "unix".into(),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn unix_address(path: &std::path::Path) -> io::Result<libc::sockaddr_un> {
    // SAFETY: an all-zero sockaddr_un is valid.
    let mut raw: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    raw.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let octets = path.as_os_str().as_bytes();
    // One octet stays zero: the kernel wants the path to end.
    if octets.len() >= raw.sun_path.len() || octets.contains(&0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is too long for a Unix socket's path", path.display()),
        ));
    }
    for (place, octet) in raw.sun_path.iter_mut().zip(octets) {
        *place = *octet as libc::c_char;
    }
    Ok(raw)
}

/// Waits until one of these is ready for its events, at most until `deadline`; says whether one is.
/// Interrupted waits are taken up again.
fn poll<const COUNT: usize>(
    waited_for: &[(BorrowedFd<'_>, libc::c_short); COUNT],
    deadline: Option<Instant>,
) -> io::Result<bool> {
    loop {
        let mut polled = waited_for.each_ref().map(|(fd, events)| libc::pollfd {
            fd: fd.as_raw_fd(),
            events: *events,
            revents: 0,
        });
        let left = deadline.map(|at| timespec(at.saturating_duration_since(Instant::now())));
        let left = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: COUNT pollfds, an optional timespec that outlives the call, no signal mask.
        let result = check(unsafe {
            libc::ppoll(
                polled.as_mut_ptr(),
                COUNT as libc::nfds_t,
                left,
                std::ptr::null(),
            )
        });
        match result {
            Ok(count) => return Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

pub(crate) fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

fn timeval(duration: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: duration.subsec_micros().into(),
    }
}

// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::Listener;

    fn pair() -> (Socket, Socket) {
        let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into()), false).unwrap();
        let client = Socket::connect(&listener.address().unwrap(), Duration::from_secs(5)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            match listener.accept() {
                Ok(server) => return (client, server),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    assert!(Instant::now() < deadline);
                    std::thread::yield_now();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn gathered_octets_arrive_behind_those_that_are_there() {
        let (client, server) = pair();
        let slices = [IoSlice::new(b"he"), IoSlice::new(b"llo")];
        assert_eq!(client.send_now(&slices).unwrap(), 5);
        assert!(
            server
                .wait(false, Some(Instant::now() + Duration::from_secs(5)))
                .unwrap()
        );
        let mut buffer = BytesMut::from(&b">"[..]);
        buffer.reserve(100);
        assert_eq!(server.receive_now(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..], b">hello");
    }

    #[test]
    fn a_receive_timeout_is_would_block_and_a_shutdown_is_the_end() {
        let (client, server) = pair();
        let mut buffer = BytesMut::with_capacity(10);
        client
            .set_receive_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        let error = client.receive(&mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        server.shutdown();
        client
            .set_receive_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        assert_eq!(client.receive(&mut buffer).unwrap(), 0);
    }

    #[test]
    fn connecting_without_waiting_tells_how_it_ended() {
        let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into()), false).unwrap();
        let address = listener.address().unwrap();
        let socket = Socket::begin_connect(&address).unwrap();
        let soon = Some(Instant::now() + Duration::from_secs(5));
        assert!(socket.wait(true, soon).unwrap());
        socket.take_error().unwrap();

        drop(listener);
        let refused = Socket::begin_connect(&address).and_then(|socket| {
            assert!(socket.wait(true, soon).unwrap());
            socket.take_error()
        });
        assert_eq!(
            refused.unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );

        let nowhere = Address::Unix("/nowhere/at/all".into());
        let error = Socket::begin_connect(&nowhere).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn connecting_to_a_full_unix_queue_ends_in_time() {
        let path = std::env::temp_dir().join(format!("cw-full-{}", std::process::id()));
        let address = Address::Unix(path.clone());
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        // SAFETY: listen touches no memory; the descriptor is open and bound.
        check(unsafe { libc::listen(listener.as_raw_fd(), 0) }).unwrap();
        let timeout = Duration::from_millis(50);
        let before = Instant::now();
        let mut queued = Vec::new();
        let error = loop {
            match Socket::connect(&address, timeout) {
                Ok(socket) => queued.push(socket),
                Err(error) => break error,
            }
            assert!(queued.len() < 10, "the queue is never full");
        };
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(before.elapsed() >= timeout && before.elapsed() < 600 * timeout);
        // The bound was for connecting only: what was made is a blocking socket like any other.
        assert!(queued[0].send_now(&[IoSlice::new(b"x")]).is_ok());
    }

    #[test]
    fn a_wait_for_room_ends_when_there_is_some_or_when_it_is_woken() {
        let (client, server) = pair();
        let wake = WakeFd::new().unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        let far = Some(end);
        client.wait_writable(&wake, far).unwrap();

        let octets = vec![0; 1 << 20];
        while client.send_now(&[IoSlice::new(&octets)]).is_ok() {}
        let before = Instant::now();
        let soon = Some(before + Duration::from_millis(20));
        client.wait_writable(&wake, soon).unwrap();
        assert!(before.elapsed() >= Duration::from_millis(20));
        std::thread::scope(|scope| {
            scope.spawn(|| wake.wake());
            client.wait_writable(&wake, far).unwrap();
        });
        wake.clear();
        // A peer that goes is news as well.
        drop(server);
        client.wait_writable(&wake, far).unwrap();
        assert!(Instant::now() < end);
    }

    #[test]
    fn receiving_without_room_is_an_error_and_not_the_end() {
        let (client, _server) = pair();
        let error = client.receive(&mut BytesMut::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
