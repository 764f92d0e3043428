//! The answering side.

use crate::{Bytes, Code, Event, Inbound, Operation, Outbound, Request, Response, Status};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// What shape an operation's calls have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "one message or many: there is no third"
)]
pub enum CallKind {
    /// One message each way.
    Unary,
    /// Any number of messages, at least on one side.
    Stream,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its address as the transport writes it, for example `127.0.0.1:40112`.
    pub address: String,
    /// The protocol of the connection: `native`, or `http2` for gRPC and REST alike.
    pub protocol: &'static str,
    /// The certificate that it proved to have the key of (mutual TLS), as DER; an accepted
    /// authority issued it.
    pub certificate: Option<Bytes>,
}

impl Peer {
    /// A peer at this address, without a certificate.
    pub fn new(address: impl Into<String>, protocol: &'static str) -> Self {
        Self {
            address: address.into(),
            protocol,
            certificate: None,
        }
    }

    /// The same with its certificate.
    #[must_use]
    pub fn with_certificate(mut self, certificate: Option<Bytes>) -> Self {
        self.certificate = certificate;
        self
    }
}

/// What is known of a call beside its message. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CallContext {
    peer: Arc<Peer>,
}

impl CallContext {
    /// The context of a call from this peer.
    #[must_use]
    pub const fn new(peer: Arc<Peer>) -> Self {
        Self { peer }
    }

    /// Who asks.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }
}

/// What a network function implements to be called.
///
/// Methods run on the event loop that owns the connection: they must not block. A service that
/// must block hands the work to a thread of its own and awaits the result. When the caller gives
/// up or its deadline passes, the future is dropped at its next `.await`; work that must be done
/// all the same belongs in a task of its own.
pub trait Service: Send + Sync + 'static {
    /// The shape of this operation's calls; `None` when it is not known here.
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        let _ = operation;
        Some(CallKind::Unary)
    }

    /// Answers a request.
    fn call(
        &self,
        context: &CallContext,
        request: Request,
    ) -> impl Future<Output = Response> + Send;

    /// Takes an event. The default drops it: nobody waits for an answer.
    fn event(&self, context: &CallContext, event: Event) -> impl Future<Output = ()> + Send {
        let _ = (context, event);
        async {}
    }

    /// Serves a stream; what it returns ends the call. `request` carries operation, headers,
    /// deadline and priority; its body is empty, messages come by `inbound`.
    fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> impl Future<Output = Response> + Send {
        let _ = (context, inbound, outbound);
        async move {
            Response::failed(Status::new(
                Code::Unimplemented,
                format!("{} is not a stream here", request.operation),
            ))
        }
    }

    /// The same with an interceptor around it; the one that is added last runs first.
    #[must_use]
    fn with_interceptor<I: ServiceInterceptor>(self, interceptor: I) -> InterceptedService<I, Self>
    where
        Self: Sized,
    {
        InterceptedService::new(interceptor, self)
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
    const fn new(interceptor: I, service: S) -> Self {
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

impl<S: Service> Service for Arc<S> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        (**self).kind(operation)
    }

    fn call(
        &self,
        context: &CallContext,
        request: Request,
    ) -> impl Future<Output = Response> + Send {
        (**self).call(context, request)
    }

    fn event(&self, context: &CallContext, event: Event) -> impl Future<Output = ()> + Send {
        (**self).event(context, event)
    }

    fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> impl Future<Output = Response> + Send {
        (**self).stream(context, request, inbound, outbound)
    }
}
