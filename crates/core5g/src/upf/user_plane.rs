//! What an SMF asks of a user plane, whatever carries it.

use crate::ngap::transfer::GtpTunnel;
use crate::runtime::{Sbi, SbiFailure, SbiRequest};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The service by which sessions are made at our UPF.
pub(crate) const SERVICE: &str = "corewire-upf";

/// An SMF's name for a session: it outlives the SMF instance that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionKey(String);

impl SessionKey {
    /// Of the session with this context reference.
    pub(crate) fn new(reference: &str) -> Self {
        Self(reference.to_owned())
    }

    /// The reference.
    pub(crate) fn reference(&self) -> &str {
        &self.0
    }
}

/// A tunnel's end as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tunnel {
    address: IpAddr,
    teid: u32,
}

impl From<GtpTunnel> for Tunnel {
    fn from(tunnel: GtpTunnel) -> Self {
        Self {
            address: tunnel.address,
            teid: tunnel.teid,
        }
    }
}

impl From<Tunnel> for GtpTunnel {
    fn from(tunnel: Tunnel) -> Self {
        Self {
            address: tunnel.address,
            teid: tunnel.teid,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Established {
    pub(super) uplink: Tunnel,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Modification {
    pub(super) downlink: Option<Tunnel>,
}

/// N4 as an SMF sees it: what PFCP's session procedures do (TS 23.501, 6.3.3; TS 29.244, 7.5).
pub(crate) trait UserPlane {
    /// Makes a session, or finds the one of this name; gives the tunnel that the gNB sends to.
    fn establish(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<GtpTunnel, SbiFailure>> + Send;

    /// Says where downlink goes; nowhere while the UE is idle. A UPF that has lost the session is given
    /// it again with the tunnel that the gNB sends to (TS 23.527, 4.3.2).
    fn redirect(
        &self,
        session: &SessionKey,
        uplink: Option<GtpTunnel>,
        downlink: Option<GtpTunnel>,
    ) -> impl Future<Output = Result<(), SbiFailure>> + Send;

    /// The sessions whose names begin so.
    fn sessions(
        &self,
        prefix: &str,
    ) -> impl Future<Output = Result<Vec<SessionKey>, SbiFailure>> + Send;

    /// Ends the session. One that is not there is ended.
    fn release(&self, session: &SessionKey) -> impl Future<Output = Result<(), SbiFailure>> + Send;
}

impl UserPlane for Sbi {
    async fn establish(&self, session: &SessionKey) -> Result<GtpTunnel, SbiFailure> {
        let request = SbiRequest::put(path(session));
        let answer: Established = self.call(SERVICE, request).await?.json()?;
        Ok(answer.uplink.into())
    }

    async fn redirect(
        &self,
        session: &SessionKey,
        uplink: Option<GtpTunnel>,
        downlink: Option<GtpTunnel>,
    ) -> Result<(), SbiFailure> {
        let modification = Modification {
            downlink: downlink.map(Tunnel::from),
        };
        let request = SbiRequest::post(format!("{}/modify", path(session))).json(&modification)?;
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

    async fn sessions(&self, prefix: &str) -> Result<Vec<SessionKey>, SbiFailure> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/corewire-upf/v1/sessions?prefix={prefix}&after={after}");
            let page: Vec<String> = self.call(SERVICE, SbiRequest::get(path)).await?.json()?;
            let Some(last) = page.last().filter(|last| **last != after) else {
                return Ok(all);
            };
            after.clone_from(last);
            all.extend(page.into_iter().map(SessionKey));
        }
    }

    async fn release(&self, session: &SessionKey) -> Result<(), SbiFailure> {
        match self.call(SERVICE, SbiRequest::delete(path(session))).await {
            Err(failure) if failure.status() != Some(404) => Err(failure),
            _ => Ok(()),
        }
    }
}

fn path(session: &SessionKey) -> String {
    format!("/corewire-upf/v1/sessions/{}", session.0)
}
