//! What a UE that moves or comes back is told of its slices and sessions: every network function a
//! process, gNB and UE in the test's hands.

#![cfg(target_os = "linux")]

mod core_program;
#[path = "core_faults/radio.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod radio;

use core_program::{Core, PATIENCE};
use corewire_core5g_nas::*;
use corewire_core5g_ngap::*;
use radio::{Gnb, Ue};
use std::path::Path;

const SUBSCRIBERS: &str = r#"
[[subscriber]]
supi = "imsi-001010000000001"
k = "465b5ce8b199b49faa5f0a2ee238a6bc"
opc = "e8ed289deba952e4283b54e88e6183ca"
slices = [{ sst = 1, dnns = ["internet"] }, { sst = 2, dnns = ["internet"] }]
"#;

fn slices(texts: &[&str]) -> Vec<Snssai> {
    let slices = texts.iter().map(|text| text.parse());
    slices.collect::<Result<_, _>>().expect("slices")
}

/// A core with two slices, and where its one subscriber is, who may use both.
fn core_of_two_slices(folder: &Path) -> (Core, std::path::PathBuf) {
    let (network, subscribers) = (folder.join("network.toml"), folder.join("subscribers.toml"));
    std::fs::write(&subscribers, SUBSCRIBERS).expect("written");
    let text = "slices = [\"1\", \"2\"]\nsubscribers = \"subscribers.toml\"\n";
    std::fs::write(&network, text).expect("written");
    let core = Core::up(&["--config", network.to_str().expect("text")]);
    (core, subscribers)
}

#[test]
fn a_ue_changes_its_slices_by_mobility_registration_also_at_an_amf_that_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (core, subscribers) = core_of_two_slices(folder.path());
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&subscribers, 0);
    let mut request = ue.request(MobileIdentity::Suci(ue.suci()));
    request.requested_nssai = slices(&["01"]);
    let nas = NasMessage::from(request.clone()).encode().expect("written");
    gnb.initial(1, nas, None);
    ue.authenticate(&mut gnb, request);
    assert_eq!(ue.accepted(&mut gnb).allowed_nssai, slices(&["01"]));
    ue.complete(&mut gnb);
    // What it was allowed before is not what it has subscribed to.
    let mobility = |ue: &Ue, wanted: &[&str]| {
        let mut request = ue.request(MobileIdentity::Guti(ue.guti.expect("registered")));
        request.kind = RegistrationKind::Mobility;
        request.requested_nssai = slices(wanted);
        request
    };
    let request = mobility(&ue, &["02"]);
    let nas = ue.protect(request);
    gnb.uplink(ue.pair(), nas);
    assert_eq!(ue.accepted(&mut gnb).allowed_nssai, slices(&["02"]));
    ue.complete(&mut gnb);
    core.kill("amf");
    let repaired = core.core(&["repair"]);
    assert!(repaired.status.success(), "{repaired:?}");
    let mut gnb = Gnb::connect(&core.n2, 1);
    let request = mobility(&ue, &["01", "02"]);
    let nas = ue.protect_initial(request);
    gnb.initial(2, nas, Some(ue.s_tmsi()));
    assert_eq!(ue.accepted(&mut gnb).allowed_nssai, slices(&["01", "02"]));
    ue.complete(&mut gnb);
}

fn session(number: u8) -> PduSessionId {
    PduSessionId::new(number).expect("a session")
}

/// A session is asked for, and its gNB; which does not answer.
fn begin_session(ue: &mut Ue, gnb: &mut Gnb) {
    let request = PduSessionEstablishmentRequest {
        header: SmHeader {
            session: session(1),
            pti: 1,
        },
        session_type: None,
        ssc_mode: None,
        options: Some(OptionsRequest {
            dns_servers: true,
            link_mtu: true,
        }),
    };
    let nas = ue.protect(UplinkNasTransport {
        payload: NasMessage::from(request).encode().expect("written"),
        session: Some(session(1)),
        request: Some(RequestKind::Initial),
        snssai: None,
        dnn: None,
    });
    gnb.uplink(ue.pair(), nas);
    let set_up = gnb.receive();
    let NgapMessage::PduSessionResourceSetupRequest(set_up) = set_up else {
        panic!("{set_up:?}");
    };
    let nas = ue.read(set_up.sessions[0].nas.as_ref().expect("an accept"));
    let NasMessage::DownlinkNasTransport(transport) = nas else {
        panic!("{nas:?}");
    };
    let accept = NasMessage::decode(&transport.payload).expect("an accept");
    let NasMessage::PduSessionEstablishmentAccept(accept) = accept else {
        panic!("{accept:?}");
    };
    // No DNS server is set; TS 24.501, 6.4.1.3.
    let options = accept.options.expect("the MTU");
    assert_eq!(
        (options.link_mtu, options.dns_servers),
        (Some(1400), vec![])
    );
}

#[test]
fn a_ue_that_wants_to_send_is_told_for_which_sessions_it_cannot() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    begin_session(&mut ue, &mut gnb);
    ue.idle(&mut gnb);
    // One that it has, and one of which nobody knows.
    let wanted = PduSessionSet::default().with(session(1)).with(session(5));
    let mut request = ue.service_request();
    request.kind = ServiceKind::Data;
    request.uplink_data = Some(wanted);
    request.sessions = Some(wanted);
    let nas = ue.protect_initial(request);
    gnb.initial(2, nas, Some(ue.s_tmsi()));
    let context = gnb.receive();
    let NgapMessage::InitialContextSetupRequest(context) = context else {
        panic!("{context:?}");
    };
    assert_eq!(context.sessions.len(), 1);
    assert_eq!(context.sessions[0].session, session(1));
    let accept = ue.read(&context.nas.expect("an accept"));
    let NasMessage::ServiceAccept(accept) = accept else {
        panic!("{accept:?}");
    };
    let (there, not_there) = (session(1), session(5));
    let failed = PduSessionSet::default().with(not_there);
    assert_eq!(accept.reactivation_failed, Some(failed));
    let active = PduSessionSet::default().with(there);
    assert_eq!(accept.sessions, Some(active));
}

#[test]
fn a_ue_that_does_not_know_the_network_twice_in_a_row_is_refused() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let ue = Ue::new(&core.subscribers(), 0);
    let identity = MobileIdentity::Suci(ue.suci());
    let clear = |message: NasMessage| message.encode().expect("written");
    gnb.initial(1, clear(ue.request(identity.clone()).into()), None);
    let said = |gnb: &mut Gnb| {
        let (pair, nas, _) = gnb.nas();
        (pair, NasMessage::decode(&nas).expect("in clear"))
    };
    let failure = AuthenticationFailure {
        cause: MmCause::MAC_FAILURE,
        auts: None,
    };
    let (pair, challenge) = said(&mut gnb);
    assert!(
        matches!(challenge, NasMessage::AuthenticationRequest(_)),
        "{challenge:?}"
    );
    gnb.uplink(pair, clear(failure.clone().into()));
    // It may have been somebody else's.
    let (_, question) = said(&mut gnb);
    assert!(
        matches!(question, NasMessage::IdentityRequest(_)),
        "{question:?}"
    );
    gnb.uplink(pair, clear(IdentityResponse { identity }.into()));
    let (_, challenge) = said(&mut gnb);
    assert!(
        matches!(challenge, NasMessage::AuthenticationRequest(_)),
        "{challenge:?}"
    );
    gnb.uplink(pair, clear(failure.into()));
    let (_, reject) = said(&mut gnb);
    assert!(
        matches!(reject, NasMessage::AuthenticationReject(_)),
        "{reject:?}"
    );
}

#[test]
fn a_ue_that_is_not_heard_of_any_more_is_deregistered() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = folder.path().join("network.toml");
    std::fs::write(&network, "t3512 = 2\ngrace = 1\n").expect("written");
    let core = Core::up(&["--config", network.to_str().expect("text")]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let (mut silent, mut heard) = (
        Ue::new(&core.subscribers(), 0),
        Ue::new(&core.subscribers(), 1),
    );
    silent.register(&mut gnb, 1);
    heard.register(&mut gnb, 2);
    // One that has a connection may be silent.
    silent.idle(&mut gnb);
    core.until(PATIENCE, "its deregistration", || {
        core.number("amf", "registered") == 1
    });
    let nas = silent.protect_initial(silent.service_request());
    gnb.initial(3, nas, Some(silent.s_tmsi()));
    let (_, nas, _) = gnb.nas();
    let reject = NasMessage::decode(&nas).expect("in clear");
    assert!(matches!(reject, NasMessage::ServiceReject(_)), "{reject:?}");
    core.counts("amf", "registered", 1);
}

#[test]
fn a_session_that_is_begun_anew_ends_where_it_was_begun_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = folder.path().join("network.toml");
    std::fs::write(&network, "pdu_sessions = 2\n").expect("written");
    let core = Core::up(&["--config", network.to_str().expect("text")]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let subscribers = core.subscribers();
    let sessions = || {
        let replicas = ["smf-pdu-session-0", "smf-pdu-session-1"];
        replicas.map(|name| core.number(name, "sessions"))
    };
    // So many that some meet the other replica when they come again, and each replica has some, which
    // takes longer where the gateway finds one of them later.
    let mut ues: Vec<Ue> = Vec::new();
    while ues.len() < 16 || sessions().contains(&0) {
        assert!(ues.len() < 200, "{:?}\n{}", sessions(), core.logs());
        let mut ue = Ue::new(&subscribers, ues.len() as u64);
        ue.register(&mut gnb, ues.len() as u32 + 1);
        begin_session(&mut ue, &mut gnb);
        ues.push(ue);
    }
    let all = ues.len() as u64;
    // It has not stored them: no gNB has answered yet.
    core.kill("amf");
    let repaired = core.core(&["repair"]);
    assert!(repaired.status.success(), "{repaired:?}");
    let mut gnb = Gnb::connect(&core.n2, 1);
    // In another order, so that most of them meet the other replica.
    for (ran, ue) in (1..).zip(ues.iter_mut().rev()) {
        ue.come_back(&mut gnb, ran);
        begin_session(ue, &mut gnb);
    }
    core.until(PATIENCE, "the end of the former sessions", || {
        sessions().into_iter().sum::<u64>() == all && core.number("upf", "sessions") == all
    });
}
