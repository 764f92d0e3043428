//! What the gNB needs to know of a session's user plane (TS 38.413, 9.3.4).

use crate::context::session::SmContext;
use bytes::Bytes;
use corewire_core5g_nas::SessionType;
use corewire_core5g_ngap::transfer::{GtpTunnel, SetupRequestTransfer};
use corewire_core5g_runtime::SbiFailure;

/// What the gNB needs to know to make its end (TS 38.413, 9.3.4.1).
///
/// # Errors
/// When it cannot be encoded.
pub(super) fn setup_request(context: &SmContext, uplink: GtpTunnel) -> Result<Bytes, SbiFailure> {
    let transfer = SetupRequestTransfer {
        uplink,
        session_type: SessionType::Ipv4,
        flows: vec![context.flow()],
        rate: Some(context.rate()),
    };
    let octets = transfer
        .encode()
        .map_err(|error| SbiFailure::local(format!("a set-up that cannot be encoded: {error}")))?;
    Ok(octets.into())
}
