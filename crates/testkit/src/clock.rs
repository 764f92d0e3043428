//! Time as tests see it: real or simulated.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// A future that any thread may poll.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What tells the time and waits, so that one test runs in real and in simulated time.
pub trait Clock: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Instant;

    /// Completes at `at`, or at once when that has passed. Dropping it ends the wait.
    fn sleep_until(&self, at: Instant) -> BoxFuture<()>;

    /// Completes when so much time has passed.
    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.sleep_until(self.now() + duration)
    }
}

/// The system's clock. Its sleeps are independent of any event loop, so that a loop under test is
/// not trusted with the time that judges it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<()> {
        Box::pin(poll_fn(move |cx| {
            if Instant::now() >= at {
                return Poll::Ready(());
            }
            ALARMS.set(at, cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// Who waits, woken by one thread of their own.
struct Alarms {
    waiting: Mutex<BinaryHeap<Reverse<Alarm>>>,
    earlier: Condvar,
}

struct Alarm {
    at: Instant,
    waker: Waker,
}

static ALARMS: LazyLock<Arc<Alarms>> = LazyLock::new(|| {
    let alarms = Arc::new(Alarms {
        waiting: Mutex::default(),
        earlier: Condvar::new(),
    });
    let own = Arc::clone(&alarms);
    std::thread::Builder::new()
        .name("testkit-alarms".into())
        .spawn(move || own.run())
        .expect("a test machine has room for one more thread");
    alarms
});

impl Alarms {
    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Alarm>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, at: Instant, waker: Waker) {
        self.lock().push(Reverse(Alarm { at, waker }));
        self.earlier.notify_one();
    }

    fn run(&self) {
        let mut waiting = self.lock();
        loop {
            let left = waiting
                .peek()
                .map(|Reverse(alarm)| alarm.at.saturating_duration_since(Instant::now()));
            match left {
                Some(Duration::ZERO) => {
                    let due = waiting.pop();
                    drop(waiting);
                    if let Some(Reverse(alarm)) = due {
                        alarm.waker.wake();
                    }
                    waiting = self.lock();
                }
                Some(left) => {
                    let woken = self.earlier.wait_timeout(waiting, left);
                    waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    let woken = self.earlier.wait(waiting);
                    waiting = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}
