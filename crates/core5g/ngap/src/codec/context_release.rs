//! UE CONTEXT RELEASE and its request (TS 38.413, 8.3.2 and 8.3.3).

use oxirush_ngap::ngap as asn;
use oxirush_ngap::ngap::NGAPPDU;
use oxirush_ngap::{Error, extract_ngap_ies};

use super::cause::{cause, to_cause};
use super::elements::{amf_id, pair, session, to_session};
use super::{Fault, build};
use crate::{UeContextReleaseCommand, UeContextReleaseComplete, UeContextReleaseRequest, UeIds};
use corewire_core5g_nas::PduSessionId;

pub(super) fn context_release_request(pdu: &NGAPPDU<'_>) -> Result<UeContextReleaseRequest, Fault> {
    extract_ngap_ies!(pdu, UEContextReleaseRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt sessions: asn::PDUSessionResourceListCxtRelReq =
            PDUSessionResourceListCxtRelReq(list) => list,
        req why: asn::Cause = Cause(cause) => cause,
    );
    let sessions = sessions.iter().flat_map(|list| list.0.iter());
    Ok(UeContextReleaseRequest {
        ue: pair(amf, ran)?,
        sessions: sessions
            .map(|item| session(&item.pdu_session_id))
            .collect::<Result<_, Fault>>()?,
        cause: cause(&why),
    })
}

pub(super) fn to_context_release_request(
    m: &UeContextReleaseRequest,
) -> Result<NGAPPDU<'static>, Error> {
    let item = |session: &PduSessionId| {
        asn::PDUSessionResourceItemCxtRelReq::new(to_session(*session), None)
    };
    let sessions = (!m.sessions.is_empty())
        .then(|| asn::PDUSessionResourceListCxtRelReq(m.sessions.iter().map(item).collect()));
    build!(UEContextReleaseRequest {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { PDUSessionResourceListCxtRelReq(sessions) },
        Cause(to_cause(m.cause)),
    })
}

pub(super) fn context_release_command(pdu: &NGAPPDU<'_>) -> Result<UeContextReleaseCommand, Fault> {
    extract_ngap_ies!(pdu, UEContextReleaseCommand,
        req ids: asn::UENGAPIDs = UE_NGAP_IDs(ids) => ids,
        req why: asn::Cause = Cause(cause) => cause,
    );
    let ue = match ids {
        asn::UENGAPIDs::uE_NGAP_ID_pair(ids) => {
            UeIds::Pair(pair(ids.amf_ue_ngap_id.0, ids.ran_ue_ngap_id.0)?)
        }
        asn::UENGAPIDs::aMF_UE_NGAP_ID(amf) => UeIds::Amf(amf_id(amf.0)?),
        _ => return Err(Fault::Value("UE NGAP IDs")),
    };
    Ok(UeContextReleaseCommand {
        ue,
        cause: cause(&why),
    })
}

pub(super) fn to_context_release_command(
    m: &UeContextReleaseCommand,
) -> Result<NGAPPDU<'static>, Error> {
    let ids = match m.ue {
        UeIds::Pair(ue) => asn::UENGAPIDs::uE_NGAP_ID_pair(asn::UENGAPIDPair::new(
            asn::AMFUENGAPID(ue.amf.value()),
            asn::RANUENGAPID(ue.ran.0),
            None,
        )),
        UeIds::Amf(amf) => asn::UENGAPIDs::aMF_UE_NGAP_ID(asn::AMFUENGAPID(amf.value())),
    };
    build!(UEContextReleaseCommand {
        UE_NGAP_IDs(ids),
        Cause(to_cause(m.cause)),
    })
}

pub(super) fn context_release_complete(
    pdu: &NGAPPDU<'_>,
) -> Result<UeContextReleaseComplete, Fault> {
    extract_ngap_ies!(pdu, UEContextReleaseComplete,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt sessions: asn::PDUSessionResourceListCxtRelCpl =
            PDUSessionResourceListCxtRelCpl(list) => list,
    );
    let sessions = sessions.iter().flat_map(|list| list.0.iter());
    Ok(UeContextReleaseComplete {
        ue: pair(amf, ran)?,
        sessions: sessions
            .map(|item| session(&item.pdu_session_id))
            .collect::<Result<_, Fault>>()?,
    })
}

pub(super) fn to_context_release_complete(
    m: &UeContextReleaseComplete,
) -> Result<NGAPPDU<'static>, Error> {
    let item = |session: &PduSessionId| {
        asn::PDUSessionResourceItemCxtRelCpl::new(to_session(*session), None)
    };
    let sessions = (!m.sessions.is_empty())
        .then(|| asn::PDUSessionResourceListCxtRelCpl(m.sessions.iter().map(item).collect()));
    build!(UEContextReleaseComplete {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { PDUSessionResourceListCxtRelCpl(sessions) },
    })
}
