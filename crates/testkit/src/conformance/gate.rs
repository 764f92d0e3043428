//! A gate that lets everybody through once it is open.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Closed until it is opened, then open for good.
#[derive(Debug, Default)]
pub struct Gate(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    /// Lets everybody through from now on.
    pub fn open(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.open = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Completes when the gate is open.
    pub async fn passed(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.open {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
