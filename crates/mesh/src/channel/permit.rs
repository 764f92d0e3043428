//! What a call occupies: places under its cluster's limits, and one among the requests in flight at
//! an endpoint. Each is given back when its holder is dropped.

use super::cluster::{ClusterRuntime, Live};
use super::endpoint::Endpoint;
use super::message::CallHead;
use crate::observe::Counter;
use crate::observe::counters::add;
use crate::policy::protect::{admission, retry_budget};
use crate::policy::random::Random;
use corewire_message::{CallError, ErrorKind, Origin};
use std::ops::Deref;
use std::sync::Arc;

/// A place in one of a cluster's gauges. Borrowed by calls, owned by streams.
pub(crate) struct Permit<L: Deref<Target = Live>> {
    live: L,
    leave: fn(&Live),
}

impl<L: Deref<Target = Live>> Drop for Permit<L> {
    fn drop(&mut self) {
        (self.leave)(&self.live);
    }
}

impl<L: Deref<Target = Live>> Permit<L> {
    fn request(live: L, limit: u32) -> Option<Self> {
        live.breaker.requests.enter(limit).then(|| Self {
            live,
            leave: |live| live.breaker.requests.leave(),
        })
    }
}

impl<'p> Permit<&'p Live> {
    /// A place among the retries in progress, unless the budget is used up.
    pub(crate) fn retry(cluster: &'p ClusterRuntime) -> Option<Self> {
        let live = &*cluster.live;
        let requests = live.breaker.requests.count();
        let most = retry_budget::limit(&cluster.config.circuit, requests);
        if !live.breaker.retries.enter(most) {
            add(&live.counters.retries_over_budget);
            return None;
        }
        add(&live.counters.retries);
        Some(Self {
            live,
            leave: |live| live.breaker.retries.leave(),
        })
    }

    /// A place among the calls that wait for a connection, unless too many do.
    pub(crate) fn pending(cluster: &'p ClusterRuntime) -> Result<Self, CallError> {
        let (live, most) = (&*cluster.live, cluster.config.circuit.max_pending);
        if !live.breaker.pending.enter(most) {
            add(&live.counters.shed_pending);
            let name = &cluster.name;
            let why = format!("{most} requests wait for a connection to cluster {name} already");
            return Err(local(ErrorKind::Overloaded, why));
        }
        Ok(Self {
            live,
            leave: |live| live.breaker.pending.leave(),
        })
    }

    /// A place among the calls that an injected fault delays.
    pub(crate) fn delayed(cluster: &'p ClusterRuntime) -> Self {
        let live = &*cluster.live;
        add(&live.counters.delayed);
        live.faults.enter_always();
        Self {
            live,
            leave: |live| live.faults.leave(),
        }
    }

    /// The same place, owned: for a stream, which outlives the call that opened it.
    pub(crate) fn into_owned(self, live: &Arc<Live>) -> Permit<Arc<Live>> {
        let owned = Permit {
            live: Arc::clone(live),
            leave: self.leave,
        };
        // The gauge stays as it is: one permit goes, another comes.
        std::mem::forget(self);
        owned
    }
}

/// Lets a request into a cluster: drops by order, admission, the circuit limit. `live` is the
/// cluster's, borrowed or owned.
pub(crate) fn admit<L: Deref<Target = Live>>(
    live: L,
    cluster: &ClusterRuntime,
    head: &CallHead<'_>,
    random: &mut impl Random,
) -> Result<Permit<L>, CallError> {
    let counters = &cluster.live.counters;
    for drop in &cluster.endpoints.drops {
        if drop.fraction.holds(random.next()) {
            add(&counters.dropped);
            let (name, category) = (&cluster.name, &drop.category);
            let why = format!("dropped by the control plane's order: cluster {name}, {category}");
            return Err(local(ErrorKind::Overloaded, why));
        }
    }
    let in_flight = cluster.live.breaker.requests.count();
    if let Some(limits) = &cluster.config.admission
        && !admission::admits(limits, in_flight, head.priority)
    {
        add(&counters.shed_admission);
        let (name, priority) = (&cluster.name, head.priority.value());
        let why = format!(
            "shed: {in_flight} requests to cluster {name} are on their way, too many for priority {priority}"
        );
        return Err(local(ErrorKind::Overloaded, why));
    }
    let most = cluster.config.circuit.max_requests;
    Permit::request(live, most).ok_or_else(|| {
        add(&counters.shed_circuit);
        let name = &cluster.name;
        let why =
            format!("the circuit of cluster {name} is open: {most} requests are on their way");
        local(ErrorKind::Overloaded, why)
    })
}

/// A request in flight at an endpoint.
pub(crate) struct InFlight<E: Deref<Target = Endpoint>>(E);

impl<E: Deref<Target = Endpoint>> InFlight<E> {
    pub(crate) fn enter(endpoint: E) -> Self {
        endpoint.in_flight.enter_always();
        endpoint.counters.count(Counter::Tries);
        Self(endpoint)
    }
}

impl<E: Deref<Target = Endpoint>> Drop for InFlight<E> {
    fn drop(&mut self) {
        self.0.in_flight.leave();
    }
}

/// An open stream at an endpoint: in flight until it ends, without an answer that is due.
pub(crate) struct OpenStream(Arc<Endpoint>);

impl OpenStream {
    /// Takes the place of the request that opened it.
    pub(crate) fn of(opening: InFlight<&Endpoint>, endpoint: &Arc<Endpoint>) -> Self {
        endpoint.streams.enter_always();
        std::mem::forget(opening);
        Self(Arc::clone(endpoint))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.leave();
        self.0.in_flight.leave();
    }
}

/// A fault that this process found; nothing was executed.
pub(crate) fn local(kind: ErrorKind, why: String) -> CallError {
    CallError::new(kind, Origin::Local, false, why)
}
