//! A UE's first message on a connection, and which procedure a message belongs to.

use super::gnb::Link;
use super::ue::{Ue, Uplink};
use super::{
    an_release, deregistration, gnb, registration, service_request, session_transport, store,
};
use crate::nas::{MmCause, MobileIdentity, NasMessage, RegistrationReject, STmsi, ServiceReject};
use crate::ngap::Cause;

/// INITIAL UE MESSAGE (TS 38.413, 8.6.1): a UE has a new connection, and may be this one.
pub(super) async fn run(ue: &mut Ue, link: Link, octets: &[u8]) {
    let verified = verified(ue, octets);
    if ue.registered && verified.is_none() {
        // Somebody says a name of this UE and cannot prove it: it keeps what it has, and whoever it
        // is is served as a UE of which nothing is known.
        return gnb::divert(&ue.amf, &link, octets.to_vec());
    }
    if ue.link.as_ref().is_some_and(|before| *before != link) {
        // The UE came back without a word to its former gNB (TS 23.502, 4.2.2.2.2, step 21).
        an_release::abandon_link(ue, &link).await;
    }
    ue.set_link(Some(link));
    let uplink = match verified {
        Some(uplink) => Some(uplink),
        None => first_words(ue, octets).await,
    };
    match uplink {
        Some(uplink) => dispatch(ue, uplink).await,
        // Nothing that can be answered in the UE's words.
        None => return an_release::by_network(ue, Cause::ABSTRACT_SYNTAX_ERROR).await,
    }
    if !ue.registered && ue.link.is_some() {
        an_release::by_network(ue, Cause::NORMAL_RELEASE).await;
    }
}

/// The message, when it is under the context that is here.
fn verified(ue: &mut Ue, octets: &[u8]) -> Option<Uplink> {
    ue.read(octets).ok().filter(|uplink| uplink.count.is_some())
}

/// The first message of a UE of which nothing is known here: its context may be stored. What nobody
/// can check is still good for asking the UE who it is.
async fn first_words(ue: &mut Ue, octets: &[u8]) -> Option<Uplink> {
    let message = NasMessage::decode_unverified(octets).ok()?;
    if let Some(identity) = temporary_identity(&message)
        && let Some(uplink) = store::restore(ue, identity, octets).await
    {
        return Some(uplink);
    }
    Some(Uplink {
        message,
        count: None,
    })
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
