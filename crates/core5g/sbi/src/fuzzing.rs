//! What the fuzz targets run: every decoder of this module that reads a stranger's octets.

use super::header;
use super::multipart::Multipart;
use super::patch;
use super::place::pointer_at;
use super::query::Query;
use crate::token::KeySet;
use bytes::Bytes;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A body of parts: what is read can be written and is read as the same.
pub fn multipart(data: &[u8]) {
    let (first, body) = data.split_at(data.len().min(1));
    let boundary = match first {
        [octet] if octet % 2 == 0 => "b",
        _ => "corewire-0",
    };
    let content_type = format!("multipart/related; boundary={boundary}");
    let Ok(read) = Multipart::decode(&content_type, &Bytes::copy_from_slice(body)) else {
        return;
    };
    let writable = |text: &str| !text.contains(['\r', '\n']) && text == text.trim();
    let parts = read.parts();
    if parts.is_empty()
        || !parts
            .iter()
            .all(|part| writable(&part.id) && writable(&part.media_type))
    {
        return;
    }
    let (content_type, body) = read.encode();
    assert_eq!(Multipart::decode(&content_type, &body), Ok(read));
}

/// Every header: what is read is written in a form that is read as the same.
pub fn headers(data: &[u8]) {
    let Some((which, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    match which % 14 {
        0 => same::<header::TargetApiRoot>(text),
        1 => same::<header::RoutingBinding>(text),
        2 => same::<header::Binding>(text),
        3 => same::<header::CorrelationInfo>(text),
        4 => same::<header::ProducerId>(text),
        5 => same::<header::TargetNfId>(text),
        6 => same::<header::Oci>(text),
        7 => same::<header::Lci>(text),
        8 => same::<header::NrfUri>(text),
        9 => same::<header::Callback>(text),
        10 => same::<header::MaxForwardHops>(text),
        11 => same::<header::RequestInfo>(text),
        12 => same::<super::HttpDate>(text),
        _ => drop(Query::parse(text)),
    }
}

fn same<T: FromStr + Display + PartialEq + Debug>(text: &str)
where
    T::Err: Debug + PartialEq,
{
    if let Ok(read) = text.parse::<T>() {
        assert_eq!(read.to_string().parse(), Ok(read), "{text:?}");
    }
}

/// Patches: a document and its changes, one a line. A refused list of operations changes nothing.
pub fn patches(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (document, change) = text.split_once('\n').unwrap_or((text, "null"));
    let Ok(document) = serde_json::from_str::<serde_json::Value>(document) else {
        return;
    };
    if let Ok(items) = serde_json::from_str::<Vec<patch::PatchItem>>(change) {
        let mut changed = document.clone();
        if patch::apply(&mut changed, &items).is_err() {
            assert_eq!(changed, document);
        }
    } else if let Ok(merge) = serde_json::from_str(change) {
        let mut changed = document;
        drop(patch::merge(&mut changed, merge));
    }
}

/// Tokens: a set of keys and a token, one a line. Where JSON cannot be read, the place is told.
///
/// # Panics
/// When a token that was spoilt is taken.
pub fn tokens(data: &[u8]) {
    let (keys, token) = match data.iter().position(|octet| *octet == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &data[..0]),
    };
    if let Err(error) = serde_json::from_slice::<Vec<patch::PatchItem>>(keys) {
        drop(pointer_at(keys, error.line(), error.column()));
    }
    let (Some(keys), Ok(token)) = (KeySet::read(keys), std::str::from_utf8(token)) else {
        return;
    };
    if let Ok(claims) = keys.verify(token) {
        assert_eq!(keys.verify(token), Ok(claims), "it is what it was");
        let spoilt = token.replacen('.', "..", 1);
        assert!(keys.verify(&spoilt).is_err(), "{spoilt}");
    }
}
