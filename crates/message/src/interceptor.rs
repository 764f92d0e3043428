//! Interceptors: code of a program's own around every call, at either end.
//!
//! ```text
//!   caller ─▶ Interceptor ─▶ mesh ─▶ transport ~~~~ transport ─▶ ServiceInterceptor ─▶ Service
//!             changes the request, or answers       looks at what comes in, or answers
//!             itself, or calls the rest again       instead of the service
//! ```
//!
//! Both are generic over what follows: a layer is a field and a function call, without an allocation
//! or an erased type. A program that chooses its layers at run time erases the whole once, by
//! [`Channel`](crate::Channel).
//!
//! Here stands what callers of both kinds share; [`ServiceInterceptor`](crate::ServiceInterceptor) is
//! the server's.

use crate::{CallError, Event, Request, Response};
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

/// A layer around the calls that a [`Caller`](crate::Caller) sends, with or without the mesh; the same one serves
/// blocking callers.
///
/// It runs once a call, before routes and retries are decided: what it changes holds for every
/// attempt. A request carries all that is known of a call before it has a route, so there is no
/// context beside it. Each method hands on by default. The messages of an open stream do not pass
/// here; a layer that must see them implements [`Caller`](crate::Caller) itself.
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
    /// error too: see [`Caller::call`](crate::Caller::call).
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
