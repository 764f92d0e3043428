//! Streams of callers that await: routed and balanced as they are opened, then counted until they
//! end.

use super::MeshChannel;
use super::chance::{ThreadRandom, after, clock};
use super::endpoint::Endpoint;
use super::journey::{InFlight, Journey, OpenStream, Permit, Pick, Traits, local, note};
use super::kept::Kept;
use super::shared::Shared;
use super::unary::{Decided, wait};
use super::unit::{Live, Side, Unit};
use crate::policy::outcome::Outcome;
use crate::policy::protect::retry::Next;
use corewire_message::{
    Body, CallError, CallStream, Code, ErrorKind, Headers, Inbound, ReceiveMessages, Request,
};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

impl MeshChannel {
    pub(super) async fn open_through(&self, mut request: Request) -> Result<CallStream, CallError> {
        let (operation, headers) = (&request.operation, &request.headers);
        let (plan, chosen) = match self.decide(operation, headers, request.deadline).await? {
            Decided::Forward(plan, chosen) => (plan, chosen),
            Decided::Answer(result) => return Ok(answered(result)),
        };
        let mut random = ThreadRandom;
        let mut now = clock();
        let traits = Traits {
            is_stream: true,
            ..Traits::of(&request)
        };
        let at = (&*self.shared, &*plan, chosen);
        let side = Side::Loop(self.index);
        let mut journey = Journey::begin(at, side, self.target.hash, &traits, now, &mut random)?;
        let faults = journey.faults(&traits, &mut random);
        if let Some(delay) = faults.delay {
            let _delayed = journey.delayed();
            let until = after(now, delay).min(journey.deadline);
            self.shared.timer(self.index).sleep_until(until).await;
            now = clock();
            if now >= journey.deadline {
                return Err(CallError::deadline_exceeded(false));
            }
        }
        if let Some(code) = faults.abort {
            return Ok(answered(Err(journey.aborted(code))));
        }
        journey.admit(&traits, &mut random)?;
        let kept = Kept::of(&request);
        request.deadline = Some(journey.deadline);
        let mut request = Some(request);
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
            let sent = request
                .take()
                .unwrap_or_else(|| kept.request(Some(journey.deadline)));
            let in_flight = InFlight::enter(Arc::clone(&slot.endpoint));
            let began = now;
            let opened = corewire_message::Caller::open(client, sent).await;
            now = clock();
            match opened {
                Ok(stream) => {
                    let counted = Counted {
                        inbound: stream.inbound,
                        end: Some(End {
                            endpoint: Arc::clone(&slot.endpoint),
                            unit: Arc::clone(journey.unit),
                            shared: Arc::clone(&self.shared),
                            _permit: journey.own_permit(),
                            _in_flight: OpenStream::of(in_flight),
                        }),
                    };
                    return Ok(CallStream {
                        outbound: stream.outbound,
                        inbound: Inbound::new(counted),
                    });
                }
                Err(error) => {
                    drop(in_flight);
                    let outcome = Outcome::of_error(&error);
                    match journey.ended(slot, began, now, outcome, &mut random) {
                        // Once it is open its messages are gone; before, it is like any request.
                        Next::End => return Err(error),
                        Next::Elsewhere => {}
                        Next::Again(wait) => {
                            self.shared.timer(self.index).sleep_until(now + wait).await;
                            now = clock();
                        }
                    }
                    last = Some(error);
                }
            }
        }
    }
}

/// What is noted when a stream ends.
struct End {
    endpoint: Arc<Endpoint>,
    unit: Arc<Unit>,
    shared: Arc<Shared>,
    _permit: Option<Permit<Arc<Live>>>,
    _in_flight: OpenStream,
}

/// The messages that come in, counted.
struct Counted {
    inbound: Inbound,
    end: Option<End>,
}

impl Counted {
    fn ended(&mut self, outcome: Outcome) {
        if let Some(end) = self.end.take() {
            let (shared, unit) = (&end.shared, &end.unit);
            // How long a stream lasts says nothing of its endpoint.
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
}

impl ReceiveMessages for Counted {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
        // Cancel safe: what is not ready is not lost with this future.
        let received = pin!(self.inbound.message()).poll(cx);
        match &received {
            Poll::Ready(Ok(None)) => self.ended(Outcome::answered(Code::Ok)),
            Poll::Ready(Err(error)) => {
                let outcome = Outcome::of_error(error);
                self.ended(outcome);
            }
            _ => {}
        }
        received
    }

    fn trailers(&self) -> &Headers {
        self.inbound.trailers()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ended(Outcome::Own);
    }
}

/// A stream that is answered here.
fn answered(result: Result<corewire_message::Response, CallError>) -> CallStream {
    struct Answered(Option<Result<Option<Body>, CallError>>, Headers);
    impl ReceiveMessages for Answered {
        fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
            Poll::Ready(self.0.take().unwrap_or(Ok(None)))
        }
        fn trailers(&self) -> &Headers {
            &self.1
        }
    }
    impl corewire_message::SendMessages for Answered {
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
            Poll::Ready(Err(over()))
        }
        fn send(&mut self, _: Body) -> Result<(), CallError> {
            Err(over())
        }
        fn finish(&mut self) {}
        fn cancel(&mut self, _: Code) {}
    }
    fn over() -> CallError {
        local(
            ErrorKind::Cancelled,
            "the call was answered by the mesh's policy".into(),
        )
    }
    let inbound = match result {
        Ok(response) => Answered(Some(Ok(Some(response.body))), response.headers),
        Err(error) => Answered(Some(Err(error)), Headers::new()),
    };
    CallStream {
        outbound: corewire_message::Outbound::new(Answered(None, Headers::new())),
        inbound: Inbound::new(inbound),
    }
}
