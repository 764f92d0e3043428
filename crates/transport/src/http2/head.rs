//! Header sections: which field means what, both ways.
//!
//! Fields with a meaning of their own are read here and not shown to the application; everything
//! else is its headers. What the application may not set is refused, not dropped.

use super::body::Arena;
use super::config::Flavour;
use super::fields::{BinaryValues, FieldList};
use super::varying::Varying;
use corewire_message::{Code, Headers, Priority};
use corewire_wire::grpc;
use corewire_wire::http2::{Field, Fields};
use corewire_wire::mapping::method::{self, METHOD};
use corewire_wire::mapping::{deadline, decimal, priority, status};
use std::time::Duration;

/// The media type of a sequence of messages over REST, framed as gRPC frames them.
pub(super) const STREAM_MEDIA_TYPE: &str = "application/corewire-stream";
/// The media type of a body of which nothing else is said.
pub(super) const DEFAULT_MEDIA_TYPE: &str = "application/octet-stream";
/// The media type of gRPC.
pub(super) const GRPC_MEDIA_TYPE: &str = "application/grpc";
/// Carries the media type of a body over gRPC, where `content-type` means the framing.
pub(super) const CARRIED_CONTENT_TYPE: &str = "corewire-content-type";
/// Marks a message that wants no answer.
pub(super) const EVENT: &str = "corewire-event";
/// The exact code of a REST answer, by number: HTTP has fewer.
pub(super) const STATUS: &str = "corewire-status";
/// The sentence of a REST answer whose body is the application's own.
pub(super) const MESSAGE: &str = "corewire-message";
/// The part of a REST path after the question mark.
pub(super) const QUERY: &str = "corewire-query";
/// The exact HTTP status of an answer, where its code alone would mean another.
pub(super) const HTTP_STATUS: &str = "corewire-http-status";

/// Octets from which a body's length is announced: below, the receiver needs no preparation.
pub(super) const TELL_LENGTH_FROM: usize = 8 << 10;

/// What a body is, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Media {
    /// Nothing is said.
    #[default]
    None,
    /// gRPC's framing.
    Grpc,
    /// A sequence of messages over REST.
    Stream,
    /// A problem document.
    Problem,
    /// The application's business.
    Other,
}

impl Media {
    fn of(value: &[u8]) -> Self {
        let is = |media_type: &str| {
            value
                .strip_prefix(media_type.as_bytes())
                .map(|rest| rest.first())
        };
        if let Some(None | Some(b'+' | b';')) = is(GRPC_MEDIA_TYPE) {
            Self::Grpc
        } else if let Some(None | Some(b';')) = is(STREAM_MEDIA_TYPE) {
            Self::Stream
        } else if let Some(None | Some(b';')) = is(corewire_wire::mapping::problem::MEDIA_TYPE) {
            Self::Problem
        } else {
            Self::Other
        }
    }
}

/// A header section as it came. Not every member means something in every section.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    pub(super) method: &'a [u8],
    pub(super) path: &'a [u8],
    pub(super) http_status: Option<u16>,
    pub(super) media: Media,
    pub(super) timeout: Option<Duration>,
    pub(super) priority: Priority,
    pub(super) is_event: bool,
    /// A compression that is not "none".
    pub(super) is_compressed: bool,
    pub(super) content_length: Option<usize>,
    /// `grpc-status`.
    pub(super) grpc_status: Option<Code>,
    /// `grpc-message`.
    pub(super) grpc_message: Option<String>,
    /// `corewire-status`.
    pub(super) status: Option<Code>,
    /// `corewire-message`.
    pub(super) message: Option<String>,
    pub(super) headers: Headers,
    /// Some field cannot be read.
    pub(super) is_broken: bool,
}

/// The fields that have a meaning here.
enum Known {
    Method,
    Path,
    HttpStatus,
    ContentType,
    CarriedContentType,
    ContentLength,
    GrpcTimeout,
    MaxRspTime,
    Priority,
    Event,
    GrpcEncoding,
    GrpcStatus,
    GrpcMessage,
    Status,
    Message,
    CarriedMethod,
    CarriedQuery,
    CarriedStatus,
    /// One that says nothing that is of use.
    OfTransport,
    Not,
}

impl Known {
    /// By the name's length first: this is done for every field, and no two names are compared in vain.
    #[inline]
    fn of(name: &[u8]) -> Self {
        match name.len() {
            2 if name == b"te" => Self::OfTransport,
            5 if name == b":path" => Self::Path,
            7 if name == b":method" => Self::Method,
            7 if name == b":status" => Self::HttpStatus,
            11 if name == b"grpc-status" => Self::GrpcStatus,
            12 if name == b"content-type" => Self::ContentType,
            12 if name == b"grpc-timeout" => Self::GrpcTimeout,
            12 if name == b"grpc-message" => Self::GrpcMessage,
            13 if name == b"grpc-encoding" => Self::GrpcEncoding,
            14 if name == b"content-length" => Self::ContentLength,
            14 if name == b"corewire-event" => Self::Event,
            14 if name == b"corewire-query" => Self::CarriedQuery,
            15 if name == b"corewire-status" => Self::Status,
            15 if name == b"corewire-method" => Self::CarriedMethod,
            16 if name == b"corewire-message" => Self::Message,
            20 if name == b"corewire-http-status" => Self::CarriedStatus,
            20 if name == b"grpc-accept-encoding" => Self::OfTransport,
            21 if name == b"corewire-content-type" => Self::CarriedContentType,
            21 if name == b"3gpp-sbi-max-rsp-time" => Self::MaxRspTime,
            25 if name == b"3gpp-sbi-message-priority" => Self::Priority,
            _ if name.first() == Some(&b':') => Self::OfTransport,
            _ => Self::Not,
        }
    }
}

/// Reads a header section. The application's headers are gathered in `arena`.
pub(super) fn read<'a>(fields: Fields<'a>, arena: &mut Arena, scratch: &mut Vec<u8>) -> Head<'a> {
    let mut head = Head::default();
    let mut problem_type = None;
    let (mut carried_method, mut carried_query, mut carried_status) = (None, None, None);
    for (name, value) in fields {
        match Known::of(name) {
            Known::Method => head.method = value,
            Known::Path => head.path = value,
            Known::HttpStatus => head.http_status = status::read_http_status(value),
            Known::ContentType => {
                head.media = Media::of(value);
                match head.media {
                    Media::Other if value != DEFAULT_MEDIA_TYPE.as_bytes() => {
                        put(arena, name, value);
                    }
                    Media::Problem => problem_type = Some(value),
                    _ => {}
                }
            }
            Known::CarriedContentType => put(arena, b"content-type", value),
            Known::ContentLength => {
                head.content_length = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
            }
            Known::GrpcTimeout => head.timeout = grpc::read_timeout(value),
            Known::MaxRspTime => head.timeout = deadline::read_max_rsp_time(value),
            Known::Priority => head.priority = priority::read(value),
            Known::Event => head.is_event = value == b"1",
            Known::GrpcEncoding => head.is_compressed = value != b"identity",
            Known::GrpcStatus => {
                head.grpc_status = status::read_code(value).or(Some(Code::Unknown));
            }
            Known::GrpcMessage => head.grpc_message = Some(grpc::read_message(value)),
            Known::Status => head.status = status::read_code(value),
            Known::Message => head.message = Some(grpc::read_message(value)),
            Known::CarriedMethod => carried_method = Some(value),
            Known::CarriedQuery => carried_query = Some(value),
            Known::CarriedStatus => carried_status = Some(value),
            Known::OfTransport => {}
            Known::Not if grpc::is_binary(name) => {
                // One field may hold several values (PROTOCOL-HTTP2.md, Custom-Metadata).
                for value in value.split(|octet| *octet == b',') {
                    scratch.clear();
                    if grpc::read_binary(value.trim_ascii(), scratch) {
                        put(arena, name, scratch);
                    } else {
                        head.is_broken = true;
                    }
                }
            }
            Known::Not => put(arena, name, value),
        }
    }
    if let Some(value) = problem_type
        && !head.is_generated_problem()
    {
        put(arena, b"content-type", value);
    }
    // Trailers say no media type; only gRPC's say how the call ended in its words.
    let is_grpc_end = head.grpc_status.is_some() && head.http_status.is_none();
    if head.media == Media::Grpc || is_grpc_end && head.method.is_empty() {
        let carried = [
            (METHOD, carried_method),
            (QUERY, carried_query),
            (HTTP_STATUS, carried_status),
        ];
        for (name, value) in carried {
            if let Some(value) = value {
                put(arena, name.as_bytes(), value);
            }
        }
    } else {
        // REST says these three in HTTP's own words: fields of their names mean nothing.
        if !matches!(head.method, b"" | b"POST") {
            put(arena, METHOD.as_bytes(), head.method);
        }
        if let Some(at) = head.path.iter().position(|octet| *octet == b'?') {
            put(arena, QUERY.as_bytes(), &head.path[at + 1..]);
            head.path = &head.path[..at];
        }
        if let Some(http_status) = head.http_status
            && is_telling(http_status, &head)
        {
            put(
                arena,
                HTTP_STATUS.as_bytes(),
                decimal::write(u64::from(http_status)).as_bytes(),
            );
        }
    }
    // Names were checked by the HTTP/2 session; those too long never got here.
    match Headers::from_block(arena.take()) {
        Ok(headers) => head.headers = headers,
        Err(_) => head.is_broken = true,
    }
    head
}

impl Head<'_> {
    /// Whether the body is a document that the other Corewire end wrote for people with simpler
    /// tools, and only says again what the header fields say.
    pub(super) fn is_generated_problem(&self) -> bool {
        self.media == Media::Problem && self.status.is_some() && self.message.is_none()
    }
}

/// Whether an answer's HTTP status says more than its code does.
fn is_telling(http_status: u16, head: &Head<'_>) -> bool {
    // An event's 204, and the interim answers, are the transport's own business.
    let code = head
        .status
        .unwrap_or_else(|| status::code_of_http_status(http_status));
    http_status >= 200 && http_status != status::http_status(code)
}

/// Appends one entry of a [`Headers`] block.
fn put(block: &mut Arena, name: &[u8], value: &[u8]) {
    let Ok(name_len) = u8::try_from(name.len()) else {
        return;
    };
    // A header section is far shorter than 2^24 octets (`Config::max_header_list`).
    let [v0, v1, v2, ..] = value.len().to_le_bytes();
    block.put(&[name_len, v0, v1, v2]);
    block.put(name);
    block.put(value);
}

/// Why these headers cannot be sent.
pub(super) fn unsendable(headers: &Headers, max_octets: u32) -> Option<String> {
    let mut size = 0;
    for (name, value) in headers.entries() {
        size += name.len() + value.len() * 4 / 3 + 36;
        if is_reserved(name) {
            let name = String::from_utf8_lossy(name);
            return Some(format!("the header {name} is the transport's own"));
        }
        if name == METHOD.as_bytes() && method::Method::read(value).is_none() {
            return Some(format!("{METHOD} is one of {}", method::ALLOWED));
        }
        // It becomes part of `:path`, where a peer takes such an octet for a fault of the whole
        // connection (RFC 3986, 3.4).
        if name == QUERY.as_bytes() && !value.iter().all(|octet| is_of_a_query(*octet)) {
            return Some(format!("{QUERY} holds visible ASCII octets and no #"));
        }
        if !is_field_value(value) && !grpc::is_binary(name) {
            let name = String::from_utf8_lossy(name);
            return Some(format!(
                "the value of {name} is no HTTP field value; names that end in -bin carry any octets"
            ));
        }
    }
    (size > max_octets as usize).then(|| format!("the headers are longer than {max_octets} octets"))
}

const fn is_of_a_query(octet: u8) -> bool {
    octet.is_ascii_graphic() && octet != b'#'
}

fn is_reserved(name: &[u8]) -> bool {
    matches!(
        name,
        b"grpc-timeout"
            | b"grpc-encoding"
            | b"grpc-accept-encoding"
            | b"grpc-status"
            | b"grpc-message"
            | b"connection"
            | b"keep-alive"
            | b"proxy-connection"
            | b"transfer-encoding"
            | b"upgrade"
            | b"te"
            | b"host"
            | b"content-length"
            | b"corewire-event"
            | b"corewire-status"
            | b"corewire-message"
            | b"corewire-content-type"
            | b"3gpp-sbi-max-rsp-time"
            | b"3gpp-sbi-message-priority"
    )
}

/// RFC 9113, 8.2.1 and RFC 9110, 5.5: no control characters, no space at either end.
fn is_field_value(value: &[u8]) -> bool {
    let blank = |octet: Option<&u8>| matches!(octet, Some(b' ' | b'\t'));
    // No early end: the compiler makes vector instructions of it, and nearly all values pass.
    let control =
        |control, octet: &u8| control | (*octet < b' ' && *octet != b'\t') | (*octet == 0x7f);
    !blank(value.first()) && !blank(value.last()) && !value.iter().fold(false, control)
}

/// Adds the application's headers; with `skip_type` without their `content-type`, where the body's
/// is fixed.
pub(super) fn push_headers<'a>(
    list: &mut FieldList<'a>,
    headers: &'a Headers,
    binary: &'a BinaryValues,
    varying: &mut Varying,
    flavour: Flavour,
    skip_type: bool,
) {
    let mut binary = binary.iter();
    for (name, value) in headers.entries() {
        if grpc::is_binary(name) {
            if let Some(value) = binary.next() {
                list.push(varying.mark(Field::new(name, value)));
            }
            continue;
        }
        match (name, flavour) {
            (b"content-type", Flavour::Grpc) => {
                list.push(varying.mark(Field::named(CARRIED_CONTENT_TYPE, value)));
            }
            (b"content-type", Flavour::Rest) if skip_type => {}
            (b"corewire-query" | b"corewire-method" | b"corewire-http-status", Flavour::Rest) => {}
            // A token is a secret: not for compression tables.
            (b"authorization", _) => {
                list.push(Field::named("authorization", value).secret());
            }
            _ => list.push(varying.mark(Field::new(name, value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_looked_for_at_its_length() {
        for name in [
            "te",
            ":path",
            ":method",
            ":status",
            ":scheme",
            "grpc-status",
            "content-type",
            "grpc-timeout",
            "grpc-message",
            "grpc-encoding",
            "content-length",
            "grpc-accept-encoding",
            EVENT,
            QUERY,
            STATUS,
            METHOD,
            MESSAGE,
            HTTP_STATUS,
            CARRIED_CONTENT_TYPE,
            deadline::MAX_RSP_TIME,
            priority::MESSAGE_PRIORITY,
        ] {
            assert!(!matches!(Known::of(name.as_bytes()), Known::Not), "{name}");
            let other = format!("x{}", &name[1..]);
            assert!(matches!(Known::of(other.as_bytes()), Known::Not), "{name}");
        }
    }

    #[test]
    fn names_in_patterns_are_those_of_the_constants() {
        for name in [
            EVENT,
            STATUS,
            MESSAGE,
            CARRIED_CONTENT_TYPE,
            deadline::MAX_RSP_TIME,
            priority::MESSAGE_PRIORITY,
        ] {
            assert!(is_reserved(name.as_bytes()), "{name}");
        }
        let mut headers = Headers::new();
        for name in [QUERY, METHOD, HTTP_STATUS] {
            assert!(!is_reserved(name.as_bytes()), "{name}");
            headers.append(name, "x").unwrap();
        }
        let (mut list, mut varying) = (FieldList::new(), Varying::default());
        let binary = BinaryValues::default();
        push_headers(
            &mut list,
            &headers,
            &binary,
            &mut varying,
            Flavour::Rest,
            false,
        );
        assert!(list.as_slice().is_empty());
    }
}
