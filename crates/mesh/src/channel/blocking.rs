//! The channel of blocking callers, and the driver of their calls: each call drives its own socket.

use super::attempts::{CallAttempts, Finish, PlanHolder, Progress, Step};
use super::chance::{ThreadRandom, clock};
use super::env::Side;
use super::message::{Message, Reply};
use super::mirror;
use super::permit::local;
use super::replay::{OneWay, Streaming, Unary};
use super::shared::Shared;
use super::stream::RecordedEnd;
use super::target::TargetState;
use crate::observe::story;
use crate::policy::outcome::Outcome;
use corewire_message::blocking::{CallStream, Caller, StreamDriver};
use corewire_message::{Body, CallError, Code, ErrorKind, Event, Headers, Request, Response};
use corewire_transport::blocking::Client;
use std::fmt;
use std::sync::Arc;

/// A channel to a target through the mesh, for threads that may block. Clones share it.
#[derive(Clone)]
pub struct MeshChannel {
    shared: Arc<Shared>,
    target: Arc<TargetState>,
}

impl MeshChannel {
    pub(super) fn new(shared: &Arc<Shared>, target: &str) -> Self {
        Self {
            target: shared.target(target, None, clock(), &mut ThreadRandom),
            shared: Arc::clone(shared),
        }
    }

    /// The target's name.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target.name
    }

    fn start<'p, M: Message>(
        &'p self,
        plan: &'p mut PlanHolder,
        message: M,
    ) -> CallAttempts<'p, M> {
        CallAttempts::new(&self.shared.env, &self.target, Side::Thread, plan, message)
    }

    /// Does what the call's machine says until it finishes; `send` is one attempt.
    fn drive<M: Message, T: Reply>(
        &self,
        call: &mut CallAttempts<'_, M>,
        send: impl Fn(&Client, M::Sent) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let env = &self.shared.env;
        let mut last = None;
        let mut progress = Progress::Ready;
        loop {
            let seen = env.waiters.generation();
            let now = clock();
            let step = call.next(now, progress, &mut ThreadRandom);
            progress = Progress::Ready;
            match step {
                Step::Send(endpoint) => {
                    let result = send(endpoint.thread_client(), call.message(now));
                    let outcome = T::outcome(&result);
                    match (&result, outcome) {
                        (Err(error), Outcome::NotSent) => {
                            endpoint.thread_failed(clock(), &story(error), &mut ThreadRandom);
                            env.signal.raise();
                        }
                        (_, Outcome::Answered(_)) => endpoint.thread_succeeded(),
                        _ => {}
                    }
                    progress = Progress::Ended(outcome);
                    last = Some(result);
                }
                Step::Delay(until) => {
                    std::thread::sleep(until.saturating_duration_since(now));
                }
                Step::AwaitConfig(until) | Step::AwaitConnection(until) => {
                    env.waiters.wait(seen, until, clock);
                }
                Step::Mirror(cluster) => {
                    mirror::send(&self.shared, Side::Thread, cluster, call.unsent());
                }
                Step::Finish(Finish::Answer(answer)) => return T::of_answer(answer),
                Step::Finish(Finish::Failed(error)) => return Err(error),
                Step::Finish(Finish::LastAttempt) => {
                    return last.unwrap_or_else(|| Err(CallError::deadline_exceeded(false)));
                }
            }
        }
    }
}

impl Caller for MeshChannel {
    fn call(&self, request: Request) -> Result<Response, CallError> {
        let mut plan = None;
        let mut call = self.start(&mut plan, Unary::new(request));
        self.drive(&mut call, Client::call)
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        let mut plan = None;
        let mut call = self.start(&mut plan, OneWay(event));
        self.drive(&mut call, Client::send)
    }

    fn open(&self, request: Request) -> Result<CallStream, CallError> {
        let mut plan = None;
        let mut call = self.start(&mut plan, Streaming::new(request));
        let stream = self.drive(&mut call, Client::open)?;
        Ok(match call.into_stream() {
            Some(hold) => CallStream::new(Recorded {
                stream: Some(stream),
                trailers: Headers::new(),
                end: RecordedEnd::new(hold, &self.shared),
            }),
            None => stream,
        })
    }
}

impl Reply for CallStream {
    fn of_answer(answer: Result<Response, CallError>) -> Result<Self, CallError> {
        let why = "the mesh's policy answers this operation, which is no stream then";
        Err(answer.map_or_else(|error| error, |_| local(ErrorKind::NotSent, why.into())))
    }
}

impl fmt::Debug for MeshChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blocking::MeshChannel({})", self.target.name)
    }
}

/// An open stream, recorded when it ends.
struct Recorded {
    stream: Option<CallStream>,
    trailers: Headers,
    end: RecordedEnd,
}

impl Recorded {
    fn stream(&mut self) -> Result<&mut CallStream, CallError> {
        let over = || local(ErrorKind::Cancelled, "the call was given up".into());
        self.stream.as_mut().ok_or_else(over)
    }
}

impl StreamDriver for Recorded {
    fn send(&mut self, message: Body) -> Result<(), CallError> {
        self.stream()?.send(message)
    }

    fn finish(&mut self) -> Result<(), CallError> {
        self.stream()?.finish()
    }

    fn receive(&mut self) -> Result<Option<Body>, CallError> {
        let received = self.stream()?.receive();
        self.end.received(&received);
        if !matches!(received, Ok(Some(_)))
            && let Some(stream) = &self.stream
        {
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
        self.end.ended(Outcome::Own);
    }
}
