//! The home network's part in a session: by the services of TS 29.503, or by source 3's operations.

use super::{nudm, source3};
use crate::context::replica::Replica;
use crate::context::session::SmContext;
use crate::context::subscription::{Denied, SessionSubscription};
use crate::ports::Sbi;
use corewire_core5g_runtime::{Flow, SbiFailure};
use corewire_core5g_sbi::model::common::{PlmnId, Snssai as Slice};

/// What the UE may have in this DNN and slice, or why it may not.
///
/// # Errors
/// When the UDM does not say.
pub(crate) async fn subscription(
    replica: &Replica,
    sbi: &Sbi,
    supi: &str,
    slice: &Slice,
    dnn: &str,
) -> Result<Result<SessionSubscription, Denied>, SbiFailure> {
    match replica.own.flow {
        Flow::ThreeGpp => nudm::session_management(sbi, supi, slice, dnn).await,
        Flow::Source3 => source3::subscription(sbi, supi, slice, dnn).await,
    }
}

/// Tells the UDM which SMF holds the session, in this network. The session stands without it.
pub(crate) async fn register(replica: &Replica, sbi: &Sbi, context: &SmContext, serving: &PlmnId) {
    match replica.own.flow {
        Flow::ThreeGpp => nudm::register(replica, sbi, context, serving).await,
        Flow::Source3 => source3::register(replica, sbi, context).await,
    }
}

/// Tells the UDM that the session is gone.
pub(crate) async fn deregister(replica: &Replica, sbi: &Sbi, context: &SmContext) {
    match replica.own.flow {
        Flow::ThreeGpp => nudm::deregister(sbi, context).await,
        Flow::Source3 => source3::deregister(sbi, context).await,
    }
}

/// The session's user plane is there.
pub(crate) async fn activated(replica: &Replica, sbi: &Sbi, supi: &str) {
    match replica.own.flow {
        Flow::ThreeGpp => {}
        Flow::Source3 => source3::activated(sbi, supi).await,
    }
}
