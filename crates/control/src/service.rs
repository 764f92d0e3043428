//! The control plane as a service: registry, status, and xDS streams, on one port.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: streams come and go by the clock"
)]

use crate::codec::{self, Form};
use crate::generated::control as message;
use crate::hub::{Hub, StreamSlot};
use crate::log::Log;
use crate::registry::{self, HEARTBEAT, LEAVE, LIST, REGISTER};
use crate::rights::Rights;
use crate::xds::{Event, Input, Variant};
use corewire_message::{
    Body, CallContext, CallError, CallKind, Code, Inbound, Operation, Outbound, Request, Response,
    Service, Status,
};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// What the control plane tells of itself.
pub const STATUS: Operation = Operation::from_static("corewire.control.v1.Control/Status");
/// xDS, state of the world.
pub const STREAM_RESOURCES: Operation = Operation::from_static(
    "envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
);
/// xDS, incremental.
pub const DELTA_RESOURCES: Operation = Operation::from_static(
    "envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
);

/// How long a client may leave a response lying before its stream is ended.
const SEND_PATIENCE: Duration = Duration::from_secs(60);
/// What one stream does before others have their turn.
const TURN: usize = 32;

/// Registry, status and xDS streams as one service.
#[derive(Clone)]
pub struct ControlService {
    pub(crate) hub: Arc<Hub>,
    pub(crate) log: Log,
    /// Callers that register must show who they are; otherwise the host of this service asks them.
    pub(crate) identifies: bool,
}

impl ControlService {
    /// The same, and it asks those who register who they are.
    pub(crate) const fn identifying(mut self) -> Self {
        self.identifies = true;
        self
    }
}

impl std::fmt::Debug for ControlService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ControlService")
    }
}

impl Service for ControlService {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        let is = |known: &Operation| operation == known;
        if [REGISTER, HEARTBEAT, LEAVE, LIST, STATUS].iter().any(is) {
            Some(CallKind::Unary)
        } else if [STREAM_RESOURCES, DELTA_RESOURCES].iter().any(is) {
            Some(CallKind::Stream)
        } else {
            None
        }
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        if request.operation == STATUS {
            let form = Form::of(&request.headers, &request.body);
            let read = codec::read::<message::StatusRequest>(form, &request);
            let status = read.map(|_| self.hub.status(Instant::now()));
            return status.map_or_else(Response::failed, |status| codec::write(form, &status));
        }
        let rights = if self.identifies {
            Rights::of(&self.hub, context.peer(), &request.headers)
        } else {
            Rights::all(&self.hub)
        };
        match registry::answer(&rights, &request) {
            Some(answer) => answer.unwrap_or_else(Response::failed),
            None => Response::failed(Status::of(Code::Unimplemented)),
        }
    }

    async fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        let variant = if request.operation == DELTA_RESOURCES {
            Variant::Delta
        } else {
            Variant::Sotw
        };
        let peer = context.peer().address.clone();
        let Some(slot) = self.hub.open(variant, Instant::now(), peer.clone()) else {
            return Response::failed(Status::new(
                Code::ResourceExhausted,
                "as many xDS streams are open as there may be (limits.streams)",
            ));
        };
        let mut stream = OpenStream {
            hub: &self.hub,
            log: &self.log,
            peer,
            slot,
            inbound,
            outbound,
            pending: None,
        };
        let status = poll_fn(|cx| stream.poll(cx)).await;
        if status.is_ok() {
            Response::ok(Body::new())
        } else {
            Response::failed(status)
        }
    }
}

/// Drives one xDS stream: moves messages between the transport and the core.
struct OpenStream<'a> {
    hub: &'a Hub,
    log: &'a Log,
    peer: String,
    slot: Arc<StreamSlot>,
    inbound: Inbound,
    outbound: Outbound,
    /// A response that waits for room, and since when. There is one at most: the next is made
    /// when this one is gone, of what is current then.
    pending: Option<(Body, Instant)>,
}

impl Drop for OpenStream<'_> {
    fn drop(&mut self) {
        self.hub.release(&self.slot);
    }
}

impl OpenStream<'_> {
    /// Completes with how the stream ends.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        // Before looking, so that what comes meanwhile wakes us.
        self.slot.register(cx.waker());
        let now = Instant::now();
        match self.turn(now, cx) {
            Ok(true) => cx.waker().wake_by_ref(),
            Ok(false) => {}
            Err(status) => return Poll::Ready(status),
        }
        self.tell();
        let core = self.slot.lock();
        let reads = core.reads_from(now);
        let gives_up = self
            .pending
            .as_ref()
            .map(|(_, since)| *since + SEND_PATIENCE);
        let next = [core.poll_timeout(), reads, gives_up]
            .into_iter()
            .flatten()
            .min();
        drop(core);
        self.hub.set_deadline(&self.slot, next);
        Poll::Pending
    }

    /// Does what can be done; `Ok(true)` when there is more.
    fn turn(&mut self, now: Instant, cx: &mut Context<'_>) -> Result<bool, Status> {
        if self.hub.is_closing() {
            let text = "the control plane ends: connect again";
            return Err(Status::new(Code::Unavailable, text));
        }
        {
            let mut core = self.slot.lock();
            if self.slot.take_stale() {
                let snapshot = Input::Snapshot(self.hub.snapshot());
                core.handle_event(now, snapshot)
                    .map_err(|f| f.to_status())?;
            }
            core.handle_timeout(now).map_err(|f| f.to_status())?;
        }
        for _ in 0..TURN {
            let sent = self.send(now, cx)?;
            let received = self.receive(now, cx)?;
            if !sent && !received {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends what is due, if there is room; says whether something went.
    fn send(&mut self, now: Instant, cx: &mut Context<'_>) -> Result<bool, Status> {
        if self.pending.is_none() {
            let response = self.slot.lock().poll_transmit(now);
            self.pending = response.map(|octets| (Body::from(octets), now));
        }
        let Some((body, since)) = &self.pending else {
            return Ok(false);
        };
        // Safe to drop and begin again: what was not sent was not taken.
        match pin!(self.outbound.send(body.clone())).poll(cx) {
            Poll::Ready(Ok(())) => {
                self.pending = None;
                Ok(true)
            }
            Poll::Ready(Err(error)) => Err(error.to_status()),
            Poll::Pending if now >= *since + SEND_PATIENCE => Err(Status::new(
                Code::DeadlineExceeded,
                "a response lay unread for too long",
            )),
            Poll::Pending => Ok(false),
        }
    }

    /// Takes a message, if one is there and may be read; says whether one was.
    fn receive(&mut self, now: Instant, cx: &mut Context<'_>) -> Result<bool, Status> {
        if self.slot.lock().reads_from(now).is_some() {
            return Ok(false);
        }
        match pin!(self.inbound.message()).poll(cx) {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(None)) => Err(Status::OK),
            Poll::Ready(Err(error)) => Err(end_of(&error)),
            Poll::Ready(Ok(Some(message))) => {
                let input = Input::Message(message.into_bytes());
                let mut core = self.slot.lock();
                let taken = core.handle_event(now, input);
                let named = core.named();
                drop(core);
                let taken = taken.map_err(|fault| fault.to_status());
                let counted = self.hub.note_names(&self.slot, named).map_err(|limit| {
                    let text = format!(
                        "all streams together may name {limit} resources (limits.total-subscriptions)"
                    );
                    Status::new(Code::ResourceExhausted, text)
                });
                taken.and(counted).inspect_err(|status| {
                    self.log.line(&format!("xds: {}: {status}", self.peer));
                })?;
                Ok(true)
            }
        }
    }

    fn tell(&self) {
        let mut core = self.slot.lock();
        let mut lines = Vec::new();
        while let Some(event) = core.poll() {
            match event {
                Event::Identified => {}
                Event::Refused {
                    kind,
                    version,
                    reason,
                } => {
                    let node = core.node_id();
                    lines.push(format!(
                        "xds: {} ({node:?}) refuses {kind} {version}: {reason}",
                        self.peer
                    ));
                }
            }
        }
        drop(core);
        lines.iter().for_each(|line| self.log.line(line));
    }
}

fn end_of(error: &CallError) -> Status {
    error.to_status()
}
