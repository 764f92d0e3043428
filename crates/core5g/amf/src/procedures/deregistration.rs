//! Deregistration (TS 23.502, 4.2.2.3; TS 24.501, 5.5.2): by the UE, by the network, implicit.

use super::{an_release, paging, session_transport};
use crate::context::ue::{Ue, Uplink};
use crate::peers::{flow_of, nudsf};
use corewire_core5g_nas::{
    DeregistrationAcceptToUe, DeregistrationRequestFromUe, DeregistrationRequestToUe, NasMessage,
};
use corewire_core5g_ngap::Cause;
use corewire_core5g_runtime::both;

/// The UE goes. One that cannot prove that it is itself is let go without ending what is another's.
pub(crate) async fn by_ue(ue: &mut Ue, request: DeregistrationRequestFromUe, verified: bool) {
    if verified {
        end(ue).await;
    }
    if !request.switch_off {
        ue.send(DeregistrationAcceptToUe);
    }
    an_release::run(ue, Cause::DEREGISTER).await;
}

/// The network wants the UE gone: its subscription was withdrawn, or an operator says so.
pub(crate) async fn by_network(ue: &mut Ue, reregistration_required: bool) {
    if ue.link.is_some() && ue.security.is_some() {
        let request = DeregistrationRequestToUe {
            reregistration_required,
            cause: None,
        };
        // A UE that does not answer is gone all the same (TS 24.501, 5.5.2.3.5, case a).
        let _answered = ue
            .ask(request, |uplink| match uplink {
                Uplink {
                    message: NasMessage::DeregistrationAcceptFromUe(_),
                    ..
                } => Ok(()),
                other => Err(Box::new(other)),
            })
            .await;
    }
    end(ue).await;
    if ue.link.is_some() {
        an_release::run(ue, Cause::DEREGISTER).await;
    }
}

/// The UE is registered elsewhere by now: what is left here ends without a word to it or to the UDM.
pub(crate) async fn implicit(ue: &mut Ue) {
    session_transport::release_all(ue).await;
    forget(ue).await;
    if ue.link.is_some() {
        an_release::run(ue, Cause::NORMAL_RELEASE).await;
    }
}

/// The UE was not heard of for too long (TS 24.501, 5.3.7): it is gone, and there is nobody to tell it.
pub(crate) async fn of_silent(ue: &mut Ue) {
    paging::give_up(ue).await;
    ue.pending.clear();
    end(ue).await;
}

/// The UE has become another subscriber's: nothing of the former's is the new one's.
pub(crate) async fn of_former_subscriber(ue: &mut Ue) {
    end(ue).await;
    ue.forget_names();
    ue.pending.clear();
    ue.subscribed.clear();
    ue.allowed.clear();
}

async fn end(ue: &mut Ue) {
    session_transport::release_all(ue).await;
    both(flow_of(ue).deregister(ue), nudsf::remove_pointer(ue)).await;
    forget(ue).await;
}

async fn forget(ue: &mut Ue) {
    let gutis = [ue.guti, ue.former];
    for guti in gutis.iter().flatten() {
        nudsf::remove(ue, guti).await;
    }
    for guti in gutis.into_iter().flatten() {
        ue.amf.gutis.deallocate(&guti, &ue.sbi).await;
    }
    ue.set_registered(false);
}
