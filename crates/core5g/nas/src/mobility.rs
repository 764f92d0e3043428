//! The 5GMM messages (TS 24.501 clause 8.2): what N1 says about registration and security.

use std::time::Duration;

use corewire_guti::Guti;

use super::{
    IdentityKind, Ksi, MmCause, MobileIdentity, NasAlgorithms, STmsi, Snssai, Tai,
    UeSecurityCapability,
};
use corewire_core5g_aka::{Abba, Autn, Auts, Rand, ResStar};

/// PDU sessions of a UE by their identities: bit `n` is session `n` (clause 9.11.3.44).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PduSessionSet(pub u16);

impl PduSessionSet {
    /// Whether this session is in the set.
    #[must_use]
    pub const fn has(self, session: PduSessionId) -> bool {
        self.0 & 1 << session.0 != 0
    }

    /// The set with this session too.
    #[must_use]
    pub const fn with(self, session: PduSessionId) -> Self {
        Self(self.0 | 1 << session.0)
    }

    /// The sessions, in order.
    pub fn iter(self) -> impl Iterator<Item = PduSessionId> {
        (1..16)
            .map(PduSessionId)
            .filter(move |session| self.has(*session))
    }
}

/// A PDU session of a UE, 1 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PduSessionId(u8);

impl PduSessionId {
    /// The session of this number, 1 to 15.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value >= 1 && value <= 15 {
            Some(Self(value))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// Why a UE registers (clause 9.11.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "the types that are served")]
pub enum RegistrationKind {
    /// It comes to the network.
    Initial = 1,
    /// It came to another tracking area.
    Mobility = 2,
    /// Its timer ran out.
    Periodic = 3,
    /// For an emergency session only.
    Emergency = 4,
}

/// REGISTRATION REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationRequest {
    /// Why.
    pub kind: RegistrationKind,
    /// More is to come: the connection is to stay.
    pub follow_on: bool,
    /// The key set that the UE has.
    pub ksi: Option<Ksi>,
    /// Who.
    pub identity: MobileIdentity,
    /// The UE's algorithms; absent in the part that goes in clear only for periodic updates.
    pub capability: Option<UeSecurityCapability>,
    /// Slices that the UE asks for.
    pub requested_nssai: Vec<Snssai>,
    /// Where it was registered last.
    pub last_tai: Option<Tai>,
    /// Sessions with data to send.
    pub uplink_data: Option<PduSessionSet>,
    /// Sessions that the UE has.
    pub sessions: Option<PduSessionSet>,
    /// The whole request, ciphered when it is part of this one, plain in SECURITY MODE COMPLETE.
    pub container: Option<Vec<u8>>,
}

/// REGISTRATION ACCEPT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrationAccept {
    /// The UE's new temporary identity: it answers with REGISTRATION COMPLETE.
    pub guti: Option<Guti>,
    /// Where the UE may move without a word.
    pub tai_list: Vec<Tai>,
    /// Slices that it may use.
    pub allowed_nssai: Vec<Snssai>,
    /// Sessions that the network has.
    pub sessions: Option<PduSessionSet>,
    /// Sessions whose user plane could not be established again.
    pub reactivation_failed: Option<PduSessionSet>,
    /// When the UE registers periodically: up to 31 times 2 or 30 s, 1 or 10 min, 1 or 10 h.
    pub t3512: Option<Duration>,
}

/// REGISTRATION COMPLETE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrationComplete;

/// REGISTRATION REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationReject {
    /// Why.
    pub cause: MmCause,
    /// How long to wait, when the network is congested.
    pub t3346: Option<Duration>,
}

/// DEREGISTRATION REQUEST from the UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeregistrationRequestFromUe {
    /// The UE is going away and waits for no answer.
    pub switch_off: bool,
    /// The key set that the UE has.
    pub ksi: Option<Ksi>,
    /// Who.
    pub identity: MobileIdentity,
}

/// DEREGISTRATION ACCEPT to the UE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeregistrationAcceptToUe;

/// DEREGISTRATION REQUEST from the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeregistrationRequestToUe {
    /// The UE is to register again at once.
    pub reregistration_required: bool,
    /// Why.
    pub cause: Option<MmCause>,
}

/// DEREGISTRATION ACCEPT from the UE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeregistrationAcceptFromUe;

/// Why a UE asks for a connection (clause 9.11.3.50).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "the types that are served")]
pub enum ServiceKind {
    /// To signal.
    Signalling = 0,
    /// To send data.
    Data = 1,
    /// It was paged.
    MobileTerminated = 2,
}

/// SERVICE REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRequest {
    /// The key set that the UE has.
    pub ksi: Option<Ksi>,
    /// Why.
    pub kind: ServiceKind,
    /// Who.
    pub s_tmsi: STmsi,
    /// Sessions with data to send.
    pub uplink_data: Option<PduSessionSet>,
    /// Sessions that the UE has.
    pub sessions: Option<PduSessionSet>,
    /// The whole request, ciphered when it is part of this one, plain in SECURITY MODE COMPLETE.
    pub container: Option<Vec<u8>>,
}

/// SERVICE ACCEPT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAccept {
    /// Sessions that the network has.
    pub sessions: Option<PduSessionSet>,
    /// Sessions whose user plane could not be established again.
    pub reactivation_failed: Option<PduSessionSet>,
}

/// SERVICE REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceReject {
    /// Why.
    pub cause: MmCause,
    /// Sessions that the network has.
    pub sessions: Option<PduSessionSet>,
}

/// CONFIGURATION UPDATE COMMAND.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationUpdateCommand {
    /// The UE answers with CONFIGURATION UPDATE COMPLETE.
    pub acknowledge: bool,
    /// The UE's new temporary identity.
    pub guti: Option<Guti>,
    /// Where the UE may move without a word; empty leaves it as it is.
    pub tai_list: Vec<Tai>,
    /// Slices that it may use; empty leaves them as they are.
    pub allowed_nssai: Vec<Snssai>,
}

/// CONFIGURATION UPDATE COMPLETE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationUpdateComplete;

/// AUTHENTICATION REQUEST, of 5G-AKA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticationRequest {
    /// The key set that comes out of it.
    pub ksi: Ksi,
    /// What the keys are bound to.
    pub abba: Abba,
    /// The challenge.
    pub rand: Rand,
    /// Its proof.
    pub autn: Autn,
}

/// AUTHENTICATION RESPONSE, of 5G-AKA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticationResponse {
    /// The answer.
    pub res_star: ResStar,
}

/// AUTHENTICATION REJECT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationReject;

/// AUTHENTICATION FAILURE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticationFailure {
    /// Why the challenge is not answered.
    pub cause: MmCause,
    /// Where the USIM is, for [`MmCause::SYNCH_FAILURE`].
    pub auts: Option<Auts>,
}

/// IDENTITY REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRequest {
    /// Which.
    pub kind: IdentityKind,
}

/// IDENTITY RESPONSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityResponse {
    /// It.
    pub identity: MobileIdentity,
}

/// SECURITY MODE COMMAND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityModeCommand {
    /// What is used from now on.
    pub algorithms: NasAlgorithms,
    /// The key set that is used.
    pub ksi: Ksi,
    /// What the network took for the UE's algorithms: the UE compares.
    pub replayed: UeSecurityCapability,
    /// The UE is to say its IMEISV.
    pub imeisv_requested: bool,
    /// The UE is to repeat the whole initial message (clause 5.4.2.2).
    pub repeat_initial: bool,
}

/// SECURITY MODE COMPLETE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityModeComplete {
    /// The equipment: 16 digits.
    pub imeisv: Option<String>,
    /// The whole initial message, in octets: [`super::NasMessage::decode`] reads it.
    pub container: Option<Vec<u8>>,
}

/// SECURITY MODE REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityModeReject {
    /// Why.
    pub cause: MmCause,
}

/// 5GMM STATUS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmStatus {
    /// What was wrong with a message.
    pub cause: MmCause,
}

/// What UL NAS TRANSPORT asks for (clause 9.11.3.47).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "the types that are served")]
pub enum RequestKind {
    /// A new session.
    Initial = 1,
    /// One that exists elsewhere.
    Existing = 2,
    /// For an emergency.
    InitialEmergency = 3,
    /// One for an emergency that exists elsewhere.
    ExistingEmergency = 4,
    /// A change of one.
    Modification = 5,
}

/// UL NAS TRANSPORT of a 5GSM message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkNasTransport {
    /// The 5GSM message.
    pub payload: Vec<u8>,
    /// The session that it is about.
    pub session: Option<PduSessionId>,
    /// What is asked for, when the session is new or changes.
    pub request: Option<RequestKind>,
    /// The slice of a new session.
    pub snssai: Option<Snssai>,
    /// The data network of a new session.
    pub dnn: Option<String>,
}

/// What a payload container holds (clause 9.11.3.40).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum PayloadKind {
    /// A 5GSM message.
    #[default]
    Sm = 1,
    /// A short message.
    Sms = 2,
    /// A message of the LTE positioning protocol.
    Lpp = 3,
    /// UE policies.
    UePolicy = 5,
    /// A message of location services.
    LocationServices = 7,
}

/// DL NAS TRANSPORT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DownlinkNasTransport {
    /// What the payload is.
    pub kind: PayloadKind,
    /// The network's message, or the UE's own that could not be forwarded.
    pub payload: Vec<u8>,
    /// What the UE says again with its answer (clause 9.11.2.1): up to 255 octets.
    pub additional: Option<Vec<u8>>,
    /// The session that it is about.
    pub session: Option<PduSessionId>,
    /// Why it was not forwarded.
    pub cause: Option<MmCause>,
}
