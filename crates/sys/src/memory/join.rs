//! How two processes come to share a memory, and ring at each other's door.

use super::positions::Broken;
use super::ring::{LENGTH, Mapped, Side};
use crate::socket::check;
use bytes::BytesMut;
use libc::c_int;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the first octets on the Unix socket are; the memory comes with them.
const HELLO: [u8; 8] = *b"CWSHM1\r\n";

/// A seal that a memory must bear, or its pages could vanish under a reader.
const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// The longest name.
const MAX_NAME: usize = 100;

/// One end of a memory: the rings, and the Unix socket (owned by [`Socket`](crate::Socket)) that
/// both ends ring at.
pub(crate) struct Ends {
    mapped: Mapped,
    /// The peer has closed.
    ended: AtomicBool,
}

impl Ends {
    /// Sends what fits.
    pub(crate) fn send(&self, bell: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.ended.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let (mut count, mut wakes) = self.mapped.send(slices)?;
        let all = slices.iter().map(|slice| slice.len()).sum();
        if count < all {
            // Before it is said that nothing fits, the reader must know whom to wake.
            self.mapped.writer_falls_asleep();
            if self.mapped.is_writable() {
                let rest = skip(slices, count);
                let (more, wakes_too) = self.mapped.send(&rest)?;
                count += more;
                wakes |= wakes_too;
            }
        }
        if wakes {
            ring(bell);
        }
        match count {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(count),
        }
    }

    /// Receives what is there.
    pub(crate) fn receive(&self, bell: BorrowedFd<'_>, into: &mut BytesMut) -> io::Result<usize> {
        // Asked first: what was sent before the end is still read.
        let ended = self.ended.load(Ordering::Acquire);
        let (count, wakes) = self.mapped.receive(into)?;
        if wakes {
            ring(bell);
        }
        match count {
            0 if ended => Ok(0),
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(count),
        }
    }

    /// Takes note of the bell, and of the peer's end. To be called when the bell's descriptor is
    /// readable; costs one system call.
    pub(crate) fn acknowledge_wake(&self, bell: BorrowedFd<'_>) {
        let mut rings = [0u8; 64];
        loop {
            // SAFETY: pointer and length are those of a live array that may be written.
            let heard = unsafe {
                libc::recv(
                    bell.as_raw_fd(),
                    rings.as_mut_ptr().cast(),
                    rings.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            match heard {
                1.. if heard as usize == rings.len() => {}
                1.. => return,
                0 => return self.ended.store(true, Ordering::Release),
                _ => match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => return,
                    _ => return self.ended.store(true, Ordering::Release),
                },
            }
        }
    }

    /// Whether there is something to receive, the end included.
    pub(crate) fn is_readable(&self) -> bool {
        self.mapped.is_readable() || self.ended.load(Ordering::Relaxed)
    }

    /// Whether the peer has closed and everything that it sent before has been received.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) && !self.mapped.is_readable()
    }

    /// Whether something could be sent.
    pub(crate) fn is_writable(&self) -> bool {
        self.mapped.is_writable() || self.ended.load(Ordering::Relaxed)
    }

    /// Before this end sleeps: says whether it may, that is whether nothing is there. The peer
    /// rings from now on.
    pub(crate) fn may_sleep(&self) -> bool {
        self.mapped.reader_falls_asleep();
        if self.is_readable() {
            self.mapped.reader_is_awake();
            return false;
        }
        true
    }

    /// This end looks by itself: the peer need not ring.
    pub(crate) fn is_awake(&self) {
        self.mapped.reader_is_awake();
    }

    /// For a writer that sleeps until there is room: says whether it may.
    pub(crate) fn may_wait_for_room(&self) -> bool {
        self.mapped.writer_falls_asleep();
        !self.is_writable()
    }
}

impl From<Broken> for io::Error {
    fn from(_: Broken) -> Self {
        let text = "the peer broke the shared memory's positions";
        Self::new(io::ErrorKind::InvalidData, text)
    }
}

/// The slices without their first `count` octets.
fn skip<'a>(slices: &'a [IoSlice<'_>], mut count: usize) -> Vec<IoSlice<'a>> {
    let mut rest = Vec::with_capacity(slices.len());
    for slice in slices {
        let gone = count.min(slice.len());
        count -= gone;
        if gone < slice.len() {
            rest.push(IoSlice::new(&slice[gone..]));
        }
    }
    rest
}

/// Rings at the peer's door. When the socket is full, it is ringing already; when the peer has
/// gone, its end will be found.
fn ring(bell: BorrowedFd<'_>) {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length are those of one live octet.
    unsafe { libc::send(bell.as_raw_fd(), [1u8].as_ptr().cast(), 1, flags) };
}

/// A new memory, all zeros, sealed.
pub(super) fn memory() -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with a zero; nothing else is touched.
    let raw = check(unsafe { libc::memfd_create(c"corewire".as_ptr(), flags) })?;
    // SAFETY: `raw` was just opened and nobody else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: ftruncate and fcntl touch no memory of ours; the descriptor is open.
    check(unsafe { libc::ftruncate(fd.as_raw_fd(), LENGTH as libc::off_t) })?;
    // SAFETY: as above.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS | libc::F_SEAL_SEAL) })?;
    Ok(fd)
}

/// Listens at this name.
pub(crate) fn bind(name: &str, backlog: c_int) -> io::Result<OwnedFd> {
    let fd = crate::options::open_unix()?;
    let (raw, length) = address(name)?;
    // SAFETY: pointer and length are those of an initialised socket address.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const raw).cast(), length) })?;
    // SAFETY: listen touches no memory; the descriptor is open and bound.
    check(unsafe { libc::listen(fd.as_raw_fd(), backlog) })?;
    Ok(fd)
}

/// Connects to who listens at this name, and gives it a new memory.
pub(crate) fn connect(name: &str) -> io::Result<(OwnedFd, Ends)> {
    let fd = crate::options::open_unix()?;
    let (raw, length) = address(name)?;
    // A Unix socket connects or is refused at once, unless the listener's queue is full.
    // SAFETY: pointer and length are those of an initialised socket address.
    check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const raw).cast(), length) })
        .map_err(|error| nobody_at(name, error))?;
    trust(fd.as_fd())?;
    let memory = memory()?;
    let mapped = Mapped::new(memory.as_fd(), Side::Client)?;
    hand_over(fd.as_fd(), memory.as_fd())?;
    let ended = AtomicBool::new(false);
    Ok((fd, Ends { mapped, ended }))
}

/// Says what a refusal means here: the name may be an address of another host.
fn nobody_at(name: &str, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::ConnectionRefused {
        return error;
    }
    let text = format!(
        "no server of this host offers shared memory at {name}; it must listen there, with shared \
         memory on and without TLS"
    );
    io::Error::new(error.kind(), text)
}

/// The answering side: takes the memory that a client hands over. `WouldBlock`: not yet.
pub(crate) fn join(fd: BorrowedFd<'_>) -> io::Result<Ends> {
    let memory = take_over(fd)?;
    trust(fd)?;
    // SAFETY: fcntl touches no memory of ours; the descriptor is open.
    let seals = check(unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_GET_SEALS) })?;
    let length = std::fs::File::from(memory.try_clone()?).metadata()?.len();
    if seals & SEALS != SEALS || length != LENGTH as u64 {
        let text = "a memory that is not sealed, or of another length, is not mapped";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mapped = Mapped::new(memory.as_fd(), Side::Server)?;
    let ended = AtomicBool::new(false);
    Ok(Ends { mapped, ended })
}

/// Refuses a peer of another user.
fn trust(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all-zero credentials are valid.
    let mut peer: libc::ucred = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the option writes one ucred; its size is given; both outlive the call.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    })?;
    // SAFETY: geteuid touches no memory and cannot fail.
    let own = unsafe { libc::geteuid() };
    if peer.uid == own || peer.uid == 0 || own == 0 {
        return Ok(());
    }
    let text = format!(
        "shared memory is not shared with another user ({})",
        peer.uid
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Room for the control message of one descriptor, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

fn hand_over(fd: BorrowedFd<'_>, memory: BorrowedFd<'_>) -> io::Result<()> {
    let mut control = Control([0; 64]);
    let mut hello = libc::iovec {
        iov_base: HELLO.as_ptr().cast_mut().cast(),
        iov_len: HELLO.len(),
    };
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut hello;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute; the header lies within `control`, which is
    // aligned and large enough for one descriptor.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
        libc::CMSG_DATA(header)
            .cast::<c_int>()
            .write_unaligned(memory.as_raw_fd());
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the message points to live data of the lengths given; the kernel only reads.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, flags) };
    match usize::try_from(sent) {
        Ok(count) if count == HELLO.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn take_over(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut control = Control([0; 64]);
    let mut hello = [0u8; HELLO.len()];
    let mut into = libc::iovec {
        iov_base: hello.as_mut_ptr().cast(),
        iov_len: hello.len(),
    };
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut into;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len();
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the message points to live data of the lengths given, which the kernel may write.
    let received = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, flags) };
    let Ok(count) = usize::try_from(received) else {
        return Err(io::Error::last_os_error());
    };
    let mut memory = None;
    // SAFETY: the kernel has filled in a list of control messages within `control`; the macros walk
    // it. Every descriptor in it is new and this process's own; all are taken, so that none leaks.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let octets = (*header).cmsg_len - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(header).cast::<c_int>();
                for index in 0..octets / size_of::<c_int>() {
                    memory = Some(OwnedFd::from_raw_fd(first.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    match memory {
        Some(memory) if count == HELLO.len() && hello == HELLO => Ok(memory),
        _ => {
            let text = "the peer handed over no shared memory that this version knows";
            Err(io::Error::new(io::ErrorKind::InvalidData, text))
        }
    }
}

/// A name is an abstract Unix address (unix(7)): it belongs to the network namespace as ports do,
/// and is gone with the listener.
fn address(name: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    if name.is_empty() || name.len() > MAX_NAME || name.contains('\0') {
        let text = format!("{name:?} is no name for a shared memory: 1 to {MAX_NAME} octets");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    // SAFETY: an all-zero sockaddr_un is valid.
    let mut raw: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    raw.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let octets = [b"\0cw/", name.as_bytes()].concat();
    for (place, octet) in raw.sun_path.iter_mut().zip(&octets) {
        *place = *octet as libc::c_char;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + octets.len();
    Ok((raw, length as libc::socklen_t))
}

// Miri has no kernel for these.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (OwnedFd, OwnedFd) {
        let (client, server) = UnixStream::pair().unwrap();
        (client.into(), server.into())
    }

    fn refused(client: OwnedFd, server: OwnedFd) -> String {
        drop(client);
        let error = join(server.as_fd()).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        error.to_string()
    }

    #[test]
    fn a_memory_that_could_shrink_is_refused() {
        let (client, server) = pair();
        // SAFETY: the name ends with a zero; nothing else is touched.
        let raw = unsafe { libc::memfd_create(c"test".as_ptr(), libc::MFD_ALLOW_SEALING) };
        // SAFETY: `raw` was just opened and nobody else owns it.
        let memory = unsafe { OwnedFd::from_raw_fd(check(raw).unwrap()) };
        std::fs::File::from(memory.try_clone().unwrap())
            .set_len(LENGTH as u64)
            .unwrap();
        hand_over(client.as_fd(), memory.as_fd()).unwrap();
        assert!(refused(client, server).contains("not sealed"));
    }

    #[test]
    fn a_descriptor_that_is_no_memory_is_refused() {
        let (client, server) = pair();
        let null = std::fs::File::open("/dev/null").unwrap();
        hand_over(client.as_fd(), null.as_fd()).unwrap();
        drop(client);
        join(server.as_fd()).map(drop).unwrap_err();
    }

    #[test]
    fn a_client_that_hands_nothing_over_is_refused() {
        let (client, server) = pair();
        // SAFETY: pointer and length are those of a live array.
        unsafe { libc::send(client.as_raw_fd(), HELLO.as_ptr().cast(), HELLO.len(), 0) };
        assert!(refused(client, server).contains("handed over no"));
        // One that closes has handed over nothing either.
        let (client, server) = pair();
        assert!(refused(client, server).contains("handed over no"));
    }

    #[test]
    fn positions_that_a_peer_breaks_end_the_stream() {
        let (client, server) = pair();
        let memory = memory().unwrap();
        hand_over(client.as_fd(), memory.as_fd()).unwrap();
        let ends = join(server.as_fd()).unwrap();
        assert!(!ends.is_readable());
        // The first eight octets count what was written to the server.
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::from(memory);
        file.write_all_at(&u64::MAX.to_ne_bytes(), 0).unwrap();
        assert!(ends.is_readable() && !ends.may_sleep());
        let mut buffer = BytesMut::with_capacity(64);
        let error = ends.receive(server.as_fd(), &mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("positions"), "{error}");
    }

    #[test]
    fn a_listener_that_nobody_has_cannot_be_connected_to() {
        let name = format!("test-{}", std::process::id());
        let error = connect(&name).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let listener = bind(&name, 1).unwrap();
        assert_eq!(bind(&name, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        connect(&name).unwrap();
        drop(listener);
        connect(&name).map(drop).unwrap_err();
    }
}
