//! The addresses of a client's host: those that were found when its endpoint was read, until all of them
//! have failed; then its name is looked up again, because the host may have moved.

use crate::Endpoint;
use corewire_driver::{Lookup, Resolver, ipv4_first};
use corewire_sys::Address;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A name is not looked up again sooner, however often connecting fails.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where a client's host is known to be.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// What is looked up; `None` when the endpoint is no name.
    lookup: Option<Arc<Lookup>>,
    found: Mutex<Arc<[Address]>>,
}

impl Addresses {
    pub(crate) fn of(endpoint: &Endpoint, resolver: &Resolver) -> Self {
        let is_name = matches!(endpoint.address(), Address::Tcp(_))
            && endpoint.authority().parse::<SocketAddr>().is_err();
        let name = is_name.then(|| endpoint.authority().to_owned());
        Self {
            lookup: name.map(|name| Lookup::new(name, resolver.clone())),
            found: Mutex::new(endpoint.addresses().cloned().collect()),
        }
    }

    /// What is known now; at least one.
    pub(crate) fn known(&self) -> Arc<[Address]> {
        let mut found = self.found();
        if let Some(lookup) = &self.lookup
            // A name that could not be looked up keeps the addresses it had.
            && let Some(Ok(addresses)) = lookup.answer(Duration::MAX)
            && !addresses.is_empty()
        {
            *found = ipv4_first(addresses)
                .into_iter()
                .map(Address::Tcp)
                .collect();
        }
        Arc::clone(&found)
    }

    /// All of those that are known have failed: has the name looked up, unless that was just done.
    pub(crate) fn look_up_again(&self) {
        if let Some(lookup) = &self.lookup {
            // What the last lookup found holds if this one finds nothing.
            let _kept = self.known();
            // Without a thread the addresses stay as they were.
            let _stay = lookup.begin(AGAIN_AFTER);
        }
    }

    /// The same, and waits for what is found; `None` when that is nothing new, or not in time.
    pub(crate) fn others_than(&self, failed: &[Address], until: Instant) -> Option<Arc<[Address]>> {
        self.look_up_again();
        let lookup = self.lookup.as_ref()?;
        let _answer = lookup.wait(Duration::MAX, until);
        if lookup.is_under_way() {
            return None;
        }
        let known = self.known();
        (*known != *failed).then_some(known)
    }

    fn found(&self) -> MutexGuard<'_, Arc<[Address]>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
