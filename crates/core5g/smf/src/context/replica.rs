//! A replica that holds PDU sessions: what it knows, and what its procedures need.

use super::commands::{Commands, Kind};
use super::job::Job;
use super::pool::Pools;
use super::reference::SmContextRef;
use super::sessions::Sessions;
use crate::ports::{Clock, Peers, Sbi};
use bytes::Bytes;
use corewire_core5g_nas::SessionOptions;
use corewire_core5g_runtime::{Flow, Gauge};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Begins a job on an event loop.
pub(crate) type Start = Box<dyn Fn(Arc<Replica>, usize, Job) + Send + Sync>;

/// What other network functions know a replica by.
pub(crate) struct Own {
    pub(crate) instance: String,
    pub(crate) api_root: String,
    /// Where it is, as in the references that it makes.
    pub(crate) maker: SocketAddr,
    pub(crate) flow: Flow,
    pub(crate) event_loops: usize,
}

/// The sessions of a replica, and what its procedures need.
pub(crate) struct Replica {
    pub(crate) own: Own,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) start: Start,
    pub(crate) sessions: Sessions,
    /// Commands that wait for the UE's answer.
    pub(crate) commands: Commands,
    pub(crate) pools: Mutex<Pools>,
    /// What UEs get beside their address, when they ask.
    pub(crate) options: SessionOptions,
    /// Numbers of references. A replica that starts again at its address gives others.
    pub(crate) next: AtomicU64,
    pub(crate) turn: AtomicUsize,
    pub(crate) recovered: AtomicBool,
    pub(crate) held: Gauge,
}

impl Replica {
    pub(crate) fn new_reference(&self) -> SmContextRef {
        SmContextRef::new(self.own.maker, self.next.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to peers. The loops take turns: a handler does not know its own.
    pub(crate) fn sbi(&self) -> Sbi {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.sbi_at(turn % self.own.event_loops)
    }

    /// The way to peers from this event loop.
    pub(crate) fn sbi_at(&self, event_loop: usize) -> Sbi {
        Sbi {
            peers: Arc::clone(&self.peers),
            event_loop,
        }
    }

    /// Begins a job on the event loop of `sbi`.
    pub(crate) fn begin(self: &Arc<Self>, sbi: &Sbi, job: Job) {
        (self.start)(Arc::clone(self), sbi.event_loop, job);
    }

    /// An answer to the AMF has a command for the UE: it is sent again unless the UE answers.
    pub(crate) fn expect_answer(
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

    pub(crate) fn count(&self) {
        self.held.set(self.sessions.len() as u64);
    }
}
