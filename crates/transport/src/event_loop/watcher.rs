//! How a client's connection stands, for callers that choose between several.

/// Who is told how a client's connection stands. Called on the loop's thread, where it must neither
/// block nor panic.
pub trait ConnectionWatcher: Send + Sync {
    /// It is open: a call leaves at once.
    fn connected(&self);
    /// The next call would need another connection: this one is lost, or it could not be made.
    fn disconnected(&self, why: &str);
    /// The next call would need another connection: the peer has announced that it takes no more
    /// calls on this one (GOAWAY). That is no failure. By default as [`disconnected`](Self::disconnected).
    fn draining(&self) {
        self.disconnected(PEER_DRAINS);
    }
}

/// Why a connection that drains takes no more calls.
const PEER_DRAINS: &str = "the peer drains";
