//! The entry of the fuzz target: a log of any bytes is read to its end, and what is read twice is the
//! same.

use crate::faulty::Disk;
use crate::file_system::{Access, FileSystem as _, write_all};
use crate::record::{Encoder, Key};
use crate::scan::{ScanError, scan};
use std::path::Path;

/// Reads these bytes as a log; then the same behind a valid header, and with a record behind them.
///
/// # Panics
/// When the record behind them is not read, or a log is read otherwise the second time.
pub fn log(bytes: &[u8]) {
    read(bytes);
    let key = Key([9; 16]);
    let mut whole = key.header().to_vec();
    whole.extend_from_slice(bytes);
    let mut encoder = Encoder::new(key);
    encoder.number = u64::MAX - 7;
    encoder.push(&mut whole, b"behind", Some(b"1"));
    let records = read(&whole);
    let is_there = records
        .iter()
        .any(|(name, value)| name == b"behind" && value.as_deref() == Some(&b"1"[..]));
    assert!(is_there, "a record behind anything is read");
}

type Records = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn read(bytes: &[u8]) -> Records {
    let disk = Disk::new();
    let open = || disk.open(Path::new("/log"), Access::ReadWrite);
    let (Ok(file), Ok(again)) = (open(), open()) else {
        return Records::new();
    };
    let _written = write_all(&*file, bytes, 0);
    let of = |file| {
        let mut records = Records::new();
        let found = scan(file, &mut |name, value| {
            records.push((name.to_vec(), value.map(<[u8]>::to_vec)));
            true
        });
        match found {
            Ok(found) => assert!(found.end + found.torn <= bytes.len() as u64),
            Err(ScanError::Io(_) | ScanError::NotALog) => assert!(records.is_empty()),
        }
        records
    };
    let records = of(&*file);
    assert_eq!(records, of(&*again));
    records
}
