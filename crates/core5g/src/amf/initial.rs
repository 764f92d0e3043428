//! A UE's first message on a connection, and which procedure a message belongs to.

use super::gnb::{Asked, Link};
use super::ue::{Event, Ue, Uplink};
use super::ues::Delivery;
use super::{an_release, deregistration, registration, service_request, session_transport, store};
use crate::nas::{MmCause, MobileIdentity, NasMessage, RegistrationReject, STmsi, ServiceReject};
use crate::ngap::Cause;

/// The UE has a new connection (TS 38.413, 8.6.1): its first message there is under its keys.
pub(super) async fn arrived(ue: &mut Ue, link: Link, uplink: Uplink) {
    if ue
        .link
        .as_ref()
        .is_some_and(|before| before.id() != link.id())
    {
        // The UE came back without a word to its former gNB (TS 23.502, 4.2.2.2.2, step 21).
        an_release::abandon_link(ue, &link).await;
    }
    ue.set_link(Some(link));
    ue.set_secured();
    dispatch(ue, uplink).await;
    let_go_of_strangers(ue).await;
}

/// Somebody of whom nothing is known has a connection. Whom his message names may be stored: then it
/// is for that UE to say whether it is its own. What nobody can check is still good for asking who
/// it is.
pub(super) async fn stranger(ue: &mut Ue, link: Link, octets: &[u8], asked: Asked) {
    let Ok(message) = NasMessage::decode_unverified(octets) else {
        // Nothing that can be answered in the UE's words.
        ue.set_link(Some(link));
        return an_release::by_network(ue, Cause::ABSTRACT_SYNTAX_ERROR).await;
    };
    if asked == Asked::Nobody
        && let Some(name) = temporary_identity(&message)
        && let Some(known) = store::find(&ue.amf, name).await
    {
        // This one has neither connection nor registration, and ends.
        if let Some(link) = link.of(&known)
            && known.deliver(Event::Initial(link.clone(), octets.to_vec())) == Delivery::Dropped
        {
            link.forget();
        }
        return;
    }
    ue.set_link(Some(link));
    let count = None;
    dispatch(ue, Uplink { message, count }).await;
    let_go_of_strangers(ue).await;
}

/// Who is not registered after all that has no use for his connection.
async fn let_go_of_strangers(ue: &mut Ue) {
    if !ue.registered && ue.link.is_some() {
        an_release::by_network(ue, Cause::NORMAL_RELEASE).await;
    }
}

/// By which temporary identity the UE can be found.
fn temporary_identity(message: &NasMessage) -> Option<STmsi> {
    let identity = match message {
        NasMessage::RegistrationRequest(request) => &request.identity,
        NasMessage::DeregistrationRequestFromUe(request) => &request.identity,
        NasMessage::ServiceRequest(request) => return Some(request.s_tmsi),
        _ => return None,
    };
    match identity {
        MobileIdentity::Guti(guti) => Some(STmsi::of(*guti)),
        MobileIdentity::STmsi(s_tmsi) => Some(*s_tmsi),
        _ => None,
    }
}

/// Which procedure a message belongs to. What is not verified is taken only where TS 24.501,
/// 4.4.4.3 allows it.
pub(super) async fn dispatch(ue: &mut Ue, uplink: Uplink) {
    let Uplink { message, count } = uplink;
    if let Some(count) = count {
        ue.kgnb_count = count;
        if ue.former.is_some() && temporary_identity(&message) == ue.guti.map(STmsi::of) {
            // It has its new name: it says it.
            store::confirm_guti(ue).await;
        }
    }
    match message {
        NasMessage::RegistrationRequest(request) => {
            registration::run(ue, request, count.is_some()).await;
        }
        NasMessage::ServiceRequest(request) if count.is_some() && ue.registered => {
            service_request::run(ue, request).await;
        }
        NasMessage::ServiceRequest(_) => {
            // Nobody knows this UE, or it cannot prove who it is (TS 24.501, 5.6.1.5).
            let cause = MmCause::IDENTITY_CANNOT_BE_DERIVED;
            refuse_plain(
                ue,
                ServiceReject {
                    cause,
                    sessions: None,
                },
            );
        }
        NasMessage::DeregistrationRequestFromUe(request) => {
            deregistration::by_ue(ue, request, count.is_some()).await;
        }
        NasMessage::UplinkNasTransport(transport) if count.is_some() && ue.registered => {
            session_transport::uplink(ue, transport).await;
        }
        // Answers that came too late, and what a UE must not say without protection.
        _ => {}
    }
}

/// Sends a reject in clear: the UE shares no context with the network.
fn refuse_plain(ue: &mut Ue, message: impl Into<NasMessage>) {
    if let Ok(octets) = message.into().encode() {
        ue.send_octets(octets);
    }
}

/// A registration that is refused: told in clear, unless there is a context that the UE shares.
pub(super) fn refuse_registration(ue: &mut Ue, cause: MmCause, protected: bool) {
    let reject = RegistrationReject { cause, t3346: None };
    match protected {
        true => ue.send(reject),
        false => refuse_plain(ue, reject),
    }
}
