//! What is known of one PDU session.

use super::models::Slice;
use super::reference::SmContextRef;
use super::subscription::SessionSubscription;
use crate::ngap::transfer::{GtpTunnel, QosFlow, SessionRate};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

/// The one flow of a session.
pub(in crate::smf) const DEFAULT_FLOW: u8 = 1;

/// A PDU session's context, as it is held and stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::smf) struct SmContext {
    pub(in crate::smf) reference: SmContextRef,
    pub(in crate::smf) supi: String,
    pub(in crate::smf) pdu_session_id: u8,
    pub(in crate::smf) slice: Slice,
    pub(in crate::smf) dnn: String,
    /// The UE's.
    pub(in crate::smf) address: Ipv4Addr,
    pub(in crate::smf) subscription: SessionSubscription,
    /// Where the gNB sends to, at the UPF.
    pub(in crate::smf) uplink: Option<Tunnel>,
    /// Where the AMF wants to be told that the session has ended; its beginning is where the AMF is.
    pub(in crate::smf) status_uri: String,
    pub(in crate::smf) state: State,
    /// The procedure transaction of its establishment, which a reject needs while that goes on.
    #[serde(skip)]
    pub(in crate::smf) pti: u8,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::smf) enum State {
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
pub(in crate::smf) struct Tunnel {
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
    /// Its one flow.
    pub(in crate::smf) const fn flow(&self) -> QosFlow {
        QosFlow {
            qfi: DEFAULT_FLOW,
            five_qi: self.subscription.five_qi,
            priority: self.subscription.priority,
        }
    }

    /// Its rates.
    pub(in crate::smf) const fn rate(&self) -> SessionRate {
        SessionRate {
            downlink: self.subscription.downlink,
            uplink: self.subscription.uplink,
        }
    }

    /// The AMF that serves the UE.
    pub(in crate::smf) fn amf(&self) -> &str {
        &self.status_uri
    }
}
