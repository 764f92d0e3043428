//! Which procedure an event or a message belongs to.

use super::{
    an_release, deregistration, guti_reallocation, paging, registration, restoration,
    service_request, session_transport,
};
use crate::context::ue::{Claimed, Delivery, Event, Link, Ue, Uplink, Why};
use corewire_core5g_nas::{MmCause, MobileIdentity, NasMessage, STmsi, ServiceReject};
use corewire_core5g_ngap::{Cause, NgapMessage};

/// Does what an event asks for, once the UE has [admitted](Ue::admit) it.
pub(crate) async fn event(ue: &mut Ue, event: Event) {
    ue.reserve_counts().await;
    match event {
        // Made one of the next two when it was admitted.
        Event::Initial(..) => {}
        Event::Arrived(link, uplink) => arrived(ue, link, *uplink).await,
        Event::UnknownUe(link, octets, claimed) => on_unknown_ue(ue, link, &octets, claimed).await,
        Event::Nas(_, octets) => match ue.read(&octets) {
            Ok(uplink) => message(ue, uplink).await,
            Err(error) => ue.send_5gmm_status(&error),
        },
        Event::Read(uplink) => message(ue, *uplink).await,
        Event::Ngap(_, message) => from_gnb(ue, *message).await,
        Event::Lost(connection) => an_release::lost(ue, connection),
        Event::TakeDown(turn) => {
            let is_done = an_release::take_down(ue).await;
            turn.end(is_done);
        }
        Event::LostAt(gnb) => an_release::lost_at(ue, gnb).await,
        Event::Transfer(transfer) => session_transport::downlink(ue, *transfer).await,
        Event::SessionReleased { session, handle } => {
            if ue.sessions.get(&session).map(|entry| entry.handle) == Some(handle) {
                ue.sessions.remove(&session);
                ue.save().await;
            }
        }
        // One that means an earlier registration, perhaps another process's, is the past.
        Event::Deregister(notice) if notice.registration != ue.registration => {}
        Event::Deregister(notice) => match notice.why {
            Why::Elsewhere => deregistration::implicit(ue).await,
            Why::Withdrawn => deregistration::by_network(ue, false).await,
            Why::ToRegisterAgain => deregistration::by_network(ue, true).await,
        },
        Event::Paged => paging::expired(ue).await,
        Event::Superseded => deregistration::implicit(ue).await,
        Event::Silent(since) => {
            if ue.registered && ue.link.is_none() && ue.slot.idle.is_since(since) {
                deregistration::of_silent(ue).await;
            }
        }
    }
}

/// What a gNB says about a UE, apart from its NAS messages.
async fn from_gnb(ue: &mut Ue, message: NgapMessage) {
    match message {
        NgapMessage::UeContextReleaseRequest(request) => {
            an_release::run(ue, request.cause).await;
        }
        answer => session_transport::on_answer(ue, answer).await,
    }
}

/// The UE has a new connection (TS 38.413, 8.6.1): its first message there is under its keys.
async fn arrived(ue: &mut Ue, link: Link, uplink: Uplink) {
    if ue
        .link
        .as_ref()
        .is_some_and(|before| before.id() != link.id())
    {
        // The UE came back without a word to its former gNB (TS 23.502, 4.2.2.2.2, step 21).
        an_release::abandon_link(ue, &link).await;
    }
    ue.set_link(Some(link));
    ue.secured = true;
    message(ue, uplink).await;
    release_unregistered(ue).await;
}

/// A UE of which nothing is known has a connection. The context of the UE that its message names may be
/// stored: then that UE says whether the message is its own. What nobody can check is still good for
/// asking the UE for its identity.
async fn on_unknown_ue(ue: &mut Ue, link: Link, octets: &[u8], claimed: Claimed) {
    let Ok(first) = NasMessage::decode_unverified(octets) else {
        // Nothing that can be answered in the UE's words.
        ue.set_link(Some(link));
        return an_release::run(ue, Cause::ABSTRACT_SYNTAX_ERROR).await;
    };
    if claimed == Claimed::NotAsked
        && let Some(name) = temporary_identity(&first)
        && let Some(known) = restoration::find(&ue.amf, name).await
    {
        // This one has neither connection nor registration, and ends.
        if let Some(link) = link.of(&known, known.id)
            && known.deliver(Event::Initial(link.clone(), octets.to_vec())) == Delivery::Dropped
        {
            link.forget();
        }
        return;
    }
    ue.set_link(Some(link));
    let unverified = Uplink {
        message: first,
        count: None,
    };
    message(ue, unverified).await;
    release_unregistered(ue).await;
}

/// A UE that is not registered after its first message has no use for its connection.
async fn release_unregistered(ue: &mut Ue) {
    if !ue.registered && ue.link.is_some() {
        an_release::run(ue, Cause::NORMAL_RELEASE).await;
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
async fn message(ue: &mut Ue, uplink: Uplink) {
    let Uplink { message, count } = uplink;
    if let Some(count) = count {
        ue.kgnb_count = count;
        if ue.former.is_some() && temporary_identity(&message) == ue.guti.map(STmsi::of) {
            // It has its new name: it says it.
            guti_reallocation::confirm(ue).await;
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
            ue.send_plain(ServiceReject {
                cause,
                sessions: None,
            });
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
