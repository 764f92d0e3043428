//! What a UE and another network function of a transcript say.

use super::ue::TestUe;
use corewire_core5g_nas::*;
use corewire_core5g_sbi::Multipart;
use corewire_core5g_transcripts::args::{Args, session};
use serde_json::json;

/// A NAS message of a UE.
pub(super) fn message(ue: &mut TestUe, name: &str, args: &Args<'_>) -> NasMessage {
    let identity = |ue: &TestUe| match ue.guti {
        Some(guti) if !args.has("suci") => MobileIdentity::Guti(guti),
        _ => MobileIdentity::Suci(ue.suci()),
    };
    let ksi = match args.value("ngksi") {
        Some(number) => Ksi::new(number.parse().unwrap()),
        None => ue.ksi(),
    };
    match name {
        "REGISTRATION REQUEST" => {
            let request = RegistrationRequest {
                kind: match () {
                    () if args.has("mobility") => RegistrationKind::Mobility,
                    () if args.has("periodic") => RegistrationKind::Periodic,
                    () if args.has("emergency") => RegistrationKind::Emergency,
                    () => RegistrationKind::Initial,
                },
                follow_on: args.has("follow-on"),
                ksi,
                identity: identity(ue),
                capability: (!args.has("no-capability")).then(|| ue.capability.clone()),
                requested_nssai: args.slices("nssai"),
                last_tai: None,
                uplink_data: args.set("uplink-data"),
                sessions: args.set("sessions"),
                container: None,
            };
            ue.request = Some(request.clone().into());
            if ue.security.is_none() {
                // Without keys only what may be read by all goes out (TS 24.501, 4.4.6).
                return RegistrationRequest {
                    requested_nssai: Vec::new(),
                    uplink_data: None,
                    sessions: None,
                    ..request
                }
                .into();
            }
            request.into()
        }
        "REGISTRATION COMPLETE" => RegistrationComplete.into(),
        "IDENTITY RESPONSE" => IdentityResponse {
            identity: if args.has("none") {
                MobileIdentity::None
            } else {
                MobileIdentity::Suci(ue.suci())
            },
        }
        .into(),
        "AUTHENTICATION RESPONSE" => {
            if args.has("wrong") {
                AuthenticationResponse {
                    res_star: "00112233445566778899aabbccddeeff".parse().unwrap(),
                }
                .into()
            } else {
                ue.answer_challenge()
            }
        }
        "AUTHENTICATION FAILURE" => match args.0.first().copied() {
            Some("synch") => ue.answer_challenge(),
            Some("mac") => AuthenticationFailure {
                cause: MmCause::MAC_FAILURE,
                auts: None,
            }
            .into(),
            Some("ngksi-in-use") => AuthenticationFailure {
                cause: MmCause::KSI_IN_USE,
                auts: None,
            }
            .into(),
            other => panic!("{other:?} is no authentication failure here"),
        },
        "SECURITY MODE COMPLETE" => SecurityModeComplete {
            imeisv: None,
            container: ue.request.as_ref().map(|request| request.encode().unwrap()),
        }
        .into(),
        "SECURITY MODE REJECT" => SecurityModeReject {
            cause: MmCause::SECURITY_CAPABILITIES_MISMATCH,
        }
        .into(),
        "SERVICE REQUEST" => ServiceRequest {
            ksi,
            kind: ServiceKind::Data,
            s_tmsi: STmsi::of(ue.guti.expect("a UE with a GUTI")),
            uplink_data: args.set("uplink-data"),
            sessions: args.set("sessions"),
            container: None,
        }
        .into(),
        "DEREGISTRATION REQUEST" => DeregistrationRequestFromUe {
            switch_off: args.has("switch-off"),
            ksi,
            identity: identity(ue),
        }
        .into(),
        "DEREGISTRATION ACCEPT" => DeregistrationAcceptFromUe.into(),
        "UL NAS TRANSPORT" => UplinkNasTransport {
            payload: args.text(),
            session: args.value("session").map(session),
            request: match () {
                () if args.has("initial") => Some(RequestKind::Initial),
                () if args.has("existing") => Some(RequestKind::Existing),
                () => None,
            },
            snssai: args.value("nssai").map(|slice| slice.parse().unwrap()),
            dnn: args.value("dnn").map(str::to_owned),
        }
        .into(),
        other => panic!("{other:?} is nothing that a UE says here"),
    }
}

/// The body of N1N2MessageTransfer.
pub(super) fn transfer(args: &Args<'_>) -> (String, bytes::Bytes) {
    let mut data = json!({});
    if let Some(session) = args.value("session") {
        data["pduSessionId"] = session.parse::<u8>().unwrap().into();
    }
    let class = args.value("class").unwrap_or("SM");
    if args.value("n1").is_some() {
        data["n1MessageContainer"] = json!({
            "n1MessageClass": class,
            "n1MessageContent": {"contentId": "n1"},
        });
    }
    if let Some(kind) = args.value("n2") {
        data["n2InfoContainer"] = json!({
            "n2InformationClass": class,
            "smInfo": {
                "pduSessionId": data["pduSessionId"],
                "n2InfoContent": {"ngapIeType": kind, "ngapData": {"contentId": "n2"}},
            },
        });
    }
    if let Some(id) = args.value("correlation") {
        data["lcsCorrelationId"] = id.into();
    }
    if let Some(uri) = args.value("failure-uri") {
        data["n1n2FailureTxfNotifURI"] = uri.into();
    }
    let mut parts = Multipart::new(&data);
    if let Some(n1) = args.value("n1") {
        parts = parts.with("n1", "application/vnd.3gpp.5gnas", n1.to_owned());
    }
    if args.value("n2").is_some() {
        parts = parts.with("n2", "application/vnd.3gpp.ngap", args.text());
    }
    parts.encode()
}
