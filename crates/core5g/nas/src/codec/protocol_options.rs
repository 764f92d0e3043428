//! Extended protocol configuration options (TS 24.008, 10.5.6.3A).

use oxirush_nas::nas_5gs::{
    NasExtendedProtocolConfigurationOptions as Foreign, Pco, PcoDirection, PcoEntry,
};

use super::unencodable;
use crate::{NasError, OptionsRequest, SessionOptions};

/// DNS server IPv4 address (request).
const DNS_SERVER: u16 = 0x000d;
/// IPv4 link MTU (request).
const LINK_MTU: u16 = 0x0010;
/// The configuration protocol is PPP for use with IP: no other is defined.
const PPP: u8 = 0;

/// What a UE asks for.
pub(super) fn request(element: &Foreign) -> Option<OptionsRequest> {
    let options = element.pco(PcoDirection::Uplink)?;
    Some(OptionsRequest {
        dns_servers: options.entry(DNS_SERVER).is_some(),
        link_mtu: options.entry(LINK_MTU).is_some(),
    })
}

/// What a UE is told.
pub(super) fn answer(element: &Foreign) -> Option<SessionOptions> {
    let options = element.pco(PcoDirection::Downlink)?;
    let servers = options.entries.iter();
    let servers = servers.filter(|entry| entry.identifier == DNS_SERVER);
    let mtu = options.entry(LINK_MTU);
    Some(SessionOptions {
        dns_servers: servers
            .filter_map(|entry| <[u8; 4]>::try_from(&entry.contents[..]).ok())
            .map(Into::into)
            .collect(),
        link_mtu: mtu
            .and_then(|entry| Some(u16::from_be_bytes(entry.contents[..].try_into().ok()?))),
    })
}

pub(super) fn from_request(request: OptionsRequest) -> Result<Foreign, NasError> {
    let asked = [
        (request.dns_servers, DNS_SERVER),
        (request.link_mtu, LINK_MTU),
    ];
    let entries = asked.into_iter().filter(|(is_asked, _)| *is_asked);
    let entries = entries.map(|(_, identifier)| entry(identifier, Vec::new()));
    element(entries.collect(), PcoDirection::Uplink)
}

pub(super) fn from_answer(answer: &SessionOptions) -> Result<Foreign, NasError> {
    let servers = answer.dns_servers.iter();
    let servers = servers.map(|server| entry(DNS_SERVER, server.octets().to_vec()));
    let mtu = answer.link_mtu.into_iter();
    let mtu = mtu.map(|bytes| entry(LINK_MTU, bytes.to_be_bytes().to_vec()));
    element(servers.chain(mtu).collect(), PcoDirection::Downlink)
}

fn entry(identifier: u16, contents: Vec<u8>) -> PcoEntry {
    PcoEntry {
        identifier,
        contents,
    }
}

fn element(entries: Vec<PcoEntry>, direction: PcoDirection) -> Result<Foreign, NasError> {
    Foreign::from_pco(&Pco::new(PPP, entries), direction).map_err(unencodable)
}
