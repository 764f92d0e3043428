//! From readiness to messages: accepting, reading, and handing on what cores tell.

use super::arena::Key;
use super::call_map::CallMap;
use super::connection::{Connection, Received, Role, State};
use super::inbox::{CallRef, TaskRef};
use super::listener::{FirstOctets, ServerCounters, UPGRADE_REQUIRED};
use super::stream::{Side, StreamShared, ends};
use super::tasks::{Progress, Work};
use super::{Due, EventLoop, Phase, Timer, after, source};
use bytes::BytesMut;
use corewire_message::{CallContext, Code, Event, Headers, Peer, Response};
use corewire_sys::{Interest, Readiness, Token};
use corewire_wire::{CallId, Input, Output};
use std::cmp::Reverse;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Connections accepted from one listener in one turn, so that a storm of them does not starve
/// those that are open.
const ACCEPTS_A_TURN: usize = 64;

/// How long a loop that could not accept (no descriptors left) leaves its listener alone.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Messages handed on before it is looked at how much waits for the peer: it costs a little.
const LOOK_AT_BACKLOG_EVERY: usize = 16;

/// Output is written at once when this much of it waits, while it is still in the cache.
const WRITE_AT_ONCE: usize = 32 * 1024;

/// The limit on what waits for a service that answers this side's calls: the caller's own octets.
const CLIENT_BACKLOG: usize = usize::MAX;

impl EventLoop {
    pub(super) fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPTS_A_TURN {
            let Some(Some(accepting)) = self.listeners.get(listener) else {
                return;
            };
            let Some(socket) = &accepting.socket else {
                return;
            };
            let socket = match socket.accept() {
                Ok(socket) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Out of descriptors or memory: those that are open go on.
                Err(_) => return self.pause_accepting(listener),
            };
            ServerCounters::count(&accepting.counters.accepted);
            if self.connections.len() >= accepting.options.max_connections {
                ServerCounters::count(&accepting.counters.refused);
                continue;
            }
            let peer = Arc::new(Peer::new(socket.peer(), "undecided"));
            let role = Role::Server {
                service: listener,
                context: CallContext::new(peer),
                tasks: CallMap::default(),
                streams: CallMap::default(),
            };
            let at = after(self.now, accepting.options.first_octets_timeout);
            let key = self.insert(Connection::new(socket, role, State::Open, Interest::Read));
            if let Some(connection) = key.and_then(|key| self.connections.get_mut(key)) {
                connection.timer = Some(at);
            }
            if let Some(key) = key {
                self.timers.push(Reverse(Timer {
                    at,
                    what: Due::Connection(key),
                }));
            }
        }
    }

    fn pause_accepting(&mut self, listener: usize) {
        let Some(Some(accepting)) = self.listeners.get(listener) else {
            return;
        };
        // Out of the set, or a loop without descriptors would spin.
        if let Some(socket) = &accepting.socket {
            let _already_out = self.epoll.remove(socket.as_fd());
        }
        let at = self.now + ACCEPT_AGAIN_AFTER;
        self.timers.push(Reverse(Timer {
            at,
            what: Due::Accept(listener),
        }));
    }

    pub(super) fn resume_accepting(&mut self, listener: usize) {
        if let Some(Some(accepting)) = self.listeners.get(listener)
            && let Some(socket) = &accepting.socket
        {
            let token = Token(u64::from(source::LISTENER) << 56 | listener as u64);
            if self
                .epoll
                .add(socket.as_fd(), token, Interest::Read)
                .is_err()
            {
                self.pause_accepting(listener);
            }
        }
    }

    /// Adds a connection to the loop; `None` when the kernel does not take it into the set.
    pub(super) fn insert(&mut self, connection: Connection) -> Option<Key> {
        let interest = connection.interest;
        let key = self.connections.insert(connection);
        let connection = self.connections.get_mut(key)?;
        let token = key.to_token(source::CONNECTION);
        if self
            .epoll
            .add(connection.socket.as_fd(), token, interest)
            .is_err()
        {
            self.connections.remove(key);
            return None;
        }
        Some(key)
    }

    pub(super) fn do_connection(&mut self, key: Key, readiness: Readiness) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if connection.state == State::Connecting {
            self.finish_connecting(key);
            return;
        }
        if readiness.readable && connection.state == State::Open {
            self.read(key);
        }
        if readiness.writable {
            self.mark_dirty(key);
        }
    }

    fn finish_connecting(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        match connection.socket.take_error() {
            Ok(()) => {
                connection.state = State::Open;
                if let Role::Client { channel, .. } = connection.role
                    && let Some(Some(channel)) = self.channels.get_mut(channel)
                {
                    channel.connected();
                }
                self.mark_dirty(key);
            }
            Err(error) => self.close(key, Some(error.to_string())),
        }
    }

    fn read(&mut self, key: Key) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let mut told_no = None;
        let listeners = &self.listeners;
        let draining = matches!(self.phase, Phase::Draining { .. });
        let received = connection.receive(&mut self.buffers, |connection, buffer| {
            if connection.core.is_none() {
                told_no = tell_protocol(connection, listeners, buffer, now);
                if told_no.is_some() {
                    return Err(String::new());
                }
                if let Some(core) = connection.core.as_mut().filter(|_| draining) {
                    core.drain();
                }
            }
            match &mut connection.core {
                Some(core) => core
                    .handle_event(now, Input::Octets(buffer))
                    .map_err(|fault| fault.to_string()),
                None => Ok(()),
            }
        });
        if let Some(why) = told_no {
            self.turn_away(key, why);
            return;
        }
        self.do_outputs(key);
        match received {
            Received::Octets => {
                let Some(connection) = self.connections.get_mut(key) else {
                    return;
                };
                let waiting = connection.core.as_ref().map_or(0, |core| core.backlog());
                if waiting >= WRITE_AT_ONCE {
                    self.flush(key);
                } else {
                    self.mark_dirty(key);
                }
            }
            Received::End(why) => self.close(key, why),
        }
    }

    /// Writing failed. What the peer said before it closed is heard all the same: that it drains,
    /// for example, so that a call it did not take is known to be refused and not lost.
    pub(super) fn hear_out(&mut self, key: Key) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        // The connection ends either way.
        let _end = connection.receive(
            &mut self.buffers,
            |connection, buffer| match &mut connection.core {
                Some(core) => core
                    .handle_event(now, Input::Octets(buffer))
                    .map_err(|fault| fault.to_string()),
                None => Err(String::new()),
            },
        );
        self.do_outputs(key);
    }

    /// Ends a connection that speaks nothing that is spoken here.
    fn turn_away(&mut self, key: Key, why: TurnedAway) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Role::Server { service, .. } = connection.role
            && let Some(Some(accepting)) = self.listeners.get(service)
        {
            ServerCounters::count(match why {
                TurnedAway::Http1 => &accepting.counters.http1,
                TurnedAway::Unknown => &accepting.counters.unknown,
            });
        }
        if why == TurnedAway::Http1 {
            connection.outbox.put(UPGRADE_REQUIRED);
        }
        connection.state = State::Closing;
        self.flush(key);
    }

    pub(super) fn do_timeout(&mut self, key: Key) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.timer = None;
        match (&mut connection.core, connection.state) {
            (None, _) => self.turn_away(key, TurnedAway::Unknown),
            (Some(core), _) => {
                core.handle_timeout(now);
                let dead = core.fault().map(ToString::to_string);
                self.do_outputs(key);
                match dead {
                    Some(why) => self.close(key, Some(why)),
                    None => self.mark_dirty(key),
                }
                self.set_timer(key);
            }
        }
    }

    /// Hands on what the core of a connection has to tell: all of it, unless the peer does not read
    /// the answers. Then the rest stays in the core until some of them are written.
    pub(super) fn do_outputs(&mut self, key: Key) {
        let max_backlog = self.max_backlog(key);
        for count in 0_usize.. {
            let Some(connection) = self.connections.get_mut(key) else {
                return;
            };
            if count.is_multiple_of(LOOK_AT_BACKLOG_EVERY) && connection.queued() > max_backlog {
                return;
            }
            let Some(output) = connection.core.as_mut().and_then(|core| core.poll()) else {
                return;
            };
            match output {
                Output::Request { call, request } => {
                    self.begin(key, Some(call), Work::Call(request));
                }
                Output::Event(event) => self.begin_event(key, event),
                Output::Opened { call, request } => {
                    let room = connection.core.as_ref().and_then(|core| core.room(call));
                    let stream = StreamShared::new(
                        Arc::clone(&self.shared),
                        Some((key, call)),
                        room.unwrap_or(0),
                    );
                    let (outbound, inbound) = ends(&stream, Side::Service);
                    connection.role.streams().insert(call, stream);
                    self.begin(key, Some(call), Work::Stream(request, inbound, outbound));
                }
                Output::Message { call, message } => {
                    match connection.role.streams().get(&call) {
                        Some(stream) => stream.deliver(message),
                        // Its receiver is gone: the credit goes back, the message nowhere.
                        None => {
                            if let Some(core) = &mut connection.core {
                                core.consumed(call, message.len());
                            }
                        }
                    }
                }
                Output::Finished { call } => {
                    if let Some(stream) = connection.role.streams().get(&call) {
                        stream.end(Ok(Headers::new()), false);
                    }
                }
                Output::Response { call, response } => {
                    self.told = true;
                    complete(&mut connection.role, call, response.into_result());
                }
                Output::Failed { call, error } => {
                    let error = match &connection.why {
                        Some(why) => error.with_source(why.clone()),
                        None => error,
                    };
                    self.told = true;
                    complete(&mut connection.role, call, Err(error));
                }
                Output::Cancelled { call, code } => self.cancelled(key, call, code),
                Output::Writable { call } => {
                    let room = connection.core.as_ref().and_then(|core| core.room(call));
                    if let Some(stream) = connection.role.streams().get(&call) {
                        stream.applied(0, room);
                    }
                }
                Output::Draining => self.retire(key),
            }
        }
    }

    /// Hands an event on, unless its service does not know it: there is nobody to tell.
    fn begin_event(&mut self, key: Key, event: Event) {
        if let Some(connection) = self.connections.get_mut(key)
            && let Role::Server { service, .. } = connection.role
            && let Some(Some(accepting)) = self.listeners.get(service)
            && (accepting.kind_of)(&event.operation).is_some()
        {
            self.begin(key, None, Work::Event(event));
        }
    }

    fn begin(&mut self, key: Key, call: Option<CallId>, work: Work) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Role::Server {
            service, context, ..
        } = &connection.role
        else {
            return;
        };
        let (service, context) = (*service, context.clone());
        let at = call.map(|call| CallRef {
            connection: key,
            call,
        });
        let is_stream = matches!(work, Work::Stream(..));
        let Some(tasks) = self.services.get_mut(service) else {
            return;
        };
        match (tasks.begin(at, context, work), at) {
            (Progress::Done(Some(response)), Some(at)) if is_stream => {
                self.answer_behind(at, response);
            }
            (Progress::Done(Some(response)), Some(at)) => self.answer(at, response),
            (Progress::Waits(place), Some(at)) => {
                if let Some(connection) = self.connections.get_mut(key)
                    && let Role::Server { tasks, .. } = &mut connection.role
                {
                    tasks.insert(at.call, place);
                }
            }
            _ => {}
        }
    }

    /// Polls a task that was woken.
    pub(super) fn resume(&mut self, task: TaskRef) {
        let Some(tasks) = self.services.get_mut(task.service) else {
            return;
        };
        let Some((Some(at), Some(response))) = tasks.resume(task.place) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(at.connection) else {
            return;
        };
        let Role::Server { tasks, streams, .. } = &mut connection.role else {
            return;
        };
        tasks.remove(&at.call);
        if streams.contains_key(&at.call) {
            self.answer_behind(at, response);
        } else {
            self.answer(at, response);
        }
    }

    /// Answers a stream behind the messages that its service has sent: they are in the inbox.
    fn answer_behind(&self, at: CallRef, response: Response) {
        let respond = super::inbox::Command::Respond { at, response };
        let _ended = self.shared.push(respond);
    }

    pub(super) fn answer(&mut self, at: CallRef, response: Response) {
        let Some(connection) = self.connections.get_mut(at.connection) else {
            return;
        };
        if let Some(stream) = connection.role.streams().remove(&at.call) {
            stream.end(Ok(Headers::new()), true);
        }
        if let Some(core) = &mut connection.core {
            core.respond(at.call, response);
        }
        self.mark_dirty(at.connection);
    }

    fn cancelled(&mut self, key: Key, call: CallId, code: Code) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Role::Server {
            service,
            tasks,
            streams,
            ..
        } = &mut connection.role
        else {
            return;
        };
        let (service, place) = (*service, tasks.remove(&call));
        if let Some(stream) = streams.remove(&call) {
            stream.end(Err(gave_up(code)), true);
        }
        if let (Some(tasks), Some(place)) = (self.services.get_mut(service), place) {
            tasks.abandon(place);
        }
    }

    /// Closes a connection: everybody who waits for it is told.
    pub(super) fn close(&mut self, key: Key, why: Option<String>) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if why.is_some()
            && connection
                .core
                .as_ref()
                .is_some_and(|core| core.fault().is_some())
        {
            self.count_fault(key);
        }
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.why.clone_from(&why);
        connection.end_core(now);
        // The core's last words tell the peer what it did wrong; it may be gone.
        if connection.state != State::Connecting {
            let _peer_gone = connection.flush(now);
        }
        self.do_outputs(key);
        let Some(mut connection) = self.connections.remove(key) else {
            return;
        };
        let failed_to_connect = connection.state == State::Connecting;
        if let Role::Client { channel, .. } = connection.role
            && let Some(Some(channel)) = self.channels.get_mut(channel)
        {
            if channel.connection == Some(key) {
                channel.connection = None;
            }
            if failed_to_connect {
                let spread = now.elapsed().subsec_nanos();
                channel.failed(now, why.clone().unwrap_or_default(), spread);
            }
        }
        end_callers(&mut connection.role, why.as_deref());
    }

    fn count_fault(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && let Role::Server { service, .. } = connection.role
            && let Some(Some(accepting)) = self.listeners.get(service)
        {
            ServerCounters::count(&accepting.counters.faults);
        }
    }

    /// A connection whose peer drains finishes its calls; the channel's next call makes another.
    fn retire(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Role::Client { channel, .. } = connection.role else {
            return;
        };
        connection.close_when_idle = true;
        if let Some(Some(channel)) = self.channels.get_mut(channel)
            && channel.connection == Some(key)
        {
            channel.connection = None;
        }
    }

    pub(super) fn max_backlog(&mut self, key: Key) -> usize {
        match self
            .connections
            .get_mut(key)
            .map(|connection| &connection.role)
        {
            Some(Role::Server { service, .. }) => match self.listeners.get(*service) {
                Some(Some(accepting)) => accepting.options.max_backlog,
                _ => usize::MAX,
            },
            _ => CLIENT_BACKLOG,
        }
    }

    pub(super) fn drain(&mut self, until: std::time::Instant) {
        if self.phase != Phase::Running {
            return;
        }
        self.phase = Phase::Draining {
            since: self.now,
            until,
        };
        // Their places stay: services are numbered alike.
        for listener in 0..self.listeners.len() {
            // Those who have come already are told, not cut off.
            self.accept(listener);
            let Some(accepting) = &mut self.listeners[listener] else {
                continue;
            };
            // Closed, so that whoever connects from now on is refused and may go elsewhere: a
            // socket that only stopped accepting would let them wait until the loop ends.
            accepting.socket = None;
        }
        for key in self.connections.keys() {
            if let Some(core) = self
                .connections
                .get_mut(key)
                .and_then(|connection| connection.core.as_mut())
            {
                core.drain();
            }
            self.mark_dirty(key);
        }
        self.flush_dirty();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnedAway {
    Http1,
    Unknown,
}

fn tell_protocol(
    connection: &mut Connection,
    listeners: &[Option<super::listener::Accepting>],
    buffer: &BytesMut,
    now: std::time::Instant,
) -> Option<TurnedAway> {
    let Role::Server {
        service, context, ..
    } = &mut connection.role
    else {
        return None;
    };
    let Some(Some(accepting)) = listeners.get(*service) else {
        return Some(TurnedAway::Unknown);
    };
    match accepting.tell(buffer, now) {
        FirstOctets::Undecided => None,
        FirstOctets::Speaks(core) => {
            let address = context.peer().address.clone();
            *context = CallContext::new(Arc::new(Peer::new(address, core.protocol())));
            connection.core = Some(core);
            None
        }
        FirstOctets::Http1 => Some(TurnedAway::Http1),
        FirstOctets::Unknown => Some(TurnedAway::Unknown),
    }
}

/// Tells a call's end to who waits for it.
fn complete(role: &mut Role, call: CallId, result: Result<Response, corewire_message::CallError>) {
    let Role::Client { calls, streams, .. } = role else {
        return;
    };
    if let Some(completion) = calls.remove(&call) {
        completion.complete(result);
    } else if let Some(stream) = streams.remove(&call) {
        match result {
            Ok(response) => {
                if !response.body.is_empty() {
                    stream.deliver(response.body);
                }
                stream.end(Ok(response.headers), true);
            }
            Err(error) => stream.end(Err(error), true),
        }
    }
}

/// Ends what the core did not: nothing may be left waiting for a connection that is gone.
fn end_callers(role: &mut Role, why: Option<&str>) {
    use corewire_message::{CallError, ErrorKind, Origin};
    let lost = || {
        let why = why.unwrap_or("the peer closed it");
        let context = format!("the connection is lost: {why}");
        CallError::new(ErrorKind::FateUnknown, Origin::Transport, true, context)
    };
    if let Role::Client { calls, .. } = role {
        calls
            .drain()
            .for_each(|(_, completion)| completion.complete(Err(lost())));
    }
    role.streams()
        .drain()
        .for_each(|(_, stream)| stream.end(Err(lost()), true));
}

fn gave_up(code: Code) -> corewire_message::CallError {
    use corewire_message::{CallError, ErrorKind, Origin};
    let (kind, context) = match code {
        Code::DeadlineExceeded => (ErrorKind::DeadlineExceeded, "the call's deadline passed"),
        Code::Unavailable => (ErrorKind::FateUnknown, "the caller's connection is lost"),
        _ => (ErrorKind::Cancelled, "the caller gave the call up"),
    };
    CallError::new(kind, Origin::Peer, true, context)
}
