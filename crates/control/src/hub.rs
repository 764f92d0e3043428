//! What the event loops and the control thread both know: the state that is served, the registry,
//! the open streams and their timers.
//!
//! Calls of the registry change it under its lock and wake the control thread, which makes the
//! next snapshot; streams take that up when they are woken. Locks are taken in the order of the
//! fields and never held over an await.
#![expect(
    clippy::disallowed_methods,
    reason = "what streams and threads share: it stamps what they bring"
)]

use crate::catalog::Catalog;
use crate::config::Config;
use crate::generated::control::{ClientStatus, ServiceStatus, StatusResponse};
use crate::generated::registry as message;
use crate::registry::{Change, Instance, Refusal, Registry, RegistryAnswer};
use crate::rights::Secret;
use crate::snapshot::Snapshot;
use crate::xds::{AdsStream, Variant};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// Services and clients that a status lists.
const LISTED: usize = 10_000;

/// What is shared by all threads of a control plane.
pub(crate) struct Hub {
    catalog: Mutex<Catalog>,
    roll: Mutex<Roll>,
    current: Mutex<Arc<Snapshot>>,
    streams: Mutex<Streams>,
    timers: Mutex<BTreeSet<(Instant, u64)>>,
    /// Resources that all streams name, together.
    named: AtomicUsize,
    report: Mutex<Report>,
    wake: ControlWake,
    closing: AtomicBool,
    secret: Mutex<Secret>,
    started: Instant,
}

/// The registry and what became of it that is not served or kept yet.
pub(crate) struct Roll {
    pub(crate) registry: Registry,
    pub(crate) config: Arc<Config>,
    pub(crate) dirty: HashSet<Arc<str>>,
    pub(crate) unkept: HashMap<Arc<str>, Option<Arc<Instance>>>,
}

impl Roll {
    /// Takes what the registry has done; says whether there was something.
    pub(crate) fn collect(&mut self) -> bool {
        let mut changed = false;
        while let Some(change) = self.registry.poll() {
            changed = true;
            let (instance, kept) = match change {
                Change::Present(instance) => (Arc::clone(&instance), Some(instance)),
                // Already served, already kept.
                Change::Renewed(_) => continue,
                Change::Gone(instance, _) => (instance, None),
            };
            self.dirty.insert(Arc::clone(&instance.service));
            self.unkept.insert(Arc::clone(&instance.id), kept);
        }
        changed
    }
}

/// What has become of reloads and writes.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) reloads: u64,
    pub(crate) refused: u64,
    pub(crate) faults: Vec<String>,
    pub(crate) store_fault: Option<String>,
}

#[derive(Default)]
struct Streams {
    next: u64,
    open: HashMap<u64, Arc<StreamSlot>>,
}

/// One open stream, as others see it.
pub(crate) struct StreamSlot {
    number: u64,
    peer: String,
    pub(crate) core: Mutex<AdsStream>,
    waker: Mutex<Option<Waker>>,
    /// There is another snapshot than the core has.
    stale: AtomicBool,
    deadline: Mutex<Option<Instant>>,
    /// Resources that it names.
    named: AtomicUsize,
}

impl StreamSlot {
    pub(crate) fn lock(&self) -> MutexGuard<'_, AdsStream> {
        lock(&self.core)
    }

    /// Who is to be woken.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut place = lock(&self.waker);
        if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *place = Some(waker.clone());
        }
    }

    pub(crate) fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::AcqRel)
    }

    fn wake(&self) {
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Hub {
    /// What those who register must show.
    pub(crate) fn secret(&self) -> Secret {
        lock(&self.secret).clone()
    }

    pub(crate) fn set_secret(&self, secret: Secret) {
        *lock(&self.secret) = secret;
    }

    pub(crate) fn new(catalog: Catalog, registry: Registry, file: String) -> io::Result<Self> {
        let config = Arc::clone(catalog.config());
        let current = Mutex::new(catalog.snapshot());
        Ok(Self {
            catalog: Mutex::new(catalog),
            roll: Mutex::new(Roll {
                registry,
                config,
                dirty: HashSet::new(),
                unkept: HashMap::new(),
            }),
            current,
            streams: Mutex::default(),
            timers: Mutex::default(),
            named: AtomicUsize::new(0),
            report: Mutex::new(Report {
                file,
                ..Report::default()
            }),
            wake: ControlWake::new()?,
            closing: AtomicBool::new(false),
            secret: Mutex::default(),
            started: Instant::now(),
        })
    }

    pub(crate) fn catalog(&self) -> MutexGuard<'_, Catalog> {
        lock(&self.catalog)
    }

    pub(crate) fn roll(&self) -> MutexGuard<'_, Roll> {
        lock(&self.roll)
    }

    pub(crate) fn report(&self) -> MutexGuard<'_, Report> {
        lock(&self.report)
    }

    pub(crate) const fn control_wake(&self) -> &ControlWake {
        &self.wake
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.current))
    }

    /// Which service a registered instance belongs to.
    pub(crate) fn service_of(&self, id: &str) -> Option<Arc<str>> {
        let roll = self.roll();
        roll.registry.find(id).map(|one| Arc::clone(&one.service))
    }

    /// Serves this from now on.
    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        *lock(&self.current) = snapshot;
        let open: Vec<_> = lock(&self.streams).open.values().cloned().collect();
        for slot in open {
            if !slot.stale.swap(true, Ordering::AcqRel) {
                slot.wake();
            }
        }
    }

    /// Ends all streams: their clients come back, to us or to who comes after us.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        let open: Vec<_> = lock(&self.streams).open.values().cloned().collect();
        open.iter().for_each(|slot| slot.wake());
        self.wake.wake();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// A place for a new stream; `None` when there are as many as there may be.
    pub(crate) fn open(
        &self,
        variant: Variant,
        now: Instant,
        peer: String,
    ) -> Option<Arc<StreamSlot>> {
        let mut streams = lock(&self.streams);
        let snapshot = self.snapshot();
        if streams.open.len() >= snapshot.limits.streams {
            return None;
        }
        streams.next += 1;
        let slot = Arc::new(StreamSlot {
            number: streams.next,
            peer,
            core: Mutex::new(AdsStream::new(variant, now, snapshot)),
            waker: Mutex::default(),
            // Another may have been published before this one is in the list.
            stale: AtomicBool::new(true),
            deadline: Mutex::default(),
            named: AtomicUsize::new(0),
        });
        streams.open.insert(slot.number, Arc::clone(&slot));
        Some(slot)
    }

    pub(crate) fn release(&self, slot: &StreamSlot) {
        self.set_deadline(slot, None);
        let named = slot.named.swap(0, Ordering::Relaxed);
        self.named.fetch_sub(named, Ordering::Relaxed);
        lock(&self.streams).open.remove(&slot.number);
    }

    /// Notes how many resources a stream names now.
    ///
    /// # Errors
    /// With the limit, when all streams together name more than they may.
    pub(crate) fn note_names(&self, slot: &StreamSlot, named: usize) -> Result<(), usize> {
        let before = slot.named.swap(named, Ordering::Relaxed);
        // Wraps around when it shrinks, and so does the sum.
        let change = named.wrapping_sub(before);
        let total = self.named.fetch_add(change, Ordering::Relaxed);
        let limit = self.snapshot().limits.total_subscriptions;
        if named > before && total.wrapping_add(change) > limit {
            return Err(limit);
        }
        Ok(())
    }

    /// Wakes this stream at that time.
    pub(crate) fn set_deadline(&self, slot: &StreamSlot, when: Option<Instant>) {
        let mut known = lock(&slot.deadline);
        if *known == when {
            return;
        }
        let mut timers = lock(&self.timers);
        let first = timers.first().map(|(when, _)| *when);
        if let Some(before) = known.take() {
            timers.remove(&(before, slot.number));
        }
        if let Some(when) = when {
            timers.insert((when, slot.number));
            *known = Some(when);
            if first.is_none_or(|first| when < first) {
                self.wake.wake();
            }
        }
    }

    /// Wakes the streams whose time has come; gives the next time.
    pub(crate) fn fire(&self, now: Instant) -> Option<Instant> {
        let mut due = Vec::new();
        let next = {
            let mut timers = lock(&self.timers);
            while let Some((when, number)) = timers.first().copied()
                && when <= now
            {
                timers.pop_first();
                due.push(number);
            }
            timers.first().map(|(when, _)| *when)
        };
        let streams = lock(&self.streams);
        let due: Vec<_> = due
            .iter()
            .filter_map(|number| streams.open.get(number).cloned())
            .collect();
        drop(streams);
        for slot in due {
            *lock(&slot.deadline) = None;
            slot.wake();
        }
        next
    }

    /// What there is to tell.
    pub(crate) fn status(&self, now: Instant) -> StatusResponse {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut left_out = 0;
        let (generation, services, instances) = {
            let catalog = self.catalog();
            let roll = self.roll();
            let mut services = Vec::new();
            for service in catalog.services() {
                if services.len() >= LISTED {
                    left_out += 1;
                    continue;
                }
                let endpoints = catalog.endpoints().get(&service.name);
                services.push(ServiceStatus {
                    name: service.name.to_string(),
                    listed: number(service.endpoints.len()),
                    registered: number(roll.registry.of_service(&service.name).count()),
                    version: endpoints.map_or_else(String::new, |one| one.digest.to_string()),
                });
            }
            (catalog.generation(), services, roll.registry.len())
        };
        let mut open: Vec<_> = lock(&self.streams).open.values().cloned().collect();
        open.sort_by_key(|slot| slot.number);
        left_out += open.len().saturating_sub(LISTED);
        let clients = open.iter().take(LISTED).map(|slot| ClientStatus {
            peer: slot.peer.clone(),
            ..slot.lock().status(now)
        });
        let clients = clients.collect();
        let report = self.report();
        let uptime = now.saturating_duration_since(self.started).as_millis();
        StatusResponse {
            generation,
            config_file: report.file.clone(),
            reloads: report.reloads,
            refused_reloads: report.refused,
            faults: report.faults.clone(),
            instances: instances as u64,
            services,
            clients,
            left_out: left_out as u64,
            uptime_ms: u64::try_from(uptime).unwrap_or(u64::MAX),
            store_fault: report.store_fault.clone().unwrap_or_default(),
        }
    }
}

impl RegistryAnswer for Hub {
    fn register(&self, instance: Instance) -> Result<message::RegisterResponse, Refusal> {
        let id = Arc::clone(&instance.id);
        let mut roll = self.roll();
        let is_new = !roll.config.services.contains_key(&instance.service)
            && roll.registry.of_service(&instance.service).next().is_none();
        if is_new && !roll.config.registry.open {
            return Err(Refusal::UnknownService);
        }
        let limit = roll.config.limits.services;
        if is_new && roll.config.services.len() + roll.registry.services().len() >= limit {
            return Err(Refusal::TooManyServices { limit });
        }
        let ttl = roll.registry.register(Instant::now(), instance)?;
        let lease = roll.registry.find(&id).map(|it| it.lease());
        let changed = roll.collect();
        drop(roll);
        if changed {
            self.wake.wake();
        }
        Ok(message::RegisterResponse {
            lease_id: lease.unwrap_or_default(),
            ttl_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn heartbeat(&self, id: &str, lease: &str) -> Result<(), Refusal> {
        self.roll().registry.heartbeat(Instant::now(), id, lease)
    }

    fn leave(&self, id: &str, lease: &str) -> Result<(), Refusal> {
        let mut roll = self.roll();
        roll.registry.leave(id, lease)?;
        roll.collect();
        drop(roll);
        self.wake.wake();
        Ok(())
    }

    fn list(&self, service: &str) -> message::ListResponse {
        let roll = self.roll();
        let registry = &roll.registry;
        let instances = if service.is_empty() {
            let services = registry.services();
            let all = services.flat_map(|service| registry.of_service(service));
            all.map(|one| message::Instance::from(&**one)).collect()
        } else {
            let all = registry.of_service(service);
            all.map(|one| message::Instance::from(&**one)).collect()
        };
        message::ListResponse { instances }
    }
}

/// Wakes the control thread from its wait.
pub(crate) struct ControlWake {
    eventfd: OwnedFd,
    /// It has been woken and has not looked yet: one system call is enough.
    woken: AtomicBool,
}

impl ControlWake {
    fn new() -> io::Result<Self> {
        Ok(Self {
            eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            woken: AtomicBool::new(false),
        })
    }

    pub(crate) fn wake(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            // Fails only when the counter is full, and then it is readable.
            let _ = rustix::io::write(&self.eventfd, &1_u64.to_ne_bytes());
        }
    }

    /// To be called after each wait, before looking at what there is to do.
    pub(crate) fn clear(&self) {
        let mut count = [0; 8];
        // Nothing to read is no fault.
        let _ = rustix::io::read(&self.eventfd, &mut count);
        self.woken.store(false, Ordering::Release);
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
