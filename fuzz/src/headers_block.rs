//! A header block is refused, or read and written again as it was.

use bytes::Bytes;
use corewire_message::Headers;

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Ok(headers) = Headers::from_block(Bytes::copy_from_slice(data)) else {
        return;
    };
    let mut again = Headers::new();
    for (name, value) in headers.iter() {
        assert!(headers.get(name).is_some());
        if again.append(name, value).is_err() {
            // Read from the wire a value may hold what a caller may not put into one.
            assert!(value.iter().any(|octet| matches!(octet, b'\r' | b'\n' | 0)));
            return;
        }
    }
    assert_eq!(again, headers);
}
