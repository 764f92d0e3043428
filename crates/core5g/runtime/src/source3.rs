//! How an AMF and an SMF drive their procedures with `--flow source3`: the operations of the REST-based
//! core of 2019, which keeps a UE's context in its UDM and says there what has become of it.
//!
//! | procedure | operations of its table, in their order |
//! |---|---|
//! | registration | (3) UpdateInitialAttachInit, Authenticate with (1) GetAuthInfo, (4) UpdateInitialAttach, (5) SetAuth, (6) SetSecurityCmd, (7) SetCrypt, (8) SetIntegrity, (9) HandleSecurityMode, LocationUpdate with (2) SetLOCInfo, (10) HandleLocationUpdate, (13) HandleAttachComplete, (14) UpdateAttachComplete |
//! | session | (11) HandleCreateSessionBegin, CreateSMContext with (18) RequestSMFCreateSession and (19) UpdateSMFCreateSession, (17) SetUPFInfo, (12) HandleCreateSessionEnd, (15) HandleModifyBearer, UpdateSMContext with (20) RequestSMFModifyBearer |
//! | detach | ReleaseSMContext with (21) RequestSMFDetach, (16) HandleDetach |
//!
//! What it says nothing about is as in the other flow: what the UE may have comes with (10) and (18), as
//! it does with an Update Location Answer (TS 29.272, 5.2.1.1); contexts go to the UDSF besides.

use crate::ports::Sbi;
use crate::{SbiFailure, SbiRequest};
use serde_json::Value;

/// The service whose operations these are.
const SERVICE: &str = "nudm-uecm";

/// Asks the UDM for one of its UECM operations.
///
/// # Errors
/// When the UDM does not take it.
pub async fn ask(
    sbi: &Sbi,
    operation: &str,
    whose: &str,
    changes: Value,
) -> Result<Value, SbiFailure> {
    let request = request(operation, whose, changes)?;
    sbi.call(SERVICE, request).await?.json()
}

/// The request of one of its UECM operations, of the UE that is named so.
///
/// # Errors
/// When it cannot be written as JSON.
fn request(
    operation: &str,
    supi_or_suci: &str,
    mut changes: Value,
) -> Result<SbiRequest, SbiFailure> {
    changes["supi"] = supi_or_suci.into();
    SbiRequest::post(format!("/source3/v1/{SERVICE}/{operation}")).json(&changes)
}

/// Says what has become of a UE. The procedure goes on without an answer.
pub async fn tell(sbi: &Sbi, operation: &str, whose: &str, changes: Value) {
    if let Err(failure) = ask(sbi, operation, whose, changes).await {
        tracing::warn!(name: "source3", "{operation}: the UDM: {failure}");
    }
}
