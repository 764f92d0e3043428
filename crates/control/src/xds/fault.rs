//! Why a stream is ended, and what its client is told.

use super::{IDENTIFY_WITHIN, MAX_RESOURCE_NAME};
use corewire_message::{Code, Status};
use corewire_xds::ResourceType;

/// Why a stream is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamFault {
    /// Its octets are no request.
    Malformed(String),
    /// It asks for more names than one stream may.
    TooManyNames { kind: ResourceType, limit: usize },
    /// It asks for a name that is none.
    Name { kind: ResourceType },
    /// It never said who it is.
    Silent,
}

impl StreamFault {
    pub(crate) fn to_status(&self) -> Status {
        match self {
            Self::Malformed(reason) => Status::new(
                Code::InvalidArgument,
                format!("this is no discovery request: {reason}"),
            ),
            Self::TooManyNames { kind, limit } => Status::new(
                Code::ResourceExhausted,
                format!("one stream may name {limit} {kind} resources (limits.subscriptions)"),
            ),
            Self::Name { kind } => Status::new(
                Code::InvalidArgument,
                format!("the name of a {kind} resource has 1 to {MAX_RESOURCE_NAME} octets"),
            ),
            Self::Silent => Status::new(
                Code::DeadlineExceeded,
                format!("no request came within {} s", IDENTIFY_WITHIN.as_secs()),
            ),
        }
    }
}
