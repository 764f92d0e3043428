//! Nudm_SDM and Nudm_UECM (TS 29.503), as an SMF uses them.

use crate::context::replica::Replica;
use crate::context::session::SmContext;
use crate::context::subscription::{self, Denied, NOT_SUBSCRIBED, SessionSubscription};
use crate::ports::Sbi;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_core5g_sbi::model::common::{PlmnId, Snssai as Slice};
use corewire_core5g_sbi::percent;
use serde_json::{Value, json};

const UECM: &str = "nudm-uecm";

/// Asks for the UE's session management subscription to this DNN in this slice (TS 29.503,
/// 5.2.2.2.5).
///
/// # Errors
/// When the UDM does not say.
pub(crate) async fn session_management(
    sbi: &Sbi,
    supi: &str,
    slice: &Slice,
    dnn: &str,
) -> Result<Result<SessionSubscription, Denied>, SbiFailure> {
    let nssai = serde_json::to_string(slice).unwrap_or_default();
    let nssai = percent::encode(&nssai);
    // A UE may write any octets as a DNN.
    let name = percent::encode(dnn);
    let path = format!("/nudm-sdm/v2/{supi}/sm-data?single-nssai={nssai}&dnn={name}");
    match sbi.call("nudm-sdm", SbiRequest::get(path)).await {
        Ok(answer) => Ok(subscription::read(&answer.json::<Value>()?, slice, dnn)),
        Err(failure) if failure.status() == Some(404) => Ok(Err(NOT_SUBSCRIBED)),
        Err(failure) => Err(failure),
    }
}

/// Says which SMF holds the session, in the network that serves the UE (TS 29.503, 5.3.2.2.3).
pub(super) async fn register(replica: &Replica, sbi: &Sbi, context: &SmContext, serving: &PlmnId) {
    let own = &replica.own;
    let registration = json!({
        "smfInstanceId": own.instance,
        "pduSessionId": context.pdu_session_id,
        "singleNssai": context.slice,
        "dnn": context.dnn,
        "plmnId": serving,
        "deregCallbackUri": format!(
            "{}/nsmf-callback/v1/{}/dereg-notify", own.api_root, context.reference
        ),
    });
    let registered = match SbiRequest::put(registration_path(context)).json(&registration) {
        Ok(request) => sbi.call(UECM, request).await.map(drop),
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

/// Says that the session is gone (TS 29.503, 5.3.2.4.3).
pub(super) async fn deregister(sbi: &Sbi, context: &SmContext) {
    let request = SbiRequest::delete(registration_path(context));
    match sbi.call(UECM, request).await {
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
