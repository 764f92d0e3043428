//! The mesh for threads that wait: the same stages, and each call drives its own socket.

use super::chance::{ThreadRandom, after, clock};
use super::endpoint::Endpoint;
use super::journey::{InFlight, Journey, OpenStream, Permit, Pick, Traits, local, note};
use super::kept::Kept;
use super::plan::{Chosen, Plan, Verdict};
use super::shared::{Shared, TargetState};
use super::unary::{mirror, pending};
use super::unit::{Live, Side, Unit};
use crate::observe::story;
use crate::policy::outcome::Outcome;
use crate::policy::protect::retry::Next;
use crate::policy::random::Random;
use corewire_message::blocking::{CallStream, Caller, StreamDriver};
use corewire_message::{
    Body, CallError, Code, ErrorKind, Event, Headers, Operation, Request, Response,
};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A way to a target through the mesh, for threads that may block. Clones share it.
#[derive(Clone)]
pub struct MeshChannel {
    pub(super) shared: Arc<Shared>,
    pub(super) target: Arc<TargetState>,
}

enum Decided {
    Answer(Result<Response, CallError>),
    Forward(Arc<Plan>, Chosen),
}

impl MeshChannel {
    /// The target's name.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target.name
    }

    fn decide(
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
                    self.shared.waiters.wait(seen, until, clock);
                }
            }
        }
    }

    /// Tries `send` at one endpoint after the other until it ends well or for good.
    fn try_each<T>(
        &self,
        journey: &mut Journey<'_>,
        mut now: Instant,
        mut send: impl FnMut(&Arc<Endpoint>, Instant) -> (Outcome, Result<T, CallError>),
    ) -> Result<T, CallError> {
        let mut random = ThreadRandom;
        let mut last = None;
        loop {
            let slot = match journey.pick(now, &mut random) {
                Pick::Slot(slot) => slot,
                // Nobody else connects for a thread.
                Pick::Wait => return Err(CallError::deadline_exceeded(false)),
                Pick::Nobody(error) => return last.unwrap_or(Err(error)),
            };
            let deadline = journey.try_deadline(now);
            let began = now;
            let (outcome, result) = send(&slot.endpoint, deadline);
            now = clock();
            match (&result, outcome) {
                (Err(error), Outcome::NotSent) => {
                    let why = story(error);
                    slot.endpoint.thread_failed(now, &why, &mut random);
                    self.shared.signal.raise();
                }
                (_, Outcome::Answered(_)) => slot.endpoint.thread_succeeded(),
                _ => {}
            }
            // A stream that is open: its end is noted when it comes.
            if result.is_ok() && outcome == Outcome::Own {
                return result;
            }
            match journey.ended(slot, began, now, outcome, &mut random) {
                Next::End => return result,
                Next::Elsewhere => {}
                Next::Again(wait) => {
                    std::thread::sleep(wait);
                    now = clock();
                }
            }
            last = Some(result);
        }
    }

    /// Begins a journey and does what comes before its first try.
    fn set_out<'p>(
        &'p self,
        plan: &'p Plan,
        chosen: Chosen,
        traits: &Traits<'_>,
        now: Instant,
    ) -> Result<Journey<'p>, CallError> {
        let mut random = ThreadRandom;
        let at = (&*self.shared, plan, chosen);
        let hash = self.target.hash;
        let mut journey = Journey::begin(at, Side::Thread, hash, traits, now, &mut random)?;
        let faults = journey.faults(traits, &mut random);
        if let Some(delay) = faults.delay {
            let _delayed = journey.delayed();
            let left = journey.deadline.saturating_duration_since(now);
            std::thread::sleep(delay.min(left));
            if delay >= left {
                return Err(CallError::deadline_exceeded(false));
            }
        }
        if let Some(code) = faults.abort {
            return Err(journey.aborted(code));
        }
        journey.admit(traits, &mut random)?;
        Ok(journey)
    }
}

impl Caller for MeshChannel {
    fn call(&self, request: Request) -> Result<Response, CallError> {
        let (operation, headers) = (&request.operation, &request.headers);
        let (plan, chosen) = match self.decide(operation, headers, request.deadline)? {
            Decided::Forward(plan, chosen) => (plan, chosen),
            Decided::Answer(result) => return result,
        };
        let traits = Traits::of(&request);
        let mut journey = self.set_out(&plan, chosen, &traits, clock())?;
        let mirrors = journey.mirrors(&plan, ThreadRandom.next());
        mirrors.for_each(|unit| mirror(&self.shared, Side::Thread, unit, &request));
        let kept = Kept::of(&request);
        let mut request = Some(request);
        self.try_each(&mut journey, clock(), |endpoint, deadline| {
            let deadline = Some(deadline);
            let sent = match request.take() {
                Some(first) => Request { deadline, ..first },
                None => kept.request(deadline),
            };
            let _in_flight = InFlight::enter(&**endpoint);
            let result = endpoint.thread_line().client.call(sent);
            (Outcome::of(&result), result)
        })
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        let (plan, chosen) = match self.decide(&event.operation, &event.headers, None)? {
            Decided::Forward(plan, chosen) => (plan, chosen),
            Decided::Answer(result) => return result.map(drop),
        };
        let traits = Traits {
            operation: &event.operation,
            headers: &event.headers,
            priority: event.priority,
            deadline: None,
            is_stream: false,
        };
        let mut journey = self.set_out(&plan, chosen, &traits, clock())?;
        self.try_each(&mut journey, clock(), |endpoint, _| {
            let _in_flight = InFlight::enter(&**endpoint);
            let result = endpoint.thread_line().client.send(event.clone());
            let outcome = match &result {
                Ok(()) => Outcome::answered(Code::Ok),
                Err(error) if error.may_have_executed() => Outcome::Own,
                Err(error) => Outcome::of_error(error),
            };
            (outcome, result)
        })
    }

    fn open(&self, request: Request) -> Result<CallStream, CallError> {
        let (operation, headers) = (&request.operation, &request.headers);
        let (plan, chosen) = match self.decide(operation, headers, request.deadline)? {
            Decided::Forward(plan, chosen) => (plan, chosen),
            Decided::Answer(Err(error)) => return Err(error),
            Decided::Answer(Ok(_)) => {
                let why = "the mesh's policy answers this operation, which is no stream then";
                return Err(local(ErrorKind::NotSent, why.into()));
            }
        };
        let traits = Traits {
            is_stream: true,
            ..Traits::of(&request)
        };
        let mut journey = self.set_out(&plan, chosen, &traits, clock())?;
        let kept = Kept::of(&request);
        let mut request = Some(request);
        let mut opened = None;
        let deadline = journey.deadline;
        let stream = self.try_each(&mut journey, clock(), |endpoint, _| {
            let deadline = Some(deadline);
            let sent = match request.take() {
                Some(first) => Request { deadline, ..first },
                None => kept.request(deadline),
            };
            let in_flight = InFlight::enter(Arc::clone(endpoint));
            let result = endpoint.thread_line().client.open(sent);
            let outcome = match &result {
                // Not its end: that is noted when it comes.
                Ok(_) => {
                    opened = Some((Arc::clone(endpoint), in_flight));
                    Outcome::Own
                }
                Err(error) => Outcome::of_error(error),
            };
            (outcome, result)
        })?;
        let Some((endpoint, in_flight)) = opened else {
            return Ok(stream);
        };
        Ok(CallStream::new(Counted {
            stream: Some(stream),
            trailers: Headers::new(),
            end: Some(End {
                endpoint,
                unit: Arc::clone(journey.unit),
                shared: Arc::clone(&self.shared),
                _permit: journey.own_permit(),
                _in_flight: OpenStream::of(in_flight),
            }),
        }))
    }
}

impl fmt::Debug for MeshChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blocking::MeshChannel({})", self.target.name)
    }
}

struct End {
    endpoint: Arc<Endpoint>,
    unit: Arc<Unit>,
    shared: Arc<Shared>,
    _permit: Option<Permit<Arc<Live>>>,
    _in_flight: OpenStream,
}

/// A stream whose end is noted.
struct Counted {
    stream: Option<CallStream>,
    trailers: Headers,
    end: Option<End>,
}

impl Counted {
    fn ended(&mut self, outcome: Outcome) {
        if let Some(end) = self.end.take() {
            let (shared, unit) = (&end.shared, &end.unit);
            note(
                shared,
                unit,
                &end.endpoint,
                None,
                clock(),
                outcome,
                &mut ThreadRandom,
            );
        }
    }

    fn stream(&mut self) -> Result<&mut CallStream, CallError> {
        let over = || local(ErrorKind::Cancelled, "the call was given up".into());
        self.stream.as_mut().ok_or_else(over)
    }
}

impl StreamDriver for Counted {
    fn send(&mut self, message: Body) -> Result<(), CallError> {
        self.stream()?.send(message)
    }

    fn finish(&mut self) -> Result<(), CallError> {
        self.stream()?.finish()
    }

    fn receive(&mut self) -> Result<Option<Body>, CallError> {
        let received = self.stream()?.receive();
        match &received {
            Ok(Some(_)) => return received,
            Ok(None) => self.ended(Outcome::answered(Code::Ok)),
            Err(error) => self.ended(Outcome::of_error(error)),
        }
        if let Some(stream) = &self.stream {
            self.trailers = stream.trailers().clone();
        }
        received
    }

    fn trailers(&self) -> &Headers {
        &self.trailers
    }

    fn cancel(&mut self, code: Code) {
        if let Some(stream) = self.stream.take() {
            stream.cancel(code);
        }
        self.ended(Outcome::Own);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ended(Outcome::Own);
    }
}
