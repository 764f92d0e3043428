//! The UEs of an AMF: where each is found, and the mailbox by which its task is reached.
//!
//! ```text
//!   deliver(event) ─▶ parked?  ── yes ─▶ a task begins, with the context and the event
//!                        └──── no ──▶ mailbox ─▶ the task that runs takes it
//! ```

use super::silence::Idle;
use super::ue::{Event, Ue};
use crate::nas::STmsi;
use crate::ngap::AmfUeNgapId;
use corewire::LoopHandle;
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
    idle: Mutex<Idle>,
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

/// Whose a temporary identity is.
pub(super) enum Claim {
    /// A UE's that is here, or is being found in the store: it hears what it is told.
    Known(Arc<Slot>),
    /// Nobody's until now.
    New(Arc<Slot>),
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
            idle: Mutex::default(),
        }
    }

    /// Hands an event to the UE; begins its task when none runs.
    pub(super) fn deliver(self: &Arc<Self>, event: Event) -> Delivery {
        let mut inner = self.lock();
        match &inner.stage {
            Stage::Gone => return Delivery::Dropped,
            Stage::Running => {
                if inner.mailbox.len() >= MAILBOX && !event.must_arrive() {
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

    /// Nothing more is taken; gives what was and will not be served.
    fn close(&self) -> VecDeque<Event> {
        let mut inner = self.lock();
        inner.stage = Stage::Gone;
        std::mem::take(&mut inner.mailbox)
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

    /// Since when it is silent.
    pub(super) fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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
    by_tmsi: HashMap<STmsi, Arc<Slot>>,
    by_supi: HashMap<String, Arc<Slot>>,
}

impl Ues {
    /// A slot for a UE that came; `None` when there are too many.
    pub(super) fn add(&self, loops: usize) -> Option<Arc<Slot>> {
        self.add_to(&mut self.lock(), loops)
    }

    fn add_to(&self, tables: &mut Tables, loops: usize) -> Option<Arc<Slot>> {
        if tables.by_id.len() >= MAX_UES {
            return None;
        }
        // AMF UE NGAP ID has 40 bits (TS 38.413, 9.3.3.1): it does not run out.
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let id = AmfUeNgapId::new(number)?;
        let loop_index = usize::try_from(number).unwrap_or_default() % loops;
        let slot = Arc::new(Slot::new(id, loop_index));
        tables.by_id.insert(id, Arc::clone(&slot));
        Some(slot)
    }

    /// The slot of the UE with this temporary identity: the one that is known by it, or one that is
    /// from now on and whose context the caller, and nobody else, is to find. `None` when there are
    /// too many.
    pub(super) fn claim(&self, s_tmsi: STmsi, loops: usize) -> Option<Claim> {
        let mut tables = self.lock();
        if let Some(slot) = tables.by_tmsi.get(&s_tmsi) {
            return Some(Claim::Known(Arc::clone(slot)));
        }
        let slot = self.add_to(&mut tables, loops)?;
        tables.by_tmsi.insert(s_tmsi, Arc::clone(&slot));
        Some(Claim::New(slot))
    }

    pub(super) fn by_id(&self, id: AmfUeNgapId) -> Option<Arc<Slot>> {
        self.lock().by_id.get(&id).cloned()
    }

    pub(super) fn by_tmsi(&self, s_tmsi: STmsi) -> Option<Arc<Slot>> {
        self.lock().by_tmsi.get(&s_tmsi).cloned()
    }

    pub(super) fn by_supi(&self, supi: &str) -> Option<Arc<Slot>> {
        self.lock().by_supi.get(supi).cloned()
    }

    /// The UE is known by this temporary identity, too.
    pub(super) fn name_tmsi(&self, s_tmsi: STmsi, slot: &Arc<Slot>) {
        self.lock().by_tmsi.insert(s_tmsi, Arc::clone(slot));
    }

    /// The UE is known by this permanent identity; gives the slot that was before.
    pub(super) fn name_supi(&self, supi: &str, slot: &Arc<Slot>) -> Option<Arc<Slot>> {
        let before = self
            .lock()
            .by_supi
            .insert(supi.to_owned(), Arc::clone(slot));
        before.filter(|before| !Arc::ptr_eq(before, slot))
    }

    /// The UE is known by this permanent identity, unless another is: gives that one.
    pub(super) fn name_free_supi(&self, supi: &str, slot: &Arc<Slot>) -> Option<Arc<Slot>> {
        let mut tables = self.lock();
        let whose = tables
            .by_supi
            .entry(supi.to_owned())
            .or_insert_with(|| Arc::clone(slot));
        (!Arc::ptr_eq(whose, slot)).then(|| Arc::clone(whose))
    }

    /// The UE is known by this temporary identity no more.
    pub(super) fn forget_tmsi(&self, s_tmsi: STmsi, slot: &Arc<Slot>) {
        let mut tables = self.lock();
        let found = tables.by_tmsi.get(&s_tmsi);
        if found.is_some_and(|found| Arc::ptr_eq(found, slot)) {
            tables.by_tmsi.remove(&s_tmsi);
        }
    }

    /// The UE is known by this permanent identity no more.
    pub(super) fn forget_supi(&self, supi: &str, slot: &Arc<Slot>) {
        let mut tables = self.lock();
        let found = tables.by_supi.get(supi);
        if found.is_some_and(|found| Arc::ptr_eq(found, slot)) {
            tables.by_supi.remove(supi);
        }
    }

    /// The UE is gone, and its names with it; gives what it was still to be told.
    pub(super) fn forget(&self, slot: &Arc<Slot>) -> VecDeque<Event> {
        self.lock().by_id.remove(&slot.id);
        slot.close()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
