//! Identification (TS 24.501, 5.4.3): the UE is asked for its SUCI.

use crate::context::ue::{Ended, Ue, Uplink};
use corewire_core5g_aka::Suci;
use corewire_core5g_nas::{IdentityKind, IdentityRequest, MobileIdentity, NasMessage};

/// Asks for the SUCI.
///
/// # Errors
/// When the UE does not answer, or has none.
pub(crate) async fn run(ue: &mut Ue) -> Result<Suci, Ended> {
    let kind = IdentityKind::Suci;
    let identity = ue
        .ask(IdentityRequest { kind }, |uplink| match uplink {
            Uplink {
                message: NasMessage::IdentityResponse(response),
                ..
            } => Ok(response.identity),
            other => Err(Box::new(other)),
        })
        .await?;
    match identity {
        MobileIdentity::Suci(suci) => Ok(suci),
        _ => Err(Ended::Refused),
    }
}
