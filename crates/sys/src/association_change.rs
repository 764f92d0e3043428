//! What an implementation of SCTP says of an association that has ended: `struct sctp_assoc_change`
//! (RFC 6458, section 6.1.1), whose form is the same everywhere and whose numbers are each one's own.

use crate::usrsctp::SctpReceived;

/// The numbers of an implementation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssociationChange {
    /// `SCTP_ASSOC_CHANGE`
    pub(crate) kind: u16,
    /// `SCTP_COMM_LOST`
    pub(crate) lost: u16,
    /// `SCTP_CANT_STR_ASSOC`
    pub(crate) cannot_start: u16,
    /// `SCTP_SHUTDOWN_COMP`
    pub(crate) shut_down: u16,
}

impl AssociationChange {
    /// What a notification says: kind (16 bits), flags (16), length (32), state (16), in the host's
    /// order. Others, and other states, are nothing that anybody acts on.
    pub(crate) fn read(&self, notification: &[u8]) -> SctpReceived {
        let word = |at: usize| {
            notification
                .get(at..at + 2)
                .and_then(|two| two.try_into().ok())
                .map(u16::from_ne_bytes)
        };
        match word(8).filter(|_| word(0) == Some(self.kind)) {
            Some(state) if state == self.lost || state == self.cannot_start => SctpReceived::Lost,
            Some(state) if state == self.shut_down => SctpReceived::ShutDown,
            _ => SctpReceived::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_and_nothing_else_is_one() {
        let numbers = AssociationChange {
            kind: 0x8001,
            lost: 1,
            cannot_start: 4,
            shut_down: 3,
        };
        let notification = |kind: u16, state: u16| {
            let mut octets = [0; 20];
            octets[..2].copy_from_slice(&kind.to_ne_bytes());
            octets[8..10].copy_from_slice(&state.to_ne_bytes());
            octets
        };
        for (kind, state, said) in [
            (0x8001, 1, SctpReceived::Lost),
            (0x8001, 4, SctpReceived::Lost),
            (0x8001, 3, SctpReceived::ShutDown),
            (0x8001, 0, SctpReceived::Nothing),
            (0x8002, 1, SctpReceived::Nothing),
        ] {
            let octets = notification(kind, state);
            assert_eq!(numbers.read(&octets), said, "{kind} {state}");
            for cut in 0..10 {
                assert_eq!(numbers.read(&octets[..cut]), SctpReceived::Nothing);
            }
        }
    }
}
