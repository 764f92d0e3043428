//! From readiness to messages: accepting, reading, and handing on what cores tell.

use super::arena::Key;
use super::call_map::CallMap;
use super::connection::{Connection, Received, Role, SHARE_OF_A_TURN, State};
use super::inbox::{CallRef, TaskRef};
use super::listener::{ServerCounters, UPGRADE_REQUIRED};
use super::spawned::SPAWNED;
use super::stream::{Side, ends};
use super::stream_slot::StreamSlot;
use super::tasks::{Progress, TaskOrigin, Work};
use super::{Due, EventLoop, Phase, source};
use crate::detection::Detection;
use bytes::BytesMut;
use corewire_driver::{after, clock};
use corewire_message::{CallContext, Code, Event, Headers, Peer, Response};
use corewire_sys::{Interest, Readiness, Token};
use corewire_wire::{CallId, Input, Output};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Connections accepted from one listener in one turn, so that a storm of them does not starve
/// those that are open.
const ACCEPTS_A_TURN: usize = 64;

/// How long a loop that could not accept (no descriptors left) leaves its listener alone.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Messages handed on before it is looked at how much waits for the peer and how long it has taken: it
/// costs a little.
const LOOK_EVERY: usize = 16;

/// How long one turn goes on with connections that have had their share of it.
const BEHIND_A_TURN: Duration = SHARE_OF_A_TURN;

/// Output is written at once when this much of it waits, while it is still in the cache.
const WRITE_AT_ONCE: usize = 32 * 1024;

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
            if accepting.is_full(self.connections.len()) {
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
            let mut connection = Connection::new(socket, role, State::Open, Interest::Read);
            connection.settle_by = Some(after(
                self.now,
                accepting.detector.options.first_octets_timeout,
            ));
            if let Some(key) = self.insert(connection) {
                self.set_timer(key);
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
        self.timers.insert(at, Due::Accept(listener));
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
        let in_memory = connection.socket.is_memory();
        let interest = if in_memory {
            Interest::Read
        } else {
            connection.interest
        };
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
        if in_memory {
            self.shm_links.add(key);
        }
        Some(key)
    }

    /// Something came, or there is room, in a shared memory that the loop has looked at.
    pub(super) fn do_connection_in_memory(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let (readable, writable) = (
            connection.socket.is_readable(),
            !connection.outbox.is_empty(),
        );
        let token = key.to_token(source::CONNECTION);
        let readiness = Readiness {
            token,
            readable,
            writable,
        };
        self.do_connection(key, readiness);
    }

    /// Its bell was rung, if it is a shared memory's; else as the readiness says.
    pub(super) fn on_bell(&mut self, key: Key, readiness: Readiness) {
        match self.connections.get_mut(key) {
            Some(connection) if connection.socket.is_memory() => {
                connection.socket.acknowledge_wake();
                self.do_connection_in_memory(key);
            }
            Some(_) => self.do_connection(key, readiness),
            None => {}
        }
    }

    fn do_connection(&mut self, key: Key, readiness: Readiness) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if connection.state == State::Connecting {
            self.finish_connecting(key);
            return;
        }
        match connection.state {
            State::Open if connection.behind => {}
            State::Open if readiness.readable && connection.is_heavy => self.put_behind(key),
            State::Open if readiness.readable => self.read(key),
            State::Lingering { .. } => self.discard_input(key),
            _ => {}
        }
        if readiness.writable {
            self.mark_dirty(key);
        }
    }

    pub(super) fn finish_connecting(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        match connection.socket.take_error() {
            Ok(()) => {
                connection.state = State::Open;
                if let Role::Client { channel, .. } = connection.role
                    && let Some(Some(channel)) = self.channels.get(channel)
                {
                    // Of an address's share only connecting was to be done.
                    connection.settle_by = Some(channel.settle_by);
                }
                if connection.settle() {
                    self.tell_connected(key);
                }
                self.mark_dirty(key);
            }
            Err(error) => self.connect_elsewhere(key, error.to_string()),
        }
    }

    /// An address could not be connected to: takes the host's next, or gives up when there is none.
    /// What waits in the core has not been sent, and stays.
    fn connect_elsewhere(&mut self, key: Key, why: String) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Role::Client { channel, .. } = connection.role else {
            return self.close(key, Some(why));
        };
        let Some(Some(channel)) = self.channels.get_mut(channel) else {
            return self.close(key, Some(why));
        };
        if channel.connection != Some(key) {
            return self.close(key, Some(why));
        }
        let Ok((socket, settle_by)) = channel.connect_elsewhere(now) else {
            return self.close(key, Some(why));
        };
        // The socket leaves epoll's set when it is closed.
        connection.socket = socket;
        connection.settle_by = Some(settle_by);
        connection.interest = Interest::Write;
        let token = key.to_token(source::CONNECTION);
        let fd = connection.socket.as_fd();
        match self.epoll.add(fd, token, Interest::Write) {
            Ok(()) => self.set_timer(key),
            Err(error) => self.close(key, Some(error.to_string())),
        }
    }

    /// A client's connection is ready for calls.
    fn tell_connected(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && let Role::Client { channel, .. } = connection.role
            && let Some(Some(channel)) = self.channels.get_mut(channel)
            && channel.connection == Some(key)
        {
            channel.connected();
        }
    }

    /// Reads what nobody wants any more.
    fn discard_input(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && connection.receive_and_discard(&mut self.buffers)
        {
            self.close(key, None);
        }
    }

    /// A connection that has had its share of this turn goes on when all others have had theirs.
    fn put_behind(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !connection.behind
        {
            connection.behind = true;
            self.behind.push_back(key);
        }
    }

    /// Goes on with connections that wait behind the others: each once, as long as [`BEHIND_A_TURN`] is
    /// not over; at least one.
    pub(super) fn do_behind(&mut self) {
        if self.behind.is_empty() {
            return;
        }
        // The others' answers do not wait for them.
        self.flush_dirty();
        let until = after(clock(), BEHIND_A_TURN);
        for _ in 0..self.behind.len() {
            let Some(key) = self.behind.pop_front() else {
                return;
            };
            let Some(connection) = self.connections.get_mut(key) else {
                continue;
            };
            connection.behind = false;
            if connection.state == State::Open {
                self.read(key);
            }
            if clock() >= until {
                return;
            }
        }
    }

    fn read(&mut self, key: Key) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let (mut told_no, mut just_settled) = (None, false);
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
            let Some(core) = &mut connection.core else {
                return Ok(());
            };
            let taken = core.handle_event(now, Input::Octets(buffer));
            // Before anything is handed on: a service is told who asks.
            just_settled |= connection.settle();
            taken.map_err(|fault| fault.to_string())
        });
        if just_settled {
            self.tell_connected(key);
        }
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
                connection.is_heavy = connection.has_more() || connection.behind;
                if connection.is_heavy {
                    self.put_behind(key);
                }
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

    /// Ends a connection that speaks nothing that is spoken here.
    fn turn_away(&mut self, key: Key, why: Rejection) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Role::Server { service, .. } = connection.role
            && let Some(Some(accepting)) = self.listeners.get(service)
        {
            ServerCounters::count(match why {
                Rejection::Http1 => &accepting.counters.http1,
                Rejection::Unknown => &accepting.counters.unknown,
            });
        }
        if why == Rejection::Http1 {
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
        let unsettled = connection.settle_by.is_some_and(|at| at <= now);
        match &mut connection.core {
            None if matches!(connection.state, State::Lingering { .. }) => {
                if unsettled {
                    self.close(key, None)
                } else {
                    self.set_timer(key)
                }
            }
            None if unsettled => {
                connection.settle_by = None;
                self.turn_away(key, Rejection::Unknown);
            }
            None => self.set_timer(key),
            Some(_) if unsettled => {
                let why = "connecting took too long".to_owned();
                match connection.state {
                    State::Connecting => self.connect_elsewhere(key, why),
                    _ => self.close(key, Some(why)),
                }
            }
            Some(core) => {
                core.handle_timeout(now);
                let dead = core.fault().map(ToString::to_string);
                if !connection.behind {
                    self.do_outputs(key);
                }
                match dead {
                    Some(why) => self.close(key, Some(why)),
                    None => self.mark_dirty(key),
                }
                self.set_timer(key);
                self.give_memory_back();
            }
        }
    }

    /// Hands on what the core of a connection has to tell: all of it, unless the peer does not read
    /// the answers, or too many of its events are in progress. Then the rest stays in the core until
    /// some answers are written, or some events have ended.
    pub(super) fn do_outputs(&mut self, key: Key) {
        let limits = self.limits(key);
        self.dispatch_outputs(key, limits);
    }

    pub(super) fn dispatch_outputs(&mut self, key: Key, limits: Limits) {
        let mut began = None;
        for count in 0_usize.. {
            let Some(connection) = self.connections.get_mut(key) else {
                return;
            };
            if count.is_multiple_of(LOOK_EVERY) {
                if connection.queued() > limits.backlog {
                    connection.held_back = true;
                    return;
                }
                if count > 0 && limits.share < Duration::MAX {
                    let now = clock();
                    if now.duration_since(*began.get_or_insert(now)) >= limits.share {
                        connection.held_back = true;
                        return self.put_behind(key);
                    }
                }
            }
            if connection.events >= limits.events {
                connection.held_back = true;
                connection.read_ahead.get_or_insert(0);
                return;
            }
            connection.held_back = false;
            connection.read_ahead = None;
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
                    let stream = StreamSlot::new(Some((key, call)), room.unwrap_or(0));
                    let (outbound, inbound) = ends(&self.shared, &stream, Side::Service);
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
            && (accepting.detector.kind_of)(&event.operation).is_some()
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
        let asker = TaskOrigin {
            connection: key,
            call,
        };
        let is_stream = matches!(work, Work::Stream(..));
        let Some(tasks) = self.services.get_mut(service) else {
            return;
        };
        match (tasks.begin(asker, context, work), call) {
            (Progress::Done(Some(response)), Some(call)) => {
                let at = CallRef {
                    connection: key,
                    call,
                };
                if is_stream {
                    self.answer_behind(at, response);
                } else {
                    self.answer(at, response);
                }
            }
            (Progress::Done(_), _) => {}
            (Progress::Waits(place), call) => {
                let Some(connection) = self.connections.get_mut(key) else {
                    return;
                };
                match (&mut connection.role, call) {
                    (Role::Server { tasks, .. }, Some(call)) => {
                        tasks.insert(call, place);
                    }
                    _ => connection.events += 1,
                }
            }
        }
    }

    /// Polls a task that was woken.
    pub(super) fn resume(&mut self, task: TaskRef) {
        if task.service == SPAWNED {
            return self.resume_spawned(task.place);
        }
        let Some(tasks) = self.services.get_mut(task.service) else {
            return;
        };
        let Some((TaskOrigin { connection, call }, response)) = tasks.resume(task.place) else {
            return;
        };
        let (Some(call), Some(response)) = (call, response) else {
            self.event_ended(task.service, connection);
            return;
        };
        let at = CallRef { connection, call };
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

    /// One event fewer is in progress: another may begin.
    fn event_ended(&mut self, service: usize, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.events = connection.events.saturating_sub(1);
            if connection.read_ahead.is_some() {
                self.mark_dirty(key);
            }
        } else if let Some(Some(accepting)) = self.listeners.get_mut(service) {
            accepting.orphans = accepting.orphans.saturating_sub(1);
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

    /// What holds back the outputs of a connection.
    pub(super) fn limits(&mut self, key: Key) -> Limits {
        let role = self.connections.get_mut(key).map(|found| &found.role);
        if let Some(Role::Server { service, .. }) = role
            && let Some(Some(accepting)) = self.listeners.get(*service)
        {
            return Limits {
                backlog: accepting.detector.options.max_backlog,
                events: accepting.max_events(),
                share: SHARE_OF_A_TURN,
            };
        }
        Limits::NONE
    }
}

/// What a peer may have in progress here before what it sends waits in the core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Octets that wait for it.
    pub(super) backlog: usize,
    /// Events whose task has not ended.
    events: usize,
    /// How long a turn may be busy with it.
    share: Duration,
}

impl Limits {
    /// For a connection that is closed, and for one that calls: what waits there is the caller's.
    pub(super) const NONE: Self = Self {
        backlog: usize::MAX,
        events: usize::MAX,
        share: Duration::MAX,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rejection {
    Http1,
    Unknown,
}

fn tell_protocol(
    connection: &mut Connection,
    listeners: &[Option<super::listener::Accepting>],
    buffer: &BytesMut,
    now: std::time::Instant,
) -> Option<Rejection> {
    let Role::Server { service, .. } = connection.role else {
        return None;
    };
    let Some(Some(accepting)) = listeners.get(service) else {
        return Some(Rejection::Unknown);
    };
    match accepting.detect(buffer, now) {
        Detection::Undecided => None,
        Detection::Speaks(core) => {
            connection.core = Some(core);
            None
        }
        Detection::Http1 => Some(Rejection::Http1),
        Detection::Unknown => Some(Rejection::Unknown),
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

fn gave_up(code: Code) -> corewire_message::CallError {
    use corewire_message::{CallError, ErrorKind, Origin};
    let (kind, context) = match code {
        Code::DeadlineExceeded => (ErrorKind::DeadlineExceeded, "the call's deadline passed"),
        Code::Unavailable => (ErrorKind::FateUnknown, "the caller's connection is lost"),
        _ => (ErrorKind::Cancelled, "the caller gave the call up"),
    };
    CallError::new(kind, Origin::Peer, true, context)
}
