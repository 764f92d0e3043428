//! Calls beyond what a service can do at a time wait, or are refused, the least urgent first.
//!
//! Urgency is the message's own: `3gpp-sbi-message-priority` (TS 29.500, 6.8) or the native priority. A call
//! that is refused was not begun: 503 with `retry-after`, `UNAVAILABLE`; another instance may take it.

mod admission;

pub use admission::OverloadLimits;

use admission::{Admission, Outcome, Ticket, Verdict};
use corewire_driver::clock;
use corewire_message::{
    CallContext, CallKind, Code, Event, Inbound, Operation, Outbound, Priority, Request, Response,
    Service, Status,
};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Seconds after which a refused call may be tried again here.
const RETRY_AFTER: &str = "1";

/// A service behind which no more calls are in progress than it can do.
///
/// Streams and events are not counted: streams last, and events are bounded for each connection
/// ([`ServerOptions::max_events_in_progress`](crate::ServerOptions::max_events_in_progress)). Put a health
/// service in front of it, not behind: an instance with much to do is not ill.
#[derive(Debug)]
pub struct Shedding<S> {
    service: S,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    admission: Admission,
    /// What those that wait have been told, and how to tell them.
    waiting: HashMap<Ticket, Place>,
}

#[derive(Debug)]
enum Place {
    Waits(Option<Waker>),
    Begins,
    Refused,
}

impl<S> Shedding<S> {
    /// This service within these limits.
    pub fn new(service: S, limits: OverloadLimits) -> Self {
        let admission = Admission::new(limits);
        Self {
            service,
            state: Mutex::new(State {
                admission,
                waiting: HashMap::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a call may begin; `None` when it is refused.
    async fn enter(&self, priority: Priority) -> Option<Running<'_, S>> {
        let verdict = {
            let mut state = self.state();
            let verdict = state.admission.arrive(clock(), priority);
            if let Verdict::Waits(ticket) = verdict {
                state.waiting.insert(ticket, Place::Waits(None));
            }
            state.tell();
            verdict
        };
        match verdict {
            Verdict::Begins => Some(Running(self)),
            Verdict::Refused => None,
            Verdict::Waits(ticket) => {
                let waiting = Waiting {
                    shedding: self,
                    priority,
                    ticket,
                };
                let begins =
                    poll_fn(
                        |cx| match waiting.shedding.state().waiting.get_mut(&waiting.ticket) {
                            Some(Place::Waits(waker)) => {
                                *waker = Some(cx.waker().clone());
                                Poll::Pending
                            }
                            Some(Place::Begins) => Poll::Ready(true),
                            Some(Place::Refused) | None => Poll::Ready(false),
                        },
                    )
                    .await;
                if !begins {
                    return None;
                }
                // From here on the guard of a call in progress has it.
                self.state().waiting.remove(&ticket);
                Some(Running(self))
            }
        }
    }
}

impl State {
    /// Tells those that waited what became of them.
    fn tell(&mut self) {
        while let Some(outcome) = self.admission.poll() {
            let (ticket, place) = match outcome {
                Outcome::Begins(ticket) => (ticket, Place::Begins),
                Outcome::Refused(ticket) => (ticket, Place::Refused),
            };
            if let Some(waits) = self.waiting.get_mut(&ticket)
                && let Place::Waits(Some(waker)) = std::mem::replace(waits, place)
            {
                waker.wake();
            }
        }
    }
}

/// A call that waits; its caller may give it up.
struct Waiting<'a, S> {
    shedding: &'a Shedding<S>,
    priority: Priority,
    ticket: Ticket,
}

impl<S> Drop for Waiting<'_, S> {
    fn drop(&mut self) {
        let mut state = self.shedding.state();
        match state.waiting.remove(&self.ticket) {
            Some(Place::Waits(_)) => state.admission.give_up(self.priority, self.ticket),
            // It was told to begin and never did.
            Some(Place::Begins) => {
                state.admission.end(clock());
                state.tell();
            }
            Some(Place::Refused) | None => {}
        }
    }
}

/// A call in progress.
struct Running<'a, S>(&'a Shedding<S>);

impl<S> Drop for Running<'_, S> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.admission.end(clock());
        state.tell();
    }
}

fn refused() -> Response {
    let status = Status::new(Code::Unavailable, "overloaded: more urgent calls go first");
    let mut response = Response::failed(status);
    // It is a header.
    let _fits = response.headers.append("retry-after", RETRY_AFTER);
    response
}

impl<S: Service> Service for Shedding<S> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        self.service.kind(operation)
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        match self.enter(request.priority).await {
            Some(_running) => self.service.call(context, request).await,
            None => refused(),
        }
    }

    fn event(&self, context: &CallContext, event: Event) -> impl Future<Output = ()> + Send {
        self.service.event(context, event)
    }

    fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> impl Future<Output = Response> + Send {
        self.service.stream(context, request, inbound, outbound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_message::{Body, Peer};
    use std::future::pending;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Context;

    const CALL: Operation = Operation::from_static("test.v1.Test/Call");

    /// Answers when the gate is open.
    struct Gate(Arc<AtomicBool>);

    impl Service for Gate {
        async fn call(&self, _context: &CallContext, _request: Request) -> Response {
            let open = &self.0;
            poll_fn(|_| {
                if open.load(Ordering::SeqCst) {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            Response::ok(Body::new())
        }

        async fn stream(
            &self,
            _context: &CallContext,
            _request: Request,
            _inbound: Inbound,
            _outbound: Outbound,
        ) -> Response {
            pending().await
        }
    }

    #[test]
    fn an_urgent_call_takes_the_place_of_one_that_is_not() {
        let open = Arc::new(AtomicBool::new(false));
        let limits = OverloadLimits {
            in_progress: 1,
            waiting: 1,
            ..OverloadLimits::default()
        };
        let service = Shedding::new(Gate(Arc::clone(&open)), limits);
        let context = CallContext::new(Arc::new(Peer::new("test", "native")));
        let call = |priority: u8| {
            let priority = Priority::try_from(priority).unwrap();
            service.call(&context, Request::new(CALL).with_priority(priority))
        };
        let mut cx = Context::from_waker(Waker::noop());
        let (mut first, mut second) = (pin!(call(24)), pin!(call(24)));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        {
            let mut refused = pin!(call(24));
            let Poll::Ready(response) = refused.as_mut().poll(&mut cx) else {
                panic!("no more may wait")
            };
            assert_eq!(response.status.code(), Code::Unavailable);
            assert_eq!(response.headers.get_str("retry-after"), Some("1"));
        }
        let mut urgent = pin!(call(1));
        assert!(urgent.as_mut().poll(&mut cx).is_pending());
        let Poll::Ready(response) = second.as_mut().poll(&mut cx) else {
            panic!("the urgent one has its place")
        };
        assert_eq!(response.status.code(), Code::Unavailable);
        open.store(true, Ordering::SeqCst);
        let ready = |polled: Poll<Response>| match polled {
            Poll::Ready(response) => response.status.is_ok(),
            Poll::Pending => false,
        };
        assert!(
            !ready(urgent.as_mut().poll(&mut cx)),
            "it waits for its turn"
        );
        assert!(ready(first.as_mut().poll(&mut cx)));
        assert!(ready(urgent.as_mut().poll(&mut cx)));
    }

    #[test]
    fn calls_that_are_dropped_leave_their_places() {
        let limits = OverloadLimits {
            in_progress: 1,
            waiting: 1,
            ..OverloadLimits::default()
        };
        let service = Shedding::new(Gate(Arc::default()), limits);
        let context = CallContext::new(Arc::new(Peer::new("test", "native")));
        let call = || Box::pin(service.call(&context, Request::new(CALL)));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let (mut running, mut waiting, mut told) = (call(), call(), call());
            assert!(running.as_mut().poll(&mut cx).is_pending());
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            drop(waiting);
            assert!(told.as_mut().poll(&mut cx).is_pending());
            // `told` is told to begin, and is dropped before it does.
            drop(running);
            drop(told);
        }
        assert!(service.state().waiting.is_empty());
    }
}
