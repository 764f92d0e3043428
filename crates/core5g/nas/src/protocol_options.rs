//! Extended protocol configuration options (TS 24.008, 10.5.6.3A): what a UE asks of a session beside its
//! address, and what it is told. Others are skipped.

use std::net::Ipv4Addr;

/// What a UE asks for in PDU SESSION ESTABLISHMENT REQUEST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionsRequest {
    /// The IPv4 addresses of DNS servers (container 000DH).
    pub dns_servers: bool,
    /// The longest IPv4 packet that the session carries (container 0010H).
    pub link_mtu: bool,
}

/// What a UE is told in PDU SESSION ESTABLISHMENT ACCEPT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// DNS servers, the first one first.
    pub dns_servers: Vec<Ipv4Addr>,
    /// The longest IPv4 packet that the session carries, bytes.
    pub link_mtu: Option<u16>,
}

impl SessionOptions {
    /// Of these what was asked for; `None` when nothing is left.
    #[must_use]
    pub fn asked_for(&self, request: OptionsRequest) -> Option<Self> {
        let dns_servers = if request.dns_servers {
            self.dns_servers.clone()
        } else {
            Vec::new()
        };
        let link_mtu = self.link_mtu.filter(|_| request.link_mtu);
        let is_something = !dns_servers.is_empty() || link_mtu.is_some();
        is_something.then_some(Self {
            dns_servers,
            link_mtu,
        })
    }
}
