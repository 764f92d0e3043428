//! Where messages rest between uses, so that receiving does not allocate.

use crate::message::Message;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// How many messages rest at most; the others are freed.
const RESTING: usize = 256;

/// Messages of one context that are not in use, all of the same capacity.
pub(crate) struct Pool {
    standard: usize,
    resting: Mutex<Vec<Resting>>,
}

/// A message that nobody uses.
struct Resting(NonNull<Message>);

// SAFETY: whoever takes it out of the pool is its only user.
unsafe impl Send for Resting {}

impl Pool {
    /// A pool of messages with room for `standard` octets.
    pub(crate) fn new(standard: usize) -> Self {
        Self {
            standard,
            resting: Mutex::new(Vec::new()),
        }
    }

    /// The room that messages have at least.
    pub(crate) fn standard(&self) -> usize {
        self.standard
    }

    /// A message with room for `capacity` octets at least; its contents are any. `None` when there
    /// is no memory.
    pub(crate) fn take(&self, capacity: usize) -> Option<NonNull<Message>> {
        if capacity <= self.standard {
            let rested = self.resting().pop();
            if let Some(Resting(mut message)) = rested {
                // SAFETY: it was resting, and now is ours alone.
                unsafe { message.as_mut() }.set_freed(false);
                return Some(message);
            }
        }
        let ring = std::ptr::from_ref(self).cast();
        Message::new(capacity.max(self.standard), ring)
    }

    /// Takes a message back.
    ///
    /// # Safety
    /// It is a live message, and not used again.
    pub(crate) unsafe fn give_back(&self, mut message: NonNull<Message>) {
        // SAFETY: alive, and nobody else uses it, says the caller.
        let inside = unsafe { message.as_mut() };
        inside.set_freed(true);
        if inside.capacity() == self.standard {
            let mut resting = self.resting();
            if resting.len() < RESTING {
                resting.push(Resting(message));
                return;
            }
        }
        // SAFETY: as the caller says.
        unsafe { Message::destroy(message) };
    }

    /// Frees what rests.
    pub(crate) fn clear(&self) {
        for Resting(message) in std::mem::take(&mut *self.resting()) {
            // SAFETY: it was resting, and is in no list any more.
            unsafe { Message::destroy(message) };
        }
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, Vec<Resting>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Frees a message of whatever pool; `false` when it was freed before.
///
/// # Safety
/// It came from [`Pool::take`] of a pool that is still there.
pub(crate) unsafe fn free(message: NonNull<Message>) -> bool {
    // SAFETY: a message, says the caller; a pool keeps those that were freed, and one that it did
    // not keep cannot be told from a live one by anybody.
    let inside = unsafe { message.as_ref() };
    if inside.is_freed() {
        return false;
    }
    // SAFETY: pools are parts of contexts, which are never freed.
    match unsafe { inside.ring.cast::<Pool>().as_ref() } {
        // SAFETY: alive, and the caller's.
        Some(pool) => unsafe { pool.give_back(message) },
        // SAFETY: alive, and the caller's.
        None => unsafe { Message::destroy(message) },
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rests_is_used_again_and_freed_once() {
        let pool = Pool::new(1000);
        let first = pool.take(10).unwrap();
        // SAFETY: just taken, and given back once; a pool remembers the second time.
        unsafe {
            assert!(free(first));
            assert!(!free(first));
        }
        assert_eq!(pool.take(1000), Some(first));
        let larger = pool.take(1001).unwrap();
        assert_ne!(larger, first);
        // SAFETY: both are in use.
        unsafe {
            assert!(free(larger));
            assert!(free(first));
        }
        assert_eq!(pool.resting().len(), 1);
    }
}
