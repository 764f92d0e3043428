//! Messages in words, as the specifications name them.

use super::smf::maker;
use crate::context::reference::SmContextRef;
use bytes::Bytes;
use corewire_core5g_nas::{NasMessage, PduAddress, SmCause, SmHeader};
use corewire_core5g_ngap::transfer::{
    ModifyRequestTransfer, ReleaseCommandTransfer, SetupRequestTransfer,
};
use corewire_core5g_runtime::SbiRequest;
use corewire_core5g_sbi::Multipart;
use corewire_core5g_transcripts::words::{add, root, spaced};
use serde_json::Value;
use std::net::SocketAddr;

/// What makes the references that are called `other-1`, and so on.
fn other_maker() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 2], 7000))
}

/// The reference of `context-1`, or `other-1`.
pub(super) fn reference(name: &str) -> String {
    let (kind, number) = name.rsplit_once('-').expect("a context");
    let maker = match kind {
        "context" => maker(),
        "other" => other_maker(),
        // One that cannot be read.
        _ => return name.to_owned(),
    };
    SmContextRef::new(maker, number.parse().unwrap()).to_string()
}

/// A line with names in place of references.
pub(super) fn named(line: &str) -> String {
    let mut line = line.to_owned();
    for (name, maker) in [("context", maker()), ("other", other_maker())] {
        let prefix = SmContextRef::new(maker, 0).prefix();
        while let Some((at, number)) = line.find(&prefix).and_then(|at| {
            let digits = line.get(at + prefix.len()..at + prefix.len() + 16)?;
            Some((at, u64::from_str_radix(digits, 16).ok()?))
        }) {
            let end = at + prefix.len() + 16;
            line.replace_range(at..end, &format!("{name}-{number}"));
        }
    }
    line
}

/// A 5GSM message to a UE.
fn n1(octets: &[u8]) -> String {
    let message = NasMessage::decode(octets).expect("a NAS message");
    let mut text = spaced(message.name());
    let with = |header: &SmHeader, cause: Option<SmCause>| {
        let cause = cause.map_or_else(String::new, |cause| format!(" {cause}"));
        format!(
            " session={} pti={}{cause}",
            header.session.value(),
            header.pti
        )
    };
    text += &match &message {
        NasMessage::PduSessionEstablishmentRequest(m) => with(&m.header, None),
        NasMessage::PduSessionReleaseRequest(m) => with(&m.header, m.cause),
        NasMessage::PduSessionReleaseComplete(m) => with(&m.header, None),
        NasMessage::PduSessionEstablishmentReject(m) => with(&m.header, Some(m.cause)),
        NasMessage::PduSessionModificationReject(m) => with(&m.header, Some(m.cause)),
        NasMessage::PduSessionReleaseReject(m) => with(&m.header, Some(m.cause)),
        NasMessage::PduSessionReleaseCommand(m) => with(&m.header, Some(m.cause)),
        NasMessage::SmStatus(m) => with(&m.header, Some(m.cause)),
        NasMessage::PduSessionModificationCommand(m) => {
            let ambr = m.ambr.map_or_else(String::new, |ambr| {
                format!(" AMBR {}/{} kbps", ambr.downlink_kbps, ambr.uplink_kbps)
            });
            with(&m.header, None) + &ambr
        }
        NasMessage::PduSessionEstablishmentAccept(m) => {
            let Some(PduAddress::Ipv4(address)) = m.address else {
                panic!("{:?} is no IPv4 address", m.address);
            };
            let mut of = with(&m.header, m.cause);
            of += &format!(" {address} {}", m.dnn.as_deref().unwrap_or_default());
            of += &format!(" AMBR {}/{} kbps", m.ambr.downlink_kbps, m.ambr.uplink_kbps);
            if let Some(options) = &m.options {
                of += &format!(" DNS {:?} MTU {:?}", options.dns_servers, options.link_mtu);
            }
            of
        }
        other => panic!("{} is nothing that is said here", other.name()),
    };
    text
}

/// N2 SM information for a gNB.
fn n2(kind: &str, octets: &[u8]) -> String {
    let what = match kind {
        "PDU_RES_SETUP_REQ" => {
            let transfer = SetupRequestTransfer::decode(octets).expect("a set-up");
            let five_qi = transfer.flows[0].five_qi;
            format!("uplink teid={} 5QI={five_qi}", transfer.uplink.teid)
        }
        "PDU_RES_MOD_REQ" => {
            let transfer = ModifyRequestTransfer::decode(octets).expect("a modification");
            format!("5QI={}", transfer.flows[0].five_qi)
        }
        "PDU_RES_REL_CMD" => {
            let transfer = ReleaseCommandTransfer::decode(octets).expect("a release");
            transfer.cause.to_string()
        }
        // What a gNB says, handed on.
        _ => String::new(),
    };
    format!("[{kind} {what}]").replace(" ]", "]")
}

/// The parts of a body, in words; none where it has none.
fn parts(content_type: &str, body: &Bytes) -> String {
    let mut text = String::new();
    let Ok(parts) = Multipart::decode(content_type, body) else {
        return text;
    };
    let document: Value = parts.json().expect("a JSON part");
    let transferred = &document["n2InfoContainer"]["smInfo"]["n2InfoContent"]["ngapIeType"];
    let kinds = [&document["n2SmInfoType"], transferred];
    let kind = kinds.into_iter().find_map(Value::as_str);
    for part in parts.parts() {
        let words = match part.media_type.as_str() {
            "application/vnd.3gpp.5gnas" => n1(&part.content),
            _ => n2(kind.expect("the kind of N2 information"), &part.content),
        };
        add(&mut text, words);
    }
    let failure_uri = document["n1n2FailureTxfNotifURI"].as_str();
    add(
        &mut text,
        failure_uri.map_or_else(String::new, |uri| format!("failure={uri}")),
    );
    text.trim_start().to_owned()
}

/// What the body of an answer says.
pub(super) fn answer(content_type: &str, body: &Bytes) -> String {
    let document: Value = match Multipart::decode(content_type, body) {
        Ok(parts) => parts.json().expect("a JSON part"),
        Err(_) => serde_json::from_slice(body).unwrap_or_default(),
    };
    let mut text = String::new();
    let error = &document["error"];
    for said in [&error["cause"], &error["detail"], &document["upCnxState"]] {
        add(&mut text, said.as_str().unwrap_or_default().to_owned());
    }
    add(&mut text, parts(content_type, body));
    text.trim_start().to_owned()
}

/// A request to another network function.
pub(super) fn request(at: Option<&str>, request: &SbiRequest) -> String {
    let (method, path, content_type, body) = request.parts();
    if let Some(record) = path.strip_prefix("/nudsf-dr/v1/corewire/smf/records") {
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut text = format!("{method} nudsf-dr {}", record.trim_start_matches('/'));
        add(
            &mut text,
            document["state"].as_str().unwrap_or_default().to_owned(),
        );
        if let Some(uplink) = document["uplink"].as_object() {
            add(&mut text, format!("uplink teid={}", uplink["teid"]));
        }
        if let Some(uri) = document["status_uri"].as_str() {
            add(&mut text, format!("amf={}", root(uri)));
        }
        return text;
    }
    let mut text = format!("{method} {}{path}", at.map(root).unwrap_or_default());
    match Multipart::decode(content_type, body) {
        Ok(_) => add(&mut text, parts(content_type, body)),
        Err(_) => add(&mut text, String::from_utf8_lossy(body).into_owned()),
    }
    text
}
