//! What a request is hashed by, so that requests that belong together meet the same endpoint.

use super::xx_hash;
use corewire_message::Headers;

/// One part of what is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a hash policy has")]
pub struct HashPolicy {
    /// Where the part comes from.
    pub source: HashSource,
    /// Whether the parts behind it are left out when this one is there.
    pub terminal: bool,
}

/// Where a part of the hash comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashSource {
    /// The values of this header, for example the SUPI's.
    Header(Box<str>),
    /// The channel that the request is sent through.
    Channel,
}

/// The hash of a request; `None` when no part of it is there.
///
/// Parts are joined as gRPC and Envoy do (gRFC A42): what there is is rotated by one bit, then the
/// next part's hash is mixed in.
#[must_use]
pub fn hash(policies: &[HashPolicy], headers: &Headers, channel: u64) -> Option<u64> {
    let mut joined: Option<u64> = None;
    for policy in policies {
        let part = match &policy.source {
            HashSource::Header(name) => of_header(headers, name),
            HashSource::Channel => Some(channel),
        };
        if let Some(part) = part {
            joined = Some(joined.unwrap_or(0).rotate_left(1) ^ part);
            if policy.terminal {
                break;
            }
        }
    }
    joined
}

fn of_header(headers: &Headers, name: &str) -> Option<u64> {
    let mut values = headers.iter().filter(|(found, _)| *found == name);
    let (_, first) = values.next()?;
    let Some((_, second)) = values.next() else {
        return Some(xx_hash::hash(first, 0));
    };
    // In any order the same, as Envoy has it.
    let mut all: Vec<&[u8]> = vec![first, second];
    all.extend(values.map(|(_, value)| value));
    all.sort_unstable();
    let hash = |seed, value: &&[u8]| xx_hash::hash(value, seed);
    Some(all.iter().fold(0, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_header(name: &str, terminal: bool) -> HashPolicy {
        HashPolicy {
            source: HashSource::Header(name.into()),
            terminal,
        }
    }

    fn headers(entries: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in entries {
            headers.append(name, value).unwrap();
        }
        headers
    }

    #[test]
    fn the_same_subscriber_has_the_same_hash_and_another_another() {
        let policies = [by_header("supi", false)];
        let of = |supi: &str| hash(&policies, &headers(&[("supi", supi), ("x", "y")]), 0);
        assert_eq!(of("imsi-1"), of("imsi-1"));
        assert_ne!(of("imsi-1"), of("imsi-2"));
        assert_eq!(of("imsi-1"), Some(xx_hash::hash(b"imsi-1", 0)));
        assert_eq!(hash(&policies, &Headers::new(), 0), None);
    }

    #[test]
    fn parts_are_joined_in_order_until_a_terminal_one_that_is_there() {
        let (a, b) = (xx_hash::hash(b"1", 0), xx_hash::hash(b"2", 0));
        let both = headers(&[("a", "1"), ("b", "2")]);
        let joined = |policies: &[HashPolicy], headers: &Headers| hash(policies, headers, 99);
        let policies = [by_header("a", false), by_header("b", false)];
        assert_eq!(joined(&policies, &both), Some(a.rotate_left(1) ^ b));
        let policies = [by_header("a", true), by_header("b", false)];
        assert_eq!(joined(&policies, &both), Some(a));
        assert_eq!(joined(&policies, &headers(&[("b", "2")])), Some(b));
        let channel = HashPolicy {
            source: HashSource::Channel,
            terminal: false,
        };
        assert_eq!(joined(&[channel], &both), Some(99));
    }

    #[test]
    fn the_order_of_several_values_does_not_matter() {
        let policies = [by_header("a", false)];
        let one = hash(&policies, &headers(&[("a", "1"), ("a", "2")]), 0);
        let other = hash(&policies, &headers(&[("a", "2"), ("a", "1")]), 0);
        assert_eq!(one, other);
        assert_ne!(one, hash(&policies, &headers(&[("a", "1")]), 0));
    }
}
