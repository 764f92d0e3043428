//! AN release (TS 23.502, 4.2.6): a UE becomes idle; its sessions lose their downlink tunnels.

use super::gnb::{ConnectionId, Link};
use super::network::NGAP_TIMER;
use super::peers::nsmf;
use super::ue::{Event, Ue};
use crate::ngap::{Cause, NgapMessage};
use std::time::Instant;

/// Whether a gNB asks for the release of a UE's connection.
pub(super) fn is_request(message: &NgapMessage) -> bool {
    matches!(message, NgapMessage::UeContextReleaseRequest(_))
}

/// The gNB wants to let go of the UE: it was silent, or the radio is lost.
pub(super) async fn by_gnb(ue: &mut Ue, cause: Cause) {
    by_network(ue, cause).await;
}

/// Lets the gNB let go of the UE.
pub(super) async fn by_network(ue: &mut Ue, cause: Cause) {
    let Some(link) = ue.link.clone() else { return };
    link.release(cause);
    // A gNB that does not answer has let go, or is lost (TS 38.413, 8.3.3.3).
    let until = Instant::now() + NGAP_TIMER;
    let _answered = ue
        .wait(until, |event| match event {
            Event::Ngap(_, message)
                if matches!(*message, NgapMessage::UeContextReleaseComplete(_)) =>
            {
                Ok(())
            }
            other => Err(other),
        })
        .await;
    idle(ue).await;
}

/// The connection is lost with its gNB, or by its reset.
pub(super) async fn lost(ue: &mut Ue, connection: ConnectionId) {
    if ue.is_by(connection) {
        idle(ue).await;
    }
}

/// The connection is lost, if it is with this gNB.
pub(super) async fn lost_at(ue: &mut Ue, gnb: u64) {
    if ue.link.as_ref().is_some_and(|link| link.is_at(gnb)) {
        idle(ue).await;
    }
}

/// The UE has come back on another connection: the one before is of no use. Its gNB's answer is for
/// nobody.
pub(super) async fn abandon_link(ue: &mut Ue, now: &Link) {
    // A gNB that says the same number again has let go of the former connection itself.
    if let Some(link) = ue.link.clone().filter(|link| !link.has_number_of(now)) {
        link.release(Cause::RELEASE_BY_CORE);
    }
    idle(ue).await;
}

async fn idle(ue: &mut Ue) {
    if let Some(link) = &ue.link {
        link.forget();
    }
    ue.set_link(None);
    let active: Vec<u8> = ue
        .sessions
        .iter()
        .filter(|(_, session)| session.active)
        .map(|(session, _)| *session)
        .collect();
    for session in active {
        let Some(entry) = ue.sessions.get_mut(&session) else {
            continue;
        };
        entry.active = false;
        let (context, handle) = (entry.context.clone(), entry.handle);
        let named = (session, handle);
        if let Err(failure) = nsmf::user_plane(ue, &context, named, false).await {
            tracing::warn!(name: "smf-update-failed", "the SMF was not notified that a UE is idle: {failure}");
            if failure.status() == Some(404) {
                ue.sessions.remove(&session);
            }
        }
    }
    if ue.registered {
        // Its counts have moved on since it was stored.
        ue.save().await;
    }
}
