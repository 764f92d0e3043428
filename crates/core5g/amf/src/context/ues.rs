//! The UEs of an AMF, by the names that each is found by.

use corewire_core5g_nas::STmsi;
use corewire_core5g_ngap::AmfUeNgapId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// UEs that one AMF holds at most.
const MAX_UES: usize = 2_000_000;

/// Whose a temporary identity is.
pub(crate) enum Claim<S> {
    /// A UE's that is here, or is being found in the store: it hears what it is told.
    Known(Arc<S>),
    /// No UE's until now.
    New(Arc<S>),
}

/// The UEs by their names.
pub(crate) struct Ues<S> {
    tables: Mutex<Tables<S>>,
    next: AtomicU64,
}

struct Tables<S> {
    by_id: HashMap<AmfUeNgapId, Arc<S>>,
    by_tmsi: HashMap<STmsi, Arc<S>>,
    by_supi: HashMap<String, Arc<S>>,
}

impl<S> Default for Ues<S> {
    fn default() -> Self {
        Self {
            tables: Mutex::new(Tables {
                by_id: HashMap::new(),
                by_tmsi: HashMap::new(),
                by_supi: HashMap::new(),
            }),
            next: AtomicU64::new(0),
        }
    }
}

impl<S> Ues<S> {
    /// A place for a UE that came, which `make` makes for its number; `None` when there are too many.
    pub(crate) fn add(&self, make: impl FnOnce(AmfUeNgapId) -> S) -> Option<Arc<S>> {
        self.add_to(&mut self.lock(), make)
    }

    fn add_to(
        &self,
        tables: &mut Tables<S>,
        make: impl FnOnce(AmfUeNgapId) -> S,
    ) -> Option<Arc<S>> {
        if tables.by_id.len() >= MAX_UES {
            return None;
        }
        // AMF UE NGAP ID has 40 bits (TS 38.413, 9.3.3.1): it does not run out.
        let id = AmfUeNgapId::new(self.next.fetch_add(1, Ordering::Relaxed) + 1)?;
        let slot = Arc::new(make(id));
        tables.by_id.insert(id, Arc::clone(&slot));
        Some(slot)
    }

    /// The place of the UE with this temporary identity: the one that is known by it, or one that is
    /// from now on and whose context the caller, and no other, is to find. `None` when there are too
    /// many.
    pub(crate) fn claim(
        &self,
        s_tmsi: STmsi,
        make: impl FnOnce(AmfUeNgapId) -> S,
    ) -> Option<Claim<S>> {
        let mut tables = self.lock();
        if let Some(slot) = tables.by_tmsi.get(&s_tmsi) {
            return Some(Claim::Known(Arc::clone(slot)));
        }
        let slot = self.add_to(&mut tables, make)?;
        tables.by_tmsi.insert(s_tmsi, Arc::clone(&slot));
        Some(Claim::New(slot))
    }

    pub(crate) fn by_id(&self, id: AmfUeNgapId) -> Option<Arc<S>> {
        self.lock().by_id.get(&id).cloned()
    }

    pub(crate) fn by_tmsi(&self, s_tmsi: STmsi) -> Option<Arc<S>> {
        self.lock().by_tmsi.get(&s_tmsi).cloned()
    }

    pub(crate) fn by_supi(&self, supi: &str) -> Option<Arc<S>> {
        self.lock().by_supi.get(supi).cloned()
    }

    /// The UE is known by this temporary identity, too.
    pub(crate) fn name_tmsi(&self, s_tmsi: STmsi, slot: &Arc<S>) {
        self.lock().by_tmsi.insert(s_tmsi, Arc::clone(slot));
    }

    /// The UE is known by this permanent identity; gives the slot that was before.
    pub(crate) fn name_supi(&self, supi: &str, slot: &Arc<S>) -> Option<Arc<S>> {
        let before = self
            .lock()
            .by_supi
            .insert(supi.to_owned(), Arc::clone(slot));
        before.filter(|before| !Arc::ptr_eq(before, slot))
    }

    /// The UE is known by this permanent identity, unless another is: gives that one.
    pub(crate) fn name_free_supi(&self, supi: &str, slot: &Arc<S>) -> Option<Arc<S>> {
        let mut tables = self.lock();
        let whose = tables
            .by_supi
            .entry(supi.to_owned())
            .or_insert_with(|| Arc::clone(slot));
        (!Arc::ptr_eq(whose, slot)).then(|| Arc::clone(whose))
    }

    /// The UE is known by this temporary identity no more.
    pub(crate) fn forget_tmsi(&self, s_tmsi: STmsi, slot: &Arc<S>) {
        let mut tables = self.lock();
        let found = tables.by_tmsi.get(&s_tmsi);
        if found.is_some_and(|found| Arc::ptr_eq(found, slot)) {
            tables.by_tmsi.remove(&s_tmsi);
        }
    }

    /// The UE is known by this permanent identity no more.
    pub(crate) fn forget_supi(&self, supi: &str, slot: &Arc<S>) {
        let mut tables = self.lock();
        let found = tables.by_supi.get(supi);
        if found.is_some_and(|found| Arc::ptr_eq(found, slot)) {
            tables.by_supi.remove(supi);
        }
    }

    /// The UE is gone.
    pub(crate) fn forget(&self, id: AmfUeNgapId) {
        self.lock().by_id.remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, Tables<S>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
