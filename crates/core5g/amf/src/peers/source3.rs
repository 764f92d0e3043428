//! The operations of source 3's table ([`corewire_core5g_runtime::source3`]): its UDM keeps what has become of a UE.

use super::flow::{Flow, Milestone};
use super::nudm::{self, Subscription};
use crate::context::ue::Ue;
use crate::ports::Wait;
use corewire_core5g_runtime::source3::{ask, tell};
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_core5g_sbi::model::common::Snssai as Slice;
use serde_json::{Value, json};

const AUSF: &str = "nausf-auth";
const LOCATION: &str = "/source3/v1/nausf-ueauthentication/location-update";

/// Source 3's flow.
pub(crate) struct Source3;

impl Flow for Source3 {
    /// The AUSF and the UDM are told where the UE is, and the UDM says what it may have.
    fn subscribe<'a>(&'a self, ue: &'a Ue) -> Wait<'a, Result<Subscription, SbiFailure>> {
        Box::pin(async move {
            let supi = ue.supi_text();
            let location = nudm::guami(ue.amf.network.guami);
            let place = json!({"location": location, "attach": "LOCATED", "supi": supi});
            let told = SbiRequest::post(LOCATION).json(&place)?;
            ue.sbi.call(AUSF, told).await?;
            let context = ask(&ue.sbi, "handle-location-update", &supi, place).await?;
            Ok(nudm::read_subscription(&context["subscription"]))
        })
    }

    fn default_dnn<'a>(&'a self, _ue: &'a Ue, _slice: &'a Slice) -> Wait<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn deregister<'a>(&'a self, ue: &'a Ue) -> Wait<'a, ()> {
        Box::pin(async move { tell(&ue.sbi, "handle-detach", &ue.supi_text(), json!({})).await })
    }

    fn note<'a>(&'a self, ue: &'a Ue, milestone: Milestone<'a>) -> Option<Wait<'a, ()>> {
        Some(Box::pin(async move {
            let identity = match milestone {
                Milestone::Registering { identity } | Milestone::Challenged { identity, .. } => {
                    identity.to_owned()
                }
                _ => ue.supi_text(),
            };
            for (operation, changes) in operations(ue, milestone) {
                tell(&ue.sbi, operation, &identity, changes).await;
            }
        }))
    }
}

/// The operations that a milestone is told by, in the order of the table.
fn operations(ue: &Ue, milestone: Milestone<'_>) -> Vec<(&'static str, Value)> {
    let named = |what: &dyn std::fmt::Debug| format!("{what:?}");
    match milestone {
        Milestone::Registering { .. } => {
            vec![("update-initial-attach-init", json!({"attach": "INITIATED"}))]
        }
        Milestone::Challenged { ksi, .. } => {
            let changes = json!({"authentication": {"state": "CHALLENGED", "ksi": named(&ksi)}});
            vec![("update-initial-attach", changes)]
        }
        Milestone::Authenticated => {
            vec![(
                "set-auth",
                json!({"authentication": {"state": "CONFIRMED"}}),
            )]
        }
        Milestone::SecurityCommanded(algorithms) => vec![
            (
                "set-security-cmd",
                json!({"security": {"state": "COMMANDED"}}),
            ),
            (
                "set-crypt",
                json!({"security": {"ciphering": named(&algorithms.ciphering)}}),
            ),
            (
                "set-integrity",
                json!({"security": {"integrity": named(&algorithms.integrity)}}),
            ),
        ],
        Milestone::Secured => {
            vec![(
                "handle-security-mode",
                json!({"security": {"state": "COMPLETE"}}),
            )]
        }
        Milestone::Registered => vec![
            ("handle-attach-complete", json!({"attach": "COMPLETED"})),
            (
                "update-attach-complete",
                json!({"guti": ue.guti.map(|guti| guti.to_string())}),
            ),
        ],
        Milestone::SessionAsked { session, dnn } => {
            let changes = json!({"session": {"id": session, "state": "CREATING", "dnn": dnn}});
            vec![("handle-create-session-begin", changes)]
        }
        Milestone::SessionGiven { session } => vec![
            ("set-upf-info", json!({"session": {"upf": "CHOSEN"}})),
            (
                "handle-create-session-end",
                json!({"session": {"id": session, "state": "CREATED"}}),
            ),
        ],
        Milestone::SessionActive => {
            vec![(
                "handle-modify-bearer",
                json!({"session": {"bearer": "ACTIVE"}}),
            )]
        }
    }
}
