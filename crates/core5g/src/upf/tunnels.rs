//! The uplink tunnels of a UPF: which TEID belongs to which session.

use crate::ngap::transfer::GtpTunnel;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Sessions that one UPF holds at most.
pub(super) const MAX_SESSIONS: usize = 4_000_000;

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
    sessions: HashMap<String, Session>,
    used: HashSet<u32>,
}

impl Tunnels {
    pub(super) fn new(address: IpAddr) -> Self {
        Self {
            address,
            next: 0,
            sessions: HashMap::new(),
            used: HashSet::new(),
        }
    }

    /// The session of this name, with a tunnel of its own; the one it has when it is asked for again
    /// (an SMF that lost the answer, or took the session over). `None` when there is no room.
    pub(super) fn establish(&mut self, name: &str) -> Option<Session> {
        if let Some(session) = self.sessions.get(name) {
            return Some(session.clone());
        }
        if self.sessions.len() >= MAX_SESSIONS {
            return None;
        }
        // There are more numbers than sessions: this ends. Zero is not a tunnel's.
        loop {
            self.next = self.next.wrapping_add(1).max(1);
            if self.used.insert(self.next) {
                break;
            }
        }
        let uplink = GtpTunnel {
            address: self.address,
            teid: self.next,
        };
        let session = Session {
            uplink,
            downlink: None,
        };
        self.sessions.insert(name.to_owned(), session.clone());
        Some(session)
    }

    /// Says where downlink goes from now on; `false` when there is no such session.
    pub(super) fn redirect(&mut self, name: &str, downlink: Option<GtpTunnel>) -> bool {
        let Some(session) = self.sessions.get_mut(name) else {
            return false;
        };
        session.downlink = downlink;
        true
    }

    /// Ends a session; `false` when there is none.
    pub(super) fn release(&mut self, name: &str) -> bool {
        let Some(session) = self.sessions.remove(name) else {
            return false;
        };
        self.used.remove(&session.uplink.teid);
        true
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
        let mut tunnels = Tunnels::new([127, 0, 0, 1].into());
        let one = tunnels.establish("a/1").expect("room");
        let two = tunnels.establish("b/1").expect("room");
        assert_ne!(one.uplink.teid, two.uplink.teid);
        assert_eq!(tunnels.establish("a/1").expect("the same"), one);
        let downlink = GtpTunnel {
            address: [127, 0, 0, 2].into(),
            teid: 7,
        };
        assert!(tunnels.redirect("a/1", Some(downlink)));
        assert!(!tunnels.redirect("c/1", None));
        assert!(tunnels.release("a/1"));
        assert!(!tunnels.release("a/1"));
        assert_eq!(tunnels.len(), 1);
    }
}
