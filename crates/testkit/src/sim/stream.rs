//! The ends of a simulated stream, as a task holds them.

use super::Network;
use super::connection::{Role, SharedStream, Side};
use super::world::ConnectionId;
use corewire_message::{
    Body, CallError, Code, Headers, Inbound, Origin, Outbound, ReceiveMessages, SendMessages,
};
use corewire_wire::CallId;
use std::task::{Context, Poll};

/// Where a stream is.
type Place = (ConnectionId, Side, CallId);

pub(super) fn ends(network: Network, place: Place, stream: &SharedStream) -> (Outbound, Inbound) {
    let outbound = Outbound::new(Sender {
        network: network.clone(),
        place,
        stream: stream.clone(),
    });
    let inbound = Inbound::new(Receiver {
        network,
        place,
        stream: stream.clone(),
        trailers: Headers::new(),
        over: false,
    });
    (outbound, inbound)
}

struct Sender {
    network: Network,
    place: Place,
    stream: SharedStream,
}

impl SendMessages for Sender {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let (id, side, call) = self.place;
        let room = self.network.with_core(id, side, |core| core.room(call));
        match room.flatten() {
            None => Poll::Ready(Err(over())),
            Some(0) => {
                self.stream.lock().sender = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(_) => Poll::Ready(Ok(())),
        }
    }

    fn send(&mut self, message: Body) -> Result<(), CallError> {
        let (id, side, call) = self.place;
        let sent = self
            .network
            .with_core(id, side, |core| core.send(call, message));
        sent.unwrap_or_else(|| Err(over()))
    }

    fn finish(&mut self) {
        let (id, side, call) = self.place;
        self.network.with_core(id, side, |core| core.finish(call));
    }

    fn cancel(&mut self, code: Code) {
        give_up(&self.network, self.place, &self.stream, code);
    }

    fn abandon(&mut self) {
        // A service that lets go of its ends has not given the call up: what it returns ends it.
        if self.place.1 == Side::Client {
            self.cancel(Code::Cancelled);
        }
    }
}

struct Receiver {
    network: Network,
    place: Place,
    stream: SharedStream,
    trailers: Headers,
    over: bool,
}

impl ReceiveMessages for Receiver {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
        if self.over {
            return Poll::Ready(Ok(None));
        }
        let mut state = self.stream.lock();
        if let Some(message) = state.messages.pop_front() {
            drop(state);
            let (id, side, call) = self.place;
            let octets = message.len();
            self.network
                .with_core(id, side, |core| core.consumed(call, octets));
            return Poll::Ready(Ok(Some(message)));
        }
        match state.end.take() {
            None => {
                state.receiver = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(end) => {
                self.over = true;
                self.trailers = end?;
                Poll::Ready(Ok(None))
            }
        }
    }

    fn trailers(&self) -> &Headers {
        &self.trailers
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if self.place.1 == Side::Client && !self.over {
            give_up(&self.network, self.place, &self.stream, Code::Cancelled);
        }
    }
}

/// Gives a call up, unless it has ended.
fn give_up(network: &Network, place: Place, stream: &SharedStream, code: Code) {
    let (id, side, call) = place;
    let mut world = network.world();
    let Some(connection) = world.connections.get_mut(&id) else {
        return;
    };
    let end = connection.end(side);
    if end.streams.remove(&call).is_none() {
        return;
    }
    if let Role::Server { tasks, .. } = &mut end.role {
        // The service goes on, but its answer goes nowhere.
        tasks.remove(&call);
    }
    if let Some(core) = &mut end.core {
        core.cancel(call, code);
    }
    world.flush(id, side);
    drop(world);
    let context = "the call was given up";
    let error = CallError::cancelled(Origin::Local, context);
    stream.end(Err(error), true);
}

fn over() -> CallError {
    CallError::cancelled(
        Origin::Peer,
        "the call has ended; its end is told by the receiving side",
    )
}
