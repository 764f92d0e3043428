//! What UEs, gNBs, AMFs and others of a transcript say.

use super::words;
use bytes::Bytes;
use corewire_core5g_nas::*;
use corewire_core5g_ngap::Cause;
use corewire_core5g_ngap::transfer::*;
use corewire_core5g_sbi::Multipart;
use corewire_core5g_transcripts::args::{Args, session};
use serde_json::{Value, json};

/// A body and its media type.
pub(super) type Body = (String, Bytes);

/// A 5GSM message of a UE.
fn message(name: &str, args: &Args<'_>) -> NasMessage {
    let number = |key, default: u8| args.value(key).map_or(default, |v| v.parse().unwrap());
    let named = args.value("says").or_else(|| args.value("session"));
    let header = SmHeader {
        session: session(named.unwrap_or("5")),
        pti: number("pti", 1),
    };
    let cause = SmCause(number("cause", 36));
    match name {
        "PDU SESSION ESTABLISHMENT REQUEST" => PduSessionEstablishmentRequest {
            header,
            session_type: args.value("type").map(|text| match text {
                "ipv4" => SessionType::Ipv4,
                "ipv6" => SessionType::Ipv6,
                "ipv4v6" => SessionType::Ipv4v6,
                "unstructured" => SessionType::Unstructured,
                "ethernet" => SessionType::Ethernet,
                other => panic!("{other:?} is no PDU session type"),
            }),
            ssc_mode: args.value("ssc").map(|mode| SscMode(mode.parse().unwrap())),
            options: args.has("options").then_some(OptionsRequest {
                dns_servers: true,
                link_mtu: true,
            }),
        }
        .into(),
        "PDU SESSION MODIFICATION REQUEST" => PduSessionModificationRequest {
            header,
            qos_rules: args.has("rules").then(|| QosRules::match_all(2)),
        }
        .into(),
        "PDU SESSION MODIFICATION COMPLETE" => PduSessionModificationComplete { header }.into(),
        "PDU SESSION MODIFICATION COMMAND REJECT" => {
            PduSessionModificationCommandReject { header, cause }.into()
        }
        "PDU SESSION RELEASE REQUEST" => PduSessionReleaseRequest {
            header,
            cause: Some(cause),
        }
        .into(),
        "PDU SESSION RELEASE COMPLETE" => PduSessionReleaseComplete { header }.into(),
        "5GSM STATUS" => SmStatus { header, cause }.into(),
        // What only a network says.
        "PDU SESSION RELEASE COMMAND" => PduSessionReleaseCommand { header, cause }.into(),
        other => panic!("{other:?} is nothing that a UE says here"),
    }
}

/// What an AMF hands on of a UE: 5GSM, or octets that are none.
fn n1(name: &str, args: &Args<'_>) -> Vec<u8> {
    match args.value("octets") {
        Some(digits) => (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
            .collect(),
        None => message(name, args).encode().unwrap(),
    }
}

/// CreateSMContext with the first message of UE `ue`.
pub(super) fn create(ue: usize, name: &str, args: &Args<'_>) -> Body {
    let number: u8 = args.value("session").unwrap_or("5").parse().unwrap();
    let mut data = json!({
        "supi": format!("imsi-00101{ue:010}"),
        "pduSessionId": number,
        "dnn": args.value("dnn").unwrap_or("internet"),
        "sNssai": {"sst": 1},
        "servingNfId": "amf-1",
        "servingNetwork": {"mcc": "001", "mnc": args.value("mnc").unwrap_or("01")},
        "n1SmMsg": {"contentId": "n1"},
        "anType": "3GPP_ACCESS",
        "smContextStatusUri": format!("{}/status/{ue}/{number}", args.value("amf").unwrap_or("http://amf")),
    });
    if let Some(member) = args.value("without") {
        data.as_object_mut().unwrap().remove(member);
    }
    let parts = Multipart::new(&data).with("n1", "application/vnd.3gpp.5gnas", n1(name, args));
    parts.encode()
}

/// UpdateSMContext with another message of a UE.
pub(super) fn update_n1(name: &str, args: &Args<'_>) -> Body {
    let data = json!({"n1SmMsg": {"contentId": "n1"}});
    let parts = Multipart::new(&data).with("n1", "application/vnd.3gpp.5gnas", n1(name, args));
    parts.encode()
}

/// UpdateSMContext with what a gNB says.
pub(super) fn update_n2(kind: &str, args: &Args<'_>) -> Body {
    let cause = Cause::RADIO_RESOURCES;
    let octets = match kind {
        _ if args.has("damaged") => vec![0xff; 3],
        "PDU_RES_SETUP_RSP" => SetupResponseTransfer {
            downlink: GtpTunnel {
                address: [10, 0, 0, 1].into(),
                teid: args.value("teid").unwrap_or("1").parse().unwrap(),
            },
            flows: vec![1],
        }
        .encode()
        .unwrap(),
        "PDU_RES_SETUP_FAIL" => SetupUnsuccessfulTransfer { cause }.encode().unwrap(),
        "PDU_RES_MOD_RSP" => ModifyResponseTransfer { flows: vec![1] }.encode().unwrap(),
        "PDU_RES_MOD_FAIL" => ModifyUnsuccessfulTransfer { cause }.encode().unwrap(),
        "PDU_RES_REL_RSP" => ReleaseResponseTransfer.encode().unwrap(),
        _ => Vec::new(),
    };
    let data = json!({"n2SmInfo": {"contentId": "n2"}, "n2SmInfoType": kind});
    let parts = Multipart::new(&data).with("n2", "application/vnd.3gpp.ngap", octets);
    parts.encode()
}

/// UpdateSMContext without a message: the members are as the line has them.
pub(super) fn update(args: &Args<'_>) -> Body {
    let mut data = json!({});
    for member in ["upCnxState", "servingNfId", "smContextStatusUri"] {
        if let Some(value) = args.value(member) {
            data[member] = value.into();
        }
    }
    ("application/json".to_owned(), data.to_string().into())
}

/// N1N2TransferFailureNotification.
pub(super) fn not_transferred(args: &Args<'_>) -> Body {
    let data = json!({"cause": args.value("cause"), "n1n2MsgDataUri": "http://amf/transfer/1"});
    ("application/json".to_owned(), data.to_string().into())
}

/// The document of an answer.
pub(super) fn answered(what: &str, args: &Args<'_>) -> Value {
    match what {
        "sm-data" => {
            let mut configuration = json!({
                "5gQosProfile": {"5qi": 9, "arp": {"priorityLevel": 8}},
                "sessionAmbr": {"uplink": "100 Mbps", "downlink": "200 Mbps"},
            });
            if let Some(kind) = args.value("type") {
                configuration["pduSessionTypes"] = json!({"defaultSessionType": kind});
            }
            if let Some(mode) = args.value("ssc") {
                configuration["sscModes"] =
                    json!({"defaultSscMode": mode, "allowedSscModes": [mode]});
            }
            let dnn = args.value("dnn").unwrap_or("internet");
            json!([{"singleNssai": {"sst": 1}, "dnnConfigurations": {dnn: configuration}}])
        }
        "tunnel" => {
            let teid: u32 = args.value("teid").unwrap_or("9").parse().unwrap();
            json!({"uplink": {"address": "10.0.0.9", "teid": teid}})
        }
        "sessions" => args
            .0
            .iter()
            .skip(1)
            .map(|name| Value::from(words::reference(name)))
            .collect(),
        "N1_N2_TRANSFER_INITIATED" | "ATTEMPTING_TO_REACH_UE" => json!({"cause": what}),
        "" => json!({}),
        other => panic!("{other:?} is nothing that is answered here"),
    }
}

/// A context that another replica has stored.
pub(super) fn record(name: &str, args: &Args<'_>) -> Value {
    let number: u8 = args.value("session").unwrap_or("5").parse().unwrap();
    let uplink = args.value("teid").map(|teid| {
        let teid: u32 = teid.parse().unwrap();
        json!({"address": "10.0.0.9", "teid": teid})
    });
    json!({
        "reference": words::reference(name),
        "supi": "imsi-001010000000001",
        "pdu_session_id": number,
        "slice": {"sst": 1},
        "dnn": "internet",
        "address": args.value("address").unwrap_or("10.45.0.9"),
        "subscription": {"five_qi": 9, "priority": 8, "uplink": 100_000_000, "downlink": 200_000_000},
        "uplink": uplink,
        "status_uri": format!("http://amf/status/1/{number}"),
        "state": args.value("state").unwrap_or("Active"),
    })
}
