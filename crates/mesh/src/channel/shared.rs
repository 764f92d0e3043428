//! What a mesh's channels share: the configuration's source, and plans and clusters made from it.

use super::cluster::{ClusterKey, ClusterRuntime};
use super::discovery::Discovery;
use super::env::Env;
use super::own_loop::OwnLoop;
use super::plan::Plan;
use super::target::TargetState;
use crate::config::{Resolution, Subscription};
use crate::policy::random::Random;
use crate::policy::route::xx_hash;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// The state of a mesh. Ends with the last channel.
pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) discovery: Box<dyn Discovery>,
    registry: Mutex<Registry>,
    _own_loop: Option<OwnLoop>,
    _on_change: Subscription,
}

#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) clusters: HashMap<ClusterKey, Arc<ClusterRuntime>>,
    pub(crate) targets: Vec<Weak<TargetState>>,
    /// The version of the snapshot that the clusters are made from.
    pub(crate) version: Option<u64>,
}

impl Shared {
    pub(crate) fn new(
        discovery: Box<dyn Discovery>,
        env: Env,
        own_loop: Option<OwnLoop>,
    ) -> Arc<Self> {
        let signal = Arc::clone(&env.signal);
        let on_change = discovery.source().on_change(move |_| signal.raise());
        Arc::new(Self {
            env,
            discovery,
            registry: Mutex::default(),
            _own_loop: own_loop,
            _on_change: on_change,
        })
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a target, with a plan made from what is known of it now. With a loop's index its
    /// endpoints are connected to on that loop.
    pub(crate) fn target(
        &self,
        name: &str,
        loop_index: Option<usize>,
        now: Instant,
        random: &mut impl Random,
    ) -> Arc<TargetState> {
        if let Some(index) = loop_index {
            self.env.want_loop(index);
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
                hash: xx_hash::hash(&random.next().to_le_bytes(), 0),
                watch: self.discovery.watch(&name),
                signal: Arc::clone(&self.env.signal),
                name,
            });
            let mut registry = self.registry();
            registry.targets.retain(|target| target.strong_count() > 0);
            registry.targets.push(Arc::downgrade(&target));
            // The plans no longer cover all targets.
            registry.version = None;
            target
        });
        self.refresh(now, random);
        self.env.signal.raise();
        target
    }

    /// Makes plans from the current snapshot, unless that was done; says whether it made any.
    pub(crate) fn refresh(&self, now: Instant, random: &mut impl Random) -> bool {
        let source = self.discovery.source();
        let mut registry = self.registry();
        // Read before the snapshot: if there is a newer one by then, the next round makes plans again.
        let version = source.version();
        let some_gone = registry
            .targets
            .iter()
            .any(|target| target.strong_count() == 0);
        let mut clusters = registry.clusters.values();
        let some_lacked = clusters.any(|cluster| cluster.security.may_have_come(now));
        if registry.version == Some(version) && !some_gone && !some_lacked {
            return false;
        }
        registry.targets.retain(|target| target.strong_count() > 0);
        let snapshot = source.load_full();
        let unknown = self.discovery.unknown();
        let before = std::mem::take(&mut registry.clusters);
        let mut clusters: HashMap<ClusterKey, Arc<ClusterRuntime>> = HashMap::new();
        let targets: Vec<_> = registry.targets.iter().filter_map(Weak::upgrade).collect();
        for target in targets {
            let mut find = |name: &Arc<str>, transport| {
                let key = (Arc::clone(name), transport);
                let entry = snapshot.cluster(name);
                let cluster =
                    clusters
                        .entry(key.clone())
                        .or_insert_with(|| match before.get(&key) {
                            Some(cluster) if cluster.is_of(entry, now) => Arc::clone(cluster),
                            previous => Arc::new(ClusterRuntime::new(
                                (&self.env, &*self.discovery),
                                key,
                                entry,
                                previous.map(|cluster| &**cluster),
                                now,
                                random,
                            )),
                        });
                Arc::clone(cluster)
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
                self.env.timeline,
                &mut find,
            );
            target.plan.store(Arc::new(plan));
        }
        registry.clusters = clusters;
        registry.version = Some(version);
        drop(registry);
        self.env.waiters.wake_all();
        // Clients of endpoints that are gone are dropped here, after the lock is released.
        drop(before);
        true
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.env.signal.stop();
    }
}
