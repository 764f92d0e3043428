//! Requests, answers and the names of messages in words, for transcripts.

use super::world::{Output, World};
use bytes::Bytes;
use corewire::{Headers, Operation, Request};
use corewire_core5g_sbi::Router;
use serde_json::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Appends a word, if there is one.
pub fn add(text: &mut String, more: String) {
    if !more.is_empty() {
        let _ = write!(text, " {more}");
    }
}

/// `RegistrationRequest` as `REGISTRATION REQUEST`.
pub fn spaced(name: &str) -> String {
    let name = match name {
        "DeregistrationRequestToUe" => "DeregistrationRequest",
        "DeregistrationAcceptToUe" => "DeregistrationAccept",
        "MmStatus" => return "5GMM STATUS".to_owned(),
        "SmStatus" => return "5GSM STATUS".to_owned(),
        "DownlinkNasTransport" => return "DL NAS TRANSPORT".to_owned(),
        other => other,
    };
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            text.push(' ');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

/// Each in a word, with commas between them.
pub fn list<T>(items: &[T], word: impl Fn(&T) -> String) -> String {
    items.iter().map(word).collect::<Vec<_>>().join(",")
}

/// Scheme and authority of a URI.
pub fn root(uri: &str) -> &str {
    let path = uri
        .find("://")
        .and_then(|at| Some(at + 3 + uri[at + 3..].find('/')?));
    &uri[..path.unwrap_or(uri.len())]
}

/// Another network function asks this one by POST; what is answered is an output of the world. `more` says
/// what stands in the body of an answer, by its media type, beside a problem's members.
pub fn ask<S: Send + Sync + 'static, T: Send + 'static>(
    world: &World<T>,
    router: &Arc<Router<S>>,
    path: &str,
    (content_type, body): (&str, Bytes),
    more: impl Fn(&str, &Bytes) -> String + Send + 'static,
) {
    let operation = Operation::parse(path.trim_start_matches('/')).unwrap();
    let mut headers = Headers::new();
    headers.append("content-type", content_type).unwrap();
    let request = Request::new(operation)
        .with_headers(headers)
        .with_body(body);
    let (router, asked) = (Arc::clone(router), world.clone());
    world.spawn(async move {
        let response = router.answer(request).await;
        let own = corewire_transport::mapping::status::http_status(response.status.code());
        let named = response.headers.get_str("corewire-http-status");
        let mut text = named.map_or_else(|| own.to_string(), str::to_owned);
        if let Some(location) = response.headers.get_str("location") {
            text += &format!(" location={location}");
        }
        let content_type = response.headers.get_str("content-type").unwrap_or_default();
        let content_type = content_type.to_owned();
        let body = response.body.into_bytes();
        let document: Value = serde_json::from_slice(&body).unwrap_or_default();
        for member in ["cause", "detail"] {
            if let Some(said) = document[member].as_str() {
                text += &format!(" {said}");
            }
        }
        if let Some(params) = document.get("invalidParams") {
            text += &format!(" {params}");
        }
        add(&mut text, more(&content_type, &body));
        asked.push(Output::Answer(text));
    });
}
