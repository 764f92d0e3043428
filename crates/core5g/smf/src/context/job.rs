//! What a replica does behind an answer, as data: a task of its own does it.

use super::commands::Expiry;
use super::n1::Establishment;
use super::reference::SmContextRef;
use super::session::SmContext;
use corewire_core5g_sbi::model::common::PlmnId;
use std::sync::Arc;
use std::time::Instant;

/// Something that goes to other network functions behind the answer to the AMF.
pub(crate) enum Job {
    /// The rest of an establishment.
    Establish {
        context: Arc<SmContext>,
        asked: Establishment,
        /// The network that serves the UE.
        serving: PlmnId,
        /// The context that the session had before.
        before: Option<Arc<SmContext>>,
    },
    /// The end of a release that the UE has asked for.
    EndRelease(Arc<SmContext>),
    /// A command that the UE has not answered in time.
    Command {
        context: Arc<SmContext>,
        expiry: Expiry,
    },
    /// What a peer did not take: again until it does, or until then.
    Again { undone: Undone, until: Instant },
}

/// What is still to be said to a peer of a session that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The UPF is to end it.
    AtUpf(SmContextRef),
    /// The UDSF is to remove it.
    InStore(SmContextRef),
    /// The replica that made it is to give its address back.
    AtMaker(SmContextRef),
}
