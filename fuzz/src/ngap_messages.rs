//! NGAP bears anything: what is read can be written and is read as the same, and what is refused has
//! an answer that can be written.

use corewire_core5g_ngap::NgapMessage;
use corewire_core5g_ngap::transfer::{
    ModifyRequestTransfer, ModifyResponseTransfer, ReleaseCommandTransfer, SetupRequestTransfer,
    SetupResponseTransfer,
};

pub(crate) fn run(data: &[u8]) {
    match NgapMessage::decode(data) {
        Ok(message) => {
            // A list that a peer may leave empty and we may not is the one thing we do not write.
            if let Ok(octets) = message.encode() {
                assert_eq!(NgapMessage::decode(&octets).as_ref(), Ok(&message));
            }
        }
        Err(error) => {
            if let Some(answer) = error.answer() {
                answer.encode().unwrap();
            }
        }
    }
    let _ = SetupRequestTransfer::decode(data);
    let _ = SetupResponseTransfer::decode(data);
    let _ = ModifyRequestTransfer::decode(data);
    let _ = ModifyResponseTransfer::decode(data);
    let _ = ReleaseCommandTransfer::decode(data);
}
