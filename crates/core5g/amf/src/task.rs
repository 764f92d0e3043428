//! A UE's task: procedures one after the other, in the order in which events came; and the tasks that
//! look after all UEs.

use super::context::ue::{Amf, Delivery, Event, Ue};
use super::procedures::{dispatch, restoration};
use corewire_core5g_ngap::Cause;
use corewire_core5g_runtime::{Gauge, contain};
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at which UEs were silent for too long, or do not answer when they are paged.
const TICK: Duration = Duration::from_secs(1);
/// How long the work list is not looked at while nothing is due.
const LOOK: Duration = Duration::from_secs(60);

/// Does what `event` asks for, and what comes meanwhile, and parks the context.
pub(super) async fn run(mut ue: Box<Ue>, mut event: Event) {
    loop {
        if let Some(event) = ue.admit(event)
            && contain(Box::pin(dispatch::event(&mut ue, event)))
                .await
                .is_err()
        {
            abandon(&mut ue);
            return;
        }
        if !ue.registered && ue.link.is_none() {
            forget(&mut ue);
            return;
        }
        event = match ue.deferred.pop_front() {
            Some(deferred) => deferred,
            None => {
                let slot = Arc::clone(&ue.slot);
                ue.deferred = std::collections::VecDeque::new();
                match slot.mailbox.park(ue) {
                    Some((back, next)) => {
                        ue = back;
                        next
                    }
                    None => return,
                }
            }
        };
    }
}

/// Takes the UE out of the tables: nothing finds it any more.
fn forget(ue: &mut Ue) {
    ue.forget_names();
    ue.amf.silence.forget(&ue.slot.idle);
    let told = ue.amf.forget_ue(&ue.slot);
    for event in std::mem::take(&mut ue.deferred).into_iter().chain(told) {
        match event {
            // The UE that says its name now is not the UE that was.
            Event::Initial(link, octets) => restoration::reroute(&ue.amf, &link, octets),
            // Its own timer brings it back.
            Event::Arrived(link, _) => link.forget(),
            _ => {}
        }
    }
}

/// A procedure panicked, so the context here is not to be trusted: releases the connection and forgets
/// the UE. The UE registers again, or is restored from what the store last got.
fn abandon(ue: &mut Ue) {
    tracing::error!(
        name: "ue-abandoned",
        "a procedure of AMF UE NGAP ID {:?} panicked: its connection is released and its context dropped",
        ue.slot.id
    );
    if let Some(link) = &ue.link {
        link.release(Cause::UNSPECIFIED);
        link.forget();
    }
    ue.set_link(None);
    ue.set_registered(false);
    forget(ue);
}

/// Deregisters UEs that are silent for too long (TS 24.501, 5.3.7), and looks after those that are paged,
/// until `has_ended`.
pub(super) async fn watch_idle(amf: Arc<Amf>, has_ended: impl Fn() -> bool) {
    while !has_ended() {
        let next = amf.clock.now() + TICK;
        amf.clock.sleep_until(0, next).await;
        let now = amf.clock.now();
        for ue in amf.paged.handle_timeout(now) {
            let _gone = amf.ues.by_id(ue).map(|slot| slot.deliver(Event::Paged));
        }
        let silent = amf.silence.handle_timeout(now, |id| amf.ues.by_id(id));
        for (slot, since) in silent {
            let _came_back = slot.deliver(Event::Silent(since));
        }
    }
}

/// Gives UEs their turns to tell their SMFs that they have lost their connections, until `has_ended`.
pub(super) async fn work_off_releases(amf: Arc<Amf>, waiting: Gauge, has_ended: impl Fn() -> bool) {
    let releases = &amf.releases;
    while !has_ended() {
        let seen = releases.changes();
        // No lock is held while a UE is reached: it may end its turn at once.
        while let Some(turn) = releases.next_turn(&amf.clock) {
            match amf.ues.by_id(turn.ue) {
                Some(slot) => {
                    if slot.deliver(Event::TakeDown(turn)) == Delivery::Dropped {
                        tracing::debug!(name: "ue-gone", "a UE went before its SMFs were told that it is idle");
                    }
                }
                // Deregistered meanwhile: its sessions are released.
                None => turn.end(true),
            }
        }
        waiting.set(releases.len() as u64);
        let until = releases.timeout();
        let until = until.unwrap_or_else(|| amf.clock.now() + LOOK);
        let timeout = amf.clock.sleep_until(0, until);
        releases.changed(seen, timeout).await;
    }
}
