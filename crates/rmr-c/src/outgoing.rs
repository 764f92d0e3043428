//! Octets that were accepted for one peer and are not yet with the kernel.

use bytes::Bytes;
use corewire_sys::Socket;
use std::io::{self, IoSlice};

/// Octets that may wait; at this the sender is told to try again. One message may be larger.
pub(crate) const MOST_WAITING: usize = 256 * 1024;
/// When so many octets in front are written, the others move to the front.
const COMPACT_AT: usize = 128 * 1024;
/// Room that an idle connection keeps.
const KEPT: usize = 2 * MOST_WAITING;

/// The length of the frame that begins here: what we write begins with its length.
fn frame_length(octets: &[u8]) -> usize {
    let length = octets.first_chunk::<4>();
    length.map_or(octets.len(), |length| u32::from_ne_bytes(*length) as usize)
}

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
    /// Frames in front of all, on their way as one, and how many they are.
    batch: Option<(Bytes, u64)>,
    /// Room for the octets after the next batch: that of the last one.
    spare: Vec<u8>,
}

impl Outgoing {
    /// Octets that wait.
    pub(crate) fn waiting(&self) -> usize {
        let batch = self.batch.as_ref().map_or(0, |(octets, _)| octets.len());
        batch + self.octets.len() - self.written
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// Queues a frame of which the kernel has `written` octets already; not 0 only when nothing
    /// waits.
    pub(crate) fn push(&mut self, frame: &[u8], written: usize) {
        if self.is_empty() {
            self.clear();
            self.written = written;
        }
        self.octets.extend_from_slice(frame);
        self.frames += 1;
    }

    /// Queues the frame that `write` appends.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.octets);
        self.frames += 1;
    }

    /// Takes what waits, to be sent as one; until it is said to be written it is not lost.
    pub(crate) fn take_batch(&mut self) -> Option<Bytes> {
        if self.octets.is_empty() {
            return None;
        }
        let spare = std::mem::take(&mut self.spare);
        let octets = Bytes::from(std::mem::replace(&mut self.octets, spare));
        self.batch = Some((octets.clone(), std::mem::take(&mut self.frames)));
        Some(octets)
    }

    /// What was taken last is written.
    pub(crate) fn batch_written(&mut self) {
        if let Some((mut octets, frames)) = self.batch.take() {
            self.done += frames;
            octets.truncate(0);
            // Its room without a copy, as nobody else has it any more.
            let spare = Vec::from(octets);
            if spare.capacity() <= KEPT {
                self.spare = spare;
            }
        }
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
    pub(crate) fn flush(&mut self, socket: &Socket) -> io::Result<bool> {
        while !self.is_empty() {
            match socket.send_now(&[IoSlice::new(&self.octets[self.written..])]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.written >= COMPACT_AT {
                        self.compact();
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
    pub(crate) fn rewind(&mut self) {
        self.compact();
        self.written = 0;
        if let Some((octets, frames)) = self.batch.take() {
            self.octets.splice(..0, octets);
            self.frames += frames;
        }
    }

    /// Gives up what waits; how many frames that are.
    pub(crate) fn give_up(&mut self) -> u64 {
        self.rewind();
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
    fn compact(&mut self) {
        let mut whole = 0;
        while whole < self.written {
            let length = frame_length(&self.octets[whole..]).max(1);
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

    fn frame(octets: usize) -> Vec<u8> {
        let mut frame = vec![octets as u8; octets];
        frame[..4].copy_from_slice(&(octets as u32).to_ne_bytes());
        frame
    }

    #[test]
    fn after_a_loss_the_frame_that_was_cut_comes_again_and_the_whole_ones_do_not() {
        let mut outgoing = Outgoing::default();
        outgoing.push(&frame(5), 0);
        outgoing.push(&frame(6), 0);
        outgoing.push(&frame(7), 0);
        outgoing.written = 8;
        assert_eq!(outgoing.waiting(), 10);
        outgoing.rewind();
        assert_eq!(outgoing.octets, [frame(6), frame(7)].concat());
        assert_eq!((outgoing.waiting(), outgoing.frames()), (13, 2));
        assert_eq!(outgoing.take_done(), 1);
        assert_eq!(outgoing.give_up(), 2);
        assert!(outgoing.is_empty());
    }

    #[test]
    fn a_frame_that_the_kernel_took_in_part_counts_until_it_is_whole() {
        let mut outgoing = Outgoing::default();
        outgoing.push(&frame(9), 2);
        assert_eq!((outgoing.waiting(), outgoing.frames()), (7, 1));
        assert_eq!(outgoing.give_up(), 1);
    }

    #[test]
    fn a_batch_that_is_not_written_comes_again_in_front() {
        let mut outgoing = Outgoing::default();
        outgoing.push_with(|octets| octets.extend(frame(5)));
        outgoing.push_with(|octets| octets.extend(frame(6)));
        assert_eq!(outgoing.take_batch().unwrap().len(), 11);
        outgoing.push_with(|octets| octets.extend(frame(7)));
        assert_eq!((outgoing.waiting(), outgoing.is_empty()), (18, false));
        outgoing.rewind();
        assert_eq!(outgoing.octets, [frame(5), frame(6), frame(7)].concat());
        outgoing.take_batch().unwrap();
        outgoing.batch_written();
        assert_eq!((outgoing.take_done(), outgoing.waiting()), (3, 0));
        assert_eq!(outgoing.take_batch(), None);
    }
}
