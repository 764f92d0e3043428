//! Looks at the heads of a client's frames before the library does, for what RFC 9113 wants refused
//! and nghttp2 lets pass: it keeps nothing of closed streams and reads no PRIORITY.
//!
//! Bounded and cheap: a few octets a frame are looked at, a few numbers are kept. What has been
//! forgotten is let pass, as the library does.

use super::ErrorCode;

/// What a client says first; no frames are in it.
const PREFACE: usize = 24;
/// Octets of a frame's head.
const HEAD: usize = 9;
/// The longest part of a frame that is looked at: its head and the payload of a PRIORITY.
const LOOKED_AT: usize = HEAD + 5;
/// Streams whose end is remembered; a later one takes the place of an earlier.
const ENDED: usize = 64;
/// Ranges of stream numbers that the client left out and that are remembered.
const LEFT_OUT: usize = 8;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What is to be done with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the library's.
    Pass,
    /// It is the library's, unless the stream's window would grow beyond what a window can be: the
    /// library would end the connection, RFC 9113 (6.9.1) the stream.
    Credit { stream: u32, octets: u32 },
    /// The library is given [`NO_STREAM`] behind the frame's head.
    GoAway,
    /// The connection ends before it.
    Refuse(ErrorCode),
}

/// What the library is told for a stream number that a client's GOAWAY should not hold: an odd one,
/// which no stream of a server has. grpc-go names its own last stream when it closes a connection,
/// and 2^31-1 (RFC 9113, 6.8) is odd too. Our servers open no streams: the number says nothing.
pub(super) const NO_STREAM: [u8; 4] = [0; 4];

/// Where a client's octets stand, and which streams it has ended.
pub(super) struct Watch {
    /// Octets that follow and need not be looked at.
    pass: usize,
    /// The start of a frame of which more must come before it can be judged.
    kept: [u8; LOOKED_AT],
    length: usize,
    /// A header block goes on: the library knows what may come.
    in_headers: bool,
    /// The highest stream that was opened.
    last: u32,
    /// Streams that the client ended, each in its place.
    ended: [u32; ENDED],
    /// Numbers between these, both not included, were left out.
    left_out: [(u32, u32); LEFT_OUT],
    next_left_out: usize,
}

impl Watch {
    pub(super) const fn new() -> Self {
        Self {
            pass: PREFACE,
            kept: [0; LOOKED_AT],
            length: 0,
            in_headers: false,
            last: 0,
            ended: [0; ENDED],
            left_out: [(0, 0); LEFT_OUT],
            next_left_out: 0,
        }
    }

    /// How many of the next `length` octets need not be looked at.
    pub(super) fn pass(&mut self, length: usize) -> usize {
        let passed = self.pass.min(length);
        self.pass -= passed;
        passed
    }

    /// Takes from `octets` what is missing of the frame that began earlier; says how many it took,
    /// and whether the frame can be judged now.
    pub(super) fn complete(&mut self, octets: &[u8]) -> (usize, bool) {
        let mut taken = 0;
        loop {
            let wanted = looked_at(&self.kept[..self.length]);
            let missing = wanted - self.length;
            if missing == 0 {
                return (taken, true);
            }
            let more = missing.min(octets.len() - taken);
            if more == 0 {
                return (taken, false);
            }
            self.kept[self.length..][..more].copy_from_slice(&octets[taken..][..more]);
            self.length += more;
            taken += more;
        }
    }

    /// Whether the start of a frame is kept.
    pub(super) const fn keeps(&self) -> bool {
        self.length > 0
    }

    /// Gives the start of a frame that was kept.
    pub(super) fn take_kept(&mut self) -> ([u8; LOOKED_AT], usize) {
        (self.kept, std::mem::take(&mut self.length))
    }

    /// Judges the frame at the start of these octets and says how many of them it looked at; `None`
    /// when they are too few.
    pub(super) fn judge(&mut self, octets: &[u8]) -> Option<(Verdict, usize)> {
        let seen = looked_at(octets);
        let &[l0, l1, l2, kind, flags, s0, s1, s2, s3] = octets.first_chunk::<HEAD>()?;
        let payload = octets.get(HEAD..seen)?;
        let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        let stream = u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]);
        self.pass = length - payload.len();
        let verdict = if self.in_headers {
            self.in_headers = !(kind == CONTINUATION && flags & END_HEADERS != 0);
            Verdict::Pass
        } else {
            self.judge_frame(kind, flags, stream, payload)
        };
        Some((verdict, seen))
    }

    fn judge_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Verdict {
        let number = |octets: &[u8; 4]| u32::from_be_bytes(*octets) & 0x7fff_ffff;
        match kind {
            HEADERS | DATA if self.has_ended(stream) => {
                return Verdict::Refuse(ErrorCode::STREAM_CLOSED);
            }
            HEADERS if self.was_left_out(stream) => {
                return Verdict::Refuse(ErrorCode::PROTOCOL_ERROR);
            }
            HEADERS => {
                self.open(stream);
                self.in_headers = flags & END_HEADERS == 0;
            }
            PRIORITY if stream == 0 => return Verdict::Refuse(ErrorCode::PROTOCOL_ERROR),
            PRIORITY => {
                if let Some(parent) = payload.first_chunk()
                    && number(parent) == stream
                {
                    return Verdict::Refuse(ErrorCode::PROTOCOL_ERROR);
                }
            }
            GOAWAY
                if payload
                    .first_chunk()
                    .map(number)
                    .is_some_and(|last| last % 2 == 1) =>
            {
                return Verdict::GoAway;
            }
            WINDOW_UPDATE if stream != 0 => {
                if let Some(octets) = payload.first_chunk() {
                    let octets = number(octets);
                    return Verdict::Credit { stream, octets };
                }
            }
            _ => {}
        }
        let ends = match kind {
            HEADERS | DATA => flags & END_STREAM != 0,
            kind => kind == RST_STREAM,
        };
        if ends && stream <= self.last {
            self.ended[place(stream)] = stream;
        }
        Verdict::Pass
    }

    fn open(&mut self, stream: u32) {
        if stream <= self.last {
            return;
        }
        if stream > self.last.saturating_add(2) || self.last == 0 && stream > 1 {
            self.left_out[self.next_left_out] = (self.last, stream);
            self.next_left_out = (self.next_left_out + 1) % LEFT_OUT;
        }
        self.last = stream;
    }

    fn has_ended(&self, stream: u32) -> bool {
        stream != 0 && self.ended[place(stream)] == stream
    }

    fn was_left_out(&self, stream: u32) -> bool {
        stream < self.last
            && self
                .left_out
                .iter()
                .any(|(before, behind)| *before < stream && stream < *behind)
    }
}

/// A client's streams have odd numbers: neighbours have places of their own.
const fn place(stream: u32) -> usize {
    (stream >> 1) as usize % ENDED
}

/// How many octets of the frame that begins here are looked at, as far as they tell.
fn looked_at(octets: &[u8]) -> usize {
    match octets {
        [0, 0, 5, PRIORITY, _, _, _, _, _, ..] => HEAD + 5,
        [0, 0, 4, WINDOW_UPDATE, _, _, _, _, _, ..] => HEAD + 4,
        // One that is too short is the library's to refuse.
        [l0, l1, l2, GOAWAY, _, _, _, _, _, ..] if (*l0, *l1) != (0, 0) || *l2 >= 8 => HEAD + 4,
        _ => HEAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    /// What the last of these frames is judged.
    fn last(frames: &[Vec<u8>]) -> Verdict {
        let mut watch = Watch::new();
        assert_eq!(watch.pass(100), PREFACE);
        let mut last = Verdict::Pass;
        for frame in frames {
            let (verdict, seen) = watch.judge(frame).unwrap();
            assert_eq!(watch.pass(usize::MAX), frame.len() - seen);
            last = verdict;
        }
        last
    }

    fn open(stream: u32) -> Vec<u8> {
        frame(HEADERS, END_HEADERS, stream, b"...")
    }

    #[test]
    fn nothing_follows_a_streams_end() {
        let refused = Verdict::Refuse(ErrorCode::STREAM_CLOSED);
        let ends = [
            frame(DATA, END_STREAM, 1, b"x"),
            frame(RST_STREAM, 0, 1, &[0; 4]),
            frame(HEADERS, END_STREAM | END_HEADERS, 1, b"."),
        ];
        for end in ends {
            for more in [frame(DATA, 0, 1, b""), open(1)] {
                assert_eq!(last(&[open(1), end.clone(), more]), refused);
            }
            let window = frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 9]);
            let (stream, octets) = (1, 9);
            assert_eq!(
                last(&[open(1), end, window]),
                Verdict::Credit { stream, octets }
            );
        }
        assert_eq!(last(&[open(1), frame(DATA, 0, 1, b"")]), Verdict::Pass);
    }

    #[test]
    fn numbers_go_up_and_those_left_out_stay_out() {
        let refused = Verdict::Refuse(ErrorCode::PROTOCOL_ERROR);
        assert_eq!(last(&[open(5), open(3)]), refused);
        assert_eq!(last(&[open(1), open(7), open(3)]), refused);
        // Trailers of streams that are open.
        assert_eq!(last(&[open(1), open(3), open(1)]), Verdict::Pass);
        assert_eq!(last(&[open(5), open(9), open(5)]), Verdict::Pass);
    }

    #[test]
    fn a_goaway_that_names_a_clients_stream_is_told_from_others() {
        let goaway = |last: u32| {
            frame(
                GOAWAY,
                0,
                0,
                &[&last.to_be_bytes()[..], b"0000why"].concat(),
            )
        };
        assert_eq!(last(&[goaway(0x7fff_ffff)]), Verdict::GoAway);
        assert_eq!(last(&[goaway(0)]), Verdict::Pass);
        assert_eq!(last(&[goaway(803)]), Verdict::GoAway);
        assert_eq!(last(&[goaway(2)]), Verdict::Pass);
        assert_eq!(last(&[frame(GOAWAY, 0, 0, &[0x7f; 7])]), Verdict::Pass);
    }

    #[test]
    fn a_header_block_that_goes_on_is_the_librarys() {
        let begun = frame(HEADERS, END_STREAM, 1, b".");
        let data = frame(DATA, 0, 1, b"");
        assert_eq!(last(&[begun.clone(), data.clone()]), Verdict::Pass);
        let end = frame(CONTINUATION, END_HEADERS, 1, b".");
        let refused = Verdict::Refuse(ErrorCode::STREAM_CLOSED);
        assert_eq!(last(&[begun, end, data]), refused);
    }

    #[test]
    fn priorities_are_of_streams_and_of_others() {
        let refused = Verdict::Refuse(ErrorCode::PROTOCOL_ERROR);
        let priority = |stream| frame(PRIORITY, 0, stream, &[0x80, 0, 0, 3, 16]);
        assert_eq!(last(&[priority(0)]), refused);
        assert_eq!(last(&[priority(3)]), refused);
        assert_eq!(last(&[priority(5)]), Verdict::Pass);
    }

    #[test]
    fn a_frame_that_comes_octet_by_octet_is_judged_when_it_is_there() {
        for (whole, wanted) in [
            (frame(PRIORITY, 0, 3, &[0, 0, 0, 3, 16]), 14),
            (frame(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 3]), 13),
            (frame(DATA, 0, 3, b"more than is looked at"), 9),
        ] {
            let mut watch = Watch::new();
            for octet in &whole[..wanted - 1] {
                assert_eq!(watch.complete(&[*octet]), (1, false));
            }
            assert_eq!(watch.complete(&whole[wanted - 1..]), (1, true));
            let (kept, length) = watch.take_kept();
            assert_eq!(kept[..length], whole[..wanted]);
            assert_eq!(watch.judge(&kept[..length]).unwrap().1, wanted);
            assert!(!watch.keeps());
        }
    }
}
