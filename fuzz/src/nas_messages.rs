//! NAS bears anything, plain and protected: what is read can be written and is read as the same.

use corewire_core5g_aka::Kamf;
use corewire_core5g_nas::{
    Ciphering, Integrity, Ksi, NasAlgorithms, NasMessage, NasSecurityContext, Side,
};

pub(crate) fn run(data: &[u8]) {
    let read = [
        NasMessage::decode(data),
        NasMessage::decode_unverified(data),
    ];
    for message in read.into_iter().flatten() {
        if let Ok(octets) = message.encode() {
            assert_eq!(NasMessage::decode(&octets).as_ref(), Ok(&message));
        }
    }
    // Without integrity every message gets as far as its contents.
    let algorithms = NasAlgorithms {
        ciphering: Ciphering::Nea0,
        integrity: Integrity::Nia0,
    };
    for side in [Side::Network, Side::Ue] {
        let context = NasSecurityContext::new(Kamf::new([0; 32]), Ksi::ZERO, algorithms, side);
        let _ = context.unwrap().unprotect(data);
    }
}
