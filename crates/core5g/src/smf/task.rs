//! The tasks of an SMF: each does one job, from its beginning to its end.

use super::context::gateway::{Gateway, Release};
use super::context::job::Job;
use super::context::replica::Replica;
use super::procedures::{establishment, gateway, recovery, release};
use std::sync::Arc;

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
        Job::Again { undone, until } => {
            release::again(&replica, undone, until, &sbi, has_ended).await;
        }
    }
}

/// Reads what an earlier process of the replica has left, until `has_ended`.
pub(super) async fn recover(replica: Arc<Replica>, has_ended: impl Fn() -> bool) {
    recovery::run(&replica, has_ended).await;
}

/// Asks for a release that no replica has taken, until `has_ended`.
pub(super) async fn release_later(
    gateway: Arc<Gateway>,
    release: Release,
    has_ended: impl Fn() -> bool,
) {
    gateway::work_off(&gateway, release, has_ended).await;
}
