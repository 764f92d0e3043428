//! Names of hosts: many of them, each looked up for as many as ask, and no more threads than a few.

use corewire_driver::{Lookup, Resolver, clock};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Names that are looked up at the same time: each takes a thread, for as long as the system's
/// resolver does.
const MOST_LOOKUPS: usize = 16;
/// An answer holds as long: a sender that stopped waiting for it asks again before.
const FRESH: Duration = Duration::from_secs(2);

/// The addresses of "host:port", at the latest after `wait`. Addresses that are written out need no
/// looking up.
///
/// # Errors
/// What the resolver says, or that it did not say anything in time.
pub(crate) fn addresses(name: &str, wait: Duration) -> io::Result<Vec<SocketAddr>> {
    static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(Resolver::default()));
    match name.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => NAMES.addresses(name, wait),
    }
}

struct Names {
    resolver: Resolver,
    lookups: Mutex<HashMap<String, Arc<Lookup>>>,
}

impl Names {
    fn new(resolver: Resolver) -> Self {
        Self {
            resolver,
            lookups: Mutex::default(),
        }
    }

    fn addresses(&self, name: &str, wait: Duration) -> io::Result<Vec<SocketAddr>> {
        let end = clock() + wait;
        loop {
            let lookup = self.lookup(name)?;
            if let Some(answer) = lookup.wait(FRESH, end) {
                return answer.map_err(io::Error::other);
            }
            if clock() >= end {
                let error = format!("no name server told the address of {name} in time");
                return Err(io::Error::new(io::ErrorKind::TimedOut, error));
            }
            // It came, and was too old before this thread ran.
        }
    }

    /// What is under way, or was answered a moment ago; else it is begun.
    fn lookup(&self, name: &str) -> io::Result<Arc<Lookup>> {
        let mut lookups = self.lookups();
        lookups.retain(|_, lookup| lookup.is_under_way() || lookup.answer(FRESH).is_some());
        if let Some(lookup) = lookups.get(name) {
            return Ok(Arc::clone(lookup));
        }
        let under_way = lookups.values().filter(|lookup| lookup.is_under_way());
        if under_way.count() >= MOST_LOOKUPS {
            let error = format!("{MOST_LOOKUPS} other names are being looked up");
            return Err(io::Error::new(io::ErrorKind::TimedOut, error));
        }
        let lookup = Lookup::new(name.to_owned(), self.resolver.clone());
        lookup.begin(Duration::ZERO)?;
        lookups.insert(name.to_owned(), Arc::clone(&lookup));
        Ok(lookup)
    }

    fn lookups(&self) -> MutexGuard<'_, HashMap<String, Arc<Lookup>>> {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn what_is_written_out_is_not_looked_up() {
        let at = addresses("[::1]:4560", Duration::ZERO).unwrap();
        assert_eq!(at, ["[::1]:4560".parse().unwrap()]);
        assert!(addresses("localhost:4560", LONG).is_ok());
    }

    /// The resolver hangs until the test lets it go: who asks does not.
    #[test]
    fn nobody_waits_longer_than_it_wants_to_and_the_answer_is_kept() {
        static GATE: Mutex<()> = Mutex::new(());
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let names = Names::new(Resolver::new(|_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            drop(GATE.lock());
            Ok(vec!["192.0.2.1:1".parse().unwrap()])
        }));
        let closed = GATE.lock().unwrap();
        for _ in 0..3 {
            let error = names.addresses("slow:1", SHORT).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        drop(closed);
        assert_eq!(names.addresses("slow:1", LONG).unwrap().len(), 1);
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn threads_are_bounded() {
        static GATE: Mutex<()> = Mutex::new(());
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let names = Names::new(Resolver::new(|_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            drop(GATE.lock());
            Err(io::ErrorKind::NotFound.into())
        }));
        let closed = GATE.lock().unwrap();
        for number in 0..2 * MOST_LOOKUPS {
            let name = format!("host-{number}:1");
            names.addresses(&name, Duration::ZERO).unwrap_err();
        }
        drop(closed);
        // What failed in vain is told; there is room again.
        names.addresses("host-0:1", LONG).unwrap_err();
        assert!(ASKED.load(Ordering::Relaxed) <= MOST_LOOKUPS + 1);
    }
}
