//! What the AUSF asks of the UDM.

use corewire_core5g_runtime::{Flow, Runtime, SbiFailure, SbiRequest};
use corewire_core5g_sbi::model::udm::{
    AuthEvent, AuthenticationInfoRequest, AuthenticationInfoResult,
};
use corewire_core5g_sbi::{Problem, percent};
use serde_json::Value;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The UDM, as far as authentications need it.
pub(super) trait HomeNetwork: Send + Sync + 'static {
    /// A vector for a UE that is named by SUPI or SUCI.
    fn vector(
        &self,
        identity: &str,
        asked: &AuthenticationInfoRequest,
    ) -> impl Future<Output = Result<AuthenticationInfoResult, Problem>> + Send;

    /// Source 3's SetLOCInfo: says where a UE is.
    fn locate(&self, place: &Value) -> impl Future<Output = Result<(), Problem>> + Send;

    /// Tells how an authentication ended; nobody waits for it.
    fn tell(&self, supi: &str, event: AuthEvent);
}

/// The UDM behind the runtime.
pub(super) struct Udm {
    runtime: Runtime,
    next_loop: AtomicUsize,
}

impl Udm {
    pub(super) const fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            next_loop: AtomicUsize::new(0),
        }
    }

    fn any_loop(&self) -> usize {
        self.next_loop.fetch_add(1, Ordering::Relaxed)
    }
}

impl HomeNetwork for Udm {
    async fn vector(
        &self,
        identity: &str,
        asked: &AuthenticationInfoRequest,
    ) -> Result<AuthenticationInfoResult, Problem> {
        let request = match self.runtime.flow() {
            Flow::ThreeGpp => {
                let identity = percent::encode(identity);
                let path =
                    format!("/nudm-ueau/v1/{identity}/security-information/generate-auth-data");
                SbiRequest::post(path).json(asked)
            }
            Flow::Source3 => {
                let mut document = serde_json::to_value(asked)
                    .map_err(|error| Problem::failure(error.to_string()))?;
                document["supiOrSuci"] = identity.into();
                SbiRequest::post("/source3/v1/nudm-ueauthentication/get-auth-info").json(&document)
            }
        };
        let request = request.map_err(|failure| problem(&failure))?;
        let sbi = self.runtime.sbi(self.any_loop());
        let answer = sbi.call("nudm-ueau", request).await;
        let answer = answer.map_err(|failure| problem(&failure))?;
        answer.json().map_err(|_| {
            Problem::new(500, "AV_GENERATION_PROBLEM").detail("the UDM's answer cannot be read")
        })
    }

    async fn locate(&self, place: &Value) -> Result<(), Problem> {
        let path = "/source3/v1/nudm-ueauthentication/set-loc-info";
        let request = SbiRequest::post(path).json(place);
        let request = request.map_err(|failure| problem(&failure))?;
        let sbi = self.runtime.sbi(self.any_loop());
        let answer = sbi.call("nudm-ueau", request).await;
        answer.map(drop).map_err(|failure| problem(&failure))
    }

    fn tell(&self, supi: &str, event: AuthEvent) {
        let request = match self.runtime.flow() {
            Flow::ThreeGpp => {
                SbiRequest::post(format!("/nudm-ueau/v1/{supi}/auth-events")).json(&event)
            }
            Flow::Source3 => {
                let document = serde_json::json!({"supi": supi, "authentication": event});
                SbiRequest::post("/source3/v1/nudm-ueauthentication/set-loc-info").json(&document)
            }
        };
        let Ok(request) = request else {
            return;
        };
        let at = self.any_loop();
        let sbi = self.runtime.sbi(at);
        self.runtime.spawn(at, async move {
            // The UDM keeps it for others to look at; nothing depends on it.
            drop(sbi.call("nudm-ueau", request).await);
        });
    }
}

/// What the AMF is told when the UDM does not give a vector (TS 29.509, table 6.1.7.3-1): the UDM's
/// own cause where there is one.
fn problem(failure: &SbiFailure) -> Problem {
    const KNOWN: [(u16, &str); 6] = [
        (404, "USER_NOT_FOUND"),
        (403, "SERVING_NETWORK_NOT_AUTHORIZED"),
        (403, "AUTHENTICATION_REJECTED"),
        (403, "INVALID_HN_PUBLIC_KEY_IDENTIFIER"),
        (403, "INVALID_SCHEME_OUTPUT"),
        (501, "UNSUPPORTED_PROTECTION_SCHEME"),
    ];
    let cause = failure.cause().unwrap_or_default();
    let known = KNOWN.iter().find(|(_, known)| *known == cause);
    match (known, failure.status()) {
        (Some((status, cause)), _) => Problem::new(*status, cause),
        (None, Some(400)) => {
            Problem::new(400, "MANDATORY_IE_INCORRECT").detail(failure.to_string())
        }
        (None, Some(_)) => Problem::new(500, "AV_GENERATION_PROBLEM").detail(failure.to_string()),
        (None, None) => Problem::new(504, "UPSTREAM_SERVER_ERROR").detail(failure.to_string()),
    }
}
