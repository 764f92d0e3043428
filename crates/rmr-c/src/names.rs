//! Names of hosts, looked up in threads of their own: a name server that does not answer keeps the
//! system's resolver busy for many seconds, and whoever asks here waits no longer than it wants to.
//!
//! A name is looked up once at a time, whoever asks; what comes after they stopped waiting is there for
//! the next who asks.

use corewire_driver::clock;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Names that are looked up at the same time: each takes a thread, for as long as the system's
/// resolver does.
const MOST_LOOKUPS: usize = 16;
/// An answer holds as long: whoever stopped waiting for it asks again before.
const FRESH: Duration = Duration::from_secs(2);

/// The addresses of "host:port", at the latest after `wait`. Addresses that are written out need no
/// looking up.
///
/// # Errors
/// What the resolver says, or that it did not say anything in time.
pub(crate) fn addresses(name: &str, wait: Duration) -> io::Result<Vec<SocketAddr>> {
    static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(system));
    match name.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => NAMES.addresses(name, wait),
    }
}

fn system(name: &str) -> io::Result<Vec<SocketAddr>> {
    name.to_socket_addrs().map(Iterator::collect)
}

/// What a resolver answers. Errors are kept as text: several may be told.
type Answer = Result<Vec<SocketAddr>, String>;

struct Names {
    ask: fn(&str) -> io::Result<Vec<SocketAddr>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    lookups: Mutex<HashMap<String, Lookup>>,
    answered: Condvar,
}

enum Lookup {
    UnderWay,
    Answered(Instant, Answer),
}

impl Names {
    fn new(ask: fn(&str) -> io::Result<Vec<SocketAddr>>) -> Self {
        Self {
            ask,
            shared: Arc::default(),
        }
    }

    fn addresses(&self, name: &str, wait: Duration) -> io::Result<Vec<SocketAddr>> {
        let end = clock() + wait;
        let mut lookups = self.shared.lookups();
        lookups.retain(|_, lookup| match lookup {
            Lookup::UnderWay => true,
            Lookup::Answered(at, _) => at.elapsed() < FRESH,
        });
        if !lookups.contains_key(name) {
            self.begin(&mut lookups, name)?;
        }
        loop {
            match lookups.get(name) {
                Some(Lookup::UnderWay) => {}
                Some(Lookup::Answered(_, answer)) => {
                    return answer.clone().map_err(io::Error::other);
                }
                // It came, and was too old before this thread ran.
                None => self.begin(&mut lookups, name)?,
            }
            let left = end.saturating_duration_since(clock());
            if left.is_zero() {
                let error = format!("no name server told the address of {name} in time");
                return Err(io::Error::new(io::ErrorKind::TimedOut, error));
            }
            let waited = self.shared.answered.wait_timeout(lookups, left);
            (lookups, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn begin(&self, lookups: &mut HashMap<String, Lookup>, name: &str) -> io::Result<()> {
        let under_way = lookups.values();
        if under_way
            .filter(|it| matches!(it, Lookup::UnderWay))
            .count()
            >= MOST_LOOKUPS
        {
            let error = format!("{MOST_LOOKUPS} other names are being looked up");
            return Err(io::Error::new(io::ErrorKind::TimedOut, error));
        }
        let (ask, shared) = (self.ask, Arc::clone(&self.shared));
        let asked = name.to_owned();
        thread::Builder::new()
            .name("rmr-names".to_owned())
            .spawn(move || {
                let answer = ask(&asked).map_err(|error| error.to_string());
                let mut lookups = shared.lookups();
                lookups.insert(asked, Lookup::Answered(clock(), answer));
                shared.answered.notify_all();
            })?;
        lookups.insert(name.to_owned(), Lookup::UnderWay);
        Ok(())
    }
}

impl Shared {
    fn lookups(&self) -> MutexGuard<'_, HashMap<String, Lookup>> {
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
        let names = Names::new(|_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            drop(GATE.lock());
            Ok(vec!["192.0.2.1:1".parse().unwrap()])
        });
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
        let names = Names::new(|_| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            drop(GATE.lock());
            Err(io::ErrorKind::NotFound.into())
        });
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
