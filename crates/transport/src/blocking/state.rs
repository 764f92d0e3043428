//! What the threads that share a connection know of it.

use bytes::BytesMut;
use corewire_driver::{AdaptiveSpin, LeaderFollower, ReadBuffers, is_half};
use corewire_message::{Body, CallError, Headers, Response};
use corewire_sys::{WaitSet, WaitSlot, WakeFd};
use corewire_wire::{CallId, Core, Outbox, Output};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

thread_local! {
    /// What this thread reads into, whichever connection it reads: connections that wait, be it in
    /// the middle of a message, hold little.
    static BUFFERS: RefCell<ReadBuffers> = RefCell::default();
}

pub(super) struct State {
    pub(super) core: Box<dyn Core + Send>,
    pub(super) outbox: Outbox,
    /// The start of a message whose rest has not come.
    partial: Option<BytesMut>,
    /// Who leads, and who sleeps until its call has news or it is to lead.
    pub(super) threads: LeaderFollower<CallId, Asleep>,
    /// Requests that were left for the next leader to write.
    pub(super) left_over: usize,
    /// Wakes the follower that waits for room to write; made when first needed.
    wake: Option<Arc<WakeFd>>,
    /// Ends of calls whose thread has not taken them.
    /// Few: a list is looked through faster than a map.
    arrived: Vec<(CallId, Result<Response, CallError>)>,
    /// What came in for open streams.
    pub(super) streams: HashMap<CallId, Incoming>,
    /// The socket's receive timeout as it is set.
    pub(super) receive_timeout: Option<Duration>,
    pub(super) used: Instant,
    /// The time when the clock was last read: reading it costs as much as the rest of a turn.
    pub(super) now: Instant,
    /// Whether it pays the leader to look at the socket again before a sleep.
    pub(super) reading: AdaptiveSpin,
    /// Whether it pays a follower to let other threads run before a sleep.
    pub(super) following: AdaptiveSpin,
    /// Why nothing goes any more.
    pub(super) dead: Option<String>,
    /// The peer takes no more calls.
    pub(super) draining: bool,
}

/// How a sleeping thread is woken.
#[derive(Clone, Debug)]
pub(super) enum Asleep {
    /// It sleeps in a slot of the connection's wait set.
    In(WaitSlot),
    /// It parks: no slot was free.
    Parked(Thread),
    /// It waits for room to write, or for this.
    Writes(Arc<WakeFd>, Thread),
}

impl Asleep {
    /// Wakes them all; nothing happens to those that are awake.
    pub(super) fn wake(woken: &[Self], set: &WaitSet) {
        let in_slots = woken.iter().filter_map(|asleep| match asleep {
            Self::In(slot) => Some(*slot),
            Self::Parked(thread) => {
                thread.unpark();
                None
            }
            Self::Writes(wake, _) => {
                wake.wake();
                None
            }
        });
        set.wake(in_slots);
    }
}

impl PartialEq for Asleep {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::In(one), Self::In(other)) => one == other,
            (Self::Parked(one), Self::Parked(other))
            | (Self::Writes(_, one), Self::Writes(_, other)) => one.id() == other.id(),
            _ => false,
        }
    }
}

/// What came in for one stream.
#[derive(Default)]
pub(super) struct Incoming {
    pub(super) messages: VecDeque<Body>,
    pub(super) end: Option<Result<Headers, CallError>>,
}

impl State {
    pub(super) fn new(core: Box<dyn Core + Send>, now: Instant) -> Self {
        Self {
            core,
            outbox: Outbox::new(),
            partial: None,
            threads: LeaderFollower::new(),
            left_over: 0,
            wake: None,
            arrived: Vec::new(),
            streams: HashMap::new(),
            receive_timeout: None,
            used: now,
            now,
            reading: AdaptiveSpin::new(),
            following: AdaptiveSpin::new(),
            dead: None,
            draining: false,
        }
    }

    /// Whether the requests left so far should be written although threads are on their way that will
    /// call too.
    pub(super) fn is_worth_writing(&self) -> bool {
        is_half(
            self.left_over,
            self.core.in_flight() + self.threads.returning(),
        )
    }

    /// The clock was read. Threads read it before they have the lock, so it may be old news.
    pub(super) fn saw(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// A buffer that begins with what has come of the next message.
    pub(super) fn take_buffer(&mut self) -> BytesMut {
        let start = self.partial.take();
        let mut buffer = BUFFERS.with_borrow_mut(|buffers| match start {
            Some(start) => buffers.take_with(start),
            None => buffers.take(),
        });
        ReadBuffers::make_room(&mut buffer, self.core.wants());
        buffer
    }

    /// Takes a buffer back with what the core left in it.
    pub(super) fn give_buffer(&mut self, buffer: BytesMut) {
        self.partial = BUFFERS.with_borrow_mut(|buffers| buffers.give_but_start(buffer));
    }

    pub(super) fn has_news(&self, call: CallId) -> bool {
        self.arrived.iter().any(|(name, _)| *name == call)
            || self
                .streams
                .get(&call)
                .is_some_and(|stream| !stream.messages.is_empty() || stream.end.is_some())
    }

    /// Why nothing goes any more, as an error of the call that finds out.
    pub(super) fn death(&self) -> Option<CallError> {
        self.dead.as_deref().map(lost)
    }

    /// How a unary call ended, once it has.
    pub(super) fn take_arrived(&mut self, call: CallId) -> Option<Result<Response, CallError>> {
        let place = self.arrived.iter().position(|(name, _)| *name == call)?;
        Some(self.arrived.swap_remove(place).1)
    }

    /// What wakes the follower that writes.
    pub(super) fn wake_fd(&mut self) -> io::Result<Arc<WakeFd>> {
        if let Some(wake) = &self.wake {
            return Ok(Arc::clone(wake));
        }
        let wake = Arc::new(WakeFd::new()?);
        self.wake = Some(Arc::clone(&wake));
        Ok(wake)
    }

    pub(super) fn take_outputs(&mut self) {
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
                    self.threads.wake(call);
                }
                Output::Writable { call } => self.threads.wake(call),
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
        self.threads.wake(call);
    }
}

fn lost(why: &str) -> CallError {
    CallError::fate_unknown("the connection is lost").with_source(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Config, Connection};
    use corewire_message::{Operation, Request};

    #[test]
    fn half_of_what_is_called_together_is_worth_a_write() {
        let now = corewire_driver::clock();
        let core = Connection::client(Config::default(), now);
        let mut state = State::new(Box::new(core), now);
        let sleeper = || Asleep::Parked(std::thread::current());
        let ids: Vec<_> = (0..16u32).map(|n| CallId::new(2 * n + 1)).collect();
        for id in &ids {
            state.threads.sleep(Some(*id), sleeper(), false);
        }
        for id in &ids {
            state.threads.wake(*id);
        }
        let mut writes = Vec::new();
        for called in 1..=16 {
            // One more of those that were woken has come, and calls again.
            state.threads.arrive(&sleeper());
            let request = Request::new(Operation::from_static("test.v1.Test/Echo"));
            state.core.call(now, request).unwrap();
            state.left_over += 1;
            if state.is_worth_writing() {
                writes.push(called);
                state.left_over = 0;
            }
        }
        assert_eq!(writes, [8, 16]);
    }

    #[test]
    fn a_connection_that_waits_for_the_rest_of_a_message_holds_little() {
        let now = corewire_driver::clock();
        let core = Connection::client(Config::default(), now);
        let mut state = State::new(Box::new(core), now);
        let mut buffer = state.take_buffer();
        let place = buffer.as_ptr();
        buffer.extend_from_slice(b"short");
        state.give_buffer(buffer);
        let held = state.partial.as_ref().map_or(0, BytesMut::capacity);
        assert!((5..1024).contains(&held), "{held}");

        // The buffer serves on, and what had come stands in front again.
        let mut buffer = state.take_buffer();
        assert_eq!((&buffer[..], buffer.as_ptr()), (&b"short"[..], place));
        // Much is not copied.
        buffer.extend_from_slice(&[7; 100_000]);
        state.give_buffer(buffer);
        let buffer = state.take_buffer();
        assert_eq!((buffer.len(), buffer.as_ptr()), (100_005, place));
    }
}
