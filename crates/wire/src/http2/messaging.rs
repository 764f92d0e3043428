//! What HTTP asks of the messages on a stream (RFC 9113, 8.1 to 8.3): which fields there must be, which
//! must not, and that bodies are as long as was said. What breaks these rules is *malformed*: a stream
//! error.

use super::event::Fields;

/// The message breaks HTTP's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// What is known of the message that comes on a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    /// The header section is here, interim ones not counted.
    pub(super) has_head: bool,
    /// Octets that the message said to follow and that are missing.
    missing: Option<u64>,
    /// Client: how it was asked.
    pub(super) asked: Asked,
}

/// The request methods that change what an answer's body is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Asked {
    #[default]
    Other,
    Head,
    Connect,
}

impl Asked {
    pub(super) fn of(method: &[u8]) -> Self {
        match method {
            b"HEAD" => Self::Head,
            b"CONNECT" => Self::Connect,
            _ => Self::Other,
        }
    }
}

impl Body {
    /// Octets came.
    pub(super) fn data(&mut self, octets: usize) -> Result<(), Malformed> {
        // RFC 9113, 8.1: the header section comes first.
        if !self.has_head {
            return Err(Malformed);
        }
        // RFC 9113, 8.1.1: no more than was said.
        if let Some(missing) = &mut self.missing {
            *missing = missing.checked_sub(octets as u64).ok_or(Malformed)?;
        }
        Ok(())
    }

    /// The peer's side ends: RFC 9113, 8.1 (after the header section of a final response) and 8.1.1 (no
    /// sooner than was said).
    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.has_head && matches!(self.missing, None | Some(0)) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// The header section of a request came; `whole`: no field of it is missing.
    pub(super) fn request(&mut self, fields: Fields<'_>, whole: bool) -> Result<(), Malformed> {
        let mut request = Request::default();
        for (name, value) in fields {
            request.field(name, value)?;
        }
        if whole {
            request.check()?;
        }
        self.has_head = true;
        self.missing = match request.asked {
            Asked::Connect => None,
            Asked::Head | Asked::Other => request.regular.length,
        };
        Ok(())
    }

    /// A header section of a response came, an interim one or the last.
    pub(super) fn response(&mut self, fields: Fields<'_>) -> Result<(), Malformed> {
        let mut status = None;
        let mut regular = Regular::default();
        for (name, value) in fields {
            if name == b":status" {
                // RFC 9113, 8.3: once, and in front of all others.
                if status.is_some() || regular.begun {
                    return Err(Malformed);
                }
                status = Some(status_code(value)?);
            } else {
                regular.field(name, value)?;
            }
        }
        // RFC 9113, 8.3.2.
        let status = status.ok_or(Malformed)?;
        if status < 200 {
            // RFC 9113, 8.6 and RFC 9110, 8.6: no upgrades, no content.
            if status == 101 || regular.length.is_some() {
                return Err(Malformed);
            }
            return Ok(());
        }
        self.has_head = true;
        self.missing = match (status, self.asked) {
            // RFC 9113, 8.5: a tunnel.
            (200..300, Asked::Connect) => None,
            // Whatever they say of its length, there is no content (RFC 9110, 6.4.1).
            (204 | 304, _) | (_, Asked::Head) => Some(0),
            _ => regular.length,
        };
        Ok(())
    }
}

/// The trailers of a message came: no pseudo-header fields (RFC 9113, 8.1 and 8.3).
pub(super) fn check_trailers(fields: Fields<'_>) -> Result<(), Malformed> {
    let mut regular = Regular::default();
    for (name, value) in fields {
        regular.field(name, value)?;
    }
    Ok(())
}

/// A request's header section as it is read.
#[derive(Default)]
struct Request<'a> {
    has_method: bool,
    scheme: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    has_authority: bool,
    has_host: bool,
    is_options: bool,
    asked: Asked,
    regular: Regular,
}

impl<'a> Request<'a> {
    fn field(&mut self, name: &'a [u8], value: &'a [u8]) -> Result<(), Malformed> {
        if name.first() != Some(&b':') {
            if name == b"host" {
                let again = std::mem::replace(&mut self.has_host, true);
                ensure(!again && all(value, AUTHORITY))?;
                self.regular.begun = true;
                return Ok(());
            }
            return self.regular.field(name, value);
        }
        // RFC 9113, 8.3: pseudo-header fields stand in front of all others, and each once.
        ensure(!self.regular.begun)?;
        // RFC 9113, 8.3.1.
        match name {
            b":method" => {
                let is_common = matches!(value, b"POST" | b"GET" | b"PUT");
                let is_one = is_common || !value.is_empty() && all(value, TOKEN);
                ensure(!self.has_method && is_one)?;
                self.has_method = true;
                self.asked = Asked::of(value);
                self.is_options = value == b"OPTIONS";
            }
            b":scheme" => {
                let is_common = matches!(value, b"http" | b"https");
                let is_one = is_common || !value.is_empty() && all(value, SCHEME);
                ensure(self.scheme.is_none() && is_one)?;
                self.scheme = Some(value);
            }
            b":path" => {
                ensure(self.path.is_none() && !value.is_empty() && is_visible(value))?;
                self.path = Some(value);
            }
            b":authority" => {
                ensure(!self.has_authority && all(value, AUTHORITY))?;
                self.has_authority = true;
            }
            // RFC 9113, 8.3: undefined, or a response's.
            _ => return Err(Malformed),
        }
        Ok(())
    }

    /// RFC 9113, 8.3.1 and 8.5.
    fn check(&self) -> Result<(), Malformed> {
        ensure(self.has_method)?;
        if self.asked == Asked::Connect {
            return ensure(self.scheme.is_none() && self.path.is_none() && self.has_authority);
        }
        let (Some(scheme), Some(path)) = (self.scheme, self.path) else {
            return Err(Malformed);
        };
        ensure(self.has_authority || self.has_host)?;
        let is_http = scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https");
        ensure(!is_http || path[0] == b'/' || self.is_options && path == b"*")
    }
}

/// The fields that are no pseudo-header fields.
#[derive(Default)]
struct Regular {
    /// There was one: no pseudo-header field may follow.
    begun: bool,
    length: Option<u64>,
}

impl Regular {
    #[inline]
    fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        self.begun = true;
        // By their lengths first: nothing is compared in vain.
        match name.len() {
            // RFC 9113, 8.2.2.
            2 if name == b"te" => return ensure(value.eq_ignore_ascii_case(b"trailers")),
            11 if name == b"grpc-status" => return ensure(is_value(value)),
            12 if name == b"content-type" || name == b"grpc-timeout" => {
                return ensure(is_value(value));
            }
            // RFC 9110, 8.6.
            14 if name == b"content-length" => {
                ensure(self.length.is_none())?;
                self.length = Some(decimal(value).ok_or(Malformed)?);
                return Ok(());
            }
            7 | 10 | 16 | 17 if is_of_connection(name) => return Err(Malformed),
            _ => {}
        }
        // RFC 9113, 8.2 and 8.2.1: in lower case, and without a colon.
        ensure(!name.is_empty() && all(name, NAME) && is_value(value))
    }
}

/// RFC 9113, 8.2.2: fields about a connection of HTTP/1.1.
fn is_of_connection(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade"
    )
}

/// RFC 9113, 8.1.1.
const fn ensure(holds: bool) -> Result<(), Malformed> {
    if holds { Ok(()) } else { Err(Malformed) }
}

/// RFC 9110, 15: three digits.
fn status_code(value: &[u8]) -> Result<u16, Malformed> {
    match value {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            let digit = |octet: &u8| u16::from(octet - b'0');
            Ok(digit(a) * 100 + digit(b) * 10 + digit(c))
        }
        _ => Err(Malformed),
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, octet| {
        let digit = octet.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// RFC 9113, 8.2.1 and RFC 9110, 5.5: no control characters, no space at either end.
fn is_value(value: &[u8]) -> bool {
    let blank = |octet: Option<&u8>| matches!(octet, Some(b' ' | b'\t'));
    if blank(value.first()) || blank(value.last()) {
        return false;
    }
    if none_below(value, b' ') {
        return true;
    }
    // Nearly no value has one, but it may have a tab.
    let is_control = |octet: &u8| *octet < b' ' && *octet != b'\t' || *octet == 0x7f;
    !value.iter().any(is_control)
}

/// Octets that a path may have (RFC 3986, and whatever is not ASCII).
fn is_visible(value: &[u8]) -> bool {
    none_below(value, b'!')
}

/// Whether all octets are `least` and more, and none is DEL. Eight at a time.
#[inline]
fn none_below(value: &[u8], least: u8) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let least = u64::from(least) * ONES;
    // The high bit of an octet that is below, or DEL, and maybe of one that comes behind such a one.
    let bad = |eight: u64| {
        let below = eight.wrapping_sub(least) & !eight;
        let del = eight ^ (0x7f * ONES);
        (below | del.wrapping_sub(ONES) & !del) & HIGH
    };
    let (eights, rest) = value.as_chunks::<8>();
    let sum = eights
        .iter()
        .fold(0, |sum, eight| sum | bad(u64::from_le_bytes(*eight)));
    // The last eight again, or the few in front of as many that are good.
    let last = match (value.last_chunk::<8>(), rest) {
        (_, []) => return sum == 0,
        (Some(last), _) => u64::from_le_bytes(*last),
        (None, few) => few.iter().fold(u64::from(b'x') * ONES, |last, octet| {
            last << 8 | u64::from(*octet)
        }),
    };
    (sum | bad(last)) == 0
}

/// What an octet may be part of.
const TOKEN: u8 = 1;
/// A token in lower case: a field's name.
const NAME: u8 = 2;
const SCHEME: u8 = 4;
const AUTHORITY: u8 = 8;

/// Whether all octets are of a class.
#[inline]
fn all(octets: &[u8], class: u8) -> bool {
    octets.iter().fold(class, |classes, octet| {
        classes & CLASSES[usize::from(*octet)]
    }) != 0
}

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        classes[octet] = classes_of(octet as u8);
        octet += 1;
    }
    classes
};

const fn classes_of(octet: u8) -> u8 {
    let mut classes = 0;
    let alphanumeric = octet.is_ascii_alphanumeric();
    // RFC 9110, 5.6.2.
    let token = alphanumeric
        || matches!(
            octet,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        );
    if token {
        classes |= TOKEN;
        if !octet.is_ascii_uppercase() {
            classes |= NAME;
        }
    }
    // RFC 3986, 3.1.
    if alphanumeric || matches!(octet, b'+' | b'-' | b'.') {
        classes |= SCHEME;
    }
    // RFC 3986, 3.2 without the deprecated user information (RFC 9113, 8.3.1).
    if alphanumeric
        || matches!(
            octet,
            b'!' | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b'-'
                | b'.'
                | b':'
                | b';'
                | b'='
                | b'['
                | b']'
                | b'_'
                | b'~'
        )
    {
        classes |= AUTHORITY;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        for (name, value) in fields {
            block.push(name.len() as u8);
            block.extend(&(value.len() as u32).to_le_bytes()[..3]);
            block.extend(name.as_bytes());
            block.extend(value.as_bytes());
        }
        block
    }

    const POST: [(&str, &str); 4] = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x:80"),
        (":path", "/a?b"),
    ];

    fn request(fields: &[(&str, &str)]) -> Result<Body, Malformed> {
        let mut body = Body::default();
        body.request(Fields(&flat(fields)), true).map(|()| body)
    }

    fn post(more: &[(&str, &str)]) -> Result<Body, Malformed> {
        request(&[&POST[..], more].concat())
    }

    fn response(asked: Asked, fields: &[(&str, &str)]) -> Result<Body, Malformed> {
        let mut body = Body {
            asked,
            ..Body::default()
        };
        body.response(Fields(&flat(fields))).map(|()| body)
    }

    #[test]
    fn requests_have_the_fields_they_must_have_once_and_first() {
        assert!(post(&[]).is_ok());
        for missing in 0..POST.len() {
            let mut fields = POST.to_vec();
            fields.remove(missing);
            assert_eq!(request(&fields), Err(Malformed), "{missing}");
        }
        for twice in POST {
            assert_eq!(post(&[twice]), Err(Malformed));
            assert_eq!(post(&[("x", "y"), twice]), Err(Malformed));
        }
        assert_eq!(post(&[(":status", "200")]), Err(Malformed));
        assert_eq!(post(&[(":protocol", "websocket")]), Err(Malformed));
        assert_eq!(post(&[(":other", "x")]), Err(Malformed));
        // `host` stands for `:authority`.
        let host = [POST[0], POST[1], POST[3], ("host", "x")];
        assert!(request(&host).is_ok());
        assert_eq!(
            request(&[&host[..], &[("host", "y")]].concat()),
            Err(Malformed)
        );
        let late = [POST[0], POST[1], ("host", "x"), POST[3]];
        assert_eq!(request(&late), Err(Malformed));
    }

    #[test]
    fn of_a_section_that_is_not_whole_nothing_is_missed() {
        let mut body = Body::default();
        assert!(body.request(Fields(&flat(&POST[..1])), false).is_ok());
        assert!(body.request(Fields(&flat(&[("X", "")])), false).is_err());
    }

    #[test]
    fn paths_methods_and_authorities_are_what_they_must_be() {
        let with = |place: usize, value| {
            let mut fields = POST;
            fields[place].1 = value;
            request(&fields)
        };
        for (place, value) in [
            (0, ""),
            (0, "PO ST"),
            (1, ""),
            (1, "ht/tp"),
            (2, "user@x"),
            (2, "x/y"),
            (3, ""),
            (3, "*"),
            (3, "a/b"),
            (3, "/a b"),
            (3, "/a\n"),
        ] {
            assert_eq!(with(place, value), Err(Malformed), "{value:?}");
        }
        assert!(with(0, "OPTIONS").is_ok());
        let mut options = POST;
        (options[0].1, options[3].1) = ("OPTIONS", "*");
        assert!(request(&options).is_ok());
        assert!(with(2, "[::1]:80").is_ok());
        assert!(with(1, "coap+x").is_ok());
        let connect = [(":method", "CONNECT"), (":authority", "x:1")];
        assert!(request(&connect).is_ok());
        assert_eq!(request(&connect[..1]), Err(Malformed));
        assert_eq!(
            request(&[&connect[..], &[POST[3]]].concat()),
            Err(Malformed)
        );
    }

    #[test]
    fn names_and_values_are_those_of_http2() {
        for field in [
            ("Upper", "x"),
            ("", "x"),
            ("a b", "x"),
            ("a:b", "x"),
            ("a\u{e9}", "x"),
            ("x", " a"),
            ("x", "a\t"),
            ("x", "a\rb"),
            ("x", "a\0"),
            ("x", "a\x7f"),
            ("connection", "close"),
            ("keep-alive", "x"),
            ("proxy-connection", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "x"),
            ("te", "gzip"),
            ("content-length", ""),
            ("content-length", "-1"),
            ("content-length", "1x"),
            ("content-length", "1:"),
            ("content-length", "18446744073709551616"),
        ] {
            assert_eq!(post(&[field]), Err(Malformed), "{field:?}");
        }
        for field in [
            ("x", ""),
            ("x", "a\tb \u{e9}"),
            ("te", "Trailers"),
            ("a!#~", "x"),
        ] {
            assert!(post(&[field]).is_ok(), "{field:?}");
        }
        let twice = [("content-length", "1"), ("content-length", "1")];
        assert_eq!(post(&twice), Err(Malformed));
        assert_eq!(check_trailers(Fields(&flat(&[POST[0]]))), Err(Malformed));
        assert!(check_trailers(Fields(&flat(&[("grpc-status", "0")]))).is_ok());
    }

    /// Some fields are known by their lengths first.
    #[test]
    fn fields_as_long_as_those_with_rules_of_their_own_are_like_all_others() {
        for length in 1..20 {
            let (lower, upper) = ("x".repeat(length), "X".repeat(length));
            assert!(post(&[(&lower, "gzip, 1 x"), (&lower, "")]).is_ok());
            assert_eq!(post(&[(&upper, "x")]), Err(Malformed), "{length}");
            assert_eq!(post(&[(&lower, "a\n")]), Err(Malformed), "{length}");
        }
        for name in ["te", "grpc-status", "content-type", "grpc-timeout"] {
            assert_eq!(post(&[(name, "a\n")]), Err(Malformed), "{name}");
        }
    }

    #[test]
    fn what_was_asked_decides_whether_an_answer_has_a_body() {
        assert_eq!(Asked::of(b"HEAD"), Asked::Head);
        assert_eq!(Asked::of(b"CONNECT"), Asked::Connect);
        for other in [&b"GET"[..], b"POST", b"head", b""] {
            assert_eq!(Asked::of(other), Asked::Other);
        }
    }

    #[test]
    fn every_octet_is_looked_at_wherever_it_stands() {
        for length in 1..40 {
            for place in 0..length {
                for octet in 0..=255 {
                    let mut text = vec![b'v'; length];
                    text[place] = octet;
                    let at_end = place == 0 || place == length - 1;
                    let value = (octet >= b' ' || octet == b'\t')
                        && octet != 0x7f
                        && !(at_end && matches!(octet, b' ' | b'\t'));
                    assert_eq!(is_value(&text), value, "{text:?}");
                    let visible = octet > b' ' && octet != 0x7f;
                    assert_eq!(is_visible(&text), visible, "{text:?}");
                }
            }
        }
        assert!(is_value(b"") && is_value("\u{e9}\u{ff}".as_bytes()));
    }

    #[test]
    fn bodies_are_as_long_as_was_said() {
        let mut body = post(&[("content-length", "5")]).unwrap();
        assert_eq!(body.end(), Err(Malformed));
        assert!(body.data(2).is_ok());
        assert_eq!(body.end(), Err(Malformed));
        let mut more = body;
        assert_eq!(more.data(4), Err(Malformed));
        assert!(body.data(3).is_ok() && body.end().is_ok());
        let mut body = post(&[]).unwrap();
        assert!(body.data(1 << 20).is_ok() && body.end().is_ok());
        let mut none = Body::default();
        assert_eq!((none.data(0), none.end()), (Err(Malformed), Err(Malformed)));
    }

    #[test]
    fn a_status_is_a_number_of_three_digits() {
        for status in [100, 204, 418, 999] {
            assert_eq!(status_code(status.to_string().as_bytes()), Ok(status));
        }
        for text in ["", "20", "2000", "020", "2 0", "20x"] {
            assert_eq!(status_code(text.as_bytes()), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn responses_have_a_status_and_a_body_where_there_is_one() {
        let status = |text| [(":status", text)];
        for text in ["", "20", "2000", "x00", "099", "101"] {
            assert_eq!(response(Asked::Other, &status(text)), Err(Malformed));
        }
        assert_eq!(response(Asked::Other, &[("x", "y")]), Err(Malformed));
        let late = [("x", "y"), (":status", "200")];
        assert_eq!(response(Asked::Other, &late), Err(Malformed));
        let interim = response(Asked::Other, &status("103")).unwrap();
        assert!(!interim.has_head);
        assert_eq!(interim.end(), Err(Malformed));
        let length = [(":status", "200"), ("content-length", "9")];
        let mut body = response(Asked::Other, &length).unwrap();
        assert!(body.end().is_err() && body.data(9).is_ok() && body.end().is_ok());
        let mut body = response(Asked::Head, &length).unwrap();
        assert!(body.end().is_ok() && body.data(1).is_err());
        let mut body = response(Asked::Connect, &length).unwrap();
        assert!(body.data(1).is_ok() && body.end().is_ok());
        let length = [(":status", "304"), ("content-length", "9")];
        assert!(response(Asked::Other, &length).unwrap().end().is_ok());
    }
}
