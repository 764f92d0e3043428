//! Why something was refused, in the numbers of TS 24.501.

use std::fmt;

/// Why a 5GMM request was refused (TS 24.501 clause 9.11.3.2). A number without a name is
/// [`Self::UNSPECIFIED`] to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MmCause(pub u8);

impl MmCause {
    /// The UE is not acceptable to the network, or failed to authenticate.
    pub const ILLEGAL_UE: Self = Self(3);
    /// The equipment is not acceptable.
    pub const PEI_NOT_ACCEPTED: Self = Self(5);
    /// The equipment is not acceptable to the network.
    pub const ILLEGAL_ME: Self = Self(6);
    /// 5GS services are not allowed.
    pub const SERVICES_NOT_ALLOWED: Self = Self(7);
    /// The network does not know the identity that the UE used.
    pub const IDENTITY_CANNOT_BE_DERIVED: Self = Self(9);
    /// The network deregistered the UE, or has no context of it.
    pub const IMPLICITLY_DEREGISTERED: Self = Self(10);
    /// The network is not allowed.
    pub const PLMN_NOT_ALLOWED: Self = Self(11);
    /// The tracking area is not allowed.
    pub const TRACKING_AREA_NOT_ALLOWED: Self = Self(12);
    /// Roaming is not allowed in this tracking area.
    pub const ROAMING_NOT_ALLOWED: Self = Self(13);
    /// There is no suitable cell in the tracking area.
    pub const NO_SUITABLE_CELLS: Self = Self(15);
    /// The challenge's MAC is wrong.
    pub const MAC_FAILURE: Self = Self(20);
    /// The challenge's sequence number is not fresh.
    pub const SYNCH_FAILURE: Self = Self(21);
    /// The network is congested.
    pub const CONGESTION: Self = Self(22);
    /// The replayed security capabilities are not the UE's.
    pub const SECURITY_CAPABILITIES_MISMATCH: Self = Self(23);
    /// The security mode is rejected for another reason.
    pub const SECURITY_MODE_REJECTED: Self = Self(24);
    /// The challenge was not made for 5GS.
    pub const NON_5G_AUTHENTICATION: Self = Self(26);
    /// The local data network is not available.
    pub const LADN_NOT_AVAILABLE: Self = Self(43);
    /// No slice is available.
    pub const NO_NETWORK_SLICES: Self = Self(62);
    /// The number of PDU sessions is at its limit.
    pub const TOO_MANY_SESSIONS: Self = Self(65);
    /// The key set identifier is in use.
    pub const KSI_IN_USE: Self = Self(71);
    /// The serving network is not authorised.
    pub const SERVING_NETWORK_NOT_AUTHORIZED: Self = Self(73);
    /// The payload was not forwarded.
    pub const PAYLOAD_NOT_FORWARDED: Self = Self(90);
    /// The data network is not supported or not subscribed in the slice.
    pub const DNN_NOT_SUPPORTED: Self = Self(91);
    /// There are not enough user-plane resources.
    pub const INSUFFICIENT_USER_PLANE: Self = Self(92);
    /// The message makes no sense.
    pub const SEMANTICALLY_INCORRECT: Self = Self(95);
    /// A mandatory element is missing or wrong.
    pub const INVALID_MANDATORY: Self = Self(96);
    /// The message type does not exist or is not served.
    pub const MESSAGE_TYPE_UNKNOWN: Self = Self(97);
    /// The message type does not fit the state.
    pub const MESSAGE_TYPE_NOT_COMPATIBLE: Self = Self(98);
    /// An element does not exist or is not served.
    pub const ELEMENT_UNKNOWN: Self = Self(99);
    /// A conditional element is missing or wrong.
    pub const CONDITIONAL_ELEMENT: Self = Self(100);
    /// The message does not fit the state.
    pub const MESSAGE_NOT_COMPATIBLE: Self = Self(101);
    /// A protocol error of another kind.
    pub const UNSPECIFIED: Self = Self(111);

    /// The name of the constant, in lower case with spaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            3 => "illegal ue",
            5 => "pei not accepted",
            6 => "illegal me",
            7 => "services not allowed",
            9 => "identity cannot be derived",
            10 => "implicitly deregistered",
            11 => "plmn not allowed",
            12 => "tracking area not allowed",
            13 => "roaming not allowed",
            15 => "no suitable cells",
            20 => "mac failure",
            21 => "synch failure",
            22 => "congestion",
            23 => "security capabilities mismatch",
            24 => "security mode rejected",
            26 => "non 5g authentication",
            43 => "ladn not available",
            62 => "no network slices",
            65 => "too many sessions",
            71 => "ksi in use",
            73 => "serving network not authorized",
            90 => "payload not forwarded",
            91 => "dnn not supported",
            92 => "insufficient user plane",
            95 => "semantically incorrect",
            96 => "invalid mandatory",
            97 => "message type unknown",
            98 => "message type not compatible",
            99 => "element unknown",
            100 => "conditional element",
            101 => "message not compatible",
            _ => "protocol error, unspecified",
        }
    }
}

impl fmt::Display for MmCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} ({})", self.0, self.name())
    }
}

impl fmt::Debug for MmCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MmCause({self})")
    }
}

/// Why a 5GSM request was refused (TS 24.501 clause 9.11.4.2). A number without a name is
/// [`Self::UNSPECIFIED`] to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmCause(pub u8);

impl SmCause {
    /// The operator bars the session.
    pub const OPERATOR_BARRING: Self = Self(8);
    /// There are not enough resources.
    pub const INSUFFICIENT_RESOURCES: Self = Self(26);
    /// The data network is missing or unknown.
    pub const UNKNOWN_DNN: Self = Self(27);
    /// The session type is unknown.
    pub const UNKNOWN_SESSION_TYPE: Self = Self(28);
    /// The data network refused the user.
    pub const AUTHENTICATION_FAILED: Self = Self(29);
    /// The request is rejected for another reason.
    pub const REJECTED: Self = Self(31);
    /// The service option is not supported.
    pub const NOT_SUPPORTED: Self = Self(32);
    /// The service option is not subscribed.
    pub const NOT_SUBSCRIBED: Self = Self(33);
    /// The procedure transaction identity is in use.
    pub const PTI_IN_USE: Self = Self(35);
    /// The session ends as it should.
    pub const REGULAR_DEACTIVATION: Self = Self(36);
    /// The network failed.
    pub const NETWORK_FAILURE: Self = Self(38);
    /// The session is to be established again.
    pub const REACTIVATION_REQUESTED: Self = Self(39);
    /// The PDU session identity is invalid.
    pub const INVALID_SESSION_IDENTITY: Self = Self(43);
    /// The procedure transaction identity does not match.
    pub const PTI_MISMATCH: Self = Self(47);
    /// Only IPv4 is allowed.
    pub const IPV4_ONLY: Self = Self(50);
    /// Only IPv6 is allowed.
    pub const IPV6_ONLY: Self = Self(51);
    /// The PDU session does not exist.
    pub const SESSION_DOES_NOT_EXIST: Self = Self(54);
    /// There are not enough resources for the slice and the data network.
    pub const INSUFFICIENT_SLICE_AND_DNN: Self = Self(67);
    /// The SSC mode is not supported.
    pub const SSC_MODE_NOT_SUPPORTED: Self = Self(68);
    /// There are not enough resources for the slice.
    pub const INSUFFICIENT_SLICE: Self = Self(69);
    /// The data network is unknown in the slice.
    pub const UNKNOWN_DNN_IN_SLICE: Self = Self(70);
    /// The procedure transaction identity is invalid.
    pub const INVALID_PTI: Self = Self(81);
    /// The message makes no sense.
    pub const SEMANTICALLY_INCORRECT: Self = Self(95);
    /// A mandatory element is missing or wrong.
    pub const INVALID_MANDATORY: Self = Self(96);
    /// The message type does not exist or is not served.
    pub const MESSAGE_TYPE_UNKNOWN: Self = Self(97);
    /// The message type does not fit the state.
    pub const MESSAGE_TYPE_NOT_COMPATIBLE: Self = Self(98);
    /// A conditional element is missing or wrong.
    pub const CONDITIONAL_ELEMENT: Self = Self(100);
    /// The message does not fit the state.
    pub const MESSAGE_NOT_COMPATIBLE: Self = Self(101);
    /// A protocol error of another kind.
    pub const UNSPECIFIED: Self = Self(111);

    /// The name of the constant, in lower case with spaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            8 => "operator barring",
            26 => "insufficient resources",
            27 => "unknown dnn",
            28 => "unknown session type",
            29 => "authentication failed",
            31 => "rejected",
            32 => "not supported",
            33 => "not subscribed",
            35 => "pti in use",
            36 => "regular deactivation",
            38 => "network failure",
            39 => "reactivation requested",
            43 => "invalid session identity",
            47 => "pti mismatch",
            50 => "ipv4 only",
            51 => "ipv6 only",
            54 => "session does not exist",
            67 => "insufficient slice and dnn",
            68 => "ssc mode not supported",
            69 => "insufficient slice",
            70 => "unknown dnn in slice",
            81 => "invalid pti",
            95 => "semantically incorrect",
            96 => "invalid mandatory",
            97 => "message type unknown",
            98 => "message type not compatible",
            100 => "conditional element",
            101 => "message not compatible",
            _ => "protocol error, unspecified",
        }
    }
}

impl fmt::Display for SmCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} ({})", self.0, self.name())
    }
}

impl fmt::Debug for SmCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmCause({self})")
    }
}
