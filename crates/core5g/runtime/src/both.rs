//! Two things at once, neither of which needs what the other gives.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Completes when both have; two calls go out in one turn, and wake their caller once if they are
/// answered together.
///
/// # Cancel safety
/// As that of both.
pub async fn both<A: Future, B: Future>(one: A, other: B) -> (A::Output, B::Output) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(move |cx| {
        if first.is_none()
            && let Poll::Ready(output) = one.as_mut().poll(cx)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = other.as_mut().poll(cx)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (had, has) => {
                (first, second) = (had, has);
                Poll::Pending
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::task::{Context, Waker};

    #[test]
    fn each_is_polled_until_it_is_done_and_no_longer() {
        let polls = Cell::new(0);
        let late = poll_fn(|_| {
            polls.set(polls.get() + 1);
            match polls.get() {
                3 => Poll::Ready("late"),
                _ => Poll::Pending,
            }
        });
        let mut future = pin!(both(std::future::ready("early"), late));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut cx).is_pending());
        assert!(future.as_mut().poll(&mut cx).is_pending());
        assert_eq!(future.poll(&mut cx), Poll::Ready(("early", "late")));
        assert_eq!(polls.get(), 3);
    }
}
