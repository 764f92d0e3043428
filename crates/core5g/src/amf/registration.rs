//! Registration: initial, by mobility, periodic (TS 23.502, 4.2.2.2; TS 24.501, 5.5.1).
//!
//! ```text
//!   UE                        AMF
//!   ── request (SUCI, GUTI) ──▶│ who? ── identity, authentication, security mode, where needed
//!                              ├─▶ UDM: registered here (UECM), what may it have (SDM)
//!                              ├─▶ a GUTI, UDSF
//!   ◀── accept ────────────────┤   in INITIAL CONTEXT SETUP
//!   ── complete ──────────────▶│   both answers are awaited
//! ```

use super::network::{NGAP_TIMER, T3512};
use super::peers::nudm;
use super::ue::{Ended, Event, Ue};
use super::{an_release, authentication, identity, initial, security_mode, session_transport};
use crate::nas::{
    MmCause, MobileIdentity, NasMessage, PduSessionSet, RegistrationAccept, RegistrationKind,
    RegistrationRequest, STmsi, Snssai,
};
use crate::ngap::{Cause, NgapMessage};
use crate::runtime::{Flow, SbiFailure, both};
use crate::source3;
use serde_json::json;
use std::time::Instant;

/// Registers the UE, or tells it why not. `verified`: the request came under the UE's own context.
pub(super) async fn run(ue: &mut Ue, request: RegistrationRequest, verified: bool) {
    let (kind, follow_on) = (request.kind, request.follow_on);
    match register(ue, request, verified).await {
        Ok(()) => {
            ue.set_registered(true);
            if kind == RegistrationKind::Periodic && !follow_on {
                // Nothing more is to come (TS 24.501, 5.3.1.3).
                an_release::by_network(ue, Cause::NORMAL_RELEASE).await;
            } else {
                session_transport::deliver_pending(ue).await;
            }
        }
        // A UE that was registered stays so when another, or a thief of its name, is refused.
        Err(_) if ue.registered && verified => {}
        Err(_) => {
            ue.set_registered(false);
            if ue.link.is_some() {
                an_release::by_network(ue, Cause::NORMAL_RELEASE).await;
            }
        }
    }
}

async fn register(
    ue: &mut Ue,
    mut request: RegistrationRequest,
    verified: bool,
) -> Result<(), Ended> {
    if request.kind == RegistrationKind::Emergency {
        initial::refuse_registration(ue, MmCause::SERVICES_NOT_ALLOWED, verified);
        return Err(Ended::Refused);
    }
    if request.capability.is_some() {
        ue.capability.clone_from(&request.capability);
    }
    let known = verified && ue.supi.is_some();
    if !known {
        let who = who(ue, &request).await?;
        let begun = || json!({"attach": "INITIATED"});
        source3::tell(&ue.sbi, "update-initial-attach-init", &who, begun).await;
        let keys = authentication::run(ue, &who).await?;
        if let Some(whole) = security_mode::run(ue, keys).await? {
            request = whole;
            if request.capability.is_some() {
                ue.capability.clone_from(&request.capability);
            }
        }
        take_name(ue).await;
    }
    if request.kind == RegistrationKind::Initial {
        // The UE has no session any more (TS 23.502, 4.2.2.2.2, step 17).
        session_transport::release_all(ue).await;
    }
    if !known || request.kind == RegistrationKind::Initial {
        subscribe(ue)
            .await
            .map_err(|failure| refused_by_udm(ue, &failure))?;
    }
    ue.allowed = allowed(
        &ue.amf.network.slices,
        &ue.allowed,
        &request.requested_nssai,
    );
    if ue.allowed.is_empty() {
        initial::refuse_registration(ue, MmCause::NO_NETWORK_SLICES, true);
        return Err(Ended::Refused);
    }
    if request.kind != RegistrationKind::Periodic || ue.guti.is_none() {
        super::store::new_guti(ue).await.map_err(|failure| {
            eprintln!("amf: no GUTI: {failure}");
            initial::refuse_registration(ue, MmCause::CONGESTION, true);
            Ended::Refused
        })?;
    } else {
        ue.save().await;
    }
    accept(ue, &request).await?;
    ue.tell("handle-attach-complete", || json!({"attach": "COMPLETED"}))
        .await;
    ue.tell(
        "update-attach-complete",
        || json!({"guti": ue.guti.map(|guti| guti.to_string())}),
    )
    .await;
    Ok(())
}

/// By which name the UE can be authenticated.
async fn who(ue: &mut Ue, request: &RegistrationRequest) -> Result<String, Ended> {
    Ok(match &request.identity {
        MobileIdentity::Suci(suci) => suci.to_string(),
        // A GUTI of ours whose message could not be checked: the context may be damaged, and the
        // name may be another's. The UE says who it is.
        _ => identity::suci(ue).await?.to_string(),
    })
}

/// The UE is who it says: what was known of it under another connection, or is stored of it, is the
/// past.
async fn take_name(ue: &Ue) {
    match ue.amf.ues.name_supi(&ue.supi_text(), &ue.slot) {
        Some(before) => {
            before.deliver(Event::Superseded);
        }
        None => super::store::let_go(ue).await,
    }
}

/// Tells the UDM that the UE is here, and asks what it may have.
async fn subscribe(ue: &mut Ue) -> Result<(), SbiFailure> {
    let subscription = match ue.sbi.flow() {
        Flow::ThreeGpp => {
            let (registered, subscription) =
                both(nudm::register(ue), nudm::access_and_mobility(ue)).await;
            registered?;
            subscription?
        }
        Flow::Source3 => nudm::locate(ue).await?,
    };
    ue.allowed = subscription.slices;
    ue.ambr = subscription.ambr;
    Ok(())
}

/// What the UDM's refusal means to the UE (TS 29.524, 4.3).
fn refused_by_udm(ue: &mut Ue, failure: &SbiFailure) -> Ended {
    let cause = match (failure.status(), failure.cause()) {
        (Some(404), _) => MmCause::SERVICES_NOT_ALLOWED,
        (Some(403), Some("ROAMING_NOT_ALLOWED")) => MmCause::ROAMING_NOT_ALLOWED,
        (Some(403), _) => MmCause::SERVICES_NOT_ALLOWED,
        _ => MmCause::CONGESTION,
    };
    eprintln!("amf: the UDM: {failure}");
    initial::refuse_registration(ue, cause, true);
    Ended::Refused
}

/// The slices that the UE may use: of those that it asks for, or else of all that it has subscribed
/// to, those that are here (TS 23.501, 5.15.5.2.1).
fn allowed(here: &[Snssai], subscribed: &[Snssai], requested: &[Snssai]) -> Vec<Snssai> {
    let possible = |slice: &&Snssai| here.contains(slice) && subscribed.contains(slice);
    let asked: Vec<Snssai> = requested.iter().filter(possible).copied().collect();
    if asked.is_empty() && requested.is_empty() {
        return subscribed.iter().filter(possible).copied().collect();
    }
    asked
}

/// REGISTRATION ACCEPT, in the message that gives the gNB the UE's context.
async fn accept(ue: &mut Ue, request: &RegistrationRequest) -> Result<(), Ended> {
    let gives_guti = request.kind != RegistrationKind::Periodic;
    let sessions = request.sessions.map(|_| ue.session_set());
    if let Some(theirs) = request.sessions {
        // Sessions that the UE does not have any more (TS 24.501, 5.5.1.3.4).
        session_transport::keep_only(ue, theirs).await;
    }
    let accept = RegistrationAccept {
        guti: ue.guti.filter(|_| gives_guti),
        tai_list: ue.amf.network.tais(),
        allowed_nssai: ue.allowed.clone(),
        sessions,
        reactivation_failed: None,
        t3512: Some(T3512),
    };
    let Some(octets) = ue.protect(&accept.into()) else {
        return Err(Ended::Refused);
    };
    if request.kind == RegistrationKind::Periodic || ue.context_at_gnb {
        ue.send_octets(octets);
        return match gives_guti {
            true => completed(ue, false).await,
            false => Ok(()),
        };
    }
    let wanted = request.uplink_data.unwrap_or_default();
    session_transport::set_up_context(ue, octets, wanted).await;
    completed(ue, true).await
}

/// Waits for REGISTRATION COMPLETE and, where it was asked for, the gNB's answer; in either order.
async fn completed(ue: &mut Ue, mut from_gnb: bool) -> Result<(), Ended> {
    let until = Instant::now() + NGAP_TIMER;
    let mut from_ue = true;
    while from_ue || from_gnb {
        enum Came {
            Nas(Vec<u8>),
            Ngap(Box<NgapMessage>),
        }
        let came = ue
            .wait(until, |event| match event {
                Event::Nas(octets) => Ok(Came::Nas(octets)),
                Event::Ngap(message) if !an_release::is_request(&message) => {
                    Ok(Came::Ngap(message))
                }
                other => Err(other),
            })
            .await;
        match came {
            Ok(Came::Nas(octets)) => match ue.read(&octets) {
                Ok(uplink) if matches!(uplink.message, NasMessage::RegistrationComplete(_)) => {
                    from_ue = false;
                }
                Ok(uplink) => ue.put_off(uplink),
                Err(error) => ue.complain(&error),
            },
            Ok(Came::Ngap(message)) => {
                from_gnb &= !session_transport::is_context_answer(&message);
                session_transport::from_gnb(ue, *message).await;
            }
            // The UE has the accept, or will come again: the network keeps it registered
            // (TS 24.501, 5.5.1.2.8, case c).
            Err(Ended::Silent) if from_ue => return Ok(()),
            Err(ended) => return Err(ended),
        }
    }
    Ok(())
}

impl Ue {
    /// The sessions that the UE has here.
    pub(super) fn session_set(&self) -> PduSessionSet {
        self.sessions
            .keys()
            .filter_map(|session| crate::nas::PduSessionId::new(*session))
            .fold(PduSessionSet::default(), PduSessionSet::with)
    }

    /// The UE's temporary identity as it is stored under.
    pub(super) fn s_tmsi(&self) -> Option<STmsi> {
        self.guti.map(STmsi::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_asked_for_subscribed_to_and_here() {
        let slice = |text: &str| text.parse::<Snssai>().expect("a slice");
        let (one, two, three) = (slice("01"), slice("01-010203"), slice("02"));
        let here = [one, two];
        assert_eq!(allowed(&here, &[two, three], &[]), [two]);
        assert_eq!(allowed(&here, &[one, two], &[two, three]), [two]);
        assert!(allowed(&here, &[one], &[three]).is_empty());
    }
}
