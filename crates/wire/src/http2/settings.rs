//! SETTINGS (RFC 9113, 6.5): what the peer takes, and what this side says it takes.

use super::frame::{Head, SETTINGS};
use super::{ErrorCode, Limits, Role};

// RFC 9113, 6.5.2.
const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Octets of one entry.
const ENTRY: usize = 6;

/// Windows before anything was said (RFC 9113, 6.9.2).
pub(super) const DEFAULT_WINDOW: u32 = 65_535;
/// Frames before anything was said (RFC 9113, 4.2).
const DEFAULT_FRAME: u32 = 1 << 14;
/// Requests at once before the server has said how many it takes: as many as RFC 9113 (6.5.2) wants it
/// to take at least.
const FIRST_STREAMS: u32 = 100;

/// What the peer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) table_size: u32,
    pub(super) max_streams: u32,
    pub(super) window: u32,
    pub(super) max_frame: u32,
}

impl Settings {
    pub(super) const FIRST: Self = Self {
        table_size: 4096,
        max_streams: FIRST_STREAMS,
        window: DEFAULT_WINDOW,
        max_frame: DEFAULT_FRAME,
    };

    /// Reads a payload: what it does not name stays. `role` is this side's.
    ///
    /// # Errors
    /// How the connection ends.
    pub(super) fn read(
        &mut self,
        payload: &[u8],
        role: Role,
        max_entries: usize,
    ) -> Result<(), ErrorCode> {
        let (entries, rest) = payload.as_chunks::<ENTRY>();
        // RFC 9113, 6.5.
        if !rest.is_empty() {
            return Err(ErrorCode::FRAME_SIZE_ERROR);
        }
        // RFC 9113, 10.5.
        if entries.len() > max_entries {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        for &[i0, i1, v0, v1, v2, v3] in entries {
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([i0, i1]) {
                HEADER_TABLE_SIZE => self.table_size = value,
                // A server must not say that it takes pushed streams (RFC 9113, 6.5.2).
                ENABLE_PUSH if value > 1 || value == 1 && role == Role::Client => {
                    return Err(ErrorCode::PROTOCOL_ERROR);
                }
                MAX_CONCURRENT_STREAMS => self.max_streams = value,
                // RFC 9113, 6.5.2: the largest window.
                INITIAL_WINDOW_SIZE if value > i32::MAX as u32 => {
                    return Err(ErrorCode::FLOW_CONTROL_ERROR);
                }
                INITIAL_WINDOW_SIZE => self.window = value,
                // RFC 9113, 6.5.2 and 4.2.
                MAX_FRAME_SIZE if !(DEFAULT_FRAME..1 << 24).contains(&value) => {
                    return Err(ErrorCode::PROTOCOL_ERROR);
                }
                MAX_FRAME_SIZE => self.max_frame = value,
                // An advice; and what this side does not know it ignores (RFC 9113, 6.5.2).
                _ => {}
            }
        }
        Ok(())
    }
}

/// What the two ends have said so far of what they take.
#[derive(Debug)]
pub(super) struct SettingsExchange {
    /// What the peer takes.
    pub(super) peer: Settings,
    /// The peer's first SETTINGS have come.
    pub(super) heard: bool,
    /// The peer has taken this side's SETTINGS.
    pub(super) acknowledged: bool,
}

impl SettingsExchange {
    pub(super) const fn new() -> Self {
        Self {
            peer: Settings::FIRST,
            heard: false,
            acknowledged: false,
        }
    }
}

/// The frame that says what this side takes.
pub(super) fn write(role: Role, limits: &Limits, out: &mut Vec<u8>) {
    let entries = [
        (INITIAL_WINDOW_SIZE, limits.stream_window),
        (MAX_CONCURRENT_STREAMS, limits.max_streams),
        (MAX_FRAME_SIZE, limits.max_frame),
        (MAX_HEADER_LIST_SIZE, limits.max_header_list),
        (ENABLE_PUSH, 0),
    ];
    let entries = match role {
        Role::Client => &entries[..],
        Role::Server => &entries[..4],
    };
    let head = Head {
        length: entries.len() * ENTRY,
        kind: SETTINGS,
        flags: 0,
        stream: 0,
    };
    out.extend_from_slice(&head.write());
    for (name, value) in entries {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[(u16, u32)], role: Role) -> Result<Settings, ErrorCode> {
        let mut payload = Vec::new();
        for (name, value) in entries {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        let mut settings = Settings::FIRST;
        settings.read(&payload, role, 8).map(|()| settings)
    }

    #[test]
    fn what_is_named_changes_and_the_last_word_counts() {
        let entries = [(3, 7), (4, 0), (1, 0), (99, 1), (5, 20_000), (3, 9), (6, 1)];
        let settings = read(&entries, Role::Server).unwrap();
        let expected = Settings {
            table_size: 0,
            max_streams: 9,
            window: 0,
            max_frame: 20_000,
        };
        assert_eq!(settings, expected);
        assert_eq!(read(&[], Role::Server), Ok(Settings::FIRST));
    }

    #[test]
    fn values_that_http2_does_not_know_end_the_connection() {
        let protocol = Err(ErrorCode::PROTOCOL_ERROR);
        assert_eq!(read(&[(2, 2)], Role::Server), protocol);
        assert!(read(&[(2, 1)], Role::Server).is_ok());
        assert_eq!(read(&[(2, 1)], Role::Client), protocol);
        assert!(read(&[(2, 0)], Role::Client).is_ok());
        let flow = Err(ErrorCode::FLOW_CONTROL_ERROR);
        assert_eq!(read(&[(4, 1 << 31)], Role::Server), flow);
        assert_eq!(read(&[(5, 16_383)], Role::Server), protocol);
        assert_eq!(read(&[(5, 1 << 24)], Role::Server), protocol);
        // The last values that it does know.
        for (name, value) in [(4, (1 << 31) - 1), (5, 16_384), (5, (1 << 24) - 1)] {
            assert!(read(&[(name, value)], Role::Server).is_ok());
        }
        assert!(read(&[(9, 9); 8], Role::Server).is_ok());
        let calm = Err(ErrorCode::ENHANCE_YOUR_CALM);
        assert_eq!(read(&[(9, 9); 9], Role::Server), calm);
        let mut settings = Settings::FIRST;
        let short = settings.read(&[0; 7], Role::Server, 8);
        assert_eq!(short, Err(ErrorCode::FRAME_SIZE_ERROR));
    }

    #[test]
    fn our_own_words_can_be_read() {
        for role in [Role::Client, Role::Server] {
            let (limits, mut out) = (Limits::default(), Vec::new());
            write(role, &limits, &mut out);
            let (head, payload) = out.split_first_chunk().unwrap();
            assert_eq!(Head::read(*head).length, payload.len());
            let mut settings = Settings::FIRST;
            settings.read(payload, Role::Server, 5).unwrap();
            assert_eq!(settings.window, limits.stream_window);
            assert_eq!(settings.max_frame, limits.max_frame);
        }
    }
}
