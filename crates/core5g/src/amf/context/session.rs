//! A PDU session as the AMF knows it, and what passes between its SMF, its gNB and its UE.

use crate::aka::Kgnb;
use crate::nas::{PayloadKind, PduSessionId, Snssai, UeSecurityCapability};
use crate::ngap::{SessionSetup, UeAmbr};
use crate::smf::Slice;
use bytes::Bytes;
use corewire_guti::Guami;
use serde::{Deserialize, Serialize};

/// A PDU session, as far as the AMF knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::amf) struct Session {
    /// The SM context's resource at the SMF.
    pub(in crate::amf) context: String,
    /// The AMF's number for that context: what the SMF says of one that has gone must not be taken
    /// for the next of the same session.
    #[serde(default)]
    pub(in crate::amf) handle: u64,
    pub(in crate::amf) slice: Slice,
    /// The gNB has resources for it.
    pub(in crate::amf) active: bool,
    /// The gNB has none any more, and the SMF does not know it yet.
    #[serde(default)]
    pub(in crate::amf) take_down: bool,
}

impl Session {
    pub(in crate::amf) fn snssai(&self) -> Snssai {
        Snssai {
            sst: self.slice.sst,
            sd: self.slice.differentiator(),
        }
    }
}

/// What another network function has for a UE and its gNB.
#[derive(Clone, Debug)]
pub(in crate::amf) struct Transfer {
    /// The session that it is about; none for what is not of the SMF.
    pub(in crate::amf) session: Option<PduSessionId>,
    /// What the message for the UE is.
    pub(in crate::amf) kind: PayloadKind,
    /// What the UE says again with its answer.
    pub(in crate::amf) correlation: Option<String>,
    pub(in crate::amf) n1_message: Option<Bytes>,
    /// What it is (TS 29.502, 6.1.6.3.3), and its octets.
    pub(in crate::amf) n2_info: Option<(String, Bytes)>,
    /// What is to be notified when the UE cannot be reached.
    pub(in crate::amf) failure: Option<Box<FailureNotice>>,
}

/// A transfer that was answered before it was done, and where its failure is notified.
#[derive(Clone, Debug)]
pub(in crate::amf) struct FailureNotice {
    pub(in crate::amf) to: String,
    /// The resource that the transfer is.
    pub(in crate::amf) transfer: String,
}

impl Transfer {
    /// Whether it asks the gNB for a session's resources.
    pub(in crate::amf) fn sets_up(&self) -> bool {
        let kind = self.n2_info.as_ref().map(|(kind, _)| kind.as_str());
        kind == Some("PDU_RES_SETUP_REQ")
    }
}

/// What a gNB is told of a UE (TS 38.413, 9.2.2.1).
pub(in crate::amf) struct GnbContext<'a> {
    pub(in crate::amf) guami: Guami,
    pub(in crate::amf) allowed: &'a [Snssai],
    pub(in crate::amf) capability: &'a UeSecurityCapability,
    pub(in crate::amf) kgnb: Kgnb,
    /// For the UE.
    pub(in crate::amf) nas: Vec<u8>,
    pub(in crate::amf) sessions: Vec<SessionSetup>,
    pub(in crate::amf) ambr: UeAmbr,
}
