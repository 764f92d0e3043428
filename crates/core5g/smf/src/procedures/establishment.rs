//! PDU session establishment (TS 23.502, 4.3.2.2.1).
//!
//! ```text
//!   AMF ── create: N1 request ──▶ SMF ─▶ UDM: what may the UE have?
//!       ◀── 201, or an N1 reject ──┤
//!                                  ├─▶ UPF: a tunnel        UDSF: the context
//!       ◀── N1N2MessageTransfer ───┤   N1 accept for the UE, N2 set up for the gNB
//!       ── update: N2 response ───▶ activation
//! ```

use super::lookup::context_of;
use super::reply::updated;
use super::{n2_transfer, recovery, release};
use crate::context::job::Job;
use crate::context::n1::{self as nas, Establishment, Request, Uplink};
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use crate::context::subscription::Denied;
use crate::peers::namf::{self, N2Info};
use crate::peers::upf::UserPlane as _;
use crate::peers::{flow, nudsf};
use crate::ports::Sbi;
use bytes::Bytes;
use corewire_core5g_nas::SmCause;
use corewire_core5g_runtime::SbiFailure;
use corewire_core5g_sbi::model::common::{PlmnId, Snssai as Slice};
use corewire_core5g_sbi::model::smf::{
    ErrorDetail, SM_CONTEXTS, SmContextCreateData, SmContextCreatedData, SmContextError,
    SmContextUpdateData, n1,
};
use corewire_core5g_sbi::{Exchange, Multipart, Problem, Reply};
use std::sync::Arc;
use std::time::Duration;

/// What is used when neither the UE nor the AMF names one.
const DEFAULT_DNN: &str = "internet";

/// How often the AMF is asked to hand on the accept, while it cannot for the moment.
const TRANSFERS: u32 = 5;
/// Between two of them.
const GUARD_TIME: Duration = Duration::from_secs(1);

/// CreateSMContext (TS 29.502, 5.2.2.2).
pub(super) async fn create(replica: Arc<Replica>, exchange: Exchange) -> Result<Reply, Problem> {
    let message = exchange.multipart()?;
    let data: SmContextCreateData = message.json()?;
    let supi = data
        .supi
        .ok_or_else(|| Problem::mandatory_missing("/supi"))?;
    let session = data
        .pdu_session_id
        .ok_or_else(|| Problem::mandatory_missing("/pduSessionId"))?;
    let part = data
        .n1_sm_msg
        .as_ref()
        .and_then(|part| message.part(&part.content_id))
        .ok_or_else(|| Problem::mandatory_missing("/n1SmMsg"))?;
    let asked = match nas::decode(part) {
        Some(Uplink {
            session: named,
            request: Request::Establishment(asked),
            ..
        }) if named == session => asked,
        _ => return Err(Problem::new(403, "N1_SM_ERROR")),
    };
    let sbi = replica.sbi();
    let slice = data.s_nssai.unwrap_or(Slice { sst: 1, sd: None });
    let dnn = data.dnn.unwrap_or_else(|| DEFAULT_DNN.to_owned());
    let refused = |status, cause, sm_cause| Refusal {
        status,
        cause,
        detail: None,
        n1_message: nas::establishment_reject(session, asked.pti, sm_cause),
    };
    if let Err((cause, sm_cause)) = asked.acceptable() {
        return refused(403, cause, sm_cause).reply();
    }
    if !recovery::until_done(&replica).await {
        let refusal = refused(503, "NF_CONGESTION", SmCause::NETWORK_FAILURE);
        let detail = "the store of contexts does not answer";
        return refusal.detail(detail.to_owned()).reply();
    }
    let subscribed = match flow::subscription(&replica, &sbi, &supi, &slice, &dnn).await {
        Ok(subscribed) => subscribed,
        Err(failure) => {
            let refusal = refused(504, "TARGET_NF_NOT_REACHABLE", SmCause::NETWORK_FAILURE);
            return refusal.detail(failure.to_string()).reply();
        }
    };
    let subscription = match subscribed {
        Ok(subscription) => subscription,
        Err(Denied(cause, sm_cause)) => return refused(403, cause, sm_cause).reply(),
    };
    if !replica.pools().knows(&dnn) {
        return refused(403, "DNN_NOT_SUPPORTED", SmCause::UNKNOWN_DNN).reply();
    }
    let reference = replica.new_reference();
    let Some(address) = replica.pools().take(&dnn, reference) else {
        let cause = "INSUFFICIENT_RESOURCES_SLICE_DNN";
        return refused(500, cause, SmCause::INSUFFICIENT_RESOURCES).reply();
    };
    let context = Arc::new(SmContext {
        reference,
        supi,
        pdu_session_id: session,
        slice,
        dnn,
        address,
        subscription,
        uplink: None,
        status_uri: data.sm_context_status_uri,
        state: State::Establishing,
        pti: asked.pti,
    });
    let created = SmContextCreatedData {
        pdu_session_id: Some(session),
        s_nssai: Some(context.slice.clone()),
        up_cnx_state: Some("ACTIVATING".to_owned()),
    };
    // The answer comes first: what follows goes to the AMF as a request of its own.
    let before = replica.sessions.begin(&context);
    let job = Job::Establish {
        context,
        asked,
        serving: data.serving_network,
        before,
    };
    replica.begin(&sbi, job);
    let location = format!("{SM_CONTEXTS}/{reference}");
    Ok(Reply::created(&location, &created))
}

/// The part behind the answer: user plane, store, UE and gNB.
pub(crate) async fn establish(
    replica: &Arc<Replica>,
    context: Arc<SmContext>,
    asked: &Establishment,
    serving: &PlmnId,
    sbi: &Sbi,
) {
    let reference = context.reference;
    let set_up = set_up(replica, Arc::clone(&context), asked, sbi).await;
    let has_ended = replica.sessions.has_ended(reference);
    match set_up {
        Ok(()) if has_ended => {}
        Ok(()) => {
            flow::register(replica, sbi, &context, serving).await;
            if replica.sessions.has_ended(reference) && !replica.sessions.has_one(&context) {
                // It ended meanwhile: the UDM may have heard of that first.
                flow::deregister(replica, sbi, &context).await;
            }
        }
        Err(_) if has_ended => {
            // The UE asked for its session once more, or let go of it: nothing is to be said to
            // it, and what was made meanwhile is undone.
            if let Err(failure) = sbi.release(reference).await {
                tracing::warn!(name: "upf-release-failed", "{reference}: the UPF keeps its tunnel: {failure}");
            }
        }
        Err(failure) => {
            tracing::warn!(name: "establishment-failed", "{reference}: not established: {failure}");
            // The UE's own timer (T3580) is the other way to learn it.
            let _told = namf::transfer(sbi, &context, reject(&context), None, None).await;
            let _told = namf::notify_released(sbi, &context).await;
            release::forget(replica, &context, sbi).await;
        }
    }
}

/// The gNB has no resources for a new session. The UE did not get the accept, which goes with them (TS 38.413,
/// 8.2.1.3): it is rejected, and the session ends (TS 23.502, 4.3.2.2.1, step 20).
pub(super) fn without_resources(
    replica: &Arc<Replica>,
    context: Arc<SmContext>,
    sbi: &Sbi,
) -> Reply {
    let reject = reject(&context);
    let data = SmContextUpdateData {
        up_cnx_state: Some("DEACTIVATED".to_owned()),
        n1_sm_msg: reject.as_ref().map(|_| n1::reference()),
        ..SmContextUpdateData::default()
    };
    replica.begin(sbi, Job::EndRelease(context));
    updated(&data, reject, None)
}

fn reject(context: &SmContext) -> Option<Bytes> {
    let cause = SmCause::INSUFFICIENT_RESOURCES;
    nas::establishment_reject(context.pdu_session_id, context.pti, cause)
}

async fn set_up(
    replica: &Replica,
    context: Arc<SmContext>,
    asked: &Establishment,
    sbi: &Sbi,
) -> Result<(), SbiFailure> {
    let uplink = sbi.establish(context.reference).await?;
    let has_uplink = |context: &mut SmContext| context.uplink = Some(uplink.into());
    let context = nudsf::save(replica, context, sbi, has_uplink).await?;
    replica.count();
    let accept = nas::establishment_accept(&context, asked, &replica.options);
    let info = N2Info {
        kind: "PDU_RES_SETUP_REQ",
        octets: n2_transfer::setup_request(&context, uplink)?,
    };
    transfer_accept(replica, &context, accept, info, sbi).await
}

/// Hands the AMF the accept. While it serves the UE in another procedure it is asked again, after a guard time
/// (TS 23.502, 4.2.3.3, step 3; TS 29.518, 5.2.2.3.1.2).
async fn transfer_accept(
    replica: &Replica,
    context: &SmContext,
    accept: Option<Bytes>,
    info: N2Info,
    sbi: &Sbi,
) -> Result<(), SbiFailure> {
    let reference = context.reference;
    let mut attempts = 1;
    loop {
        let root = &replica.own.api_root;
        let failure_uri = format!("{root}/nsmf-callback/v1/{reference}/n1-n2-failure-notify");
        let (accept, info) = (accept.clone(), Some(info.clone()));
        let failure = match namf::transfer(sbi, context, accept, info, Some(failure_uri)).await {
            Err(failure) if failure.status() == Some(409) && attempts < TRANSFERS => failure,
            answered => return answered.map(drop),
        };
        attempts += 1;
        let next = replica.clock.now() + GUARD_TIME;
        replica.clock.sleep_until(sbi.event_loop, next).await;
        if replica.sessions.has_ended(reference) {
            return Err(failure);
        }
    }
}

/// N1N2TransferFailureNotification (TS 29.518, 5.2.2.3.2): the UE, which the AMF has called, does not come. A
/// session that it has not heard of ends (TS 23.502, 4.3.2.2.1, step 20); of another it knows.
pub(super) async fn not_transferred(
    replica: Arc<Replica>,
    exchange: Exchange,
) -> Result<Reply, Problem> {
    let sbi = replica.sbi();
    let context = context_of(&replica, &exchange, &sbi).await?;
    if context.state == State::Establishing {
        replica.begin(&sbi, Job::EndRelease(context));
    }
    Ok(Reply::no_content())
}

/// SmContextCreateError (TS 29.502, 6.1.6.2.15): why, for the AMF, with the NAS message that says it to the UE.
struct Refusal {
    status: u16,
    cause: &'static str,
    /// A sentence for people.
    detail: Option<String>,
    n1_message: Option<Bytes>,
}

impl Refusal {
    fn detail(mut self, detail: String) -> Self {
        self.detail = Some(detail);
        self
    }

    fn reply(self) -> Result<Reply, Problem> {
        let Some(octets) = self.n1_message else {
            return Err(Problem::new(self.status, self.cause));
        };
        let error = SmContextError {
            error: ErrorDetail {
                status: self.status,
                cause: self.cause.to_owned(),
                detail: self.detail,
            },
            n1_sm_msg: Some(n1::reference()),
        };
        let (content_type, body) = Multipart::new(&error)
            .with(n1::ID, n1::MEDIA_TYPE, octets)
            .encode();
        Ok(Reply::octets(self.status, &content_type, body))
    }
}
