//! The C ABI: corewire.h and the library behind it.
