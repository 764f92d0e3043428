//! Octets that were accepted for one peer and are not yet with the kernel.

use corewire_sys::Socket;
use std::io::{self, IoSlice};

/// Octets that may wait; at this the sender is told to try again. One message may be larger.
pub(crate) const MOST_WAITING: usize = 256 * 1024;
/// When so many octets in front are written, the others move to the front.
const COMPACT_AT: usize = 128 * 1024;
/// Room that an idle connection keeps.
const KEPT: usize = 2 * MOST_WAITING;

/// Gives the length of the frame that begins here.
pub(crate) type FrameLength = fn(&[u8]) -> usize;

/// The queue of octets. It begins with a whole frame always, so that after a lost connection it
/// can be sent again from there: what the peer has got of that frame it drops.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    octets: Vec<u8>,
    /// How many of them the kernel has.
    written: usize,
    /// Frames that begin in `octets`.
    frames: u64,
    /// Frames that were written since the last time somebody asked.
    done: u64,
}

impl Outgoing {
    /// Octets that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.octets.len() - self.written
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// Queues a frame of which the kernel has `written` octets already; not 0 only when nothing
    /// waits.
    pub(crate) fn push(&mut self, parts: [&[u8]; 2], written: usize) {
        if self.is_empty() {
            self.clear();
            self.written = written;
        }
        self.octets.extend_from_slice(parts[0]);
        self.octets.extend_from_slice(parts[1]);
        self.frames += 1;
    }

    /// A frame went to the kernel without waiting here.
    pub(crate) fn passed(&mut self) {
        self.done += 1;
    }

    /// How many frames were written as a whole since the last time.
    pub(crate) fn take_done(&mut self) -> u64 {
        std::mem::take(&mut self.done)
    }

    /// Writes what waits, as much as the kernel takes; whether that was everything.
    ///
    /// # Errors
    /// What the kernel says: the connection is lost, the octets still wait.
    pub(crate) fn flush(&mut self, socket: &Socket, frame: FrameLength) -> io::Result<bool> {
        while !self.is_empty() {
            match socket.send_now(&[IoSlice::new(&self.octets[self.written..])]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.written >= COMPACT_AT {
                        self.compact(frame);
                    }
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.done += self.frames;
        self.clear();
        Ok(true)
    }

    /// The connection is lost: everything from the first frame on that it had not taken as a whole
    /// waits again.
    pub(crate) fn rewind(&mut self, frame: FrameLength) {
        self.compact(frame);
        self.written = 0;
    }

    /// Gives up what waits; how many frames that are.
    pub(crate) fn give_up(&mut self, frame: FrameLength) -> u64 {
        self.rewind(frame);
        let frames = self.frames;
        self.clear();
        frames
    }

    /// Frames that are not written as a whole.
    #[cfg(test)]
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    fn clear(&mut self) {
        self.octets.clear();
        if self.octets.capacity() > KEPT {
            self.octets.shrink_to(KEPT);
        }
        self.written = 0;
        self.frames = 0;
    }

    /// Removes the frames that are written as a whole.
    fn compact(&mut self, frame: FrameLength) {
        let mut whole = 0;
        while whole < self.written {
            let length = frame(&self.octets[whole..]).max(1);
            if whole + length > self.written {
                break;
            }
            whole += length;
            self.frames -= 1;
            self.done += 1;
        }
        self.octets.drain(..whole);
        self.written -= whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of these tests say their length in the first octet.
    fn length(octets: &[u8]) -> usize {
        usize::from(octets[0])
    }

    #[test]
    fn after_a_loss_the_frame_that_was_cut_comes_again_and_the_whole_ones_do_not() {
        let mut outgoing = Outgoing::default();
        outgoing.push([&[3, 1], &[1]], 0);
        outgoing.push([&[4, 2, 2, 2], &[]], 0);
        outgoing.push([&[2, 9], &[]], 0);
        outgoing.written = 5;
        assert_eq!(outgoing.waiting(), 4);
        outgoing.rewind(length);
        assert_eq!(outgoing.octets, [4, 2, 2, 2, 2, 9]);
        assert_eq!((outgoing.waiting(), outgoing.frames()), (6, 2));
        assert_eq!(outgoing.give_up(length), 2);
        assert!(outgoing.is_empty());
    }

    #[test]
    fn a_frame_that_the_kernel_took_in_part_counts_until_it_is_whole() {
        let mut outgoing = Outgoing::default();
        outgoing.push([&[3, 1, 1], &[]], 2);
        assert_eq!((outgoing.waiting(), outgoing.frames()), (1, 1));
        assert_eq!(outgoing.give_up(length), 1);
    }
}
