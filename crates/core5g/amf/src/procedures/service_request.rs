//! Service request (TS 23.502, 4.2.3.2; TS 24.501, 5.6.1): an idle UE comes back.

use super::session_transport;
use crate::context::ue::Ue;
use corewire_core5g_nas::{ServiceAccept, ServiceRequest};

/// Gives the gNB the UE's context, and the sessions that the UE has data for their user plane.
pub(crate) async fn run(ue: &mut Ue, request: ServiceRequest) {
    ue.save_uplink().await;
    if let Some(theirs) = request.sessions {
        session_transport::keep_only(ue, theirs).await;
    }
    let planes = session_transport::planes(ue, request.uplink_data.unwrap_or_default()).await;
    // What is there, and what could not be had of what was asked for (TS 24.501, 5.6.1.4.1).
    let accept = ServiceAccept {
        sessions: request.sessions.map(|_| ue.session_set()),
        reactivation_failed: request.uplink_data.map(|_| planes.failed),
    };
    let Some(octets) = ue.protect(&accept.into()) else {
        return;
    };
    if ue.context_at_gnb {
        ue.send_octets(octets);
        session_transport::activate(ue, planes.set_up);
    } else {
        session_transport::set_up_context(ue, octets, planes.set_up);
    }
    session_transport::deliver_pending(ue).await;
}
