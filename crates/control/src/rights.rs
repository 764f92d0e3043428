//! Who may register what. Whoever changes where calls go shows who it is: by a secret, by a certificate,
//! or, where neither is asked for, by being on this host.
//!
//! A certificate stands for a service when one of its names is the service's name, a host of it
//! (`smf.core.example` for `smf`), or a SPIFFE identity whose last part it is
//! (`spiffe://example.org/ns/core/sa/smf`).

use crate::generated::registry as message;
use crate::hub::Hub;
use crate::registry::{Instance, Refusal, RegistryAnswer};
use corewire_message::{Headers, Peer};
use corewire_transport::tls::certificate_names;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// The registry as a caller may use it.
pub(crate) struct Rights<'a> {
    hub: &'a Hub,
    holds: Holds,
}

/// What a caller may change.
enum Holds {
    /// Instances of every service.
    All,
    /// Instances of the services that its certificate stands for, by these names.
    Names(Vec<String>),
    /// Nothing: it did not show who it is.
    Nothing,
}

impl<'a> Rights<'a> {
    /// Of a caller whom the host of this service has identified.
    pub(crate) const fn all(hub: &'a Hub) -> Self {
        let holds = Holds::All;
        Self { hub, holds }
    }

    /// Of this caller: by its secret, its certificate, or because it is on this host and neither is
    /// asked for.
    pub(crate) fn of(hub: &'a Hub, peer: &Peer, headers: &Headers) -> Self {
        let (by_certificate, anonymous) = {
            let roll = hub.roll();
            let registry = &roll.config.registry;
            (registry.by_certificate, registry.anonymous)
        };
        let secret = hub.secret();
        let shows_secret = match &secret {
            Secret::Is(secret) => bearer(headers).is_some_and(|shown| same(shown, secret)),
            Secret::None | Secret::Unreadable => false,
        };
        let holds = if shows_secret {
            Holds::All
        } else if by_certificate {
            let certificate = peer.certificate.as_deref();
            Holds::Names(certificate.map(certificate_names).unwrap_or_default())
        } else if matches!(secret, Secret::None) && (anonymous || is_on_this_host(&peer.address)) {
            Holds::All
        } else {
            Holds::Nothing
        };
        Self { hub, holds }
    }

    fn check(&self, service: &str) -> Result<(), Refusal> {
        match &self.holds {
            Holds::All => Ok(()),
            Holds::Names(names) if names.iter().any(|name| stands_for(name, service)) => Ok(()),
            Holds::Names(names) => Err(Refusal::NotYours {
                service: service.to_owned(),
                names: names.clone(),
            }),
            Holds::Nothing => Err(Refusal::NotIdentified),
        }
    }

    fn check_instance(&self, id: &str) -> Result<(), Refusal> {
        match self.holds {
            Holds::All => Ok(()),
            Holds::Nothing => Err(Refusal::NotIdentified),
            Holds::Names(_) => {
                let service = self.hub.service_of(id).ok_or(Refusal::NotRegistered)?;
                self.check(&service)
            }
        }
    }
}

/// The secret that those show who register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Secret {
    /// None is asked for.
    #[default]
    None,
    /// This.
    Is(Arc<str>),
    /// Its file cannot be read: nobody can show it.
    Unreadable,
}

impl Secret {
    /// The longest secret, octets.
    const LONGEST: u64 = 4096;

    /// Reads it; a file without a secret in it is a fault.
    pub(crate) fn read(file: Option<&Path>) -> (Self, Option<String>) {
        let Some(file) = file else {
            return (Self::None, None);
        };
        let mut text = String::new();
        let read = File::open(file)
            .and_then(|opened| opened.take(Self::LONGEST).read_to_string(&mut text));
        let why = match read {
            Ok(_) if !text.trim().is_empty() => return (Self::Is(text.trim().into()), None),
            Ok(_) => "it is empty".to_owned(),
            Err(error) => error.to_string(),
        };
        let file = file.display();
        let text =
            format!("the registry's secret {file} cannot be used, nobody may register: {why}");
        (Self::Unreadable, Some(text))
    }
}

fn bearer(headers: &Headers) -> Option<&str> {
    let (scheme, secret) = headers.get_str("authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// Compares in a time that says nothing of where they differ.
fn same(shown: &str, secret: &str) -> bool {
    let (shown, secret) = (shown.as_bytes(), secret.as_bytes());
    let differing = shown
        .iter()
        .zip(secret)
        .fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == secret.len() && differing == 0
}

/// Whether a caller at this address runs on this host, by loopback, a Unix socket or shared memory.
fn is_on_this_host(address: &str) -> bool {
    match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().to_canonical().is_loopback(),
        Err(_) => matches!(address, "unix" | "shm"),
    }
}

/// Whether a certificate with this name stands for this service.
fn stands_for(name: &str, service: &str) -> bool {
    if let Some(identity) = name.strip_prefix("spiffe://") {
        return identity
            .rsplit_once('/')
            .is_some_and(|(_, last)| last == service);
    }
    let rest = name.strip_prefix(service);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl RegistryAnswer for Rights<'_> {
    fn register(&self, instance: Instance) -> Result<message::RegisterResponse, Refusal> {
        self.check(&instance.service)?;
        // An instance of another service must not be taken over by its name.
        if matches!(self.holds, Holds::Names(_))
            && let Some(before) = self.hub.service_of(&instance.id)
        {
            self.check(&before)?;
        }
        self.hub.register(instance)
    }

    fn heartbeat(&self, id: &str, lease: &str) -> Result<(), Refusal> {
        self.check_instance(id)?;
        self.hub.heartbeat(id, lease)
    }

    fn leave(&self, id: &str, lease: &str) -> Result<(), Refusal> {
        self.check_instance(id)?;
        self.hub.leave(id, lease)
    }

    fn list(&self, service: &str) -> message::ListResponse {
        self.hub.list(service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_unix_and_shared_memory_are_this_host() {
        for (address, here) in [
            ("127.0.0.1:5", true),
            ("[::1]:5", true),
            ("[::ffff:127.0.0.1]:5", true),
            ("unix", true),
            ("shm", true),
            ("10.0.0.1:5", false),
            ("[fe80::1]:5", false),
            ("unknown", false),
            ("", false),
        ] {
            assert_eq!(is_on_this_host(address), here, "{address}");
        }
    }

    fn may_register(config: &str, secret: Secret, from: &str, authorization: Option<&str>) -> bool {
        use crate::catalog::Catalog;
        use crate::config::Config;
        use crate::registry::Registry;
        let config = Arc::new(Config::parse(config).unwrap());
        let registry = Registry::new(config.registry.clone(), config.limits.instances);
        let mut catalog = Catalog::new(1);
        catalog.set_config(std::time::Instant::now(), config, &registry);
        let hub = Hub::new(catalog, registry, String::new()).unwrap();
        hub.set_secret(secret);
        let mut headers = Headers::new();
        if let Some(authorization) = authorization {
            headers.append("authorization", authorization).unwrap();
        }
        let peer = Peer::new(from, "http2");
        let instance = Instance::new("smf", "i-1", "10.0.0.1:80".parse().unwrap());
        let registered = Rights::of(&hub, &peer, &headers).register(instance);
        let left = Rights::of(&hub, &peer, &headers).leave("i-1", "");
        let unknown = Err(Refusal::NotIdentified);
        assert_eq!(registered.is_ok(), left.is_ok());
        assert!(left.is_ok() || left == unknown, "{left:?}");
        registered.is_ok()
    }

    #[test]
    fn registering_from_elsewhere_needs_a_secret_or_a_certificate() {
        let open = "[registry]\nopen = true\n";
        let anonymous = "[registry]\nanonymous = true\n";
        let secret = || Secret::Is("s3cret".into());
        let (here, there) = ("127.0.0.1:4000", "10.0.0.9:4000");
        assert!(may_register(open, Secret::None, here, None));
        assert!(!may_register(open, Secret::None, there, None));
        assert!(may_register(anonymous, Secret::None, there, None));
        for from in [here, there] {
            assert!(may_register(open, secret(), from, Some("Bearer s3cret")));
            assert!(!may_register(open, secret(), from, Some("Bearer other")));
            assert!(!may_register(open, secret(), from, None));
            assert!(!may_register(
                open,
                Secret::Unreadable,
                from,
                Some("Bearer s3cret")
            ));
        }
    }

    #[test]
    fn a_secret_that_cannot_be_read_lets_nobody_in() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        assert_eq!(Secret::read(None), (Secret::None, None));
        let (secret, fault) = Secret::read(Some(&file));
        assert!(secret == Secret::Unreadable && fault.is_some());
        std::fs::write(&file, "\n").unwrap();
        assert_eq!(Secret::read(Some(&file)).0, Secret::Unreadable);
        std::fs::write(&file, "s3cret\n").unwrap();
        assert_eq!(
            Secret::read(Some(&file)),
            (Secret::Is("s3cret".into()), None)
        );
    }

    #[test]
    fn a_bearer_secret_is_compared_whole() {
        let mut headers = Headers::new();
        headers.append("authorization", "Bearer  s3cret ").unwrap();
        assert_eq!(bearer(&headers), Some("s3cret"));
        assert!(same("s3cret", "s3cret"));
        for other in ["s3cre", "s3crets", "S3cret", ""] {
            assert!(!same(other, "s3cret"), "{other:?}");
        }
    }

    #[test]
    fn a_name_stands_for_its_service_and_no_other() {
        for name in [
            "smf",
            "smf.core.example",
            "spiffe://example.org/ns/core/sa/smf",
        ] {
            assert!(stands_for(name, "smf"), "{name}");
        }
        for name in [
            "smf2",
            "smf2.core.example",
            "a.smf",
            "*.smf",
            "*",
            "",
            "spiffe://smf",
            "spiffe://example.org/smf/sa/amf",
            "https://example.org/smf",
        ] {
            assert!(!stands_for(name, "smf"), "{name}");
        }
    }
}
