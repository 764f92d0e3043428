//! Security mode control (TS 24.501, 5.4.2): the keys of an authentication are taken into use.

use super::authentication::Authenticated;
use super::refusal;
use crate::context::ue::{Ended, Ue, Uplink};
use crate::peers::flow::Milestone;
use crate::peers::note;
use corewire_core5g_nas::{
    MmCause, NasAlgorithms, NasMessage, NasSecurityContext, RegistrationRequest,
    SecurityModeCommand, Side,
};

/// Takes new keys into use, and has the UE repeat its whole first message. Gives that, if it came.
///
/// # Errors
/// When the UE has no algorithm that the network allows, refuses, or does not answer.
pub(crate) async fn run(
    ue: &mut Ue,
    keys: Authenticated,
) -> Result<Option<RegistrationRequest>, Ended> {
    let Some(capability) = ue.capability.clone() else {
        refusal::run(ue, MmCause::INVALID_MANDATORY, false);
        return Err(Ended::Refused);
    };
    let network = &ue.amf.network;
    let chosen = NasAlgorithms::choose(&capability, &network.ciphering, &network.integrity);
    let Some(algorithms) = chosen else {
        refusal::run(ue, MmCause::SECURITY_CAPABILITIES_MISMATCH, false);
        return Err(Ended::Refused);
    };
    let Authenticated { kamf, ksi, .. } = keys;
    let context = match NasSecurityContext::new(kamf, ksi, algorithms, Side::Network) {
        Ok(context) => context,
        Err(error) => {
            tracing::error!(name: "no-security-context", "no security context: {error}");
            return Err(Ended::Refused);
        }
    };
    note(ue, Milestone::SecurityCommanded(algorithms)).await;
    // Nothing is stored under the new keys.
    let former = (ue.security.replace(context), ue.stored.take());
    let command = SecurityModeCommand {
        algorithms,
        ksi,
        replayed: capability,
        imeisv_requested: false,
        repeat_initial: true,
    };
    let answer = ue
        .ask(command, |uplink| match uplink {
            Uplink {
                message: NasMessage::SecurityModeComplete(complete),
                count: Some(count),
            } => Ok(Some((complete, count))),
            Uplink {
                message: NasMessage::SecurityModeReject(_),
                ..
            } => Ok(None),
            other => Err(Box::new(other)),
        })
        .await;
    let (complete, count) = match answer {
        Ok(Some(answer)) => answer,
        // What was before, if anything, is what both have (TS 24.501, 5.4.2.5 and 5.4.2.7).
        otherwise => {
            (ue.security, ue.stored) = former;
            return Err(otherwise.err().unwrap_or(Ended::Refused));
        }
    };
    ue.kgnb_count = count;
    note(ue, Milestone::Secured).await;
    let repeated = complete
        .container
        .and_then(|octets| NasMessage::decode(&octets).ok());
    Ok(match repeated {
        Some(NasMessage::RegistrationRequest(request)) => Some(request),
        _ => None,
    })
}
