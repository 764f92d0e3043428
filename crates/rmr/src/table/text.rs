//! A table as text again, for a file that it can be read from at the next start.

use super::{Entry, RouteTable, meid_text, parts};
use crate::endpoints::{EndpointId, Endpoints};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Managed elements in one line.
const MEIDS_IN_A_LINE: usize = 64;

impl RouteTable {
    /// Writes the table as records, in the order of their keys: what was for other senders, and
    /// ourselves in groups, is no longer there.
    #[must_use]
    pub fn to_text(&self, endpoints: &Endpoints) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(endpoints, &mut text);
        text
    }

    fn write(&self, endpoints: &Endpoints, out: &mut String) -> std::fmt::Result {
        let name = |endpoint: EndpointId| endpoints.get(endpoint).name();
        match self.id() {
            // No blank in front: it may begin with a #, which would be a comment then.
            Some(id) => writeln!(out, "newrt | start |{id}")?,
            None => writeln!(out, "newrt | start")?,
        }
        let entries: BTreeMap<_, _> = self
            .entries
            .iter()
            .map(|(key, entry)| (parts(key), entry))
            // Nobody to send to: there is no record for that.
            .filter(|(_, entry)| !matches!(entry, Entry::Groups { count: 0, .. }))
            .collect();
        for ((message_type, sub_id), entry) in &entries {
            write!(out, "mse | {message_type} | {sub_id} | ")?;
            match *entry {
                Entry::One(endpoint) => out.push_str(name(endpoint)),
                Entry::Meid => out.push_str("%meid"),
                Entry::Groups { first, count } => {
                    let groups = &self.groups[first as usize..][..count as usize];
                    for (at, group) in groups.iter().enumerate() {
                        let members = &self.members[group.first as usize..][..group.count as usize];
                        for (turn, endpoint) in members.iter().enumerate() {
                            out.push_str(match (at, turn) {
                                (0, 0) => "",
                                (_, 0) => ";",
                                _ => ",",
                            });
                            out.push_str(name(*endpoint));
                        }
                    }
                }
            }
            out.push('\n');
        }
        writeln!(out, "newrt | end | {}", entries.len())?;
        self.write_owners(name, out)
    }

    fn write_owners<'a>(
        &self,
        name: impl Fn(EndpointId) -> &'a str,
        out: &mut String,
    ) -> std::fmt::Result {
        let mut owners: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (meid, owner) in self.owners.iter() {
            owners.entry(owner).or_default().push(meid_text(meid));
        }
        if owners.is_empty() {
            return Ok(());
        }
        writeln!(out, "meid_map | start")?;
        let mut count = 0;
        for (owner, mut meids) in owners {
            meids.sort_unstable();
            for meids in meids.chunks(MEIDS_IN_A_LINE) {
                writeln!(out, "mme_ar | {} | {}", name(owner), meids.join(" "))?;
                count += 1;
            }
        }
        writeln!(out, "meid_map | end | {count}")
    }
}
