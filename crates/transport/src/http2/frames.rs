//! Which of the octets that came the session is given now.
//!
//! A long DATA frame is left where it was received until all of it is there: its payload is then one run
//! of octets, which a body that is no more than that shares instead of copying it. So is the head of a
//! frame of which a part has come. All else goes on as it comes.

/// What a client says first; no frames are in it.
const PREFACE: usize = 24;
/// Octets of a frame's head.
const HEAD: usize = 9;
const DATA: u8 = 0;

/// The shortest payload that is worth waiting for, and worth sharing: below, copying costs less than
/// holding on to the memory it was received in.
pub(super) const LONG: usize = 4 << 10;

/// Where the octets of one peer stand.
#[derive(Debug)]
pub(super) struct Frames {
    /// Octets that follow of what was begun to be given.
    pass: usize,
    /// The longest frame that the peer may send; the session refuses a longer one by its head.
    longest: usize,
    /// Octets that are missing of the long frame that is waited for.
    wants: usize,
}

impl Frames {
    pub(super) const fn new(from_a_client: bool, longest: usize) -> Self {
        Self {
            pass: if from_a_client { PREFACE } else { 0 },
            longest,
            wants: 0,
        }
    }

    /// How many octets are missing of the frame at which [`ready`](Self::ready) stopped.
    pub(super) const fn wants(&self) -> usize {
        self.wants
    }

    /// How many of these octets the session is given now; the others come again, with those behind
    /// them.
    pub(super) fn ready(&mut self, octets: &[u8]) -> usize {
        self.wants = 0;
        let mut at = 0;
        loop {
            let passed = self.pass.min(octets.len() - at);
            self.pass -= passed;
            at += passed;
            let rest = &octets[at..];
            let Some(&[l0, l1, l2, kind]) = rest.first_chunk() else {
                return at;
            };
            if rest.len() < HEAD {
                return at;
            }
            let payload = u32::from_be_bytes([0, l0, l1, l2]) as usize;
            let whole = HEAD + payload;
            if kind == DATA && (LONG..=self.longest).contains(&payload) && rest.len() < whole {
                self.wants = whole - rest.len();
                return at;
            }
            self.pass = whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: u8 = 1;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        let head = [length[1], length[2], length[3], kind, 0, 0, 0, 0, 1];
        [&head[..], &vec![7; payload]].concat()
    }

    /// How much is given each time when so many octets come at a time.
    fn given(frames: &mut Frames, octets: &[u8], at_a_time: usize) -> Vec<usize> {
        let (mut waiting, mut given) = (Vec::new(), Vec::new());
        for some in octets.chunks(at_a_time) {
            waiting.extend_from_slice(some);
            let ready = frames.ready(&waiting);
            waiting.drain(..ready);
            given.push(ready);
        }
        assert!(waiting.is_empty());
        given
    }

    #[test]
    fn everything_is_given_however_it_comes() {
        let octets = [
            vec![0; PREFACE],
            frame(HEADERS, 30),
            frame(DATA, LONG),
            frame(DATA, 0),
            frame(DATA, 100_000),
            frame(HEADERS, LONG),
        ]
        .concat();
        for at_a_time in [1, 2, 8, 9, 10, 100, 5000, usize::MAX] {
            let mut frames = Frames::new(true, 1 << 20);
            let given = given(&mut frames, &octets, at_a_time);
            assert_eq!(given.iter().sum::<usize>(), octets.len(), "{at_a_time}");
            assert_eq!((frames.pass, frames.wants()), (0, 0), "{at_a_time}");
        }
    }

    #[test]
    fn a_long_frame_is_given_when_it_is_whole_and_others_as_they_come() {
        let mut frames = Frames::new(false, 1 << 20);
        let long = [frame(HEADERS, 10), frame(DATA, LONG)].concat();
        assert_eq!(frames.ready(&long[..19 + HEAD + 1]), 19);
        assert_eq!(frames.wants(), LONG - 1);
        assert_eq!(frames.ready(&long[19..]), HEAD + LONG);
        assert_eq!(frames.wants(), 0);

        let short = frame(DATA, LONG - 1);
        assert_eq!(frames.ready(&short[..HEAD + 1]), HEAD + 1);
        assert_eq!(frames.ready(&short[HEAD + 1..]), LONG - 2);
    }

    #[test]
    fn a_frame_that_is_too_long_is_the_sessions_at_once() {
        let mut frames = Frames::new(false, 1 << 14);
        let octets = frame(DATA, (1 << 14) + 1);
        assert_eq!(frames.ready(&octets[..HEAD]), HEAD);
        assert_eq!(frames.wants(), 0);
    }
}
