//! AN release (TS 23.502, 4.2.6): a UE becomes idle; its sessions lose their downlink tunnels.

use crate::context::link::{ConnectionId, Lost};
use crate::context::network::NGAP_TIMER;
use crate::context::ue::{Event, Link, Slot, Ue};
use crate::peers::nsmf;
use corewire_core5g_ngap::{Cause, NgapMessage};

/// Releases the UE's connection and its context at the gNB (TS 38.413, 8.3.3), because the network wants
/// it or the gNB has asked for it (8.3.2).
pub(crate) async fn run(ue: &mut Ue, cause: Cause) {
    let Some(link) = ue.link.clone() else { return };
    link.release(cause);
    // A gNB that does not answer has let go, or is lost (TS 38.413, 8.3.3.3).
    let until = ue.amf.clock.now() + NGAP_TIMER;
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

/// Tells UEs that their connections are lost: each once, because the connection is out of the gNB's
/// table.
pub(crate) fn deliver_lost(lost: impl IntoIterator<Item = Lost<Slot>>) {
    for (slot, connection) in lost {
        let _gone_itself = slot.deliver(Event::Lost(connection));
    }
}

/// The connection is lost with its gNB, or by its reset.
///
/// With it thousands of others may be: the SMFs are told when it is this UE's turn.
pub(crate) fn lost(ue: &mut Ue, connection: ConnectionId) {
    if ue.is_by(connection) {
        disconnect(ue);
        ue.amf.releases.push(ue.slot.id);
    }
}

/// The connection is lost, if it is with this gNB.
pub(crate) async fn lost_at(ue: &mut Ue, gnb: u64) {
    if ue.link.as_ref().is_some_and(|link| link.is_at(gnb)) {
        idle(ue).await;
    }
}

/// The UE has come back on another connection: the one before is of no use. Its gNB's answer is for
/// nobody.
pub(crate) async fn abandon_link(ue: &mut Ue, now: &Link) {
    // A gNB that says the same number again has let go of the former connection itself.
    if let Some(link) = ue.link.clone().filter(|link| !link.has_number_of(now)) {
        link.release(Cause::RELEASE_BY_CORE);
    }
    idle(ue).await;
}

/// The UE has no connection any more: its sessions' user planes are to be taken down.
fn disconnect(ue: &mut Ue) {
    if let Some(link) = &ue.link {
        link.forget();
    }
    ue.set_link(None);
    for session in ue.sessions.values_mut() {
        session.take_down |= std::mem::take(&mut session.active);
    }
}

async fn idle(ue: &mut Ue) {
    disconnect(ue);
    if !take_down(ue).await {
        ue.amf.releases.push(ue.slot.id);
    }
}

/// Tells the SMFs of a UE's sessions that have no user plane at a gNB any more (TS 23.502, 4.2.6, steps 5
/// to 7); false when one of them has not taken it and is to be told again.
pub(crate) async fn take_down(ue: &mut Ue) -> bool {
    let due: Vec<u8> = ue
        .sessions
        .iter()
        .filter(|(_, session)| session.take_down)
        .map(|(session, _)| *session)
        .collect();
    let mut is_done = true;
    for session in due {
        let Some(entry) = ue.sessions.get(&session) else {
            continue;
        };
        let (context, named) = (entry.context.clone(), (session, entry.handle));
        match nsmf::user_plane(ue, &context, named, false).await {
            Ok(_) => {
                if let Some(entry) = ue.sessions.get_mut(&session) {
                    entry.take_down = false;
                }
            }
            Err(failure) if failure.status() == Some(404) => {
                ue.sessions.remove(&session);
            }
            // It was understood and refused: said again, it would be refused again.
            Err(failure) if failure.status().is_some_and(is_refusal) => {
                tracing::warn!(name: "user-plane-not-released", "an SMF does not take that a UE is idle: {failure}");
                if let Some(entry) = ue.sessions.get_mut(&session) {
                    entry.take_down = false;
                }
            }
            Err(failure) => {
                tracing::debug!(name: "user-plane-release-failed", "an SMF is told again that a UE is idle: {failure}");
                is_done = false;
            }
        }
    }
    if ue.registered {
        // Its counts have moved on since it was stored.
        ue.save().await;
    }
    is_done
}

/// Whether an answer says that the request itself is wrong. Overload and a missing or expired token
/// are other matters.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 408 | 425 | 429)
}
