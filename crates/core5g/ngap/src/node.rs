//! The messages between a gNB and an AMF as nodes (TS 38.413 clauses 9.2.6 and 9.2.4).

use std::time::Duration;

use corewire_guti::{Guami, Plmn};

use super::{AmfUeNgapId, Cause, GnbId, RanUeNgapId};
use corewire_core5g_nas::{STmsi, Snssai, Tac, Tai};

/// A network and the slices that a node serves in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlmnSlices {
    /// The network.
    pub plmn: Plmn,
    /// The slices.
    pub slices: Vec<Snssai>,
}

/// A tracking area of a gNB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedArea {
    /// The area.
    pub tac: Tac,
    /// The networks and slices in it.
    pub plmns: Vec<PlmnSlices>,
}

/// NG SETUP REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgSetupRequest {
    /// Who.
    pub gnb: GnbId,
    /// A name for people.
    pub name: Option<String>,
    /// What it serves.
    pub areas: Vec<SupportedArea>,
}

/// NG SETUP RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgSetupResponse {
    /// A name for people.
    pub amf_name: String,
    /// As which AMFs it serves.
    pub guamis: Vec<Guami>,
    /// Its weight among the AMFs of its set.
    pub capacity: u8,
    /// What it serves.
    pub plmns: Vec<PlmnSlices>,
}

/// NG SETUP FAILURE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgSetupFailure {
    /// Why.
    pub cause: Cause,
    /// How long to wait: 1, 2, 5, 10, 20 or 60 s.
    pub wait: Option<Duration>,
    /// What of the request is missing or not understood.
    pub faults: Vec<ElementFault>,
}

/// An element of a message that is missing or not understood (clause 9.3.1.3, Criticality Diagnostics).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementFault {
    /// Which (clause 9.4.7, `ProtocolIE-ID`).
    pub id: u16,
    /// What its receiver does without it.
    pub criticality: Criticality,
    /// It is missing; else it is not understood.
    pub is_missing: bool,
}

/// What a receiver does with a message of which it misses an element (clause 10.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "TS 38.413 lists three")]
pub enum Criticality {
    /// It rejects the message.
    Reject,
    /// It ignores the element.
    Ignore,
    /// It ignores the element, and says so.
    Notify,
}

/// RAN CONFIGURATION UPDATE: what a gNB says anew of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RanConfigurationUpdate {
    /// A name for people.
    pub name: Option<String>,
    /// What it serves; as before, when it is not said.
    pub areas: Option<Vec<SupportedArea>>,
}

/// RAN CONFIGURATION UPDATE ACKNOWLEDGE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RanConfigurationUpdateAcknowledge;

/// RAN CONFIGURATION UPDATE FAILURE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanConfigurationUpdateFailure {
    /// Why.
    pub cause: Cause,
    /// How long to wait, as after NG SETUP FAILURE.
    pub wait: Option<Duration>,
    /// What of the update is missing or not understood.
    pub faults: Vec<ElementFault>,
}

/// One UE's connection, by what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeConnection {
    /// The AMF's number.
    pub amf: Option<AmfUeNgapId>,
    /// The gNB's number.
    pub ran: Option<RanUeNgapId>,
}

/// What NG RESET is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "TS 38.413 clause 9.3.1.29 lists two"
)]
pub enum ResetScope {
    /// Every UE of the association.
    All,
    /// These.
    Ues(Vec<UeConnection>),
}

/// NG RESET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgReset {
    /// Why.
    pub cause: Cause,
    /// What.
    pub scope: ResetScope,
}

/// NG RESET ACKNOWLEDGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgResetAcknowledge {
    /// What was reset; empty after a reset of all.
    pub ues: Vec<UeConnection>,
}

/// ERROR INDICATION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorIndication {
    /// The AMF's number of the UE that it is about.
    pub amf: Option<AmfUeNgapId>,
    /// The gNB's number of the UE that it is about.
    pub ran: Option<RanUeNgapId>,
    /// Why.
    pub cause: Option<Cause>,
}

/// PAGING.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Whom.
    pub s_tmsi: STmsi,
    /// Where.
    pub tais: Vec<Tai>,
}

/// OVERLOAD START: the gNB is to hold UEs back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverloadStart {
    /// What share of the signalling is too much, 1 to 99 %.
    pub reduction: Option<u8>,
}

/// OVERLOAD STOP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverloadStop;
