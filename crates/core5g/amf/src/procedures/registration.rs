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

use super::exchange::is_release_request;
use super::{
    an_release, authentication, deregistration, guti_reallocation, identity, refusal, restoration,
    security_mode, session_transport,
};
use crate::context::network::{NAS_ATTEMPTS, NAS_TIMER};
use crate::context::ue::{Ended, Event, Ue};
use crate::peers::flow::Milestone;
use crate::peers::{flow_of, note};
use corewire_core5g_nas::{
    MmCause, MobileIdentity, NasMessage, RegistrationAccept, RegistrationKind, RegistrationRequest,
    Snssai,
};
use corewire_core5g_ngap::{Cause, NgapMessage};
use corewire_core5g_runtime::SbiFailure;

/// Registers the UE, or tells it why not. `verified`: the request came under the UE's own context.
pub(crate) async fn run(ue: &mut Ue, request: RegistrationRequest, verified: bool) {
    let (kind, follow_on, was_registered) = (request.kind, request.follow_on, ue.registered);
    match register(ue, request, verified).await {
        Ok(Reached(false)) => ue.set_registered(true),
        Ok(Reached(true)) => {
            ue.set_registered(true);
            if kind == RegistrationKind::Periodic && !follow_on {
                // Nothing more is to come (TS 24.501, 5.3.1.3).
                an_release::run(ue, Cause::NORMAL_RELEASE).await;
            } else {
                session_transport::deliver_pending(ue).await;
            }
        }
        // A UE that was registered stays so when another, or a thief of its name, is refused; its
        // connection ends (TS 24.501, 5.3.1.3).
        Err(Ended::Refused | Ended::Silent) if ue.registered && verified => {
            an_release::run(ue, Cause::NORMAL_RELEASE).await;
        }
        Err(_) if ue.registered && verified => {}
        Err(_) => {
            if !was_registered {
                guti_reallocation::take_back(ue).await;
            }
            ue.set_registered(false);
            if ue.link.is_some() {
                an_release::run(ue, Cause::NORMAL_RELEASE).await;
            }
        }
    }
}

/// Whether the UE, which is registered, still has the connection that it registered by.
struct Reached(bool);

async fn register(
    ue: &mut Ue,
    mut request: RegistrationRequest,
    verified: bool,
) -> Result<Reached, Ended> {
    if request.kind == RegistrationKind::Emergency {
        refusal::run(ue, MmCause::SERVICES_NOT_ALLOWED, verified);
        return Err(Ended::Refused);
    }
    if let Some(cause) = area_not_served(ue) {
        refusal::run(ue, cause, verified);
        return Err(Ended::Refused);
    }
    if request.capability.is_some() {
        ue.capability.clone_from(&request.capability);
    }
    // Under the UE's keys, but by a SUCI: only the home network knows whether it is the same subscriber
    // (another USIM in the same equipment).
    let known =
        verified && ue.supi.is_some() && !matches!(request.identity, MobileIdentity::Suci(_));
    let before = ue.supi;
    if !known {
        let identity = resolve_identity(ue, &request).await?;
        let identity = identity.as_str();
        note(ue, Milestone::Registering { identity }).await;
        let keys = authentication::run(ue, identity, request.ksi).await?;
        let supi = keys.supi;
        if let Some(whole) = security_mode::run(ue, keys).await? {
            request = whole;
            if request.capability.is_some() {
                ue.capability.clone_from(&request.capability);
            }
        }
        if before != Some(supi) || !ue.registered {
            if before.is_some_and(|before| before != supi) {
                deregistration::of_former_subscriber(ue).await;
            }
            ue.supi = Some(supi);
            restoration::claim_supi(ue).await;
        }
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
    let allowed = allowed(
        &ue.amf.network.slices,
        &ue.subscribed,
        &request.requested_nssai,
    );
    if allowed.is_empty() {
        refusal::run(ue, MmCause::NO_NETWORK_SLICES, true);
        return Err(Ended::Refused);
    }
    ue.allowed = allowed;
    if request.kind != RegistrationKind::Periodic || ue.guti.is_none() {
        guti_reallocation::run(ue).await.map_err(|failure| {
            tracing::warn!(name: "no-guti", "no GUTI: {failure}");
            refusal::run(ue, MmCause::CONGESTION, true);
            Ended::Refused
        })?;
    } else {
        ue.save().await;
    }
    let reached = accept(ue, &request).await?;
    note(ue, Milestone::Registered).await;
    Ok(reached)
}

/// Why the UE cannot be registered where it is, if it cannot: it would not be in the registration area that
/// it is given. In another area, or network, it may try again (TS 24.501, annex A.2: #15, #11).
fn area_not_served(ue: &Ue) -> Option<MmCause> {
    let network = &ue.amf.network;
    let tai = ue.link.as_ref()?.tai()?;
    if tai.plmn != network.plmn() {
        return Some(MmCause::PLMN_NOT_ALLOWED);
    }
    (!network.tacs.contains(&tai.tac)).then_some(MmCause::NO_SUITABLE_CELLS)
}

/// The identity by which the UE can be authenticated.
async fn resolve_identity(ue: &mut Ue, request: &RegistrationRequest) -> Result<String, Ended> {
    Ok(match &request.identity {
        MobileIdentity::Suci(suci) => suci.to_string(),
        // A GUTI of ours whose message could not be checked: the context may be damaged, and the
        // name may be another's. The UE says who it is.
        _ => identity::run(ue).await?.to_string(),
    })
}

/// Tells the UDM that the UE is here, and asks what it may have.
async fn subscribe(ue: &mut Ue) -> Result<(), SbiFailure> {
    ue.registration = ue.amf.clock.unique_number();
    let subscription = flow_of(ue).subscribe(ue).await?;
    ue.subscribed = subscription.slices;
    ue.ambr = subscription.ambr;
    Ok(())
}

fn refused_by_udm(ue: &mut Ue, failure: &SbiFailure) -> Ended {
    tracing::warn!(name: "udm-refused", "the UDM: {failure}");
    refusal::run(ue, cause_of(failure), true);
    Ended::Refused
}

/// What the UDM's refusal means to the UE (TS 29.524, 4.3). What is between network functions, as an
/// access token that is not taken, says nothing of the UE: it may try again.
fn cause_of(failure: &SbiFailure) -> MmCause {
    match (failure.status(), failure.cause()) {
        (Some(403), Some("ROAMING_NOT_ALLOWED")) => MmCause::ROAMING_NOT_ALLOWED,
        (Some(404), Some("USER_NOT_FOUND" | "DATA_NOT_FOUND")) => MmCause::SERVICES_NOT_ALLOWED,
        (
            Some(403),
            Some(
                "UNKNOWN_5GS_SUBSCRIPTION"
                | "NO_PS_SUBSCRIPTION"
                | "ACCESS_NOT_ALLOWED"
                | "RAT_NOT_ALLOWED",
            ),
        ) => MmCause::SERVICES_NOT_ALLOWED,
        _ => MmCause::CONGESTION,
    }
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
async fn accept(ue: &mut Ue, request: &RegistrationRequest) -> Result<Reached, Ended> {
    let gives_guti = request.kind != RegistrationKind::Periodic;
    if let Some(theirs) = request.sessions {
        // Sessions that the UE does not have any more (TS 24.501, 5.5.1.3.4).
        session_transport::keep_only(ue, theirs).await;
    }
    // What is to be sent is asked for in no periodic registration.
    let wanted = request.uplink_data.filter(|_| gives_guti);
    let planes = session_transport::planes(ue, wanted.unwrap_or_default()).await;
    let accept = NasMessage::from(RegistrationAccept {
        guti: ue.guti.filter(|_| gives_guti),
        tai_list: ue.amf.network.tais(),
        allowed_nssai: ue.allowed.clone(),
        sessions: request.sessions.map(|_| ue.session_set()),
        reactivation_failed: wanted.map(|_| planes.failed),
        t3512: Some(ue.amf.silence.t3512()),
    });
    let Some(octets) = ue.protect(&accept) else {
        return Err(Ended::Refused);
    };
    if request.kind == RegistrationKind::Periodic || ue.context_at_gnb {
        ue.send_octets(octets);
        session_transport::activate(ue, planes.set_up);
        return Ok(if gives_guti {
            completed(ue, &accept, false).await
        } else {
            Reached(true)
        });
    }
    session_transport::set_up_context(ue, octets, planes.set_up);
    Ok(completed(ue, &accept, true).await)
}

/// Waits for REGISTRATION COMPLETE and, where it was asked for, the gNB's answer; in either order. The
/// accept may be lost: it is repeated (T3550), and the UE stays registered under both of its names
/// whatever comes (TS 24.501, 5.5.1.2.8).
async fn completed(ue: &mut Ue, accept: &NasMessage, mut from_gnb: bool) -> Reached {
    enum CompletionEvent {
        Nas(Vec<u8>),
        Ngap(Box<NgapMessage>),
    }
    let mut until = ue.amf.clock.now() + NAS_TIMER;
    let (mut from_ue, mut sent) = (true, 1);
    while from_ue || from_gnb {
        let came = ue
            .wait(until, |event| match event {
                Event::Nas(_, octets) => Ok(CompletionEvent::Nas(octets)),
                Event::Ngap(_, message) if !is_release_request(&message) => {
                    Ok(CompletionEvent::Ngap(message))
                }
                other => Err(other),
            })
            .await;
        match came {
            Ok(CompletionEvent::Nas(octets)) => match ue.read(&octets) {
                Ok(uplink) => match uplink.message {
                    NasMessage::RegistrationComplete(_) => {
                        from_ue = false;
                        guti_reallocation::confirm(ue).await;
                    }
                    // It asks again: it has no answer (case d).
                    NasMessage::RegistrationRequest(_) if sent < NAS_ATTEMPTS => {
                        sent += 1;
                        ue.send(accept.clone());
                    }
                    _ => ue.defer_message(uplink),
                },
                Err(error) => ue.send_5gmm_status(&error),
            },
            Ok(CompletionEvent::Ngap(message)) => {
                from_gnb &= !session_transport::is_context_answer(&message);
                session_transport::on_answer(ue, *message).await;
            }
            Err(Ended::Silent) if from_ue && sent < NAS_ATTEMPTS => {
                sent += 1;
                until = ue.amf.clock.now() + NAS_TIMER;
                ue.send(accept.clone());
            }
            Err(Ended::Silent) => break,
            Err(_) => return Reached(false),
        }
    }
    Reached(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_udm_says_of_the_ue_keeps_it_away_for_good() {
        let told = |status, cause| cause_of(&SbiFailure::answered(status, cause));
        assert_eq!(told(404, "USER_NOT_FOUND"), MmCause::SERVICES_NOT_ALLOWED);
        let unknown = "UNKNOWN_5GS_SUBSCRIPTION";
        assert_eq!(told(403, unknown), MmCause::SERVICES_NOT_ALLOWED);
        assert_eq!(
            told(403, "ROAMING_NOT_ALLOWED"),
            MmCause::ROAMING_NOT_ALLOWED
        );
        for (status, cause) in [(401, "UNAUTHORIZED"), (403, "UNAUTHORIZED"), (404, "")] {
            assert_eq!(told(status, cause), MmCause::CONGESTION, "{status}");
        }
    }

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
