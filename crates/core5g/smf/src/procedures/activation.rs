//! The user plane of a session: set up at establishment and service request, taken down when the UE
//! becomes idle (TS 23.502, 4.2.3.2 and 4.2.6).

use super::reply::{not_saved, unavailable, updated};
use super::{establishment, n2_transfer};
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use crate::peers::upf::UserPlane as _;
use crate::peers::{flow, nudsf};
use crate::ports::Sbi;
use corewire_core5g_ngap::transfer::{GtpTunnel, SetupResponseTransfer};
use corewire_core5g_sbi::model::smf::{SmContextUpdateData, n2};
use corewire_core5g_sbi::{Problem, Reply};
use std::sync::Arc;

/// The UE wants to send: asks the gNB for its end (TS 29.502, 5.2.2.3.2.2).
pub(super) async fn activate(
    replica: &Replica,
    context: Arc<SmContext>,
    sbi: &Sbi,
) -> Result<Reply, Problem> {
    let uplink = match context.uplink {
        Some(uplink) => uplink.into(),
        None => sbi
            .establish(context.reference)
            .await
            .map_err(unavailable)?,
    };
    let octets = n2_transfer::setup_request(&context, uplink).map_err(unavailable)?;
    let has_uplink = |context: &mut SmContext| context.uplink = Some(uplink.into());
    nudsf::save(replica, context, sbi, has_uplink)
        .await
        .map_err(not_saved)?;
    let data = SmContextUpdateData {
        up_cnx_state: Some("ACTIVATING".to_owned()),
        n2_sm_info: Some(n2::reference()),
        n2_sm_info_type: Some("PDU_RES_SETUP_REQ".to_owned()),
        ..SmContextUpdateData::default()
    };
    Ok(updated(&data, None, Some(octets)))
}

/// The gNB has made its end: downlink goes there.
pub(super) async fn activated(
    replica: &Replica,
    context: Arc<SmContext>,
    transfer: &[u8],
    sbi: &Sbi,
) -> Result<Reply, Problem> {
    let transfer = SetupResponseTransfer::decode(transfer)
        .map_err(|error| Problem::new(403, "N2_SM_ERROR").detail(error.to_string()))?;
    let uplink = context.uplink.map(GtpTunnel::from);
    sbi.redirect(context.reference, uplink, Some(transfer.downlink))
        .await
        .map_err(unavailable)?;
    flow::activated(replica, sbi, &context.supi).await;
    be(replica, context, State::Active, sbi).await?;
    Ok(plane_is("ACTIVATED"))
}

/// The gNB could not make its end.
pub(super) async fn failed(
    replica: &Arc<Replica>,
    context: Arc<SmContext>,
    sbi: &Sbi,
) -> Result<Reply, Problem> {
    match context.state {
        State::Establishing => Ok(establishment::without_resources(replica, context, sbi)),
        _ => deactivate(replica, context, sbi).await,
    }
}

/// The UE is idle, or its gNB could not make its end: downlink goes nowhere
/// (TS 29.502, 5.2.2.3.2.3).
pub(super) async fn deactivate(
    replica: &Replica,
    context: Arc<SmContext>,
    sbi: &Sbi,
) -> Result<Reply, Problem> {
    let uplink = context.uplink.map(GtpTunnel::from);
    sbi.redirect(context.reference, uplink, None)
        .await
        .map_err(unavailable)?;
    be(replica, context, State::Inactive, sbi).await?;
    Ok(plane_is("DEACTIVATED"))
}

/// The user plane's state from now on; a session that is released goes on to end.
async fn be(
    replica: &Replica,
    context: Arc<SmContext>,
    state: State,
    sbi: &Sbi,
) -> Result<(), Problem> {
    let change = |context: &mut SmContext| {
        if context.state != State::Releasing {
            context.state = state;
        }
    };
    let saved = nudsf::save(replica, context, sbi, change).await;
    saved.map(drop).map_err(not_saved)
}

fn plane_is(state: &str) -> Reply {
    let data = SmContextUpdateData {
        up_cnx_state: Some(state.to_owned()),
        ..SmContextUpdateData::default()
    };
    updated(&data, None, None)
}
