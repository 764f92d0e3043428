//! One endpoint of a cluster: its connections and what is known of it. Lives as long as it is in
//! the plan or a call to it is in progress.

use super::connection::EndpointConnection;
use super::env::Side;
use super::loop_client::LoopClient;
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
    /// Its rank among those that this process connects to, when there are too many of them.
    pub(crate) own_order: u64,
    pub(crate) transport: Transport,
    pub(crate) place: Place,
    options: ClientOptions,
    /// One for each event loop.
    connections: Box<[Arc<EndpointConnection>]>,
    /// The clients of these connections; none in a simulation.
    clients: Box<[LoopClient]>,
    threads: ThreadConnection,
    pub(crate) in_flight: Gauge,
    /// Those of them that are open streams, for which no answer is due.
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
        connections: Box<[Arc<EndpointConnection>]>,
        clients: Box<[LoopClient]>,
        timeline: Timeline,
    ) -> Self {
        Self {
            own_order: own_order(&key),
            key,
            transport,
            place,
            options,
            connections,
            clients,
            threads: ThreadConnection::default(),
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

    /// The connection that this loop drives.
    pub(crate) fn connection(&self, index: usize) -> Option<&EndpointConnection> {
        self.connections.get(index).map(|connection| &**connection)
    }

    /// The client that this loop drives, for a call.
    pub(crate) fn client(&self, index: usize) -> Option<&Client> {
        let client = self.clients.get(index)?;
        Some(client.for_call(&self.place, &self.options))
    }

    /// Whether a call on this side can be sent to it now.
    pub(crate) fn is_open_to(&self, side: Side, now: Instant) -> bool {
        match side {
            Side::Loop(index) => self
                .connection(index)
                .is_some_and(EndpointConnection::is_ready),
            Side::Thread => self.is_open_to_threads(now),
        }
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

    /// Opens a loop's connection if it is time to; says when it will be, where that is later.
    pub(crate) fn connect(&self, index: usize, now: Instant) -> Option<Instant> {
        let connection = self.connection(index)?;
        if connection.wants_to_connect(now)
            && let Some(client) = self.clients.get(index)
        {
            client.connect(now, &self.place, &self.options);
        }
        connection.due()
    }

    /// The client that blocking callers drive themselves.
    pub(crate) fn thread_client(&self) -> &blocking::Client {
        self.threads
            .client
            .get_or_init(|| blocking::Client::new(self.place.clone(), self.options.clone()))
    }

    /// Whether a blocking caller may try to connect to it.
    pub(crate) fn is_open_to_threads(&self, now: Instant) -> bool {
        match self.threads.not_before.load(Ordering::Relaxed) {
            0 => true,
            not_before => not_before <= self.timeline.nanos(now),
        }
    }

    /// When blocking callers may try again, if they may not now.
    pub(crate) fn open_to_threads_at(&self, now: Instant) -> Option<Instant> {
        let not_before = self.threads.not_before.load(Ordering::Relaxed);
        (not_before > self.timeline.nanos(now)).then(|| self.timeline.instant(not_before))
    }

    /// A blocking caller could not connect to it.
    pub(crate) fn thread_failed(&self, now: Instant, why: &str, random: &mut impl Random) {
        let mut failures = self.threads.failures();
        let wait = failures.backoff.failed(random);
        why.clone_into(&mut failures.why);
        let until = self.timeline.nanos(now).saturating_add(nanos_of(wait));
        self.threads.not_before.store(until, Ordering::Relaxed);
    }

    /// A blocking caller reached it.
    pub(crate) fn thread_succeeded(&self) {
        // Read first: a write would take the cache line from other threads.
        if self.threads.not_before.load(Ordering::Relaxed) != 0
            && self.threads.not_before.swap(0, Ordering::Relaxed) != 0
        {
            self.threads.failures().backoff.succeeded();
        }
    }

    /// Why it cannot be connected to, as far as known.
    pub(crate) fn why_not(&self, side: Side) -> String {
        match side {
            Side::Loop(index) => self
                .connection(index)
                .map_or_else(String::new, |connection| connection.state().1),
            Side::Thread => self.threads.failures().why.clone(),
        }
    }
}

/// Different in each process, the same as long as it lasts, whichever others come or go.
fn own_order(key: &str) -> u64 {
    static ORDER: OnceLock<RandomState> = OnceLock::new();
    ORDER.get_or_init(RandomState::new).hash_one(key)
}

/// The connection that blocking callers drive themselves.
#[derive(Default)]
struct ThreadConnection {
    client: OnceLock<blocking::Client>,
    /// 0: at any time.
    not_before: AtomicU64,
    failures: Mutex<Failures>,
}

#[derive(Default)]
struct Failures {
    backoff: ConnectBackoff,
    why: String,
}

impl ThreadConnection {
    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
