//! The unified data management function, with its subscriber store (TS 29.503).
//!
//! ```text
//!   AUSF ── nudm-ueau ──▶ authentication.rs  vectors, SUCI, resynchronisation, results
//!   AMF  ── nudm-uecm ──▶ registrations.rs   who serves a UE, and its sessions
//!   AMF, SMF ── nudm-sdm ▶ data.rs           what a UE may do
//!                              │
//!                        store.rs ── journal  provisioned ranges; state of those who came
//! ```
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod authentication;
mod data;
mod program;
mod provisioning;
mod registrations;
mod sequence;
mod source3;
mod store;
#[cfg(test)]
mod tests;

pub use program::UdmArgs;

use corewire_core5g_aka::{HomeNetworkKeys, Suci, Supi};
use corewire_core5g_runtime::Runtime;
use corewire_core5g_sbi::model::udm::DeregistrationData;
use corewire_core5g_sbi::{Problem, Router};
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// Waits between tries to tell somebody who is not there that it no longer serves a UE.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(10),
];

/// The UDM.
pub struct Udm {
    store: Store,
    keys: HomeNetworkKeys,
    /// What stands in front of the paths of its resources.
    api_root: String,
    /// How others are told; none in tests of one function.
    runtime: Option<Runtime>,
}

#[cfg(any(test, feature = "testing"))]
impl Udm {
    /// One with the subscribers of the example, which keeps nothing.
    ///
    /// # Panics
    /// When the example is none.
    pub fn of_example() -> Self {
        use corewire_core5g_subscribers::SubscriberFile;
        let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
        Self {
            keys: file.home_network_keys(),
            store: Store::open(file, None).unwrap(),
            api_root: "http://udm".to_owned(),
            runtime: None,
        }
    }
}

impl Udm {
    /// Its resources.
    fn router(self) -> Router<Self> {
        let router = Router::new(Arc::new(self));
        let router = Self::authentication_resources(router);
        let router = Self::registration_resources(router);
        let router = Self::data_resources(router);
        let router = Self::provisioning_resources(router);
        Self::source3_resources(router)
    }

    /// The subscriber that a path names by SUPI.
    fn known(&self, text: &str) -> Result<Supi, Problem> {
        let supi: Supi = text.parse().map_err(|_| user_not_found())?;
        if self.store.holds(&supi) {
            Ok(supi)
        } else {
            Err(user_not_found())
        }
    }

    /// The subscriber that is named by SUPI or SUCI.
    fn identified(&self, text: &str) -> Result<Supi, Problem> {
        if !text.starts_with("suci-") {
            return self.known(text);
        }
        let refused = |error: corewire_core5g_aka::SuciError| {
            let status = match error {
                corewire_core5g_aka::SuciError::Scheme => 501,
                _ => 403,
            };
            Problem::new(status, error.cause()).detail(error.to_string())
        };
        let suci: Suci = text.parse().map_err(refused)?;
        let supi = suci.deconceal(&self.keys).map_err(refused)?;
        if self.store.holds(&supi) {
            Ok(supi)
        } else {
            Err(user_not_found())
        }
    }

    /// Tells an AMF or an SMF that it no longer serves a UE or a session; nobody waits for it.
    fn notify_deregistration(&self, uri: String, data: DeregistrationData) {
        let Some(runtime) = &self.runtime else {
            return;
        };
        let task = runtime.clone();
        runtime.spawn(0, async move {
            let path = corewire_core5g_runtime::path_of(&uri).to_owned();
            let Ok(request) = corewire_core5g_runtime::SbiRequest::post(path).json(&data) else {
                return;
            };
            let request = request.header(
                corewire_core5g_sbi::header::CALLBACK,
                "Nudm_UECM_DeregistrationNotification",
            );
            let mut told = task.sbi(0).at(&uri, request.clone()).await;
            for wait in AGAIN {
                // It may be about to start again; who answers has been told.
                if !matches!(&told, Err(failure) if failure.is_not_sent()) {
                    break;
                }
                task.sleep(wait).await;
                told = task.sbi(0).at(&uri, request.clone()).await;
            }
            if let Err(failure) = told {
                tracing::warn!(name: "deregistration-not-notified", "{uri} was not notified of a deregistration: {failure}");
            }
        });
    }
}

fn user_not_found() -> Problem {
    Problem::new(404, "USER_NOT_FOUND")
}

fn context_not_found() -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND")
}

impl std::fmt::Debug for Udm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Udm")
    }
}
