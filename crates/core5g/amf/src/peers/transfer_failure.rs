//! N1N2TransferFailureNotification (TS 29.518, 5.2.2.3.2), which an AMF calls at the NF that has something for a UE.

use crate::context::session::FailureNotice;
use crate::context::ue::Ue;
use corewire_core5g_runtime::{SbiRequest, path_of};
use corewire_core5g_sbi::model::smf::N1N2MsgTxfrFailureNotification;

/// Notifies that a transfer, which was taken, has failed.
pub(crate) async fn notify(ue: &Ue, notice: &FailureNotice, cause: &str) {
    let document = N1N2MsgTxfrFailureNotification {
        cause: cause.to_owned(),
        n1n2_msg_data_uri: notice.transfer.clone(),
    };
    let notified = match SbiRequest::post(path_of(&notice.to)).json(&document) {
        Ok(request) => ue.sbi.at(&notice.to, request).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = notified {
        tracing::warn!(name: "transfer-failure-not-notified", "{cause}: {failure}");
    }
}
