//! The messages about one UE (TS 38.413 clauses 9.2.1, 9.2.2 and 9.2.5).

use corewire_guti::Guami;

use super::{Cause, NrCell, RanUeNgapId, UeIds, UePair};
use corewire_core5g_aka::Kgnb;
use corewire_core5g_nas::{PduSessionId, STmsi, Snssai, Tai, UeSecurityCapability};

/// Where a UE is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The cell.
    pub cell: NrCell,
    /// The tracking area.
    pub tai: Tai,
}

/// Why a UE came to the radio (clause 9.3.1.111).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EstablishmentCause {
    /// An emergency.
    Emergency,
    /// It has priority.
    HighPriority,
    /// It was paged.
    MobileTerminated,
    /// To signal.
    Signalling,
    /// To send data.
    Data,
    /// Another reason.
    Other,
}

/// The rates of a UE over all its sessions, bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeAmbr {
    /// Towards the UE.
    pub downlink: u64,
    /// From the UE.
    pub uplink: u64,
}

/// The algorithms of a UE as the radio counts them: NEA1 and NIA1 are the highest bits (clause
/// 9.3.1.86).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioSecurityCapability {
    /// NR ciphering.
    pub nr_ciphering: u16,
    /// NR integrity.
    pub nr_integrity: u16,
    /// E-UTRA ciphering.
    pub eutra_ciphering: u16,
    /// E-UTRA integrity.
    pub eutra_integrity: u16,
}

impl From<&UeSecurityCapability> for RadioSecurityCapability {
    fn from(capability: &UeSecurityCapability) -> Self {
        // NAS begins with algorithm 0, NGAP with 1.
        let bits = |octet: u8| u16::from(octet << 1) << 8;
        Self {
            nr_ciphering: bits(capability.nr_ciphering()),
            nr_integrity: bits(capability.nr_integrity()),
            eutra_ciphering: bits(capability.eutra_ciphering()),
            eutra_integrity: bits(capability.eutra_integrity()),
        }
    }
}

/// A session that the gNB is to set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSetup {
    /// Which.
    pub session: PduSessionId,
    /// For the UE.
    pub nas: Option<Vec<u8>>,
    /// Its slice.
    pub snssai: Snssai,
    /// From the SMF: a [`super::transfer::SetupRequestTransfer`].
    pub transfer: Vec<u8>,
}

/// A session that the gNB is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionModify {
    /// Which.
    pub session: PduSessionId,
    /// For the UE.
    pub nas: Option<Vec<u8>>,
    /// From the SMF: a [`super::transfer::ModifyRequestTransfer`].
    pub transfer: Vec<u8>,
}

/// A session, and what SMF and gNB tell each other about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTransfer {
    /// Which.
    pub session: PduSessionId,
    /// Which of [`super::transfer`] it is, the message says.
    pub transfer: Vec<u8>,
}

/// INITIAL UE MESSAGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialUeMessage {
    /// The gNB's number for the UE.
    pub ran: RanUeNgapId,
    /// From the UE.
    pub nas: Vec<u8>,
    /// Where it is.
    pub location: Location,
    /// Why it came.
    pub establishment: EstablishmentCause,
    /// Who it said it was on the radio.
    pub s_tmsi: Option<STmsi>,
    /// The gNB wants the UE's context.
    pub context_requested: bool,
}

/// DOWNLINK NAS TRANSPORT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownlinkNas {
    /// The UE's two ids.
    pub ue: UePair,
    /// For the UE.
    pub nas: Vec<u8>,
}

/// UPLINK NAS TRANSPORT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkNas {
    /// The UE's two ids.
    pub ue: UePair,
    /// From the UE.
    pub nas: Vec<u8>,
    /// Where it is.
    pub location: Location,
}

/// NAS NON DELIVERY INDICATION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NasNonDeliveryIndication {
    /// The UE's two ids.
    pub ue: UePair,
    /// What did not reach it.
    pub nas: Vec<u8>,
    /// Why.
    pub cause: Cause,
}

/// INITIAL CONTEXT SETUP REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialContextSetupRequest {
    /// The UE's two ids.
    pub ue: UePair,
    /// As which AMF.
    pub guami: Guami,
    /// The UE's slices, at least one.
    pub allowed_nssai: Vec<Snssai>,
    /// The UE's algorithms.
    pub capability: RadioSecurityCapability,
    /// The key of the radio.
    pub kgnb: Kgnb,
    /// For the UE.
    pub nas: Option<Vec<u8>>,
    /// Sessions to set up.
    pub sessions: Vec<SessionSetup>,
    /// The UE's rates: mandatory when there are sessions.
    pub ambr: Option<UeAmbr>,
}

/// INITIAL CONTEXT SETUP RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialContextSetupResponse {
    /// The UE's two ids.
    pub ue: UePair,
    /// Sessions that were set up.
    pub set_up: Vec<SessionTransfer>,
    /// Sessions that were not.
    pub failed: Vec<SessionTransfer>,
}

/// INITIAL CONTEXT SETUP FAILURE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialContextSetupFailure {
    /// The UE's two ids.
    pub ue: UePair,
    /// Why.
    pub cause: Cause,
}

/// PDU SESSION RESOURCE SETUP REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceSetupRequest {
    /// The UE's two ids.
    pub ue: UePair,
    /// The sessions, at least one.
    pub sessions: Vec<SessionSetup>,
    /// The UE's rates.
    pub ambr: Option<UeAmbr>,
}

/// PDU SESSION RESOURCE SETUP RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceSetupResponse {
    /// The UE's two ids.
    pub ue: UePair,
    /// Sessions that were set up.
    pub set_up: Vec<SessionTransfer>,
    /// Sessions that were not.
    pub failed: Vec<SessionTransfer>,
}

/// PDU SESSION RESOURCE MODIFY REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceModifyRequest {
    /// The UE's two ids.
    pub ue: UePair,
    /// The sessions, at least one.
    pub sessions: Vec<SessionModify>,
}

/// PDU SESSION RESOURCE MODIFY RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceModifyResponse {
    /// The UE's two ids.
    pub ue: UePair,
    /// Sessions that were changed.
    pub modified: Vec<SessionTransfer>,
    /// Sessions that were not.
    pub failed: Vec<SessionTransfer>,
}

/// PDU SESSION RESOURCE RELEASE COMMAND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceReleaseCommand {
    /// The UE's two ids.
    pub ue: UePair,
    /// For the UE.
    pub nas: Option<Vec<u8>>,
    /// The sessions, at least one.
    pub sessions: Vec<SessionTransfer>,
}

/// PDU SESSION RESOURCE RELEASE RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionResourceReleaseResponse {
    /// The UE's two ids.
    pub ue: UePair,
    /// The sessions, at least one.
    pub released: Vec<SessionTransfer>,
}

/// UE CONTEXT RELEASE REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeContextReleaseRequest {
    /// The UE's two ids.
    pub ue: UePair,
    /// Sessions with an active user plane.
    pub sessions: Vec<PduSessionId>,
    /// Why.
    pub cause: Cause,
}

/// UE CONTEXT RELEASE COMMAND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeContextReleaseCommand {
    /// The UE's two ids.
    pub ue: UeIds,
    /// Why.
    pub cause: Cause,
}

/// UE CONTEXT RELEASE COMPLETE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeContextReleaseComplete {
    /// The UE's two ids.
    pub ue: UePair,
    /// Sessions that had an active user plane.
    pub sessions: Vec<PduSessionId>,
}
