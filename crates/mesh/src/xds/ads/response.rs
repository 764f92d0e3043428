//! What a response holds, whichever variant it is of, and the text that refuses it.

use super::stream::Variant;
use crate::config::Fault;
use crate::xds::validate::peek_name;
use bytes::Bytes;
use corewire_xds::envoy::service::discovery::v3::{
    DeltaDiscoveryResponse, DiscoveryResponse, Resource,
};
use corewire_xds::{Any, DecodeError, Message, ResourceType};

/// A response in the form both variants share.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) type_url: String,
    pub(super) nonce: String,
    /// The version of everything, on a stream of states of the world.
    pub(super) version: String,
    pub(super) resources: Vec<Item>,
    /// Names that the server says are gone, on an incremental stream.
    pub(super) removed: Vec<String>,
}

/// One resource of a response.
#[derive(Debug)]
pub(super) struct Item {
    /// Its name outside of the resource itself, if it has one there.
    pub(super) outer_name: Option<String>,
    pub(super) version: String,
    pub(super) type_url: String,
    pub(super) octets: Bytes,
}

impl Response {
    pub(super) fn decode(variant: Variant, octets: Bytes) -> Result<Self, DecodeError> {
        Ok(match variant {
            Variant::StateOfTheWorld => {
                let response = DiscoveryResponse::decode(octets)?;
                let resources = response.resources.into_iter().map(Item::from_any);
                Self {
                    type_url: response.type_url,
                    nonce: response.nonce,
                    version: response.version_info,
                    resources: resources.collect(),
                    removed: Vec::new(),
                }
            }
            Variant::Incremental => {
                let response = DeltaDiscoveryResponse::decode(octets)?;
                let resources = response.resources.into_iter();
                let mut removed = response.removed_resources;
                let names = response.removed_resource_names.into_iter();
                removed.extend(names.map(|it| it.name));
                Self {
                    type_url: response.type_url,
                    nonce: response.nonce,
                    version: String::new(),
                    // A resource without a body only says that it is still there.
                    resources: resources.filter_map(Item::from_resource).collect(),
                    removed,
                }
            }
        })
    }

    pub(super) fn kind(&self) -> Option<ResourceType> {
        ResourceType::from_type_url(&self.type_url)
    }
}

impl Item {
    fn from_any(any: Any) -> Self {
        // Servers wrap resources that have a time to live.
        if any.is::<Resource>()
            && let Ok(resource) = any.unpack::<Resource>()
            && let Some(item) = Self::from_resource(resource)
        {
            return item;
        }
        Self {
            outer_name: None,
            version: String::new(),
            type_url: any.type_url,
            octets: any.value,
        }
    }

    fn from_resource(resource: Resource) -> Option<Self> {
        let name = match resource.resource_name {
            Some(it) if resource.name.is_empty() => it.name,
            _ => resource.name,
        };
        let any = resource.resource?;
        Some(Self {
            outer_name: Some(name).filter(|name| !name.is_empty()),
            version: resource.version,
            type_url: any.type_url,
            octets: any.value,
        })
    }

    /// Its name as far as it can be told without decoding it.
    pub(super) fn quick_name(&self) -> Option<&str> {
        self.outer_name
            .as_deref()
            .or_else(|| peek_name(&self.octets))
    }
}

/// The text that refuses a response: every fault, as long as there is room.
pub(super) fn refusal(faults: &[Fault], resources: usize, most: usize) -> String {
    let mut text = format!("{} of {resources} resources refused", faults.len());
    for (at, fault) in faults.iter().enumerate() {
        let line = format!("\n{fault}");
        if text.len() + line.len() > most {
            text.push_str(&format!("\nand {} more", faults.len() - at));
            break;
        }
        text.push_str(&line);
    }
    // A single fault may be too long by itself.
    if text.len() > most {
        let mut end = most;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
