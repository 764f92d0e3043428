//! The TLS that a cluster demands (gRFC A29), made of the files that the bootstrap's certificate
//! providers name. What cannot be had is a reason to send nothing, never to send in clear text.

use super::discovery::Discovery;
use crate::config::TlsPolicy;
use corewire_transport::tls::{ClientTls, Files};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Certificates that are not there yet are looked for again after this: who writes them, an agent
/// beside us, may start later than we do.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How a cluster's connections are secured.
#[derive(Clone)]
pub(crate) enum Security {
    /// As the mesh's own settings say.
    Own,
    /// As the control plane demands.
    Demanded(ClientTls),
    /// As demanded, but something for it is missing; found so at this time.
    Lacking(Arc<str>, Instant),
}

impl Security {
    /// For a cluster with this demand.
    pub(crate) fn of(
        policy: Option<&Arc<TlsPolicy>>,
        discovery: &dyn Discovery,
        now: Instant,
    ) -> Self {
        let Some(policy) = policy else {
            return Self::Own;
        };
        match client_tls(policy, discovery) {
            Ok(tls) => Self::Demanded(tls),
            Err(why) => {
                let why = format!(
                    "the control plane demands TLS, and {why}; nothing is sent in clear text"
                );
                Self::Lacking(why.into(), now)
            }
        }
    }

    /// Whether what was missing may be there by now.
    pub(crate) fn may_have_come(&self, now: Instant) -> bool {
        matches!(self, Self::Lacking(_, since) if now.saturating_duration_since(*since) >= LOOK_AGAIN)
    }
}

fn client_tls(policy: &Arc<TlsPolicy>, discovery: &dyn Discovery) -> Result<ClientTls, String> {
    let provider = |name: &Arc<str>| {
        let files = discovery.certificate_files(name);
        files.ok_or_else(|| {
            format!("no certificate provider is called {name:?} (certificate_providers of the bootstrap)")
        })
    };
    let Some(roots) = &policy.root_provider else {
        return Err("it names no certificate provider for the authorities to believe".into());
    };
    let mut files = Files::new();
    files.authorities = provider(roots)?.authorities;
    if let Some(identity) = &policy.identity_provider {
        let own = provider(identity)?;
        files.certificate = own.certificate;
        files.key = own.key;
    }
    let wanted = Arc::clone(policy);
    let accept = move |names: &[String]| {
        let expected = &wanted.subject_alt_names;
        let is_one = |name: &String| expected.iter().any(|it| it.matches(name));
        expected.is_empty() || names.iter().any(is_one)
    };
    let tls = ClientTls::with_names(files, Arc::new(accept)).map_err(|fault| fault.to_string())?;
    if policy.sni.is_empty() {
        return Ok(tls);
    }
    tls.with_server_name(&policy.sni)
        .map_err(|fault| fault.to_string())
}
