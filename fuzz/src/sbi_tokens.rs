//! A set of keys, and a token that they may have signed; and where in JSON a decoder stops.

use corewire_core5g_sbi::fuzzing;

pub(crate) fn run(data: &[u8]) {
    fuzzing::tokens(data);
}
