//! The services of TS 29.503: registration in the UDM, and the subscription.

use super::flow::{Flow, Milestone};
use super::nudm::{self, Subscription};
use crate::context::ue::Ue;
use crate::ports::Wait;
use corewire_core5g_runtime::{SbiFailure, both};
use corewire_core5g_sbi::model::common::Snssai as Slice;

/// 3GPP's own flow.
pub(crate) struct ThreeGpp;

impl Flow for ThreeGpp {
    fn subscribe<'a>(&'a self, ue: &'a Ue) -> Wait<'a, Result<Subscription, SbiFailure>> {
        Box::pin(async move {
            let (registered, subscription) =
                both(nudm::register(ue), nudm::access_and_mobility(ue)).await;
            registered?;
            subscription
        })
    }

    fn default_dnn<'a>(&'a self, ue: &'a Ue, slice: &'a Slice) -> Wait<'a, Option<String>> {
        Box::pin(nudm::default_dnn(ue, slice))
    }

    fn deregister<'a>(&'a self, ue: &'a Ue) -> Wait<'a, ()> {
        Box::pin(nudm::deregister(ue))
    }

    fn note<'a>(&'a self, _ue: &'a Ue, _milestone: Milestone<'a>) -> Option<Wait<'a, ()>> {
        None
    }
}
