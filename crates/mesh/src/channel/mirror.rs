//! Copies of requests for mirrors.

use super::chance::{ThreadRandom, after, clock};
use super::cluster::ClusterRuntime;
use super::env::Side;
use super::message::Message;
use super::permit::{InFlight, admit};
use super::pick::{Tried, pick};
use super::record;
use super::shared::Shared;
use crate::observe::counters::add;
use crate::policy::outcome::Outcome;
use std::sync::Arc;

/// Sends a copy of a message to a cluster. Its end is counted, nothing more.
pub(super) fn send(
    shared: &Arc<Shared>,
    side: Side,
    cluster: &Arc<ClusterRuntime>,
    message: &impl Message,
) {
    let (mut random, now) = (ThreadRandom, clock());
    let index = match side {
        Side::Loop(index) => index,
        // A blocking caller does not wait for a copy: a loop sends it.
        Side::Thread => 0,
    };
    let picked = pick(cluster, side, None, Tried::default(), now, &mut random);
    let Some(slot) = picked.and_then(|host| cluster.slots.get(host as usize)) else {
        return;
    };
    let endpoint = Arc::clone(&slot.endpoint);
    let Some(client) = slot.endpoint.client(index) else {
        return;
    };
    // A mirror that hangs must not gather copies without end.
    let live = Arc::clone(&cluster.live);
    let Ok(permit) = admit(live, cluster, &message.head(), &mut random) else {
        return;
    };
    let Some(copy) = message.mirrored(after(now, shared.env.options.call_timeout)) else {
        return;
    };
    add(&cluster.live.counters.mirrored);
    let (shared, cluster) = (Arc::downgrade(shared), Arc::clone(cluster));
    let in_flight = InFlight::enter(Arc::clone(&endpoint));
    client.call_then(copy, move |result| {
        drop((in_flight, permit));
        if let Some(shared) = shared.upgrade() {
            let (env, outcome) = (&shared.env, Outcome::of(&result));
            record::attempt(
                env,
                &cluster,
                &endpoint,
                None,
                clock(),
                outcome,
                &mut ThreadRandom,
            );
        }
    });
}
