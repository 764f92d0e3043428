//! What our header sections begin with: the same from call to call, put together once.

use super::head;
use corewire_wire::http2::{Field, HeaderPrefix};
use corewire_wire::mapping::method::Method;

/// Requests that are remembered; a power of two.
const PLACES: usize = 8;
/// The longest path and the longest authority that are.
const LONGEST: usize = 1024;
/// Paths in a row that were not remembered, from which they count as never coming again: in compression tables
/// they would only push others out.
const VARIED: u8 = 16;

/// What a request's body is, as far as its fields say always the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    Grpc,
    /// Messages over REST.
    Stream,
    /// A body of which nothing else is said.
    Octets,
    /// None, or what the application's headers say.
    #[default]
    Plain,
}

impl Shape {
    /// The fields behind the path.
    const fn fields(self) -> &'static [Field<'static>] {
        const GRPC: &[Field<'static>] = &[
            Field::fixed("content-type", head::GRPC_MEDIA_TYPE),
            Field::fixed("te", "trailers"),
        ];
        const STREAM: &[Field<'static>] = &[Field::fixed("content-type", head::STREAM_MEDIA_TYPE)];
        const OCTETS: &[Field<'static>] = &[Field::fixed("content-type", head::DEFAULT_MEDIA_TYPE)];
        match self {
            Self::Grpc => GRPC,
            Self::Stream => STREAM,
            Self::Octets => OCTETS,
            Self::Plain => &[],
        }
    }
}

/// The beginnings of the header sections of one connection.
#[derive(Debug)]
pub(super) struct HeaderPrefixCache {
    requests: [Request; PLACES],
    /// Paths in a row that were not remembered.
    varied: u8,
    /// The beginning of a request whose path will not come again: its method, scheme and authority.
    begun: HeaderPrefix,
    /// An answer over gRPC.
    pub(super) grpc: HeaderPrefix,
    /// An answer of status 200.
    pub(super) ok: HeaderPrefix,
}

#[derive(Debug, Default)]
struct Request {
    path: Vec<u8>,
    method: Option<Method>,
    shape: Shape,
    lead: HeaderPrefix,
}

impl HeaderPrefixCache {
    pub(super) fn new() -> Self {
        let ok = Field::fixed(":status", "200");
        Self {
            requests: Default::default(),
            varied: 0,
            begun: HeaderPrefix::new(),
            grpc: lead(&[ok, Field::fixed("content-type", head::GRPC_MEDIA_TYPE)]),
            ok: lead(&[ok]),
        }
    }

    /// What a request begins with, and the fields that follow behind it.
    pub(super) fn request<'l>(
        &'l mut self,
        method: Method,
        authority: &'l [u8],
        path: &'l [u8],
        shape: Shape,
    ) -> (
        &'l mut HeaderPrefix,
        [Option<Field<'l>>; 2],
        &'static [Field<'static>],
    ) {
        let last = path.last().copied().unwrap_or_default();
        let place = (path.len() + usize::from(last)) % PLACES;
        let request = &mut self.requests[place];
        if request.path == path && request.method == Some(method) && request.shape == shape {
            self.varied = 0;
            return (&mut self.requests[place].lead, [None; 2], &[]);
        }
        self.varied = self.varied.saturating_add(1);
        let is_short = path.len().max(authority.len()) <= LONGEST;
        let lead = if self.varied < VARIED && is_short {
            request.path.clear();
            request.path.extend_from_slice(path);
            (request.method, request.shape) = (Some(method), shape);
            &mut request.lead
        } else {
            &mut self.begun
        };
        lead.clear();
        let mut put = |field: Field<'_>| {
            // They are short, or stand behind it.
            let _fits = lead.put(&field);
        };
        put(Field::fixed(":method", method.name()));
        put(Field::fixed(":scheme", "http"));
        let (authority, path) = (
            Field::named(":authority", authority),
            Field::named(":path", path),
        );
        if !is_short {
            return (
                &mut self.begun,
                [Some(authority), Some(path)],
                shape.fields(),
            );
        }
        put(authority);
        if self.varied >= VARIED {
            let path = path.unindexed();
            return (&mut self.begun, [Some(path), None], shape.fields());
        }
        put(path);
        shape.fields().iter().copied().for_each(put);
        (&mut self.requests[place].lead, [None; 2], &[])
    }
}

fn lead(fields: &[Field<'_>]) -> HeaderPrefix {
    let mut lead = HeaderPrefix::new();
    for field in fields {
        let _fits = lead.put(field);
    }
    lead
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields that a request begins with, as its peer reads them.
    fn read(leads: &mut HeaderPrefixCache, path: &str, shape: Shape) -> String {
        let (lead, own, fixed) =
            leads.request(Method::Post, b"smf.example", path.as_bytes(), shape);
        let mut text = String::new();
        let fixed = fixed.iter().copied();
        for field in lead.fields().chain(own.into_iter().flatten()).chain(fixed) {
            let (name, value) = field.parts();
            for part in [name, b"=", value, b";"] {
                text.push_str(std::str::from_utf8(part).unwrap());
            }
        }
        text
    }

    #[test]
    fn all_fields_are_there_however_often_a_path_comes() {
        let mut leads = HeaderPrefixCache::new();
        for round in 0..100 {
            let long = "/".repeat(if round % 7 == 0 { 3000 } else { 30 });
            for path in [long, format!("/varies/{round}"), "/same".to_owned()] {
                for shape in [Shape::Grpc, Shape::Stream, Shape::Octets, Shape::Plain] {
                    let text = read(&mut leads, &path, shape);
                    let own = format!(":path={path};");
                    for part in [
                        ":method=POST;:scheme=http;",
                        ":authority=smf.example;",
                        &own,
                    ] {
                        assert!(text.contains(part), "{path}: {text:?}");
                    }
                    assert_eq!(text.contains("application"), shape != Shape::Plain);
                    assert_eq!(text.contains("trailers"), shape == Shape::Grpc);
                    assert_eq!(text.matches(":path").count(), 1);
                }
            }
        }
    }

    #[test]
    fn paths_that_never_come_again_stay_out_of_the_tables() {
        let mut leads = HeaderPrefixCache::new();
        let mut indexed = 0;
        for round in 0..100 {
            let path = format!("/nudm-sdm/v2/imsi-{round:015}");
            let (_, own, _) = leads.request(Method::Get, b"x", path.as_bytes(), Shape::Plain);
            indexed += usize::from(own[0].is_none());
        }
        assert_eq!(indexed, usize::from(VARIED) - 1);
        for round in 0..2 {
            let (_, own, _) = leads.request(Method::Get, b"x", b"/same", Shape::Plain);
            assert_eq!(own[0].is_none(), round > 1);
        }
    }
}
