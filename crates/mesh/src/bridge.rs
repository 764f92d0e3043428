//! A gateway between protocols: a service that hands on what it is asked to whoever it is set
//! before, for example a channel through the mesh.
//!
//! ```text
//!   REST caller ──▶ ┌────────┐ ──▶ gRPC service
//!   gRPC caller ──▶ │ Bridge │ ──▶ REST service       one port, every protocol on either side
//!   native     ──▶  └────────┘ ──▶ native
//! ```
//!
//! Bodies are handed on as octets, headers as they are, deadlines and priorities too; a failure
//! comes back with its code, its headers and its detail.

use corewire_message::{
    Body, CallContext, CallError, CallKind, CallStream, Caller, Event, Inbound, Operation,
    Outbound, Request, Response, Service,
};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Which shape an operation's calls have; `None`: it is not bridged.
type Shape = Arc<dyn Fn(&Operation) -> Option<CallKind> + Send + Sync>;

/// Hands on what it is asked.
pub struct Bridge<C> {
    caller: C,
    shape: Shape,
}

impl<C: Caller> Bridge<C> {
    /// A bridge to `caller` for operations of one message each way.
    pub fn new(caller: C) -> Self {
        Self {
            caller,
            shape: Arc::new(|_| Some(CallKind::Unary)),
        }
    }

    /// The same with these shapes: HTTP/2 does not say which operations are streams, so somebody
    /// must.
    #[must_use]
    pub fn with_shapes(
        mut self,
        shape: impl Fn(&Operation) -> Option<CallKind> + Send + Sync + 'static,
    ) -> Self {
        self.shape = Arc::new(shape);
        self
    }
}

impl<C> fmt::Debug for Bridge<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bridge")
    }
}

impl<C: Caller> Service for Bridge<C> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        (self.shape)(operation)
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        self.caller.call(request).await.unwrap_or_else(response)
    }

    async fn event(&self, _context: &CallContext, event: Event) {
        // Nobody waits for an answer.
        let _ = self.caller.send(event).await;
    }

    async fn stream(
        &self,
        _context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        match self.caller.open(request).await {
            Ok(further) => join(further, inbound, outbound).await,
            Err(error) => response(error),
        }
    }
}

/// The answer that says best what happened.
fn response(error: CallError) -> Response {
    error
        .into_response()
        .unwrap_or_else(|error| Response::failed(error.to_status()))
}

/// Carries messages both ways until the further side ends the call. Each side is read only as fast
/// as the other takes.
async fn join(further: CallStream, inbound: Inbound, outbound: Outbound) -> Response {
    let mut up = pin!(carry_up(inbound, further.outbound));
    let mut down = pin!(carry_down(further.inbound, outbound));
    let mut up_ended = false;
    poll_fn(|cx| {
        if !up_ended {
            up_ended = up.as_mut().poll(cx).is_ready();
        }
        match down.as_mut().poll(cx) {
            Poll::Ready(response) => Poll::Ready(response),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn carry_up(mut from: Inbound, mut to: Outbound) {
    loop {
        match from.message().await {
            Ok(Some(message)) => {
                // It has ended: the other direction tells how.
                if to.send(message).await.is_err() {
                    return;
                }
            }
            Ok(None) => return to.finish(),
            Err(error) => return to.cancel(error.code()),
        }
    }
}

async fn carry_down(mut from: Inbound, mut to: Outbound) -> Response {
    loop {
        match from.message().await {
            Ok(Some(message)) => {
                if let Err(error) = to.send(message).await {
                    // The nearer side has gone; dropping the further one tells it.
                    return response(error);
                }
            }
            Ok(None) => return Response::ok(Body::new()).with_headers(from.trailers().clone()),
            Err(error) => return response(error),
        }
    }
}
