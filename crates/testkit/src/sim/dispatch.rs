//! From octets to messages: reading, and handing on what cores tell.

use super::connection::{Role, SharedStream, Side};
use super::stream::ends;
use super::world::{ConnectionId, What, World};
use super::{Network, SimService};
use corewire_message::{CallContext, CallError, Code, ErrorKind, Headers, Origin, Response};
use corewire_wire::{CallId, Input, Output};
use std::sync::Arc;

impl World {
    /// Sees that this end reads, if there is something to read and it may.
    pub(super) fn schedule_read(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        let something = !end.arrived.is_empty() || end.end_arrived;
        if something
            && end.core.is_some()
            && !end.reading
            && self.nodes[end.node.0].reads
            && end.backlog() <= self.nodes[end.node.0].max_backlog
        {
            end.reading = true;
            self.schedule(self.now, What::Read(id, side));
        }
    }

    pub(super) fn read(&mut self, id: ConnectionId, side: Side) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        end.reading = false;
        let (node, peer) = (end.node, end.peer);
        if end.arrived.is_empty() {
            if end.end_arrived {
                self.close(id, side);
            }
            return;
        }
        let link = self.link(peer, node);
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        let count = link.chunk(end.arrived.len(), &mut self.random);
        let chunk = end.arrived.split_to(count);
        end.partial.extend_from_slice(&chunk);
        let Some(core) = &mut end.core else { return };
        let mut result = core.handle_event(now, Input::Octets(&mut end.partial));
        while result.is_ok() && core.has_more() {
            result = core.handle_event(now, Input::Octets(&mut end.partial));
        }
        self.outputs(id, side);
        // The peer learns that there is room again one way later.
        let back = self.link(node, peer).latency;
        self.schedule(now + back, What::Write(id, side.other()));
        match result {
            Err(fault) => self.fault(id, side, &fault.to_string()),
            // Also schedules the next read.
            Ok(()) => self.flush(id, side),
        }
    }

    /// Tells a core that nothing more comes or goes, and everybody who waits for it; takes it away
    /// and gives what it still has to say.
    pub(super) fn end_core(&mut self, id: ConnectionId, side: Side, why: &str) -> Vec<u8> {
        let now = self.now;
        let mut last_words = Vec::new();
        let Some(connection) = self.connections.get_mut(&id) else {
            return last_words;
        };
        let end = connection.end(side);
        let Some(core) = &mut end.core else {
            return last_words;
        };
        // The connection ends either way.
        let _ = core.handle_event(now, Input::Closed);
        core.poll_transmit(now, &mut end.outbox);
        while !end.outbox.is_empty() {
            last_words.extend_from_slice(end.outbox.first());
            end.outbox.advance(end.outbox.first().len());
        }
        self.outputs(id, side);
        let Some(connection) = self.connections.get_mut(&id) else {
            return last_words;
        };
        let channel = connection.channel;
        let end = connection.end(side);
        end.core = None;
        let left = end.waiting();
        assert!(
            left == 0,
            "{why}: the core of the {side:?} end left {left} calls without an end"
        );
        if side == Side::Client && self.channels[channel].connection == Some(id) {
            self.channels[channel].connection = None;
        }
        last_words
    }

    /// Hands on everything that the core of an end has to tell.
    pub(super) fn outputs(&mut self, id: ConnectionId, side: Side) {
        loop {
            let Some(connection) = self.connections.get_mut(&id) else {
                return;
            };
            let end = connection.end(side);
            let Some(output) = end.core.as_mut().and_then(|core| core.poll()) else {
                return;
            };
            match output {
                Output::Response { call, response } => {
                    self.completed(id, call, response.into_result());
                }
                Output::Failed { call, error } => self.completed(id, call, Err(error)),
                Output::Message { call, message } => match end.streams.get(&call) {
                    Some(stream) => stream.deliver(message),
                    None => {
                        if let Some(core) = &mut end.core {
                            core.consumed(call, message.len());
                        }
                    }
                },
                Output::Finished { call } => {
                    if let Some(stream) = end.streams.get(&call) {
                        stream.end(Ok(Headers::new()), false);
                    }
                }
                Output::Writable { call } => {
                    if let Some(stream) = end.streams.get(&call) {
                        stream.writable();
                    }
                }
                Output::Cancelled { call, code } => self.cancelled(id, call, code),
                Output::Draining => {
                    end.close_when_idle = true;
                    let channel = connection.channel;
                    if self.channels[channel].connection == Some(id) {
                        self.channels[channel].connection = None;
                    }
                }
                Output::Request { call, request } => {
                    self.serve(id, Some(call), move |service, context| {
                        service.call(context, request)
                    });
                }
                Output::Event(event) => {
                    let Role::Server { service, .. } = &end.role else {
                        panic!("a client's core told of an event");
                    };
                    if service.kind(&event.operation).is_none() {
                        // Not known here, and nobody to tell.
                        continue;
                    }
                    self.serve(id, None, move |service, context| {
                        let event = service.event(context, event);
                        Box::pin(async move {
                            event.await;
                            Response::ok(corewire_message::Body::new())
                        })
                    });
                }
                Output::Opened { call, request } => {
                    let stream = SharedStream::default();
                    end.streams.insert(call, stream.clone());
                    let Some(shared) = self.shared.upgrade() else {
                        return;
                    };
                    let (outbound, inbound) =
                        ends(Network(shared), (id, Side::Server, call), &stream);
                    self.serve(id, Some(call), move |service, context| {
                        service.stream(context, request, inbound, outbound)
                    });
                }
            }
        }
    }

    fn serve(
        &mut self,
        id: ConnectionId,
        call: Option<CallId>,
        work: impl FnOnce(Arc<dyn SimService>, CallContext) -> crate::clock::BoxFuture<Response>,
    ) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Role::Server {
            service,
            context,
            tasks,
        } = &mut connection.server.role
        else {
            panic!("a client's core told of a request");
        };
        let answer = work(Arc::clone(service), context.clone());
        let shared = self.shared.clone();
        let task = self.executor.spawn(Box::pin(async move {
            let response = answer.await;
            if let (Some(call), Some(shared)) = (call, shared.upgrade()) {
                Network(shared).world().respond(id, call, response);
            }
        }));
        if let Some(call) = call {
            let before = tasks.insert(call, task);
            assert!(before.is_none(), "call {} came in twice", call.number());
        }
    }

    fn respond(&mut self, id: ConnectionId, call: CallId, response: Response) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = &mut connection.server;
        if let Role::Server { tasks, .. } = &mut end.role {
            tasks.remove(&call);
        }
        if let Some(stream) = end.streams.remove(&call) {
            stream.end(Ok(Headers::new()), true);
        }
        if let Some(core) = &mut end.core {
            core.respond(call, response);
        }
        self.flush(id, Side::Server);
    }

    /// A client's call has ended: exactly once.
    fn completed(&mut self, id: ConnectionId, call: CallId, result: Result<Response, CallError>) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Role::Client { calls } = &mut connection.client.role else {
            return;
        };
        if let Some(slot) = calls.remove(&call) {
            slot.complete(result);
        } else if let Some(stream) = connection.client.streams.remove(&call) {
            let end = result.map(|response| {
                if !response.body.is_empty() {
                    stream.deliver(response.body);
                }
                response.headers
            });
            stream.end(end, true);
        } else {
            panic!(
                "call {} ended twice, or after it was given up: {result:?}",
                call.number()
            );
        }
    }

    /// A server's call was given up.
    fn cancelled(&mut self, id: ConnectionId, call: CallId, code: Code) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = &mut connection.server;
        let Role::Server { tasks, .. } = &mut end.role else {
            panic!("a client's core told of a cancelled call");
        };
        // An answered call whose answer is still on its way may be given up: nothing is left then.
        if let Some(task) = tasks.remove(&call) {
            self.executor.abandon(task);
        }
        if let Some(stream) = end.streams.remove(&call) {
            stream.end(Err(gave_up(code)), true);
        }
    }
}

fn gave_up(code: Code) -> CallError {
    let kind = match code {
        Code::DeadlineExceeded => ErrorKind::DeadlineExceeded,
        Code::Unavailable => ErrorKind::FateUnknown,
        _ => ErrorKind::Cancelled,
    };
    CallError::new(kind, Origin::Peer, true, "the caller gave the call up")
}
