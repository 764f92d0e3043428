//! What a gNB sends (TS 38.413): what is about the gNB is done here, what is about a UE goes to its task.

use super::an_release::deliver_lost;
use super::{ng_reset, ng_setup, ran_configuration_update};
use crate::context::link::{COMMON_STREAM, ConnectionId};
use crate::context::ue::{Amf, Claimed, Delivery, Event, Gnb, Link, Slot, Ue, start};
use corewire_core5g_nas::Tai;
use corewire_core5g_ngap::{
    AmfUeNgapId, Cause, ErrorIndication, InitialUeMessage, NgapMessage, RanUeNgapId, UeConnection,
    UePair,
};
use std::sync::Arc;

/// A message came by this stream.
pub(crate) fn handle(amf: &Arc<Amf>, gnb: &Arc<Gnb>, stream: u16, octets: &[u8]) {
    match NgapMessage::decode(octets) {
        Ok(message) => dispatch(amf, gnb, stream, message),
        Err(error) => {
            if let Some(answer) = error.answer() {
                let stream = match stream {
                    COMMON_STREAM => COMMON_STREAM,
                    theirs => gnb.stream_for(theirs, 0),
                };
                gnb.send(stream, &answer);
            }
        }
    }
}

/// The association has ended, and with it every connection.
pub(crate) fn ended(amf: &Amf, gnb: &Gnb) {
    if !gnb.is_set_up() {
        // Also when it is there and says nothing: it may never answer a shutdown either.
        gnb.abort();
    }
    amf.gnbs.remove(gnb);
    amf.numbers.gnbs.down();
    deliver_lost(gnb.lose_all());
}

fn dispatch(amf: &Arc<Amf>, gnb: &Arc<Gnb>, stream: u16, message: NgapMessage) {
    match message {
        NgapMessage::NgSetupRequest(request) => ng_setup::run(amf, gnb, &request),
        _ if !gnb.is_set_up() => {
            let cause = Cause::NOT_COMPATIBLE_WITH_STATE;
            gnb.send(COMMON_STREAM, &error_indication(None, None, cause));
        }
        NgapMessage::RanConfigurationUpdate(update) => {
            ran_configuration_update::run(amf, gnb, &update);
        }
        NgapMessage::NgReset(reset) => ng_reset::run(gnb, reset),
        NgapMessage::InitialUeMessage(message) => initial(amf, gnb, stream, message),
        NgapMessage::UplinkNas(uplink) => {
            let (nas, tai) = (uplink.nas, uplink.location.tai);
            to_ue(amf, gnb, uplink.ue, Some(tai), |id| Event::Nas(id, nas));
        }
        NgapMessage::ErrorIndication(error) => lost_at_gnb(gnb, &error),
        // Of a UE that came back elsewhere, or whose number is another's by now: the last word about
        // a connection that is over needs no answer (TS 38.413, 10.6).
        NgapMessage::UeContextReleaseComplete(complete) if gnb.of(complete.ue, None).is_none() => {}
        other => {
            if let Some(ue) = pair(&other) {
                to_ue(amf, gnb, ue, None, |id| Event::Ngap(id, Box::new(other)));
            }
        }
    }
}

/// The UE that an answer or a request of a gNB is about.
const fn pair(message: &NgapMessage) -> Option<UePair> {
    Some(match message {
        NgapMessage::InitialContextSetupResponse(message) => message.ue,
        NgapMessage::InitialContextSetupFailure(message) => message.ue,
        NgapMessage::PduSessionResourceSetupResponse(message) => message.ue,
        NgapMessage::PduSessionResourceModifyResponse(message) => message.ue,
        NgapMessage::PduSessionResourceReleaseResponse(message) => message.ue,
        NgapMessage::UeContextReleaseRequest(message) => message.ue,
        NgapMessage::UeContextReleaseComplete(message) => message.ue,
        // What is about no UE, and what an AMF sends.
        _ => return None,
    })
}

/// A UE has a new connection. One that is known by its temporary identity is asked whether the message
/// is its own: until it says so, what comes by this connection is nothing to it.
fn initial(amf: &Arc<Amf>, gnb: &Arc<Gnb>, stream: u16, message: InitialUeMessage) {
    let stream = gnb.stream_for(stream, message.ran.0);
    let known = message.s_tmsi.and_then(|s_tmsi| amf.ues.by_tmsi(s_tmsi));
    let is_new = known.is_none();
    let busy = || error_indication(None, Some(message.ran), Cause::OVERLOAD);
    let Some(slot) = known.or_else(|| amf.add_ue()) else {
        return gnb.send(stream, &busy());
    };
    let Some(link) = connect(gnb, &slot, &message, stream) else {
        gnb.send(stream, &busy());
        if is_new {
            let _nothing_came = amf.forget_ue(&slot);
        }
        return;
    };
    if is_new {
        let event = Event::UnknownUe(link, message.nas, Claimed::NotAsked);
        return start(Ue::new(amf, &slot), event);
    }
    if slot.deliver(Event::Initial(link.clone(), message.nas)) == Delivery::Dropped {
        // It went this moment, or its mailbox is full; the UE's own timer brings it back.
        link.forget();
    }
}

/// The gNB's number is this UE's; the UE that had it before has lost its connection. `None` when the gNB
/// has too many UEs.
fn connect(
    gnb: &Arc<Gnb>,
    slot: &Arc<Slot>,
    message: &InitialUeMessage,
    stream: u16,
) -> Option<Link> {
    let ue = UePair {
        amf: slot.id,
        ran: message.ran,
    };
    let (link, lost) = gnb.take(slot, ue, stream, message.location.tai)?;
    deliver_lost(lost);
    Some(link)
}

/// Hands a message to the UE that it is about, when it comes by the gNB that serves the UE. Numbers
/// that do not belong together are told, and what this gNB has under either is over (TS 38.413, 10.6).
fn to_ue(
    amf: &Arc<Amf>,
    gnb: &Arc<Gnb>,
    ue: UePair,
    tai: Option<Tai>,
    event: impl FnOnce(ConnectionId) -> Event,
) {
    if let Some((slot, id)) = gnb.of(ue, tai) {
        if slot.deliver(event(id)) == Delivery::Dropped {
            tracing::warn!(
                name: "n2-message-dropped",
                "a UE is gone, or sends faster than it is served"
            );
        }
        return;
    }
    let cause = match amf.ues.by_id(ue.amf) {
        Some(slot) => {
            let _gone_already = slot.deliver(Event::LostAt(gnb.number));
            Cause::INCONSISTENT_REMOTE_UE_ID
        }
        None => Cause::UNKNOWN_LOCAL_UE_ID,
    };
    deliver_lost(gnb.lose(&[UeConnection {
        amf: None,
        ran: Some(ue.ran),
    }]));
    gnb.send(
        COMMON_STREAM,
        &error_indication(Some(ue.amf), Some(ue.ran), cause),
    );
}

/// A gNB does not know a UE, or by other numbers: the connection is over (TS 38.413, 8.7.5 and 10.6).
fn lost_at_gnb(gnb: &Gnb, error: &ErrorIndication) {
    let about_numbers = matches!(
        error.cause,
        Some(Cause::UNKNOWN_LOCAL_UE_ID | Cause::INCONSISTENT_REMOTE_UE_ID)
    );
    if let (true, Some(_), Some(_)) = (about_numbers, error.amf, error.ran) {
        let (amf, ran) = (error.amf, error.ran);
        deliver_lost(gnb.lose(&[UeConnection { amf, ran }]));
    }
}

fn error_indication(
    amf: Option<AmfUeNgapId>,
    ran: Option<RanUeNgapId>,
    cause: Cause,
) -> NgapMessage {
    let cause = Some(cause);
    ErrorIndication { amf, ran, cause }.into()
}
