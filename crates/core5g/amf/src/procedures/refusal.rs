//! A registration that is refused (TS 24.501, 5.5.1.2.5 and 5.5.1.3.5).

use crate::context::ue::Ue;
use corewire_core5g_nas::{MmCause, RegistrationReject};

/// Tells the UE: in clear, unless there is a context that the UE shares (`protected`).
pub(crate) fn run(ue: &mut Ue, cause: MmCause, protected: bool) {
    let reject = RegistrationReject { cause, t3346: None };
    if protected {
        ue.send(reject)
    } else {
        ue.send_plain(reject)
    }
}
