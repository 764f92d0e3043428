//! Who may register what: a caller's certificate says for which services it stands.
//!
//! A certificate stands for a service when one of its names is the service's name, a host of it
//! (`smf.core.example` for `smf`), or a SPIFFE identity whose last part it is
//! (`spiffe://example.org/ns/core/sa/smf`).

use crate::generated::registry as message;
use crate::hub::Hub;
use crate::registry::{Instance, Refusal, RegistryAnswer};
use corewire_transport::tls::certificate_names;

/// The registry as a caller may use it.
pub(crate) struct Rights<'a> {
    hub: &'a Hub,
    /// The caller's names; `None`: nobody is asked who he is.
    names: Option<Vec<String>>,
}

impl<'a> Rights<'a> {
    /// Of the caller who proved to have this certificate's key.
    pub(crate) fn of(hub: &'a Hub, certificate: Option<&[u8]>) -> Self {
        let asked = hub.roll().config.registry.by_certificate;
        let names = asked.then(|| certificate.map(certificate_names).unwrap_or_default());
        Self { hub, names }
    }

    fn check(&self, service: &str) -> Result<(), Refusal> {
        let Some(names) = &self.names else {
            return Ok(());
        };
        if names.iter().any(|name| stands_for(name, service)) {
            return Ok(());
        }
        Err(Refusal::NotYours {
            service: service.to_owned(),
            names: names.clone(),
        })
    }

    fn check_instance(&self, id: &str) -> Result<(), Refusal> {
        if self.names.is_none() {
            return Ok(());
        }
        let service = self.hub.service_of(id).ok_or(Refusal::NotRegistered)?;
        self.check(&service)
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
        if self.names.is_some()
            && let Some(before) = self.hub.service_of(&instance.id)
        {
            self.check(&before)?;
        }
        self.hub.register(instance)
    }

    fn heartbeat(&self, id: &str) -> Result<(), Refusal> {
        self.check_instance(id)?;
        self.hub.heartbeat(id)
    }

    fn leave(&self, id: &str) -> Result<(), Refusal> {
        self.check_instance(id)?;
        self.hub.leave(id)
    }

    fn list(&self, service: &str) -> message::ListResponse {
        self.hub.list(service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
