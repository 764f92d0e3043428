//! The calling side.

use crate::interceptor::{Interceptor, Next};
use crate::{CallError, CallStream, Event, Request, Response};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Who carries messages: a transport, or a layer around one.
///
/// Takes `&self` and has no readiness before the request: the destination may depend on it. Layers
/// are generic over the next `Caller` and cost nothing; [`Channel`] erases the type once, at the
/// outside.
pub trait Caller: Send + Sync + 'static {
    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered: see [`CallError`]. A failed answer has
    /// this shape alone: what gives an answer on ends with [`Response::into_result`], and
    /// [`Channel`] sees to it. Code that reads answers well or not, whichever, begins with
    /// `result.or_else(CallError::into_response)`.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up; the service is told, and may have executed it.
    fn call(&self, request: Request) -> impl Future<Output = Result<Response, CallError>> + Send;

    /// Sends an event; completes when it is handed to the connection.
    ///
    /// # Errors
    /// When it could not be handed over; it was not sent then.
    fn send(&self, event: Event) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Opens a stream. The request's body is its first message unless it is empty.
    ///
    /// # Errors
    /// When there is no connection or no room for another call.
    fn open(&self, request: Request) -> impl Future<Output = Result<CallStream, CallError>> + Send;

    /// The same with an interceptor around it; the one that is added last runs first.
    #[must_use]
    fn with_interceptor<I: Interceptor>(self, interceptor: I) -> Intercepted<I, Self>
    where
        Self: Sized,
    {
        Intercepted::new(interceptor, self)
    }
}

/// A caller with an interceptor around it: see [`Caller::with_interceptor`].
#[derive(Clone, Copy)]
pub struct Intercepted<I, C> {
    interceptor: I,
    caller: C,
}

impl<I, C> Intercepted<I, C> {
    const fn new(interceptor: I, caller: C) -> Self {
        Self {
            interceptor,
            caller,
        }
    }

    /// The caller within.
    pub const fn caller(&self) -> &C {
        &self.caller
    }
}

/// A caller as an interceptor's next. A type of its own, so that callers have each method once.
struct CallerNext<'a, C>(&'a C);

impl<C: Caller> Next for CallerNext<'_, C> {
    type Stream = CallStream;

    fn call(&self, request: Request) -> impl Future<Output = Result<Response, CallError>> + Send {
        self.0.call(request)
    }

    fn send(&self, event: Event) -> impl Future<Output = Result<(), CallError>> + Send {
        self.0.send(event)
    }

    fn open(&self, request: Request) -> impl Future<Output = Result<CallStream, CallError>> + Send {
        self.0.open(request)
    }
}

impl<I: Interceptor, C: Caller> Caller for Intercepted<I, C> {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        let next = CallerNext(&self.caller);
        self.interceptor.call(request, &next).await?.into_result()
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        let next = CallerNext(&self.caller);
        self.interceptor.send(event, &next).await
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        let next = CallerNext(&self.caller);
        self.interceptor.open(request, &next).await
    }
}

impl<I, C: fmt::Debug> fmt::Debug for Intercepted<I, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Intercepted({:?})", self.caller)
    }
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'a>>;

trait ErasedCaller: Send + Sync {
    fn call(&self, request: Request) -> Pending<'_, Response>;
    fn send(&self, event: Event) -> Pending<'_, ()>;
    fn open(&self, request: Request) -> Pending<'_, CallStream>;
}

impl<C: Caller> ErasedCaller for C {
    fn call(&self, request: Request) -> Pending<'_, Response> {
        Box::pin(Caller::call(self, request))
    }

    fn send(&self, event: Event) -> Pending<'_, ()> {
        Box::pin(Caller::send(self, event))
    }

    fn open(&self, request: Request) -> Pending<'_, CallStream> {
        Box::pin(Caller::open(self, request))
    }
}

/// A way to a service whose transport was chosen at run time. Clones share it.
#[derive(Clone)]
pub struct Channel(Arc<dyn ErasedCaller>);

impl Channel {
    /// A channel over this caller. Costs one allocation a call; code that knows the caller's type
    /// uses it directly.
    pub fn new(caller: impl Caller) -> Self {
        Self(Arc::new(caller))
    }
}

impl Caller for Channel {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        self.0.call(request).await?.into_result()
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        self.0.send(event).await
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        self.0.open(request).await
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Channel")
    }
}
