//! Namf_Communication (TS 29.518), and what an AMF is called back for: what a replica asks of the AMF that
//! serves the UE.

use crate::context::session::SmContext;
use crate::ports::Sbi;
use bytes::Bytes;
use corewire_core5g_runtime::{SbiAnswer, SbiFailure, SbiRequest, path_of};
use corewire_core5g_sbi::Multipart;
use corewire_core5g_sbi::model::smf::{
    N1MessageContainer, N1N2MessageTransferReqData, N1N2MessageTransferRspData, N2InfoContainer,
    N2InfoContent, N2SmInformation, SmContextStatusNotification, StatusInfo, n1, n2,
};

const SERVICE: &str = "namf-comm";

/// An NGAP part and what it is (TS 29.502, 6.1.6.3.3).
#[derive(Clone)]
pub(crate) struct N2Info {
    pub(crate) kind: &'static str,
    pub(crate) octets: Bytes,
}

/// N1N2MessageTransfer (TS 29.518, 5.2.2.3.1): a NAS message for the UE, resources for the gNB;
/// and where it is notified of that the UE does not come.
///
/// # Errors
/// When no AMF takes it.
pub(crate) async fn transfer(
    sbi: &Sbi,
    context: &SmContext,
    n1_message: Option<Bytes>,
    n2_info: Option<N2Info>,
    failure_uri: Option<String>,
) -> Result<N1N2MessageTransferRspData, SbiFailure> {
    let data = N1N2MessageTransferReqData {
        n1_message_container: n1_message.as_ref().map(|_| N1MessageContainer {
            n1_message_class: "SM".to_owned(),
            n1_message_content: n1::reference(),
        }),
        n2_info_container: n2_info.as_ref().map(|info| N2InfoContainer {
            n2_information_class: "SM".to_owned(),
            sm_info: Some(N2SmInformation {
                pdu_session_id: context.pdu_session_id,
                n2_info_content: Some(N2InfoContent {
                    ngap_ie_type: Some(info.kind.to_owned()),
                    ngap_data: n2::reference(),
                }),
                s_nssai: Some(context.slice.clone()),
            }),
        }),
        pdu_session_id: Some(context.pdu_session_id),
        failure_uri,
        ..N1N2MessageTransferReqData::default()
    };
    let mut message = Multipart::new(&data);
    if let Some(octets) = n1_message {
        message = message.with(n1::ID, n1::MEDIA_TYPE, octets);
    }
    if let Some(info) = n2_info {
        message = message.with(n2::ID, n2::MEDIA_TYPE, info.octets);
    }
    let (content_type, body) = message.encode();
    let path = format!("/namf-comm/v1/ue-contexts/{}/n1-n2-messages", context.supi);
    let request = SbiRequest::post(path).octets(content_type, body);
    at_amf(sbi, context, request).await?.json()
}

/// SmContextStatusNotify (TS 29.502, 5.2.2.5): the session is gone.
///
/// # Errors
/// When no AMF takes it.
pub(crate) async fn notify_released(sbi: &Sbi, context: &SmContext) -> Result<(), SbiFailure> {
    let notification = SmContextStatusNotification {
        status_info: StatusInfo {
            resource_status: "RELEASED".to_owned(),
        },
    };
    let request = SbiRequest::post(path_of(&context.status_uri)).json(&notification)?;
    at_amf(sbi, context, request).await.map(drop)
}

/// The AMF that serves the UE; when it is gone, another, which finds the UE in the store.
async fn at_amf(
    sbi: &Sbi,
    context: &SmContext,
    request: SbiRequest,
) -> Result<SbiAnswer, SbiFailure> {
    match sbi.at(context.amf(), request.clone()).await {
        Err(failure) if failure.is_not_sent() => sbi.call(SERVICE, request).await,
        answered => answered,
    }
}
