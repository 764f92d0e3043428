//! Why a header block is none.

use std::fmt;

/// Why a header block cannot be read. To HTTP/2 each is a COMPRESSION_ERROR of the whole connection
/// (RFC 9113, 4.3): what follows would be read with another table than it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The block ends inside a field.
    Truncated,
    /// A number does not end in time or is larger than any that is allowed (RFC 7541, 5.1).
    Number,
    /// A field refers to an entry that is in neither table (RFC 7541, 2.3.3).
    Index,
    /// A string's last octet is not filled up with the beginning of EOS, or with too much of it (RFC 7541,
    /// 5.2).
    Padding,
    /// A string holds the code of EOS (RFC 7541, 5.2).
    EndOfString,
    /// The dynamic table would be larger than allowed (RFC 7541, 6.3).
    TableSize,
    /// The table's size changes behind a field (RFC 7541, 4.2).
    LateTableSize,
    /// The peer was told to use a smaller table and has not (RFC 7541, 4.2).
    NoTableSize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the header block ends inside a field",
            Self::Number => "a number in the header block is too large",
            Self::Index => "a header field refers to an entry that is not in the table",
            Self::Padding => "a Huffman string is not filled up as it must be",
            Self::EndOfString => "a Huffman string holds the code of its own end",
            Self::TableSize => "the header table would be larger than allowed",
            Self::LateTableSize => "the header table's size changes behind a field",
            Self::NoTableSize => "the header table was to become smaller and has not",
        })
    }
}

impl std::error::Error for DecodeError {}
