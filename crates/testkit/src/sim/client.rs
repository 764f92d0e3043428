//! The calling side: what a test, or a service of a node, holds.

use super::Network;
use super::connection::{Role, SharedCall, SharedStream, Side};
use super::stream::ends;
use super::world::{ConnectionId, no_connection};
use corewire_message::{CallError, CallStream, Caller, Code, Event, Request, Response};
use corewire_wire::CallId;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A client of a node's service. Connects at the first call and again when the connection is lost.
/// Clones share it.
#[derive(Clone)]
pub struct Client {
    pub(super) network: Network,
    pub(super) channel: usize,
}

impl Caller for Client {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        let slot = SharedCall::default();
        let place = self.network.world().call(self.channel, request, &slot)?;
        CallFuture {
            network: self.network.clone(),
            place,
            slot,
            ended: false,
        }
        .await
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        let mut world = self.network.world();
        let now = world.now;
        let id = world.connection_of(self.channel);
        let core = world.client_core(id).ok_or_else(no_connection)?;
        core.send_event(now, event)?;
        world.flush(id, Side::Client);
        Ok(())
    }

    async fn open(&self, mut request: Request) -> Result<CallStream, CallError> {
        let mut world = self.network.world();
        let (id, now) = world.begin(self.channel, &mut request);
        let core = world.client_core(id).ok_or_else(no_connection)?;
        let call = core.open(now, request)?;
        let stream = SharedStream::default();
        if let Some(connection) = world.connections.get_mut(&id) {
            connection.client.streams.insert(call, stream.clone());
        }
        world.flush(id, Side::Client);
        drop(world);
        let (outbound, inbound) = ends(self.network.clone(), (id, Side::Client, call), &stream);
        Ok(CallStream { outbound, inbound })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client(channel {})", self.channel)
    }
}

/// A call in flight. Dropping it gives the call up.
struct CallFuture {
    network: Network,
    place: (ConnectionId, CallId),
    slot: SharedCall,
    ended: bool,
}

impl Future for CallFuture {
    type Output = Result<Response, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.slot.lock();
        if let Some(result) = state.result.take() {
            drop(state);
            self.ended = true;
            return Poll::Ready(result);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for CallFuture {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (id, call) = self.place;
        let mut world = self.network.world();
        let Some(connection) = world.connections.get_mut(&id) else {
            return;
        };
        if let Role::Client { calls } = &mut connection.client.role
            && calls.remove(&call).is_some()
            && let Some(core) = &mut connection.client.core
        {
            core.cancel(call, Code::Cancelled);
            world.flush(id, Side::Client);
        }
    }
}
