//! The reconciler: does what no call should wait for. It makes plans from new snapshots, connects,
//! ejects and readmits endpoints, and makes balancers anew. A round is sans-IO; one thread a mesh
//! begins them.

use super::chance::{ThreadRandom, clock};
use super::check::check;
use super::cluster::{ClusterRuntime, Standing};
use super::connection::EndpointConnection;
use super::env::Env;
use super::record;
use super::shared::Shared;
use crate::observe::counters::add;
use crate::policy::protect::{outlier, silence};
use crate::policy::random::Random;
use crate::policy::timeline::nanos_of;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// For this many endpoints the thread rests a millisecond between two rounds, so that a large mesh in
/// which much changes does not take a core.
const ENDPOINTS_A_MILLI: usize = 500;

/// The longest time between two rounds.
const ROUND: Duration = Duration::from_secs(5);

/// Starts the thread. It ends when the mesh is gone.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let (weak, signal) = (Arc::downgrade(shared), Arc::clone(&shared.env.signal));
    let reconcile = move || {
        let mut due = None;
        while !signal.is_stopped() {
            signal.wait(due, clock);
            let Some(shared) = Weak::upgrade(&weak) else {
                return;
            };
            let (next, endpoints) = round(&shared, clock(), &mut ThreadRandom);
            due = Some(next);
            // This may be the last reference: dropping it must not join this very thread.
            drop(shared);
            let rest = endpoints / ENDPOINTS_A_MILLI;
            if rest > 0 && !signal.is_stopped() {
                std::thread::sleep(Duration::from_millis(rest as u64));
            }
        }
    };
    std::thread::Builder::new()
        .name("corewire-mesh".into())
        .spawn(reconcile)
        .map(drop)
}

/// One round; says when the next is due and how many endpoints there are.
pub(super) fn round(shared: &Shared, now: Instant, random: &mut impl Random) -> (Instant, usize) {
    shared.refresh(now, random);
    let clusters: Vec<_> = shared.registry().clusters.values().cloned().collect();
    let (mut due, mut endpoints) = (now + ROUND, 0);
    for cluster in clusters {
        if matches!(cluster.standing, Standing::Ready) {
            endpoints += cluster.slots.len();
            due = due.min(reconcile(&cluster, &shared.env, now, random));
        }
    }
    shared.env.waiters.wake_all();
    (due, endpoints)
}

fn reconcile(
    cluster: &ClusterRuntime,
    env: &Env,
    now: Instant,
    random: &mut impl Random,
) -> Instant {
    let mut due = now + ROUND;
    for index in env.wanted_loops() {
        due = due.min(connect(cluster, index, now));
    }
    let slots = cluster.slots.iter();
    let opens = slots.filter_map(|slot| slot.endpoint.open_to_threads_at(now));
    due = opens.fold(due, Instant::min);
    due = due.min(judge_outliers(cluster, env, now, random));
    for endpoint in cluster.endpoints() {
        // From the end of its time on it gets single requests, on trial.
        endpoint.silence.readmit(now);
        due = endpoint.silence.until().map_or(due, |at| due.min(at));
    }
    due = check(cluster, env, now, random).map_or(due, |at| due.min(at));
    due = leave_out_silent(cluster, env, now).map_or(due, |at| due.min(at));
    cluster.rebalance(now, env, random);
    due
}

/// Leaves out endpoints that leave requests waiting; says when to look again, if calls are in progress.
fn leave_out_silent(cluster: &ClusterRuntime, env: &Env, now: Instant) -> Option<Instant> {
    for endpoint in cluster.endpoints() {
        if endpoint.leaves_unanswered(now) {
            endpoint
                .silence
                .unanswered(now, || record::may_leave_out(env, cluster));
        }
    }
    let tries = cluster
        .endpoints()
        .map(|endpoint| endpoint.counters.tries());
    let tries = tries.fold(0, u64::wrapping_add);
    let before = cluster.live.tries_seen.swap(tries, Ordering::Relaxed);
    let waits = || {
        cluster
            .endpoints()
            .any(|endpoint| endpoint.in_flight.count() > 0)
    };
    (tries != before || waits()).then(|| now + silence::UNANSWERED / 2)
}

/// Connects a loop to the endpoints of a cluster, as far as its circuit limit allows.
fn connect(cluster: &ClusterRuntime, index: usize, now: Instant) -> Instant {
    let opened = || {
        cluster
            .endpoints()
            .filter_map(|endpoint| endpoint.connection(index))
    };
    let most = cluster.config.circuit.max_connections as usize;
    let mut connections = opened()
        .filter(|connection| connection.is_connected_or_connecting())
        .count();
    let mut due = now + ROUND;
    let mut endpoints: Vec<_> = cluster.endpoints().collect();
    if endpoints.len() > most {
        // Each process chooses other endpoints, so that all processes together use all of them.
        // Those that failed come last: they would hold up those that were not tried yet.
        endpoints.sort_by_cached_key(|endpoint| {
            let connection = endpoint.connection(index);
            let has_failed = connection.is_some_and(EndpointConnection::has_failed);
            (has_failed, endpoint.own_order)
        });
    }
    for endpoint in endpoints {
        let has_one = endpoint
            .connection(index)
            .is_none_or(EndpointConnection::is_connected_or_connecting);
        if has_one || connections >= most {
            continue;
        }
        match endpoint.connect(index, now) {
            Some(at) => due = due.min(at),
            None => connections += 1,
        }
    }
    due
}

/// Judges rates when it is time to, and readmits ejected endpoints.
fn judge_outliers(
    cluster: &ClusterRuntime,
    env: &Env,
    now: Instant,
    random: &mut impl Random,
) -> Instant {
    let records: Vec<_> = cluster
        .endpoints()
        .map(|endpoint| &endpoint.record)
        .collect();
    let Some(policy) = &cluster.config.outlier else {
        for record in records {
            record.pardon();
        }
        return now + ROUND;
    };
    let live = &cluster.live;
    let (at, interval) = (env.timeline.nanos(now), outlier::interval(policy));
    // A shorter interval than the one that had begun holds from now on.
    let next = live.next_sweep.load(Ordering::Relaxed);
    let latest = at.saturating_add(nanos_of(interval));
    if next > latest {
        live.next_sweep.store(latest, Ordering::Relaxed);
    }
    let swept = if next == 0 {
        // The first interval begins.
        live.next_sweep.store(latest, Ordering::Relaxed);
        outlier::Swept::default()
    } else if at >= next {
        live.next_sweep.store(latest, Ordering::Relaxed);
        outlier::sweep(policy, &records, now, random)
    } else {
        outlier::Swept {
            readmitted: outlier::readmit(&records, now),
            ..outlier::Swept::default()
        }
    };
    for _ in &swept.ejected {
        add(&live.counters.ejections);
    }
    for _ in &swept.readmitted {
        add(&live.counters.readmissions);
    }
    let next_sweep = live.next_sweep.load(Ordering::Relaxed);
    let sweep = env.timeline.instant(next_sweep);
    match outlier::next_readmission(records) {
        Some(readmission) => sweep.min(readmission),
        None => sweep,
    }
}
