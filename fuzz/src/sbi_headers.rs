//! The headers of the service interfaces and their queries.

use corewire_core5g_sbi::fuzzing;

pub(crate) fn run(data: &[u8]) {
    fuzzing::headers(data);
}
