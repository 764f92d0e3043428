//! A replica that holds PDU sessions: what it knows, and what its procedures need.

use super::commands::{Commands, Kind};
use super::job::Job;
use super::pool::Pools;
use super::reference::SmContextRef;
use super::sessions::Sessions;
use crate::nas::SessionOptions;
use crate::runtime::{Flow, Gauge};
use crate::smf::ports::{Clock, Peers, Sbi};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Begins a job on an event loop.
pub(in crate::smf) type Start = Box<dyn Fn(Arc<Replica>, usize, Job) + Send + Sync>;

/// What other network functions know a replica by.
pub(in crate::smf) struct Own {
    pub(in crate::smf) instance: String,
    pub(in crate::smf) api_root: String,
    /// Where it is, as in the references that it makes.
    pub(in crate::smf) maker: SocketAddr,
    pub(in crate::smf) flow: Flow,
    pub(in crate::smf) event_loops: usize,
}

/// The sessions of a replica, and what its procedures need.
pub(in crate::smf) struct Replica {
    pub(in crate::smf) own: Own,
    pub(in crate::smf) clock: Arc<dyn Clock>,
    pub(in crate::smf) peers: Arc<dyn Peers>,
    pub(in crate::smf) start: Start,
    pub(in crate::smf) sessions: Sessions,
    /// Commands that wait for the UE's answer.
    pub(in crate::smf) commands: Commands,
    pub(in crate::smf) pools: Mutex<Pools>,
    /// What UEs are told beside their address.
    pub(in crate::smf) options: SessionOptions,
    /// Numbers of references. A replica that starts again at its address gives others.
    pub(in crate::smf) next: AtomicU64,
    pub(in crate::smf) turn: AtomicUsize,
    pub(in crate::smf) recovered: AtomicBool,
    pub(in crate::smf) held: Gauge,
}

impl Replica {
    pub(in crate::smf) fn new_reference(&self) -> SmContextRef {
        SmContextRef::new(self.own.maker, self.next.fetch_add(1, Ordering::Relaxed))
    }

    pub(in crate::smf) fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to peers. The loops take turns: a handler does not know its own.
    pub(in crate::smf) fn sbi(&self) -> Sbi {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.sbi_at(turn % self.own.event_loops)
    }

    /// The way to peers from this event loop.
    pub(in crate::smf) fn sbi_at(&self, event_loop: usize) -> Sbi {
        Sbi {
            peers: Arc::clone(&self.peers),
            event_loop,
        }
    }

    /// Begins a job on the event loop of `sbi`.
    pub(in crate::smf) fn begin(self: &Arc<Self>, sbi: &Sbi, job: Job) {
        (self.start)(Arc::clone(self), sbi.event_loop, job);
    }

    /// An answer to the AMF has a command for the UE: it is sent again unless the UE answers.
    pub(in crate::smf) fn expect_answer(
        &self,
        session: SmContextRef,
        kind: Kind,
        pti: u8,
        command: Option<&Bytes>,
    ) {
        if let Some(command) = command {
            let now = self.clock.now();
            self.commands.sent(now, session, kind, pti, command.clone());
        }
    }

    pub(in crate::smf) fn count(&self) {
        self.held.set(self.sessions.len() as u64);
    }
}
