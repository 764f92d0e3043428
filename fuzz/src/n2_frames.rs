//! Records of N2 over TCP: whatever comes, a record lies within it, and is written as it was read.

use bytes::BytesMut;
use corewire_transport::sctp::{Frame, HEADER_LEN};

pub(crate) fn run(data: &[u8]) {
    let mut received = BytesMut::from(data);
    let mut at = 0;
    while let Ok(Some(frame)) = Frame::take(&mut received) {
        let length = u32::try_from(frame.payload.len()).unwrap();
        let header = Frame::header(frame.kind, frame.stream, frame.ppid, length);
        assert_eq!(&data[at..at + HEADER_LEN], header);
        at += HEADER_LEN + frame.payload.len();
    }
    assert!(at + received.len() == data.len());
}
