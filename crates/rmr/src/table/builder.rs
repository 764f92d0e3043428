//! Makes a table of records, one record at a time.

use super::{Entry, RouteTable, Turns, key, meid_key};
use crate::endpoints::{EndpointId, Endpoints, TooManyEndpoints};
use crate::identity::Identity;
use crate::map::Map;
use corewire_wire::rmr::MEID_OCTETS;
use corewire_wire::rmr::table::{Delete, Groups, Meids, Route, Senders, Target};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How large a table may be. The C library's own limits (64 groups, 32 endpoints in each) are
/// lifted to those of `corewire_wire::rmr::table`; beyond, it goes on with part of the record,
/// and a table is refused here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableLimits {
    /// Entries of a table.
    pub entries: usize,
    /// Endpoints in all groups together, each as often as it is named.
    pub members: usize,
    /// Managed elements.
    pub meids: usize,
    /// Endpoints of a context, from all of its tables; half of them can be those of wormholes and
    /// replies.
    pub endpoints: usize,
}

impl Default for TableLimits {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            members: 4_000_000,
            meids: 1_000_000,
            endpoints: 65_536,
        }
    }
}

/// A table is larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableTooLarge {
    /// More than [`TableLimits::entries`].
    Entries(usize),
    /// More than [`TableLimits::members`].
    Members(usize),
    /// More than [`TableLimits::meids`].
    Meids(usize),
    /// More than [`TableLimits::endpoints`].
    Endpoints(usize),
}

impl fmt::Display for TableTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries(max) => write!(f, "more than {max} entries"),
            Self::Members(max) => write!(f, "more than {max} endpoints in its groups"),
            Self::Meids(max) => write!(f, "more than {max} managed elements"),
            Self::Endpoints(max) => {
                write!(
                    f,
                    "more than {max} different endpoints in this and earlier tables"
                )
            }
        }
    }
}

impl std::error::Error for TableTooLarge {}

/// What names in tables mean: an endpoint, or ourselves. Kept from table to table by the thread
/// that reads them, so that a name that is known costs no lock.
#[derive(Debug)]
pub(crate) struct Names {
    identity: Arc<Identity>,
    endpoints: Arc<Endpoints>,
    known: HashMap<Box<str>, Option<EndpointId>>,
}

impl Names {
    pub(crate) fn new(identity: Arc<Identity>, endpoints: Arc<Endpoints>) -> Self {
        Self {
            identity,
            endpoints,
            known: HashMap::new(),
        }
    }

    /// The endpoint to send to; `None` for ourselves.
    fn of(&mut self, name: &str) -> Result<Option<EndpointId>, TooManyEndpoints> {
        if let Some(known) = self.known.get(name) {
            return Ok(*known);
        }
        let meaning = if self.identity.is_me(name) {
            None
        } else {
            Some(self.endpoints.intern_routed(name)?)
        };
        self.known.insert(name.into(), meaning);
        Ok(meaning)
    }

    /// Whether a record is for us.
    fn are_meant(&self, senders: &Senders<'_>) -> bool {
        senders.is_everybody() || senders.iter().any(|sender| self.identity.is_me(sender))
    }
}

/// A table under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    table: RouteTable,
    limits: TableLimits,
}

impl Builder {
    /// A table that replaces all routes: only who owns what is taken over.
    pub(crate) fn new(live: &RouteTable, limits: TableLimits, id: Option<&str>) -> Self {
        let seed = live.entries.seed();
        // The next table is likely to be about as large as this one.
        let capacity = live.entries.len();
        let mut table = RouteTable::empty(seed);
        table.entries = Map::with_capacity(seed, capacity);
        table.groups.reserve(live.groups.len());
        table.members.reserve(live.members.len());
        table.owners = Arc::clone(&live.owners);
        table.id = id.map(Arc::from);
        Self { table, limits }
    }

    /// A table that begins as a copy of the live one; turns go on where they are. What replaced
    /// entries have left behind is not copied.
    pub(crate) fn of(live: &RouteTable, limits: TableLimits, id: Option<&str>) -> Self {
        let mut builder = Self::new(live, limits, id);
        let table = &mut builder.table;
        for (key, entry) in live.entries.iter() {
            let entry = match entry {
                Entry::Groups { first, count } => {
                    let begin = table.groups.len() as u32;
                    for group in &live.groups[first as usize..][..count as usize] {
                        let members = &live.members[group.first as usize..][..group.count as usize];
                        table.groups.push(Turns {
                            first: table.members.len() as u32,
                            count: group.count,
                            next: AtomicU32::new(group.next.load(Ordering::Relaxed)),
                        });
                        table.members.extend_from_slice(members);
                    }
                    Entry::Groups {
                        first: begin,
                        count,
                    }
                }
                other => other,
            };
            table.entries.insert(key, entry);
        }
        builder
    }

    pub(crate) fn finish(self) -> RouteTable {
        self.table
    }

    /// Takes an entry, if it is for us. It replaces one of the same type and subscription.
    pub(crate) fn route(
        &mut self,
        route: &Route<'_>,
        names: &mut Names,
    ) -> Result<(), TableTooLarge> {
        if !names.are_meant(&route.senders) {
            return Ok(());
        }
        let entry = match route.target {
            Target::Meid => Entry::Meid,
            Target::Groups(groups) => self.groups(&groups, names)?,
        };
        let table = &mut self.table;
        table
            .entries
            .insert(key(route.message_type, route.sub_id), entry);
        if table.entries.len() > self.limits.entries {
            return Err(TableTooLarge::Entries(self.limits.entries));
        }
        Ok(())
    }

    /// Takes an entry away, if the record is for us and there is one.
    pub(crate) fn delete(&mut self, delete: &Delete<'_>, names: &Names) {
        if names.are_meant(&delete.senders) {
            self.table
                .entries
                .remove(key(delete.message_type, delete.sub_id));
        }
    }

    /// Gives managed elements an owner, whoever owned them before. Those whose identifier no
    /// message can carry are counted.
    pub(crate) fn own(
        &mut self,
        owner: &str,
        meids: &Meids<'_>,
        names: &mut Names,
    ) -> Result<usize, TableTooLarge> {
        // Ourselves, too: the C library sends to itself here.
        let owner = names
            .endpoints
            .intern_routed(owner)
            .map_err(|fault| TableTooLarge::Endpoints(fault.max))?;
        let owners = Arc::make_mut(&mut self.table.owners);
        let mut unusable = 0;
        for meid in meids.iter() {
            match meid_key(meid.as_bytes()) {
                Some(key) => {
                    owners.insert(key, owner);
                }
                None => unusable += 1,
            }
        }
        if owners.len() > self.limits.meids {
            return Err(TableTooLarge::Meids(self.limits.meids));
        }
        Ok(unusable)
    }

    /// Takes managed elements from their owners.
    pub(crate) fn disown(&mut self, meids: &Meids<'_>) {
        let owners = Arc::make_mut(&mut self.table.owners);
        for meid in meids.iter().filter_map(|meid| meid_key(meid.as_bytes())) {
            owners.remove(meid);
        }
    }

    /// Groups without ourselves; those that are left empty vanish.
    fn groups(&mut self, groups: &Groups<'_>, names: &mut Names) -> Result<Entry, TableTooLarge> {
        let table = &mut self.table;
        let (first_group, first_member) = (table.groups.len(), table.members.len());
        for group in groups.iter() {
            let first = table.members.len();
            for name in group.iter() {
                let endpoint = names
                    .of(name)
                    .map_err(|fault| TableTooLarge::Endpoints(fault.max))?;
                table.members.extend(endpoint);
            }
            if table.members.len() > self.limits.members {
                return Err(TableTooLarge::Members(self.limits.members));
            }
            let count = (table.members.len() - first) as u32;
            if count > 0 {
                table.groups.push(Turns {
                    first: first as u32,
                    count,
                    next: AtomicU32::new(0),
                });
            }
        }
        let added = &table.members[first_member..];
        Ok(if let [one] = *added {
            table.groups.truncate(first_group);
            table.members.truncate(first_member);
            Entry::One(one)
        } else {
            Entry::Groups {
                first: first_group as u32,
                count: (table.groups.len() - first_group) as u32,
            }
        })
    }
}

/// Octets of a managed element's identifier that a message can carry.
pub(crate) const MEID_LENGTH: usize = MEID_OCTETS - 1;
