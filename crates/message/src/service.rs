//! The answering side.

use crate::{
    Bytes, Code, Event, Inbound, InterceptedService, Operation, Outbound, Request, Response,
    ServiceInterceptor, Status,
};
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
