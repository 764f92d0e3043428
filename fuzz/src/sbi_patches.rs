//! A document and its changes.

use corewire_core5g_sbi::fuzzing;

pub(crate) fn run(data: &[u8]) {
    fuzzing::patches(data);
}
