//! What an NF says of itself at the NRF (TS 29.510, 6.1.6.2.2).

use super::advertised::{Advertised, Host};
use corewire_core5g_sbi::token::service_of;
use serde_json::{Map, Value, json};

/// What an NF offers and needs.
#[derive(Clone, Debug)]
pub struct Profile {
    nf_type: &'static str,
    services: Vec<Offer>,
    consumes: Vec<&'static str>,
    under: Vec<(&'static str, &'static str)>,
    document: Map<String, Value>,
}

/// How an instance shares calls with others of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) priority: u16,
    pub(super) capacity: u16,
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
    pub fn new(nf_type: &'static str) -> Self {
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
    pub fn service(
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
    pub fn consumes(mut self, name: &'static str) -> Self {
        self.consumes.push(name);
        self
    }

    /// It offers, or calls, `service` under the paths of another, `name`: a gateway passes on what it
    /// is asked as it is.
    pub fn under(mut self, name: &'static str, service: &'static str) -> Self {
        self.under.push((name, service));
        self
    }

    /// One more field of the document, for example `amfInfo`.
    pub fn field(mut self, name: &str, value: Value) -> Self {
        self.document.insert(name.to_owned(), value);
        self
    }

    /// Its type, as it registers.
    pub const fn nf_type(&self) -> &'static str {
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
    pub(super) fn complete(
        &mut self,
        instance: &str,
        scheme: &str,
        place: &Advertised,
        share: Share,
    ) {
        // One of the three members each (TS 29.510, 6.1.6.2.2, 6.1.6.2.3 and 6.1.6.2.5).
        let (of_nf, of_service, end_point) = match &place.host {
            Host::V4(address) => (
                json!({"ipv4Addresses": [address]}),
                json!({}),
                json!({"ipv4Address": address, "port": place.port}),
            ),
            Host::V6(address) => (
                json!({"ipv6Addresses": [address]}),
                json!({}),
                json!({"ipv6Address": address, "port": place.port}),
            ),
            Host::Name(name) => (
                json!({"fqdn": name}),
                json!({"fqdn": name}),
                json!({"port": place.port}),
            ),
        };
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
                    "ipEndPoints": [end_point],
                });
                extend(&mut service, &of_service);
                if !offer.for_types.is_empty() {
                    service["allowedNfTypes"] = json!(offer.for_types);
                }
                ((*name).to_owned(), service)
            })
            .collect();
        let list: Vec<Value> = services.values().cloned().collect();
        let mut fields = json!({
            "nfInstanceId": instance,
            "nfType": self.nf_type,
            "nfStatus": "REGISTERED",
            "heartBeatTimer": 10,
            // Those of its services, too: none of them says otherwise. The load is told by heartbeats.
            "priority": share.priority,
            "capacity": share.capacity,
            "load": 0,
            "nfServices": list,
        });
        extend(&mut fields, &of_nf);
        if let Value::Object(fields) = fields {
            self.document.extend(fields);
        }
    }

    /// The document, once it is complete.
    pub(super) fn document(&self) -> Value {
        Value::Object(self.document.clone())
    }
}

/// Adds the members of one object to another.
fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn registered(host: Host) -> Value {
        let mut profile = Profile::new("UDM").service("nudm-ueau", "v1", &[]);
        let share = Share {
            priority: 3,
            capacity: 50,
        };
        profile.complete("id", "http", &Advertised { host, port: 7000 }, share);
        profile.document()
    }

    #[test]
    fn each_kind_of_host_is_registered_in_its_own_member() {
        let v4 = registered(Host::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(v4["ipv4Addresses"], json!(["127.0.0.1"]));
        assert_eq!((&v4["priority"], &v4["capacity"]), (&json!(3), &json!(50)));
        let end_point = &v4["nfServices"][0]["ipEndPoints"][0];
        assert_eq!(
            *end_point,
            json!({"ipv4Address": "127.0.0.1", "port": 7000})
        );

        let v6 = registered(Host::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(v6["ipv6Addresses"], json!(["::1"]));
        assert!(v6.get("ipv4Addresses").is_none());
        let end_point = &v6["nfServices"][0]["ipEndPoints"][0];
        assert_eq!(*end_point, json!({"ipv6Address": "::1", "port": 7000}));

        let named = registered(Host::Name("udm.example".into()));
        assert_eq!(named["fqdn"], "udm.example");
        assert!(named.get("ipv4Addresses").is_none());
        let service = &named["nfServices"][0];
        assert_eq!(
            (&service["fqdn"], &service["ipEndPoints"]),
            (&json!("udm.example"), &json!([{"port": 7000}]))
        );
    }
}
