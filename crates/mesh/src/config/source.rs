//! Where the current snapshot is had from, without a lock.

use super::snapshot::Snapshot;
use arc_swap::{ArcSwap, Guard};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// Gives the current [`Snapshot`] and says when there is another. Clones share it.
///
/// [`load`](Self::load) takes no lock and allocates nothing; [`version`](Self::version) is one
/// atomic load, for whoever keeps what it made of a snapshot.
#[derive(Clone)]
pub struct SnapshotSource(Arc<Inner>);

struct Inner {
    current: ArcSwap<Snapshot>,
    version: AtomicU64,
    interested: Mutex<Interested>,
}

#[derive(Default)]
struct Interested {
    next: u64,
    callbacks: Vec<(u64, Callback)>,
    /// Of the futures that wait, by their numbers.
    wakers: BTreeMap<u64, Waker>,
}

type Callback = Arc<dyn Fn(&Arc<Snapshot>) + Send + Sync>;

impl SnapshotSource {
    /// A source that begins with this snapshot.
    #[must_use]
    pub fn new(snapshot: Snapshot) -> Self {
        Self(Arc::new(Inner {
            version: AtomicU64::new(snapshot.version),
            current: ArcSwap::from_pointee(snapshot),
            interested: Mutex::default(),
        }))
    }

    /// The current snapshot. Meant to be let go of soon: within a call, not across a wait.
    #[must_use]
    pub fn load(&self) -> SnapshotGuard {
        SnapshotGuard(self.0.current.load())
    }

    /// The current snapshot, to keep.
    #[must_use]
    pub fn load_full(&self) -> Arc<Snapshot> {
        self.0.current.load_full()
    }

    /// The current snapshot's version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    /// Puts another snapshot in the place of the current one, with the next version, and tells
    /// whoever is interested, on this thread.
    pub fn publish(&self, mut snapshot: Snapshot) {
        let (told, wakers, snapshot) = {
            let mut interested = self.interested();
            // Under the lock, so that versions grow whoever publishes.
            snapshot.version = self.version() + 1;
            let snapshot = Arc::new(snapshot);
            self.0.current.store(Arc::clone(&snapshot));
            self.0.version.store(snapshot.version, Ordering::Release);
            let callbacks = interested.callbacks.iter();
            let told: Vec<_> = callbacks
                .map(|(_, callback)| Arc::clone(callback))
                .collect();
            (told, std::mem::take(&mut interested.wakers), snapshot)
        };
        for callback in told {
            callback(&snapshot);
        }
        wakers.into_values().for_each(Waker::wake);
    }

    /// Calls `callback` with each new snapshot, on the publishing thread, where it must not block;
    /// until the subscription is dropped. The current snapshot is not told.
    #[must_use = "dropping the subscription ends it"]
    pub fn on_change(
        &self,
        callback: impl Fn(&Arc<Snapshot>) + Send + Sync + 'static,
    ) -> Subscription {
        let mut interested = self.interested();
        let id = interested.next;
        interested.next += 1;
        interested.callbacks.push((id, Arc::new(callback)));
        Subscription {
            source: Arc::downgrade(&self.0),
            id,
        }
    }

    /// Completes when the version is not `seen` (any more), with the current snapshot.
    ///
    /// # Cancel safety
    /// Safe: nothing is lost.
    #[must_use = "futures do nothing unless polled"]
    pub fn changed(&self, seen: u64) -> Changed {
        Changed {
            source: self.clone(),
            seen,
            number: None,
        }
    }

    fn interested(&self) -> std::sync::MutexGuard<'_, Interested> {
        let interested = &self.0.interested;
        interested.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SnapshotSource {
    fn default() -> Self {
        Self::new(Snapshot::default())
    }
}

impl fmt::Debug for SnapshotSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SnapshotSource(version {})", self.version())
    }
}

/// The current snapshot, borrowed from its source.
pub struct SnapshotGuard(Guard<Arc<Snapshot>>);

impl Deref for SnapshotGuard {
    type Target = Arc<Snapshot>;

    fn deref(&self) -> &Arc<Snapshot> {
        &self.0
    }
}

impl fmt::Debug for SnapshotGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self.0, f)
    }
}

/// Ends what [`SnapshotSource::on_change`] began when it is dropped. A callback that runs at that
/// moment on another thread runs to its end.
#[must_use = "dropping the subscription ends it"]
pub struct Subscription {
    source: Weak<Inner>,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(inner) = self.source.upgrade() else {
            return;
        };
        let source = SnapshotSource(inner);
        let mut interested = source.interested();
        let callbacks = &mut interested.callbacks;
        let at = callbacks.iter().position(|(id, _)| *id == self.id);
        let dropped = at.map(|at| callbacks.swap_remove(at));
        drop(interested);
        // Outside of the lock: what the callback holds may end subscriptions too.
        drop(dropped);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({})", self.id)
    }
}

/// The future of [`SnapshotSource::changed`].
#[derive(Debug)]
pub struct Changed {
    source: SnapshotSource,
    seen: u64,
    /// Under which it waits.
    number: Option<u64>,
}

impl Future for Changed {
    type Output = Arc<Snapshot>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Arc<Snapshot>> {
        let this = &mut *self;
        let mut interested = this.source.interested();
        if this.source.version() != this.seen {
            drop(interested);
            return Poll::Ready(this.source.load_full());
        }
        let number = *this.number.get_or_insert_with(|| {
            interested.next += 1;
            interested.next
        });
        let before = interested.wakers.insert(number, cx.waker().clone());
        // Outside of the lock: a waker may hold anything.
        drop(interested);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.source.interested().wakers.remove(&number);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn whoever_is_interested_is_told_of_each_new_snapshot() {
        let source = SnapshotSource::default();
        let told = Arc::new(Mutex::new(Vec::new()));
        let versions = Arc::clone(&told);
        let subscription =
            source.on_change(move |snapshot| versions.lock().unwrap().push(snapshot.version));
        source.publish(Snapshot::default());
        source.publish(Snapshot::default());
        drop(subscription);
        source.publish(Snapshot::default());
        assert_eq!(*told.lock().unwrap(), [1, 2]);
        assert_eq!((source.version(), source.load().version), (3, 3));
    }

    #[test]
    fn a_future_waits_for_another_version() {
        let source = SnapshotSource::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut changed = source.changed(0);
        let mut poll = || Pin::new(&mut changed).poll(&mut cx);
        assert!(poll().is_pending() && poll().is_pending());
        source.publish(Snapshot::single("smf", []));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        let Poll::Ready(snapshot) = poll() else {
            panic!("a new version is there")
        };
        assert!(snapshot.target("smf").unwrap().ready().is_some());
        assert!(snapshot.cluster("smf").is_some());
    }

    #[test]
    fn who_no_longer_waits_leaves_nothing_behind() {
        let source = SnapshotSource::default();
        for _ in 0..3 {
            let count = Arc::new(Count::default());
            let waker = Waker::from(Arc::clone(&count));
            let mut changed = source.changed(0);
            let polled = Pin::new(&mut changed).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            drop((changed, waker));
            assert_eq!(Arc::strong_count(&count), 1, "its task can go");
        }
    }

    #[test]
    fn a_subscription_may_end_within_its_own_callback() {
        let source = SnapshotSource::default();
        let slot: Arc<Mutex<Option<Subscription>>> = Arc::default();
        let own = Arc::clone(&slot);
        let subscription = source.on_change(move |_| drop(own.lock().unwrap().take()));
        *slot.lock().unwrap() = Some(subscription);
        source.publish(Snapshot::default());
        assert!(slot.lock().unwrap().is_none());
    }
}
