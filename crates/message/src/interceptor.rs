//! Interceptors: code of a program's own around every call, at either end.
//!
//! ```text
//!   caller ─▶ Interceptor ─▶ mesh ─▶ transport ~~~~ transport ─▶ ServiceInterceptor ─▶ Service
//!             changes the request, or answers       looks at what comes in, or answers
//!             itself, or calls the rest again       instead of the service
//! ```
//!
//! Both are generic over what follows: a layer is a field and a function call, without an allocation
//! or an erased type. Who wants to choose at run time erases the whole once, by
//! [`Channel`](crate::Channel).

use crate::{
    CallContext, CallError, CallKind, CallStream, Caller, Event, Inbound, Operation, Outbound,
    Request, Response, Service,
};
use std::fmt;
use std::future::Future;

/// The rest of the way of a call: further interceptors, the mesh, a transport.
///
/// Each method may be called any number of times, also at the same time.
pub trait Next: Send + Sync {
    /// An open stream. Interceptors hand it on as it is.
    type Stream: Send;

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered.
    fn call(&self, request: Request) -> impl Future<Output = Result<Response, CallError>> + Send;

    /// Sends an event.
    ///
    /// # Errors
    /// When it could not be handed over.
    fn send(&self, event: Event) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Opens a stream.
    ///
    /// # Errors
    /// When it could not be opened.
    fn open(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Self::Stream, CallError>> + Send;
}

/// A layer around the calls that a [`Caller`] sends, with or without the mesh; the same one serves
/// blocking callers.
///
/// It runs once a call, before routes and retries are decided: what it changes holds for every
/// attempt. A request carries all that is known of a call before it has a route, so there is no
/// context beside it. Each method hands on by default. The messages of an open stream do not pass
/// here; a layer that must see them implements [`Caller`] itself.
///
/// With [blocking callers](crate::blocking::Caller::with_interceptor) the methods run on the caller's
/// thread: `next` blocks it, and what else they await parks it until it is ready.
///
/// ```
/// use corewire_message::{CallError, Interceptor, Next, Request, Response};
///
/// /// Writes every failure to the terminal.
/// struct LogFailures;
///
/// impl Interceptor for LogFailures {
///     async fn call<N: Next>(&self, request: Request, next: &N) -> Result<Response, CallError> {
///         let operation = request.operation.clone();
///         let result = next.call(request).await;
///         if let Err(error) = &result {
///             eprintln!("{operation}: {} ({error})", error.code());
///         }
///         result
///     }
/// }
/// ```
pub trait Interceptor: Send + Sync + 'static {
    /// Passes a request on, changed or not, or answers it.
    ///
    /// # Errors
    /// Those of `next`, or one of its own. An answer that says a failure reaches the caller as an
    /// error too: see [`Caller::call`].
    ///
    /// # Cancel safety
    /// The caller may drop the future at any `.await`: what must be undone then belongs in a `Drop`.
    fn call<N: Next>(
        &self,
        request: Request,
        next: &N,
    ) -> impl Future<Output = Result<Response, CallError>> + Send {
        next.call(request)
    }

    /// Passes an event on, changed or not.
    ///
    /// # Errors
    /// Those of `next`, or one of its own.
    fn send<N: Next>(
        &self,
        event: Event,
        next: &N,
    ) -> impl Future<Output = Result<(), CallError>> + Send {
        next.send(event)
    }

    /// Passes the request on that opens a stream, changed or not.
    ///
    /// # Errors
    /// Those of `next`, or one of its own.
    fn open<N: Next>(
        &self,
        request: Request,
        next: &N,
    ) -> impl Future<Output = Result<N::Stream, CallError>> + Send {
        next.open(request)
    }
}

/// A caller with an interceptor around it: see [`Caller::with_interceptor`].
#[derive(Clone, Copy)]
pub struct Intercepted<I, C> {
    interceptor: I,
    caller: C,
}

impl<I, C> Intercepted<I, C> {
    pub(crate) const fn new(interceptor: I, caller: C) -> Self {
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

/// A layer around the calls that a [`Service`] answers. Each method hands on by default.
///
/// Its methods run where the service's do, on the event loop of the connection, and must not block.
///
/// ```
/// use corewire_message::{
///     CallContext, Code, Request, Response, Service, ServiceInterceptor, Status,
/// };
///
/// /// Refuses peers without a certificate.
/// struct MutualTls;
///
/// impl ServiceInterceptor for MutualTls {
///     async fn call<S: Service>(
///         &self,
///         context: &CallContext,
///         request: Request,
///         next: &S,
///     ) -> Response {
///         match context.peer().certificate {
///             Some(_) => next.call(context, request).await,
///             None => Response::failed(Status::of(Code::Unauthenticated)),
///         }
///     }
/// }
/// ```
pub trait ServiceInterceptor: Send + Sync + 'static {
    /// Lets the service answer a request, or answers it.
    fn call<S: Service>(
        &self,
        context: &CallContext,
        request: Request,
        next: &S,
    ) -> impl Future<Output = Response> + Send {
        next.call(context, request)
    }

    /// Gives the service an event, or drops it.
    fn event<S: Service>(
        &self,
        context: &CallContext,
        event: Event,
        next: &S,
    ) -> impl Future<Output = ()> + Send {
        next.event(context, event)
    }

    /// Lets the service serve a stream, or ends it.
    fn stream<S: Service>(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
        next: &S,
    ) -> impl Future<Output = Response> + Send {
        next.stream(context, request, inbound, outbound)
    }
}

/// A service with an interceptor around it: see [`Service::with_interceptor`].
#[derive(Clone, Copy)]
pub struct InterceptedService<I, S> {
    interceptor: I,
    service: S,
}

impl<I, S> InterceptedService<I, S> {
    pub(crate) const fn new(interceptor: I, service: S) -> Self {
        Self {
            interceptor,
            service,
        }
    }
}

impl<I: ServiceInterceptor, S: Service> Service for InterceptedService<I, S> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        self.service.kind(operation)
    }

    fn call(
        &self,
        context: &CallContext,
        request: Request,
    ) -> impl Future<Output = Response> + Send {
        self.interceptor.call(context, request, &self.service)
    }

    fn event(&self, context: &CallContext, event: Event) -> impl Future<Output = ()> + Send {
        self.interceptor.event(context, event, &self.service)
    }

    fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> impl Future<Output = Response> + Send {
        self.interceptor
            .stream(context, request, inbound, outbound, &self.service)
    }
}

impl<I, S: fmt::Debug> fmt::Debug for InterceptedService<I, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InterceptedService({:?})", self.service)
    }
}

#[cfg(test)]
mod tests;
