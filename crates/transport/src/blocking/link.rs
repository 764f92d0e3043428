//! One connection that calling threads drive themselves.

use super::patience::{Patience, Waiting};
use crate::ClientOptions;
use crate::event_loop::{ReadBuffers, clock};
use bytes::BytesMut;
use corewire_message::{
    Body, CallError, Code, ErrorKind, Event, Headers, Origin, Request, Response,
};
use corewire_sys::Socket;
use corewire_wire::{CallId, Core, Input, Outbox, Output};
use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Pieces given to the kernel in one gathering write.
const PIECES_A_WRITE: usize = 64;

/// Waits shorter than this are made exactly, longer ones by the socket's own timeout, which saves
/// a system call for each receive.
const EXACT_BELOW: Duration = Duration::from_millis(10);

/// A connection and the calls of the threads that share it.
pub(crate) struct Link {
    socket: Socket,
    busy_poll: Duration,
    patience: Duration,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) core: Box<dyn Core + Send>,
    outbox: Outbox,
    buffers: ReadBuffers,
    /// The start of a message whose rest has not come.
    partial: Option<BytesMut>,
    /// Some thread reads for all.
    led: bool,
    /// Threads that sleep until their call has news or they are to lead.
    followers: Vec<(Option<CallId>, Thread)>,
    /// Ends of calls whose thread has not taken them.
    /// Few: a list is looked through faster than a map.
    arrived: Vec<(CallId, Result<Response, CallError>)>,
    /// What came in for open streams.
    pub(crate) streams: HashMap<CallId, Incoming>,
    /// The socket's receive timeout as it is set.
    receive_timeout: Option<Duration>,
    used: Instant,
    /// The time when the clock was last read: reading it costs as much as the rest of a turn.
    now: Instant,
    patience: Patience,
    /// Why nothing goes any more.
    dead: Option<String>,
    /// The peer takes no more calls.
    draining: bool,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// The call's end, or a message of it.
    News(CallId),
    /// Room to send on the stream, whatever came in.
    Room(CallId),
    /// What it has written to be taken, at most until then.
    Writing(Instant),
}

/// How long a wait is awake.
#[derive(Clone, Copy, Debug)]
enum Awake {
    No,
    /// Until then.
    Until(Instant),
    /// Until then, or until another thread waits too.
    Alone(Instant),
}

/// What came in for one stream.
#[derive(Default)]
pub(crate) struct Incoming {
    pub(crate) messages: VecDeque<Body>,
    pub(crate) end: Option<Result<Headers, CallError>>,
}

impl Link {
    pub(crate) fn new(
        socket: Socket,
        core: Box<dyn Core + Send>,
        options: &ClientOptions,
        now: Instant,
    ) -> Self {
        let state = State {
            core,
            outbox: Outbox::new(),
            buffers: ReadBuffers::default(),
            partial: None,
            led: false,
            followers: Vec::new(),
            arrived: Vec::new(),
            streams: HashMap::new(),
            receive_timeout: None,
            used: now,
            now,
            patience: Patience::new(),
            dead: None,
            draining: false,
        };
        // `connect_timeout` left the socket blocking; reads rely on that.
        Self {
            socket,
            busy_poll: options.busy_poll,
            patience: options.patience,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether calls can be sent; looks at the socket when it was not used for `look_after`.
    pub(crate) fn is_usable(&self, now: Instant, look_after: Duration) -> bool {
        let mut state = self.lock();
        let idle = !state.led && now.saturating_duration_since(state.used) > look_after;
        if idle && state.dead.is_none() {
            let mut buffer = state.take_buffer();
            let received = self.socket.receive_now(&mut buffer);
            self.take_received(&mut state, buffer, received, now);
        }
        state.used = now;
        state.now = now;
        state.dead.is_none() && !state.draining
    }

    pub(crate) fn call(&self, now: Instant, request: Request) -> Result<Response, CallError> {
        let mut state = self.lock();
        let call = state.core.call(now, request)?;
        self.write(&mut state, now);
        loop {
            state = match self.wait(state, call) {
                Ok(state) => state,
                Err(result) => return *result,
            };
        }
    }

    pub(crate) fn send_event(
        &self,
        now: Instant,
        event: Event,
        deadline: Instant,
    ) -> Result<(), CallError> {
        let mut state = self.lock();
        state.core.send_event(now, event)?;
        self.write(&mut state, now);
        // Unwritten octets wait for room in the socket or for the peer's credit.
        while (state.core.backlog() > 0 || !state.outbox.is_empty()) && state.dead.is_none() {
            if clock() >= deadline {
                let context = "the peer does not take the event in time";
                return Err(CallError::new(
                    ErrorKind::DeadlineExceeded,
                    Origin::Local,
                    true,
                    context,
                ));
            }
            state = self.turn(state, Wait::Writing(deadline));
        }
        match &state.dead {
            None => Ok(()),
            Some(why) => Err(lost(why)),
        }
    }

    /// Waits for news of a unary call: its end (`Err`), or something else happened.
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        call: CallId,
    ) -> Result<MutexGuard<'a, State>, Box<Result<Response, CallError>>> {
        let mut state = self.turn(state, Wait::News(call));
        if let Some(place) = state.arrived.iter().position(|(name, _)| *name == call) {
            let (_, result) = state.arrived.swap_remove(place);
            state.hand_over();
            return Err(Box::new(result));
        }
        if let Some(why) = &state.dead {
            return Err(Box::new(Err(lost(why))));
        }
        Ok(state)
    }

    /// Makes one step towards news: leads one read, or sleeps while another thread leads.
    pub(crate) fn turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        wait: Wait,
    ) -> MutexGuard<'a, State> {
        let (name, deadline) = match wait {
            Wait::News(call) if state.has_news(call) => return state,
            Wait::News(call) | Wait::Room(call) => (Some(call), None),
            Wait::Writing(deadline) => (None, Some(deadline)),
        };
        if state.dead.is_some() {
            return state;
        }
        let due = match (state.core.poll_timeout(), deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if state.led {
            state = self.follow(state, name, due);
        } else {
            state = self.lead(state, due);
        }
        let now = state.now;
        if state.core.poll_timeout().is_some_and(|at| at <= now) {
            state.core.handle_timeout(now);
            if let Some(fault) = state.core.fault().map(ToString::to_string) {
                self.die(&mut state, fault, now);
            }
            state.take_outputs();
            self.write(&mut state, now);
        }
        state
    }

    fn follow<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        name: Option<CallId>,
        due: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        let me = std::thread::current();
        let id = me.id();
        state.followers.push((name, me));
        drop(state);
        match due {
            Some(at) => std::thread::park_timeout(at.saturating_duration_since(clock())),
            None => std::thread::park(),
        }
        let mut state = self.lock();
        state.now = clock();
        state.followers.retain(|(_, thread)| thread.id() != id);
        state
    }

    /// Reads once for all threads.
    fn lead<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        due: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        state.led = true;
        let mut buffer = state.take_buffer();
        let writable = !state.outbox.is_empty();
        let exact = writable || due.is_some_and(|at| at < state.now + EXACT_BELOW);
        if !exact {
            self.bound_receive(&mut state, due);
        }
        let waiting = Waiting::begin();
        let awake = self.awake(&mut state, &waiting);
        drop(state);
        let (received, paid) = self.receive(&mut buffer, exact.then_some(writable), due, awake);
        let now = clock();
        drop(waiting);
        let mut state = self.lock();
        state.led = false;
        state.now = now;
        if let Some(paid) = paid {
            state.patience.learn(paid);
        }
        self.take_received(&mut state, buffer, received, now);
        state
    }

    /// Sees that a blocking receive ends in time, and not much earlier, without setting the
    /// socket's timeout anew for each call: three quarters of the time left serve many calls.
    fn bound_receive(&self, state: &mut State, due: Option<Instant>) {
        let left = due.map(|at| at.saturating_duration_since(state.now));
        let fits = match (state.receive_timeout, left) {
            (Some(set), Some(left)) => set <= left && set >= left / 2,
            (None, None) => true,
            _ => false,
        };
        if !fits {
            let timeout = left.map(|left| left / 4 * 3);
            // If it cannot be set, the old bound holds; the deadline is looked at after it.
            if self.socket.set_receive_timeout(timeout).is_ok() {
                state.receive_timeout = timeout;
            }
        }
    }

    /// Waits for octets: awake as long as `awake` says, then asleep.
    fn receive(
        &self,
        buffer: &mut BytesMut,
        exact: Option<bool>,
        due: Option<Instant>,
        awake: Awake,
    ) -> (io::Result<usize>, Option<bool>) {
        let mut paid = None;
        let until = match awake {
            Awake::No => None,
            Awake::Until(until) | Awake::Alone(until) => Some(until),
        };
        if let Some(until) = until
            && exact != Some(true)
        {
            loop {
                match self.socket.receive_now(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return (other, Some(true)),
                }
                let now = clock();
                let company = matches!(awake, Awake::Alone(_)) && Waiting::has_company();
                if now >= until || due.is_some_and(|at| now >= at) || company {
                    break;
                }
                std::hint::spin_loop();
            }
            paid = Some(false);
        }
        let received = match exact {
            None => self.socket.receive(buffer),
            Some(writable) => self
                .socket
                .wait(writable, due)
                .and_then(|_ready| self.socket.receive_now(buffer)),
        };
        (received, paid)
    }

    /// How long this wait is awake: as was asked for, or as has paid.
    fn awake(&self, state: &mut State, waiting: &Waiting) -> Awake {
        if self.busy_poll > Duration::ZERO {
            Awake::Until(state.now + self.busy_poll)
        } else if self.patience > Duration::ZERO
            && waiting.is_alone()
            && state.patience.is_worth_it()
        {
            Awake::Alone(state.now + self.patience)
        } else {
            Awake::No
        }
    }

    fn take_received(
        &self,
        state: &mut State,
        mut buffer: BytesMut,
        received: io::Result<usize>,
        now: Instant,
    ) {
        let end = match received {
            Ok(0) => Some("the peer closed the connection".into()),
            Ok(_) => state
                .core
                .handle_event(now, Input::Octets(&mut buffer))
                .err()
                .map(|fault| fault.to_string()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => Some(error.to_string()),
        };
        if buffer.is_empty() {
            state.buffers.give(buffer);
        } else {
            state.partial = Some(buffer);
        }
        state.take_outputs();
        match end {
            None => self.write(state, now),
            Some(why) => self.die(state, why, now),
        }
    }

    /// Writes what waits, as far as the kernel takes it.
    pub(crate) fn write(&self, state: &mut State, now: Instant) {
        loop {
            if state.outbox.budget() > 0 {
                state.core.poll_transmit(now, &mut state.outbox);
            }
            if state.outbox.is_empty() {
                return;
            }
            let sent = if state.outbox.pieces() == 1 {
                self.socket.send_now(&[IoSlice::new(state.outbox.first())])
            } else {
                let mut slices = [IoSlice::new(&[]); PIECES_A_WRITE];
                let count = state.outbox.slices(&mut slices);
                self.socket.send_now(&slices[..count])
            };
            match sent {
                Ok(count) => state.outbox.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.break_off(state, error.to_string(), now),
            }
        }
    }

    /// Writing failed. What the peer said before it closed is heard all the same: that it drains,
    /// for example, so that a call it did not take is known to be refused and not lost.
    fn break_off(&self, state: &mut State, why: String, now: Instant) {
        if state.led {
            // The thread that reads for all hears it, and finds the end.
            return;
        }
        let mut buffer = state.take_buffer();
        if matches!(self.socket.receive_now(&mut buffer), Ok(1..)) {
            // The connection ends either way.
            let _fault = state.core.handle_event(now, Input::Octets(&mut buffer));
        }
        state.buffers.give(buffer);
        state.take_outputs();
        self.die(state, why, now);
    }

    fn die(&self, state: &mut State, why: String, now: Instant) {
        if state.dead.is_some() {
            return;
        }
        state.dead = Some(why);
        // The connection ends either way.
        let _fault_at_the_end = state.core.handle_event(now, Input::Closed);
        if state.core.poll_transmit(now, &mut state.outbox) {
            // Tells the peer what it did wrong; it may be gone.
            let _peer_gone = self.socket.send_now(&[IoSlice::new(state.outbox.first())]);
        }
        state.take_outputs();
        self.socket.shutdown();
        state
            .followers
            .drain(..)
            .for_each(|(_, thread)| thread.unpark());
    }

    /// Gives a call up.
    pub(crate) fn cancel(&self, call: CallId, code: Code) {
        let mut state = self.lock();
        state.core.cancel(call, code);
        state.streams.remove(&call);
        self.write(&mut state, clock());
    }
}

impl State {
    fn take_buffer(&mut self) -> BytesMut {
        let mut buffer = self.partial.take().unwrap_or_else(|| self.buffers.take());
        ReadBuffers::make_room(&mut buffer, self.core.wants());
        buffer
    }

    pub(crate) fn has_news(&self, call: CallId) -> bool {
        self.arrived.iter().any(|(name, _)| *name == call)
            || self
                .streams
                .get(&call)
                .is_some_and(|stream| !stream.messages.is_empty() || stream.end.is_some())
    }

    /// Why nothing goes any more, as an error of the call that finds out.
    pub(crate) fn death(&self) -> Option<CallError> {
        self.dead.as_deref().map(lost)
    }

    /// Wakes a thread to lead, if one waits and nobody leads.
    pub(crate) fn hand_over(&mut self) {
        if !self.led
            && let Some((_, thread)) = self.followers.first()
        {
            thread.unpark();
        }
    }

    fn take_outputs(&mut self) {
        while let Some(output) = self.core.poll() {
            match output {
                Output::Response { call, response } => self.ended(call, Ok(response)),
                Output::Failed { call, error } => {
                    let error = match &self.dead {
                        Some(why) => error.with_source(why.clone()),
                        None => error,
                    };
                    self.ended(call, Err(error));
                }
                Output::Message { call, message } => {
                    if let Some(stream) = self.streams.get_mut(&call) {
                        stream.messages.push_back(message);
                    } else {
                        self.core.consumed(call, message.len());
                    }
                    self.wake(call);
                }
                Output::Writable { call } => self.wake(call),
                Output::Draining => self.draining = true,
                // A client's core tells nothing else.
                _ => {}
            }
        }
    }

    fn ended(&mut self, call: CallId, result: Result<Response, CallError>) {
        let result = result.and_then(Response::into_result);
        match self.streams.get_mut(&call) {
            None => {
                self.arrived.push((call, result));
            }
            Some(stream) => {
                stream.end = Some(result.map(|response| {
                    if !response.body.is_empty() {
                        stream.messages.push_back(response.body);
                    }
                    response.headers
                }));
            }
        }
        self.wake(call);
    }

    fn wake(&self, call: CallId) {
        if let Some((_, thread)) = self.followers.iter().find(|(name, _)| *name == Some(call)) {
            thread.unpark();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.socket.shutdown();
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({:?})", self.socket)
    }
}

fn lost(why: &str) -> CallError {
    CallError::new(
        ErrorKind::FateUnknown,
        Origin::Transport,
        true,
        "the connection is lost",
    )
    .with_source(why.to_owned())
}
