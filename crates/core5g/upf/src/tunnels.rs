//! The uplink tunnels of a UPF: which TEID belongs to which session.

use corewire_core5g_ngap::transfer::GtpTunnel;
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::ops::Bound;

/// Sessions that one UPF holds at most.
pub(super) const MAX_SESSIONS: usize = 4_000_000;

/// Names that one question for them gives.
pub(super) const MAX_LISTED: usize = 10_000;

/// One session's two ends of N3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// Where the gNB sends to.
    pub(super) uplink: GtpTunnel,
    /// Where the gNB wants to be sent to; none while the UE is idle.
    pub(super) downlink: Option<GtpTunnel>,
}

/// The sessions of a UPF by the SMF's name for them.
#[derive(Debug)]
pub(super) struct Tunnels {
    address: IpAddr,
    next: u32,
    sessions: BTreeMap<String, Session>,
    used: HashSet<u32>,
    /// Sessions with a downlink tunnel.
    connected: usize,
}

impl Tunnels {
    /// Tunnels at this address, whose numbers begin behind `before`: another than that of an earlier
    /// process, whose sessions may come back.
    pub(super) fn new(address: IpAddr, before: u32) -> Self {
        Self {
            address,
            next: before,
            sessions: BTreeMap::new(),
            used: HashSet::new(),
            connected: 0,
        }
    }

    /// The session of this name, with a tunnel of its own; the one it has when it is asked for again
    /// (an SMF that lost the answer, or took the session over). `wanted` is the tunnel that an earlier
    /// process has given it (TS 23.527, 4.3.2): the gNB sends there. `None` when there is no room, or
    /// what is wanted is another's.
    pub(super) fn establish(&mut self, name: &str, wanted: Option<&GtpTunnel>) -> Option<Session> {
        if let Some(session) = self.sessions.get(name) {
            return Some(session.clone());
        }
        if self.sessions.len() >= MAX_SESSIONS {
            return None;
        }
        let teid = match wanted {
            Some(wanted) if wanted.address != self.address => return None,
            Some(wanted) => Some(wanted.teid).filter(|teid| self.used.insert(*teid))?,
            None => self.unused(),
        };
        let uplink = GtpTunnel {
            address: self.address,
            teid,
        };
        let session = Session {
            uplink,
            downlink: None,
        };
        self.sessions.insert(name.to_owned(), session.clone());
        Some(session)
    }

    fn unused(&mut self) -> u32 {
        // There are more numbers than sessions: this ends. Zero is not a tunnel's.
        loop {
            self.next = self.next.wrapping_add(1).max(1);
            if self.used.insert(self.next) {
                return self.next;
            }
        }
    }

    /// Names that begin so, in order, behind `after`.
    pub(super) fn names(&self, prefix: &str, after: &str) -> Vec<&str> {
        let from = if after.is_empty() {
            Bound::Included(prefix)
        } else {
            Bound::Excluded(after)
        };
        let names = self.sessions.range::<str, _>((from, Bound::Unbounded));
        let of_prefix = names.map(|(name, _)| name.as_str());
        let of_prefix = of_prefix.take_while(|name| name.starts_with(prefix));
        of_prefix.take(MAX_LISTED).collect()
    }

    /// Says where downlink goes from now on; `false` when there is no such session.
    pub(super) fn redirect(&mut self, name: &str, downlink: Option<GtpTunnel>) -> bool {
        let Some(session) = self.sessions.get_mut(name) else {
            return false;
        };
        self.connected -= usize::from(session.downlink.is_some());
        self.connected += usize::from(downlink.is_some());
        session.downlink = downlink;
        true
    }

    /// Ends a session; `false` when there is none.
    pub(super) fn release(&mut self, name: &str) -> bool {
        let Some(session) = self.sessions.remove(name) else {
            return false;
        };
        self.used.remove(&session.uplink.teid);
        self.connected -= usize::from(session.downlink.is_some());
        true
    }

    /// Sessions whose UEs have a user plane at a gNB.
    pub(super) const fn connected(&self) -> usize {
        self.connected
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_tunnel_of_its_own_until_it_ends() {
        let mut tunnels = Tunnels::new([127, 0, 0, 1].into(), 0);
        let one = tunnels.establish("a/1", None).expect("room");
        let two = tunnels.establish("b/1", None).expect("room");
        assert_ne!(one.uplink.teid, two.uplink.teid);
        assert_eq!(tunnels.establish("a/1", None).expect("the same"), one);
        let downlink = GtpTunnel {
            address: [127, 0, 0, 2].into(),
            teid: 7,
        };
        assert!(tunnels.redirect("a/1", Some(downlink)));
        assert!(tunnels.redirect("a/1", Some(downlink)));
        assert!(tunnels.redirect("b/1", None));
        assert!(!tunnels.redirect("c/1", None));
        assert_eq!(tunnels.connected(), 1);
        assert!(tunnels.release("a/1"));
        assert!(!tunnels.release("a/1"));
        assert_eq!((tunnels.len(), tunnels.connected()), (1, 0));
    }

    #[test]
    fn a_session_of_an_earlier_process_has_its_tunnel_again_unless_it_is_another_s() {
        let mut before = Tunnels::new([127, 0, 0, 1].into(), 0);
        let one = before.establish("a/1", None).expect("room").uplink;
        let mut tunnels = Tunnels::new([127, 0, 0, 1].into(), u32::MAX - 1);
        let again = tunnels.establish("a/1", Some(&one)).expect("nobody has it");
        assert_eq!(again.uplink, one);
        assert_eq!(tunnels.establish("b/1", Some(&one)), None);
        let others: Vec<u32> = ["c/1", "c/2", "c/3"]
            .iter()
            .map(|name| tunnels.establish(name, None).expect("room").uplink.teid)
            .collect();
        assert_eq!(others, [u32::MAX, 2, 3]);
        assert_eq!(tunnels.names("c/", ""), ["c/1", "c/2", "c/3"]);
        assert_eq!(tunnels.names("c/", "c/1"), ["c/2", "c/3"]);
        assert_eq!(tunnels.names("x", ""), [""; 0]);
    }
}
