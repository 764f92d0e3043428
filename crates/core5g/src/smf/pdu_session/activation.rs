//! The user plane of a session: set up at establishment and service request, taken down when the UE
//! becomes idle (TS 23.502, 4.2.3.2 and 4.2.6).

use super::super::models::{SmContextUpdateData, n2};
use super::super::reference::SmContextRef;
use super::context::{SmContext, State};
use super::service::{PduSessions, unavailable};
use super::update::answer;
use crate::nas::SessionType;
use crate::ngap::transfer::{GtpTunnel, SetupRequestTransfer, SetupResponseTransfer};
use crate::runtime::{Sbi, SbiFailure};
use crate::sbi::{Problem, Reply};
use crate::source3;
use crate::upf::UserPlane as _;
use bytes::Bytes;
use serde_json::json;

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

impl PduSessions {
    /// The UE wants to send: asks the gNB for its end (TS 29.502, 5.2.2.3.2.2).
    pub(super) async fn activate(
        &self,
        reference: SmContextRef,
        mut context: SmContext,
        sbi: &Sbi,
    ) -> Result<Reply, Problem> {
        let uplink = match context.uplink {
            Some(uplink) => uplink.into(),
            None => sbi
                .establish(&context.session_key())
                .await
                .map_err(unavailable)?,
        };
        context.uplink = Some(uplink.into());
        let octets = setup_request(&context, uplink).map_err(unavailable)?;
        self.contexts
            .put(reference, context, sbi)
            .await
            .map_err(unavailable)?;
        let data = SmContextUpdateData {
            up_cnx_state: Some("ACTIVATING".to_owned()),
            n2_sm_info: Some(n2::reference()),
            n2_sm_info_type: Some("PDU_RES_SETUP_REQ".to_owned()),
            ..SmContextUpdateData::default()
        };
        answer(&data, None, Some(octets))
    }

    /// The gNB has made its end: downlink goes there.
    pub(super) async fn activated(
        &self,
        reference: SmContextRef,
        mut context: SmContext,
        transfer: &[u8],
        sbi: &Sbi,
    ) -> Result<Reply, Problem> {
        let transfer = SetupResponseTransfer::decode(transfer)
            .map_err(|error| Problem::new(403, "N2_SM_ERROR").detail(error.to_string()))?;
        let uplink = context.uplink.map(GtpTunnel::from);
        sbi.redirect(&context.session_key(), uplink, Some(transfer.downlink))
            .await
            .map_err(unavailable)?;
        context.state = State::Active;
        let active = || json!({"session": {"bearer": "ACTIVE"}});
        source3::tell(sbi, "request-smf-modify-bearer", &context.supi, active).await;
        self.contexts
            .put(reference, context, sbi)
            .await
            .map_err(unavailable)?;
        let data = SmContextUpdateData {
            up_cnx_state: Some("ACTIVATED".to_owned()),
            ..SmContextUpdateData::default()
        };
        answer(&data, None, None)
    }

    /// The UE is idle, or its gNB could not make its end: downlink goes nowhere
    /// (TS 29.502, 5.2.2.3.2.3).
    pub(super) async fn deactivate(
        &self,
        reference: SmContextRef,
        mut context: SmContext,
        sbi: &Sbi,
    ) -> Result<Reply, Problem> {
        let uplink = context.uplink.map(GtpTunnel::from);
        sbi.redirect(&context.session_key(), uplink, None)
            .await
            .map_err(unavailable)?;
        context.state = State::Inactive;
        self.contexts
            .put(reference, context, sbi)
            .await
            .map_err(unavailable)?;
        let data = SmContextUpdateData {
            up_cnx_state: Some("DEACTIVATED".to_owned()),
            ..SmContextUpdateData::default()
        };
        answer(&data, None, None)
    }
}
