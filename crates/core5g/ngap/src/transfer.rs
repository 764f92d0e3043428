//! What SMF and gNB tell each other through the AMF, which does not look inside (TS 38.413 clause
//! 9.3.4; on the service interfaces `application/vnd.3gpp.ngap`).

use std::net::IpAddr;

use super::{Cause, NgapError, codec};
use corewire_core5g_nas::SessionType;

/// One end of a GTP-U tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GtpTunnel {
    /// Where.
    pub address: IpAddr,
    /// Which.
    pub teid: u32,
}

/// A QoS flow without a guaranteed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QosFlow {
    /// Its number, 0 to 63.
    pub qfi: u8,
    /// How it is treated: a standardised 5QI.
    pub five_qi: u8,
    /// Its priority when there is not enough for all: 1 is the highest, 15 the lowest.
    pub priority: u8,
}

/// The rates of a session, bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRate {
    /// Towards the UE.
    pub downlink: u64,
    /// From the UE.
    pub uplink: u64,
}

/// PDU Session Resource Setup Request Transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupRequestTransfer {
    /// Where the gNB sends what comes from the UE.
    pub uplink: GtpTunnel,
    /// What the session carries.
    pub session_type: SessionType,
    /// Its flows, at least one.
    pub flows: Vec<QosFlow>,
    /// Its rates: mandatory with a flow that has no guaranteed rate.
    pub rate: Option<SessionRate>,
}

/// PDU Session Resource Setup Response Transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupResponseTransfer {
    /// Where the UPF sends what goes to the UE.
    pub downlink: GtpTunnel,
    /// The flows that were set up, at least one.
    pub flows: Vec<u8>,
}

/// PDU Session Resource Setup Unsuccessful Transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupUnsuccessfulTransfer {
    /// Why.
    pub cause: Cause,
}

/// PDU Session Resource Modify Request Transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModifyRequestTransfer {
    /// The session's new rates.
    pub rate: Option<SessionRate>,
    /// Flows to add or change.
    pub flows: Vec<QosFlow>,
}

/// PDU Session Resource Modify Response Transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModifyResponseTransfer {
    /// The flows that were added or changed.
    pub flows: Vec<u8>,
}

/// PDU Session Resource Modify Unsuccessful Transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModifyUnsuccessfulTransfer {
    /// Why.
    pub cause: Cause,
}

/// PDU Session Resource Release Command Transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseCommandTransfer {
    /// Why.
    pub cause: Cause,
}

/// PDU Session Resource Release Response Transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReleaseResponseTransfer;

/// Gives each transfer its two functions.
macro_rules! transfers {
    ($($name:ident: $encode:ident, $decode:ident;)+) => {
        $(
            impl $name {
                /// The octets.
                ///
                /// # Errors
                /// A value does not fit its element.
                pub fn encode(&self) -> Result<Vec<u8>, NgapError> {
                    codec::transfer::$encode(self).map_err(codec::unencodable)
                }

                /// Reads the octets.
                ///
                /// # Errors
                /// They are no such transfer, or an element that is needed is missing.
                pub fn decode(octets: &[u8]) -> Result<Self, NgapError> {
                    codec::transfer::$decode(octets).map_err(codec::Fault::of_transfer)
                }
            }
        )+
    };
}

transfers! {
    SetupRequestTransfer: to_setup_request, setup_request;
    SetupResponseTransfer: to_setup_response, setup_response;
    SetupUnsuccessfulTransfer: to_setup_unsuccessful, setup_unsuccessful;
    ModifyRequestTransfer: to_modify_request, modify_request;
    ModifyResponseTransfer: to_modify_response, modify_response;
    ModifyUnsuccessfulTransfer: to_modify_unsuccessful, modify_unsuccessful;
    ReleaseCommandTransfer: to_release_command, release_command;
    ReleaseResponseTransfer: to_release_response, release_response;
}
