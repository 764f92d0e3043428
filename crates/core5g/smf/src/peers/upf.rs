//! N4, as far as it is messages: what an SMF asks of our UPF. A session's name there is its reference: it
//! outlives the SMF instance that made it.

use crate::context::reference::SmContextRef;
use crate::ports::Sbi;
use corewire_core5g_ngap::transfer::GtpTunnel;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_core5g_upf::{Established, Modification, SERVICE, Tunnel};

const SESSIONS: &str = "/corewire-upf/v1/sessions";

/// N4 as an SMF sees it: what PFCP's session procedures do (TS 23.501, 6.3.3; TS 29.244, 7.5).
pub(crate) trait UserPlane {
    /// Makes a session, or finds the one of this reference; gives the tunnel that the gNB sends to.
    fn establish(
        &self,
        session: SmContextRef,
    ) -> impl Future<Output = Result<GtpTunnel, SbiFailure>> + Send;

    /// Says where downlink goes; nowhere while the UE is idle. A UPF that has lost the session is given
    /// it again with the tunnel that the gNB sends to (TS 23.527, 4.3.2).
    fn redirect(
        &self,
        session: SmContextRef,
        uplink: Option<GtpTunnel>,
        downlink: Option<GtpTunnel>,
    ) -> impl Future<Output = Result<(), SbiFailure>> + Send;

    /// The sessions whose references begin so.
    fn sessions(
        &self,
        prefix: &str,
    ) -> impl Future<Output = Result<Vec<SmContextRef>, SbiFailure>> + Send;

    /// Ends the session. One that is not there is ended.
    fn release(&self, session: SmContextRef)
    -> impl Future<Output = Result<(), SbiFailure>> + Send;
}

impl UserPlane for Sbi {
    async fn establish(&self, session: SmContextRef) -> Result<GtpTunnel, SbiFailure> {
        let request = SbiRequest::put(path(session));
        let answer: Established = self.call(SERVICE, request).await?.json()?;
        Ok(answer.uplink.into())
    }

    async fn redirect(
        &self,
        session: SmContextRef,
        uplink: Option<GtpTunnel>,
        downlink: Option<GtpTunnel>,
    ) -> Result<(), SbiFailure> {
        let modification = Modification {
            downlink: downlink.map(Tunnel::from),
        };
        let request =
            SbiRequest::post(format!("{SESSIONS}/{session}/modify")).json(&modification)?;
        match (self.call(SERVICE, request.clone()).await, uplink) {
            (Err(failure), Some(uplink)) if failure.status() == Some(404) => {
                let had = Established {
                    uplink: uplink.into(),
                };
                let again = SbiRequest::put(path(session)).json(&had)?;
                self.call(SERVICE, again).await?;
                self.call(SERVICE, request).await.map(drop)
            }
            (answered, _) => answered.map(drop),
        }
    }

    async fn sessions(&self, prefix: &str) -> Result<Vec<SmContextRef>, SbiFailure> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("{SESSIONS}?prefix={prefix}&after={after}");
            let page: Vec<String> = self.call(SERVICE, SbiRequest::get(path)).await?.json()?;
            let Some(last) = page.last().filter(|last| **last != after) else {
                return Ok(all);
            };
            after.clone_from(last);
            let references = page.iter().map(|name| name.parse::<SmContextRef>());
            all.extend(references.filter_map(Result::ok));
        }
    }

    async fn release(&self, session: SmContextRef) -> Result<(), SbiFailure> {
        match self.call(SERVICE, SbiRequest::delete(path(session))).await {
            Err(failure) if failure.status() != Some(404) => Err(failure),
            _ => Ok(()),
        }
    }
}

fn path(session: SmContextRef) -> String {
    format!("{SESSIONS}/{session}")
}
