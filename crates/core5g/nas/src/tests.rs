//! Messages that come back as they went, and protection that lets nothing else through.

use corewire_guti::{Guami, Guti, Plmn, Tmsi};

use crate::*;
use corewire_core5g_aka::{Abba, Autn, Auts, Kamf, Rand, ResStar, Suci};

fn guti() -> Guti {
    Guti::new(Guami::default(), Tmsi::try_from(0x0102_0304).unwrap())
}

fn session() -> PduSessionId {
    PduSessionId::new(1).unwrap()
}

fn header() -> SmHeader {
    SmHeader {
        session: session(),
        pti: 7,
    }
}

fn tai() -> Tai {
    Tai {
        plmn: Plmn::new(1, 1, 2).unwrap(),
        tac: Tac::new(7).unwrap(),
    }
}

fn slice() -> Snssai {
    "01-010203".parse().unwrap()
}

fn suci() -> MobileIdentity {
    let suci: Suci = "suci-0-001-01-0-0-0-0000000001".parse().unwrap();
    MobileIdentity::Suci(suci)
}

fn registration(identity: MobileIdentity) -> RegistrationRequest {
    RegistrationRequest {
        kind: RegistrationKind::Initial,
        follow_on: true,
        ksi: None,
        identity,
        capability: Some(UeSecurityCapability::of_ue()),
        requested_nssai: vec![slice(), "02".parse().unwrap()],
        last_tai: Some(tai()),
        uplink_data: Some(PduSessionSet::default().with(session())),
        sessions: Some(PduSessionSet(0x8002)),
        container: Some(vec![1, 2, 3]),
    }
}

fn algorithms() -> NasAlgorithms {
    NasAlgorithms {
        ciphering: Ciphering::Nea2,
        integrity: Integrity::Nia2,
    }
}

fn accept() -> PduSessionEstablishmentAccept {
    PduSessionEstablishmentAccept {
        header: header(),
        session_type: SessionType::Ipv4,
        ssc_mode: SscMode::ONE,
        qos_rules: QosRules::match_all(1),
        ambr: SessionAmbr {
            downlink_kbps: 1_000_000,
            uplink_kbps: 500_000,
        },
        cause: Some(SmCause::IPV4_ONLY),
        address: Some(PduAddress::Ipv4([10, 45, 0, 2].into())),
        snssai: Some(slice()),
        qos_flows: None,
        dnn: Some("internet.example".into()),
        options: None,
    }
}

fn options() -> SessionOptions {
    SessionOptions {
        dns_servers: vec![[9, 9, 9, 9].into(), [149, 112, 112, 112].into()],
        link_mtu: Some(1400),
    }
}

#[test]
fn a_ues_options_are_those_of_the_specification_octet_for_octet() {
    // IEI 7BH, length, PPP with the extension bit; DNS servers, MTU (TS 24.008, 10.5.6.3).
    let asked = [0x7b, 0, 7, 0x80, 0x00, 0x0d, 0, 0x00, 0x10, 0];
    let told = [
        &[0x7b, 0, 20, 0x80, 0x00, 0x0d, 4, 9, 9, 9, 9][..],
        &[0x00, 0x0d, 4, 149, 112, 112, 112, 0x00, 0x10, 2, 0x05, 0x78],
    ];
    let every = OptionsRequest {
        dns_servers: true,
        link_mtu: true,
    };
    let request = PduSessionEstablishmentRequest {
        header: header(),
        session_type: None,
        ssc_mode: None,
        options: Some(every),
    };
    let octets = NasMessage::from(request).encode().unwrap();
    assert!(octets.ends_with(&asked), "{octets:02x?}");
    let accept = PduSessionEstablishmentAccept {
        dnn: None,
        options: Some(options()),
        ..accept()
    };
    let octets = NasMessage::from(accept).encode().unwrap();
    assert!(octets.ends_with(&told.concat()), "{octets:02x?}");
}

#[test]
fn a_ue_is_told_of_the_options_what_it_asked_for() {
    let asked = |dns_servers, link_mtu| {
        options().asked_for(OptionsRequest {
            dns_servers,
            link_mtu,
        })
    };
    assert_eq!(asked(true, true), Some(options()));
    assert_eq!(asked(false, false), None);
    let only_mtu = asked(false, true).unwrap();
    assert_eq!(
        (only_mtu.dns_servers, only_mtu.link_mtu),
        (vec![], Some(1400))
    );
    let nothing = SessionOptions::default();
    assert_eq!(
        nothing.asked_for(OptionsRequest {
            dns_servers: true,
            link_mtu: true
        }),
        None
    );
}

#[test]
fn a_flow_description_is_what_the_specification_says_octet_for_octet() {
    // QFI 1; create; E and one parameter; 5QI, one octet, 9 (TS 24.501, 9.11.4.12).
    let octets = vec![0x01, 0x20, 0x41, 0x01, 0x01, 0x09];
    assert_eq!(
        QosFlowDescriptions::of_flow(1, 9),
        QosFlowDescriptions(octets)
    );
}

/// One of each, with every optional element.
pub(crate) fn one_of_each() -> Vec<NasMessage> {
    let ksi = Ksi::new(3);
    let set = Some(PduSessionSet(0x0006));
    vec![
        registration(suci()).into(),
        RegistrationRequest {
            kind: RegistrationKind::Periodic,
            ksi,
            ..registration(MobileIdentity::Guti(guti()))
        }
        .into(),
        RegistrationAccept {
            guti: Some(guti()),
            tai_list: vec![
                tai(),
                Tai {
                    tac: Tac::new(9).unwrap(),
                    ..tai()
                },
            ],
            allowed_nssai: vec![slice()],
            sessions: set,
            reactivation_failed: set,
            t3512: Some(std::time::Duration::from_secs(3600)),
        }
        .into(),
        RegistrationComplete.into(),
        RegistrationReject {
            cause: MmCause::CONGESTION,
            t3346: Some(std::time::Duration::from_secs(600)),
        }
        .into(),
        DeregistrationRequestFromUe {
            switch_off: true,
            ksi,
            identity: MobileIdentity::Guti(guti()),
        }
        .into(),
        DeregistrationAcceptToUe.into(),
        DeregistrationRequestToUe {
            reregistration_required: true,
            cause: Some(MmCause::SERVICES_NOT_ALLOWED),
        }
        .into(),
        DeregistrationAcceptFromUe.into(),
        ServiceRequest {
            ksi,
            kind: ServiceKind::Data,
            s_tmsi: STmsi::of(guti()),
            uplink_data: set,
            sessions: set,
            container: None,
        }
        .into(),
        ServiceAccept {
            sessions: set,
            reactivation_failed: set,
        }
        .into(),
        ServiceReject {
            cause: MmCause::IDENTITY_CANNOT_BE_DERIVED,
            sessions: set,
        }
        .into(),
        ConfigurationUpdateCommand {
            acknowledge: true,
            guti: Some(guti()),
            tai_list: vec![tai()],
            allowed_nssai: vec![slice()],
        }
        .into(),
        ConfigurationUpdateComplete.into(),
        AuthenticationRequest {
            ksi: Ksi::ZERO,
            abba: Abba::default(),
            rand: Rand::new([1; 16]),
            autn: Autn::new([2; 16]),
        }
        .into(),
        AuthenticationResponse {
            res_star: ResStar::new([3; 16]),
        }
        .into(),
        AuthenticationReject.into(),
        AuthenticationFailure {
            cause: MmCause::SYNCH_FAILURE,
            auts: Some(Auts::new([4; 14])),
        }
        .into(),
        IdentityRequest {
            kind: IdentityKind::Imeisv,
        }
        .into(),
        IdentityResponse {
            identity: MobileIdentity::Imeisv("1234567890123456".into()),
        }
        .into(),
        IdentityResponse {
            identity: MobileIdentity::Imei("123456789012345".into()),
        }
        .into(),
        IdentityResponse {
            identity: MobileIdentity::STmsi(STmsi::of(guti())),
        }
        .into(),
        IdentityResponse {
            identity: MobileIdentity::None,
        }
        .into(),
        SecurityModeCommand {
            algorithms: algorithms(),
            ksi: Ksi::ZERO,
            replayed: UeSecurityCapability::of_ue(),
            imeisv_requested: true,
            repeat_initial: true,
        }
        .into(),
        SecurityModeComplete {
            imeisv: Some("1234567890123456".into()),
            container: Some(vec![9; 40]),
        }
        .into(),
        SecurityModeReject {
            cause: MmCause::SECURITY_CAPABILITIES_MISMATCH,
        }
        .into(),
        MmStatus {
            cause: MmCause::MESSAGE_NOT_COMPATIBLE,
        }
        .into(),
        UplinkNasTransport {
            payload: vec![5; 9],
            session: Some(session()),
            request: Some(RequestKind::Initial),
            snssai: Some(slice()),
            dnn: Some("internet".into()),
        }
        .into(),
        DownlinkNasTransport {
            payload: vec![6; 9],
            session: Some(session()),
            cause: Some(MmCause::PAYLOAD_NOT_FORWARDED),
            ..DownlinkNasTransport::default()
        }
        .into(),
        PduSessionEstablishmentRequest {
            header: header(),
            session_type: Some(SessionType::Ipv4),
            ssc_mode: Some(SscMode::ONE),
            options: None,
        }
        .into(),
        accept().into(),
        PduSessionEstablishmentReject {
            header: header(),
            cause: SmCause::UNKNOWN_DNN,
        }
        .into(),
        PduSessionModificationRequest {
            header: header(),
            qos_rules: Some(QosRules::match_all(2)),
        }
        .into(),
        PduSessionModificationReject {
            header: header(),
            cause: SmCause::NOT_SUPPORTED,
        }
        .into(),
        PduSessionModificationCommand {
            header: header(),
            ambr: Some(accept().ambr),
            qos_rules: Some(QosRules::match_all(2)),
        }
        .into(),
        PduSessionModificationComplete { header: header() }.into(),
        PduSessionModificationCommandReject {
            header: header(),
            cause: SmCause::REJECTED,
        }
        .into(),
        PduSessionReleaseRequest {
            header: header(),
            cause: Some(SmCause::REGULAR_DEACTIVATION),
        }
        .into(),
        PduSessionReleaseReject {
            header: header(),
            cause: SmCause::SESSION_DOES_NOT_EXIST,
        }
        .into(),
        PduSessionReleaseCommand {
            header: header(),
            cause: SmCause::REGULAR_DEACTIVATION,
        }
        .into(),
        PduSessionReleaseComplete { header: header() }.into(),
        SmStatus {
            header: header(),
            cause: SmCause::INVALID_PTI,
        }
        .into(),
        PduSessionEstablishmentAccept {
            qos_flows: Some(QosFlowDescriptions::of_flow(1, 9)),
            ..accept()
        }
        .into(),
        PduSessionEstablishmentRequest {
            header: header(),
            session_type: Some(SessionType::Ipv4),
            ssc_mode: None,
            options: Some(OptionsRequest {
                dns_servers: true,
                link_mtu: true,
            }),
        }
        .into(),
        PduSessionEstablishmentAccept {
            options: Some(options()),
            ..accept()
        }
        .into(),
    ]
}

/// The committed octets of every message: what changes them by mistake is seen here, and the fuzz
/// targets begin with them. `COREWIRE_BLESS=1` writes them anew.
#[test]
fn the_corpus_has_every_message() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../fuzz/corpus/nas_messages"
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
fn every_message_is_read_as_it_was_written() {
    for message in one_of_each() {
        let octets = message.encode().unwrap();
        assert_eq!(
            NasMessage::decode(&octets).unwrap(),
            message,
            "{octets:02x?}"
        );
    }
}

#[test]
fn a_message_of_ours_is_what_the_specification_says_octet_for_octet() {
    // TS 24.501 clause 8.2.6, by hand: initial registration, no key, SUCI of 001-01, null scheme.
    let request = RegistrationRequest {
        follow_on: false,
        requested_nssai: Vec::new(),
        last_tai: None,
        uplink_data: None,
        sessions: None,
        container: None,
        ..registration(suci())
    };
    let octets = NasMessage::from(request).encode().unwrap();
    let by_hand = [
        0x7e, 0x00, 0x41,
        0x71, // discriminator, plain, REGISTRATION REQUEST, no key | initial
        0x00, 0x0d, 0x01, // 13 octets: IMSI, SUCI
        0x00, 0xf1, 0x10, // MCC 001, MNC 01
        0xf0, 0xff, 0x00, 0x00, // routing indicator 0, null scheme, no key
        0x00, 0x00, 0x00, 0x00, 0x10, // MSIN 0000000001
        0x2e, 0x02, 0xe0, 0x60, // EA0 to EA2, IA1 and IA2
    ];
    assert_eq!(octets, by_hand);
}

/// "No identity" is for identity responses (TS 24.501 clause 9.11.3.4, note 1).
#[test]
fn who_asks_by_itself_has_an_identity() {
    let mut octets = vec![0x7e, 0, 0x41, 0x79, 0, 4, 0, 0, 0, 0];
    let refused = NasMessage::decode(&octets).unwrap_err();
    assert_eq!(refused.kind(), NasErrorKind::Mandatory);
    octets[6] = 0xf4;
    // A 5G-S-TMSI of three octets is none either.
    NasMessage::decode(&octets).unwrap_err();
    let registration = registration(MobileIdentity::None);
    let deregistration = DeregistrationRequestFromUe {
        switch_off: true,
        ksi: None,
        identity: MobileIdentity::None,
    };
    for message in [NasMessage::from(registration), deregistration.into()] {
        assert_eq!(message.encode().unwrap_err().kind(), NasErrorKind::Encode);
    }
}

#[test]
fn the_default_rule_names_its_flow() {
    assert_eq!(QosRules::match_all(9).default_flow(), Some(9));
    assert_eq!(QosRules(vec![1, 0]).default_flow(), None);
}

fn both() -> (NasSecurityContext, NasSecurityContext) {
    let end =
        |side| NasSecurityContext::new(Kamf::new([7; 32]), Ksi::ZERO, algorithms(), side).unwrap();
    (end(Side::Network), end(Side::Ue))
}

#[test]
fn either_side_reads_what_the_other_protects_once() {
    let (mut network, mut ue) = both();
    let down: NasMessage = RegistrationAccept {
        guti: Some(guti()),
        ..Default::default()
    }
    .into();
    let octets = network.protect(&down).unwrap();
    assert_eq!(ue.unprotect(&octets).unwrap().message, down);
    assert_eq!(
        ue.unprotect(&octets).unwrap_err().kind(),
        NasErrorKind::Integrity,
        "a replay"
    );

    let up: NasMessage = RegistrationComplete.into();
    let octets = ue.protect(&up).unwrap();
    for at in 2..octets.len() {
        let mut forged = octets.clone();
        forged[at] ^= 1;
        assert_eq!(
            network.unprotect(&forged).unwrap_err().kind(),
            NasErrorKind::Integrity
        );
    }
    assert_eq!(network.unprotect(&octets).unwrap().message, up);
}

#[test]
fn security_mode_starts_a_context_and_can_be_read_before_it_is_trusted() {
    let (mut network, mut ue) = both();
    let command: NasMessage = SecurityModeCommand {
        algorithms: algorithms(),
        ksi: Ksi::ZERO,
        replayed: UeSecurityCapability::of_ue(),
        imeisv_requested: false,
        repeat_initial: true,
    }
    .into();
    let octets = network.protect(&command).unwrap();
    let envelope = Envelope::of(&octets).unwrap();
    assert!(matches!(
        envelope,
        Envelope::Protected {
            new_context: true,
            plain: Some(_),
            ..
        }
    ));
    assert_eq!(NasMessage::decode_unverified(&octets).unwrap(), command);
    assert_eq!(
        NasMessage::decode(&octets).unwrap_err().kind(),
        NasErrorKind::Protection
    );
    assert_eq!(ue.unprotect(&octets).unwrap().message, command);

    let complete: NasMessage = SecurityModeComplete::default().into();
    let octets = ue.protect(&complete).unwrap();
    let envelope = Envelope::of(&octets).unwrap();
    assert!(matches!(
        envelope,
        Envelope::Protected {
            new_context: true,
            plain: None,
            ..
        }
    ));
    let received = network.unprotect(&octets).unwrap();
    assert_eq!((received.message, received.count), (complete, 0));
    assert_eq!(network.kgnb(0), ue.kgnb(0));
}

#[test]
fn an_initial_message_shows_who_it_is_from_and_hides_the_rest() {
    let (mut network, mut ue) = both();
    let request: NasMessage = RegistrationRequest {
        ksi: Some(Ksi::ZERO),
        container: None,
        ..registration(MobileIdentity::Guti(guti()))
    }
    .into();
    let octets = ue.protect_initial(&request).unwrap();
    let NasMessage::RegistrationRequest(shown) = NasMessage::decode_unverified(&octets).unwrap()
    else {
        panic!("another message");
    };
    assert_eq!(shown.identity, MobileIdentity::Guti(guti()));
    assert!(shown.requested_nssai.is_empty() && shown.container.is_some());
    assert_eq!(network.unprotect(&octets).unwrap().message, request);
}

#[test]
fn a_saved_context_goes_on_where_it_was() {
    let (mut network, mut ue) = both();
    let message: NasMessage = MmStatus {
        cause: MmCause::UNSPECIFIED,
    }
    .into();
    for _ in 0..300 {
        let octets = network.protect(&message).unwrap();
        ue.unprotect(&octets).unwrap();
    }
    let json = serde_json::to_string(&network.saved()).unwrap();
    let saved: SavedNasContext = serde_json::from_str(&json).unwrap();
    assert_eq!((saved.uplink, saved.downlink), (Some(0), Some(300)));
    let mut elsewhere = NasSecurityContext::restore(saved, Side::Network).unwrap();
    let octets = elsewhere.protect(&message).unwrap();
    assert_eq!(ue.unprotect(&octets).unwrap().count, 300);
    assert!(!format!("{elsewhere:?}").contains("0707"));
}

#[test]
fn all_algorithms_protect_and_ciphering_needs_integrity() {
    use {Ciphering::*, Integrity::*};
    let message: NasMessage = MmStatus {
        cause: MmCause::UNSPECIFIED,
    }
    .into();
    for (ciphering, integrity) in [(Nea0, Nia1), (Nea1, Nia1), (Nea2, Nia2), (Nea0, Nia0)] {
        let algorithms = NasAlgorithms {
            ciphering,
            integrity,
        };
        let end = |side| NasSecurityContext::new(Kamf::new([7; 32]), Ksi::ZERO, algorithms, side);
        let octets = end(Side::Network).unwrap().protect(&message).unwrap();
        assert_eq!(
            end(Side::Ue).unwrap().unprotect(&octets).unwrap().message,
            message
        );
    }
    let unsafe_pair = NasAlgorithms {
        ciphering: Nea2,
        integrity: Nia0,
    };
    let refused = NasSecurityContext::new(Kamf::new([7; 32]), Ksi::ZERO, unsafe_pair, Side::Ue);
    assert_eq!(refused.unwrap_err().kind(), NasErrorKind::Protection);
}

#[test]
fn what_is_wrong_with_a_message_has_the_cause_of_clause_7() {
    let cause = |octets: &[u8]| NasMessage::decode(octets).unwrap_err().mm_cause();
    assert_eq!(cause(&[]), None);
    assert_eq!(cause(&[0x7e, 0]), None);
    assert_eq!(cause(&[0x00, 0, 0x41]), None);
    assert_eq!(cause(&[0x7e, 0, 0x99]), Some(MmCause::MESSAGE_TYPE_UNKNOWN));
    assert_eq!(cause(&[0x7e, 0, 0x41]), Some(MmCause::INVALID_MANDATORY));
    // RES* is missing: only EAP may leave it out.
    assert_eq!(cause(&[0x7e, 0, 0x57]), Some(MmCause::CONDITIONAL_ELEMENT));
    // AUTHENTICATION RESULT is of EAP.
    assert_eq!(
        cause(&[0x7e, 0, 0x5a, 0, 0, 4, 1, 2, 0, 4]),
        Some(MmCause::MESSAGE_TYPE_UNKNOWN)
    );
}

proptest::proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(0_u8.., 0..200)) {
        let _ = NasMessage::decode(&octets);
        let _ = NasMessage::decode_unverified(&octets);
        let _ = both().0.unprotect(&octets);
    }
}
