//! The state of one connection to one endpoint, and when it is made again. Sans-IO: its client
//! reports what happens to it.
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

use super::signal::Signal;
use crate::policy::protect::backoff::ConnectBackoff;
use crate::policy::random::Random;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection that is lost sooner than this after it was opened counts as one that failed: a peer
/// that accepts and closes must not be asked again at once, for ever.
const SHORTEST_LIFE: Duration = Duration::from_secs(1);

/// Why a connection that drains is made anew.
const PEER_DRAINS: &str = "the peer drains";

/// The state of a connection, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineState {
    /// No call or channel has needed it yet.
    Idle,
    /// It is being connected.
    Connecting,
    /// It is open.
    Ready,
    /// It failed and is tried again in time.
    Waiting,
}

/// The life of a connection.
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

/// A connection as calls and the reconciler see it.
pub(crate) struct EndpointConnection {
    /// Read by calls, without a lock.
    ready: AtomicBool,
    /// The present connection has been taken for a call.
    used: AtomicBool,
    life: Mutex<Life>,
    /// Wakes the reconciler at every change.
    signal: Arc<Signal>,
}

impl EndpointConnection {
    /// An idle connection; waits between attempts are at most `longest_backoff`, where that is set.
    pub(crate) fn new(signal: Arc<Signal>, longest_backoff: Option<Duration>) -> Self {
        let backoff = longest_backoff.map_or_else(ConnectBackoff::default, ConnectBackoff::up_to);
        Self {
            ready: AtomicBool::new(false),
            used: AtomicBool::new(false),
            life: Mutex::new(Life::new(backoff)),
            signal,
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Whether it is not open and the last attempt to open it failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.life().has_failed()
    }

    pub(crate) fn is_connected_or_connecting(&self) -> bool {
        matches!(self.life().phase, Phase::Connecting | Phase::Ready(_))
    }

    /// Its state, and why it ended last.
    pub(crate) fn state(&self) -> (LineState, String) {
        let life = self.life();
        (life.state(), life.why.clone())
    }

    /// A call takes it.
    pub(crate) fn mark_used(&self) {
        // Read first: a write would take the cache line from other threads.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it is to be opened now; it counts as connecting from then on.
    pub(crate) fn wants_to_connect(&self, now: Instant) -> bool {
        self.life().wants_to_connect(now)
    }

    /// When it is to be opened again, where that is not now.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.life().due()
    }

    /// It is open.
    pub(crate) fn connected(&self, now: Instant) {
        self.life().connected(now);
        self.used.store(false, Ordering::Relaxed);
        self.ready.store(true, Ordering::Relaxed);
        self.signal.raise();
    }

    /// It is lost, or could not be opened.
    pub(crate) fn disconnected(&self, now: Instant, why: &str, random: &mut impl Random) {
        self.ready.store(false, Ordering::Relaxed);
        self.life().disconnected(now, why, random);
        self.signal.raise();
    }

    /// The peer takes no more calls on it (GOAWAY).
    pub(crate) fn draining(&self, now: Instant, random: &mut impl Random) {
        self.ready.store(false, Ordering::Relaxed);
        let used = self.used.load(Ordering::Relaxed);
        self.life().drained(now, used, random);
        self.signal.raise();
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
