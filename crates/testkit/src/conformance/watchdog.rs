//! Tests that fail rather than hang.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

/// How long one test may take.
pub const LONGEST_TEST: Duration = Duration::from_secs(60);

/// Runs a test on a thread of its own and fails when it takes longer than [`LONGEST_TEST`].
///
/// # Panics
/// When the test does, or hangs; its thread is left behind then.
pub fn watched(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = sync_channel::<()>(1);
    let run = move || {
        // Dropping it tells.
        let _done = done;
        test();
    };
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    let thread = std::thread::Builder::new().name(name).spawn(run);
    let thread = thread.expect("a test machine has room for one more thread");
    if wait.recv_timeout(LONGEST_TEST) == Err(RecvTimeoutError::Timeout) {
        panic!("the test has not ended after {LONGEST_TEST:?}");
    }
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// Waits for a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
