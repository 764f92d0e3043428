//! A request on its way through the stages: what async and blocking callers share. It decides;
//! they wait and send.

use super::endpoint::Endpoint;
use super::plan::{Chosen, Limit, Plan, RouteView, answer, with_status};
use super::shared::Shared;
use super::unit::{Live, Side, Slot, Unit};
use crate::observe::Counter;
use crate::observe::counters::add;
use crate::policy::balance::Hosts;
use crate::policy::outcome::{Answer, Outcome, Verdict};
use crate::policy::protect::fault_injection::{self, Faults};
use crate::policy::protect::retry::{Next, Tries};
use crate::policy::protect::{admission, deadline, outlier, retry_budget, silence};
use crate::policy::random::{Random, mix};
use corewire_message::{
    Body, CallError, Code, ErrorKind, Headers, Operation, Origin, Priority, Request, Response,
    Status,
};
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many endpoints are remembered as tried.
const REMEMBERED: usize = 8;

/// Deadlines travel in whole milliseconds at worst, so that the peer may find one passed so much
/// earlier.
const DEADLINE_ROUNDING: Duration = Duration::from_millis(1);

/// Endpoints that this request was tried at.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    hosts: [u32; REMEMBERED],
    count: usize,
}

impl Tried {
    fn add(&mut self, host: u32) {
        if let Some(place) = self.hosts.get_mut(self.count) {
            *place = host;
            self.count += 1;
        }
    }

    fn contains(&self, host: u32) -> bool {
        self.hosts[..self.count].contains(&host)
    }
}

/// The endpoints of a unit as a pick sees them.
struct View<'a> {
    unit: &'a Unit,
    side: Side,
    now: Instant,
    avoid: Tried,
}

impl Hosts for View<'_> {
    fn usable(&self, host: u32) -> bool {
        let Some(slot) = self.unit.slots.get(host as usize) else {
            return false;
        };
        let open = match self.side {
            Side::Loop(index) => slot
                .endpoint
                .line(index)
                .is_some_and(|line| line.is_ready()),
            Side::Thread => slot.endpoint.is_open_to_threads(self.now),
        };
        open && slot
            .endpoint
            .silence
            .takes(|| slot.endpoint.in_flight.count())
            && !self.avoid.contains(host)
    }

    fn in_flight(&self, host: u32) -> u32 {
        let slot = self.unit.slots.get(host as usize);
        slot.map_or(u32::MAX, |slot| slot.endpoint.in_flight.count())
    }

    fn latency_cost(&self, host: u32, weight: u32) -> f64 {
        self.unit.slots.get(host as usize).map_or(f64::MAX, |slot| {
            let in_flight = slot.endpoint.in_flight.count();
            slot.endpoint.latency.cost(self.now, in_flight, weight)
        })
    }
}

/// Holds a gauge of a unit until it is dropped. Borrowed by calls, owned by streams.
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

    fn retry(live: L, limit: u32) -> Option<Self> {
        live.breaker.retries.enter(limit).then(|| Self {
            live,
            leave: |live| live.breaker.retries.leave(),
        })
    }

    fn pending(live: L, limit: u32) -> Option<Self> {
        live.breaker.pending.enter(limit).then(|| Self {
            live,
            leave: |live| live.breaker.pending.leave(),
        })
    }

    fn fault(live: L) -> Self {
        live.faults.enter_always();
        Self {
            live,
            leave: |live| live.faults.leave(),
        }
    }
}

/// Counts a request as in flight at an endpoint until it is dropped.
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

/// A request that is an open stream: in flight until it ends, without an answer that is due.
pub(crate) struct OpenStream(InFlight<Arc<Endpoint>>);

impl OpenStream {
    pub(crate) fn of(in_flight: InFlight<Arc<Endpoint>>) -> Self {
        in_flight.0.streams.enter_always();
        Self(in_flight)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.0.streams.leave();
    }
}

/// Where a try goes.
pub(crate) enum Pick<'p> {
    Slot(&'p Slot),
    /// Nobody is connected yet, somebody may soon be.
    Wait,
    /// Nobody is, nor will be soon.
    Nobody(CallError),
}

/// A request on its way.
pub(crate) struct Journey<'p> {
    shared: &'p Shared,
    plan: &'p Plan,
    pub(crate) unit: &'p Arc<Unit>,
    route: RouteView<'p>,
    side: Side,
    pub(crate) deadline: Instant,
    hash: Option<u64>,
    tries: Tries<'p>,
    tried: Tried,
    avoid_tried: bool,
    may_repeat: bool,
    /// When the current try must be answered.
    try_until: Instant,
    request: Option<Permit<&'p Live>>,
    retry: Option<Permit<&'p Live>>,
}

/// What a journey must know of a request.
pub(crate) struct Traits<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) headers: &'a Headers,
    pub(crate) priority: Priority,
    pub(crate) deadline: Option<Instant>,
    pub(crate) is_stream: bool,
}

impl<'a> Traits<'a> {
    pub(crate) const fn of(request: &'a Request) -> Self {
        Self {
            operation: &request.operation,
            headers: &request.headers,
            priority: request.priority,
            deadline: request.deadline,
            is_stream: false,
        }
    }
}

impl<'p> Journey<'p> {
    /// Begins with the rate limit, which is asked first.
    pub(crate) fn begin(
        (shared, plan, chosen): (&'p Shared, &'p Plan, Chosen),
        side: Side,
        channel: u64,
        request: &Traits<'_>,
        now: Instant,
        random: &mut impl Random,
    ) -> Result<Self, CallError> {
        let unit = &plan.units[chosen.unit];
        let Some(route) = plan.route(chosen) else {
            return Err(local(ErrorKind::NotSent, "the route is gone".into()));
        };
        if let Some(limit) = route.limit {
            take_token(limit, unit, now, random)?;
        }
        let forward = route.forward;
        let timeout = if request.is_stream {
            forward.max_stream_duration
        } else {
            forward.timeout
        };
        let otherwise = shared.options.call_timeout;
        let hash = if route.hasher.is_empty() {
            None
        } else {
            let head = plan.head(request.operation, request.headers);
            route.hasher.hash(&head, channel)
        };
        let tries = Tries::new(forward.retry.as_deref());
        let deadline = deadline::of_request(now, request.deadline, timeout, otherwise);
        Ok(Self {
            deadline,
            try_until: deadline,
            may_repeat: tries.policy().is_some_and(|policy| {
                let head = plan.head(request.operation, request.headers);
                shared.options.repeat.allows(policy, &head)
            }),
            avoid_tried: tries
                .policy()
                .is_none_or(|policy| policy.avoid_tried_endpoints),
            shared,
            plan,
            unit,
            route,
            side,
            hash,
            tries,
            tried: Tried::default(),
            request: None,
            retry: None,
        })
    }

    /// The faults that are injected into this request.
    pub(crate) fn faults(&self, request: &Traits<'_>, random: &mut impl Random) -> Faults {
        let Some(policy) = self.route.fault else {
            return Faults::default();
        };
        let active = self.unit.live.faults.count();
        let head = self.plan.head(request.operation, request.headers);
        fault_injection::faults(policy, &head, active, random)
    }

    /// Notes a delay that is injected; it lasts until what this gives is dropped.
    pub(crate) fn delayed(&self) -> Permit<&'p Live> {
        add(&self.unit.live.counters.delayed);
        Permit::fault(&self.unit.live)
    }

    /// The answer of a request that is aborted.
    pub(crate) fn aborted(&self, abort: Answer) -> CallError {
        add(&self.unit.live.counters.aborted);
        let status = Status::new(abort.code, "fault injected by the mesh's policy");
        CallError::answered(with_status(Response::failed(status), abort))
    }

    /// Who gets a copy of this request; `seed` is random.
    pub(crate) fn mirrors(
        &self,
        plan: &'p Plan,
        seed: u64,
    ) -> impl Iterator<Item = &'p Arc<Unit>> + use<'p> {
        let mirrors = (0_u64..).zip(self.route.mirrors);
        let chosen = mirrors
            .filter(move |(number, (_, fraction))| fraction.holds(mix(seed.wrapping_add(*number))));
        chosen.filter_map(|(_, (unit, _))| plan.units.get(*unit))
    }

    /// Whether the request is let in: drops by order, admission, the circuit limit.
    pub(crate) fn admit(
        &mut self,
        request: &Traits<'_>,
        random: &mut impl Random,
    ) -> Result<(), CallError> {
        let permit = admit(&*self.unit.live, self.unit, request, random)?;
        self.request = Some(permit);
        Ok(())
    }

    /// Where the next try goes.
    pub(crate) fn pick(&self, now: Instant, random: &mut impl Random) -> Pick<'p> {
        // It would fail without being sent, and an endpoint be blamed for that.
        if now >= self.deadline {
            return Pick::Nobody(CallError::deadline_exceeded(false));
        }
        let mut view = View {
            unit: self.unit,
            side: self.side,
            now,
            avoid: if self.avoid_tried {
                self.tried
            } else {
                Tried::default()
            },
        };
        let balancer = self.unit.balancer.load();
        let mut picked = balancer.pick(self.hash, random, &view);
        if picked.is_none() && view.avoid.count > 0 {
            view.avoid = Tried::default();
            picked = balancer.pick(self.hash, random, &view);
        }
        if let Some(slot) = picked.and_then(|host| self.unit.slots.get(host as usize)) {
            return Pick::Slot(slot);
        }
        if matches!(self.side, Side::Loop(_)) && self.unit.has_prospects(self.side, now) {
            return Pick::Wait;
        }
        add(&self.unit.live.counters.no_endpoint);
        Pick::Nobody(self.nobody())
    }

    fn nobody(&self) -> CallError {
        if let Side::Loop(index) = self.side
            && self.shared.timer(index).has_ended()
        {
            return super::unary::loop_ended();
        }
        let why = self.unit.why_nobody(self.side);
        CallError::new(ErrorKind::NotSent, Origin::Transport, false, why)
    }

    /// The request's permit, for whoever outlives the journey.
    pub(crate) fn own_permit(&mut self) -> Option<Permit<Arc<Live>>> {
        let permit = self.request.take()?;
        // The count stays as it is: one permit goes, another comes.
        let owned = Permit {
            live: Arc::clone(&self.unit.live),
            leave: permit.leave,
        };
        std::mem::forget(permit);
        Some(owned)
    }

    /// Lets the request wait for a connection, unless too many do.
    pub(crate) fn wait(&self) -> Result<Permit<&'p Live>, CallError> {
        let most = self.unit.config.circuit.max_pending;
        Permit::pending(&*self.unit.live, most).ok_or_else(|| {
            add(&self.unit.live.counters.shed_pending);
            let name = &self.unit.name;
            let why = format!("{most} requests wait for a connection to cluster {name} already");
            local(ErrorKind::Overloaded, why)
        })
    }

    /// The deadline of a try that begins now.
    pub(crate) fn try_deadline(&mut self, now: Instant) -> Instant {
        let per_try = self
            .tries
            .policy()
            .and_then(|policy| policy.per_try_timeout);
        self.try_until = deadline::of_try(now, self.deadline, per_try);
        self.try_until
    }

    /// What comes after a try.
    pub(crate) fn ended(
        &mut self,
        slot: &Slot,
        began: Instant,
        now: Instant,
        outcome: Outcome,
        random: &mut impl Random,
    ) -> Next {
        // Both ends watch the deadline: which of them told is chance.
        let outcome = match outcome {
            Outcome::Answered(Answer {
                code: Code::DeadlineExceeded,
                status: 504,
            }) if now + DEADLINE_ROUNDING >= self.try_until => Outcome::TimedOut,
            outcome => outcome,
        };
        note(
            self.shared,
            self.unit,
            &slot.endpoint,
            Some(began),
            now,
            outcome,
            random,
        );
        self.retry = None;
        if outcome.is_success() {
            return Next::End;
        }
        let next = self
            .tries
            .ended(outcome, self.may_repeat, now, self.deadline, random);
        if next == Next::End {
            return Next::End;
        }
        let place = self
            .unit
            .slots
            .iter()
            .position(|other| std::ptr::eq(other, slot));
        if let Some(host) = place.and_then(|place| u32::try_from(place).ok()) {
            self.tried.add(host);
        }
        let counters = &self.unit.live.counters;
        if let Next::Again(_) = next {
            let requests = self.unit.live.breaker.requests.count();
            let most = retry_budget::limit(&self.unit.config.circuit, requests);
            self.retry = Permit::retry(&*self.unit.live, most);
            if self.retry.is_none() {
                add(&counters.retries_over_budget);
                return Next::End;
            }
            add(&counters.retries);
        } else {
            add(&counters.elsewhere);
        }
        next
    }
}

/// Any endpoint of a unit that can be used, for copies.
pub(crate) fn any_endpoint<'a>(
    unit: &'a Unit,
    side: Side,
    now: Instant,
    random: &mut impl Random,
) -> Option<&'a Arc<Endpoint>> {
    let view = View {
        unit,
        side,
        now,
        avoid: Tried::default(),
    };
    let picked = unit.balancer.load().pick(None, random, &view)?;
    unit.slots.get(picked as usize).map(|slot| &slot.endpoint)
}

/// Lets a request into a cluster; `live` is the unit's, borrowed or owned.
pub(crate) fn admit<L: Deref<Target = Live>>(
    live: L,
    unit: &Unit,
    request: &Traits<'_>,
    random: &mut impl Random,
) -> Result<Permit<L>, CallError> {
    let counters = &unit.live.counters;
    for drop in &unit.endpoints.drops {
        if drop.fraction.holds(random.next()) {
            add(&counters.dropped);
            let (name, category) = (&unit.name, &drop.category);
            let why = format!("dropped by the control plane's order: cluster {name}, {category}");
            return Err(local(ErrorKind::Overloaded, why));
        }
    }
    let in_flight = unit.live.breaker.requests.count();
    if let Some(limits) = &unit.config.admission
        && !admission::admits(limits, in_flight, request.priority)
    {
        add(&counters.shed_admission);
        let (name, priority) = (&unit.name, request.priority.value());
        let why = format!(
            "shed: {in_flight} requests to cluster {name} are on their way, too many for priority {priority}"
        );
        return Err(local(ErrorKind::Overloaded, why));
    }
    let most = unit.config.circuit.max_requests;
    Permit::request(live, most).ok_or_else(|| {
        add(&counters.shed_circuit);
        let name = &unit.name;
        let why =
            format!("the circuit of cluster {name} is open: {most} requests are on their way");
        local(ErrorKind::Overloaded, why)
    })
}

fn take_token(
    limit: &Limit,
    unit: &Unit,
    now: Instant,
    random: &mut impl Random,
) -> Result<(), CallError> {
    if limit.bucket.take(now) || !limit.config.enforced.holds(random.next()) {
        return Ok(());
    }
    add(&unit.live.counters.rate_limited);
    let status = limit.config.status;
    if status != 429
        && let Err(answered) = answer(status, Body::new())
    {
        return Err(answered);
    }
    let why = "the route's rate limit is used up; try again later".into();
    Err(local(ErrorKind::Overloaded, why))
}

/// Notes how a try at an endpoint ended: counters, latency, outliers.
pub(crate) fn note(
    shared: &Shared,
    unit: &Unit,
    endpoint: &Endpoint,
    began: Option<Instant>,
    now: Instant,
    outcome: Outcome,
    random: &mut impl Random,
) {
    endpoint.counters.count(Counter::of(outcome));
    if let Some(began) = began {
        let took = now.saturating_duration_since(began);
        match outcome.verdict() {
            Some(Verdict::Success) => endpoint.latency.observe(now, took),
            Some(_) => endpoint.latency.observe_failure(now, took),
            None => {}
        }
    }
    note_silence(shared, unit, endpoint, began, now, outcome, random);
    let (Some(policy), Some(verdict)) = (&unit.config.outlier, outcome.verdict()) else {
        return;
    };
    if endpoint.record.note(policy, verdict).is_none() || endpoint.record.is_ejected() {
        return;
    }
    // Rare: one at a time, so that two threads together do not eject too many.
    let _registry = shared.registry();
    let (mut ejected, mut all) = (0, 0);
    for endpoint in unit.endpoints() {
        ejected += usize::from(endpoint.record.is_ejected());
        all += 1;
    }
    if !endpoint.record.is_ejected() && outlier::may_eject(policy, ejected, all) {
        endpoint.record.eject(policy, now, random);
        add(&unit.live.counters.ejections);
        unit.rebalance(now, shared, random);
        shared.signal.raise();
    }
}

/// Notes whether an endpoint answers at all.
fn note_silence(
    shared: &Shared,
    unit: &Unit,
    endpoint: &Endpoint,
    began: Option<Instant>,
    now: Instant,
    outcome: Outcome,
    random: &mut impl Random,
) {
    let changed = match outcome {
        Outcome::Answered(_) | Outcome::Refused | Outcome::Overloaded => {
            endpoint.silence.answered()
        }
        Outcome::TimedOut => {
            let had = began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
            endpoint
                .silence
                .timed_out(now, had, || may_leave_out(shared, unit))
        }
        _ => false,
    };
    if changed {
        unit.rebalance(now, shared, random);
        shared.signal.raise();
    }
}

/// Whether enough endpoints remain without another one.
pub(crate) fn may_leave_out(shared: &Shared, unit: &Unit) -> bool {
    // Rare: one at a time, so that two threads together do not leave out too many.
    let _registry = shared.registry();
    let silent = unit.endpoints().filter(|it| it.silence.is_silent()).count();
    silence::may_leave_out(silent, unit.endpoints().count())
}

pub(crate) fn local(kind: ErrorKind, why: String) -> CallError {
    CallError::new(kind, Origin::Local, false, why)
}
