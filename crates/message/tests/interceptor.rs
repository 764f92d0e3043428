//! Interceptors around callers, blocking callers and services.

use corewire_message::{
    Body, CallContext, CallError, CallKind, CallStream, Caller, Channel, Code, Event, Interceptor,
    Next, Operation, Peer, Request, Response, Service, ServiceInterceptor, Status, blocking,
};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;

const OPERATION: Operation = Operation::from_static("test.v1.Test/Do");

/// Answers with the header `seen`; fails on the first calls.
#[derive(Default)]
struct Server {
    failures: AtomicU32,
    calls: AtomicU32,
}

impl Server {
    fn answer(&self, request: &Request) -> Result<Response, CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.fetch_sub(1, Ordering::Relaxed);
            return Response::failed(Status::of(Code::Unavailable)).into_result();
        }
        let mut seen = Vec::new();
        for (_, value) in request.headers.iter().filter(|(name, _)| *name == "by") {
            seen.extend_from_slice(value);
        }
        Ok(Response::ok(seen))
    }
}

impl Caller for Server {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        self.answer(&request)
    }

    async fn send(&self, _event: Event) -> Result<(), CallError> {
        Ok(())
    }

    async fn open(&self, _request: Request) -> Result<CallStream, CallError> {
        Err(CallError::deadline_exceeded(false))
    }
}

impl blocking::Caller for Server {
    fn call(&self, request: Request) -> Result<Response, CallError> {
        self.answer(&request)
    }

    fn send(&self, _event: Event) -> Result<(), CallError> {
        Ok(())
    }

    fn open(&self, _request: Request) -> Result<blocking::CallStream, CallError> {
        Err(CallError::deadline_exceeded(false))
    }
}

/// Adds its name to requests; refuses events.
struct Named(&'static str);

impl Interceptor for Named {
    async fn call<N: Next>(&self, mut request: Request, next: &N) -> Result<Response, CallError> {
        request.headers.append("by", self.0).unwrap();
        next.call(request).await
    }

    async fn send<N: Next>(&self, _event: Event, _next: &N) -> Result<(), CallError> {
        Err(CallError::deadline_exceeded(false))
    }
}

/// Calls once more after a failure.
struct Again;

impl Interceptor for Again {
    async fn call<N: Next>(&self, request: Request, next: &N) -> Result<Response, CallError> {
        match next.call(request.clone()).await {
            Err(error) if error.code() == Code::Unavailable => next.call(request).await,
            result => result,
        }
    }
}

/// Answers itself, with a failure that is not in the form of an error.
struct Refuses;

impl Interceptor for Refuses {
    async fn call<N: Next>(&self, _request: Request, _next: &N) -> Result<Response, CallError> {
        Ok(Response::failed(Status::of(Code::PermissionDenied)))
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits for nothing"),
    }
}

#[test]
fn when_layers_are_nested_then_the_last_one_added_runs_first() {
    let caller = Caller::with_interceptor(Server::default(), Named("inner "));
    let caller = caller.with_interceptor(Named("outer "));
    let response = ready(caller.call(Request::new(OPERATION))).unwrap();
    assert_eq!(&response.body.into_bytes()[..], b"outer inner ");
    let event = Event::new(OPERATION, Body::new());
    assert!(ready(caller.send(event)).is_err(), "it stops events");
    let opened = ready(caller.open(Request::new(OPERATION)));
    assert!(opened.is_err(), "handed on by default");
    // One erased boundary around all of it.
    let channel = Channel::new(caller);
    let response = ready(channel.call(Request::new(OPERATION))).unwrap();
    assert_eq!(response.body.len(), 12);
}

#[test]
fn when_an_interceptor_calls_again_then_the_rest_runs_again() {
    let server = Server::default();
    server.failures.store(1, Ordering::Relaxed);
    let caller = Caller::with_interceptor(server, Again);
    ready(caller.call(Request::new(OPERATION))).unwrap();
    assert_eq!(caller.caller().calls.load(Ordering::Relaxed), 2);
}

#[test]
fn when_an_interceptor_answers_a_failure_then_the_caller_gets_an_error() {
    let caller = Caller::with_interceptor(Server::default(), Refuses);
    let error = ready(caller.call(Request::new(OPERATION))).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert_eq!(caller.caller().calls.load(Ordering::Relaxed), 0);
    let caller = blocking::Caller::with_interceptor(Server::default(), Refuses);
    let error = blocking::Caller::call(&caller, Request::new(OPERATION)).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
}

#[test]
fn blocking_callers_have_the_same_interceptors() {
    let caller = blocking::Caller::with_interceptor(Server::default(), Named("inner "));
    let caller = blocking::Caller::with_interceptor(caller, Again);
    let response = blocking::Caller::call(&caller, Request::new(OPERATION)).unwrap();
    assert_eq!(&response.body.into_bytes()[..], b"inner ");
    let event = Event::new(OPERATION, Body::new());
    assert!(blocking::Caller::send(&caller, event).is_err());
    assert!(blocking::Caller::open(&caller, Request::new(OPERATION)).is_err());
}

/// Waits until another thread opens it.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Option<Waker>)>>);

impl Gate {
    fn open(&self) {
        let mut gate = self.0.lock().unwrap();
        gate.0 = true;
        if let Some(waker) = gate.1.take() {
            waker.wake();
        }
    }
}

impl Interceptor for Gate {
    async fn call<N: Next>(&self, request: Request, next: &N) -> Result<Response, CallError> {
        std::future::poll_fn(|cx| {
            let mut gate = self.0.lock().unwrap();
            gate.1 = Some(cx.waker().clone());
            if gate.0 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        next.call(request).await
    }
}

#[test]
fn when_an_interceptor_awaits_then_a_blocking_caller_is_parked_until_it_is_ready() {
    let gate = Gate::default();
    let caller = blocking::Caller::with_interceptor(Server::default(), gate.clone());
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| blocking::Caller::call(&caller, Request::new(OPERATION)));
        let thread: &Thread = calls.thread();
        // Woken for nothing it waits on.
        thread.unpark();
        gate.open();
        assert!(calls.join().unwrap().is_ok());
    });
}

struct Echo;

impl Service for Echo {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        (*operation == OPERATION).then_some(CallKind::Unary)
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        Response::ok(request.body)
    }
}

/// Lets nothing through but requests with a body.
struct NeedsBody;

impl ServiceInterceptor for NeedsBody {
    async fn call<S: Service>(
        &self,
        context: &CallContext,
        request: Request,
        next: &S,
    ) -> Response {
        if request.body.is_empty() {
            return Response::failed(Status::of(Code::InvalidArgument));
        }
        next.call(context, request).await
    }
}

#[test]
fn a_service_is_called_only_with_what_its_interceptor_lets_through() {
    let service = Echo.with_interceptor(NeedsBody);
    let context = CallContext::new(Arc::new(Peer::new("test", "native")));
    let refused = ready(service.call(&context, Request::new(OPERATION)));
    assert_eq!(refused.status.code(), Code::InvalidArgument);
    let request = Request::new(OPERATION).with_body(vec![1, 2]);
    let answered = ready(service.call(&context, request));
    assert_eq!(&answered.body.into_bytes()[..], [1, 2]);
    ready(service.event(&context, Event::new(OPERATION, Body::new())));
    assert_eq!(service.kind(&OPERATION), Some(CallKind::Unary));
    let other = Operation::from_static("test.v1.Test/Other");
    assert_eq!(service.kind(&other), None);
}
