//! The headers of TS 29.500, 5.2.3, with the grammar of its annex B (`TS29500_CustomHeaders.abnf`).
//!
//! Every type here is read with [`std::str::FromStr`] and written with `Display`; what is
//! written is read back as the same. A header that cannot be read counts as absent to its user
//! (TS 29.500, 5.2.3.1): a peer that is newer than we are is no fault.

mod binding;
mod correlation;
mod identity;
mod load;
mod parameters;
mod routing;
#[cfg(test)]
mod tests;

pub use binding::{Binding, BindingLevel, RoutingBinding};
pub use correlation::{CorrelationInfo, CorrelationKind};
pub use identity::{NfPeerInfo, ProducerId, RequestInfo, ResponseInfo, SelectionInfo, TargetNfId};
pub use load::{Lci, Oci, Scope, ScopeKind};
pub use parameters::{Parameters, Value};
pub use routing::{Callback, MaxForwardHops, NrfUri, TargetApiRoot, discovery, put_discovery};

use corewire::Headers;
use std::fmt;
use std::str::FromStr;

/// What follows the question mark of a path.
pub const QUERY: &str = "corewire-query";
/// Where a request is for, when it goes to somebody between (5.2.3.2.4).
pub const TARGET_API_ROOT: &str = "3gpp-sbi-target-apiroot";
/// Whom a request concerns (5.2.3.2.19).
pub const CORRELATION_INFO: &str = "3gpp-sbi-correlation-info";
/// When a message was sent (5.2.3.2.10).
pub const SENDER_TIMESTAMP: &str = "3gpp-sbi-sender-timestamp";
/// That a request is a notification, and which (5.2.3.2.3).
pub const CALLBACK: &str = "3gpp-sbi-callback";
/// Who may take over (5.2.3.2.6).
pub const BINDING: &str = "3gpp-sbi-binding";
/// To whom the request belongs (5.2.3.2.5).
pub const ROUTING_BINDING: &str = "3gpp-sbi-routing-binding";
/// Who answered (5.2.3.2.8).
pub const PRODUCER_ID: &str = "3gpp-sbi-producer-id";
/// Overload control (5.2.3.2.9).
pub const OCI: &str = "3gpp-sbi-oci";
/// Load control (5.2.3.2.10).
pub const LCI: &str = "3gpp-sbi-lci";
/// How many more may pass it on (5.2.3.2.11).
pub const MAX_FORWARD_HOPS: &str = "3gpp-sbi-max-forward-hops";
/// What every discovery header begins with (5.2.3.2.7).
pub const DISCOVERY: &str = "3gpp-sbi-discovery-";

/// The longest header value that is read, octets.
pub const MAX_VALUE: usize = 8192;

/// A header, read; `None` when it is absent or cannot be read.
pub fn read<T: FromStr>(headers: &Headers, name: &str) -> Option<T> {
    headers.get_str(name)?.parse().ok()
}

/// What cannot be read as this header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderFault;

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the header's value does not follow its grammar")
    }
}

impl std::error::Error for HeaderFault {}

/// A `token` of RFC 9110, 5.6.2, or what stands in its place in practice: identities, numbers and
/// percent-encoded JSON. Never empty, never a separator of the lists here.
fn is_token(text: &str) -> bool {
    let plain = |octet: u8| octet.is_ascii_graphic() && !b"\",;=&()\\".contains(&octet);
    !text.is_empty() && text.bytes().all(plain)
}

/// Parts between separators that stand outside of quotes, trimmed.
fn split_outside_quotes(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let end = text.bytes().position(|octet| {
            quoted ^= octet == b'"';
            octet == separator && !quoted
        });
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]).trim())
    })
}

/// A comma-separated list of one header's values.
fn read_list<T: FromStr<Err = HeaderFault>>(text: &str) -> Result<Vec<T>, HeaderFault> {
    if text.len() > MAX_VALUE {
        return Err(HeaderFault);
    }
    split_outside_quotes(text, b',').map(str::parse).collect()
}

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, list: &[T]) -> fmt::Result {
    for (number, one) in list.iter().enumerate() {
        if number > 0 {
            f.write_str(", ")?;
        }
        one.fmt(f)?;
    }
    Ok(())
}
