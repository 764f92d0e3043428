//! A PDU session as the AMF knows it, and what passes between its SMF, its gNB and its UE.

use bytes::Bytes;
use corewire_core5g_aka::Kgnb;
use corewire_core5g_nas::{PayloadKind, PduSessionId, Snssai, UeSecurityCapability};
use corewire_core5g_ngap::{SessionSetup, UeAmbr};
use corewire_core5g_sbi::model::common::Snssai as Slice;
use corewire_guti::Guami;
use serde::{Deserialize, Serialize};

/// A PDU session, as far as the AMF knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The SM context's resource at the SMF.
    pub(crate) context: String,
    /// The AMF's number for that context: what the SMF says of one that has gone must not be taken
    /// for the next of the same session.
    #[serde(default)]
    pub(crate) handle: u64,
    pub(crate) slice: Slice,
    /// The gNB has resources for it.
    pub(crate) active: bool,
    /// The gNB has none any more, and the SMF does not know it yet.
    #[serde(default)]
    pub(crate) take_down: bool,
}

impl Session {
    pub(crate) fn snssai(&self) -> Snssai {
        Snssai {
            sst: self.slice.sst,
            sd: self.slice.differentiator(),
        }
    }
}

/// What another network function has for a UE and its gNB.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// The session that it is about; none for what is not of the SMF.
    pub(crate) session: Option<PduSessionId>,
    /// What the message for the UE is.
    pub(crate) kind: PayloadKind,
    /// What the UE says again with its answer.
    pub(crate) correlation: Option<String>,
    pub(crate) n1_message: Option<Bytes>,
    /// What it is (TS 29.502, 6.1.6.3.3), and its octets.
    pub(crate) n2_info: Option<(String, Bytes)>,
    /// What is to be notified when the UE cannot be reached.
    pub(crate) failure: Option<Box<FailureNotice>>,
}

/// A transfer that was answered before it was done, and where its failure is notified.
#[derive(Clone, Debug)]
pub(crate) struct FailureNotice {
    pub(crate) to: String,
    /// The resource that the transfer is.
    pub(crate) transfer: String,
}

impl Transfer {
    /// Whether it asks the gNB for a session's resources.
    pub(crate) fn sets_up(&self) -> bool {
        let kind = self.n2_info.as_ref().map(|(kind, _)| kind.as_str());
        kind == Some("PDU_RES_SETUP_REQ")
    }
}

/// What a gNB is told of a UE (TS 38.413, 9.2.2.1).
pub(crate) struct GnbContext<'a> {
    pub(crate) guami: Guami,
    pub(crate) allowed: &'a [Snssai],
    pub(crate) capability: &'a UeSecurityCapability,
    pub(crate) kgnb: Kgnb,
    /// For the UE.
    pub(crate) nas: Vec<u8>,
    pub(crate) sessions: Vec<SessionSetup>,
    pub(crate) ambr: UeAmbr,
}
