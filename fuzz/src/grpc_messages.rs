//! gRPC's framing and header values bear anything, and what is read is written again as it was.

use corewire_wire::grpc::{
    Deframer, TIMEOUT_OCTETS, prefix, read_binary, read_message, read_timeout, write_binary,
    write_message, write_timeout,
};

const MOST: usize = 1000;

/// One input: the first octet says how much is put at once.
pub(crate) fn run(data: &[u8]) {
    header_values(data);
    let Some((chunk, octets)) = data.split_first() else {
        return;
    };
    let mut deframer = Deframer::new(MOST);
    let mut again = Vec::new();
    for piece in octets.chunks(usize::from(*chunk).max(1)) {
        deframer.put(piece);
        loop {
            match deframer.next_message() {
                Ok(Some(message)) => {
                    assert!(message.len() <= MOST);
                    again.extend(prefix(message.len()).expect("a short message"));
                    again.extend_from_slice(&message);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(deframer.held() <= MOST + usize::from(u8::MAX));
    }
    assert!(octets.starts_with(&again));
    assert_eq!(deframer.finish().is_ok(), again.len() == octets.len());
}

fn header_values(data: &[u8]) {
    if let Some(timeout) = read_timeout(data) {
        let mut text = [0; TIMEOUT_OCTETS];
        let length = write_timeout(timeout, &mut text);
        let read = read_timeout(&text[..length]).expect("just written");
        assert!(read >= timeout);
    }
    let message = read_message(data);
    let mut text = Vec::new();
    write_message(&message, &mut text);
    assert_eq!(read_message(&text), message);
    let mut octets = Vec::new();
    if read_binary(data, &mut octets) {
        text.clear();
        write_binary(&octets, &mut text);
        let mut again = Vec::new();
        assert!(read_binary(&text, &mut again));
        assert_eq!(again, octets);
    } else {
        assert!(octets.is_empty());
    }
}
