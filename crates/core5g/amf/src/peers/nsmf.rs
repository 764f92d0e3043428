//! Nsmf_PDUSession (TS 29.502), as an AMF uses it.

use crate::context::ue::Ue;
use bytes::Bytes;
use corewire_core5g_runtime::selection::Wanted;
use corewire_core5g_runtime::{SbiAnswer, SbiFailure, SbiRequest, path_of};
use corewire_core5g_sbi::Multipart;
use corewire_core5g_sbi::model::common::Snssai;
use corewire_core5g_sbi::model::common::{PlmnId, Snssai as Slice};
use corewire_core5g_sbi::model::smf::{
    SM_CONTEXTS, SmContextCreateData, SmContextUpdateData, n1, n2,
};

const SERVICE: &str = "nsmf-pdusession";

/// What an SMF says to an update: for the UE, and for its gNB.
#[derive(Default)]
pub(crate) struct Updated {
    pub(crate) n1_message: Option<Bytes>,
    /// What it is (TS 29.502, 6.1.6.3.3), and its octets.
    pub(crate) n2_info: Option<(String, Bytes)>,
}

/// A new session that an SMF did not make.
pub(crate) enum NotCreated {
    /// It says so to the UE.
    Rejected(Bytes),
    /// Nobody could be asked, or nobody says anything to the UE.
    Failed(SbiFailure),
}

/// Asks for a session (TS 29.502, 5.2.2.2); gives the context's resource.
///
/// # Errors
/// What the UE is to be told.
pub(crate) async fn create(
    ue: &Ue,
    session: u8,
    handle: u64,
    slice: Slice,
    dnn: Option<&str>,
    message: Vec<u8>,
) -> Result<String, NotCreated> {
    let (own, supi) = (&ue.amf.own, ue.supi_text());
    let plmn = ue.amf.network.plmn();
    let digits = usize::from(plmn.mnc_digits());
    let data = SmContextCreateData {
        pdu_session_id: Some(session),
        dnn: dnn.map(str::to_owned),
        s_nssai: Some(slice),
        serving_nf_id: own.instance.clone(),
        serving_network: PlmnId {
            mcc: format!("{:03}", plmn.mcc()),
            mnc: format!("{:0digits$}", plmn.mnc()),
        },
        request_type: Some("INITIAL_REQUEST".to_owned()),
        n1_sm_msg: Some(n1::reference()),
        an_type: "3GPP_ACCESS".to_owned(),
        rat_type: Some("NR".to_owned()),
        sm_context_status_uri: status_uri(ue, session, handle),
        supi: Some(supi),
    };
    let (content_type, body) = Multipart::new(&data)
        .with(n1::ID, n1::MEDIA_TYPE, message)
        .encode();
    let request = SbiRequest::post(SM_CONTEXTS).octets(content_type, body);
    let slice = data.s_nssai.map(|slice| Snssai {
        sst: slice.sst,
        sd: slice.sd,
    });
    let wanted = Wanted {
        slice: slice.as_ref(),
        dnn,
    };
    // SMF selection (TS 23.501, 6.3.2).
    match ue.sbi.call_serving(SERVICE, wanted, request).await {
        Ok((answer, root)) => match answer.header("location") {
            // At the SMF that names itself, or was chosen for its DNN or slice; else at any.
            Some(location) if location.contains("://") => Ok(location.to_owned()),
            Some(location) => Ok(root.unwrap_or_default() + location),
            None => Err(NotCreated::Failed(SbiFailure::local(
                "the SMF names no context",
            ))),
        },
        Err(failure) => {
            let parts = Multipart::decode(failure.content_type(), failure.answer()).ok();
            let reject = parts.and_then(|parts| first_of(&parts, n1::MEDIA_TYPE));
            Err(match reject {
                Some(octets) => NotCreated::Rejected(octets),
                None => NotCreated::Failed(failure),
            })
        }
    }
}

/// Where the SMF says that a session has ended.
fn status_uri(ue: &Ue, session: u8, handle: u64) -> String {
    let root = &ue.amf.own.api_root;
    format!(
        "{root}/namf-callback/v1/{}/sm-context-status/{session}/{handle}",
        ue.supi_text()
    )
}

/// What the UE says about a session.
///
/// # Errors
/// When the SMF does not take it.
pub(crate) async fn update_n1(
    ue: &Ue,
    context: &str,
    message: Vec<u8>,
) -> Result<Updated, SbiFailure> {
    let data = SmContextUpdateData {
        n1_sm_msg: Some(n1::reference()),
        ..SmContextUpdateData::default()
    };
    let body = Multipart::new(&data).with(n1::ID, n1::MEDIA_TYPE, message);
    update(ue, context, &body).await
}

/// What the gNB says about a session.
///
/// # Errors
/// When the SMF does not take it.
pub(crate) async fn update_n2(
    ue: &Ue,
    context: &str,
    kind: &str,
    transfer: Vec<u8>,
) -> Result<Updated, SbiFailure> {
    let data = SmContextUpdateData {
        n2_sm_info: Some(n2::reference()),
        n2_sm_info_type: Some(kind.to_owned()),
        ..SmContextUpdateData::default()
    };
    let body = Multipart::new(&data).with(n2::ID, n2::MEDIA_TYPE, transfer);
    update(ue, context, &body).await
}

/// The session's user plane shall be, or shall not be (TS 29.502, 5.2.2.3.2).
///
/// # Errors
/// When the SMF does not take it.
pub(crate) async fn user_plane(
    ue: &Ue,
    context: &str,
    (session, handle): (u8, u64),
    wanted: bool,
) -> Result<Updated, SbiFailure> {
    let state = if wanted { "ACTIVATING" } else { "DEACTIVATED" };
    let data = SmContextUpdateData {
        up_cnx_state: Some(state.to_owned()),
        // Another AMF may have made the session.
        serving_nf_id: wanted.then(|| ue.amf.own.instance.clone()),
        sm_context_status_uri: wanted.then(|| status_uri(ue, session, handle)),
        ..SmContextUpdateData::default()
    };
    let path = path_of(context);
    let request = SbiRequest::post(format!("{path}/modify")).json(&data)?;
    Ok(read(&ask(ue, context, request).await?))
}

/// Lets go of a session (TS 29.502, 5.2.2.4). One that is not there is gone.
pub(crate) async fn release(ue: &Ue, context: &str) {
    let path = path_of(context);
    let request = SbiRequest::post(format!("{path}/release")).octets("application/json", "{}");
    match ask(ue, context, request).await {
        Err(failure) if failure.status() != Some(404) => {
            tracing::warn!(name: "smf-release-failed", "the SMF keeps a session: {failure}");
        }
        _ => {}
    }
}

/// Asks for something of a context: at its SMF where that is known, else at any.
async fn ask(ue: &Ue, context: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
    if context.contains("://") {
        ue.sbi.at(context, request).await
    } else {
        ue.sbi.call(SERVICE, request).await
    }
}

async fn update(ue: &Ue, context: &str, body: &Multipart) -> Result<Updated, SbiFailure> {
    let (content_type, octets) = body.encode();
    let path = path_of(context);
    let request = SbiRequest::post(format!("{path}/modify")).octets(content_type, octets);
    Ok(read(&ask(ue, context, request).await?))
}

fn read(answer: &SbiAnswer) -> Updated {
    let Ok(parts) = Multipart::decode(answer.content_type(), &answer.body) else {
        return Updated::default();
    };
    let kind = parts
        .json::<SmContextUpdateData>()
        .ok()
        .and_then(|data| data.n2_sm_info_type);
    Updated {
        n1_message: first_of(&parts, n1::MEDIA_TYPE),
        n2_info: kind.zip(first_of(&parts, n2::MEDIA_TYPE)),
    }
}

/// The first part of this media type: an SMF has one of each.
fn first_of(parts: &Multipart, media_type: &str) -> Option<Bytes> {
    let id = match media_type {
        n1::MEDIA_TYPE => n1::ID,
        _ => n2::ID,
    };
    parts.part(id).cloned().or_else(|| {
        let mut all = parts.parts().iter();
        all.find(|part| part.media_type == media_type)
            .map(|part| part.content.clone())
    })
}
