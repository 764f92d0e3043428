//! Corewire: the message-transfer layer that network functions link. This crate only re-exports.
pub use corewire_message as message;
