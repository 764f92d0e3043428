//! What is to be written: small things gathered, large bodies shared.

use bytes::Bytes;
use std::collections::VecDeque;
use std::io::IoSlice;

/// Octets below which a shared body is copied next to its frame header: a copy of this size costs
/// less than one more segment for the kernel to walk.
const SHARE_FROM: usize = 4096;

/// Default for how many octets a core adds before the driver writes.
const BUDGET: usize = 256 * 1024;

/// The octets of one connection that wait to be written, in order.
///
/// Cores append; the driver writes [`slices`](Self::slices) with one gathering write a turn and
/// says how far it came with [`advance`](Self::advance). The gathering buffer is reused.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Gathered octets; `taken` of them are written.
    gathered: Vec<u8>,
    taken: usize,
    segments: VecDeque<Segment>,
    len: usize,
}

#[derive(Debug)]
enum Segment {
    /// The next so many octets of `gathered`.
    Gathered(usize),
    Shared(Bytes),
}

impl Outbox {
    /// An empty outbox.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends octets by copying.
    pub fn put(&mut self, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        self.gathered.extend_from_slice(octets);
        self.len += octets.len();
        match self.segments.back_mut() {
            Some(Segment::Gathered(count)) => *count += octets.len(),
            _ => self.segments.push_back(Segment::Gathered(octets.len())),
        }
    }

    /// Appends octets by sharing them, or by copying when they are few.
    pub fn put_shared(&mut self, octets: Bytes) {
        if octets.len() < SHARE_FROM {
            self.put(&octets);
        } else {
            self.len += octets.len();
            self.segments.push_back(Segment::Shared(octets));
        }
    }

    /// How many octets wait.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none wait.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many octets a core may still add before the driver should write.
    #[must_use]
    pub const fn budget(&self) -> usize {
        BUDGET.saturating_sub(self.len)
    }

    /// Points `slices` at the octets that wait, first ones first; gives how many it set.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut gathered = &self.gathered[self.taken..];
        let mut count = 0;
        for (slice, segment) in slices.iter_mut().zip(&self.segments) {
            *slice = IoSlice::new(match segment {
                Segment::Gathered(length) => {
                    let (octets, rest) = gathered.split_at(*length);
                    gathered = rest;
                    octets
                }
                Segment::Shared(octets) => octets,
            });
            count += 1;
        }
        count
    }

    /// The first piece of the octets that wait; all of them when nothing is shared.
    #[must_use]
    pub fn first(&self) -> &[u8] {
        match self.segments.front() {
            None => &[],
            Some(Segment::Gathered(length)) => &self.gathered[self.taken..self.taken + length],
            Some(Segment::Shared(octets)) => octets,
        }
    }

    /// How many pieces wait; one piece can be written without a gathering write.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.segments.len()
    }

    /// The first `count` octets are written. More than wait counts as all.
    pub fn advance(&mut self, count: usize) {
        let mut count = count.min(self.len);
        self.len -= count;
        while count > 0 {
            let Some(segment) = self.segments.front_mut() else {
                break;
            };
            let length = match segment {
                Segment::Gathered(length) => *length,
                Segment::Shared(octets) => octets.len(),
            };
            let step = length.min(count);
            count -= step;
            if let Segment::Gathered(_) = segment {
                self.taken += step;
            }
            if step == length {
                self.segments.pop_front();
            } else {
                match segment {
                    Segment::Gathered(length) => *length -= step,
                    Segment::Shared(octets) => drop(octets.split_to(step)),
                }
            }
        }
        if self.taken == self.gathered.len() {
            self.gathered.clear();
            self.taken = 0;
        } else if self.taken >= BUDGET {
            self.gathered.drain(..self.taken);
            self.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(outbox: &mut Outbox, at_most: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while !outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); 4];
            let count = outbox.slices(&mut slices);
            let before = all.len();
            let turn = slices[..count].iter().flat_map(|slice| slice.iter());
            all.extend(turn.take(at_most));
            outbox.advance(all.len() - before);
        }
        all
    }

    #[test]
    fn octets_come_out_in_order_however_few_are_written_at_once() {
        for at_most in [1, 7, 4096, 5000, 1_000_000] {
            let mut outbox = Outbox::new();
            let mut expected = Vec::new();
            for round in 0..10u8 {
                outbox.put(&[round; 9]);
                outbox.put_shared(Bytes::from(vec![round; 100]));
                outbox.put_shared(Bytes::from(vec![round + 100; SHARE_FROM]));
                expected.extend([round; 109]);
                expected.extend([round + 100; SHARE_FROM]);
            }
            assert_eq!(outbox.len(), expected.len());
            assert_eq!(written(&mut outbox, at_most), expected);
            assert!(outbox.gathered.is_empty() && outbox.segments.is_empty());
        }
    }

    #[test]
    fn a_core_adds_256_kib_before_the_driver_writes() {
        let mut outbox = Outbox::new();
        assert_eq!(outbox.budget(), 262_144);
        outbox.put(b"octets");
        assert_eq!(outbox.budget(), 262_138);
    }

    #[test]
    fn what_is_copied_is_one_piece() {
        let mut outbox = Outbox::new();
        for _ in 0..5 {
            outbox.put(b"octets");
        }
        assert_eq!((outbox.pieces(), outbox.len()), (1, 30));
    }

    #[test]
    fn the_first_piece_is_what_is_not_written_of_it() {
        let mut outbox = Outbox::new();
        outbox.put(b"octets");
        outbox.advance(4);
        assert_eq!((outbox.first(), outbox.len()), (&b"ts"[..], 2));
    }

    #[test]
    fn what_is_written_is_dropped_when_it_is_much() {
        for (written, kept) in [(BUDGET - 1, 2 * BUDGET), (BUDGET, BUDGET)] {
            let mut outbox = Outbox::new();
            outbox.put(&vec![0; 2 * BUDGET]);
            outbox.advance(written);
            assert_eq!(outbox.gathered.len(), kept);
            assert_eq!(outbox.len(), 2 * BUDGET - written);
        }
    }

    #[test]
    fn large_bodies_are_shared_and_small_ones_copied() {
        let mut outbox = Outbox::new();
        let large = Bytes::from(vec![1; SHARE_FROM]);
        outbox.put_shared(large.clone());
        assert_eq!(outbox.first().as_ptr(), large.as_ptr());
        outbox.put_shared(Bytes::from_static(b"small"));
        outbox.put_shared(Bytes::from(vec![1; SHARE_FROM - 1]));
        assert_eq!(outbox.pieces(), 2);
        outbox.put_shared(Bytes::from(vec![1; SHARE_FROM + 1]));
        assert_eq!(outbox.pieces(), 3);
    }
}
