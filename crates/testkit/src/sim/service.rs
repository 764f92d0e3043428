//! A service whose type is erased: nodes hold services of many kinds.

use crate::clock::BoxFuture;
use corewire_message::{
    CallContext, CallKind, Event, Inbound, Operation, Outbound, Request, Response, Service,
};
use std::sync::Arc;

pub(super) trait SimService: Send + Sync {
    fn kind(&self, operation: &Operation) -> Option<CallKind>;
    fn call(self: Arc<Self>, context: CallContext, request: Request) -> BoxFuture<Response>;
    fn event(self: Arc<Self>, context: CallContext, event: Event) -> BoxFuture<()>;
    fn stream(
        self: Arc<Self>,
        context: CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> BoxFuture<Response>;
}

impl<S: Service> SimService for S {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        Service::kind(self, operation)
    }

    fn call(self: Arc<Self>, context: CallContext, request: Request) -> BoxFuture<Response> {
        Box::pin(async move { Service::call(&*self, &context, request).await })
    }

    fn event(self: Arc<Self>, context: CallContext, event: Event) -> BoxFuture<()> {
        Box::pin(async move { Service::event(&*self, &context, event).await })
    }

    fn stream(
        self: Arc<Self>,
        context: CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> BoxFuture<Response> {
        Box::pin(async move { Service::stream(&*self, &context, request, inbound, outbound).await })
    }
}
