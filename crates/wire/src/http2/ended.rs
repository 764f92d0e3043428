//! What is remembered of a client's streams that are gone.
//!
//! RFC 9113, 5.1 (closed) and 5.1.1 (numbers that were left out are closed).
//!
//! Bounded and cheap: a few numbers are kept. A frame on a stream that the client has ended is its
//! fault, one on a stream that this side has ended may have been on its way. What has been forgotten is
//! let pass.

/// Streams whose end is remembered; a later one takes the place of an earlier.
const ENDED: usize = 64;
/// Ranges of stream numbers that the client left out and that are remembered.
const LEFT_OUT: usize = 8;

/// Which streams a client has ended, and which it has left out.
#[derive(Debug)]
pub(super) struct Ended {
    /// The highest stream that was opened.
    last: u32,
    /// Streams that the client ended, each in its place.
    ended: [u32; ENDED],
    /// Numbers between these, both not included, were left out.
    left_out: [(u32, u32); LEFT_OUT],
    next_left_out: usize,
}

impl Ended {
    pub(super) const fn new() -> Self {
        Self {
            last: 0,
            ended: [0; ENDED],
            left_out: [(0, 0); LEFT_OUT],
            next_left_out: 0,
        }
    }

    /// The highest stream that was opened; 0 before the first.
    pub(super) const fn last(&self) -> u32 {
        self.last
    }

    /// The client opened a stream above all before.
    pub(super) fn open(&mut self, stream: u32) {
        if stream > self.last.saturating_add(2) {
            self.left_out[self.next_left_out] = (self.last, stream);
            self.next_left_out = (self.next_left_out + 1) % LEFT_OUT;
        }
        self.last = stream;
    }

    /// The client has ended its side of a stream.
    pub(super) fn end(&mut self, stream: u32) {
        self.ended[place(stream)] = stream;
    }

    /// Whether the client has ended its side.
    pub(super) fn has_ended(&self, stream: u32) -> bool {
        self.ended[place(stream)] == stream
    }

    /// Whether no such stream was ever opened, though higher ones were.
    pub(super) fn was_left_out(&self, stream: u32) -> bool {
        self.left_out
            .iter()
            .any(|(before, behind)| *before < stream && stream < *behind)
    }
}

/// A client's streams have odd numbers: neighbours have places of their own.
const fn place(stream: u32) -> usize {
    (stream >> 1) as usize % ENDED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_up_and_those_left_out_stay_out() {
        let mut ended = Ended::new();
        ended.open(5);
        assert!(ended.was_left_out(1) && ended.was_left_out(3) && !ended.was_left_out(5));
        ended.open(7);
        ended.open(13);
        assert!(ended.was_left_out(9) && ended.was_left_out(11));
        assert!(!ended.was_left_out(7) && !ended.was_left_out(13) && !ended.was_left_out(15));
        assert_eq!(ended.last(), 13);
        let mut ended = Ended::new();
        ended.open(1);
        ended.open(3);
        assert!(!ended.was_left_out(1) && !ended.was_left_out(3));
        ended.open(7);
        for stream in (9..99).step_by(2) {
            ended.open(stream);
        }
        assert!(ended.was_left_out(5));
    }

    #[test]
    fn the_last_eight_ranges_that_were_left_out_are_remembered() {
        let mut ended = Ended::new();
        // Each leaves out the number in front of it.
        for gap in 1..=20u32 {
            ended.open(4 * gap + 1);
            for earlier in 1..=gap {
                let is_remembered = earlier + 8 > gap;
                assert_eq!(ended.was_left_out(4 * earlier - 1), is_remembered);
            }
        }
    }

    #[test]
    fn an_end_is_remembered_until_another_takes_its_place() {
        let mut ended = Ended::new();
        for stream in (1..=2 * ENDED as u32).step_by(2) {
            assert!(!ended.has_ended(stream));
            ended.end(stream);
        }
        assert!(ended.has_ended(1) && ended.has_ended(2 * ENDED as u32 - 1));
        ended.end(2 * ENDED as u32 + 1);
        assert!(!ended.has_ended(1));
    }
}
