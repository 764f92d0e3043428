//! What the procedures answer to the AMF.

use crate::peers::nudsf::NotSaved;
use bytes::Bytes;
use corewire_core5g_runtime::SbiFailure;
use corewire_core5g_sbi::model::smf::{SmContextUpdateData, n1, n2};
use corewire_core5g_sbi::{Multipart, Problem, Reply};

/// SmContextUpdatedData (TS 29.502, 6.1.6.2.5), with its parts.
pub(crate) fn updated(
    data: &SmContextUpdateData,
    n1_message: Option<Bytes>,
    n2_info: Option<Bytes>,
) -> Reply {
    if n1_message.is_none() && n2_info.is_none() {
        return Reply::ok(data);
    }
    let mut message = Multipart::new(data);
    if let Some(octets) = n1_message {
        message = message.with(n1::ID, n1::MEDIA_TYPE, octets);
    }
    if let Some(octets) = n2_info {
        message = message.with(n2::ID, n2::MEDIA_TYPE, octets);
    }
    let (content_type, body) = message.encode();
    Reply::octets(200, &content_type, body)
}

/// A message for the UE, and nothing else.
pub(crate) fn to_ue(n1_message: Option<Bytes>) -> Reply {
    let data = SmContextUpdateData {
        n1_sm_msg: n1_message.as_ref().map(|_| n1::reference()),
        ..SmContextUpdateData::default()
    };
    updated(&data, n1_message, None)
}

/// A session that there is not, or is not any more.
pub(crate) fn gone() -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND")
}

/// A change that is not stored.
pub(crate) fn not_saved(why: NotSaved) -> Problem {
    match why {
        NotSaved::Ended => gone(),
        NotSaved::Refused(failure) => unavailable(failure),
    }
}

/// An NF that this one needs did not answer.
pub(crate) fn unavailable(failure: SbiFailure) -> Problem {
    Problem::new(504, "TARGET_NF_NOT_REACHABLE").detail(failure.to_string())
}
