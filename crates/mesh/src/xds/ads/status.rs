//! What the client is doing, for people and for tests.

use super::stream::StreamId;
use crate::config::{Fault, ResourceId};
use std::fmt;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A server answered for the first time on this connection.
    Connected {
        /// Its place in the list.
        server: usize,
    },
    /// A stream ended, or could not be opened.
    Disconnected {
        /// The server's place in the list.
        server: usize,
        /// Why.
        reason: String,
    },
    /// Another server has the say from now on.
    Switched {
        /// Its place in the list.
        server: usize,
    },
    /// A resource was refused; the last good one holds, if there is one.
    Refused(Fault),
    /// A resource that had been refused is good again.
    Recovered(ResourceId),
    /// A resource is gone; `kept` says that the last good one holds all the same.
    Removed {
        /// Which.
        resource: ResourceId,
        /// The server is one whose removals are ignored.
        kept: bool,
    },
    /// A resource did not come in time.
    TimedOut(ResourceId),
    /// A response that nobody asked for, or of a kind that is not known here.
    Ignored {
        /// Its type URL.
        type_url: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { server } => write!(f, "server {server} answers"),
            Self::Disconnected { server, reason } => {
                write!(f, "server {server} is lost: {reason}")
            }
            Self::Switched { server } => write!(f, "server {server} has the say"),
            Self::Refused(fault) => write!(f, "refused: {fault}"),
            Self::Recovered(resource) => write!(f, "good again: {resource}"),
            Self::Removed {
                resource,
                kept: true,
            } => write!(f, "removed, and kept all the same: {resource}"),
            Self::Removed { resource, .. } => write!(f, "removed: {resource}"),
            Self::TimedOut(resource) => write!(f, "did not come in time: {resource}"),
            Self::Ignored { type_url } => write!(f, "ignored: a response of type {type_url:?}"),
        }
    }
}

/// What the client is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdsStatus {
    /// The servers in the order of the list.
    pub servers: Vec<ServerStatus>,
    /// What is asked for.
    pub resources: Vec<ResourceStatus>,
    /// What was counted.
    pub counters: Counters,
}

/// How it stands with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// What is done about it.
    pub state: &'static str,
    /// It has the say.
    pub is_active: bool,
    /// Why its last stream ended.
    pub last_failure: Option<String>,
    /// Its stream.
    pub stream: Option<StreamId>,
}

/// How it stands with a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceStatus {
    /// Which.
    pub resource: ResourceId,
    /// There is a good one.
    pub is_known: bool,
    /// Why it counts as missing.
    pub missing: Option<String>,
    /// The last that came was refused.
    pub is_refused: bool,
    /// What of it is not carried out.
    pub notices: usize,
}

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests, whatever they said.
    pub requests: u64,
    /// Those that accepted a response.
    pub accepted: u64,
    /// Those that refused something.
    pub refused: u64,
    /// Responses that came.
    pub responses: u64,
    /// Resources in them.
    pub resources: u64,
    /// Resources that came again unchanged.
    pub unchanged: u64,
    /// Snapshots that were published.
    pub snapshots: u64,
}
