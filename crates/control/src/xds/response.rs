//! Responses, put together from resources that are encoded already.

use crate::resources::{Digest, Resource};
use bytes::{BufMut, Bytes, BytesMut};
use corewire_xds::ResourceType;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use std::sync::Arc;

/// Numbers of fields, as in `discovery.proto`.
mod field {
    pub(super) const VERSION_INFO: u32 = 1;
    pub(super) const RESOURCES: u32 = 2;
    pub(super) const TYPE_URL: u32 = 4;
    pub(super) const NONCE: u32 = 5;
    pub(super) const REMOVED_RESOURCES: u32 = 6;
    pub(super) const CONTROL_PLANE: u32 = 6;
    pub(super) const DELTA_CONTROL_PLANE: u32 = 7;
    pub(super) const IDENTIFIER: u32 = 1;
    pub(super) const RESOURCE_VERSION: u32 = 1;
    pub(super) const RESOURCE_RESOURCE: u32 = 2;
    pub(super) const RESOURCE_NAME: u32 = 3;
}

/// Who we are, for the clients' logs.
const IDENTIFIER: &str = concat!("corewire ", env!("CARGO_PKG_VERSION"));

/// A `DiscoveryResponse`.
pub(super) fn sotw(
    kind: ResourceType,
    nonce: &str,
    version: Digest,
    resources: &[Arc<Resource>],
) -> Bytes {
    let octets: usize = resources.iter().map(|r| r.any.len() + 8).sum();
    let mut buffer = BytesMut::with_capacity(octets + 256);
    put(
        &mut buffer,
        field::VERSION_INFO,
        version.to_string().as_bytes(),
    );
    for resource in resources {
        put(&mut buffer, field::RESOURCES, &resource.any);
    }
    put(&mut buffer, field::TYPE_URL, kind.type_url().as_bytes());
    put(&mut buffer, field::NONCE, nonce.as_bytes());
    put_identifier(&mut buffer, field::CONTROL_PLANE);
    buffer.freeze()
}

/// A `DeltaDiscoveryResponse`.
pub(super) fn delta(
    kind: ResourceType,
    nonce: &str,
    version: Digest,
    changed: &[Arc<Resource>],
    removed: &[Arc<str>],
) -> Bytes {
    let octets: usize = changed
        .iter()
        .map(|r| r.any.len() + r.name.len() + 48)
        .sum();
    let mut buffer = BytesMut::with_capacity(octets + 256);
    // The field has another name here, and the same number.
    put(
        &mut buffer,
        field::VERSION_INFO,
        version.to_string().as_bytes(),
    );
    for resource in changed {
        let version = resource.digest.to_string();
        let length = part(field::RESOURCE_VERSION, version.len())
            + part(field::RESOURCE_RESOURCE, resource.any.len())
            + part(field::RESOURCE_NAME, resource.name.len());
        encode_key(field::RESOURCES, WireType::LengthDelimited, &mut buffer);
        encode_varint(length as u64, &mut buffer);
        put(&mut buffer, field::RESOURCE_VERSION, version.as_bytes());
        put(&mut buffer, field::RESOURCE_RESOURCE, &resource.any);
        put(&mut buffer, field::RESOURCE_NAME, resource.name.as_bytes());
    }
    put(&mut buffer, field::TYPE_URL, kind.type_url().as_bytes());
    put(&mut buffer, field::NONCE, nonce.as_bytes());
    for name in removed {
        put(&mut buffer, field::REMOVED_RESOURCES, name.as_bytes());
    }
    put_identifier(&mut buffer, field::DELTA_CONTROL_PLANE);
    buffer.freeze()
}

fn put_identifier(buffer: &mut BytesMut, field: u32) {
    encode_key(field, WireType::LengthDelimited, buffer);
    encode_varint(part(field::IDENTIFIER, IDENTIFIER.len()) as u64, buffer);
    put(buffer, field::IDENTIFIER, IDENTIFIER.as_bytes());
}

fn put(buffer: &mut BytesMut, field: u32, octets: &[u8]) {
    encode_key(field, WireType::LengthDelimited, buffer);
    encode_varint(octets.len() as u64, buffer);
    buffer.put_slice(octets);
}

fn part(field: u32, length: usize) -> usize {
    key_len(field) + encoded_len_varint(length as u64) + length
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_xds::envoy::config::core::v3::Node;
    use corewire_xds::envoy::service::discovery::v3::{DeltaDiscoveryResponse, DiscoveryResponse};
    use prost::Message;

    #[test]
    fn they_are_what_prost_reads() {
        let node = |id: &str| Node {
            id: id.into(),
            ..Node::default()
        };
        let made: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|name| Arc::new(Resource::new(name, &node(name))))
            .collect();
        let version = made[0].digest;
        let octets = sotw(ResourceType::Cluster, "7", version, &made);
        let read = DiscoveryResponse::decode(octets).unwrap();
        assert_eq!(read.version_info, version.to_string());
        assert_eq!((&*read.nonce, read.resources.len()), ("7", 2));
        assert_eq!(read.type_url, ResourceType::Cluster.type_url());
        assert_eq!(read.resources[1].unpack::<Node>().unwrap().id, "b");
        assert_eq!(read.control_plane.unwrap().identifier, IDENTIFIER);

        let octets = delta(ResourceType::Route, "8", version, &made, &["c".into()]);
        let read = DeltaDiscoveryResponse::decode(octets).unwrap();
        assert_eq!((&*read.nonce, read.resources.len()), ("8", 2));
        assert_eq!(read.removed_resources, ["c"]);
        assert_eq!(read.resources[0].name, "a");
        assert_eq!(read.resources[0].version, made[0].digest.to_string());
        let any = read.resources[0].resource.clone().unwrap();
        assert_eq!(any.unpack::<Node>().unwrap().id, "a");
        assert_eq!(read.control_plane.unwrap().identifier, IDENTIFIER);
    }
}
