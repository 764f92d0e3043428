//! A route table as it is used: never changed, read by any thread without a lock.

mod builder;
mod text;

pub(crate) use builder::{Builder, MEID_LENGTH, Names};
pub use builder::{TableLimits, TableTooLarge};

use crate::endpoints::EndpointId;
use crate::map::Map;
use corewire_wire::rmr::{MEID_OCTETS, UNSET};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where messages go.
///
/// Routes have lost what is not for this context already: entries for other senders, and endpoints
/// that are ourselves.
#[derive(Debug)]
pub struct RouteTable {
    id: Option<Arc<str>>,
    entries: Map<u64, Entry>,
    groups: Vec<Turns>,
    members: Vec<EndpointId>,
    /// Shared by the tables that do not change it: a new table keeps who owns what.
    owners: Arc<Map<MeidKey, EndpointId>>,
}

/// Where messages of one key go.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// To this endpoint: one group with one in it, which most entries are.
    One(EndpointId),
    /// To one of each group; to nobody when there are none.
    Groups { first: u32, count: u32 },
    /// To the owner of the managed element.
    Meid,
}

/// Endpoints that take turns.
#[derive(Debug)]
struct Turns {
    first: u32,
    count: u32,
    /// The C library's is written by all threads without care; this one never skips.
    next: AtomicU32,
}

impl RouteTable {
    /// A table that sends nothing anywhere.
    #[must_use]
    pub(crate) fn empty(seed: u64) -> Self {
        Self {
            id: None,
            entries: Map::new(seed),
            groups: Vec::new(),
            members: Vec::new(),
            owners: Arc::new(Map::new(seed)),
        }
    }

    /// What its start record called it.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// How many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many managed elements have an owner.
    #[must_use]
    pub fn meids(&self) -> usize {
        self.owners.len()
    }

    /// Where a message goes: to one endpoint of each group of the entry for its type and
    /// subscription, or of the one for its type and any subscription. Takes no lock and allocates
    /// nothing.
    ///
    /// `meid` is the managed element that the message names; what follows a NUL does not count.
    ///
    /// # Errors
    /// When it goes nowhere.
    #[inline]
    pub fn targets(
        &self,
        message_type: i32,
        sub_id: i32,
        meid: &[u8],
    ) -> Result<Targets<'_>, NoRoute> {
        let entry = self
            .entries
            .get(key(message_type, sub_id))
            .or_else(|| {
                (sub_id != UNSET)
                    .then(|| self.entries.get(key(message_type, UNSET)))
                    .flatten()
            })
            .ok_or(NoRoute::NoEntry)?;
        let next = match entry {
            Entry::One(endpoint) => Next::One(endpoint),
            Entry::Groups { count: 0, .. } => return Err(NoRoute::EmptyEntry),
            Entry::Groups { first, count } => Next::Groups {
                next: first,
                end: first + count,
            },
            Entry::Meid => Next::Owner(self.owner(meid).ok_or(NoRoute::UnknownMeid)?),
        };
        Ok(Targets { table: self, next })
    }

    /// Who owns a managed element.
    #[must_use]
    pub fn owner(&self, meid: &[u8]) -> Option<EndpointId> {
        self.owners.get(meid_key(meid)?)
    }

    fn turn(&self, group: u32) -> EndpointId {
        let group = &self.groups[group as usize];
        let turn = match group.count {
            1 => 0,
            count => group.next.fetch_add(1, Ordering::Relaxed) % count,
        };
        self.members[(group.first + turn) as usize]
    }
}

/// Where one message goes: one endpoint of each group. An endpoint's turn is over when it was
/// taken from here.
#[derive(Clone, Debug)]
pub struct Targets<'a> {
    table: &'a RouteTable,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    One(EndpointId),
    Owner(EndpointId),
    Groups { next: u32, end: u32 },
}

const NOBODY: Next = Next::Groups { next: 0, end: 0 };

impl Targets<'_> {
    /// The endpoint that all messages of this type and subscription go to, if there is only one.
    #[inline]
    #[must_use]
    pub fn fixed(&self) -> Option<EndpointId> {
        match self.next {
            Next::One(endpoint) => Some(endpoint),
            Next::Owner(_) | Next::Groups { .. } => None,
        }
    }
}

impl Iterator for Targets<'_> {
    type Item = EndpointId;

    #[inline]
    fn next(&mut self) -> Option<EndpointId> {
        match &mut self.next {
            Next::One(endpoint) | Next::Owner(endpoint) => {
                let endpoint = *endpoint;
                self.next = NOBODY;
                Some(endpoint)
            }
            Next::Groups { next, end } => (*next < *end).then(|| {
                let group = *next;
                *next += 1;
                self.table.turn(group)
            }),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.next {
            Next::One(_) | Next::Owner(_) => 1,
            Next::Groups { next, end } => (end - next) as usize,
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for Targets<'_> {}

/// Why a message goes nowhere; `RMR_ERR_NOENDPT` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each has its counter")]
pub enum NoRoute {
    /// Nothing is said of its type, with its subscription or any.
    NoEntry,
    /// Its entry had no endpoint but ourselves.
    EmptyEntry,
    /// It goes to the owner of the managed element that it names, and nobody owns that.
    UnknownMeid,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEntry => "the route table has no entry for this message type and subscription",
            Self::EmptyEntry => "the message type's entry in the route table names only ourselves",
            Self::UnknownMeid => "the route table names no owner of the message's managed element",
        })
    }
}

impl std::error::Error for NoRoute {}

/// Type and subscription in one, as the C library has it.
fn key(message_type: i32, sub_id: i32) -> u64 {
    (u64::from(sub_id as u32) << 32) | u64::from(message_type as u32)
}

/// The parts of a key.
fn parts(key: u64) -> (i32, i32) {
    (key as i32, (key >> 32) as i32)
}

/// A managed element's identifier as a message carries it.
type MeidKey = [u64; 4];

/// `None` when it is empty or no message can carry it. What follows a NUL does not count.
fn meid_key(meid: &[u8]) -> Option<MeidKey> {
    let mut octets = [0; MEID_OCTETS];
    for (octet, from) in octets.iter_mut().zip(meid) {
        if *from == 0 {
            break;
        }
        *octet = *from;
    }
    // The last octet is the C string's end.
    if octets[0] == 0 || octets[MEID_OCTETS - 1] != 0 {
        return None;
    }
    let mut words = octets.chunks_exact(8);
    Some(std::array::from_fn(|_| {
        let word = words.next().and_then(|word| word.first_chunk());
        u64::from_le_bytes(*word.expect("32 octets are four words"))
    }))
}

/// The identifier of a key.
fn meid_text(key: MeidKey) -> String {
    let octets: Vec<u8> = key.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = octets.iter().position(|octet| *octet == 0);
    String::from_utf8_lossy(&octets[..end.unwrap_or(octets.len())]).into_owned()
}
