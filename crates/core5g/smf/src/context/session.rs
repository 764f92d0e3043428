//! What is known of one PDU session.

use super::reference::SmContextRef;
use super::subscription::SessionSubscription;
use corewire_core5g_ngap::transfer::{QosFlow, SessionRate};
use corewire_core5g_sbi::model::common::Snssai as Slice;
use corewire_core5g_upf::Tunnel;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The one flow of a session.
pub(crate) const DEFAULT_FLOW: u8 = 1;

/// A PDU session's context, as it is held and stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SmContext {
    pub(crate) reference: SmContextRef,
    pub(crate) supi: String,
    pub(crate) pdu_session_id: u8,
    pub(crate) slice: Slice,
    pub(crate) dnn: String,
    /// The UE's.
    pub(crate) address: Ipv4Addr,
    pub(crate) subscription: SessionSubscription,
    /// Where the gNB sends to, at the UPF.
    pub(crate) uplink: Option<Tunnel>,
    /// Where the AMF wants to be told that the session has ended; its beginning is where the AMF is.
    pub(crate) status_uri: String,
    pub(crate) state: State,
    /// The procedure transaction of its establishment, which a reject needs while that goes on.
    #[serde(skip)]
    pub(crate) pti: u8,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// The UE and the gNB have not answered yet.
    Establishing,
    /// Both ends of N3 are known.
    Active,
    /// The UE is idle: no downlink tunnel.
    Inactive,
    /// The UE has the command, and has not answered yet.
    Releasing,
}

impl SmContext {
    /// Its one flow.
    pub(crate) const fn flow(&self) -> QosFlow {
        QosFlow {
            qfi: DEFAULT_FLOW,
            five_qi: self.subscription.five_qi,
            priority: self.subscription.priority,
        }
    }

    /// Its rates.
    pub(crate) const fn rate(&self) -> SessionRate {
        SessionRate {
            downlink: self.subscription.downlink,
            uplink: self.subscription.uplink,
        }
    }

    /// The AMF that serves the UE.
    pub(crate) fn amf(&self) -> &str {
        &self.status_uri
    }
}
