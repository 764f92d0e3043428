//! What a request is hashed by, so that requests that belong together meet the same endpoint.

use super::header::with_field;
use super::{RequestHead, xx_hash};
use crate::config::{HashPolicy, HashSource};
use regex::Regex;

/// What requests are hashed by, ready to use.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Box<[Part]>);

#[derive(Clone, Debug)]
struct Part {
    source: Source,
    terminal: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Header {
        name: Box<str>,
        rewrite: Option<(Regex, Box<str>)>,
    },
    Channel,
}

impl Hasher {
    /// A hasher by these policies, in this order.
    #[must_use]
    pub fn new(policies: &[HashPolicy]) -> Self {
        Self(policies.iter().filter_map(Part::new).collect())
    }

    /// Whether no request has a hash.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hash of a request; `None` when no part of it is there.
    ///
    /// Parts are joined as gRPC and Envoy do (gRFC A42): what there is is rotated by one bit, then
    /// the next part's hash is mixed in.
    #[must_use]
    pub fn hash(&self, request: &RequestHead<'_>, channel: u64) -> Option<u64> {
        let mut joined: Option<u64> = None;
        for part in &self.0 {
            let hash = match &part.source {
                Source::Header { name, rewrite } => of_header(request, name, rewrite.as_ref()),
                Source::Channel => Some(channel),
            };
            if let Some(hash) = hash {
                joined = Some(joined.unwrap_or(0).rotate_left(1) ^ hash);
                if part.terminal {
                    break;
                }
            }
        }
        joined
    }
}

impl Part {
    fn new(policy: &HashPolicy) -> Option<Self> {
        let source = match &policy.source {
            HashSource::Header { name, rewrite } => Source::Header {
                name: (&**name).into(),
                rewrite: rewrite.as_ref().and_then(|(pattern, replacement)| {
                    // Matches of a part are replaced, where a condition wants the whole. It has
                    // been compiled once, so it compiles again.
                    let pattern = Regex::new(pattern.as_str()).ok()?;
                    Some((pattern, of_re2(replacement)))
                }),
            },
            HashSource::Channel => Source::Channel,
        };
        Some(Self {
            source,
            terminal: policy.terminal,
        })
    }
}

/// A replacement in the words of RE2 (`\1`) in those of our expressions (`${1}`).
fn of_re2(replacement: &str) -> Box<str> {
    let mut text = String::with_capacity(replacement.len() + 8);
    let mut letters = replacement.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '$' => text.push_str("$$"),
            '\\' => match letters.next() {
                Some(digit @ '0'..='9') => {
                    text.push_str("${");
                    text.push(digit);
                    text.push('}');
                }
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text.into()
}

fn of_header(
    request: &RequestHead<'_>,
    name: &str,
    rewrite: Option<&(Regex, Box<str>)>,
) -> Option<u64> {
    if name.starts_with(':') {
        return with_field(request, name, |value| {
            value.map(|value| hash_of(value, rewrite, 0))
        });
    }
    let mut values = request.headers.iter().filter(|(found, _)| *found == name);
    let (_, first) = values.next()?;
    let Some((_, second)) = values.next() else {
        return Some(hash_of(first, rewrite, 0));
    };
    // In any order the same, as Envoy has it.
    let mut all: Vec<&[u8]> = vec![first, second];
    all.extend(values.map(|(_, value)| value));
    all.sort_unstable();
    let hash = |seed, value: &&[u8]| hash_of(value, rewrite, seed);
    Some(all.iter().fold(0, hash))
}

fn hash_of(value: &[u8], rewrite: Option<&(Regex, Box<str>)>, seed: u64) -> u64 {
    if let Some((pattern, replacement)) = rewrite
        && let Ok(text) = std::str::from_utf8(value)
    {
        let rewritten = pattern.replace_all(text, &**replacement);
        return xx_hash::hash(rewritten.as_bytes(), seed);
    }
    xx_hash::hash(value, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_message::{Headers, Operation};

    fn by_header(name: &str, terminal: bool) -> HashPolicy {
        HashPolicy {
            source: HashSource::Header {
                name: name.into(),
                rewrite: None,
            },
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

    fn hash(policies: &[HashPolicy], entries: &[(&str, &str)]) -> Option<u64> {
        let request = RequestHead {
            operation: &Operation::from_static("nsmf/create"),
            headers: &headers(entries),
            authority: "smf",
        };
        Hasher::new(policies).hash(&request, 99)
    }

    #[test]
    fn the_same_subscriber_has_the_same_hash_and_another_another() {
        let of = |supi: &str| hash(&[by_header("supi", false)], &[("supi", supi), ("x", "y")]);
        assert_eq!(of("imsi-1"), of("imsi-1"));
        assert_ne!(of("imsi-1"), of("imsi-2"));
        assert_eq!(of("imsi-1"), Some(xx_hash::hash(b"imsi-1", 0)));
        assert_eq!(hash(&[by_header("supi", false)], &[]), None);
        assert!(!Hasher::new(&[by_header("supi", false)]).is_empty());
        assert!(Hasher::new(&[]).is_empty());
    }

    #[test]
    fn parts_are_joined_in_order_until_a_terminal_one_that_is_there() {
        let (a, b) = (xx_hash::hash(b"1", 0), xx_hash::hash(b"2", 0));
        let both = [("a", "1"), ("b", "2")];
        let parts = [by_header("a", false), by_header("b", false)];
        assert_eq!(hash(&parts, &both), Some(a.rotate_left(1) ^ b));
        let parts = [by_header("a", true), by_header("b", false)];
        assert_eq!(hash(&parts, &both), Some(a));
        assert_eq!(hash(&parts, &both[1..]), Some(b));
        let channel = HashPolicy {
            source: HashSource::Channel,
            terminal: false,
        };
        assert_eq!(hash(&[channel], &both), Some(99));
    }

    #[test]
    fn the_path_can_be_hashed() {
        let of = hash(&[by_header(":path", false)], &[]);
        assert_eq!(of, Some(xx_hash::hash(b"/nsmf/create", 0)));
    }

    #[test]
    fn the_order_of_several_values_does_not_matter() {
        let policies = [by_header("a", false)];
        let one = hash(&policies, &[("a", "1"), ("a", "2")]);
        assert_eq!(one, hash(&policies, &[("a", "2"), ("a", "1")]));
        assert_ne!(one, hash(&policies, &[("a", "1")]));
    }

    #[test]
    fn a_value_can_be_rewritten_before() {
        let rewrite = |pattern: &str, replacement: &str| HashPolicy {
            source: HashSource::Header {
                name: "path".into(),
                rewrite: Some((
                    crate::config::Regex::new(pattern).unwrap(),
                    replacement.into(),
                )),
            },
            terminal: false,
        };
        let contexts = |number| [("path", number)];
        let policies = [rewrite("/sm-contexts/([0-9]+)/.*", r"\1")];
        let one = hash(&policies, &contexts("x/sm-contexts/17/modify"));
        assert_eq!(one, Some(xx_hash::hash(b"x17", 0)));
        assert_eq!(one, hash(&policies, &contexts("x/sm-contexts/17/release")));
        assert_eq!(&*of_re2(r"a\1$\\b"), r"a${1}$$\b");
    }
}
