//! The end of a session: that the UE asks for (TS 23.502, 4.3.4.2; TS 24.501, 6.4.3), that the AMF asks for
//! because the UE goes (TS 29.502, 5.2.2.4), or that the UDM does because it is elsewhere (TS 29.503, 5.3.2.3.2).

use super::lookup::context_of;
use super::reply::{not_saved, updated};
use crate::context::commands::Kind;
use crate::context::job::{Job, Undone};
use crate::context::n1 as nas;
use crate::context::reference::SmContextRef;
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use crate::context::sessions::Known;
use crate::peers::upf::UserPlane as _;
use crate::peers::{flow, namf, nudsf};
use crate::ports::Sbi;
use corewire_core5g_nas::SmCause;
use corewire_core5g_ngap::Cause;
use corewire_core5g_ngap::transfer::ReleaseCommandTransfer;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_core5g_sbi::model::smf::{SM_CONTEXTS, SmContextUpdateData, n1, n2};
use corewire_core5g_sbi::{Exchange, Problem, Reply};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long what could not be said to a peer is tried again.
const AWAY: Duration = Duration::from_secs(120);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Tells the UE to let go, and the gNB too when it holds resources.
pub(super) async fn begin(
    replica: &Replica,
    context: Arc<SmContext>,
    pti: u8,
    sbi: &Sbi,
) -> Result<Reply, Problem> {
    let before = context.state;
    // Also while the gNB sets them up.
    let has_resources = matches!(before, State::Active | State::Establishing);
    let command = nas::release_command(context.pdu_session_id, pti, SmCause::REGULAR_DEACTIVATION);
    let releasing = |context: &mut SmContext| context.state = State::Releasing;
    let reference = context.reference;
    if let Err(why) = nudsf::save(replica, context, sbi, releasing).await {
        // The UE asks again, and neither it nor its gNB has been told anything.
        if let Known::Held(context) = replica.sessions.find(reference) {
            let as_before = |context: &mut SmContext| context.state = before;
            replica.sessions.change(context, as_before);
        }
        return Err(not_saved(why));
    }
    let transfer = if has_resources {
        Some(
            ReleaseCommandTransfer {
                cause: Cause::NORMAL_RELEASE,
            }
            .encode()
            .map_err(|error| Problem::failure(error.to_string()))?
            .into(),
        )
    } else {
        None
    };
    replica.expect_answer(reference, Kind::Release, pti, command.as_ref());
    let data = SmContextUpdateData {
        n1_sm_msg: command.as_ref().map(|_| n1::reference()),
        n2_sm_info: transfer.as_ref().map(|_| n2::reference()),
        n2_sm_info_type: transfer.as_ref().map(|_| "PDU_RES_REL_CMD".to_owned()),
        ..SmContextUpdateData::default()
    };
    Ok(updated(&data, command, transfer))
}

/// The UE has let go: the session is gone, and the AMF is notified.
pub(crate) async fn end(replica: &Arc<Replica>, context: &SmContext, sbi: &Sbi) {
    forget(replica, context, sbi).await;
    if let Err(failure) = namf::notify_released(sbi, context).await {
        tracing::warn!(
            name: "amf-not-notified",
            "{}: the AMF was not notified of the release: {failure}",
            context.reference
        );
    }
}

/// Ends a session because the UE goes (TS 29.502, 5.2.2.4).
pub(super) async fn by_amf(replica: Arc<Replica>, exchange: Exchange) -> Result<Reply, Problem> {
    let sbi = replica.sbi();
    let context = context_of(&replica, &exchange, &sbi).await?;
    forget(&replica, &context, &sbi).await;
    Ok(Reply::no_content())
}

/// The UDM has another registration of the session (TS 29.503, 5.3.2.3.2): the UE has begun it anew,
/// and its AMF did not know of this one. It ends without a word to them or to the UDM.
pub(super) async fn by_udm(replica: Arc<Replica>, exchange: Exchange) -> Result<Reply, Problem> {
    let sbi = replica.sbi();
    let context = context_of(&replica, &exchange, &sbi).await?;
    let_go(&replica, context.reference, &sbi).await;
    Ok(Reply::no_content())
}

/// Ends a session: here, in the store, at the UPF and at the UDM. Does nothing where that is done
/// or in progress.
pub(crate) async fn forget(replica: &Arc<Replica>, context: &SmContext, sbi: &Sbi) {
    if let_go(replica, context.reference, sbi).await {
        flow::deregister(replica, sbi, context).await;
    }
}

/// The same without a word to the UDM. Says whether it had not been done before.
async fn let_go(replica: &Arc<Replica>, reference: SmContextRef, sbi: &Sbi) -> bool {
    if !replica.sessions.end(reference) {
        return false;
    }
    replica.count();
    if let Err(failure) = sbi.release(reference).await {
        tracing::warn!(name: "upf-release-failed", "{reference}: the UPF keeps its tunnel: {failure}");
        until_done(replica, Undone::AtUpf(reference));
    }
    if let Err(failure) = nudsf::remove(reference, sbi).await {
        tracing::warn!(name: "store-remove-failed", "{reference}: stays in the store: {failure}");
        until_done(replica, Undone::InStore(reference));
    }
    let was_ours = replica.pools().give_back(reference);
    if !was_ours && reference.maker() != replica.own.maker {
        // It learns, when it is there, that the session is gone.
        until_done(replica, Undone::AtMaker(reference));
    }
    true
}

/// Does again what was not done, until it is, or for as long as a peer may be away.
fn until_done(replica: &Arc<Replica>, undone: Undone) {
    let until = replica.clock.now() + AWAY;
    replica.begin(&replica.sbi(), Job::Again { undone, until });
}

/// Tries until it is done, or until then, or until `has_ended`.
pub(crate) async fn again(
    replica: &Replica,
    undone: Undone,
    until: Instant,
    sbi: &Sbi,
    has_ended: impl Fn() -> bool,
) {
    loop {
        let now = replica.clock.now();
        if now >= until || has_ended() {
            return;
        }
        let next = now + TRY_AGAIN;
        replica.clock.sleep_until(sbi.event_loop, next).await;
        let done = match undone {
            Undone::AtUpf(reference) => sbi.release(reference).await,
            Undone::InStore(reference) => nudsf::remove(reference, sbi).await,
            Undone::AtMaker(reference) => tell_maker(replica, reference, sbi).await,
        };
        if done.is_ok() {
            return;
        }
    }
}

/// The address of a session is one of the replica's that made it.
async fn tell_maker(
    replica: &Replica,
    reference: SmContextRef,
    sbi: &Sbi,
) -> Result<(), SbiFailure> {
    let root = reference.root_like(&replica.own.api_root);
    let request = SbiRequest::post(format!("{SM_CONTEXTS}/{reference}/release"));
    match sbi.at(&root, request).await {
        // 404: it knows already.
        Err(failure) if failure.status().is_none() => Err(failure),
        _ => Ok(()),
    }
}
