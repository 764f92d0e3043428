//! The calling side for threads: the same nouns, the same errors, no futures.
//!
//! A blocking caller drives its own socket; no other thread takes part, so nothing is handed over
//! and back. May be called from any thread that may block, never from an event loop.

use crate::interceptor::{Interceptor, Next};
use crate::{Body, CallError, Code, Event, Headers, Request, Response};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Who carries messages for a thread that waits: the blocking face of [`crate::Caller`].
pub trait Caller: Send + Sync {
    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered: see [`CallError`].
    fn call(&self, request: Request) -> Result<Response, CallError>;

    /// Sends an event; returns when it is written to the connection.
    ///
    /// # Errors
    /// When it could not be written.
    fn send(&self, event: Event) -> Result<(), CallError>;

    /// Opens a stream. The request's body is its first message unless it is empty.
    ///
    /// # Errors
    /// When there is no connection or no room for another call.
    fn open(&self, request: Request) -> Result<CallStream, CallError>;

    /// The same with an interceptor around it, run on the calling thread; the one that is added last
    /// runs first.
    #[must_use]
    fn with_interceptor<I: Interceptor>(self, interceptor: I) -> Intercepted<I, Self>
    where
        Self: Sized,
    {
        Intercepted {
            interceptor,
            caller: self,
        }
    }
}

/// A blocking caller with an interceptor around it: see [`Caller::with_interceptor`].
#[derive(Clone, Copy)]
pub struct Intercepted<I, C> {
    interceptor: I,
    caller: C,
}

/// A blocking caller as an interceptor's next: its futures are ready when they are first polled.
struct BlockingNext<'a, C>(&'a C);

impl<C: Caller> Next for BlockingNext<'_, C> {
    type Stream = CallStream;

    async fn call(&self, request: Request) -> Result<Response, CallError> {
        self.0.call(request)
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        self.0.send(event)
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        self.0.open(request)
    }
}

impl<I: Interceptor, C: Caller> Caller for Intercepted<I, C> {
    fn call(&self, request: Request) -> Result<Response, CallError> {
        let next = BlockingNext(&self.caller);
        wait(self.interceptor.call(request, &next))?.into_result()
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        wait(self.interceptor.send(event, &BlockingNext(&self.caller)))
    }

    fn open(&self, request: Request) -> Result<CallStream, CallError> {
        wait(self.interceptor.open(request, &BlockingNext(&self.caller)))
    }
}

impl<I, C: fmt::Debug> fmt::Debug for Intercepted<I, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blocking::Intercepted({:?})", self.caller)
    }
}

/// Waits for a future on this thread. One that awaits nothing but its next is ready at once and costs
/// no waker.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
        return value;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// One stream, as a transport implements it for a thread.
pub trait StreamDriver: Send {
    /// Sends a message; waits while the peer has no room for it.
    ///
    /// # Errors
    /// When the call has ended.
    fn send(&mut self, message: Body) -> Result<(), CallError>;
    /// Ends the caller's side.
    ///
    /// # Errors
    /// When the call has ended.
    fn finish(&mut self) -> Result<(), CallError>;
    /// The next message; `None` when the service ended the call well.
    ///
    /// # Errors
    /// When the call failed.
    fn receive(&mut self) -> Result<Option<Body>, CallError>;
    /// The headers that came after the last message; empty before.
    fn trailers(&self) -> &Headers;
    /// Gives the call up.
    fn cancel(&mut self, code: Code);
}

/// An open call, held by one thread. Dropping it before its end gives the call up.
pub struct CallStream(Box<dyn StreamDriver>);

impl CallStream {
    /// A stream driven by this.
    pub fn new(driver: impl StreamDriver + 'static) -> Self {
        Self(Box::new(driver))
    }

    /// Sends a message; waits while the peer has no room for it.
    ///
    /// # Errors
    /// When the call has ended.
    pub fn send(&mut self, message: impl Into<Body>) -> Result<(), CallError> {
        self.0.send(message.into())
    }

    /// Ends the caller's side.
    ///
    /// # Errors
    /// When the call has ended.
    pub fn finish(&mut self) -> Result<(), CallError> {
        self.0.finish()
    }

    /// The next message; `None` when the service ended the call well.
    ///
    /// # Errors
    /// When the call failed.
    pub fn receive(&mut self) -> Result<Option<Body>, CallError> {
        self.0.receive()
    }

    /// The headers that came after the last message; empty before.
    #[must_use]
    pub fn trailers(&self) -> &Headers {
        self.0.trailers()
    }

    /// Gives the call up.
    pub fn cancel(mut self, code: Code) {
        self.0.cancel(code);
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallStream")
    }
}

/// A way to a service whose transport was chosen at run time. Clones share it.
#[derive(Clone)]
pub struct Channel(Arc<dyn Caller>);

impl Channel {
    /// A channel over this caller.
    pub fn new(caller: impl Caller + 'static) -> Self {
        Self(Arc::new(caller))
    }
}

impl Caller for Channel {
    fn call(&self, request: Request) -> Result<Response, CallError> {
        self.0.call(request)
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        self.0.send(event)
    }

    fn open(&self, request: Request) -> Result<CallStream, CallError> {
        self.0.open(request)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("blocking::Channel")
    }
}
