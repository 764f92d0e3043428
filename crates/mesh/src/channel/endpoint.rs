//! One endpoint of a cluster: its connections and what is known of it. Lives as long as it is in
//! the plan or a call to it is under way.

use super::line::Line;
use crate::config::Transport;
use crate::observe::Counters;
use crate::policy::balance::latency::PeakEwma;
use crate::policy::protect::backoff::ConnectBackoff;
use crate::policy::protect::circuit_breaker::Gauge;
use crate::policy::protect::health_check::Checked;
use crate::policy::protect::outlier::Record;
use crate::policy::protect::silence::{Silence, Unanswered};
use crate::policy::random::Random;
use crate::policy::timeline::{Timeline, nanos_of};
use corewire_transport::{Client, ClientOptions, Endpoint as Place, blocking};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Endpoint {
    /// Its address as text, by which it is known.
    pub(crate) key: Box<str>,
    /// Where it stands among those that this process connects to, when there are too many of them.
    pub(crate) own_order: u64,
    pub(crate) transport: Transport,
    pub(crate) place: Place,
    options: ClientOptions,
    lines: Box<[Arc<Line>]>,
    thread_line: OnceLock<ThreadLine>,
    pub(crate) in_flight: Gauge,
    /// Those of them that are open streams, which nobody need answer.
    pub(crate) streams: Gauge,
    pub(crate) record: Record,
    pub(crate) silence: Silence,
    pub(crate) latency: PeakEwma,
    pub(crate) counters: Counters,
    checked: Mutex<Checked>,
    unanswered: Mutex<Unanswered>,
    timeline: Timeline,
}

impl Endpoint {
    pub(crate) fn new(
        (key, transport, place): (Box<str>, Transport, Place),
        options: ClientOptions,
        lines: Box<[Arc<Line>]>,
        timeline: Timeline,
    ) -> Self {
        Self {
            own_order: own_order(&key),
            key,
            transport,
            place,
            options,
            lines,
            thread_line: OnceLock::new(),
            in_flight: Gauge::default(),
            streams: Gauge::default(),
            record: Record::new(timeline),
            silence: Silence::new(timeline),
            latency: PeakEwma::new(timeline),
            counters: Counters::default(),
            checked: Mutex::default(),
            unanswered: Mutex::default(),
            timeline,
        }
    }

    pub(crate) fn line(&self, index: usize) -> Option<&Line> {
        self.lines.get(index).map(|line| &**line)
    }

    /// The client that this loop drives.
    pub(crate) fn client(&self, index: usize) -> Option<&Client> {
        self.line(index)
            .map(|line| line.client(&self.place, &self.options))
    }

    /// What health checks have found of it.
    pub(crate) fn checked(&self) -> MutexGuard<'_, Checked> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has left requests waiting for too long.
    pub(crate) fn leaves_unanswered(&self, now: Instant) -> bool {
        let waiting = self.in_flight.count().saturating_sub(self.streams.count());
        let micros = self.latency.micros(now);
        let usual = micros.map(|micros| Duration::from_secs_f64(micros / 1e6));
        let answers = self.counters.answered();
        let unanswered = self.unanswered.lock();
        let mut unanswered = unanswered.unwrap_or_else(PoisonError::into_inner);
        unanswered.look(now, answers, waiting, usual)
    }

    pub(crate) fn tend(&self, index: usize, now: Instant) -> Option<Instant> {
        self.line(index)?.tend(now, &self.place, &self.options)
    }

    pub(crate) fn thread_line(&self) -> &ThreadLine {
        self.thread_line.get_or_init(|| ThreadLine {
            client: blocking::Client::new(self.place.clone(), self.options.clone()),
            not_before: AtomicU64::new(0),
            failures: Mutex::default(),
        })
    }

    /// Whether a thread may try to connect to it.
    pub(crate) fn is_open_to_threads(&self, now: Instant) -> bool {
        self.thread_line
            .get()
            .is_none_or(|line| line.not_before.load(Ordering::Relaxed) <= self.timeline.nanos(now))
    }

    /// When threads may try again, if they may not now.
    pub(crate) fn open_to_threads_at(&self, now: Instant) -> Option<Instant> {
        let not_before = self.thread_line.get()?.not_before.load(Ordering::Relaxed);
        (not_before > self.timeline.nanos(now)).then(|| self.timeline.instant(not_before))
    }

    /// A thread could not connect to it.
    pub(crate) fn thread_failed(&self, now: Instant, why: &str, random: &mut impl Random) {
        let line = self.thread_line();
        let mut failures = line.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = failures.backoff.failed(random);
        why.clone_into(&mut failures.why);
        let until = self.timeline.nanos(now).saturating_add(nanos_of(wait));
        line.not_before.store(until, Ordering::Relaxed);
    }

    /// A thread was answered by it.
    pub(crate) fn thread_succeeded(&self) {
        let line = self.thread_line();
        if line.not_before.swap(0, Ordering::Relaxed) != 0 {
            let mut failures = line.failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.backoff.succeeded();
        }
    }

    /// Why it cannot be connected to, as far as known.
    pub(crate) fn why_not(&self, index: Option<usize>) -> String {
        match index {
            Some(index) => self
                .line(index)
                .map_or_else(String::new, |line| line.state().1),
            None => {
                let line = self.thread_line();
                let failures = line.failures.lock().unwrap_or_else(PoisonError::into_inner);
                failures.why.clone()
            }
        }
    }
}

/// Different in each process, the same as long as it lasts, whoever else comes or goes.
fn own_order(key: &str) -> u64 {
    static ORDER: OnceLock<RandomState> = OnceLock::new();
    ORDER.get_or_init(RandomState::new).hash_one(key)
}

/// The connection that threads drive themselves.
pub(crate) struct ThreadLine {
    pub(crate) client: blocking::Client,
    not_before: AtomicU64,
    failures: Mutex<Failures>,
}

#[derive(Default)]
struct Failures {
    backoff: ConnectBackoff,
    why: String,
}
