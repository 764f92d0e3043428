//! One instance of a network function, and what may be one.

use super::refusal::{FieldFault, Refusal};
use crate::config::{Metadata, Transport};
use crate::generated::registry as message;
use crate::resources::Digest;
use prost::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The longest name of a service or an instance, octets.
const MAX_NAME_OCTETS: usize = 255;
/// Labels of one instance.
const MAX_LABELS: usize = 64;
/// The longest label, name or value, octets.
const MAX_LABEL_OCTETS: usize = 256;
const MAX_WEIGHT: u32 = 65_535;
const MAX_PRIORITY: u32 = 127;

/// One instance of a network function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// What clients ask for.
    pub service: Arc<str>,
    /// Its name, unique in the registry.
    pub id: Arc<str>,
    /// Where it is.
    pub address: SocketAddr,
    /// How it is spoken to; `None`: as its service says.
    pub transport: Option<Transport>,
    /// Its share relative to others of its locality.
    pub weight: u32,
    /// 0 is used first.
    pub priority: u32,
    /// The region it is in; may be empty.
    pub region: String,
    /// The zone it is in; may be empty.
    pub zone: String,
    /// Its labels.
    pub metadata: Metadata,
    /// How long it stays without a heartbeat; zero: the registry's default.
    pub ttl: Duration,
}

impl Instance {
    /// An instance of weight 1, without labels, with the registry's lease.
    #[must_use]
    pub fn new(service: &str, id: &str, address: SocketAddr) -> Self {
        Self {
            service: service.into(),
            id: id.into(),
            address,
            transport: None,
            weight: 1,
            priority: 0,
            region: String::new(),
            zone: String::new(),
            metadata: Metadata::new(),
            ttl: Duration::ZERO,
        }
    }

    /// The name of a registration of this instance with these properties.
    pub(crate) fn lease(&self) -> String {
        let message = self.message(String::new());
        let digest = Digest::of(&[&message.encode_to_vec()]);
        format!("{}.{digest}", self.id)
    }

    /// Every fault of it.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let mut faults = Vec::new();
        let mut fault = |field: &'static str, reason: String| {
            faults.push(FieldFault { field, reason });
        };
        for (field, name) in [("service", &self.service), ("instance_id", &self.id)] {
            if let Err(reason) = check_name(name) {
                fault(field, reason);
            }
        }
        if self.address.port() == 0 || self.address.ip().is_unspecified() {
            let reason = format!(
                "{} cannot be connected to: give the address clients use",
                self.address
            );
            fault("address", reason);
        }
        if self.weight == 0 || self.weight > MAX_WEIGHT {
            fault(
                "weight",
                format!("{} is not 1 to {MAX_WEIGHT}", self.weight),
            );
        }
        if self.priority > MAX_PRIORITY {
            fault(
                "priority",
                format!("{} is not 0 to {MAX_PRIORITY}", self.priority),
            );
        }
        for (field, name) in [
            ("locality.region", &self.region),
            ("locality.zone", &self.zone),
        ] {
            if name.len() > MAX_NAME_OCTETS {
                fault(field, format!("longer than {MAX_NAME_OCTETS} octets"));
            }
        }
        if self.metadata.len() > MAX_LABELS {
            fault(
                "metadata",
                format!("{} labels; at most {MAX_LABELS}", self.metadata.len()),
            );
        }
        let long = |text: &String| text.len() > MAX_LABEL_OCTETS;
        if self
            .metadata
            .iter()
            .any(|(name, value)| name.is_empty() || long(name) || long(value))
        {
            let reason = format!(
                "a label's name has 1 to {MAX_LABEL_OCTETS} octets, its value at most as many"
            );
            fault("metadata", reason);
        }
        Refusal::of(faults)
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("missing".into());
    }
    let good = name
        .bytes()
        .all(|octet| octet.is_ascii_graphic() && octet != b'|');
    if good && name.len() <= MAX_NAME_OCTETS {
        return Ok(());
    }
    Err(format!(
        "use 1 to {MAX_NAME_OCTETS} visible characters of ASCII, without spaces and |"
    ))
}

impl TryFrom<message::RegisterRequest> for Instance {
    type Error = Refusal;

    fn try_from(request: message::RegisterRequest) -> Result<Self, Refusal> {
        let mut faults = Vec::new();
        let address: Option<SocketAddr> = request.address.parse().ok();
        if address.is_none() {
            let reason = match &*request.address {
                "" => "missing: write \"IP:PORT\"".to_owned(),
                text => format!(
                    "{:?} is no \"IP:PORT\"; names are not looked up",
                    shortened(text)
                ),
            };
            faults.push(FieldFault {
                field: "address",
                reason,
            });
        }
        let transport = match &*request.transport {
            "" => None,
            name => {
                let known = Transport::from_name(name);
                if known.is_none() {
                    faults.push(FieldFault {
                        field: "transport",
                        reason: format!("{:?} is not rest, grpc or native", shortened(name)),
                    });
                }
                known
            }
        };
        let locality = request.locality.unwrap_or_default();
        // Somewhere, when it is not known where: the other faults are told all the same.
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let instance = Self {
            service: request.service.into(),
            id: request.instance_id.into(),
            address: address.unwrap_or(nowhere),
            transport,
            weight: if request.weight == 0 {
                1
            } else {
                request.weight
            },
            priority: request.priority,
            region: locality.region,
            zone: locality.zone,
            metadata: request.metadata,
            ttl: Duration::from_millis(request.ttl_ms),
        };
        if faults.is_empty() {
            return Ok(instance);
        }
        if let Err(Refusal::Invalid(more)) = instance.check() {
            faults.extend(more);
        }
        Err(Refusal::Invalid(faults))
    }
}

impl From<&Instance> for message::Instance {
    fn from(instance: &Instance) -> Self {
        instance.message(instance.lease())
    }
}

impl Instance {
    fn message(&self, lease_id: String) -> message::Instance {
        message::Instance {
            service: self.service.to_string(),
            instance_id: self.id.to_string(),
            address: self.address.to_string(),
            transport: self.transport.map_or("", Transport::name).into(),
            weight: self.weight,
            locality: Some(message::Locality {
                region: self.region.clone(),
                zone: self.zone.clone(),
            }),
            priority: self.priority,
            metadata: self.metadata.clone(),
            ttl_ms: u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
            lease_id,
        }
    }
}

impl TryFrom<message::Instance> for Instance {
    type Error = Refusal;

    fn try_from(stored: message::Instance) -> Result<Self, Refusal> {
        let instance = Self::try_from(message::RegisterRequest {
            service: stored.service,
            instance_id: stored.instance_id,
            address: stored.address,
            transport: stored.transport,
            weight: stored.weight,
            locality: stored.locality,
            priority: stored.priority,
            metadata: stored.metadata,
            ttl_ms: stored.ttl_ms,
        })?;
        instance.check()?;
        Ok(instance)
    }
}

/// The beginning of what a stranger wrote.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(100);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
