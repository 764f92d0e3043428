//! Where C meets Rust: panics end here.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; a panic in it is written to the log by the panic hook and becomes `on_panic`. That is
/// never a message which `body` may have consumed.
pub(crate) fn boundary<T>(on_panic: T, body: impl FnOnce() -> T) -> T {
    // What a panic could leave half-done is behind locks that tolerate it.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(on_panic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_value() {
        assert_eq!(boundary(7, || panic!("caught")), 7);
        assert_eq!(boundary(7, || 8), 8);
    }
}
