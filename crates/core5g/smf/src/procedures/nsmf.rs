//! What others ask of a replica: Nsmf_PDUSession (TS 29.502), and what it is called back for.

use super::{establishment, release, update};
use crate::context::replica::Replica;
use corewire_core5g_sbi::Router;
use corewire_core5g_sbi::model::smf::SM_CONTEXTS;
use std::sync::Arc;

/// The resources of a replica.
pub(crate) fn router(replica: Arc<Replica>) -> Router<Replica> {
    Router::new(replica)
        .post(SM_CONTEXTS, establishment::create)
        .post(
            "/nsmf-pdusession/v1/sm-contexts/{smContextRef}/modify",
            update::update,
        )
        .post(
            "/nsmf-pdusession/v1/sm-contexts/{smContextRef}/release",
            release::by_amf,
        )
        .post(
            "/nsmf-callback/v1/{smContextRef}/dereg-notify",
            release::by_udm,
        )
        .post(
            "/nsmf-callback/v1/{smContextRef}/n1-n2-failure-notify",
            establishment::not_transferred,
        )
}
