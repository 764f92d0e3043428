//! Whatever an xDS client sends, the server's stream bears it and answers one response at a time.

use corewire_control::fuzzing::FuzzedStream;
use std::time::Duration;

/// One input: bit 0 of the first octet is the variant. Then steps: an octet that says what, and
/// for a message its length.
pub(crate) fn run(data: &[u8]) {
    let Some((variant, mut rest)) = data.split_first() else {
        return;
    };
    let mut stream = FuzzedStream::new(variant & 1 == 1);
    // Four types, one response each, and no more without an answer or the end of a wait.
    let mut owed = 4;
    while let Some((step, after)) = rest.split_first() {
        rest = after;
        match step {
            0..=31 => {
                stream.serve(*step);
                owed = 4;
            }
            32..=63 => {
                stream.wait(Duration::from_millis(u64::from(*step - 31) * 600));
                owed = 4;
            }
            64..=95 => {
                let heard = stream.receive().is_some();
                assert!(
                    !heard || owed > 0,
                    "more responses than may be on their way"
                );
                owed -= u32::from(heard);
            }
            _ => {
                let length = usize::from(*step - 96).min(rest.len());
                let (message, after) = rest.split_at(length);
                rest = after;
                if !stream.send(message) {
                    return;
                }
                owed = 4;
            }
        }
    }
}
