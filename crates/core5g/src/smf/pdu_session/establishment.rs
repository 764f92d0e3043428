//! PDU session establishment (TS 23.502, 4.3.2.2.1).
//!
//! ```text
//!   AMF ── create: N1 request ──▶ SMF ─▶ UDM: what may the UE have?
//!       ◀── 201, or an N1 reject ──┤
//!                                  ├─▶ UPF: a tunnel        UDSF: the context
//!       ◀── N1N2MessageTransfer ───┤   N1 accept for the UE, N2 set up for the gNB
//!       ── update: N2 response ───▶ activation
//! ```

use super::super::SM_CONTEXTS;
use super::super::models::{
    ErrorDetail, Slice, SmContextCreateData, SmContextCreatedData, SmContextError, n1,
};
use super::super::reference::SmContextRef;
use super::context::{SmContext, State};
use super::n1::{self as nas, Establishment, Request};
use super::n1n2::{self, N2Info};
use super::service::{PduSessions, unavailable};
use super::{activation, subscription};
use crate::nas::SmCause;
use crate::runtime::{Flow, Runtime, Sbi, SbiFailure, SbiRequest};
use crate::sbi::{Exchange, Multipart, Problem, Reply};
use crate::source3;
use crate::upf::UserPlane as _;
use serde_json::json;
use std::sync::Arc;

/// What is used when neither the UE nor the AMF names one.
const DEFAULT_DNN: &str = "internet";

impl PduSessions {
    /// CreateSMContext (TS 29.502, 5.2.2.2).
    pub(super) async fn create(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let message = exchange.multipart()?;
        let data: SmContextCreateData = message.json()?;
        let supi = data
            .supi
            .clone()
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
            Some(Request::Establishment(asked)) => asked,
            _ => return Err(Problem::new(403, "N1_SM_ERROR")),
        };
        let turn = self.turn();
        let sbi = self.runtime.sbi(turn);
        self.until_recovered().await?;

        let slice = data.s_nssai.unwrap_or(Slice { sst: 1, sd: None });
        let dnn = data.dnn.unwrap_or_else(|| DEFAULT_DNN.to_owned());
        let refuse = |status, cause, sm_cause| {
            refused(
                status,
                cause,
                nas::establishment_reject(session, asked.pti, sm_cause),
            )
        };
        if let Err(sm_cause) = asked.acceptable() {
            return refuse(403, "PDUTYPE_NOT_SUPPORTED", sm_cause);
        }
        let subscribed = subscription::retrieve(&sbi, &supi, &slice, &dnn)
            .await
            .map_err(unavailable)?;
        let Some(subscribed) = subscribed else {
            return refuse(403, "DNN_DENIED", SmCause::NOT_SUBSCRIBED);
        };
        if !self.pools().knows(&dnn) {
            return refuse(403, "DNN_NOT_SUPPORTED", SmCause::UNKNOWN_DNN);
        }
        let reference = self.new_reference();
        let Some(address) = self.pools().take(&dnn, reference) else {
            return refuse(
                500,
                "INSUFFICIENT_RESOURCES_SLICE_DNN",
                SmCause::INSUFFICIENT_RESOURCES,
            );
        };
        let context = SmContext {
            reference: reference.to_string(),
            supi,
            pdu_session_id: session,
            slice,
            dnn,
            address,
            subscription: subscribed,
            uplink: None,
            status_uri: data.sm_context_status_uri,
            state: State::Establishing,
        };
        let created = SmContextCreatedData {
            pdu_session_id: Some(session),
            s_nssai: Some(context.slice.clone()),
            up_cnx_state: Some("ACTIVATING".to_owned()),
        };
        // The answer comes first: what follows goes to the AMF as a request of its own.
        let before = self.contexts.begin(reference, context.clone());
        let task = Arc::clone(&self);
        self.runtime.spawn(turn, async move {
            if let Some((before, its_context)) = before {
                task.forget(before, &its_context, &sbi).await;
            }
            task.establish(reference, context, asked, &sbi).await;
        });
        Ok(Reply::created(
            &format!("{SM_CONTEXTS}/{reference}"),
            &created,
        ))
    }

    /// The part behind the answer: user plane, store, UE and gNB.
    async fn establish(
        self: &Arc<Self>,
        reference: SmContextRef,
        mut context: SmContext,
        asked: Establishment,
        sbi: &Sbi,
    ) {
        match self.set_up(reference, &mut context, &asked, sbi).await {
            Ok(()) => register(sbi, &self.runtime, &context).await,
            Err(_) if self.contexts.has_ended(reference) => {
                // The UE asked for its session once more, or let go of it: nothing is to be said to
                // it, and what was made meanwhile is undone.
                if let Err(failure) = sbi.release(&context.session_key()).await {
                    tracing::warn!(name: "upf-release-failed", "{reference}: the UPF keeps its tunnel: {failure}");
                }
            }
            Err(failure) => {
                tracing::warn!(name: "establishment-failed", "{reference}: not established: {failure}");
                let cause = SmCause::INSUFFICIENT_RESOURCES;
                let reject = nas::establishment_reject(context.pdu_session_id, asked.pti, cause);
                // The UE's own timer (T3580) is the other way to learn it.
                let _told = n1n2::transfer(sbi, &context, reject, None).await;
                let _told = n1n2::notify_released(sbi, &context).await;
                self.forget(reference, &context, sbi).await;
            }
        }
    }

    async fn set_up(
        &self,
        reference: SmContextRef,
        context: &mut SmContext,
        asked: &Establishment,
        sbi: &Sbi,
    ) -> Result<(), SbiFailure> {
        let uplink = sbi.establish(&context.session_key()).await?;
        context.uplink = Some(uplink.into());
        self.contexts.put(reference, context.clone(), sbi).await?;
        self.count();
        let accept = nas::establishment_accept(context, asked, &self.options);
        let set_up = activation::setup_request(context, uplink)?;
        let info = N2Info {
            kind: "PDU_RES_SETUP_REQ",
            octets: set_up,
        };
        n1n2::transfer(sbi, context, accept, Some(info)).await?;
        Ok(())
    }
}

/// SmContextCreateError with the NAS message that says it to the UE (TS 29.502, 6.1.6.2.15).
fn refused(
    status: u16,
    cause: &'static str,
    n1_message: Option<bytes::Bytes>,
) -> Result<Reply, Problem> {
    let Some(octets) = n1_message else {
        return Err(Problem::new(status, cause));
    };
    let error = SmContextError {
        error: ErrorDetail {
            status,
            cause: cause.to_owned(),
        },
        n1_sm_msg: Some(n1::reference()),
    };
    let (content_type, body) = Multipart::new(&error)
        .with(n1::ID, n1::MEDIA_TYPE, octets)
        .encode();
    Ok(Reply::octets(status, &content_type, body))
}

/// Tells the UDM which SMF holds the session (TS 29.503, 5.3.2.2.3). The session stands without it.
async fn register(sbi: &Sbi, runtime: &Runtime, context: &SmContext) {
    let instance = runtime.instance();
    if sbi.flow() == Flow::Source3 {
        let serves = || {
            json!({"session": {
                "smfInstanceId": instance, "address": context.address, "reference": context.reference,
            }})
        };
        return source3::tell(sbi, "update-smf-create-session", &context.supi, serves).await;
    }
    let (mcc, mnc) = plmn_of(&context.supi);
    let registration = json!({
        "smfInstanceId": instance,
        "pduSessionId": context.pdu_session_id,
        "singleNssai": context.slice,
        "dnn": context.dnn,
        "plmnId": {"mcc": mcc, "mnc": mnc},
        "deregCallbackUri": format!(
            "{}/nsmf-callback/v1/{}/dereg-notify", runtime.api_root(), context.reference
        ),
    });
    let registered = match SbiRequest::put(registration_path(context)).json(&registration) {
        Ok(request) => sbi.call("nudm-uecm", request).await.map(drop),
        Err(failure) => Err(failure),
    };
    if let Err(failure) = registered {
        tracing::warn!(
            name: "udm-registration-failed",
            "{}: not registered at the UDM: {failure}",
            context.reference
        );
    }
}

/// Tells the UDM that the session is gone.
pub(super) async fn deregister(sbi: &Sbi, context: &SmContext) {
    if sbi.flow() == Flow::Source3 {
        return source3::tell(sbi, "request-smf-detach", &context.supi, || json!({})).await;
    }
    let request = SbiRequest::delete(registration_path(context));
    match sbi.call("nudm-uecm", request).await {
        Err(failure) if failure.status() != Some(404) => {
            tracing::warn!(
                name: "udm-deregistration-failed",
                "{}: still registered at the UDM: {failure}",
                context.reference
            );
        }
        _ => {}
    }
}

fn registration_path(context: &SmContext) -> String {
    format!(
        "/nudm-uecm/v1/{}/registrations/smf-registrations/{}",
        context.supi, context.pdu_session_id
    )
}

/// The digits of the home network that a SUPI begins with; an MNC of two, as most have.
fn plmn_of(supi: &str) -> (&str, &str) {
    let digits = supi.strip_prefix("imsi-").unwrap_or_default();
    (
        digits.get(..3).unwrap_or("001"),
        digits.get(3..5).unwrap_or("01"),
    )
}
