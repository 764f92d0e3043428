//! What a PDU session is: its type, address, rate and rules (TS 24.501 clause 9.11.4).

use std::net::Ipv4Addr;

/// What a PDU session carries (clause 9.11.4.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "TS 24.501 lists five")]
pub enum SessionType {
    /// IPv4.
    Ipv4 = 1,
    /// IPv6.
    Ipv6 = 2,
    /// Both.
    Ipv4v6 = 3,
    /// Octets of any kind.
    Unstructured = 4,
    /// Ethernet frames.
    Ethernet = 5,
}

impl SessionType {
    /// The type of this number. A reserved one is read as IPv4v6, as clause 9.11.4.11 has it.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0x07 {
            1 => Self::Ipv4,
            2 => Self::Ipv6,
            4 => Self::Unstructured,
            5 => Self::Ethernet,
            _ => Self::Ipv4v6,
        }
    }
}

/// Whether a session keeps its address when the UE moves: mode 1 does (clause 9.11.4.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SscMode(pub u8);

impl SscMode {
    /// The address stays.
    pub const ONE: Self = Self(1);
}

/// The address of a session (clause 9.11.4.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "TS 24.501 lists three")]
pub enum PduAddress {
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// The interface identifier that the UE makes its link-local address from.
    Ipv6([u8; 8]),
    /// Both.
    Ipv4v6([u8; 8], Ipv4Addr),
}

impl PduAddress {
    pub(super) fn to_octets(self) -> Vec<u8> {
        match self {
            Self::Ipv4(v4) => [&[1], &v4.octets()[..]].concat(),
            Self::Ipv6(v6) => [&[2], &v6[..]].concat(),
            Self::Ipv4v6(v6, v4) => [&[3], &v6[..], &v4.octets()[..]].concat(),
        }
    }

    pub(super) fn from_octets(octets: &[u8]) -> Option<Self> {
        let (kind, rest) = octets.split_first()?;
        let v4 = |octets: &[u8]| octets.first_chunk::<4>().map(|v4| Ipv4Addr::from(*v4));
        match kind & 0x07 {
            1 => v4(rest).map(Self::Ipv4),
            2 => rest.first_chunk().map(|v6| Self::Ipv6(*v6)),
            3 => {
                let (v6, rest) = rest.split_first_chunk()?;
                Some(Self::Ipv4v6(*v6, v4(rest)?))
            }
            _ => None,
        }
    }
}

/// The most that all flows of a session without a guaranteed rate may take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionAmbr {
    /// Towards the UE, kbit/s.
    pub downlink_kbps: u64,
    /// From the UE, kbit/s.
    pub uplink_kbps: u64,
}

/// QoS rules as they go over the air (clause 9.11.4.13): which packets take which flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosRules(pub Vec<u8>);

impl QosRules {
    /// The one default rule, number 1: every packet, in both directions, takes this flow.
    #[must_use]
    pub fn match_all(qfi: u8) -> Self {
        /// Rule operation "create new QoS rule", default rule, one packet filter.
        const CREATE_DEFAULT_ONE_FILTER: u8 = 0b0011_0001;
        /// Filter number 1, both directions; its one component is "match all".
        const MATCH_ALL: [u8; 3] = [0b11_0001, 1, 0x01];
        /// The last that is looked at.
        const PRECEDENCE: u8 = 255;
        let [direction, length, component] = MATCH_ALL;
        Self(vec![
            1,
            0,
            6,
            CREATE_DEFAULT_ONE_FILTER,
            direction,
            length,
            component,
            PRECEDENCE,
            qfi & 0x3f,
        ])
    }
}

/// QoS flow descriptions as they go over the air (clause 9.11.4.12): how flows are treated. A flow without
/// one has the 5QI of its own number (clause 6.4.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosFlowDescriptions(pub Vec<u8>);

impl QosFlowDescriptions {
    /// A new flow with a standardised 5QI.
    #[must_use]
    pub fn of_flow(qfi: u8, five_qi: u8) -> Self {
        /// Operation "create new QoS flow description".
        const CREATE: u8 = 0b0010_0000;
        /// A list of parameters follows, which has one.
        const ONE_PARAMETER: u8 = 0b0100_0001;
        /// The parameter "5QI", of one octet.
        const FIVE_QI: [u8; 2] = [1, 1];
        let [parameter, length] = FIVE_QI;
        let head = [qfi & 0x3f, CREATE, ONE_PARAMETER];
        Self([&head[..], &[parameter, length, five_qi]].concat())
    }
}
