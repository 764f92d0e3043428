//! What the inbox brings: calls, streams' messages, timers, the end.

use super::arena::Key;
use super::call_map::CallMap;
use super::call_slot::CallSlot;
use super::client::Channel;
use super::connection::{Connection, Role, State};
use super::inbox::{Command, Completion, Spawn, loop_ended};
use super::stream_slot::StreamSlot;
use super::{EventLoop, Phase, Sleep};
use corewire_driver::{after, clock};
use corewire_message::{CallError, Code, Event, Origin, Request, Response};
use corewire_sys::Interest;
use corewire_wire::CallId;
use std::sync::Arc;

/// Turns of the inbox before the sockets are looked at again: tasks that only wake each other
/// must not starve them.
const ROUNDS: usize = 16;

impl EventLoop {
    fn spawn(&mut self, task: Spawn) {
        let place = self.spawned.insert(task, &self.shared);
        self.spawned.poll(place);
    }

    pub(super) fn resume_spawned(&mut self, place: usize) {
        self.spawned.poll(place);
    }

    pub(super) fn do_inbox(&mut self) {
        for _ in 0..ROUNDS {
            let mut commands = std::mem::take(&mut self.commands);
            let mut ready = std::mem::take(&mut self.ready);
            self.shared.take(&mut commands, &mut ready);
            let nothing = commands.is_empty() && ready.is_empty();
            if !commands.is_empty() {
                // Once for all of them: each was given before now.
                self.now = self.now.max(clock());
            }
            if !nothing {
                self.waiting.active = self.now;
            }
            self.to_come = commands.len();
            for command in commands.drain(..) {
                self.to_come -= 1;
                self.do_command(command);
            }
            for task in ready.drain(..) {
                self.resume(task);
            }
            self.commands = commands;
            self.ready = ready;
            if nothing {
                return;
            }
        }
    }

    fn do_command(&mut self, command: Command) {
        match command {
            Command::AddChannel {
                channel,
                endpoint,
                options,
                watcher,
            } => {
                if self.channels.len() <= channel {
                    self.channels.resize_with(channel + 1, || None);
                }
                self.waiting.calling_patience = self.waiting.calling_patience.max(options.patience);
                self.channels[channel] = Some(Channel::new(endpoint, options, watcher, self.now));
            }
            Command::RemoveChannel { channel } => self.remove_channel(channel),
            Command::Prepare { channel } => self.prepare(channel),
            Command::Call {
                channel,
                request,
                completion,
            } => {
                self.call(channel, request, completion);
            }
            Command::CancelCall { slot } => self.cancel_call(&slot),
            Command::SendEvent {
                channel,
                event,
                completion,
            } => {
                let sent = self.send_event(channel, event);
                self.tell(
                    completion,
                    sent.map(|()| Response::ok(corewire_message::Body::new())),
                );
            }
            Command::Open {
                channel,
                request,
                stream,
            } => self.open(channel, request, stream),
            Command::StreamSend { stream, message } => {
                let octets = message.len().max(1);
                let sent = self.with_stream(&stream, |core, call| {
                    let refused = core.send(call, message).err();
                    (refused, core.room(call))
                });
                let (refused, room) = sent.unwrap_or((None, None));
                stream.applied(octets, room);
                // The end of a call that has ended is told by the receiving side. One that has not
                // must not go on as if the message had been sent.
                if let (Some(error), Some(_)) = (refused, room) {
                    self.end_stream(&stream, Code::ResourceExhausted, error);
                }
            }
            Command::StreamHeaders { stream, headers } => {
                self.with_stream(&stream, |core, call| core.send_headers(call, &headers));
            }
            Command::StreamFinish { stream } => {
                self.with_stream(&stream, |core, call| core.finish(call));
            }
            Command::StreamCancel { stream, code } => self.cancel_stream(&stream, code),
            Command::StreamConsumed { stream, octets } => {
                self.with_stream(&stream, |core, call| core.consumed(call, octets));
            }
            Command::Respond { at, response } => self.answer(at, response),
            Command::Sleep { until, sleep } => self.timers.sleep(until, sleep),
            Command::Spawn { task } => self.spawn(task),
            Command::Drain { until } => self.drain(until),
            Command::Stop => self.end(),
        }
    }

    /// Tells a call's end before the turn waits; whoever runs the loop until then must learn of it.
    fn tell(&mut self, completion: Completion, result: Result<Response, CallError>) {
        self.told = true;
        completion.complete(result);
    }

    fn call(&mut self, channel: usize, mut request: Request, completion: Completion) {
        let key = match self.connection_of(channel, Some(&mut request)) {
            Ok(key) => key,
            Err(error) => return self.tell(completion, Err(error)),
        };
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(core) = &mut connection.core else {
            return;
        };
        match core.call(now, request) {
            Err(error) => self.tell(completion, Err(error)),
            Ok(call) => {
                if let Completion::Slot(slot) = &completion {
                    slot.place(key, call);
                }
                if let Role::Client { calls, .. } = &mut connection.role {
                    calls.insert(call, completion);
                }
                connection.unwritten += 1;
                if connection.is_worth_writing(self.to_come) {
                    // A failure meets the next write too, and there it is told.
                    let _told_later = connection.flush(now);
                }
                self.mark_dirty(key);
            }
        }
    }

    /// Makes a channel's connection ahead of its first call.
    fn prepare(&mut self, channel: usize) {
        let connected = self.connection_of(channel, None);
        if let Err(error) = connected
            && let Some(Some(channel)) = self.channels.get_mut(channel)
        {
            // With its cause: the error alone says where, not why.
            let why = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
            channel.disconnected(&why);
        }
    }

    fn send_event(&mut self, channel: usize, event: Event) -> Result<(), CallError> {
        let key = self.connection_of(channel, None)?;
        let now = self.now;
        self.mark_dirty(key);
        match self
            .connections
            .get_mut(key)
            .and_then(|connection| connection.core.as_mut())
        {
            Some(core) => core.send_event(now, event),
            None => Err(loop_ended()),
        }
    }

    fn open(&mut self, channel: usize, mut request: Request, stream: Arc<StreamSlot>) {
        let key = match self.connection_of(channel, Some(&mut request)) {
            Ok(key) => key,
            Err(error) => return stream.end(Err(error), true),
        };
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(core) = &mut connection.core else {
            return;
        };
        match core.open(now, request) {
            Err(error) => stream.end(Err(error), true),
            Ok(call) => {
                stream.opened(key, call, core.room(call).unwrap_or(0));
                connection.role.streams().insert(call, stream);
                self.mark_dirty(key);
            }
        }
    }

    /// The connection of a channel, made now if there is none. Gives the request its deadline.
    fn connection_of(
        &mut self,
        channel: usize,
        request: Option<&mut Request>,
    ) -> Result<Key, CallError> {
        let now = self.now;
        if matches!(
            self.phase,
            Phase::Ended | Phase::Draining { callers: true, .. }
        ) {
            return Err(loop_ended());
        }
        let Some(Some(found)) = self.channels.get_mut(channel) else {
            return Err(loop_ended());
        };
        if let Some(request) = request {
            let deadline = || after(now, found.options.call_timeout);
            request.deadline.get_or_insert_with(deadline);
        }
        if let Some(key) = found.connection {
            return Ok(key);
        }
        found.may_connect(now)?;
        let core = found.new_core(now)?;
        let connection = match found.begin_connect(now) {
            Ok((socket, settle_by)) => {
                let (calls, streams) = (CallMap::default(), CallMap::default());
                let role = Role::Client {
                    channel,
                    calls,
                    streams,
                };
                let mut connection =
                    Connection::new(socket, role, State::Connecting, Interest::Write);
                connection.core = Some(core);
                connection.settle_by = Some(settle_by);
                connection
            }
            Err(error) => {
                let endpoint = &found.endpoint;
                let context = format!("{endpoint} cannot be connected to");
                found.failed(now, error.to_string(), now.elapsed().subsec_nanos());
                return Err(CallError::not_sent(Origin::Transport, context).with_source(error));
            }
        };
        let in_memory = connection.socket.is_memory();
        let key = self.insert(connection).ok_or_else(loop_ended)?;
        if let Some(Some(found)) = self.channels.get_mut(channel) {
            found.connection = Some(key);
        }
        self.set_timer(key);
        if in_memory {
            // Connected already, and nothing will say so.
            self.finish_connecting(key);
        }
        Ok(key)
    }

    fn cancel_call(&mut self, slot: &Arc<CallSlot>) {
        let Some((key, call)) = slot.at() else { return };
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Role::Client { calls, .. } = &mut connection.role
            && calls.remove(&call).is_some()
            && let Some(core) = &mut connection.core
        {
            core.cancel(call, Code::Cancelled);
            self.mark_dirty(key);
        }
    }

    fn cancel_stream(&mut self, stream: &Arc<StreamSlot>, code: Code) {
        let context = "the call was given up";
        let error = CallError::cancelled(Origin::Local, context);
        self.end_stream(stream, code, error);
    }

    /// Gives a stream up: the peer is told `code`, this side `error`.
    fn end_stream(&mut self, stream: &Arc<StreamSlot>, code: Code, error: CallError) {
        let Some((key, call)) = stream.at() else {
            return;
        };
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if connection.role.streams().remove(&call).is_some() {
            stream.end(Err(error), true);
            if let Some(core) = &mut connection.core {
                core.cancel(call, code);
            }
            self.mark_dirty(key);
        }
    }

    fn with_stream<T>(
        &mut self,
        stream: &StreamSlot,
        f: impl FnOnce(&mut dyn corewire_wire::Core, CallId) -> T,
    ) -> Option<T> {
        let (key, call) = stream.at()?;
        let connection = self.connections.get_mut(key)?;
        let core = connection.core.as_mut()?;
        let result = f(&mut **core, call);
        self.mark_dirty(key);
        Some(result)
    }

    /// The last handle of a channel is gone: so are its callers, but not calls by callback.
    fn remove_channel(&mut self, channel: usize) {
        let Some(place) = self.channels.get_mut(channel) else {
            return;
        };
        if let Some(key) = place.take().and_then(|channel| channel.connection) {
            let Some(connection) = self.connections.get_mut(key) else {
                return;
            };
            if let Some(core) = &mut connection.core {
                core.drain();
            }
            connection.close_when_idle = true;
            self.mark_dirty(key);
        }
        self.shared.free_channel(channel);
    }

    /// Refuses what is in the inbox of a loop that has ended.
    pub(super) fn refuse_the_rest(&mut self) {
        for command in self.shared.close() {
            match command {
                Command::Call { completion, .. } | Command::SendEvent { completion, .. } => {
                    completion.complete(Err(loop_ended()));
                }
                Command::Open { stream, .. } => stream.end(Err(loop_ended()), true),
                Command::Sleep { sleep, .. } => Sleep::end(&sleep),
                _ => {}
            }
        }
        self.timers.wake_all();
    }
}
