//! What an earlier process of this replica has left (TS 23.527, 4): addresses that are taken, and tunnels
//! without a session.

use crate::context::commands::Kind;
use crate::context::reference::SmContextRef;
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use crate::peers::nudsf;
use crate::peers::upf::UserPlane as _;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a new session waits for a replica that reads what is stored.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Between two questions to a store that does not answer.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Reads what is stored, so that no address is given away twice, and lets the UPF forget what an
/// earlier process of this address has begun and not stored; until `has_ended`.
pub(crate) async fn run(replica: &Replica, has_ended: impl Fn() -> bool) {
    let sbi = replica.sbi_at(0);
    // Before anything new is begun here: what is there is of an earlier process.
    let at_upf = sbi.sessions(&replica.new_reference().prefix()).await;
    let stored = loop {
        match nudsf::stored(&sbi).await {
            Ok(contexts) => break contexts,
            Err(_) if has_ended() => return,
            Err(_) => {
                let next = replica.clock.now() + ASK_AGAIN;
                replica.clock.sleep_until(0, next).await;
            }
        }
    };
    keep_addresses(replica, &stored);
    wait_for_unfinished(replica, &stored);
    replica.recovered.store(true, Ordering::Release);
    let stored: HashSet<SmContextRef> = stored.iter().map(|context| context.reference).collect();
    let left = at_upf.unwrap_or_default().into_iter();
    for session in left.filter(|session| !stored.contains(session)) {
        if let Err(failure) = sbi.release(session).await {
            tracing::warn!(name: "upf-release-failed", "the UPF keeps a tunnel without a session: {failure}");
        }
    }
}

/// Keeps the addresses of stored sessions.
fn keep_addresses(replica: &Replica, stored: &[SmContext]) {
    let mut pools = replica.pools();
    for context in stored {
        if !replica.sessions.has_ended(context.reference) {
            pools.keep(&context.dnn, context.address, context.reference);
        }
    }
}

/// Waits once more for answers to what an earlier process of this replica has begun and not finished. Without
/// that a context would stay whose UE, having heard nothing, begins its session anew elsewhere.
fn wait_for_unfinished(replica: &Replica, stored: &[SmContext]) {
    let now = replica.clock.now();
    for context in stored {
        let kind = match context.state {
            State::Establishing => Kind::Establishment,
            State::Releasing => Kind::Release,
            State::Active | State::Inactive => continue,
        };
        let is_ours = context.reference.maker() == replica.own.maker;
        if is_ours
            && replica
                .sessions
                .take_over(Arc::new(context.clone()))
                .is_some()
        {
            replica.commands.left(now, context.reference, kind);
        }
    }
    replica.count();
}

/// Completes when addresses can be given away; says whether they can, which is not so while the store does
/// not answer.
pub(super) async fn until_done(replica: &Replica) -> bool {
    let until = replica.clock.now() + PATIENCE;
    while !replica.recovered.load(Ordering::Acquire) {
        let now = replica.clock.now();
        if now >= until {
            return false;
        }
        replica.clock.sleep_until(0, now + LOOK_AGAIN).await;
    }
    true
}
