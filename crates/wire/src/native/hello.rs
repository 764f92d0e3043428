//! HELLO: the first frame of each direction. Versions, features and limits.

use super::fault::Violation;
use super::frame::{HEADER, Header, Kind, flag};
use super::{Config, MAGIC};

/// The versions that this code speaks.
pub(super) const VERSIONS: (u16, u16) = (1, 1);

/// The longest HELLO payload. Versions to come have 4 KiB for what they add.
pub(super) const MAX_HELLO: u32 = 4096;

/// The smallest `max_frame`: room for an operation's name, all fixed fields and a fragment.
const MIN_FRAME: u32 = 8192;

/// What a frame's fields need at most beside its header block and body: name (2 + 1024), timeout,
/// priority, status text (2 + 1024), lengths, and one fragment.
const FRAME_MARGIN: u32 = 4096;

/// A setting of unknown type with this bit is skipped; without it, it is a fault.
const IGNORABLE: u16 = 0x8000;

/// Feature bits. A feature is on when both ends offer it; PASSIVE tells of one end only.
pub(super) mod feature {
    /// This end reads only while a call waits: expect no answers to pings.
    pub(crate) const PASSIVE: u32 = 1 << 0;
    // 1 << 1 is reserved for calls in both directions on one connection.
}

/// What one end announces, or what a sender obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) max_message: u32,
    pub(super) max_frame: u32,
    pub(super) max_concurrent_calls: u32,
    pub(super) stream_credit: u32,
    pub(super) connection_credit: u32,
    pub(super) max_header_block: u32,
    pub(super) max_operations: u16,
}

impl Limits {
    /// What holds for a client until it has read the server's HELLO, and for every setting that a
    /// HELLO leaves out.
    pub(super) const VERSION_1: Self = Self {
        max_message: 16 << 20,
        max_frame: 256 << 10,
        max_concurrent_calls: 4096,
        stream_credit: 1 << 20,
        connection_credit: 16 << 20,
        max_header_block: 64 << 10,
        max_operations: 1024,
    };

    /// What a configuration announces, made consistent: a frame has room for a header block.
    pub(super) fn of(config: &Config) -> Self {
        let max_header_block = config.max_header_block.min(0xff_ffff);
        Self {
            max_message: config.max_message.min(u32::MAX / 2),
            max_frame: config
                .max_frame
                .clamp(MIN_FRAME, u32::MAX / 2)
                .max(max_header_block + FRAME_MARGIN),
            max_concurrent_calls: config.max_concurrent_calls.max(1),
            stream_credit: config.stream_credit.clamp(1, u32::MAX / 2),
            connection_credit: config.connection_credit.clamp(1, u32::MAX / 2),
            max_header_block,
            max_operations: config.max_operations.min(u16::MAX - 1),
        }
    }

    /// What a sender with its own limits obeys towards a peer that announced these.
    pub(super) fn towards(self, peer: Self) -> Self {
        let max_frame = self.max_frame.min(peer.max_frame);
        Self {
            max_message: self.max_message.min(peer.max_message),
            max_frame,
            max_concurrent_calls: self.max_concurrent_calls.min(peer.max_concurrent_calls),
            stream_credit: peer.stream_credit,
            connection_credit: peer.connection_credit,
            max_header_block: self
                .max_header_block
                .min(peer.max_header_block)
                .min(max_frame - FRAME_MARGIN),
            max_operations: self.max_operations.min(peer.max_operations),
        }
    }

    /// The larger of each: what a receiver bears while its peer may not know its limits yet.
    pub(super) fn or_larger(self, other: Self) -> Self {
        Self {
            max_message: self.max_message.max(other.max_message),
            max_frame: self.max_frame.max(other.max_frame),
            max_concurrent_calls: self.max_concurrent_calls.max(other.max_concurrent_calls),
            stream_credit: self.stream_credit.max(other.stream_credit),
            connection_credit: self.connection_credit.max(other.connection_credit),
            max_header_block: self.max_header_block.max(other.max_header_block),
            max_operations: self.max_operations.max(other.max_operations),
        }
    }
}

/// What a HELLO says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// Lowest and highest version spoken.
    pub(super) versions: (u16, u16),
    pub(super) features: u32,
    pub(super) limits: Limits,
}

impl Hello {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            versions: VERSIONS,
            features: if config.passive { feature::PASSIVE } else { 0 },
            limits: Limits::of(config),
        }
    }

    /// The preface: magic and HELLO frame.
    pub(super) fn preface(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(64);
        payload.extend_from_slice(&self.versions.0.to_le_bytes());
        payload.extend_from_slice(&self.versions.1.to_le_bytes());
        payload.extend_from_slice(&self.features.to_le_bytes());
        for (setting, value) in self.settings() {
            payload.extend_from_slice(&setting.to_le_bytes());
            payload.extend_from_slice(&4u16.to_le_bytes());
            payload.extend_from_slice(&value.to_le_bytes());
        }
        let length = u32::try_from(payload.len()).unwrap_or(0);
        let header = Header::new(Kind::Hello).with_length(length).encode();
        [&MAGIC[..], &header[..], &payload].concat()
    }

    fn settings(&self) -> [(u16, u32); 7] {
        let limits = &self.limits;
        [
            (1, limits.max_message),
            (2, limits.max_frame),
            (3, limits.max_concurrent_calls),
            (4, limits.stream_credit),
            (5, limits.connection_credit),
            (6, limits.max_header_block),
            (7, u32::from(limits.max_operations)),
        ]
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, Violation> {
        let (&[a0, a1, b0, b1, f0, f1, f2, f3], mut rest) = payload
            .split_first_chunk::<8>()
            .ok_or(Violation::HelloTruncated)?;
        let mut limits = Limits::VERSION_1;
        while !rest.is_empty() {
            let (&[t0, t1, l0, l1], after) = rest
                .split_first_chunk::<4>()
                .ok_or(Violation::HelloTruncated)?;
            let length = usize::from(u16::from_le_bytes([l0, l1]));
            let (value, after) = after
                .split_at_checked(length)
                .ok_or(Violation::HelloTruncated)?;
            limits.set(u16::from_le_bytes([t0, t1]), value)?;
            rest = after;
        }
        Ok(Self {
            versions: (u16::from_le_bytes([a0, a1]), u16::from_le_bytes([b0, b1])),
            features: u32::from_le_bytes([f0, f1, f2, f3]),
            limits,
        })
    }

    /// The version that both ends speak: the highest.
    pub(super) fn common_version(&self) -> Result<u16, Violation> {
        let (lowest, highest) = self.versions;
        let version = highest.min(VERSIONS.1);
        if version >= lowest.max(VERSIONS.0) {
            Ok(version)
        } else {
            Err(Violation::NoCommonVersion)
        }
    }
}

impl Limits {
    fn set(&mut self, setting: u16, value: &[u8]) -> Result<(), Violation> {
        if setting & IGNORABLE != 0 {
            return Ok(());
        }
        if !(1..=7).contains(&setting) {
            return Err(Violation::UnknownSetting);
        }
        let value = <[u8; 4]>::try_from(value).map_err(|_| Violation::SettingRange)?;
        let value = u32::from_le_bytes(value);
        let within = |lowest: u32, highest: u32| {
            if (lowest..=highest).contains(&value) {
                Ok(value)
            } else {
                Err(Violation::SettingRange)
            }
        };
        match setting {
            1 => self.max_message = within(0, u32::MAX / 2)?,
            2 => self.max_frame = within(MIN_FRAME, u32::MAX / 2)?,
            3 => self.max_concurrent_calls = within(1, u32::MAX)?,
            4 => self.stream_credit = within(1, u32::MAX / 2)?,
            5 => self.connection_credit = within(1, u32::MAX / 2)?,
            6 => self.max_header_block = within(0, u32::MAX / 2)?,
            _ => {
                self.max_operations = u16::try_from(within(0, u32::from(u16::MAX - 1))?)
                    .map_err(|_| Violation::SettingRange)?;
            }
        }
        Ok(())
    }
}

/// The frame by which a client says that it obeys the server's HELLO from here on.
pub(super) fn settled() -> [u8; HEADER] {
    Header::new(Kind::Hello).with_flags(flag::SETTLED).encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(hello: &Hello) -> Vec<u8> {
        hello.preface().split_off(MAGIC.len() + HEADER)
    }

    #[test]
    fn it_round_trips() {
        let config = Config {
            max_message: 5,
            max_operations: 7,
            passive: true,
            ..Config::default()
        };
        let hello = Hello::of(&config);
        assert_eq!(Hello::decode(&payload(&hello)), Ok(hello));
    }

    #[test]
    fn the_defaults_are_those_of_version_1() {
        assert_eq!(Limits::of(&Config::default()), Limits::VERSION_1);
    }

    #[test]
    fn the_highest_operation_number_is_left_for_names_that_are_not_kept() {
        let config = Config::with(|config| config.max_operations = u16::MAX);
        assert_eq!(Limits::of(&config).max_operations, u16::MAX - 1);
        let mut limits = Limits::VERSION_1;
        assert_eq!(limits.set(7, &65_534u32.to_le_bytes()), Ok(()));
        let result = limits.set(7, &65_535u32.to_le_bytes());
        assert_eq!(result, Err(Violation::SettingRange));
    }

    #[test]
    fn a_sender_keeps_its_headers_so_short_that_the_peers_frame_has_room_for_the_rest() {
        let small = Limits {
            max_frame: MIN_FRAME,
            ..Limits::VERSION_1
        };
        let obeyed = Limits::VERSION_1.towards(small);
        assert_eq!((obeyed.max_frame, obeyed.max_header_block), (8192, 4096));
    }

    #[test]
    fn what_is_unknown_is_skipped_only_when_marked() {
        let hello = Hello::of(&Config::default());
        let mut octets = payload(&hello);
        octets.extend([9, 0x80, 3, 0, 1, 2, 3]);
        assert_eq!(Hello::decode(&octets), Ok(hello));
        octets.extend([9, 0, 0, 0]);
        assert_eq!(Hello::decode(&octets), Err(Violation::UnknownSetting));
    }

    #[test]
    fn every_cut_is_refused_or_whole_settings() {
        let octets = payload(&Hello::of(&Config::default()));
        for cut in 0..octets.len() {
            let whole = cut >= 8 && (cut - 8) % 8 == 0;
            assert_eq!(Hello::decode(&octets[..cut]).is_ok(), whole, "cut at {cut}");
        }
    }

    #[test]
    fn the_highest_common_version_is_chosen() {
        let hello = |versions| Hello {
            versions,
            ..Hello::of(&Config::default())
        };
        assert_eq!(hello((1, 9)).common_version(), Ok(1));
        assert_eq!(hello((0, 1)).common_version(), Ok(1));
        assert!(hello((2, 9)).common_version().is_err());
        assert!(hello((0, 0)).common_version().is_err());
    }
}
