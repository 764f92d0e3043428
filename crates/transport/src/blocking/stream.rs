//! A stream that one thread reads and writes.

use super::link::{Link, Wait};
use super::state::Incoming;
use corewire_driver::clock;
use corewire_message::blocking::StreamDriver;
use corewire_message::{Body, CallError, Code, Headers, Origin, Request};
use corewire_wire::CallId;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn open(
    link: Arc<Link>,
    now: Instant,
    request: Request,
) -> Result<BlockingStream, CallError> {
    let mut state = link.lock();
    let call = state.core.open(now, request)?;
    state.streams.insert(call, Incoming::default());
    link.write(&mut state, now);
    drop(state);
    Ok(BlockingStream {
        link,
        call,
        trailers: Headers::new(),
        over: false,
    })
}

pub(super) struct BlockingStream {
    link: Arc<Link>,
    call: CallId,
    trailers: Headers,
    /// The end was told, or the call given up.
    over: bool,
}

impl StreamDriver for BlockingStream {
    fn send(&mut self, message: Body) -> Result<(), CallError> {
        let mut state = self.link.lock();
        // The stream may have rested for long: turns go by the time that is known.
        state.saw(clock());
        loop {
            if let Some(error) = state.death() {
                return Err(error);
            }
            match state.core.room(self.call) {
                None => return Err(ended()),
                Some(0) => {
                    state = self.link.turn(state, Wait::Room(self.call));
                }
                Some(_) => {
                    state.core.send(self.call, message)?;
                    let now = state.now;
                    self.link.write(&mut state, now);
                    return Ok(());
                }
            }
        }
    }

    fn finish(&mut self) -> Result<(), CallError> {
        let mut state = self.link.lock();
        if state.core.room(self.call).is_none() {
            return Err(state.death().unwrap_or_else(ended));
        }
        state.core.finish(self.call);
        self.link.write(&mut state, clock());
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<Body>, CallError> {
        if self.over {
            return Ok(None);
        }
        let mut state = self.link.lock();
        state.saw(clock());
        loop {
            let Some(incoming) = state.streams.get_mut(&self.call) else {
                self.over = true;
                return Err(state.death().unwrap_or_else(ended));
            };
            if let Some(message) = incoming.messages.pop_front() {
                state.core.consumed(self.call, message.len());
                let now = state.now;
                self.link.write(&mut state, now);
                return Ok(Some(message));
            }
            if let Some(end) = incoming.end.take() {
                state.streams.remove(&self.call);
                self.over = true;
                self.trailers = end?;
                return Ok(None);
            }
            if let Some(error) = state.death() {
                self.over = true;
                return Err(error);
            }
            state = self.link.turn(state, Wait::News(self.call));
        }
    }

    fn trailers(&self) -> &Headers {
        &self.trailers
    }

    fn cancel(&mut self, code: Code) {
        if !self.over {
            self.over = true;
            self.link.cancel(self.call, code);
        }
    }
}

impl Drop for BlockingStream {
    fn drop(&mut self) {
        self.cancel(Code::Cancelled);
    }
}

fn ended() -> CallError {
    CallError::cancelled(
        Origin::Peer,
        "the call has ended; its end is told by receiving",
    )
}
