//! Which operations of other NFs a procedure is driven by: those of 3GPP, or those of source 3's table.

use super::nudm::Subscription;
use crate::context::ue::Ue;
use crate::ports::Wait;
use corewire_core5g_nas::{Ksi, NasAlgorithms};
use corewire_core5g_runtime::SbiFailure;
use corewire_core5g_sbi::model::common::Snssai as Slice;

/// What has become of a UE.
#[derive(Clone, Copy)]
pub(crate) enum Milestone<'a> {
    /// A UE of this identity, a SUPI or SUCI, registers.
    Registering { identity: &'a str },
    /// It is challenged.
    Challenged { identity: &'a str, ksi: Ksi },
    /// It has answered rightly.
    Authenticated,
    /// It is told to use its new keys with these algorithms.
    SecurityCommanded(NasAlgorithms),
    /// It uses them.
    Secured,
    /// It is registered.
    Registered,
    /// It asks for a session.
    SessionAsked { session: u8, dnn: Option<&'a str> },
    /// The SMF gives the session.
    SessionGiven { session: u8 },
    /// The gNB has resources for a session.
    SessionActive,
}

/// A way to drive an AMF's procedures.
pub(crate) trait Flow: Send + Sync {
    /// Tells the home network that the UE is here; gives what it may have.
    ///
    /// # Errors
    /// When the home network does not take it, or does not say.
    fn subscribe<'a>(&'a self, ue: &'a Ue) -> Wait<'a, Result<Subscription, SbiFailure>>;

    /// The data network of a session for which the UE names none (TS 23.502, 4.3.2.2.1, step 2); `None`
    /// leaves it to the SMF.
    fn default_dnn<'a>(&'a self, ue: &'a Ue, slice: &'a Slice) -> Wait<'a, Option<String>>;

    /// Tells the home network that the UE is gone.
    fn deregister<'a>(&'a self, ue: &'a Ue) -> Wait<'a, ()>;

    /// Tells the home network what has become of the UE; `None` when nobody is told of that. The
    /// procedure goes on whatever is answered.
    fn note<'a>(&'a self, ue: &'a Ue, milestone: Milestone<'a>) -> Option<Wait<'a, ()>>;
}
