//! `multipart/related` (RFC 2387; TS 29.500, 5.4; TS 29.502, 6.1.2.4): a JSON part and the binary
//! parts it names by their `Content-Id`.

use super::json::read_json;
use super::media;
use super::problem::Problem;
use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Parts of one body that are read, the JSON among them.
const MAX_PARTS: usize = 16;
/// Octets of the header of one part.
const MAX_PART_HEADER: usize = 4096;
/// RFC 2046, 5.1.1.
const MAX_BOUNDARY: usize = 70;

/// A JSON part and what it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multipart {
    json: Bytes,
    parts: Vec<Part>,
}

/// One binary part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What the JSON part calls it.
    pub id: String,
    /// Its media type.
    pub media_type: String,
    /// Its content.
    pub content: Bytes,
}

/// What is wrong with a body of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipartFault {
    /// The content type names no boundary, or one that cannot be.
    Boundary,
    /// The body does not begin with the boundary, or does not end with the last one.
    Frame,
    /// A part's header is too long, or no header.
    PartHeader,
    /// There are too many parts.
    TooManyParts,
    /// No part is JSON.
    NoJson,
}

impl fmt::Display for MultipartFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boundary => "the content type names no boundary",
            Self::Frame => "the body is not framed by its boundary",
            Self::PartHeader => "a part's header cannot be read",
            Self::TooManyParts => "there are more than 16 parts",
            Self::NoJson => "no part is JSON",
        })
    }
}

impl std::error::Error for MultipartFault {}

impl Multipart {
    /// A JSON part alone, so far.
    pub fn new(json: &impl Serialize) -> Self {
        // Our models hold nothing that JSON cannot.
        Self::of_json(serde_json::to_vec(json).unwrap_or_default().into())
    }

    /// A JSON part alone, as it came.
    pub(super) const fn of_json(json: Bytes) -> Self {
        Self {
            json,
            parts: Vec::new(),
        }
    }

    /// With a binary part.
    #[must_use]
    pub fn with(mut self, id: &str, media_type: &str, content: impl Into<Bytes>) -> Self {
        self.parts.push(Part {
            id: id.to_owned(),
            media_type: media_type.to_owned(),
            content: content.into(),
        });
        self
    }

    /// The JSON part.
    ///
    /// # Errors
    /// 400, when it is not what the operation takes.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        read_json(&self.json)
    }

    /// The part that the JSON calls so.
    pub fn part(&self, id: &str) -> Option<&Bytes> {
        self.parts
            .iter()
            .find(|part| part.id == id)
            .map(|part| &part.content)
    }

    /// The binary parts in their order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The content type and the body. Without binary parts it is JSON alone.
    pub fn encode(&self) -> (String, Bytes) {
        if self.parts.is_empty() {
            return (media::JSON.to_owned(), self.json.clone());
        }
        let boundary = self.boundary();
        let content: usize = self.parts.iter().map(|part| part.content.len()).sum();
        let mut body =
            BytesMut::with_capacity(self.json.len() + content + 200 * (1 + self.parts.len()));
        let mut put = |media_type: &str, id: Option<&str>, content: &[u8]| {
            body.extend_from_slice(b"--");
            body.extend_from_slice(boundary.as_bytes());
            body.extend_from_slice(b"\r\nContent-Type: ");
            body.extend_from_slice(media_type.as_bytes());
            if let Some(id) = id {
                body.extend_from_slice(b"\r\nContent-Id: ");
                body.extend_from_slice(id.as_bytes());
            }
            body.extend_from_slice(b"\r\n\r\n");
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        };
        put(media::JSON, None, &self.json);
        for part in &self.parts {
            put(&part.media_type, Some(&part.id), &part.content);
        }
        body.extend_from_slice(b"--");
        body.extend_from_slice(boundary.as_bytes());
        body.extend_from_slice(b"--\r\n");
        let content_type = format!("{}; boundary={boundary}", media::MULTIPART_RELATED);
        (content_type, body.freeze())
    }

    /// A boundary that stands in no part: the first of a row that does not.
    fn boundary(&self) -> String {
        let stands_in = |boundary: &str, content: &[u8]| {
            memchr::memmem::find(content, boundary.as_bytes()).is_some()
        };
        let mut number = 0_u64;
        loop {
            let boundary = format!("corewire-{number}");
            let taken = stands_in(&boundary, &self.json)
                || self
                    .parts
                    .iter()
                    .any(|part| stands_in(&boundary, &part.content));
            if !taken {
                return boundary;
            }
            number += 1;
        }
    }

    /// Reads a body with this content type. Contents are slices of `body`.
    ///
    /// # Errors
    /// What is wrong with it; nothing of it is to be used.
    pub fn decode(content_type: &str, body: &Bytes) -> Result<Self, MultipartFault> {
        let boundary = media::parameter(content_type, "boundary")
            .filter(|boundary| !boundary.is_empty() && boundary.len() <= MAX_BOUNDARY)
            .ok_or(MultipartFault::Boundary)?;
        let delimiter = format!("\r\n--{boundary}");
        let finder = memchr::memmem::Finder::new(&delimiter);
        // What stands before the first boundary means nothing (RFC 2046, 5.1.1).
        let mut at = if body.starts_with(&delimiter.as_bytes()[2..]) {
            delimiter.len() - 2
        } else {
            finder.find(body).ok_or(MultipartFault::Frame)? + delimiter.len()
        };
        let mut json = None;
        let mut parts = Vec::new();
        loop {
            if body[at..].starts_with(b"--") {
                break;
            }
            if parts.len() + usize::from(json.is_some()) == MAX_PARTS {
                return Err(MultipartFault::TooManyParts);
            }
            // Blanks may follow a boundary.
            let blanks = body[at..]
                .iter()
                .take_while(|octet| matches!(octet, b' ' | b'\t'))
                .count();
            at += blanks;
            if !body[at..].starts_with(b"\r\n") {
                return Err(MultipartFault::Frame);
            }
            let end = at + finder.find(&body[at..]).ok_or(MultipartFault::Frame)?;
            // A part without a header and content has but one line break.
            let part = body.slice((at + 2).min(end)..end);
            at = end + delimiter.len();
            let (header, content) = split_part(&part)?;
            let media_type = field(header, "content-type")?.unwrap_or_default();
            if json.is_none() && media::is(media_type, media::JSON) {
                json = Some(content);
                continue;
            }
            let id = field(header, "content-id")?.unwrap_or_default();
            parts.push(Part {
                // Some write it as in mail: <id>.
                id: id.trim_start_matches('<').trim_end_matches('>').to_owned(),
                media_type: media_type.to_owned(),
                content,
            });
        }
        let json = json.ok_or(MultipartFault::NoJson)?;
        Ok(Self { json, parts })
    }
}

/// The header of a part as text, and its content.
fn split_part(part: &Bytes) -> Result<(&str, Bytes), MultipartFault> {
    let head = &part[..part.len().min(MAX_PART_HEADER + 4)];
    let (length, begin) = if head.starts_with(b"\r\n") {
        (0, 2)
    } else {
        let length = memchr::memmem::find(head, b"\r\n\r\n").ok_or(MultipartFault::PartHeader)?;
        (length, length + 4)
    };
    let header = std::str::from_utf8(&part[..length]).map_err(|_| MultipartFault::PartHeader)?;
    Ok((header, part.slice(begin..)))
}

fn field<'a>(header: &'a str, name: &str) -> Result<Option<&'a str>, MultipartFault> {
    for line in header.split("\r\n").filter(|line| !line.is_empty()) {
        let (found, value) = line.split_once(':').ok_or(MultipartFault::PartHeader)?;
        if found.trim().eq_ignore_ascii_case(name) {
            return Ok(Some(value.trim()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_go_both_ways(
            json in "[a-z\\-0-9]{0,30}",
            contents in proptest::collection::vec(
                proptest::collection::vec(any::<u8>(), 0..60), 0..5),
        ) {
            let mut sent = Multipart::new(&json);
            for (number, content) in contents.into_iter().enumerate() {
                sent = sent.with(&format!("id-{number}"), "application/vnd.3gpp.5gnas", content);
            }
            let (content_type, body) = sent.encode();
            if sent.parts.is_empty() {
                prop_assert_eq!(content_type, "application/json");
            } else {
                prop_assert_eq!(Multipart::decode(&content_type, &body), Ok(sent));
            }
        }
    }

    #[test]
    fn a_content_that_holds_the_boundary_gets_another() {
        let sent = Multipart::new(&"x").with(
            "n1",
            "application/vnd.3gpp.5gnas",
            &b"\r\n--corewire-0--\r\n"[..],
        );
        let (content_type, body) = sent.encode();
        assert!(content_type.ends_with("corewire-1"));
        assert_eq!(Multipart::decode(&content_type, &body), Ok(sent));
    }

    /// As Open5GS writes it.
    #[test]
    fn others_are_read() {
        let body = Bytes::from_static(
            b"--=-YWJj\r\nContent-Type: application/json\r\n\r\n{\"n1SmMsg\":{\"contentId\":\"5gnas-sm\"}}\r\n\
              --=-YWJj\r\nContent-Id: 5gnas-sm\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\x2e\x01\r\n\r\n\r\n--=-YWJj--\r\n",
        );
        let read = Multipart::decode("multipart/related; boundary=\"=-YWJj\"", &body).unwrap();
        assert_eq!(read.part("5gnas-sm").unwrap(), &b"\x2e\x01\r\n\r\n"[..]);
        let json: serde_json::Value = read.json().unwrap();
        assert_eq!(json["n1SmMsg"]["contentId"], "5gnas-sm");
    }

    #[test]
    fn what_is_not_framed_is_refused() {
        let part = "--b\r\nContent-Type: application/json\r\n\r\n1";
        let many = "--b\r\nContent-Id: 1\r\n\r\n\r\n".repeat(MAX_PARTS + 2) + "--b--";
        let long = format!(
            "--b\r\nA: {}\r\n\r\n\r\n--b--",
            "x".repeat(MAX_PART_HEADER + 1)
        );
        for (content_type, body, fault) in [
            ("multipart/related", "--b--", MultipartFault::Boundary),
            (
                "multipart/related; boundary=",
                "--b--",
                MultipartFault::Boundary,
            ),
            ("multipart/related; boundary=b", "", MultipartFault::Frame),
            ("multipart/related; boundary=b", part, MultipartFault::Frame),
            (
                "multipart/related; boundary=b",
                "--bx\r\n\r\n\r\n--b--",
                MultipartFault::Frame,
            ),
            (
                "multipart/related; boundary=b",
                "--b\r\n--b--",
                MultipartFault::PartHeader,
            ),
            (
                "multipart/related; boundary=b",
                "--b\r\nx\r\n\r\n\r\n--b--",
                MultipartFault::PartHeader,
            ),
            (
                "multipart/related; boundary=b",
                "--b\r\n\r\nx\r\n--b--",
                MultipartFault::NoJson,
            ),
            (
                "multipart/related; boundary=b",
                &many,
                MultipartFault::TooManyParts,
            ),
            (
                "multipart/related; boundary=b",
                &long,
                MultipartFault::PartHeader,
            ),
        ] {
            let body = Bytes::copy_from_slice(body.as_bytes());
            assert_eq!(
                Multipart::decode(content_type, &body),
                Err(fault),
                "{body:?}"
            );
        }
    }
}
