//! Looking up one name by a thread of its own: a name server that does not answer keeps the system's
//! resolver busy for many seconds, and a thread that asks here waits no longer than it wants to.
//!
//! A name is looked up once at a time, by whichever thread asks first; what is found after all have
//! stopped waiting is there for the next that asks.

use crate::{Resolver, clock};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a resolver answered. An error is kept as text: several threads may be told.
pub type Answer = Result<Vec<SocketAddr>, String>;

/// One name and what is known of it.
pub struct Lookup {
    name: String,
    resolver: Resolver,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    under_way: bool,
    asked: Option<Instant>,
    answer: Option<(Instant, Answer)>,
}

impl Lookup {
    /// Of "host:port", which is not looked up yet.
    #[must_use]
    pub fn new(name: String, resolver: Resolver) -> Arc<Self> {
        Arc::new(Self {
            name,
            resolver,
            state: Mutex::default(),
            answered: Condvar::new(),
        })
    }

    /// Has the name looked up, unless that is under way or was begun less than `again_after` ago.
    ///
    /// # Errors
    /// No thread could be started for it.
    pub fn begin(self: &Arc<Self>, again_after: Duration) -> io::Result<()> {
        let now = clock();
        let mut state = self.state();
        let just_now = |asked| now.saturating_duration_since(asked) < again_after;
        if state.under_way || state.asked.is_some_and(just_now) {
            return Ok(());
        }
        let ending = Ending(Arc::clone(self));
        state.under_way = true;
        state.asked = Some(now);
        drop(state);
        let asking = move || {
            let answer = ending.0.resolver.find(&ending.0.name);
            let answer = answer.map_err(|error| error.to_string());
            ending.0.state().answer = Some((clock(), answer));
        };
        // Without a thread `ending` is dropped here.
        let thread = thread::Builder::new().name("corewire-names".to_owned());
        thread.spawn(asking).map(drop)
    }

    /// Whether the resolver has been asked and has not answered.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.state().under_way
    }

    /// The last answer, if it is younger than `fresh`.
    #[must_use]
    pub fn answer(&self, fresh: Duration) -> Option<Answer> {
        self.state().fresh(fresh)
    }

    /// The last answer, if it is younger than `fresh` by `until`; one that is under way is waited for.
    #[must_use]
    pub fn wait(&self, fresh: Duration, until: Instant) -> Option<Answer> {
        let mut state = self.state();
        while state.under_way {
            let left = until.saturating_duration_since(clock());
            if left.is_zero() {
                return None;
            }
            let waited = self.answered.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.fresh(fresh)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fresh(&self, fresh: Duration) -> Option<Answer> {
        let (at, answer) = self.answer.as_ref()?;
        (at.elapsed() < fresh).then(|| answer.clone())
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lookup({:?})", self.name)
    }
}

/// Ends a lookup for those that wait, also when the resolver panics.
struct Ending(Arc<Lookup>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.under_way = false;
        if thread::panicking() {
            state.answer = Some((clock(), Err("the resolver panicked".to_owned())));
        }
        drop(state);
        self.0.answered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(20);

    fn soon() -> Instant {
        clock() + Duration::from_millis(20)
    }

    /// The resolver hangs until the test lets it go: threads that ask do not.
    #[test]
    fn no_thread_waits_longer_than_it_wants_to_and_the_answer_is_kept() {
        let (go, gate) = mpsc::channel::<()>();
        let (gate, asked) = (Mutex::new(gate), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&asked);
        let resolver = Resolver::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            let _go = gate.lock().unwrap().recv();
            Ok(vec!["192.0.2.1:1".parse().unwrap()])
        });
        let lookup = Lookup::new("slow:1".to_owned(), resolver);
        assert_eq!(lookup.wait(LONG, soon()), None, "nothing was asked");
        for _ in 0..3 {
            lookup.begin(Duration::ZERO).unwrap();
            assert!(lookup.is_under_way());
            assert_eq!(lookup.wait(LONG, soon()), None);
        }
        drop(go);
        assert_eq!(lookup.wait(LONG, clock() + LONG).unwrap().unwrap().len(), 1);
        lookup.begin(LONG).unwrap();
        assert!(!lookup.is_under_way(), "it was asked just now");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert!(lookup.answer(LONG).is_some());
        assert_eq!(lookup.answer(Duration::ZERO), None);
    }

    #[test]
    fn a_resolver_that_fails_or_panics_ends_the_wait() {
        let names = ["fails:1", "panics:1"];
        let lookups = names.map(|name| {
            let resolver = Resolver::new(|name| match name {
                "fails:1" => Err(io::Error::other("no such name")),
                _ => panic!("on purpose"),
            });
            let lookup = Lookup::new(name.to_owned(), resolver);
            lookup.begin(Duration::ZERO).unwrap();
            lookup.wait(LONG, clock() + LONG)
        });
        let errors = ["no such name", "the resolver panicked"];
        assert_eq!(lookups, errors.map(|error| Some(Err(error.to_owned()))));
    }
}
