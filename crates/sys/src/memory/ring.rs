//! Two rings of octets in one mapped region.

use super::RING;
use super::positions::{Broken, Positions};
use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Positions and octets of one ring.
#[repr(C, align(4096))]
struct Ring {
    positions: Positions,
    octets: Octets,
}

/// On pages of their own, behind the positions.
#[repr(C, align(4096))]
struct Octets([u8; RING]);

/// What is in the memory: to the server, to the client.
#[repr(C)]
struct Layout([Ring; 2]);

/// Octets of the memory.
pub(super) const LENGTH: usize = size_of::<Layout>();

/// Which end of the memory this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// The memory as this process has mapped it. One thread at a time sends and one at a time receives,
/// as the drivers see to; the positions of this end are kept here, where the peer cannot write.
pub(super) struct Mapped {
    layout: NonNull<Layout>,
    side: Side,
    written: AtomicU64,
    read: AtomicU64,
}

// SAFETY: the region stays mapped while this lives, and is shared with another process anyway: all
// access goes through atomics, or copies octets of the part that the positions give to this end.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the memory, which must have `LENGTH` octets and be sealed against shrinking.
    pub(super) fn new(fd: BorrowedFd<'_>, side: Side) -> io::Result<Self> {
        // SAFETY: a new mapping at a place of the kernel's choosing; nothing else is touched.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                LENGTH,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let layout = NonNull::new(mapped.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self::over(layout, side))
    }

    const fn over(layout: NonNull<Layout>, side: Side) -> Self {
        Self {
            layout,
            side,
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
        }
    }

    fn positions(&self, ring: usize) -> &Positions {
        // SAFETY: the region is mapped while `self` lives, large enough and page aligned; the
        // positions are atomics, for which any bits are a value and which both processes may touch.
        unsafe { &(*self.layout.as_ptr()).0[ring].positions }
    }

    fn octets(&self, ring: usize) -> *mut u8 {
        // SAFETY: only a place within the mapped region is computed; no reference is made.
        unsafe { (&raw mut (*self.layout.as_ptr()).0[ring].octets.0).cast() }
    }

    const fn outgoing(&self) -> usize {
        matches!(self.side, Side::Server) as usize
    }

    const fn incoming(&self) -> usize {
        matches!(self.side, Side::Client) as usize
    }

    /// Sends from the slices what fits; gives how much that was, and whether the peer sleeps.
    pub(super) fn send(&self, slices: &[IoSlice<'_>]) -> Result<(usize, bool), Broken> {
        let written = self.written.load(Ordering::Relaxed);
        let positions = self.positions(self.outgoing());
        let mut room = positions.room(written, RING)?;
        let mut count = 0;
        for slice in slices {
            let length = slice.len().min(room);
            self.copy_in(written + count as u64, &slice[..length]);
            count += length;
            room -= length;
            if room == 0 {
                break;
            }
        }
        if count == 0 {
            return Ok((0, false));
        }
        self.written
            .store(written + count as u64, Ordering::Relaxed);
        Ok((count, positions.wrote(written + count as u64)))
    }

    fn copy_in(&self, at: u64, octets: &[u8]) {
        let start = (at % RING as u64) as usize;
        let first = octets.len().min(RING - start);
        let ring = self.octets(self.outgoing());
        // SAFETY: both parts lie within the ring, in the part that is this end's to write; the
        // source is a live slice that is not in the ring.
        unsafe {
            std::ptr::copy_nonoverlapping(octets.as_ptr(), ring.add(start), first);
            std::ptr::copy_nonoverlapping(octets.as_ptr().add(first), ring, octets.len() - first);
        }
    }

    /// Receives what is there into the spare room of `buffer`; gives how much that was, and
    /// whether the peer sleeps.
    pub(super) fn receive(&self, buffer: &mut BytesMut) -> Result<(usize, bool), Broken> {
        let read = self.read.load(Ordering::Relaxed);
        let positions = self.positions(self.incoming());
        let spare = buffer.spare_capacity_mut();
        let count = positions.filled(read, RING)?.min(spare.len());
        if count == 0 {
            return Ok((0, false));
        }
        let start = (read % RING as u64) as usize;
        let first = count.min(RING - start);
        let ring = self.octets(self.incoming());
        let into = spare.as_mut_ptr().cast::<u8>();
        // SAFETY: both parts lie within the ring, in the part that the peer has given to this end,
        // and `count` octets fit into the spare room. A peer that writes there all the same changes
        // octets that nobody has looked at yet.
        unsafe {
            std::ptr::copy_nonoverlapping(ring.add(start), into, first);
            std::ptr::copy_nonoverlapping(ring, into.add(first), count - first);
            buffer.set_len(buffer.len() + count);
        }
        self.read.store(read + count as u64, Ordering::Relaxed);
        Ok((count, positions.has_read(read + count as u64)))
    }

    /// Whether something can be received; broken positions can, the receiver tells.
    pub(super) fn is_readable(&self) -> bool {
        let read = self.read.load(Ordering::Relaxed);
        self.positions(self.incoming()).filled(read, RING) != Ok(0)
    }

    /// Whether something can be sent; broken positions can, the sender tells.
    pub(super) fn is_writable(&self) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        self.positions(self.outgoing()).room(written, RING) != Ok(0)
    }

    pub(super) fn reader_falls_asleep(&self) {
        self.positions(self.incoming()).reader_falls_asleep();
    }

    pub(super) fn reader_is_awake(&self) {
        self.positions(self.incoming()).reader_is_awake();
    }

    pub(super) fn writer_falls_asleep(&self) {
        self.positions(self.outgoing()).writer_falls_asleep();
    }
}

// Miri maps no memory that is shared: there the tests have it from the heap.
#[cfg(not(miri))]
impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the region was mapped by `new` with this length; nothing refers to it any more.
        let unmapped =
            crate::socket::check(unsafe { libc::munmap(self.layout.as_ptr().cast(), LENGTH) });
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[cfg(not(miri))]
    fn pair() -> (Mapped, Mapped) {
        use std::os::fd::AsFd;
        let memory = super::super::join::memory().unwrap();
        let map = |side| Mapped::new(memory.as_fd(), side).unwrap();
        (map(Side::Client), map(Side::Server))
    }

    /// Over the same memory of the heap, which is not given back.
    #[cfg(miri)]
    fn pair() -> (Mapped, Mapped) {
        // SAFETY: the layout has a size, and zeros are a value of it.
        let memory = unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::new::<Layout>()) };
        let layout = NonNull::new(memory.cast()).unwrap();
        (
            Mapped::over(layout, Side::Client),
            Mapped::over(layout, Side::Server),
        )
    }

    #[test]
    fn two_threads_pass_octets_both_ways_at_once() {
        let (client, server) = pair();
        let all: Vec<u8> = (0..3 * RING).map(|index| (index % 251) as u8).collect();
        let until = Instant::now() + Duration::from_secs(60);
        let passes = |end: &Mapped| {
            let (mut sent, mut received) = (0, BytesMut::with_capacity(all.len()));
            while sent < all.len() || received.len() < all.len() {
                let rest = &all[sent..all.len().min(sent + 1000)];
                sent += end.send(&[IoSlice::new(rest)]).unwrap().0;
                end.receive(&mut received).unwrap();
                assert!(cfg!(miri) || Instant::now() < until, "nothing comes");
                std::thread::yield_now();
            }
            assert!(received == all);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| passes(&client));
            scope.spawn(|| passes(&server));
        });
    }

    #[test]
    fn octets_arrive_in_order_however_they_are_cut() {
        let (client, server) = pair();
        let all: Vec<u8> = (0..3 * RING).map(|index| (index % 251) as u8).collect();
        let (mut sent, mut received) = (0, BytesMut::new());
        let mut step = 1;
        while received.len() < all.len() {
            step = step * 7 % 100_003;
            let end = (sent + step).min(all.len());
            let middle = usize::midpoint(sent, end);
            let slices = [
                IoSlice::new(&all[sent..middle]),
                IoSlice::new(&all[middle..end]),
            ];
            sent += client.send(&slices).unwrap().0;
            received.reserve(step * 5 % 70_001 + 1);
            server.receive(&mut received).unwrap();
        }
        assert_eq!(received, all);
        assert!(!server.is_readable() && client.is_writable());
    }

    #[test]
    fn a_full_ring_takes_nothing_and_a_reader_makes_room() {
        let (client, server) = pair();
        let much = vec![1; RING + 5];
        assert_eq!(server.send(&[IoSlice::new(&much)]).unwrap().0, RING);
        assert!(!server.is_writable());
        assert_eq!(server.send(&[IoSlice::new(&much)]), Ok((0, false)));
        server.writer_falls_asleep();
        let mut buffer = BytesMut::with_capacity(10);
        let (count, wakes) = client.receive(&mut buffer).unwrap();
        assert_eq!((count, wakes), (buffer.len(), true));
        assert!(server.is_writable());
    }
}
