//! One request as a handler sees it.

use super::header;
use super::json::read_json;
use super::media;
use super::multipart::Multipart;
use super::problem::Problem;
use super::query::Query;
use crate::holder::Holder;
use bytes::Bytes;
use corewire::{Headers, Peer, Request};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;

/// A request and where it was sent to.
#[derive(Debug)]
pub struct Exchange {
    /// The path, as it came, with a slash in front.
    path: String,
    /// What the braces of the template stand for here, decoded.
    params: Vec<(&'static str, String)>,
    headers: Headers,
    body: Bytes,
    /// Of who asks, where he has shown one.
    certificate: Option<Bytes>,
    is_from_loopback: bool,
}

impl Exchange {
    pub(super) fn new(path: String, params: Vec<(&'static str, String)>, request: Request) -> Self {
        Self {
            path,
            params,
            headers: request.headers,
            body: request.body.into_bytes(),
            certificate: None,
            is_from_loopback: false,
        }
    }

    pub(super) fn of(mut self, peer: Option<&Peer>) -> Self {
        self.certificate = peer.and_then(|peer| peer.certificate.clone());
        self.is_from_loopback = peer.is_some_and(is_loopback);
        self
    }

    /// Who asks, as his certificate has it; whoever, where he has shown none.
    pub fn holder(&self) -> Holder {
        let certificate = self.certificate.as_deref();
        certificate.map(Holder::of).unwrap_or_default()
    }

    /// Whether the caller is on this host.
    pub const fn is_from_loopback(&self) -> bool {
        self.is_from_loopback
    }

    /// The path, with a slash in front.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What stands in place of `{name}` of the template; empty if it has none.
    pub fn param(&self, name: &str) -> &str {
        self.params
            .iter()
            .find(|(found, _)| *found == name)
            .map_or("", |(_, value)| value)
    }

    /// The query, decoded.
    ///
    /// # Errors
    /// 400, when it cannot be read.
    pub fn query(&self) -> Result<Query<'_>, Problem> {
        Query::parse(self.headers.get_str(header::QUERY).unwrap_or_default())
    }

    /// The headers.
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The body as it came.
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body's media type; empty when nothing is said.
    pub fn media_type(&self) -> &str {
        self.headers.get_str("content-type").unwrap_or_default()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// 415 for another type, 413 for a long body, 400 when it is not what the operation takes.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.json_of(media::JSON)
    }

    /// The body as JSON of this media type.
    ///
    /// # Errors
    /// As [`Exchange::json`].
    pub fn json_of<T: DeserializeOwned>(&self, media_type: &'static str) -> Result<T, Problem> {
        let found = self.media_type();
        // curl's own default says nothing of what is inside; a missing type neither.
        let says_nothing = found.is_empty() || media::is(found, media::FORM);
        if !(says_nothing || media::is(found, media_type)) {
            return Err(Problem::unsupported_media_type(found, media_type));
        }
        read_json(&self.body)
    }

    /// The JSON part and the parts it refers to; a body that is JSON alone has none.
    ///
    /// # Errors
    /// As [`Exchange::json`], and 400 for parts that cannot be told apart.
    pub fn multipart(&self) -> Result<Multipart, Problem> {
        if !media::is(self.media_type(), media::MULTIPART_RELATED) {
            return Ok(Multipart::of_json(self.body.clone()));
        }
        Multipart::decode(self.media_type(), &self.body)
            .map_err(|fault| Problem::new(400, "INVALID_MSG_FORMAT").detail(fault.to_string()))
    }
}

/// Whether a peer is on this host by its address; one without an IP address is not taken for that.
#[must_use]
pub fn is_loopback(peer: &Peer) -> bool {
    let address = peer.address.parse::<SocketAddr>();
    address.is_ok_and(|address| address.ip().to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_read_from_the_address_of_the_peer() {
        let is = |address: &str| is_loopback(&Peer::new(address, "http2"));
        assert!(
            is("127.0.0.1:40112")
                && is("127.9.8.7:1")
                && is("[::1]:1")
                && is("[::ffff:127.0.0.1]:1")
        );
        assert!(!is("10.0.0.1:1") && !is("[2001:db8::1]:1") && !is("unix") && !is(""));
    }
}
