//! What is known of one PDU session.

use super::super::models::Slice;
use super::n1::DEFAULT_FLOW;
use super::subscription::SessionSubscription;
use crate::ngap::transfer::{GtpTunnel, QosFlow, SessionRate};
use crate::upf::SessionKey;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

/// A PDU session's context, as it is held and stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SmContext {
    pub(super) reference: String,
    pub(super) supi: String,
    pub(super) pdu_session_id: u8,
    pub(super) slice: Slice,
    pub(super) dnn: String,
    /// The UE's.
    pub(super) address: Ipv4Addr,
    pub(super) subscription: SessionSubscription,
    /// Where the gNB sends to, at the UPF.
    pub(super) uplink: Option<Tunnel>,
    /// Where the AMF wants to be told that the session has ended; its beginning is where the AMF is.
    pub(super) status_uri: String,
    pub(super) state: State,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// The UE and the gNB have not answered yet.
    Establishing,
    /// Both ends of N3 are known.
    Active,
    /// The UE is idle: no downlink tunnel.
    Inactive,
    /// The UE was told, and has not answered yet.
    Releasing,
}

/// A tunnel's end as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tunnel {
    address: IpAddr,
    teid: u32,
}

impl From<GtpTunnel> for Tunnel {
    fn from(tunnel: GtpTunnel) -> Self {
        Self {
            address: tunnel.address,
            teid: tunnel.teid,
        }
    }
}

impl From<Tunnel> for GtpTunnel {
    fn from(tunnel: Tunnel) -> Self {
        Self {
            address: tunnel.address,
            teid: tunnel.teid,
        }
    }
}

impl SmContext {
    /// The session's name at the UPF.
    pub(super) fn session_key(&self) -> SessionKey {
        SessionKey::new(&self.reference)
    }

    /// Its one flow.
    pub(super) const fn flow(&self) -> QosFlow {
        QosFlow {
            qfi: DEFAULT_FLOW,
            five_qi: self.subscription.five_qi,
            priority: self.subscription.priority,
        }
    }

    /// Its rates.
    pub(super) const fn rate(&self) -> SessionRate {
        SessionRate {
            downlink: self.subscription.downlink,
            uplink: self.subscription.uplink,
        }
    }

    /// The AMF that serves the UE.
    pub(super) fn amf(&self) -> &str {
        &self.status_uri
    }
}
