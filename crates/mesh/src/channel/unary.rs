//! Requests and events of callers that await.

use super::MeshChannel;
use super::chance::{ThreadRandom, after, clock};
use super::journey::{InFlight, Journey, Pick, Traits, admit, any_endpoint, local, note};
use super::kept::Kept;
use super::plan::{Chosen, Plan, Verdict};
use super::shared::Shared;
use super::unit::{Side, Unit};
use crate::observe::counters::add;
use crate::policy::outcome::Outcome;
use crate::policy::protect::fault_injection::Faults;
use crate::policy::protect::retry::Next;
use crate::policy::random::Random;
use corewire_message::{
    CallError, Caller, ErrorKind, Event, Headers, Operation, Request, Response,
};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

/// A plan and what it says of a request.
pub(super) enum Decided {
    Answer(Result<Response, CallError>),
    Forward(Arc<Plan>, Chosen),
}

impl MeshChannel {
    /// What happens to a request; waits while the control plane has not said.
    pub(super) async fn decide(
        &self,
        operation: &Operation,
        headers: &Headers,
        deadline: Option<Instant>,
    ) -> Result<Decided, CallError> {
        let mut until = deadline;
        loop {
            let seen = self.shared.waiters.generation();
            let plan = self.target.plan.load_full();
            match plan.decide(operation, headers, &mut ThreadRandom) {
                Verdict::Forward(chosen) => return Ok(Decided::Forward(plan, chosen)),
                Verdict::Answer(result) => return Ok(Decided::Answer(result)),
                Verdict::Pending(why) => {
                    let timeout = self.shared.options.call_timeout;
                    let until = *until.get_or_insert_with(|| after(clock(), timeout));
                    if clock() >= until {
                        return Err(pending(&self.target.name, &why));
                    }
                    wait(&self.shared, self.index, seen, until).await?;
                }
            }
        }
    }

    /// Holds a request back or ends it, as its faults say; gives the time then.
    async fn inject(
        &self,
        journey: &Journey<'_>,
        faults: Faults,
        mut now: Instant,
    ) -> Result<Instant, CallError> {
        if let Some(delay) = faults.delay {
            let _delayed = journey.delayed();
            let until = after(now, delay).min(journey.deadline);
            self.shared.timer(self.index).sleep_until(until).await;
            now = clock();
            if now >= journey.deadline {
                return Err(CallError::deadline_exceeded(false));
            }
        }
        match faults.abort {
            Some(code) => Err(journey.aborted(code)),
            None => Ok(now),
        }
    }

    pub(super) async fn call_through(&self, mut request: Request) -> Result<Response, CallError> {
        let (operation, headers) = (&request.operation, &request.headers);
        let (plan, chosen) = match self.decide(operation, headers, request.deadline).await? {
            Decided::Forward(plan, chosen) => (plan, chosen),
            Decided::Answer(result) => return result,
        };
        let mut random = ThreadRandom;
        let mut now = clock();
        let traits = Traits::of(&request);
        let at = (&*self.shared, &*plan, chosen);
        let side = Side::Loop(self.index);
        let mut journey = Journey::begin(at, side, self.target.hash, &traits, now, &mut random)?;
        let faults = journey.faults(&traits, &mut random);
        if !faults.is_none() {
            now = self.inject(&journey, faults, now).await?;
        }
        for unit in journey.mirrors(&plan, random.next()) {
            mirror(&self.shared, side, unit, &request);
        }
        journey.admit(&traits, &mut random)?;
        let kept = Kept::of(&request);
        request.deadline = None;
        let mut request = Some(request);
        let mut last: Option<Result<Response, CallError>> = None;
        loop {
            let seen = self.shared.waiters.generation();
            let slot = match journey.pick(now, &mut random) {
                Pick::Slot(slot) => slot,
                Pick::Wait => {
                    let _waiting = journey.wait()?;
                    wait(&self.shared, self.index, seen, journey.deadline).await?;
                    now = clock();
                    continue;
                }
                Pick::Nobody(error) => return last.unwrap_or(Err(error)),
            };
            let Some(client) = slot.endpoint.client(self.index) else {
                return Err(local(ErrorKind::NotSent, "there is no such loop".into()));
            };
            let deadline = Some(journey.try_deadline(now));
            let sent = match request.take() {
                Some(first) => Request { deadline, ..first },
                None => kept.request(deadline),
            };
            let began = now;
            let result = {
                let _in_flight = InFlight::enter(&*slot.endpoint);
                client.call(sent).await
            };
            now = clock();
            match journey.ended(slot, began, now, Outcome::of(&result), &mut random) {
                Next::End => return result,
                Next::Elsewhere => {}
                Next::Again(wait) => {
                    self.shared.timer(self.index).sleep_until(now + wait).await;
                    now = clock();
                }
            }
            last = Some(result);
        }
    }

    pub(super) async fn send_through(&self, event: Event) -> Result<(), CallError> {
        let decided = self.decide(&event.operation, &event.headers, None).await?;
        let (plan, chosen) = match decided {
            Decided::Forward(plan, chosen) => (plan, chosen),
            Decided::Answer(result) => return result.map(drop),
        };
        let mut random = ThreadRandom;
        let mut now = clock();
        let traits = Traits {
            operation: &event.operation,
            headers: &event.headers,
            priority: event.priority,
            deadline: None,
            is_stream: false,
        };
        let at = (&*self.shared, &*plan, chosen);
        let side = Side::Loop(self.index);
        let mut journey = Journey::begin(at, side, self.target.hash, &traits, now, &mut random)?;
        let faults = journey.faults(&traits, &mut random);
        if !faults.is_none() {
            now = self.inject(&journey, faults, now).await?;
        }
        journey.admit(&traits, &mut random)?;
        let mut last = None;
        loop {
            let seen = self.shared.waiters.generation();
            let slot = match journey.pick(now, &mut random) {
                Pick::Slot(slot) => slot,
                Pick::Wait => {
                    let _waiting = journey.wait()?;
                    wait(&self.shared, self.index, seen, journey.deadline).await?;
                    now = clock();
                    continue;
                }
                Pick::Nobody(error) => return Err(last.unwrap_or(error)),
            };
            let Some(client) = slot.endpoint.client(self.index) else {
                return Err(local(ErrorKind::NotSent, "there is no such loop".into()));
            };
            let _in_flight = InFlight::enter(&*slot.endpoint);
            let Err(error) = client.send(event.clone()).await else {
                slot.endpoint.counters.count(crate::observe::Counter::Ok);
                return Ok(());
            };
            let began = now;
            now = clock();
            let outcome = Outcome::of_error(&error);
            match journey.ended(slot, began, now, outcome, &mut random) {
                Next::Elsewhere => last = Some(error),
                // An event is not answered: nothing says that it was not delivered.
                Next::End | Next::Again(_) => return Err(error),
            }
        }
    }
}

pub(super) fn pending(target: &str, why: &str) -> CallError {
    let why = format!(
        "target {target} could not be resolved in time: the control plane has not sent {why}"
    );
    local(ErrorKind::NotSent, why)
}

/// Waits until something happened since `seen` was read, at most until then.
///
/// # Errors
/// When the loop that keeps the time has ended.
pub(super) async fn wait(
    shared: &Shared,
    index: usize,
    seen: u64,
    until: Instant,
) -> Result<(), CallError> {
    let timer = shared.timer(index);
    let mut passed = pin!(timer.sleep_until(until));
    let mut happened = pin!(shared.waiters.happened(seen));
    poll_fn(|cx| match happened.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => passed.as_mut().poll(cx),
    })
    .await;
    if timer.has_ended() {
        return Err(loop_ended());
    }
    Ok(())
}

pub(super) fn loop_ended() -> CallError {
    let why = "the event loop of this channel has ended; use a mesh with a running one";
    local(ErrorKind::NotSent, why.into())
}

/// Sends a copy of a request and forgets it: its end is counted, nothing more.
pub(super) fn mirror(shared: &Arc<Shared>, side: Side, unit: &Arc<Unit>, request: &Request) {
    let (mut random, now) = (ThreadRandom, clock());
    let index = match side {
        Side::Loop(index) => index,
        // A thread does not wait for a copy: a loop sends it.
        Side::Thread => 0,
    };
    let Some(endpoint) = any_endpoint(unit, side, now, &mut random) else {
        return;
    };
    let Some(client) = endpoint.client(index) else {
        return;
    };
    // A mirror that hangs must not gather copies without end.
    let live = Arc::clone(&unit.live);
    let Ok(permit) = admit(live, unit, &Traits::of(request), &mut random) else {
        return;
    };
    add(&unit.live.counters.mirrored);
    let deadline = after(now, shared.options.call_timeout);
    let copy = Kept::of(request).request(Some(
        request.deadline.map_or(deadline, |at| at.min(deadline)),
    ));
    let (shared, unit) = (Arc::downgrade(shared), Arc::clone(unit));
    let in_flight = InFlight::enter(Arc::clone(endpoint));
    let endpoint = Arc::clone(endpoint);
    client.call_then(copy, move |result| {
        drop((in_flight, permit));
        if let Some(shared) = shared.upgrade() {
            let (now, outcome) = (clock(), Outcome::of(&result));
            note(
                &shared,
                &unit,
                &endpoint,
                None,
                now,
                outcome,
                &mut ThreadRandom,
            );
        }
    });
}
