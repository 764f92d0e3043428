//! What an NF says of itself at the NRF (TS 29.510, 6.1.6.2.2).

use crate::token::service_of;
use serde_json::{Map, Value, json};

/// What an NF offers and needs.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    nf_type: &'static str,
    services: Vec<Offer>,
    consumes: Vec<&'static str>,
    under: Vec<(&'static str, &'static str)>,
    document: Map<String, Value>,
}

/// A service that is offered.
#[derive(Clone, Copy, Debug)]
struct Offer {
    name: &'static str,
    version: &'static str,
    /// The types of NF that may have tokens for it, and find it; none: all of them.
    for_types: &'static [&'static str],
}

impl Profile {
    /// Of an NF of this type, written as in TS 29.510 (`AMF`).
    pub(crate) fn new(nf_type: &'static str) -> Self {
        Self {
            nf_type,
            services: Vec::new(),
            consumes: Vec::new(),
            under: Vec::new(),
            document: Map::new(),
        }
    }

    /// It offers this service in this version (`v1`) to NFs of these types, to all where none is named
    /// (`allowedNfTypes`, TS 29.510, 6.1.6.2.3): those that call it here, or its callbacks.
    pub(crate) fn service(
        mut self,
        name: &'static str,
        version: &'static str,
        for_types: &'static [&'static str],
    ) -> Self {
        self.services.push(Offer {
            name,
            version,
            for_types,
        });
        self
    }

    /// It calls this service of others.
    pub(crate) fn consumes(mut self, name: &'static str) -> Self {
        self.consumes.push(name);
        self
    }

    /// It offers, or calls, `service` under the paths of another, `name`: a gateway passes on what it
    /// is asked as it is.
    pub(crate) fn under(mut self, name: &'static str, service: &'static str) -> Self {
        self.under.push((name, service));
        self
    }

    /// One more field of the document, for example `amfInfo`.
    pub(crate) fn field(mut self, name: &str, value: Value) -> Self {
        self.document.insert(name.to_owned(), value);
        self
    }

    pub(crate) const fn nf_type(&self) -> &'static str {
        self.nf_type
    }

    pub(super) fn consumed(&self) -> &[&'static str] {
        &self.consumes
    }

    /// The service that a request to this path asks for; `None` when it is not offered here.
    pub(super) fn offered_at(&self, path: &str) -> Option<&'static str> {
        let name = service_of(path);
        let offered = self.services.iter().map(|offer| offer.name);
        let own = { offered }.find(|offered| *offered == name);
        own.or_else(|| self.passed_on(name))
    }

    /// The service that a request of this NF to this path asks for.
    pub(super) fn asked_at<'a>(&self, path: &'a str) -> &'a str {
        let name = service_of(path);
        self.passed_on(name).unwrap_or(name)
    }

    fn passed_on(&self, name: &str) -> Option<&'static str> {
        let found = self.under.iter().find(|(under, _)| *under == name);
        found.map(|(_, service)| *service)
    }

    /// Fills in what is known only when the process listens.
    pub(super) fn complete(&mut self, instance: &str, scheme: &str, address: &str) {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "80"));
        let port: u16 = port.parse().unwrap_or(80);
        let services: Map<String, Value> = self
            .services
            .iter()
            .map(|offer| {
                let Offer { name, version, .. } = offer;
                let mut service = json!({
                    "serviceInstanceId": name,
                    "serviceName": name,
                    "versions": [{
                        "apiVersionInUri": version,
                        "apiFullVersion": format!("{}.0.0", version.trim_start_matches('v')),
                    }],
                    "scheme": scheme,
                    "nfServiceStatus": "REGISTERED",
                    "ipEndPoints": [{"ipv4Address": host, "port": port}],
                    "priority": 0,
                    "capacity": 100,
                    "load": 0,
                });
                if !offer.for_types.is_empty() {
                    service["allowedNfTypes"] = json!(offer.for_types);
                }
                ((*name).to_owned(), service)
            })
            .collect();
        let list: Vec<Value> = services.values().cloned().collect();
        let fields = json!({
            "nfInstanceId": instance,
            "nfType": self.nf_type,
            "nfStatus": "REGISTERED",
            "ipv4Addresses": [host],
            "heartBeatTimer": 10,
            "priority": 0,
            "capacity": 100,
            "load": 0,
            "nfServices": list,
        });
        if let Value::Object(fields) = fields {
            self.document.extend(fields);
        }
    }

    /// The document, once it is complete.
    pub(super) fn document(&self) -> Value {
        Value::Object(self.document.clone())
    }
}

/// The type of NF that offers a service, by the service's name (TS 29.510, 6.1.6.3.11).
pub(super) fn type_of(service: &str) -> &'static str {
    const TYPES: [(&str, &str); 10] = [
        ("namf-", "AMF"),
        ("nsmf-", "SMF"),
        ("nausf-", "AUSF"),
        ("nudm-", "UDM"),
        ("nudsf-", "UDSF"),
        ("nnrf-", "NRF"),
        ("nupf-", "UPF"),
        ("corewire-pdu-session", "SMF"),
        ("corewire-upf", "UPF"),
        ("corewire-subscribers", "UDM"),
    ];
    let named = TYPES.iter().find(|(prefix, _)| service.starts_with(prefix));
    named.map_or("CUSTOM", |(_, nf_type)| nf_type)
}
