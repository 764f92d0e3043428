//! A panic in one procedure ends that procedure, not the process with every other UE.
//!
//! Event loops catch panics of whole tasks; this is for tasks that must tidy up afterwards. The
//! panic itself is logged by the process's panic hook.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// The procedure panicked. What it held by reference may be half changed: let go of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Panicked;

/// Runs a procedure to its end or to its panic.
///
/// # Errors
/// When it panicked.
///
/// # Cancel safety
/// As that of the procedure.
pub async fn contain<T>(procedure: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut procedure = pin!(procedure);
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| procedure.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(Panicked)),
        },
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Waker};

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
        }
    }

    /// Is pending once, so that what follows runs in a second poll.
    async fn yield_once() {
        let mut yielded = false;
        poll_fn(|_| {
            if std::mem::replace(&mut yielded, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    #[test]
    fn returns_what_the_procedure_returns() {
        let procedure = async {
            yield_once().await;
            7
        };
        assert_eq!(run(contain(procedure)), Ok(7));
    }

    #[test]
    fn returns_an_error_when_the_procedure_panics_later() {
        let procedure = async {
            yield_once().await;
            assert!(std::hint::black_box(false), "on purpose");
        };
        assert_eq!(run(contain(procedure)), Err(Panicked));
    }
}
