//! Primary authentication by 5G-AKA (TS 33.501, 6.1.3.2; TS 24.501, 5.4.1.3).
//!
//! ```text
//!   UE           AMF (SEAF)                                     AUSF
//!                  ├── ue-authentications ───────────────────────▶│
//!   ◀── request ───┤◀── RAND, AUTN, HXRES* ─────────────────────┤
//!   ── response ──▶│ HRES* = HXRES*?
//!                  ├── 5g-aka-confirmation: RES* ────────────────▶│
//!                  │◀── SUPI, K_SEAF ───────────────────────────┤
//!   ── failure ───▶│ synch: again, with AUTS      MAC: ask for the SUCI, again
//! ```

use super::{identity, refusal};
use crate::context::ue::{Ended, Ue, Uplink};
use crate::peers::flow::Milestone;
use crate::peers::nausf::{self, Challenge, Refusal};
use crate::peers::note;
use corewire_core5g_aka::{Abba, Kamf, ServingNetwork, Supi};
use corewire_core5g_nas::{
    AuthenticationFailure, AuthenticationReject, AuthenticationRequest, AuthenticationResponse,
    Ksi, MmCause, NasMessage, NasSecurityContext,
};

/// Challenges of one authentication. A failure is answered with another one, unless it is the same as
/// the one before (TS 24.501, 5.4.1.3.7).
const CHALLENGES: u32 = 3;

/// What a successful authentication leaves.
pub(crate) struct Authenticated {
    /// Who it is. A context that was another's still is.
    pub(crate) supi: Supi,
    pub(crate) kamf: Kamf,
    pub(crate) ksi: Ksi,
}

/// What a UE may answer to a challenge.
enum Answer {
    Response(AuthenticationResponse),
    Failure(AuthenticationFailure),
}

/// Authenticates the UE of this identity, a SUPI or SUCI as TS 29.571 writes them. `theirs` is the key set
/// that the UE says it has. When it fails the UE has been told.
///
/// # Errors
/// When the UE does not prove its identity, or the home network does not answer.
pub(crate) async fn run(
    ue: &mut Ue,
    identity: &str,
    theirs: Option<Ksi>,
) -> Result<Authenticated, Ended> {
    let network = ServingNetwork::of(ue.amf.network.plmn());
    // A key set that neither the UE nor the AMF has now (TS 24.501, 5.4.1.3.2).
    let ours = ue.security.as_ref().map(NasSecurityContext::ksi);
    let taken = [theirs, ours];
    let mut ksi = unused(Ksi::ZERO, taken);
    let mut identity = identity.to_owned();
    let mut resynchronisation = None;
    let mut last = None;
    for _ in 0..CHALLENGES {
        let challenge =
            match nausf::authenticate(ue, &identity, &network, resynchronisation.take()).await {
                Ok(challenge) => challenge,
                Err(why) => return Err(refused(ue, why)),
            };
        let challenged = Milestone::Challenged {
            identity: &identity,
            ksi,
        };
        note(ue, challenged).await;
        match ask(ue, ksi, &challenge).await? {
            Answer::Response(response) => return confirm(ue, ksi, &challenge, &response).await,
            Answer::Failure(failure) if last.replace(failure.cause) == Some(failure.cause) => {
                break;
            }
            Answer::Failure(failure) => match failure.cause {
                MmCause::SYNCH_FAILURE => {
                    resynchronisation = failure.auts.map(|auts| (challenge.rand, auts));
                }
                MmCause::KSI_IN_USE => ksi = unused(ksi.next(), taken),
                // The challenge may have been for someone else: the GUTI was wrong.
                _ => identity = identity::run(ue).await?.to_string(),
            },
        }
    }
    ue.send(AuthenticationReject);
    Err(Ended::Refused)
}

/// The first key set from this one on that is none of those taken.
fn unused(first: Ksi, taken: [Option<Ksi>; 2]) -> Ksi {
    let mut ksi = first;
    while taken.contains(&Some(ksi)) {
        ksi = ksi.next();
    }
    ksi
}

async fn ask(ue: &mut Ue, ksi: Ksi, challenge: &Challenge) -> Result<Answer, Ended> {
    let request = AuthenticationRequest {
        ksi,
        abba: Abba::default(),
        rand: challenge.rand.clone(),
        autn: challenge.autn.clone(),
    };
    ue.ask(request, |uplink| match uplink {
        Uplink {
            message: NasMessage::AuthenticationResponse(response),
            ..
        } => Ok(Answer::Response(response)),
        Uplink {
            message: NasMessage::AuthenticationFailure(failure),
            ..
        } => Ok(Answer::Failure(failure)),
        other => Err(Box::new(other)),
    })
    .await
}

/// HRES* is compared here, RES* at the home network; both must be right.
async fn confirm(
    ue: &mut Ue,
    ksi: Ksi,
    challenge: &Challenge,
    response: &AuthenticationResponse,
) -> Result<Authenticated, Ended> {
    let accepted = challenge
        .hxres_star
        .accepts(&challenge.rand, &response.res_star);
    // The home network is told of a wrong answer too (TS 33.501, 6.1.3.2.2).
    let confirmed = nausf::confirm(ue, challenge, &response.res_star).await;
    match (accepted, confirmed) {
        (true, Ok(Some(confirmed))) => {
            let supi = confirmed.supi;
            let kamf = confirmed.kseaf.kamf(&supi, &Abba::default());
            // Nobody's until now; one that is another's stays so until the UE has the new keys.
            ue.supi.get_or_insert(supi);
            note(ue, Milestone::Authenticated).await;
            Ok(Authenticated { supi, kamf, ksi })
        }
        (_, Err(why)) if accepted => Err(refused(ue, why)),
        _ => {
            ue.send(AuthenticationReject);
            Err(Ended::Refused)
        }
    }
}

/// What the AUSF's refusal means to the UE (TS 29.524, table 4.2.2.2-1).
fn refused(ue: &mut Ue, why: Refusal) -> Ended {
    match why {
        Refusal::Cause(cause) => {
            let protected = ue.security.is_some();
            refusal::run(ue, cause, protected);
        }
        Refusal::Reject => ue.send(AuthenticationReject),
    }
    Ended::Refused
}
