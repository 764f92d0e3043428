//! What can be wrong or strange about a record, and where.

use super::{
    MAX_GROUP_ENDPOINTS, MAX_GROUPS, MAX_MEIDS, MAX_NAME_OCTETS, MAX_RECORD_OCTETS, MAX_SENDERS,
};
use std::fmt;

/// A place in a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "a place is this")]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The octet in it.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A record that cannot be read: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what there is to say of a fault")]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: FaultKind,
    /// The beginning of what stands there instead; empty when nothing does.
    pub found: String,
    /// The count at the table's end that includes the record all the same.
    pub counted: Option<Counted>,
}

/// Which count at the end of a table or of changes includes a record.
///
/// The C library counts by the first field and the number of fields alone, so its senders count
/// records that nothing comes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third count")]
pub enum Counted {
    /// That of `newrt` and `updatert`.
    Routes,
    /// That of `meid_map`.
    Meids,
}

impl Counted {
    /// Of a line as it came.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let fields = memchr::memchr_iter(b'|', line).count() + 1;
        let kind = line.split(|octet| *octet == b'|').next()?.trim_ascii();
        match (kind.first()?, kind, fields) {
            (b'r', ..) | (_, b"mse", 4..) | (b'd', _, 3..) => Some(Self::Routes),
            (_, b"mme_ar", 3..) | (_, b"mme_del", 2..) => Some(Self::Meids),
            _ => None,
        }
    }
}

/// Characters of what was found that a fault repeats.
const EXCERPT: usize = 40;

impl Fault {
    /// A fault in a line whose number is not known yet.
    pub(super) fn at(column: usize, kind: FaultKind, found: &[u8]) -> Box<Self> {
        let found = String::from_utf8_lossy(&found[..found.len().min(EXCERPT * 4)]);
        Box::new(Self {
            place: Place {
                line: 0,
                column: u32::try_from(column).unwrap_or(u32::MAX),
            },
            kind,
            found: found.chars().take(EXCERPT).collect(),
            counted: None,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)?;
        if self.found.is_empty() {
            Ok(())
        } else {
            write!(f, ", found {:?}", self.found)
        }
    }
}

impl std::error::Error for Fault {}

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The line is not UTF-8.
    NotText,
    /// The line is longer than [`MAX_RECORD_OCTETS`].
    RecordTooLong,
    /// The first field names no record.
    UnknownRecord,
    /// A table's record says neither start nor end.
    NoEdge,
    /// No message type where one must be.
    NoMessageType,
    /// No subscription where one must be.
    NoSubId,
    /// No endpoint where at least one must be.
    NoTarget,
    /// No owner of managed elements.
    NoOwner,
    /// No managed element where at least one must be.
    NoMeids,
    /// The count of records is no number.
    BadCount,
    /// A name holds what none can: a blank, a control or a non-ASCII character, or a `#` in front.
    BadName,
    /// A name is longer than [`MAX_NAME_OCTETS`].
    NameTooLong,
    /// `%meid` beside other endpoints.
    MeidNotAlone,
    /// More than [`MAX_SENDERS`].
    TooManySenders,
    /// More than [`MAX_GROUPS`].
    TooManyGroups,
    /// More than [`MAX_GROUP_ENDPOINTS`].
    TooManyEndpoints,
    /// More than [`MAX_MEIDS`].
    TooManyMeids,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("text in UTF-8 expected"),
            Self::RecordTooLong => {
                write!(f, "a record of at most {MAX_RECORD_OCTETS} octets expected")
            }
            Self::UnknownRecord => {
                f.write_str("newrt, updatert, rte, mse, del, meid_map, mme_ar or mme_del expected")
            }
            Self::NoEdge => f.write_str("\"start\" or \"end\" expected"),
            Self::NoMessageType => f.write_str("a message type expected, a number"),
            Self::NoSubId => f.write_str("a subscription expected, a number or -1 for any"),
            Self::NoTarget => f.write_str("endpoints expected, host:port,.. or %meid"),
            Self::NoOwner => {
                f.write_str("the endpoint that owns the managed elements expected, host:port")
            }
            Self::NoMeids => f.write_str("managed elements expected, with blanks between them"),
            Self::BadCount => f.write_str("the number of records expected, or nothing"),
            Self::BadName => f.write_str(
                "a name of visible ASCII characters expected, without blanks or a # in front",
            ),
            Self::NameTooLong => {
                write!(f, "a name of at most {MAX_NAME_OCTETS} octets expected")
            }
            Self::MeidNotAlone => f.write_str("%meid expected to stand alone"),
            Self::TooManySenders => write!(f, "at most {MAX_SENDERS} senders expected"),
            Self::TooManyGroups => write!(f, "at most {MAX_GROUPS} groups expected"),
            Self::TooManyEndpoints => write!(
                f,
                "at most {MAX_GROUP_ENDPOINTS} endpoints in a group expected"
            ),
            Self::TooManyMeids => {
                write!(
                    f,
                    "at most {MAX_MEIDS} managed elements in a record expected"
                )
            }
        }
    }
}

/// Something that is taken, as the C library takes it, but that nobody can have meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "what there is to say of a remark"
)]
pub struct Remark {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: RemarkKind,
}

impl Remark {
    pub(super) fn at(column: usize, kind: RemarkKind) -> Self {
        Self {
            place: Place {
                line: 0,
                column: u32::try_from(column).unwrap_or(u32::MAX),
            },
            kind,
        }
    }

    pub(super) fn on(mut self, line: u32) -> Self {
        self.place.line = line;
        self
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)
    }
}

/// What is strange about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemarkKind {
    /// Neither start nor end, and taken for a start.
    TakenForStart,
    /// Nothing between two commas or semicolons, passed over.
    EmptyEndpoint,
    /// An endpoint without a port: no connection to it will succeed.
    NoPort,
    /// An empty name among the senders, which is nobody's.
    EmptySender,
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TakenForStart => "neither \"start\" nor \"end\"; taken for a start",
            Self::EmptyEndpoint => "an endpoint's name is empty; passed over",
            Self::NoPort => "an endpoint without a port cannot be connected to",
            Self::EmptySender => "a sender's name is empty; it is nobody's",
        })
    }
}
