//! What a mesh's channels share: the source of policy, the units, the keeper.

use super::chance::ThreadRandom;
use super::options::MeshOptions;
use super::plan::Plan;
use super::signal::{Signal, Waiters};
use super::unit::{Unit, UnitKey};
use crate::config::{Resolution, SnapshotSource, Subscription};
use crate::policy::timeline::Timeline;
use arc_swap::ArcSwap;
use corewire_transport::tls::Files;
use corewire_transport::{EventLoop, LoopHandle};
use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

/// Where a mesh has its policy from.
pub trait Discovery: Send + Sync + 'static {
    /// The snapshots.
    fn source(&self) -> &SnapshotSource;

    /// Asks for a target, until what it returns is dropped.
    ///
    /// # Errors
    /// When nobody could ever be asked for it, with the reason; its calls fail with it.
    fn watch(&self, target: &str) -> Result<Box<dyn Any + Send + Sync>, String>;

    /// What is to be thought of a target that is in no snapshot.
    fn unknown(&self) -> Resolution<()> {
        Resolution::Pending
    }

    /// The files of the certificate provider that clusters call so; `None` when there is none (yet).
    fn certificate_files(&self, _provider: &str) -> Option<Files> {
        None
    }
}

/// Snapshots made in code: nobody is asked.
impl Discovery for SnapshotSource {
    fn source(&self) -> &SnapshotSource {
        self
    }

    fn watch(&self, _target: &str) -> Result<Box<dyn Any + Send + Sync>, String> {
        Ok(Box::new(()))
    }

    fn unknown(&self) -> Resolution<()> {
        Resolution::Missing("it is not in the configuration".into())
    }
}

pub(crate) struct Shared {
    pub(crate) discovery: Box<dyn Discovery>,
    pub(crate) options: MeshOptions,
    pub(crate) timeline: Timeline,
    pub(crate) signal: Arc<Signal>,
    pub(crate) waiters: Waiters,
    registry: Mutex<Registry>,
    loops: Vec<LoopHandle>,
    /// Which loops have channels.
    wanted: Vec<AtomicBool>,
    _own_loop: Option<OwnLoop>,
    _told: Subscription,
}

#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) units: HashMap<UnitKey, Arc<Unit>>,
    pub(crate) targets: Vec<Weak<TargetState>>,
    /// Of the snapshot that the units are made from.
    pub(crate) version: Option<u64>,
}

/// A target that channels lead to.
pub(crate) struct TargetState {
    pub(crate) name: Arc<str>,
    pub(crate) plan: ArcSwap<Plan>,
    /// What its channel is hashed as.
    pub(crate) hash: u64,
    watch: Result<Box<dyn Any + Send + Sync>, String>,
    signal: Arc<Signal>,
}

impl Drop for TargetState {
    fn drop(&mut self) {
        // What only it needed can go.
        self.signal.raise();
    }
}

/// A loop that the mesh runs itself.
struct OwnLoop {
    handle: LoopHandle,
    thread: Option<JoinHandle<()>>,
}

impl OwnLoop {
    fn start() -> io::Result<Self> {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let run = move || match EventLoop::new() {
            Ok(mut event_loop) => {
                let _starter_gone = tell.send(Ok(event_loop.handle()));
                // Whoever calls is told that the loop has ended.
                let _ended = event_loop.run();
            }
            Err(error) => {
                let _starter_gone = tell.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new()
            .name("corewire-mesh-loop".into())
            .spawn(run)?;
        let handle = told.recv().map_err(io::Error::other)??;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for OwnLoop {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take()
            // The last channel may be dropped by a callback on this very loop.
            && thread.thread().id() != std::thread::current().id()
        {
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    pub(crate) fn start(
        discovery: Box<dyn Discovery>,
        options: MeshOptions,
    ) -> io::Result<Arc<Self>> {
        let own_loop = match options.loops.as_slice() {
            [] => Some(OwnLoop::start()?),
            _ => None,
        };
        let loops = match &own_loop {
            Some(own) => vec![own.handle.clone()],
            None => options.loops.clone(),
        };
        let signal = Arc::new(Signal::default());
        let ring = Arc::clone(&signal);
        let told = discovery.source().on_change(move |_| ring.raise());
        let shared = Arc::new(Self {
            wanted: loops.iter().map(|_| AtomicBool::new(false)).collect(),
            loops,
            discovery,
            options,
            timeline: Timeline::new(super::chance::clock()),
            signal,
            waiters: Waiters::default(),
            registry: Mutex::default(),
            _own_loop: own_loop,
            _told: told,
        });
        super::keeper::start(&shared)?;
        Ok(shared)
    }

    pub(crate) fn loops(&self) -> &[LoopHandle] {
        &self.loops
    }

    /// The loop whose timers are used for what this one's channels wait for.
    pub(crate) fn timer(&self, index: usize) -> &LoopHandle {
        &self.loops[index % self.loops.len()]
    }

    pub(crate) fn wanted_loops(&self) -> impl Iterator<Item = usize> {
        let wanted = self.wanted.iter().enumerate();
        wanted.filter_map(|(index, wanted)| wanted.load(Ordering::Relaxed).then_some(index))
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a target, with a plan that holds what is known of it now.
    pub(crate) fn target(&self, name: &str, side: Option<usize>) -> Arc<TargetState> {
        if let Some(index) = side
            && let Some(wanted) = self.wanted.get(index)
        {
            wanted.store(true, Ordering::Relaxed);
        }
        let found = {
            let registry = self.registry();
            let mut targets = registry.targets.iter().filter_map(Weak::upgrade);
            targets.find(|target| &*target.name == name)
        };
        let target = found.unwrap_or_else(|| {
            let name: Arc<str> = name.into();
            let target = Arc::new(TargetState {
                plan: ArcSwap::from_pointee(Plan::pending(Arc::clone(&name))),
                hash: crate::policy::route::xx_hash::hash(
                    &crate::policy::random::Random::next(&mut ThreadRandom).to_le_bytes(),
                    0,
                ),
                watch: self.discovery.watch(&name),
                signal: Arc::clone(&self.signal),
                name,
            });
            let mut registry = self.registry();
            registry.targets.retain(|target| target.strong_count() > 0);
            registry.targets.push(Arc::downgrade(&target));
            // There is a target more: all is made anew.
            registry.version = None;
            target
        });
        self.refresh();
        self.signal.raise();
        target
    }

    /// Makes plans from the current snapshot, unless that was done; says whether it was not.
    pub(crate) fn refresh(&self) -> bool {
        let source = self.discovery.source();
        let mut registry = self.registry();
        // Read before the snapshot: if there is a newer one by then, it is looked at again.
        let version = source.version();
        let some_gone = registry
            .targets
            .iter()
            .any(|target| target.strong_count() == 0);
        let now = super::chance::clock();
        let mut units = registry.units.values();
        let some_lacked = units.any(|unit| unit.security.may_have_come(now));
        if registry.version == Some(version) && !some_gone && !some_lacked {
            return false;
        }
        registry.targets.retain(|target| target.strong_count() > 0);
        let snapshot = source.load_full();
        let unknown = self.discovery.unknown();
        let before = std::mem::take(&mut registry.units);
        let mut units: HashMap<UnitKey, Arc<Unit>> = HashMap::new();
        let targets: Vec<_> = registry.targets.iter().filter_map(Weak::upgrade).collect();
        for target in targets {
            let mut find = |name: &Arc<str>, transport| {
                let key = (Arc::clone(name), transport);
                let entry = snapshot.cluster(name);
                let unit = units.entry(key.clone()).or_insert_with(|| {
                    let previous = before.get(&key);
                    match previous {
                        Some(unit) if unit.is_of(entry, now) => Arc::clone(unit),
                        previous => Arc::new(Unit::new(
                            self,
                            key,
                            entry,
                            previous.map(|unit| &**unit),
                            &mut ThreadRandom,
                        )),
                    }
                });
                Arc::clone(unit)
            };
            let previous = target.plan.load_full();
            let unknown = match &target.watch {
                Ok(_) => &unknown,
                Err(why) => &Resolution::Missing(why.as_str().into()),
            };
            let plan = Plan::new(
                Arc::clone(&target.name),
                &snapshot,
                unknown,
                &previous,
                self.timeline,
                &mut find,
            );
            target.plan.store(Arc::new(plan));
        }
        registry.units = units;
        registry.version = Some(version);
        drop(registry);
        self.waiters.wake_all();
        // Clients of endpoints that are gone are dropped here, outside of the lock.
        drop(before);
        true
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.signal.stop();
    }
}
