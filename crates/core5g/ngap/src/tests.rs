//! Messages that come back as they went, answers to faulty ones, and a second opinion on the octets.

use std::time::Duration;

use corewire_guti::{Guami, Plmn, Tmsi};

use crate::transfer::*;
use crate::*;
use corewire_core5g_aka::Kgnb;
use corewire_core5g_nas::{PduSessionId, STmsi, SessionType, Tac, Tai, UeSecurityCapability};

fn plmn() -> Plmn {
    Plmn::new(1, 1, 2).unwrap()
}

fn gnb() -> GnbId {
    GnbId {
        plmn: plmn(),
        value: 0x12345,
        bits: 24,
    }
}

fn tai() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac::new(7).unwrap(),
    }
}

fn location() -> Location {
    Location {
        cell: NrCell::of(gnb(), 1),
        tai: tai(),
    }
}

fn ue() -> UePair {
    UePair {
        amf: AmfUeNgapId::new(0xff_1234_5678).unwrap(),
        ran: RanUeNgapId(9),
    }
}

fn session() -> PduSessionId {
    PduSessionId::new(5).unwrap()
}

fn s_tmsi() -> STmsi {
    STmsi {
        set: Guami::default().set(),
        pointer: Guami::default().pointer(),
        tmsi: Tmsi::try_from(77).unwrap(),
    }
}

fn setup_request() -> SetupRequestTransfer {
    SetupRequestTransfer {
        uplink: GtpTunnel {
            address: [127, 0, 0, 8].into(),
            teid: 0x0102_0304,
        },
        session_type: SessionType::Ipv4,
        flows: vec![QosFlow {
            qfi: 1,
            five_qi: 9,
            priority: 8,
        }],
        rate: Some(SessionRate {
            downlink: 1_000_000_000,
            uplink: 500_000_000,
        }),
    }
}

fn setup_response() -> SetupResponseTransfer {
    let address = "2001:db8::1".parse().unwrap();
    SetupResponseTransfer {
        downlink: GtpTunnel { address, teid: 9 },
        flows: vec![1],
    }
}

fn transfer(octets: Vec<u8>) -> Vec<SessionTransfer> {
    vec![SessionTransfer {
        session: session(),
        transfer: octets,
    }]
}

fn setup() -> Vec<SessionSetup> {
    vec![SessionSetup {
        session: session(),
        nas: Some(vec![0x7e, 2, 3]),
        snssai: "01-010203".parse().unwrap(),
        transfer: setup_request().encode().unwrap(),
    }]
}

/// One of each, with every optional element.
pub(crate) fn one_of_each() -> Vec<NgapMessage> {
    let slices = vec!["01".parse().unwrap(), "02-010203".parse().unwrap()];
    let plmns = vec![PlmnSlices {
        plmn: plmn(),
        slices: slices.clone(),
    }];
    let connections = vec![
        UeConnection {
            amf: Some(ue().amf),
            ran: Some(ue().ran),
        },
        UeConnection {
            amf: None,
            ran: Some(RanUeNgapId(3)),
        },
    ];
    let cause = Cause::RADIO_LOST;
    let ambr = Some(UeAmbr {
        downlink: 2_000_000_000,
        uplink: 1_000_000_000,
    });
    let failed = || transfer(SetupUnsuccessfulTransfer { cause }.encode().unwrap());
    let done = || transfer(setup_response().encode().unwrap());
    vec![
        NgSetupRequest {
            gnb: gnb(),
            name: Some("gnb-1".into()),
            areas: vec![SupportedArea {
                tac: tai().tac,
                plmns: plmns.clone(),
            }],
        }
        .into(),
        NgSetupResponse {
            amf_name: "amf-1".into(),
            guamis: vec![Guami::default()],
            capacity: 255,
            plmns,
        }
        .into(),
        NgSetupFailure {
            cause: Cause::UNKNOWN_PLMN,
            wait: Some(Duration::from_secs(10)),
            faults: Vec::new(),
        }
        .into(),
        NgReset {
            cause,
            scope: ResetScope::All,
        }
        .into(),
        NgReset {
            cause,
            scope: ResetScope::Ues(connections.clone()),
        }
        .into(),
        NgResetAcknowledge { ues: connections }.into(),
        NgResetAcknowledge { ues: Vec::new() }.into(),
        ErrorIndication {
            amf: Some(ue().amf),
            ran: Some(ue().ran),
            cause: Some(Cause::SEMANTIC_ERROR),
        }
        .into(),
        Paging {
            s_tmsi: s_tmsi(),
            tais: vec![tai()],
        }
        .into(),
        OverloadStart {
            reduction: Some(50),
        }
        .into(),
        OverloadStop.into(),
        InitialUeMessage {
            ran: ue().ran,
            nas: vec![0x7e, 0, 0x41],
            location: location(),
            establishment: EstablishmentCause::Signalling,
            s_tmsi: Some(s_tmsi()),
            context_requested: true,
        }
        .into(),
        DownlinkNas {
            ue: ue(),
            nas: vec![1; 300],
        }
        .into(),
        UplinkNas {
            ue: ue(),
            nas: vec![2; 3],
            location: location(),
        }
        .into(),
        NasNonDeliveryIndication {
            ue: ue(),
            nas: vec![3; 3],
            cause,
        }
        .into(),
        InitialContextSetupRequest {
            ue: ue(),
            guami: Guami::default(),
            allowed_nssai: slices,
            capability: (&UeSecurityCapability::of_ue()).into(),
            kgnb: Kgnb::new([8; 32]),
            nas: Some(vec![4; 4]),
            sessions: setup(),
            ambr,
        }
        .into(),
        InitialContextSetupResponse {
            ue: ue(),
            set_up: done(),
            failed: failed(),
        }
        .into(),
        InitialContextSetupFailure { ue: ue(), cause }.into(),
        PduSessionResourceSetupRequest {
            ue: ue(),
            sessions: setup(),
            ambr,
        }
        .into(),
        PduSessionResourceSetupResponse {
            ue: ue(),
            set_up: done(),
            failed: failed(),
        }
        .into(),
        PduSessionResourceModifyRequest {
            ue: ue(),
            sessions: vec![SessionModify {
                session: session(),
                nas: Some(vec![5; 5]),
                transfer: ModifyRequestTransfer {
                    rate: setup_request().rate,
                    flows: setup_request().flows,
                }
                .encode()
                .unwrap(),
            }],
        }
        .into(),
        PduSessionResourceModifyResponse {
            ue: ue(),
            modified: transfer(ModifyResponseTransfer { flows: vec![1] }.encode().unwrap()),
            failed: failed(),
        }
        .into(),
        PduSessionResourceReleaseCommand {
            ue: ue(),
            nas: Some(vec![6; 6]),
            sessions: transfer(ReleaseCommandTransfer { cause }.encode().unwrap()),
        }
        .into(),
        PduSessionResourceReleaseResponse {
            ue: ue(),
            released: transfer(ReleaseResponseTransfer.encode().unwrap()),
        }
        .into(),
        UeContextReleaseRequest {
            ue: ue(),
            sessions: vec![session()],
            cause: Cause::USER_INACTIVITY,
        }
        .into(),
        UeContextReleaseCommand {
            ue: UeIds::Pair(ue()),
            cause: Cause::NORMAL_RELEASE,
        }
        .into(),
        UeContextReleaseCommand {
            ue: UeIds::Amf(ue().amf),
            cause: Cause::NORMAL_RELEASE,
        }
        .into(),
        UeContextReleaseComplete {
            ue: ue(),
            sessions: vec![session()],
        }
        .into(),
        RanConfigurationUpdate {
            name: Some("gnb-1".into()),
            areas: Some(areas()),
        }
        .into(),
        RanConfigurationUpdateAcknowledge.into(),
        RanConfigurationUpdateFailure {
            cause: Cause::UNKNOWN_PLMN,
            wait: Some(Duration::from_secs(20)),
            faults: faults(),
        }
        .into(),
        NgSetupFailure {
            cause: Cause::ABSTRACT_SYNTAX_ERROR,
            wait: None,
            faults: faults(),
        }
        .into(),
    ]
}

fn areas() -> Vec<SupportedArea> {
    let plmns = vec![PlmnSlices {
        plmn: plmn(),
        slices: vec!["01".parse().unwrap()],
    }];
    let tac = Tac::new(7).unwrap();
    vec![SupportedArea { tac, plmns }]
}

fn faults() -> Vec<ElementFault> {
    let criticalities = [
        Criticality::Reject,
        Criticality::Ignore,
        Criticality::Notify,
    ];
    let fault = |(id, criticality)| ElementFault {
        id,
        criticality,
        is_missing: id == 102,
    };
    [102, 21, 27]
        .into_iter()
        .zip(criticalities)
        .map(fault)
        .collect()
}

/// A gNB that leaves a mandatory element out of its first message is told which.
#[test]
fn a_setup_request_without_an_element_is_answered_by_its_outcome() {
    let request = NgSetupRequest {
        gnb: gnb(),
        name: None,
        areas: areas(),
    };
    let octets = NgapMessage::from(request).encode().unwrap();
    // SupportedTAList (102) becomes an element that no specification has.
    let at = octets.windows(2).position(|two| two == [0, 102]).unwrap();
    let mut broken = octets;
    broken[at] = 0xfe;
    let answer = NgapMessage::decode(&broken).unwrap_err().answer();
    let Some(NgapMessage::NgSetupFailure(failure)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(failure.cause, Cause::ABSTRACT_SYNTAX_ERROR);
    let missing = ElementFault {
        id: 102,
        criticality: Criticality::Reject,
        is_missing: true,
    };
    assert!(failure.faults.contains(&missing), "{failure:?}");
}

/// The committed octets of every message: what changes them by mistake is seen here, and the fuzz
/// targets begin with them. `COREWIRE_BLESS=1` writes them anew.
#[test]
fn the_corpus_has_every_message() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../fuzz/corpus/ngap_messages"
    );
    for (number, message) in one_of_each().iter().enumerate() {
        let octets = message.encode().unwrap();
        let path = format!("{folder}/{number:02}-{}", message.name());
        if std::env::var_os("COREWIRE_BLESS").is_some() {
            std::fs::write(&path, &octets).unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), octets, "{path}");
    }
}

#[test]
fn every_message_is_read_as_it_was_written_and_is_what_the_asn_1_assigns() {
    for message in one_of_each() {
        let octets = message.encode().unwrap();
        assert_eq!(NgapMessage::decode(&octets).unwrap(), message);
        let pdu = oxirush_ngap::ngap::NGAP_PDU::decode(&octets).unwrap();
        assert!(
            pdu.check().unwrap().is_empty(),
            "{}: {:?}",
            message.name(),
            pdu.check()
        );
    }
}

#[test]
fn every_transfer_is_read_as_it_was_written() {
    /// Writes, reads and compares.
    macro_rules! back {
        ($($kind:ident: $value:expr;)+) => {
            $(
                let value = $value;
                assert_eq!($kind::decode(&value.encode().unwrap()).unwrap(), value);
                assert!($kind::decode(&[0xff]).is_err());
            )+
        };
    }
    let cause = Cause::RADIO_RESOURCES;
    back! {
        SetupRequestTransfer: setup_request();
        SetupResponseTransfer: setup_response();
        SetupUnsuccessfulTransfer: SetupUnsuccessfulTransfer { cause };
        ModifyRequestTransfer: ModifyRequestTransfer { rate: setup_request().rate, flows: setup_request().flows };
        ModifyResponseTransfer: ModifyResponseTransfer { flows: vec![1, 2] };
        ModifyUnsuccessfulTransfer: ModifyUnsuccessfulTransfer { cause };
        ReleaseCommandTransfer: ReleaseCommandTransfer { cause };
    }
    let octets = ReleaseResponseTransfer.encode().unwrap();
    assert_eq!(
        ReleaseResponseTransfer::decode(&octets),
        Ok(ReleaseResponseTransfer)
    );
}

#[test]
fn every_cause_keeps_its_number() {
    for number in 0..65 {
        for cause in [
            Cause::RadioNetwork(number),
            Cause::Nas(number % 8),
            Cause::Protocol(number % 7),
            Cause::Misc(number % 6),
            Cause::Transport(number % 2),
        ] {
            let octets = ReleaseCommandTransfer { cause }.encode().unwrap();
            assert_eq!(
                ReleaseCommandTransfer::decode(&octets).unwrap().cause,
                cause
            );
        }
    }
}

#[test]
fn a_faulty_message_is_answered_as_clause_10_says() {
    let answer = |octets: &[u8]| NgapMessage::decode(octets).unwrap_err().answer();
    let error = |cause| {
        Some(NgapMessage::from(ErrorIndication {
            amf: None,
            ran: None,
            cause: Some(cause),
        }))
    };
    assert_eq!(answer(&[]), error(Cause::TRANSFER_SYNTAX_ERROR));
    assert_eq!(answer(&[0xff; 20]), error(Cause::TRANSFER_SYNTAX_ERROR));
    // UE RADIO CAPABILITY INFO INDICATION is not served.
    assert_eq!(
        answer(&[0, 44, 0x40, 3, 0, 0, 0]),
        error(Cause::ABSTRACT_SYNTAX_ERROR)
    );
    // UPLINK NAS TRANSPORT with both numbers and nothing else.
    let octets = [
        0, 46, 0x40, 15, 0, 0, 2, 0, 10, 0, 2, 0, 1, 0, 85, 0, 2, 0, 9,
    ];
    let Some(NgapMessage::ErrorIndication(indication)) = answer(&octets) else {
        panic!("no answer");
    };
    assert_eq!(indication.amf.map(AmfUeNgapId::value), Some(1));
    assert_eq!(indication.ran, Some(RanUeNgapId(9)));
    assert_eq!(indication.cause, Some(Cause::ABSTRACT_SYNTAX_ERROR));
    // NG SETUP RESPONSE without elements: our own procedure failed, nobody waits for an answer.
    assert_eq!(answer(&[0x20, 21, 0, 3, 0, 0, 0]), None);
}

#[test]
fn a_key_is_not_printed() {
    let message = &one_of_each()[15];
    assert!(format!("{message:?}").contains("Kgnb(..)"), "{message:?}");
}

proptest::proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(0_u8.., 0..200)) {
        if let Err(error) = NgapMessage::decode(&octets)
            && let Some(answer) = error.answer()
        {
            answer.encode().unwrap();
        }
        let _ = SetupRequestTransfer::decode(&octets);
        let _ = SetupResponseTransfer::decode(&octets);
        let _ = ModifyRequestTransfer::decode(&octets);
    }

    #[test]
    fn changed_messages_are_read_or_refused(which in 0_usize..28, at in 0_usize..400, octet in 0_u8..) {
        let mut octets = one_of_each()[which].encode().unwrap();
        let at = at % octets.len();
        octets[at] = octet;
        if let Ok(message) = NgapMessage::decode(&octets) {
            let _ = message.encode();
        }
    }
}
