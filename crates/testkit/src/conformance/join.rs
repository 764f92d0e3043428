//! Futures together, without a runtime.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// Waits for all; gives their outputs in the order given. All are polled on each wake: for tests.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    type Place<F> = (Pin<Box<F>>, Option<<F as Future>::Output>);
    let mut places: Vec<Place<F>> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    poll_fn(|cx| {
        let mut waits = false;
        for (future, output) in places.iter_mut().filter(|place| place.1.is_none()) {
            match future.as_mut().poll(cx) {
                Poll::Ready(ready) => *output = Some(ready),
                Poll::Pending => waits = true,
            }
        }
        if waits {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    places.into_iter().filter_map(|place| place.1).collect()
}

/// Waits for whichever ends first and drops the other.
///
/// # Errors
/// The second's output, when that ended first.
pub async fn either<A: Future, B: Future>(first: A, second: B) -> Result<A::Output, B::Output> {
    let mut first = pin!(first);
    let mut second = pin!(second);
    poll_fn(|cx| {
        if let Poll::Ready(output) = first.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        second.as_mut().poll(cx).map(Err)
    })
    .await
}
