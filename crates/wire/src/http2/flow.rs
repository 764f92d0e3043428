//! Flow control (RFC 9113, 5.2 and 6.9): windows, which are alike for a stream and for the connection.

use super::ErrorCode;

/// The largest window (RFC 9113, 6.9.1).
pub(super) const MAX_WINDOW: u32 = i32::MAX as u32;

/// What the peer may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    /// Octets that it may still send. Below 0 on a stream while it sends by rules from before this
    /// side's SETTINGS.
    left: i64,
    /// Octets that came, were used, and of which it has not been told.
    used: u32,
}

impl ReceiveWindow {
    pub(super) const fn new(octets: u32) -> Self {
        Self {
            left: octets as i64,
            used: 0,
        }
    }

    /// Octets came.
    ///
    /// # Errors
    /// When they are more than were granted (RFC 9113, 6.9.1).
    #[inline]
    pub(super) const fn take(&mut self, octets: usize) -> Result<(), ErrorCode> {
        self.left -= octets as i64;
        if self.left < 0 {
            return Err(ErrorCode::FLOW_CONTROL_ERROR);
        }
        Ok(())
    }

    /// Octets were used. Gives what WINDOW_UPDATE is to grant, once that is half of the `whole` window.
    pub(super) fn give_back(&mut self, octets: usize, whole: u32) -> Option<u32> {
        // No more than the window is ever owed, which is less than 2^31.
        self.used = self.used.saturating_add(octets as u32);
        if self.used == 0 || self.used < whole / 2 {
            return None;
        }
        let more = std::mem::take(&mut self.used);
        self.left += i64::from(more);
        Some(more)
    }

    /// The peer knows of a smaller window now.
    pub(super) fn shrink(&mut self, by: u32) {
        self.left -= i64::from(by);
    }
}

/// What this side may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SendWindow {
    /// Octets. Below 0 after SETTINGS have taken some back (RFC 9113, 6.9.2).
    left: i64,
}

impl SendWindow {
    pub(super) const fn new(octets: u32) -> Self {
        Self {
            left: octets as i64,
        }
    }

    pub(super) const fn is_open(self) -> bool {
        self.left > 0
    }

    /// Octets that may be sent now by this window and the other: a stream's and the connection's.
    #[inline]
    pub(super) fn with(self, other: Self) -> usize {
        self.left.min(other.left).max(0) as usize
    }

    /// Octets are sent, which are no more than there is room for.
    #[inline]
    pub(super) const fn spend(&mut self, octets: usize) {
        self.left -= octets as i64;
    }

    /// Octets that were counted as sent are not.
    pub(super) const fn unspend(&mut self, octets: usize) {
        self.left += octets as i64;
    }

    /// WINDOW_UPDATE, or another SETTINGS_INITIAL_WINDOW_SIZE, changes it.
    ///
    /// # Errors
    /// When it is larger than a window can be (RFC 9113, 6.9.1 and 6.9.2).
    pub(super) fn change(&mut self, by: i64) -> Result<(), ErrorCode> {
        self.left += by;
        if self.left > i64::from(MAX_WINDOW) {
            return Err(ErrorCode::FLOW_CONTROL_ERROR);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_sends_no_more_than_was_granted() {
        let mut window = ReceiveWindow::new(10);
        assert_eq!(window.take(10), Ok(()));
        assert_eq!(window.take(0), Ok(()));
        assert_eq!(window.take(1), Err(ErrorCode::FLOW_CONTROL_ERROR));
    }

    #[test]
    fn what_was_used_is_granted_again_by_halves() {
        let mut window = ReceiveWindow::new(10);
        assert_eq!(window.take(10), Ok(()));
        assert_eq!(window.give_back(4, 10), None);
        assert_eq!(window.give_back(1, 10), Some(5));
        assert_eq!(window.give_back(0, 10), None);
        assert_eq!(window.take(5), Ok(()));
        assert!(window.take(1).is_err());
        // A window of one octet, or of none, grants nothing that was not used.
        assert_eq!(ReceiveWindow::new(0).give_back(0, 0), None);
        assert_eq!(ReceiveWindow::new(1).give_back(1, 1), Some(1));
    }

    #[test]
    fn a_window_that_shrank_is_closed_until_it_is_paid_back() {
        let mut window = ReceiveWindow::new(10);
        window.shrink(15);
        assert!(window.take(0).is_err());
        assert_eq!(window.give_back(8, 10), Some(8));
        assert_eq!(window.take(3), Ok(()));
    }

    #[test]
    fn the_smaller_of_two_windows_counts_and_none_below_zero() {
        let (stream, mut connection) = (SendWindow::new(7), SendWindow::new(9));
        assert_eq!((stream.with(connection), connection.with(stream)), (7, 7));
        connection.spend(5);
        assert_eq!(stream.with(connection), 4);
        connection.unspend(1);
        assert_eq!(stream.with(connection), 5);
        assert_eq!(connection.change(-6), Ok(()));
        assert!(!connection.is_open() && stream.with(connection) == 0);
        assert_eq!(connection.change(2), Ok(()));
        assert!(connection.is_open() && stream.with(connection) == 1);
    }

    #[test]
    fn no_window_is_larger_than_31_bits_can_say() {
        let mut window = SendWindow::new(1);
        assert_eq!(window.change(i64::from(MAX_WINDOW) - 1), Ok(()));
        assert_eq!(window.change(1), Err(ErrorCode::FLOW_CONTROL_ERROR));
    }
}
