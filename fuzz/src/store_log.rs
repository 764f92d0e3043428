//! The log of a store, with any bytes in it.

use corewire_store::fuzzing;

pub(crate) fn run(data: &[u8]) {
    fuzzing::log(data);
}
