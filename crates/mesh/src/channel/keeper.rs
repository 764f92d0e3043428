//! The keeper: one thread a mesh that does what no call should wait for: makes plans from new
//! snapshots, connects, ejects and readmits endpoints, makes balancers anew.

use super::chance::{ThreadRandom, clock};
use super::check::check;
use super::journey;
use super::line::Line;
use super::shared::Shared;
use super::unit::{Standing, Unit};
use crate::observe::counters::add;
use crate::policy::protect::{outlier, silence};
use crate::policy::timeline::nanos_of;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// For so many endpoints the keeper rests a millisecond between two rounds, so that a large mesh in
/// which much changes does not take a core.
const ENDPOINTS_A_MILLI: usize = 500;

/// At least this often it looks around, rung or not.
const ROUND: Duration = Duration::from_secs(5);

pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let (weak, signal) = (Arc::downgrade(shared), Arc::clone(&shared.signal));
    let keep = move || {
        let mut due = None;
        while !signal.is_stopped() {
            signal.wait(due, clock);
            let Some(shared) = Weak::upgrade(&weak) else {
                return;
            };
            let (next, endpoints) = shared.tend(clock());
            due = next;
            // May be the last: its drop must not find this thread waiting for itself.
            drop(shared);
            let rest = endpoints / ENDPOINTS_A_MILLI;
            if rest > 0 && !signal.is_stopped() {
                std::thread::sleep(Duration::from_millis(rest as u64));
            }
        }
    };
    std::thread::Builder::new()
        .name("corewire-mesh".into())
        .spawn(keep)
        .map(drop)
}

impl Shared {
    /// One round; gives when the next is due and how many endpoints there are.
    fn tend(&self, now: Instant) -> (Option<Instant>, usize) {
        self.refresh();
        let units: Vec<_> = self.registry().units.values().map(Arc::clone).collect();
        let (mut due, mut endpoints) = (now + ROUND, 0);
        for unit in units {
            if matches!(unit.standing, Standing::Ready) {
                endpoints += unit.slots.len();
                due = due.min(self.tend_unit(&unit, now));
            }
        }
        self.waiters.wake_all();
        (Some(due), endpoints)
    }

    fn tend_unit(&self, unit: &Unit, now: Instant) -> Instant {
        let mut due = now + ROUND;
        for index in self.wanted_loops() {
            due = due.min(connect(unit, index, now));
        }
        let slots = unit.slots.iter();
        let opens = slots.filter_map(|slot| slot.endpoint.open_to_threads_at(now));
        due = opens.fold(due, Instant::min);
        due = due.min(judge(unit, self, now));
        // Their trials begin.
        for endpoint in unit.endpoints() {
            endpoint.silence.readmit(now);
            due = endpoint.silence.until().map_or(due, |at| due.min(at));
        }
        due = check(unit, self, now).map_or(due, |at| due.min(at));
        due = self.heed_silent(unit, now).map_or(due, |at| due.min(at));
        unit.rebalance(now, self, &mut ThreadRandom);
        due
    }
}

impl Shared {
    /// Leaves out endpoints that leave requests waiting; says when to look again, if anything goes on.
    fn heed_silent(&self, unit: &Unit, now: Instant) -> Option<Instant> {
        for endpoint in unit.endpoints() {
            if endpoint.leaves_unanswered(now) {
                endpoint
                    .silence
                    .unanswered(now, || journey::may_leave_out(self, unit));
            }
        }
        let tries = unit.endpoints().map(|endpoint| endpoint.counters.tries());
        let tries = tries.fold(0, u64::wrapping_add);
        let before = unit.live.tries_seen.swap(tries, Ordering::Relaxed);
        let waits = || {
            unit.endpoints()
                .any(|endpoint| endpoint.in_flight.count() > 0)
        };
        (tries != before || waits()).then(|| now + silence::UNANSWERED / 2)
    }
}

/// Connects a loop to the endpoints of a cluster, as far as its circuit limit lets.
fn connect(unit: &Unit, index: usize, now: Instant) -> Instant {
    let lines = || unit.endpoints().filter_map(|endpoint| endpoint.line(index));
    let most = unit.config.circuit.max_connections as usize;
    let mut connections = lines()
        .filter(|line| line.is_connected_or_connecting())
        .count();
    let mut due = now + ROUND;
    let mut endpoints: Vec<_> = unit.endpoints().collect();
    if endpoints.len() > most {
        // Which ones is each process's own choice, so that all of them together use all endpoints.
        // Those that failed come last: they would hold up those that nobody tried yet.
        endpoints.sort_by_cached_key(|endpoint| {
            let has_failed = endpoint.line(index).is_some_and(Line::has_failed);
            (has_failed, endpoint.own_order)
        });
    }
    for endpoint in endpoints {
        let has_one = endpoint
            .line(index)
            .is_none_or(|line| line.is_connected_or_connecting());
        if has_one || connections >= most {
            continue;
        }
        match endpoint.tend(index, now) {
            Some(at) => due = due.min(at),
            None => connections += 1,
        }
    }
    due
}

/// Judges rates when it is time to, and uses ejected endpoints again.
fn judge(unit: &Unit, shared: &Shared, now: Instant) -> Instant {
    let records: Vec<_> = unit.endpoints().map(|endpoint| &endpoint.record).collect();
    let Some(policy) = &unit.config.outlier else {
        for record in records {
            record.pardon();
        }
        return now + ROUND;
    };
    let live = &unit.live;
    let (at, interval) = (shared.timeline.nanos(now), outlier::interval(policy));
    // A shorter interval than the one that had begun holds from now on.
    let next = live.next_sweep.load(Ordering::Relaxed);
    let latest = at.saturating_add(nanos_of(interval));
    if next > latest {
        live.next_sweep.store(latest, Ordering::Relaxed);
    }
    let swept = if next == 0 {
        // The first interval begins.
        live.next_sweep
            .store(at.saturating_add(nanos_of(interval)), Ordering::Relaxed);
        outlier::Swept::default()
    } else if at >= next {
        live.next_sweep
            .store(at.saturating_add(nanos_of(interval)), Ordering::Relaxed);
        outlier::sweep(policy, &records, now, &mut ThreadRandom)
    } else {
        outlier::Swept {
            readmitted: outlier::readmit(&records, now),
            ..outlier::Swept::default()
        }
    };
    swept
        .ejected
        .iter()
        .for_each(|_| add(&live.counters.ejections));
    swept
        .readmitted
        .iter()
        .for_each(|_| add(&live.counters.readmissions));
    let sweep = shared
        .timeline
        .instant(live.next_sweep.load(Ordering::Relaxed));
    match outlier::next_readmission(records) {
        Some(readmission) => sweep.min(readmission),
        None => sweep,
    }
}
