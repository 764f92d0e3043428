//! The tasks of an SMF: each does one job, from its beginning to its end.

use super::context::gateway::{Gateway, Release};
use super::context::job::Job;
use super::context::replica::Replica;
use super::context::sessions::Known;
use super::procedures::{command, establishment, gateway, recovery, release};
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at which commands are not answered.
const TICK: Duration = Duration::from_secs(1);

/// Does a job; what waits for a peer that is away goes on until `has_ended`.
pub(super) async fn run(
    replica: Arc<Replica>,
    event_loop: usize,
    job: Job,
    has_ended: impl Fn() -> bool,
) {
    let sbi = replica.sbi_at(event_loop);
    match job {
        Job::Establish {
            context,
            asked,
            serving,
            before,
        } => {
            if let Some(before) = before {
                release::forget(&replica, &before, &sbi).await;
            }
            establishment::establish(&replica, context, &asked, &serving, &sbi).await;
        }
        Job::EndRelease(context) => release::end(&replica, &context, &sbi).await,
        Job::Command { context, expiry } => command::expired(&replica, context, expiry, &sbi).await,
        Job::Again { undone, until } => {
            release::again(&replica, undone, until, &sbi, has_ended).await;
        }
    }
}

/// Reads what an earlier process of the replica has left, until `has_ended`.
pub(super) async fn recover(replica: Arc<Replica>, has_ended: impl Fn() -> bool) {
    recovery::run(&replica, has_ended).await;
}

/// Sends commands again that UEs have not answered, until `has_ended`.
pub(super) async fn watch_commands(replica: Arc<Replica>, has_ended: impl Fn() -> bool) {
    while !has_ended() {
        let next = replica.clock.now() + TICK;
        replica.clock.sleep_until(0, next).await;
        let now = replica.clock.now();
        for (session, expiry) in replica.commands.handle_timeout(now) {
            match replica.sessions.find(session) {
                Known::Held(context) => {
                    replica.begin(&replica.sbi(), Job::Command { context, expiry });
                }
                Known::Ended | Known::Nothing => replica.commands.forget(session),
            }
        }
    }
}

/// Asks for a release that no replica has taken, until `has_ended`.
pub(super) async fn release_later(
    gateway: Arc<Gateway>,
    release: Release,
    has_ended: impl Fn() -> bool,
) {
    gateway::work_off(&gateway, release, has_ended).await;
}
