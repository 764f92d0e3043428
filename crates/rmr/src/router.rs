//! The table that is live, and everything beside it that outlives tables.

use crate::counters::RouterCounters;
use crate::endpoints::Endpoints;
use crate::identity::Identity;
use crate::table::{RouteTable, TableLimits};
use arc_swap::ArcSwap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Routes for one context. Any thread reads; one, the owner of a [`TableSource`](crate::TableSource),
/// replaces the table.
#[derive(Debug)]
pub struct Router {
    identity: Arc<Identity>,
    limits: TableLimits,
    live: ArcSwap<RouteTable>,
    generation: AtomicU64,
    /// Tables that somebody may still be looking at. They are freed by whoever publishes the next,
    /// never by a sender.
    retired: Mutex<Vec<Arc<RouteTable>>>,
    ready: AtomicBool,
    endpoints: Arc<Endpoints>,
    counters: RouterCounters,
}

impl Router {
    /// A router with an empty table: messages go nowhere, but endpoints can be made.
    #[must_use]
    pub fn new(identity: Identity, limits: TableLimits) -> Self {
        // Keys of tables come from outside.
        let seed = RandomState::new().hash_one(0);
        Self {
            identity: Arc::new(identity),
            limits,
            live: ArcSwap::from_pointee(RouteTable::empty(seed)),
            generation: AtomicU64::new(0),
            retired: Mutex::default(),
            ready: AtomicBool::new(false),
            endpoints: Arc::new(Endpoints::new(limits.endpoints)),
            counters: RouterCounters::default(),
        }
    }

    /// The live table. Takes no lock; hold it for one message, since the table that replaces it is
    /// not seen through it.
    #[inline]
    #[must_use]
    pub fn table(&self) -> TableGuard {
        TableGuard(self.live.load())
    }

    /// Which table is live. What was found in a [`table`](Self::table) that was asked for after this
    /// number holds until there is another.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether a whole table of routes has come, from wherever.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Calls the router ready without a table: for a context that is made without a thread that
    /// could bring it one, as the C library does.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Who we are.
    #[must_use]
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Everybody that messages can go to.
    #[must_use]
    pub fn endpoints(&self) -> &Arc<Endpoints> {
        &self.endpoints
    }

    /// What is counted for the whole context.
    #[must_use]
    pub fn counters(&self) -> &RouterCounters {
        &self.counters
    }

    /// Forgets all routes: nothing is sent any more.
    pub fn clear(&self) {
        let seed = RandomState::new().hash_one(0);
        self.publish(RouteTable::empty(seed));
    }

    pub(crate) fn limits(&self) -> TableLimits {
        self.limits
    }

    /// Makes a table the live one, for whoever asks from now on.
    pub(crate) fn publish(&self, table: RouteTable) {
        let before = self.live.swap(Arc::new(table));
        self.generation.fetch_add(1, Ordering::Release);
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.push(before);
        // Nobody finds a retired table any more, so one that only we hold stays so.
        retired.retain(|table| Arc::strong_count(table) > 1);
    }
}

/// The table that was live when it was asked for.
pub struct TableGuard(arc_swap::Guard<Arc<RouteTable>>);

impl Deref for TableGuard {
    type Target = RouteTable;

    #[inline]
    fn deref(&self) -> &RouteTable {
        &self.0
    }
}

impl fmt::Debug for TableGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_kept_while_it_is_looked_at_and_no_longer() {
        let identity = Identity::named("me:1").unwrap();
        let router = Router::new(identity, TableLimits::default());
        let retired = || router.retired.lock().unwrap().len();
        let guard = router.table();
        for count in 0..5 {
            assert_eq!(router.generation(), count);
            router.publish(RouteTable::empty(0));
            assert_eq!(retired(), 1);
        }
        drop(guard);
        router.publish(RouteTable::empty(0));
        assert_eq!(retired(), 0);
    }
}
