//! What a person should know about tables and where they come from.

use crate::table::TableTooLarge;
use corewire_wire::rmr::table;
use corewire_wire::rmr::table_message::TableState;
use std::fmt;

/// Something to write to the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// A table is live.
    Taken {
        /// What its start called it.
        id: Option<String>,
        /// Its entries.
        entries: usize,
        /// Managed elements with an owner.
        meids: usize,
    },
    /// A table is not taken; the one that was live still is.
    Refused(TableState),
    /// A record is wrong.
    Fault(Fault),
    /// A record is strange, and taken.
    Remark(table::Remark),
    /// A record stands where no table was begun; passed over.
    OutsideTable {
        /// Where.
        line: u32,
    },
    /// A table ends that was not begun; passed over.
    EndWithoutStart {
        /// Where.
        line: u32,
    },
    /// Managed elements that no message can name; passed over.
    LongMeids {
        /// Where.
        line: u32,
        /// How many.
        count: usize,
        /// Octets that a message carries.
        max: usize,
    },
    /// There was more to say of the same text.
    AndMore {
        /// How much.
        count: usize,
    },
    /// The seed file cannot be read.
    SeedUnreadable {
        /// Its name.
        path: String,
        /// What the system says.
        error: String,
    },
    /// The seed file is longer than is taken.
    SeedTooLong {
        /// Its name.
        path: String,
        /// Its octets.
        octets: usize,
        /// How many are taken.
        max: usize,
    },
    /// The seed file ends within a table.
    SeedIncomplete {
        /// Its name.
        path: String,
    },
    /// A route manager was asked for a table.
    Requested {
        /// Which.
        to: String,
    },
    /// The question could not be sent; it is asked again.
    RequestFailed {
        /// Who was asked.
        to: String,
    },
    /// The first table data has come from a route manager.
    ManagerHeard,
    /// A message on the control port that is none of a route manager's.
    StrangeMessage {
        /// Its type.
        message_type: i32,
    },
}

/// How much a report matters; as in `rmr_vlog`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the levels of the C library that are used"
)]
pub enum Level {
    /// Something will not work until somebody mends it.
    Error,
    /// Something is strange.
    Warning,
    /// Something was done.
    Info,
}

impl Report {
    /// How much it matters.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Refused(_) | Self::Fault(_) | Self::SeedTooLong { .. } => Level::Error,
            Self::Taken { .. } | Self::Requested { .. } | Self::ManagerHeard => Level::Info,
            _ => Level::Warning,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { id, entries, meids } => write!(
                f,
                "route table {} is live: {entries} entries, {meids} managed elements",
                id.as_deref().unwrap_or("without a name")
            ),
            Self::Refused(state) => write!(f, "{state}; the one before stays"),
            Self::Fault(fault) => write!(f, "route table: {fault}"),
            Self::Remark(remark) => write!(f, "route table: {remark}"),
            Self::OutsideTable { line } => write!(
                f,
                "route table: line {line}: passed over, no table was begun by newrt, updatert or \
                 meid_map"
            ),
            Self::EndWithoutStart { line } => write!(
                f,
                "route table: line {line}: the end of a table that was not begun; passed over"
            ),
            Self::LongMeids { line, count, max } => write!(
                f,
                "route table: line {line}: {count} managed elements passed over, messages carry \
                 identifiers of up to {max} octets"
            ),
            Self::AndMore { count } => write!(f, "route table: {count} more to say of this text"),
            Self::SeedUnreadable { path, error } => {
                write!(f, "seed route table {path} cannot be read: {error}")
            }
            Self::SeedTooLong { path, octets, max } => write!(
                f,
                "seed route table {path} has {octets} octets; up to {max} are taken"
            ),
            Self::SeedIncomplete { path } => write!(
                f,
                "seed route table {path} ends within a table: newrt | end expected"
            ),
            Self::Requested { to } => write!(f, "asked {to} for a route table"),
            Self::RequestFailed { to } => {
                write!(
                    f,
                    "{to} could not be asked for a route table; asked again later"
                )
            }
            Self::ManagerHeard => f.write_str("route table data comes from the route manager"),
            Self::StrangeMessage { message_type } => write!(
                f,
                "a message of type {message_type} came to the control port; passed over"
            ),
        }
    }
}

/// What is wrong in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A record that cannot be read.
    Record(table::Fault),
    /// A record with which the table is too large.
    TooLarge {
        /// Where.
        line: u32,
        /// What there is too much of.
        limit: TableTooLarge,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(fault) => fault.fmt(f),
            Self::TooLarge { line, limit } => write!(f, "line {line}: {limit}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Why a table is refused: the reason in the acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Another was begun before it ended.
    Incomplete,
    /// Its end counts other than came.
    Missing { expected: u32, got: u32 },
    /// Changes, and nothing from the route manager that they could change.
    NothingToUpdate,
    /// A record is wrong.
    Fault(Fault),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The words of the C library, for managers that look at them.
            Self::Incomplete => f.write_str("table not complete"),
            Self::Missing { expected, got } => {
                write!(f, "missing table records: expected {expected} got {got}")
            }
            Self::NothingToUpdate => f.write_str("full table not previously received"),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_to_be_mended_is_an_error_and_what_was_done_is_none() {
        let text = String::new;
        let refused = Report::Refused(TableState {
            taken: false,
            id: None,
            reason: None,
        });
        let (path, octets, max) = (text(), 2, 1);
        let long = Report::SeedTooLong { path, octets, max };
        for error in [refused, long] {
            assert_eq!(error.level(), Level::Error, "{error}");
        }
        let (path, error) = (text(), text());
        let unreadable = Report::SeedUnreadable { path, error };
        let failed = Report::RequestFailed { to: text() };
        for warning in [
            unreadable,
            failed,
            Report::OutsideTable { line: 1 },
            Report::AndMore { count: 1 },
        ] {
            assert_eq!(warning.level(), Level::Warning, "{warning}");
        }
        let (id, entries, meids) = (None, 1, 0);
        let taken = Report::Taken { id, entries, meids };
        let requested = Report::Requested { to: text() };
        for done in [taken, requested, Report::ManagerHeard] {
            assert_eq!(done.level(), Level::Info, "{done}");
        }
    }
}
