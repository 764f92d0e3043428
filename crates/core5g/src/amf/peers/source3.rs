//! What an AMF tells source 3's UDM where its operations drive the procedures ([`crate::source3`]).

use crate::amf::context::ue::Ue;
use crate::amf::ports::Sbi;
use crate::runtime::{Flow, SbiFailure};
use crate::source3::{SERVICE, request};
use serde_json::Value;

/// Asks the UDM for one of its UECM operations.
///
/// # Errors
/// When the UDM does not take it.
pub(in crate::amf) async fn ask(
    sbi: &Sbi,
    operation: &str,
    supi_or_suci: &str,
    changes: Value,
) -> Result<Value, SbiFailure> {
    let request = request(operation, supi_or_suci, changes)?;
    sbi.call(SERVICE, request).await?.json()
}

/// Tells the UDM what has become of a UE that is named so, where that flow drives; nothing otherwise.
/// The procedure goes on without an answer.
pub(in crate::amf) async fn tell_of(
    ue: &Ue,
    supi_or_suci: &str,
    operation: &str,
    changes: impl FnOnce() -> Value + Send,
) {
    if ue.amf.own.flow == Flow::Source3
        && let Err(failure) = ask(&ue.sbi, operation, supi_or_suci, changes()).await
    {
        tracing::warn!(name: "source3", "{operation}: the UDM: {failure}");
    }
}

/// As [`tell_of`], of a UE whose SUPI is known.
pub(in crate::amf) async fn tell(ue: &Ue, operation: &str, changes: impl FnOnce() -> Value + Send) {
    if ue.amf.own.flow == Flow::Source3 {
        tell_of(ue, &ue.supi_text(), operation, changes).await;
    }
}
