//! An event's body bears anything: a record lies within it, and one that is written again is read as
//! the same.

use corewire_wire::rmr::record::RecordReader;

pub(crate) fn run(data: &[u8]) {
    let mut reader = RecordReader::default();
    while let Ok(Some((record, end))) = reader.peek(data) {
        assert!(end <= data.len() && !reader.is_done(data));
        let mut written = Vec::new();
        record.write(true, &mut written);
        let mut again = RecordReader::default();
        let (same, all) = again.peek(&written).unwrap().unwrap();
        assert_eq!((same, all), (record, written.len()));
        reader.advance(end);
    }
}
