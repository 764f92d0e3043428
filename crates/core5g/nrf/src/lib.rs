//! The NRF (TS 29.510): the 3GPP face of the control plane's registry.
//!
//! ```text
//!   NFs ── nnrf-nfm ──▶ profile_store.rs: profiles as they came, leases ──▶ control's registry ──▶ xDS
//!       ── nnrf-disc ─▶ discovery.rs: filters, cached answers         (mesh clients, gRPC, Envoy)
//!       ◀── notifications.rs: who asked to be told
//!       ── oauth2 ────▶ tokens.rs
//! ```
//!
//! One port speaks all of it: a network function that registers here by 3GPP's interface is an endpoint
//! of the mesh under the name of each of its services.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod agent;
mod cache;
mod clients;
mod discovery;
mod instances;
mod issuer;
mod mirror;
mod notifications;
mod profile_store;
mod program;
mod subscribed;
mod subscriptions;
#[cfg(test)]
mod tests;
mod tokens;

pub use program::NrfArgs;

use cache::Cache;
use clients::Clients;
use issuer::Issuer;
use mirror::Mirror;
use notifications::Notifier;
use profile_store::{Event, ProfileStore};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use subscribed::Subscriptions;

/// The NRF.
pub(crate) struct Nrf {
    book: Mutex<ProfileStore>,
    /// Held while events are passed on: they reach the mesh in the order in which they happened.
    telling: Mutex<()>,
    cache: Cache,
    subscriptions: Subscriptions,
    notifier: Notifier,
    mirror: Mirror,
    issuer: Issuer,
    clients: Clients,
    /// What stands in front of the paths of its resources.
    api_root: String,
    /// Reads the clock.
    clock: fn() -> Instant,
}

impl Nrf {
    fn now(&self) -> Instant {
        (self.clock)()
    }

    fn book(&self) -> MutexGuard<'_, ProfileStore> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the leases that are over, and tells who wants to know.
    fn handle_timeout(&self, now: Instant) {
        self.book().handle_timeout(now);
        self.tell();
        self.subscriptions.handle_timeout(now);
    }

    /// Passes on what the book did: to the mesh and to subscribers.
    fn tell(&self) {
        let _in_order = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(event) = self.book().poll() else {
                return;
            };
            match &event {
                Event::Registered(profile) | Event::Changed { now: profile, .. } => {
                    self.mirror.set(profile);
                }
                Event::Heard(id) => self.mirror.heartbeat(id),
                Event::Gone(profile) => self.mirror.remove(&profile.view.nf_instance_id),
            }
            self.notifier
                .tell(&self.subscriptions, &self.api_root, &event);
        }
    }
}

impl std::fmt::Debug for Nrf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nrf")
    }
}
