//! Why something was refused or ended (TS 38.413 clause 9.3.1.2).

use std::fmt;

/// A cause: its group, and its number in the order of the specification.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "TS 38.413 lists five groups")]
pub enum Cause {
    /// About the radio network.
    RadioNetwork(u8),
    /// About the transport.
    Transport(u8),
    /// About NAS.
    Nas(u8),
    /// About the protocol.
    Protocol(u8),
    /// About something else.
    Misc(u8),
}

impl Cause {
    /// No more is known.
    pub const UNSPECIFIED: Self = Self::RadioNetwork(0);
    /// The gNB has its reasons.
    pub const RELEASE_BY_RAN: Self = Self::RadioNetwork(3);
    /// The core has its reasons.
    pub const RELEASE_BY_CORE: Self = Self::RadioNetwork(4);
    /// The number of a UE is unknown to the receiver.
    pub const UNKNOWN_LOCAL_UE_ID: Self = Self::RadioNetwork(14);
    /// The numbers of a UE do not belong together.
    pub const INCONSISTENT_REMOTE_UE_ID: Self = Self::RadioNetwork(15);
    /// The UE has nothing to say.
    pub const USER_INACTIVITY: Self = Self::RadioNetwork(20);
    /// The radio connection with the UE is lost.
    pub const RADIO_LOST: Self = Self::RadioNetwork(21);
    /// The radio has no resources left.
    pub const RADIO_RESOURCES: Self = Self::RadioNetwork(22);
    /// The PDU session is unknown.
    pub const UNKNOWN_SESSION: Self = Self::RadioNetwork(26);
    /// A PDU session is named twice.
    pub const SESSION_TWICE: Self = Self::RadioNetwork(28);
    /// The slice is not supported.
    pub const SLICE_NOT_SUPPORTED: Self = Self::RadioNetwork(39);
    /// A resource of the transport is missing.
    pub const TRANSPORT_RESOURCE: Self = Self::Transport(0);
    /// No more is known of the transport.
    pub const TRANSPORT_UNSPECIFIED: Self = Self::Transport(1);
    /// The connection did its work.
    pub const NORMAL_RELEASE: Self = Self::Nas(0);
    /// The UE failed to authenticate.
    pub const AUTHENTICATION_FAILURE: Self = Self::Nas(1);
    /// The UE is deregistered.
    pub const DEREGISTER: Self = Self::Nas(2);
    /// No more is known of NAS.
    pub const NAS_UNSPECIFIED: Self = Self::Nas(3);
    /// The octets cannot be read.
    pub const TRANSFER_SYNTAX_ERROR: Self = Self::Protocol(0);
    /// The message cannot be understood and is rejected.
    pub const ABSTRACT_SYNTAX_ERROR: Self = Self::Protocol(1);
    /// The message does not fit the receiver's state.
    pub const NOT_COMPATIBLE_WITH_STATE: Self = Self::Protocol(3);
    /// The message makes no sense.
    pub const SEMANTIC_ERROR: Self = Self::Protocol(4);
    /// No more is known of the protocol.
    pub const PROTOCOL_UNSPECIFIED: Self = Self::Protocol(6);
    /// The node has too much to do.
    pub const OVERLOAD: Self = Self::Misc(0);
    /// An operator intervened.
    pub const OPERATOR: Self = Self::Misc(3);
    /// The network is unknown to the node.
    pub const UNKNOWN_PLMN: Self = Self::Misc(4);
    /// No more is known at all.
    pub const MISC_UNSPECIFIED: Self = Self::Misc(5);

    /// Group and name, as the specification writes them.
    #[must_use]
    pub fn name(self) -> (&'static str, &'static str) {
        let (group, names, value): (_, &[&str], _) = match self {
            Self::RadioNetwork(value) => ("radioNetwork", &RADIO_NETWORK, value),
            Self::Transport(value) => ("transport", &TRANSPORT, value),
            Self::Nas(value) => ("nas", &NAS, value),
            Self::Protocol(value) => ("protocol", &PROTOCOL, value),
            Self::Misc(value) => ("misc", &MISC, value),
        };
        (group, names.get(usize::from(value)).unwrap_or(&"unknown"))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (group, name) = self.name();
        write!(f, "{group}: {name}")
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cause({self})")
    }
}

const RADIO_NETWORK: [&str; 65] = [
    "unspecified",
    "txnrelocoverall expiry",
    "successful handover",
    "release due to ngran generated reason",
    "release due to 5gc generated reason",
    "handover cancelled",
    "partial handover",
    "ho failure in target 5GC ngran node or target system",
    "ho target not allowed",
    "tngrelocoverall expiry",
    "tngrelocprep expiry",
    "cell not available",
    "unknown targetID",
    "no radio resources available in target cell",
    "unknown local UE NGAP ID",
    "inconsistent remote UE NGAP ID",
    "handover desirable for radio reason",
    "time critical handover",
    "resource optimisation handover",
    "reduce load in serving cell",
    "user inactivity",
    "radio connection with ue lost",
    "radio resources not available",
    "invalid qos combination",
    "failure in radio interface procedure",
    "interaction with other procedure",
    "unknown PDU session ID",
    "unkown qos flow ID",
    "multiple PDU session ID instances",
    "multiple qos flow ID instances",
    "encryption and or integrity protection algorithms not supported",
    "ng intra system handover triggered",
    "ng inter system handover triggered",
    "xn handover triggered",
    "not supported 5QI value",
    "ue context transfer",
    "ims voice eps fallback or rat fallback triggered",
    "up integrity protection not possible",
    "up confidentiality protection not possible",
    "slice not supported",
    "ue in rrc inactive state not reachable",
    "redirection",
    "resources not available for the slice",
    "ue max integrity protected data rate reason",
    "release due to cn detected mobility",
    "n26 interface not available",
    "release due to pre emption",
    "multiple location reporting reference ID instances",
    "rsn not available for the up",
    "npn access denied",
    "cag only access denied",
    "insufficient ue capabilities",
    "redcap ue not supported",
    "unknown MBS Session ID",
    "indicated MBS session area information not served by the gNB",
    "inconsistent slice info for the session",
    "misaligned association for multicast unicast",
    "eredcap ue not supported",
    "two rx xr ue not supported",
    "aerial ue flight information reporting initiation failure",
    "unknown RAN AIoT Device NGAP ID",
    "requested AIoT service area information not served by the gNB",
    "unknown AIoT session",
    "aiot device not reachable",
    "multiple AIoT session ID instances",
];
const TRANSPORT: [&str; 2] = ["transport resource unavailable", "unspecified"];
const NAS: [&str; 8] = [
    "normal release",
    "authentication failure",
    "deregister",
    "unspecified",
    "uE not in PLMN serving area",
    "mobile IAB not authorized",
    "iAB not authorized",
    "no aiot NAS response",
];
const PROTOCOL: [&str; 7] = [
    "transfer syntax error",
    "abstract syntax error reject",
    "abstract syntax error ignore and notify",
    "message not compatible with receiver state",
    "semantic error",
    "abstract syntax error falsely constructed message",
    "unspecified",
];
const MISC: [&str; 6] = [
    "control processing overload",
    "not enough user plane processing resources",
    "hardware failure",
    "om intervention",
    "unknown PLMN or SNPN",
    "unspecified",
];
