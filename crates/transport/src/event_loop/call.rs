//! One call as its caller awaits it.

use super::call_slot::CallSlot;
use super::inbox::{Command, Completion, Shared, loop_ended};
use corewire_message::{CallError, Request, Response};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

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
        let result = self.slot.poll_result(cx);
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
