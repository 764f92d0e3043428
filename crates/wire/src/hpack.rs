//! HPACK (RFC 7541): header sections as HTTP/2 carries them.
//!
//! A [`Decoder`] and an [`Encoder`] are one direction of a connection each: both ends keep a table of the fields
//! sent last, so that one that comes again is an octet. They know no frames and no meaning of any
//! field.

mod decoder;
mod digest;
mod dynamic_table;
mod encoder;
mod error;
mod flat;
mod huffman;
mod integer;
mod runs;
mod static_table;

pub use decoder::{Decoded, Decoder};
pub use encoder::{Encoder, Indexing};
pub use error::DecodeError;
