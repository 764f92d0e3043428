//! The documents by which an SMF asks this UPF for sessions.

use corewire_core5g_ngap::transfer::GtpTunnel;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The service by which sessions are made at our UPF.
pub const SERVICE: &str = "corewire-upf";

/// A tunnel's end as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnel {
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

/// A session that is there.
#[derive(Debug, Serialize, Deserialize)]
pub struct Established {
    /// What the gNB sends to.
    pub uplink: Tunnel,
}

/// Where downlink goes from now on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Modification {
    /// The gNB's end; `None`: nowhere.
    pub downlink: Option<Tunnel>,
}
