//! The operations of source 3's table ([`corewire_core5g_runtime::source3`]) that are about sessions: its UDM keeps what has
//! become of them.

use crate::context::replica::Replica;
use crate::context::session::SmContext;
use crate::context::subscription::{self, Denied, SessionSubscription};
use crate::ports::Sbi;
use corewire_core5g_runtime::SbiFailure;
use corewire_core5g_runtime::source3::{ask, tell};
use corewire_core5g_sbi::model::common::Snssai as Slice;
use serde_json::json;

/// (18) RequestSMFCreateSession: the UDM says what the UE may have.
///
/// # Errors
/// When the UDM does not say.
pub(super) async fn subscription(
    sbi: &Sbi,
    supi: &str,
    slice: &Slice,
    dnn: &str,
) -> Result<Result<SessionSubscription, Denied>, SbiFailure> {
    let asked = json!({"session": {"state": "REQUESTED", "dnn": dnn}});
    let context = ask(sbi, "request-smf-create-session", supi, asked).await?;
    Ok(subscription::read(&context["smSubscription"], slice, dnn))
}

/// (19) UpdateSMFCreateSession.
pub(super) async fn register(replica: &Replica, sbi: &Sbi, context: &SmContext) {
    let serves = json!({"session": {
        "smfInstanceId": replica.own.instance,
        "address": context.address,
        "reference": context.reference,
    }});
    tell(sbi, "update-smf-create-session", &context.supi, serves).await;
}

/// (20) RequestSMFModifyBearer.
pub(super) async fn activated(sbi: &Sbi, supi: &str) {
    let active = json!({"session": {"bearer": "ACTIVE"}});
    tell(sbi, "request-smf-modify-bearer", supi, active).await;
}

/// (21) RequestSMFDetach.
pub(super) async fn deregister(sbi: &Sbi, context: &SmContext) {
    tell(sbi, "request-smf-detach", &context.supi, json!({})).await;
}
