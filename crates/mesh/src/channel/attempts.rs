//! A call through the mesh as a state machine: it decides, its driver waits and sends.
//!
//! ```text
//!              AwaitConfig              Delay       Mirror          AwaitConnection
//!                 ┌─┐                    ┌─┐         ┌─┐                 ┌─┐
//!   new ──────▶ routing ─▶ rate limit ─▶ faults ─▶ mirrors ─▶ admit ─▶ picking ─▶ Send
//!                 │            │           │                    │        │ ▲        │ ended
//!                 ▼            ▼           ▼                    ▼        ▼ │        ▼
//!               Finish       Finish      Finish               Finish   Finish ◀── judged
//!                                                                         └──Delay──┘
//! ```
//!
//! Sans-IO: the time and random numbers are arguments, nothing here waits or reads a clock. Every
//! gauge that a call occupies is given back when the machine is dropped, at whatever stage.

use super::chance::after;
use super::cluster::{ClusterRuntime, Live, Slot};
use super::endpoint::Endpoint;
use super::env::{Env, Side};
use super::message::{CallHead, Kind, Message};
use super::permit::{InFlight, OpenStream, Permit, admit, local};
use super::pick::{Tried, pick};
use super::plan::{Limit, Plan, RouteView, Verdict};
use super::record;
use super::target::TargetState;
use crate::observe::Counter;
use crate::observe::counters::add;
use crate::policy::outcome::{Answer, Outcome};
use crate::policy::protect::deadline;
use crate::policy::protect::fault_injection::faults;
use crate::policy::protect::retry::{Next, Tries};
use crate::policy::random::{Random, mix};
use corewire_message::{Body, CallError, Code, ErrorKind, Origin, Response};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Deadlines travel in whole milliseconds at worst, so that the peer may find one passed this much
/// earlier.
const DEADLINE_ROUNDING: Duration = Duration::from_millis(1);

/// What a driver does next. After everything but `Finish` it calls [`CallAttempts::next`] again.
pub(crate) enum Step<'p> {
    /// Wait until then.
    Delay(Instant),
    /// Wait until the configuration changes, at most until then.
    AwaitConfig(Instant),
    /// Wait until a connection changes, at most until then.
    AwaitConnection(Instant),
    /// Send a copy to this cluster; its answer is of no interest.
    Mirror(&'p Arc<ClusterRuntime>),
    /// Send [`CallAttempts::message`] to this endpoint.
    Send(&'p Arc<Endpoint>),
    /// Return this to the caller.
    Finish(Finish),
}

/// How a call ends.
pub(crate) enum Finish {
    /// With the result of its last attempt.
    LastAttempt,
    /// With an answer that a policy gave instead of a server.
    Answer(Result<Response, CallError>),
    /// Without an answer.
    Failed(CallError),
}

/// What happened since the last step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// The call begins, or the step is done.
    Ready,
    /// The attempt ended.
    Ended(Outcome),
}

/// Where a driver holds the plan that its call is routed by; empty when the call begins.
pub(crate) type PlanHolder = Option<Arc<Plan>>;

/// One call: where it goes, how often it is tried, and what it occupies meanwhile.
pub(crate) struct CallAttempts<'p, M> {
    env: &'p Env,
    target: &'p TargetState,
    side: Side,
    message: M,
    /// How long to wait for the configuration; set at the first wait.
    config_until: Option<Instant>,
    /// Taken when the call is routed.
    plan: Option<&'p mut PlanHolder>,
    routed: Option<Routed<'p>>,
}

/// A call that has a route.
struct Routed<'p> {
    kind: Kind,
    plan: &'p Plan,
    cluster: &'p Arc<ClusterRuntime>,
    route: RouteView<'p>,
    stage: Stage<'p>,
    deadline: Instant,
    hash: Option<u64>,
    tries: Tries<'p>,
    tried: Tried,
    avoid_tried: bool,
    may_repeat: bool,
    /// When the current attempt must be answered.
    try_until: Instant,
    request: Option<Permit<&'p Live>>,
    retry: Option<Permit<&'p Live>>,
    /// While it waits for a connection or is delayed by a fault.
    waiting: Option<Permit<&'p Live>>,
}

enum Stage<'p> {
    /// Faults are drawn.
    Faults,
    /// A fault delays it; it may be aborted afterwards.
    Delayed(Option<Answer>),
    /// Copies are sent; this mirror is next.
    Mirroring { seed: u64, next: usize },
    /// It is admitted.
    Admitting,
    /// An endpoint is picked. With `true` it was waited for.
    Picking { waited: bool },
    /// It was sent.
    Attempt {
        host: u32,
        slot: &'p Slot,
        began: Instant,
        in_flight: InFlight<&'p Endpoint>,
    },
}

impl<'p, M: Message> CallAttempts<'p, M> {
    /// A call that begins with the first [`next`](Self::next).
    pub(crate) const fn new(
        env: &'p Env,
        target: &'p TargetState,
        side: Side,
        plan: &'p mut PlanHolder,
        message: M,
    ) -> Self {
        Self {
            env,
            target,
            side,
            message,
            config_until: None,
            plan: Some(plan),
            routed: None,
        }
    }

    /// What the driver does next.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        progress: Progress,
        random: &mut impl Random,
    ) -> Step<'p> {
        if self.routed.is_none()
            && let Some(step) = self.route(now, random)
        {
            return step;
        }
        let Some(routed) = &mut self.routed else {
            return Step::Finish(Finish::LastAttempt);
        };
        if let Progress::Ended(outcome) = progress {
            return routed.ended((self.env, self.side), now, outcome, random);
        }
        if !matches!(routed.stage, Stage::Picking { .. })
            && let Some(step) = routed.prepare(&self.message.head(), now, random)
        {
            return step;
        }
        routed.pick((self.env, self.side), now, random)
    }

    /// The message that the attempt sends.
    pub(crate) fn message(&mut self, now: Instant) -> M::Sent {
        let until = self.routed.as_ref().map_or(now, |routed| routed.try_until);
        self.message.next(until)
    }

    /// The message, before the first attempt.
    pub(crate) const fn unsent(&self) -> &M {
        &self.message
    }

    /// What the stream that the last attempt opened occupies; `None` when none was opened.
    pub(crate) fn into_stream(self) -> Option<StreamHold> {
        let routed = self.routed.filter(|routed| routed.kind == Kind::Stream)?;
        let Stage::Attempt {
            slot, in_flight, ..
        } = routed.stage
        else {
            return None;
        };
        let live = &routed.cluster.live;
        Some(StreamHold {
            endpoint: Arc::clone(&slot.endpoint),
            cluster: Arc::clone(routed.cluster),
            _request: routed.request.map(|permit| permit.into_owned(live)),
            _in_flight: OpenStream::of(in_flight, &slot.endpoint),
        })
    }

    /// Finds the route and takes a token of its rate limit; `None` when that is done.
    fn route(&mut self, now: Instant, random: &mut impl Random) -> Option<Step<'p>> {
        let failed = |error| Some(Step::Finish(Finish::Failed(error)));
        let plan = self.target.plan.load_full();
        let head = self.message.head();
        let chosen = match plan.decide(head.operation, head.headers, random) {
            Verdict::Forward(chosen) => chosen,
            Verdict::Answer(result) => return Some(Step::Finish(Finish::Answer(result))),
            Verdict::Pending(why) => {
                let timeout = self.env.options.call_timeout;
                let until = head.deadline.unwrap_or_else(|| after(now, timeout));
                let until = *self.config_until.get_or_insert(until);
                if now >= until {
                    return failed(pending(&self.target.name, &why));
                }
                if self.env.has_ended(self.side) {
                    return failed(loop_ended());
                }
                return Some(Step::AwaitConfig(until));
            }
        };
        // It is there: a call that has a route is not routed again.
        let plan: &'p Plan = self.plan.take()?.insert(plan);
        let cluster = &plan.clusters[chosen.cluster];
        let Some(route) = plan.route(chosen) else {
            return failed(local(ErrorKind::NotSent, "the route is gone".into()));
        };
        if let Some(limit) = route.limit
            && let Err(error) = take_token(limit, cluster, now, random)
        {
            return failed(error);
        }
        let at = (plan, cluster, route);
        let from = (&head, self.target.hash);
        self.routed = Some(Routed::new(self.env, M::KIND, at, from, now));
        None
    }
}

impl<'p> Routed<'p> {
    fn new(
        env: &Env,
        kind: Kind,
        (plan, cluster, route): (&'p Plan, &'p Arc<ClusterRuntime>, RouteView<'p>),
        (head, channel): (&CallHead<'_>, u64),
        now: Instant,
    ) -> Self {
        let forward = route.forward;
        let timeout = match kind {
            Kind::Stream => forward.max_stream_duration,
            Kind::Unary | Kind::Event => forward.timeout,
        };
        let otherwise = env.options.call_timeout;
        let deadline = deadline::of_request(now, head.deadline, timeout, otherwise);
        let hash = if route.hasher.is_empty() {
            None
        } else {
            let head = plan.head(head.operation, head.headers);
            route.hasher.hash(&head, channel)
        };
        let retry = forward.retry.as_deref();
        let may_repeat = |policy| {
            let head = plan.head(head.operation, head.headers);
            // An event is not answered: nothing would say that it did not arrive.
            kind != Kind::Event && env.options.repeat.allows(policy, &head)
        };
        Self {
            kind,
            stage: Stage::Faults,
            deadline,
            try_until: deadline,
            hash,
            may_repeat: retry.is_some_and(may_repeat),
            avoid_tried: retry.is_none_or(|policy| policy.avoid_tried_endpoints),
            tries: Tries::new(retry),
            tried: Tried::default(),
            plan,
            cluster,
            route,
            request: None,
            retry: None,
            waiting: None,
        }
    }

    /// What comes before the first attempt: faults, mirrors, admission. `None` when all is done.
    fn prepare(
        &mut self,
        head: &CallHead<'_>,
        now: Instant,
        random: &mut impl Random,
    ) -> Option<Step<'p>> {
        match self.stage {
            Stage::Faults => {
                if let Some(policy) = self.route.fault {
                    let active = self.cluster.live.faults.count();
                    let head = self.plan.head(head.operation, head.headers);
                    let faults = faults(policy, &head, active, random);
                    if let Some(delay) = faults.delay {
                        self.waiting = Some(Permit::delayed(self.cluster));
                        self.stage = Stage::Delayed(faults.abort);
                        return Some(Step::Delay(after(now, delay).min(self.deadline)));
                    }
                    if let Some(abort) = faults.abort {
                        return Some(self.aborted(abort));
                    }
                }
                self.begin_mirroring(random);
            }
            Stage::Delayed(abort) => {
                self.waiting = None;
                if now >= self.deadline {
                    let error = CallError::deadline_exceeded(false);
                    return Some(Step::Finish(Finish::Failed(error)));
                }
                if let Some(abort) = abort {
                    return Some(self.aborted(abort));
                }
                self.begin_mirroring(random);
            }
            _ => {}
        }
        if let Stage::Mirroring { seed, next } = self.stage {
            let mirrors = (0_u64..).zip(self.route.mirrors).skip(next);
            for (number, (cluster, fraction)) in mirrors {
                if fraction.holds(mix(seed.wrapping_add(number)))
                    && let Some(cluster) = self.plan.clusters.get(*cluster)
                {
                    let next = number as usize + 1;
                    self.stage = Stage::Mirroring { seed, next };
                    return Some(Step::Mirror(cluster));
                }
            }
            self.stage = Stage::Admitting;
        }
        if matches!(self.stage, Stage::Admitting) {
            match admit(&*self.cluster.live, self.cluster, head, random) {
                Ok(permit) => self.request = Some(permit),
                Err(error) => return Some(Step::Finish(Finish::Failed(error))),
            }
            self.stage = Stage::Picking { waited: false };
        }
        None
    }

    fn begin_mirroring(&mut self, random: &mut impl Random) {
        self.stage = if self.kind != Kind::Unary || self.route.mirrors.is_empty() {
            Stage::Admitting
        } else {
            let seed = random.next();
            Stage::Mirroring { seed, next: 0 }
        };
    }

    /// The answer of a call that a fault aborts.
    fn aborted(&self, abort: Answer) -> Step<'p> {
        add(&self.cluster.live.counters.aborted);
        let answer = abort.into_result("fault injected by the mesh's policy", Body::new());
        Step::Finish(Finish::Answer(answer))
    }

    /// Where the next attempt goes.
    fn pick(
        &mut self,
        (env, side): (&Env, Side),
        now: Instant,
        random: &mut impl Random,
    ) -> Step<'p> {
        self.waiting = None;
        if matches!(self.stage, Stage::Picking { waited: true }) && env.has_ended(side) {
            return Step::Finish(Finish::Failed(loop_ended()));
        }
        // The attempt would fail without being sent, and an endpoint be blamed for that.
        if now >= self.deadline {
            return self.give_up(|| CallError::deadline_exceeded(false));
        }
        let avoid = if self.avoid_tried {
            self.tried
        } else {
            Tried::default()
        };
        let cluster = self.cluster;
        let host = pick(cluster, side, self.hash, avoid, now, random);
        if let Some(host) = host
            && let Some(slot) = cluster.slots.get(host as usize)
        {
            if self.kind == Kind::Unary {
                let policy = self.tries.policy();
                let per_try = policy.and_then(|policy| policy.per_try_timeout);
                self.try_until = deadline::of_try(now, self.deadline, per_try);
            }
            self.stage = Stage::Attempt {
                host,
                slot,
                began: now,
                in_flight: InFlight::enter(&*slot.endpoint),
            };
            return Step::Send(&slot.endpoint);
        }
        if matches!(side, Side::Loop(_)) && cluster.has_prospects(side, now) {
            return match Permit::pending(cluster) {
                Ok(permit) => {
                    self.waiting = Some(permit);
                    self.stage = Stage::Picking { waited: true };
                    Step::AwaitConnection(self.deadline)
                }
                Err(error) => Step::Finish(Finish::Failed(error)),
            };
        }
        add(&cluster.live.counters.no_endpoint);
        self.give_up(|| {
            if env.has_ended(side) {
                return loop_ended();
            }
            let why = cluster.why_no_endpoint(side);
            CallError::not_sent(Origin::Transport, why)
        })
    }

    /// Ends a call that cannot be sent: with its last attempt's result if there was one.
    fn give_up(&self, why: impl FnOnce() -> CallError) -> Step<'p> {
        Step::Finish(if self.tries.beyond_the_first() > 0 {
            Finish::LastAttempt
        } else {
            Finish::Failed(why())
        })
    }

    /// What comes after an attempt.
    fn ended(
        &mut self,
        (env, side): (&Env, Side),
        now: Instant,
        outcome: Outcome,
        random: &mut impl Random,
    ) -> Step<'p> {
        const FINISH: Step<'_> = Step::Finish(Finish::LastAttempt);
        let Stage::Attempt {
            host, slot, began, ..
        } = self.stage
        else {
            return FINISH;
        };
        if outcome.is_success() {
            match self.kind {
                Kind::Unary => {}
                // That it was sent says nothing about the endpoint.
                Kind::Event => {
                    slot.endpoint.counters.count(Counter::Ok);
                    return FINISH;
                }
                // Its end is recorded when it comes: see `into_stream`.
                Kind::Stream => return FINISH,
            }
        }
        // Both ends watch the deadline: which of them reports first is chance.
        let is_timeout = outcome == Outcome::Answered(Answer::of_code(Code::DeadlineExceeded))
            && now + DEADLINE_ROUNDING >= self.try_until;
        let outcome = if is_timeout {
            Outcome::TimedOut
        } else {
            outcome
        };
        // The attempt is no longer in flight.
        self.stage = Stage::Picking { waited: false };
        self.retry = None;
        let (cluster, endpoint) = (self.cluster, &slot.endpoint);
        record::attempt(env, cluster, endpoint, Some(began), now, outcome, random);
        if outcome.is_success() {
            return FINISH;
        }
        let tries = &mut self.tries;
        let next = tries.ended(outcome, self.may_repeat, now, self.deadline, random);
        match next {
            Next::End => FINISH,
            Next::Elsewhere => {
                add(&cluster.live.counters.elsewhere);
                self.tried.add(host);
                self.pick((env, side), now, random)
            }
            Next::Again(wait) => {
                self.tried.add(host);
                self.retry = Permit::retry(cluster);
                match self.retry {
                    Some(_) => Step::Delay(now + wait),
                    None => FINISH,
                }
            }
        }
    }
}

/// What an open stream occupies until its end.
pub(crate) struct StreamHold {
    endpoint: Arc<Endpoint>,
    cluster: Arc<ClusterRuntime>,
    _request: Option<Permit<Arc<Live>>>,
    _in_flight: OpenStream,
}

impl StreamHold {
    /// Records how the stream ended.
    pub(crate) fn ended(self, env: &Env, now: Instant, outcome: Outcome, random: &mut impl Random) {
        // How long a stream lasts says nothing about its endpoint.
        record::attempt(
            env,
            &self.cluster,
            &self.endpoint,
            None,
            now,
            outcome,
            random,
        );
    }
}

fn take_token(
    limit: &Limit,
    cluster: &ClusterRuntime,
    now: Instant,
    random: &mut impl Random,
) -> Result<(), CallError> {
    if limit.bucket.take(now) || !limit.config.enforced.holds(random.next()) {
        return Ok(());
    }
    add(&cluster.live.counters.rate_limited);
    let status = limit.config.status;
    if status != 429
        && let Err(answered) = Answer::of_status(status).into_result("", Body::new())
    {
        return Err(answered);
    }
    let why = "the route's rate limit is used up; try again later".into();
    Err(local(ErrorKind::Overloaded, why))
}

fn pending(target: &str, why: &str) -> CallError {
    let why = format!(
        "target {target} could not be resolved in time: the control plane has not sent {why}"
    );
    local(ErrorKind::NotSent, why)
}

/// The event loop that would wait or send for a call has ended.
pub(crate) fn loop_ended() -> CallError {
    let why = "the event loop of this channel has ended; use a mesh with a running one";
    local(ErrorKind::NotSent, why.into())
}
