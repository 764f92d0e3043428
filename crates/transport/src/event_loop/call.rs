//! One call as its caller awaits it.

use super::arena::Key;
use super::inbox::{Command, Completion, Shared};
use corewire_message::{CallError, Origin, Request, Response};
use corewire_wire::CallId;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Where a loop leaves the end of a call for the future that awaits it.
#[derive(Debug, Default)]
pub(crate) struct CallSlot(Mutex<Slot>);

#[derive(Debug, Default)]
struct Slot {
    result: Option<Result<Response, CallError>>,
    waker: Option<Waker>,
    /// Where the call is, once it has been sent.
    at: Option<(Key, CallId)>,
}

impl CallSlot {
    fn with<T>(&self, f: impl FnOnce(&mut Slot) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn complete(&self, result: Result<Response, CallError>) {
        let waker = self.with(|slot| {
            slot.result = Some(result);
            slot.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn place(&self, connection: Key, call: CallId) {
        self.with(|slot| slot.at = Some((connection, call)));
    }

    pub(crate) fn at(&self) -> Option<(Key, CallId)> {
        self.with(|slot| slot.at)
    }
}

/// A call in flight. Dropping it gives the call up.
#[derive(Debug)]
pub(crate) struct CallFuture {
    shared: Arc<Shared>,
    slot: Arc<CallSlot>,
    ended: bool,
}

impl CallFuture {
    pub(crate) fn start(shared: &Arc<Shared>, command: impl FnOnce(Completion) -> Command) -> Self {
        let slot = Arc::new(CallSlot::default());
        if shared
            .push(command(Completion::Slot(Arc::clone(&slot))))
            .is_err()
        {
            slot.complete(Err(loop_ended()));
        }
        Self {
            shared: Arc::clone(shared),
            slot,
            ended: false,
        }
    }

    pub(crate) fn call(shared: &Arc<Shared>, channel: usize, request: Request) -> Self {
        Self::start(shared, |completion| Command::Call {
            channel,
            request,
            completion,
        })
    }
}

impl Future for CallFuture {
    type Output = Result<Response, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = self.slot.with(|slot| {
            if slot.result.is_none() {
                match &mut slot.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
            }
            slot.result.take()
        });
        match result {
            Some(result) => {
                self.ended = true;
                Poll::Ready(result)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for CallFuture {
    fn drop(&mut self) {
        if !self.ended {
            let slot = Arc::clone(&self.slot);
            let _ended_already = self.shared.push(Command::CancelCall { slot });
        }
    }
}

/// The loop that drove this call is gone.
pub(crate) fn loop_ended() -> CallError {
    CallError::not_sent(
        Origin::Local,
        "the event loop of this channel has ended; connect through a running one",
    )
}
