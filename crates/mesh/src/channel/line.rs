//! One connection to one endpoint, driven by one event loop, and when it is made again.
//!
//! ```text
//!          prepare              open
//!   idle ───────────▶ connecting ───────▶ ready
//!    ▲                    │ failed          │ lost, or the peer drains (GOAWAY)
//!    │                    ▼                 │
//!    ├──────────────── waiting ◀────────────┤ lost soon after it was opened, or drained unused
//!    └──────────────────────────────────────┘ otherwise: at once
//! ```
//!
//! GOAWAY on a connection that carried calls is no failure, however soon it comes: proxies and
//! servers limit how many requests a connection carries. On a connection that carried none it counts
//! as a loss, so that a peer that only accepts and says goodbye is not connected to without end.

use super::chance::{ThreadRandom, clock};
use super::signal::Signal;
use crate::observe::story;
use crate::policy::protect::backoff::ConnectBackoff;
use crate::policy::random::Random;
use corewire_transport::{Client, ClientOptions, ConnectionWatcher, Endpoint, LoopHandle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A connection that is lost sooner than this after it was opened counts as one that failed: a peer
/// that accepts and closes must not be asked again at once, for ever.
const SHORTEST_LIFE: Duration = Duration::from_secs(1);

/// Why a connection that drains is made anew.
const PEER_DRAINS: &str = "the peer drains";

/// How a line is, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineState {
    /// Nobody has asked for it.
    Idle,
    /// It is being connected.
    Connecting,
    /// It is open.
    Ready,
    /// It failed and is tried again in time.
    Waiting,
}

/// The life of a line: sans-IO, so that every order of events can be tried.
#[derive(Debug)]
struct Life {
    phase: Phase,
    backoff: ConnectBackoff,
    why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Connecting,
    Ready(Instant),
    Waiting(Instant),
}

impl Life {
    fn new(backoff: ConnectBackoff) -> Self {
        Self {
            phase: Phase::Idle,
            backoff,
            why: String::new(),
        }
    }

    fn connected(&mut self, now: Instant) {
        self.phase = Phase::Ready(now);
    }

    fn disconnected(&mut self, now: Instant, why: &str, random: &mut impl Random) {
        why.clone_into(&mut self.why);
        self.phase = match self.phase {
            Phase::Ready(since) if now.saturating_duration_since(since) >= SHORTEST_LIFE => {
                self.backoff.succeeded();
                Phase::Idle
            }
            // Told twice of the same end.
            Phase::Waiting(until) if until > now => Phase::Waiting(until),
            _ => Phase::Waiting(now + self.backoff.failed(random)),
        };
    }

    /// The peer has announced the connection's end; `used` says whether it carried calls.
    fn drained(&mut self, now: Instant, used: bool, random: &mut impl Random) {
        if used && matches!(self.phase, Phase::Ready(_)) {
            self.backoff.succeeded();
            PEER_DRAINS.clone_into(&mut self.why);
            self.phase = Phase::Idle;
        } else {
            self.disconnected(now, PEER_DRAINS, random);
        }
    }

    /// Whether it is to be connected now.
    fn wants_to_connect(&mut self, now: Instant) -> bool {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(until) if until <= now => {}
            _ => return false,
        }
        self.phase = Phase::Connecting;
        true
    }

    const fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Waiting(until) => Some(until),
            _ => None,
        }
    }

    const fn has_failed(&self) -> bool {
        self.backoff.failures() > 0 && !matches!(self.phase, Phase::Ready(_))
    }

    const fn state(&self) -> LineState {
        match self.phase {
            Phase::Idle => LineState::Idle,
            Phase::Connecting => LineState::Connecting,
            Phase::Ready(_) => LineState::Ready,
            Phase::Waiting(_) => LineState::Waiting,
        }
    }
}

/// A line.
pub(crate) struct Line {
    client: OnceLock<Client>,
    handle: LoopHandle,
    /// What calls ask, without a lock.
    ready: AtomicBool,
    /// The present connection has been taken for a call.
    used: AtomicBool,
    life: Mutex<Life>,
    signal: Arc<Signal>,
    myself: Weak<Self>,
}

impl Line {
    /// A line whose waits between attempts are at most `longest`, if that says something.
    pub(crate) fn new(
        handle: LoopHandle,
        signal: Arc<Signal>,
        longest: Option<Duration>,
    ) -> Arc<Self> {
        let backoff = longest.map_or_else(ConnectBackoff::default, ConnectBackoff::up_to);
        Arc::new_cyclic(|myself| Self {
            client: OnceLock::new(),
            handle,
            ready: AtomicBool::new(false),
            used: AtomicBool::new(false),
            life: Mutex::new(Life::new(backoff)),
            signal,
            myself: Weak::clone(myself),
        })
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client, for a call.
    pub(crate) fn client(&self, endpoint: &Endpoint, options: &ClientOptions) -> &Client {
        // Read first: a write would take the cache line from other threads.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        self.made_client(endpoint, options)
    }

    fn made_client(&self, endpoint: &Endpoint, options: &ClientOptions) -> &Client {
        self.client.get_or_init(|| {
            // The loop must not keep the line, or neither would ever go.
            let watcher = Arc::new(Watcher(Weak::clone(&self.myself)));
            self.handle
                .connect_watched(endpoint.clone(), options.clone(), watcher)
        })
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether it is not connected and has failed to.
    pub(crate) fn has_failed(&self) -> bool {
        self.life().has_failed()
    }

    pub(crate) fn is_connected_or_connecting(&self) -> bool {
        matches!(self.life().phase, Phase::Connecting | Phase::Ready(_))
    }

    pub(crate) fn state(&self) -> (LineState, String) {
        let life = self.life();
        (life.state(), life.why.clone())
    }

    /// Connects if it is time to; gives when it will be.
    pub(crate) fn tend(
        &self,
        now: Instant,
        endpoint: &Endpoint,
        options: &ClientOptions,
    ) -> Option<Instant> {
        let connect = self.life().wants_to_connect(now);
        if connect && let Err(error) = self.made_client(endpoint, options).prepare() {
            self.disconnected(&story(&error));
        }
        self.life().due()
    }

    fn connected(&self) {
        self.life().connected(clock());
        self.used.store(false, Ordering::Relaxed);
        self.ready.store(true, Ordering::Relaxed);
        self.signal.raise();
    }

    fn disconnected(&self, why: &str) {
        self.ready.store(false, Ordering::Relaxed);
        self.life().disconnected(clock(), why, &mut ThreadRandom);
        self.signal.raise();
    }

    fn draining(&self) {
        self.ready.store(false, Ordering::Relaxed);
        let used = self.used.load(Ordering::Relaxed);
        self.life().drained(clock(), used, &mut ThreadRandom);
        self.signal.raise();
    }
}

struct Watcher(Weak<Line>);

impl ConnectionWatcher for Watcher {
    fn connected(&self) {
        if let Some(line) = self.0.upgrade() {
            line.connected();
        }
    }

    fn disconnected(&self, why: &str) {
        if let Some(line) = self.0.upgrade() {
            line.disconnected(why);
        }
    }

    fn draining(&self) {
        if let Some(line) = self.0.upgrade() {
            line.draining();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;
    use proptest::prelude::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn a_line_is_made_again_at_once_when_it_lasted_and_later_when_it_did_not() {
        let mut random = SplitMix::new(1);
        let begin = Instant::now();
        let mut life = Life::new(ConnectBackoff::default());
        assert!(life.wants_to_connect(begin) && !life.wants_to_connect(begin));
        life.connected(begin);
        assert!(!life.has_failed());
        let later = begin + 2 * SHORTEST_LIFE;
        life.disconnected(later, "the peer drains", &mut random);
        assert!(life.wants_to_connect(later), "it lasted: at once");

        life.connected(later);
        life.disconnected(later + MILLI, "lost", &mut random);
        let due = life.due().unwrap();
        assert!(life.has_failed() && due >= later + 25 * MILLI && due <= later + 51 * MILLI);
        assert!(!life.wants_to_connect(due - MILLI));
        assert!(life.wants_to_connect(due));
        assert!(life.has_failed(), "until it is open");
    }

    #[test]
    fn goaway_after_calls_is_no_failure_and_without_calls_it_is() {
        let mut random = SplitMix::new(1);
        let now = Instant::now();
        let mut life = Life::new(ConnectBackoff::default());
        for _ in 0..100 {
            assert!(life.wants_to_connect(now), "at once");
            life.connected(now);
            life.drained(now, true, &mut random);
            assert!(!life.has_failed());
        }
        assert!(life.wants_to_connect(now));
        life.connected(now);
        life.drained(now, false, &mut random);
        assert!(life.has_failed() && !life.wants_to_connect(now));
        // A goodbye that comes while it waits changes nothing.
        let due = life.due();
        life.drained(now, true, &mut random);
        assert_eq!(life.due(), due);
    }

    #[test]
    fn a_peer_that_accepts_and_closes_is_asked_less_and_less_often() {
        let mut random = SplitMix::new(1);
        let mut now = Instant::now();
        let begin = now;
        let mut life = Life::new(ConnectBackoff::default());
        let mut attempts = 0;
        while now < begin + Duration::from_secs(60) {
            if life.wants_to_connect(now) {
                attempts += 1;
                life.connected(now);
                life.disconnected(now, "closed", &mut random);
            }
            now += MILLI;
        }
        assert!((10..40).contains(&attempts), "{attempts}");
    }

    proptest! {
        #[test]
        fn whatever_happens_it_is_tried_again_in_time(
            events in prop::collection::vec((0_u8..3, 0_u64..3000), 1..100), seed: u64,
        ) {
            let mut random = SplitMix::new(seed);
            let mut now = Instant::now();
            let mut life = Life::new(ConnectBackoff::default());
            for (event, passed) in events {
                now += passed as u32 * MILLI;
                match event {
                    0 => life.connected(now),
                    1 => life.disconnected(now, "lost", &mut random),
                    _ => { life.wants_to_connect(now); }
                }
                // In use, on the way, or about to be.
                match life.phase {
                    Phase::Waiting(until) => prop_assert!(until <= now + Duration::from_secs(6)),
                    Phase::Idle | Phase::Connecting | Phase::Ready(_) => {}
                }
            }
        }
    }
}
