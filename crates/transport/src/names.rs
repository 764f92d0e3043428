//! The addresses of a client's host: those that were found when its endpoint was read, until all of them
//! have failed; then its name is looked up again, because the host may have moved.
//!
//! Looking up blocks and takes no deadline, so it is done by a thread of its own; nobody waits for it
//! longer than he has time.

use crate::Endpoint;
use corewire_driver::{Resolver, clock, ipv4_first};
use corewire_sys::Address;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A name is not looked up again sooner, however often connecting fails.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where a client's host is known to be.
pub(crate) struct Addresses {
    /// What is looked up; `None` when the endpoint is no name.
    name: Option<String>,
    resolver: Resolver,
    found: Mutex<Found>,
    looked_up: Condvar,
}

struct Found {
    addresses: Arc<[Address]>,
    /// A thread looks the name up.
    asking: bool,
    asked: Option<Instant>,
}

impl Addresses {
    pub(crate) fn of(endpoint: &Endpoint, resolver: &Resolver) -> Arc<Self> {
        let is_name = matches!(endpoint.address(), Address::Tcp(_))
            && endpoint.authority().parse::<SocketAddr>().is_err();
        Arc::new(Self {
            name: is_name.then(|| endpoint.authority().to_owned()),
            resolver: resolver.clone(),
            found: Mutex::new(Found {
                addresses: endpoint.addresses().cloned().collect(),
                asking: false,
                asked: None,
            }),
            looked_up: Condvar::new(),
        })
    }

    /// What is known now; at least one.
    pub(crate) fn known(&self) -> Arc<[Address]> {
        Arc::clone(&self.lock().addresses)
    }

    /// All of those that are known have failed: has the name looked up, unless that was just done.
    pub(crate) fn look_up_again(self: &Arc<Self>) {
        if self.name.is_none() {
            return;
        }
        let now = clock();
        let mut found = self.lock();
        let just_now = found.asked.is_some_and(|asked| now < asked + AGAIN_AFTER);
        if found.asking || just_now {
            return;
        }
        found.asked = Some(now);
        found.asking = true;
        drop(found);
        let asking = Asking(Arc::clone(self));
        // Without a thread the addresses stay as they were.
        let _started = std::thread::Builder::new()
            .name("corewire-names".into())
            .spawn(move || asking.0.look_up());
    }

    /// The same, and waits for what is found; `None` when that is nothing new, or not in time.
    pub(crate) fn others_than(
        self: &Arc<Self>,
        failed: &[Address],
        until: Instant,
    ) -> Option<Arc<[Address]>> {
        self.look_up_again();
        let mut found = self.lock();
        while found.asking {
            let left = until.saturating_duration_since(clock());
            if left.is_zero() {
                return None;
            }
            let waited = self.looked_up.wait_timeout(found, left);
            found = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (*found.addresses != *failed).then(|| Arc::clone(&found.addresses))
    }

    fn look_up(&self) {
        let Some(name) = &self.name else { return };
        // A name that cannot be looked up now keeps the addresses it had.
        if let Ok(found) = self.resolver.find(name)
            && !found.is_empty()
        {
            self.lock().addresses = ipv4_first(found).into_iter().map(Address::Tcp).collect();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Addresses({:?})", self.name)
    }
}

/// Ends the lookup for those who wait, also when the resolver panics.
struct Asking(Arc<Addresses>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.lock().asking = false;
        self.0.looked_up.notify_all();
    }
}
