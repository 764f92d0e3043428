//! The end of a call, between the loop and the future that awaits it.

use super::arena::Key;
use corewire_message::{CallError, Response};
use corewire_wire::CallId;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};

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

    /// The call's end; before that, the caller is woken when there is one.
    pub(crate) fn poll_result(&self, cx: &Context<'_>) -> Option<Result<Response, CallError>> {
        self.with(|slot| {
            if slot.result.is_none() {
                match &mut slot.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
            }
            slot.result.take()
        })
    }

    pub(crate) fn at(&self) -> Option<(Key, CallId)> {
        self.with(|slot| slot.at)
    }
}
