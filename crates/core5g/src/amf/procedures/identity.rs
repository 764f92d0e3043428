//! Identification (TS 24.501, 5.4.3): the UE is asked for its SUCI.

use crate::aka::Suci;
use crate::amf::context::ue::{Ended, Ue, Uplink};
use crate::nas::{IdentityKind, IdentityRequest, MobileIdentity, NasMessage};

/// Asks for the SUCI.
///
/// # Errors
/// When the UE does not answer, or has none.
pub(in crate::amf) async fn run(ue: &mut Ue) -> Result<Suci, Ended> {
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
