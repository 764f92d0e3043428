//! Bodies of several parts, as anybody may send them.

use corewire_core5g_sbi::fuzzing;

pub(crate) fn run(data: &[u8]) {
    fuzzing::multipart(data);
}
