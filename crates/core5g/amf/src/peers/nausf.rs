//! Nausf_UEAuthentication (TS 29.509).

use crate::context::ue::Ue;
use corewire_core5g_aka::{Autn, Auts, HxresStar, Kseaf, Rand, ResStar, ServingNetwork, Supi};
use corewire_core5g_nas::MmCause;
use corewire_core5g_runtime::{Flow, SbiAnswer, SbiFailure, SbiRequest, path_of};
use serde_json::{Value, json};

const SERVICE: &str = "nausf-auth";
const CONTEXTS: &str = "/nausf-auth/v1/ue-authentications";
const SOURCE3: &str = "/source3/v1/nausf-ueauthentication/authenticate";

/// A challenge for the UE, and where its answer goes.
pub(crate) struct Challenge {
    pub(crate) rand: Rand,
    pub(crate) autn: Autn,
    pub(crate) hxres_star: HxresStar,
    /// The authentication's resource, or its name in the other flow.
    context: String,
}

/// What the home network says of a UE that answered rightly.
pub(crate) struct Confirmed {
    pub(crate) supi: Supi,
    pub(crate) kseaf: Kseaf,
}

/// How the UE is to be refused.
pub(crate) enum Refusal {
    /// REGISTRATION REJECT with this cause.
    Cause(MmCause),
    /// AUTHENTICATION REJECT.
    Reject,
}

impl Refusal {
    /// TS 29.524, table 4.2.2.2-1.
    fn of(failure: &SbiFailure) -> Self {
        tracing::warn!(name: "ausf-refused", "the AUSF: {failure}");
        match (failure.status(), failure.cause()) {
            (Some(403), Some("SERVING_NETWORK_NOT_AUTHORIZED")) => {
                Self::Cause(MmCause::SERVING_NETWORK_NOT_AUTHORIZED)
            }
            (
                Some(403),
                Some(
                    "AUTHENTICATION_REJECTED"
                    | "INVALID_HN_PUBLIC_KEY_IDENTIFIER"
                    | "INVALID_SCHEME_OUTPUT",
                ),
            ) => Self::Reject,
            // The user is not known: no cause of the table stands beside it.
            (Some(404), Some("USER_NOT_FOUND")) => Self::Cause(MmCause::SERVICES_NOT_ALLOWED),
            // Nobody can tell now, or it is between network functions: an access token that is not
            // taken, an AUSF that was started again since the challenge. The UE may try again; what is
            // said above keeps it away until it is switched off.
            _ => Self::Cause(MmCause::CONGESTION),
        }
    }
}

/// Asks for a challenge (TS 29.509, 5.2.2.2.2); with `resynchronisation`, one that the USIM takes.
///
/// # Errors
/// How the UE is to be refused.
pub(crate) async fn authenticate(
    ue: &Ue,
    who: &str,
    network: &ServingNetwork,
    resynchronisation: Option<(Rand, Auts)>,
) -> Result<Challenge, Refusal> {
    let mut asked = json!({
        "supiOrSuci": who,
        "servingNetworkName": network.to_string(),
    });
    if let Some((rand, auts)) = resynchronisation {
        asked["resynchronizationInfo"] = json!({"rand": rand.to_hex(), "auts": auts.to_hex()});
    }
    let path = match ue.amf.own.flow {
        Flow::ThreeGpp => CONTEXTS,
        Flow::Source3 => SOURCE3,
    };
    let answered = match SbiRequest::post(path).json(&asked) {
        Ok(request) => ue.sbi.call(SERVICE, request).await,
        Err(failure) => Err(failure),
    };
    let read = answered.and_then(|answer| read_challenge(&answer, ue.amf.own.flow));
    read.map_err(|failure| Refusal::of(&failure))
}

fn read_challenge(answer: &SbiAnswer, flow: Flow) -> Result<Challenge, SbiFailure> {
    let document: Value = answer.json()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let data = &document["5gAuthData"];
    let wrong = |what: &str| SbiFailure::local(format!("the AUSF's challenge has no {what}"));
    let context = match flow {
        Flow::ThreeGpp => {
            let link = text(&document["_links"]["5g-aka"]["href"]);
            let location = answer.header("location").unwrap_or_default();
            if link.is_empty() {
                format!("{location}/5g-aka-confirmation")
            } else {
                link
            }
        }
        Flow::Source3 => text(&document["authCtxId"]),
    };
    Ok(Challenge {
        rand: text(&data["rand"]).parse().map_err(|_| wrong("rand"))?,
        autn: text(&data["autn"]).parse().map_err(|_| wrong("autn"))?,
        hxres_star: text(&data["hxresStar"])
            .parse()
            .map_err(|_| wrong("hxresStar"))?,
        context,
    })
}

/// Tells the home network what the UE answered (TS 29.509, 5.2.2.2.2, step 4); `None` when it was
/// wrong.
///
/// # Errors
/// How the UE is to be refused.
pub(crate) async fn confirm(
    ue: &Ue,
    challenge: &Challenge,
    answer: &ResStar,
) -> Result<Option<Confirmed>, Refusal> {
    let answered = match ue.amf.own.flow {
        Flow::ThreeGpp => {
            let request = SbiRequest::put(path_of(&challenge.context))
                .json(&json!({"resStar": answer.to_hex()}));
            match request {
                Ok(request) => at(ue, &challenge.context, request).await,
                Err(failure) => Err(failure),
            }
        }
        Flow::Source3 => {
            let body = json!({"authCtxId": challenge.context, "resStar": answer.to_hex()});
            match SbiRequest::post(SOURCE3).json(&body) {
                Ok(request) => ue.sbi.call(SERVICE, request).await,
                Err(failure) => Err(failure),
            }
        }
    };
    let document: Value = answered
        .and_then(|answer| answer.json())
        .map_err(|failure| Refusal::of(&failure))?;
    if document["authResult"] != "AUTHENTICATION_SUCCESS" {
        return Ok(None);
    }
    let text = |name: &str| document[name].as_str().unwrap_or_default();
    match (text("supi").parse(), text("kseaf").parse()) {
        (Ok(supi), Ok(kseaf)) => Ok(Some(Confirmed { supi, kseaf })),
        _ => Err(Refusal::of(&SbiFailure::local(
            "the AUSF's confirmation names no SUPI, or no key",
        ))),
    }
}

/// The instance that a URI names; any, where it is a path only.
async fn at(ue: &Ue, uri: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
    if uri.contains("://") {
        ue.sbi.at(uri, request).await
    } else {
        ue.sbi.call(SERVICE, request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_home_network_says_of_the_ue_keeps_it_away_for_good() {
        let told = |status, cause| match Refusal::of(&SbiFailure::answered(status, cause)) {
            Refusal::Cause(cause) => Some(cause),
            Refusal::Reject => None,
        };
        assert_eq!(told(403, "AUTHENTICATION_REJECTED"), None);
        assert_eq!(
            told(404, "USER_NOT_FOUND"),
            Some(MmCause::SERVICES_NOT_ALLOWED)
        );
        for (status, cause) in [
            (400, "MANDATORY_IE_INCORRECT"),
            (401, "UNAUTHORIZED"),
            (403, "UNAUTHORIZED"),
            (404, "CONTEXT_NOT_FOUND"),
            (404, "RESOURCE_URI_STRUCTURE_NOT_FOUND"),
            (429, "NF_CONGESTION"),
            (504, "UPSTREAM_SERVER_ERROR"),
        ] {
            assert_eq!(
                told(status, cause),
                Some(MmCause::CONGESTION),
                "{status} {cause}"
            );
        }
    }
}
