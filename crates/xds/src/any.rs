//! `google.protobuf.Any`: a message and the name of its type.

use bytes::Bytes;
use prost::{DecodeError, Message, Name};
use std::fmt;

/// Any message, with the name of its type. Its octets share the buffer they were read from.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Any {
    /// The type, as a URL whose part after the last slash is the message's full name.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message's octets.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

impl Any {
    /// This message with the name of its type.
    #[must_use]
    pub fn pack<M: Name>(message: &M) -> Self {
        Self {
            type_url: M::type_url(),
            value: Bytes::from(message.encode_to_vec()),
        }
    }

    /// The message's full name: what stands after the last slash of the URL.
    #[must_use]
    pub fn full_name(&self) -> &str {
        self.type_url
            .rsplit_once('/')
            .map_or(self.type_url.as_str(), |(_, name)| name)
    }

    /// Whether this holds an `M`.
    #[must_use]
    pub fn is<M: Name>(&self) -> bool {
        let name = self.full_name();
        name.strip_prefix(M::PACKAGE)
            .and_then(|rest| rest.strip_prefix('.'))
            == Some(M::NAME)
    }

    /// The message inside.
    ///
    /// # Errors
    /// When it is of another type or its octets cannot be read.
    pub fn unpack<M: Name + Default>(&self) -> Result<M, UnpackFault> {
        if !self.is::<M>() {
            return Err(UnpackFault::Type {
                expected: M::full_name(),
                found: self.full_name().into(),
            });
        }
        M::decode(self.value.clone()).map_err(UnpackFault::Octets)
    }
}

impl Name for Any {
    const PACKAGE: &'static str = "google.protobuf";
    const NAME: &'static str = "Any";

    fn full_name() -> String {
        "google.protobuf.Any".into()
    }

    fn type_url() -> String {
        "type.googleapis.com/google.protobuf.Any".into()
    }
}

/// Why an [`Any`] did not give the message that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpackFault {
    /// It is of another type.
    Type {
        /// The name of the type that was asked for.
        expected: String,
        /// The name of the type it has.
        found: String,
    },
    /// Its octets are not such a message.
    Octets(DecodeError),
}

impl fmt::Display for UnpackFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, found } => write!(f, "is a {found:?}, not a {expected}"),
            Self::Octets(_) => f.write_str("cannot be decoded"),
        }
    }
}

impl std::error::Error for UnpackFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Type { .. } => None,
            Self::Octets(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envoy::config::cluster::v3::Cluster;
    use crate::envoy::config::core::v3::Node;

    #[test]
    fn the_type_is_told_by_its_full_name_whatever_the_url_begins_with() {
        let mut any = Any::pack(&Node {
            id: "a".into(),
            ..Node::default()
        });
        assert_eq!(
            any.type_url,
            "type.googleapis.com/envoy.config.core.v3.Node"
        );
        any.type_url = "example.com/x/envoy.config.core.v3.Node".into();
        assert!(any.is::<Node>());
        assert_eq!(any.unpack::<Node>().unwrap().id, "a");
        any.type_url = "xenvoy.config.core.v3.Node".into();
        assert!(!any.is::<Node>());
    }

    #[test]
    fn another_type_and_broken_octets_are_told_apart() {
        let any = Any::pack(&Node::default());
        assert!(matches!(
            any.unpack::<Cluster>(),
            Err(UnpackFault::Type { .. })
        ));
        let broken = Any {
            type_url: Node::type_url(),
            value: Bytes::from_static(b"\x0a\xff"),
        };
        assert!(matches!(
            broken.unpack::<Node>(),
            Err(UnpackFault::Octets(_))
        ));
    }
}
