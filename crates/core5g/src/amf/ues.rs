//! The UEs of an AMF: where each is found, and the mailbox by which its task is reached.
//!
//! ```text
//!   deliver(event) ─▶ parked?  ── yes ─▶ a task begins, with the context and the event
//!                        └──── no ──▶ mailbox ─▶ the task that runs takes it
//! ```

use super::ue::{Event, Ue};
use crate::ngap::AmfUeNgapId;
use corewire::LoopHandle;
use corewire_guti::Tmsi;
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Instant;

/// Events that may wait for one UE; what is beyond is dropped: a UE that floods harms itself only.
const MAILBOX: usize = 64;
/// UEs that one AMF holds at most.
const MAX_UES: usize = 2_000_000;

/// One UE's place: its context while nothing happens, its mailbox while something does.
pub(super) struct Slot {
    /// AMF UE NGAP ID.
    pub(super) id: AmfUeNgapId,
    /// The loop that its task runs on.
    pub(super) loop_index: usize,
    connected: AtomicBool,
    inner: Mutex<Inner>,
}

struct Inner {
    stage: Stage,
    mailbox: VecDeque<Event>,
    waker: Option<Waker>,
}

enum Stage {
    Parked(Box<Ue>),
    Running,
    Gone,
}

/// Whether an event found its UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Taken,
    /// The UE is gone, or its mailbox is full.
    Dropped,
}

impl Slot {
    pub(super) fn new(id: AmfUeNgapId, loop_index: usize) -> Self {
        Self {
            id,
            loop_index,
            connected: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                stage: Stage::Running,
                mailbox: VecDeque::new(),
                waker: None,
            }),
        }
    }

    /// Hands an event to the UE; begins its task when none runs.
    pub(super) fn deliver(self: &Arc<Self>, event: Event) -> Delivery {
        let mut inner = self.lock();
        match &inner.stage {
            Stage::Gone => return Delivery::Dropped,
            Stage::Running => {
                if inner.mailbox.len() >= MAILBOX {
                    return Delivery::Dropped;
                }
                inner.mailbox.push_back(event);
                let waker = inner.waker.take();
                drop(inner);
                if let Some(waker) = waker {
                    waker.wake();
                }
                return Delivery::Taken;
            }
            Stage::Parked(_) => {}
        }
        let Stage::Parked(ue) = std::mem::replace(&mut inner.stage, Stage::Running) else {
            return Delivery::Dropped;
        };
        drop(inner);
        super::ue::start(ue, event);
        Delivery::Taken
    }

    /// The task has nothing to do: parks the context. Gives it back with what came meanwhile.
    pub(super) fn park(&self, ue: Box<Ue>) -> Option<(Box<Ue>, Event)> {
        let mut inner = self.lock();
        if let Some(event) = inner.mailbox.pop_front() {
            return Some((ue, event));
        }
        // Most UEs are parked most of the time: what only a task needs is not kept for them.
        inner.mailbox = VecDeque::new();
        inner.waker = None;
        inner.stage = Stage::Parked(ue);
        None
    }

    /// Nothing more is taken.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.stage = Stage::Gone;
        inner.mailbox.clear();
    }

    /// The next event; `None` when there is none by then.
    ///
    /// # Cancel safety
    /// Safe: an event that was not given stays in the mailbox.
    pub(super) async fn next(&self, event_loop: &LoopHandle, until: Instant) -> Option<Event> {
        if let Some(event) = self.lock().mailbox.pop_front() {
            return Some(event);
        }
        let mut sleep = pin!(event_loop.sleep_until(until));
        poll_fn(|cx| {
            let mut inner = self.lock();
            if let Some(event) = inner.mailbox.pop_front() {
                return Poll::Ready(Some(event));
            }
            inner.waker = Some(cx.waker().clone());
            drop(inner);
            sleep.as_mut().poll(cx).map(|()| None)
        })
        .await
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }

    /// Says whether the UE has a connection; gives what was.
    pub(super) fn set_connected(&self, connected: bool) -> bool {
        self.connected.swap(connected, Ordering::AcqRel)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The UEs by their names.
#[derive(Default)]
pub(super) struct Ues {
    tables: Mutex<Tables>,
    next: AtomicU64,
}

#[derive(Default)]
struct Tables {
    by_id: HashMap<AmfUeNgapId, Arc<Slot>>,
    by_tmsi: HashMap<u32, Arc<Slot>>,
    by_supi: HashMap<String, Arc<Slot>>,
}

impl Ues {
    /// A slot for a UE that came; `None` when there are too many.
    pub(super) fn add(&self, loops: usize) -> Option<Arc<Slot>> {
        // AMF UE NGAP ID has 40 bits (TS 38.413, 9.3.3.1): it does not run out.
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let id = AmfUeNgapId::new(number)?;
        let loop_index = usize::try_from(number).unwrap_or_default() % loops;
        let slot = Arc::new(Slot::new(id, loop_index));
        let mut tables = self.lock();
        if tables.by_id.len() >= MAX_UES {
            return None;
        }
        tables.by_id.insert(id, Arc::clone(&slot));
        Some(slot)
    }

    pub(super) fn by_id(&self, id: AmfUeNgapId) -> Option<Arc<Slot>> {
        self.lock().by_id.get(&id).cloned()
    }

    pub(super) fn by_tmsi(&self, tmsi: Tmsi) -> Option<Arc<Slot>> {
        self.lock().by_tmsi.get(&tmsi.value()).cloned()
    }

    pub(super) fn by_supi(&self, supi: &str) -> Option<Arc<Slot>> {
        self.lock().by_supi.get(supi).cloned()
    }

    /// The UE is known by this temporary identity, too.
    pub(super) fn name_tmsi(&self, tmsi: Tmsi, slot: &Arc<Slot>) {
        self.lock().by_tmsi.insert(tmsi.value(), Arc::clone(slot));
    }

    /// The UE is known by this permanent identity; gives the slot that was before.
    pub(super) fn name_supi(&self, supi: &str, slot: &Arc<Slot>) -> Option<Arc<Slot>> {
        let before = self
            .lock()
            .by_supi
            .insert(supi.to_owned(), Arc::clone(slot));
        before.filter(|before| !Arc::ptr_eq(before, slot))
    }

    /// The UE is known by this temporary identity no more.
    pub(super) fn forget_tmsi(&self, tmsi: Tmsi, slot: &Arc<Slot>) {
        let mut tables = self.lock();
        if tables
            .by_tmsi
            .get(&tmsi.value())
            .is_some_and(|found| Arc::ptr_eq(found, slot))
        {
            tables.by_tmsi.remove(&tmsi.value());
        }
    }

    /// The UE is gone.
    pub(super) fn remove(&self, slot: &Arc<Slot>, tmsi: Option<Tmsi>, supi: Option<&str>) {
        slot.close();
        if let Some(tmsi) = tmsi {
            self.forget_tmsi(tmsi, slot);
        }
        let mut tables = self.lock();
        tables.by_id.remove(&slot.id);
        if let Some(supi) = supi
            && tables
                .by_supi
                .get(supi)
                .is_some_and(|found| Arc::ptr_eq(found, slot))
        {
            tables.by_supi.remove(supi);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
