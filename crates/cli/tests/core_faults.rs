//! What must not go wrong at N1 and N2 when messages are lost, forged or out of place, and when an AMF
//! is killed: every network function a process, gNBs and UEs in the test's hands.

#![cfg(target_os = "linux")]

mod core_program;
#[path = "core_faults/radio.rs"]
mod radio;

use core_program::{Core, PATIENCE};
use corewire_core5g_nas::*;
use corewire_core5g_ngap::*;
use radio::{Gnb, Ue};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long nothing may happen until it is believed that nothing will.
const QUIET: Duration = Duration::from_millis(300);

/// Waits until the AMF counts so many.
fn wait_for(core: &Core, name: &str, wanted: u64) {
    core.counts("amf", name, wanted);
}

/// A core whose NFs anybody may ask, as the test does.
fn open_core() -> Core {
    Core::up(&["--oauth2", "false"])
}

/// Kills the AMF and starts it again; gives a gNB that has connected to it again.
fn amf_killed(core: &Core) -> Gnb {
    core.kill("amf");
    let repaired = core.core(&["repair"]);
    assert!(repaired.status.success(), "{repaired:?}");
    Gnb::connect(&core.n2, 1)
}

/// Asks an NF with curl; gives the HTTP status and the body.
fn curl(arguments: &[&str]) -> (u16, String) {
    let output = Command::new("curl")
        .args(["-s", "--http2-prior-knowledge", "--max-time", "10"])
        .args(["-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = String::from_utf8(output.stdout).expect("text");
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

/// Where the UDM tells the AMF that it no longer serves a UE; `None` when nobody is registered.
fn callback(core: &Core, ue: &Ue) -> Option<String> {
    let root = core.address("udm");
    let path = format!("nudm-uecm/v1/{}/registrations/amf-3gpp-access", ue.supi);
    let (status, body) = curl(&[&format!("http://{root}/{path}")]);
    if status == 404 {
        return None;
    }
    assert_eq!(status, 200, "{body}");
    let registration: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let uri = registration["deregCallbackUri"].as_str();
    Some(uri.expect("a callback").to_owned())
}

/// Tells an AMF that it no longer serves a UE.
fn notify(callback: &str, reason: &str) {
    let data = format!(r#"{{"deregReason":"{reason}","accessType":"3GPP_ACCESS"}}"#);
    let json = "content-type: application/json";
    let (status, body) = curl(&[callback, "-H", json, "-d", &data]);
    assert_eq!(status, 204, "{body}");
}

#[test]
fn a_gnb_that_says_the_name_of_anothers_ue_is_nothing_to_it() {
    let core = Core::up(&[]);
    let (mut own, mut other) = (Gnb::connect(&core.n2, 1), Gnb::connect(&core.n2, 2));
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut own, 1);
    // It says the UE's name, forges a message, and speaks for the UE right behind it.
    let mut forged = ue.protect_initial(ue.service_request());
    let last = forged.len() - 1;
    forged[last] ^= 1;
    other.initial(77, forged, Some(ue.s_tmsi()));
    let stolen = UePair {
        amf: ue.pair().amf,
        ran: RanUeNgapId(77),
    };
    let leaves = NasMessage::from(DeregistrationRequestFromUe {
        switch_off: true,
        ksi: None,
        identity: MobileIdentity::Guti(ue.guti.expect("registered")),
    });
    other.uplink(stolen, leaves.encode().expect("written"));
    other.send(UeContextReleaseRequest {
        ue: stolen,
        sessions: Vec::new(),
        cause: Cause::RADIO_LOST,
    });
    // Whoever it is is a stranger, who is not known by any number of the UE's.
    let mut rejected = false;
    while let Some(message) = other.receive_within(if rejected { QUIET } else { PATIENCE }) {
        match message {
            NgapMessage::DownlinkNas(message) => {
                assert_ne!(message.ue.amf, stolen.amf);
                let nas = NasMessage::decode(&message.nas).expect("in clear");
                rejected |= matches!(nas, NasMessage::ServiceReject(_));
            }
            NgapMessage::UeContextReleaseCommand(command) => {
                let UeIds::Pair(released) = command.ue else {
                    panic!("{command:?}");
                };
                assert_ne!(released.amf, stolen.amf);
                let sessions = Vec::new();
                other.send(UeContextReleaseComplete {
                    ue: released,
                    sessions,
                });
            }
            NgapMessage::ErrorIndication(_) => {}
            message => panic!("{message:?}"),
        }
    }
    assert!(rejected, "{}", core.logs());
    // The UE notices nothing: its connection is there, and it is served on it.
    assert_eq!(own.receive_within(QUIET), None);
    let mut request = ue.request(MobileIdentity::Guti(ue.guti.expect("registered")));
    request.kind = RegistrationKind::Mobility;
    let request = ue.protect(request);
    own.uplink(ue.pair(), request);
    ue.accept(&mut own);
    ue.complete(&mut own);
    core.counts("amf", "registered", 1);
    // Numbers of a UE that is at another gNB.
    other.uplink(stolen, vec![0x7e, 0, 0x43]);
    let complaint = other.receive();
    let NgapMessage::ErrorIndication(complaint) = complaint else {
        panic!("{complaint:?}");
    };
    assert_eq!(complaint.cause, Some(Cause::INCONSISTENT_REMOTE_UE_ID));
    assert_eq!(
        (complaint.amf, complaint.ran),
        (Some(stolen.amf), Some(stolen.ran))
    );
    ue.idle(&mut own);
}

#[test]
fn a_procedure_is_not_ended_by_somebody_who_says_the_ues_name() {
    let core = open_core();
    let (mut own, other) = (Gnb::connect(&core.n2, 1), Gnb::connect(&core.n2, 2));
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut own, 1);
    let callback = callback(&core, &ue).expect("registered");
    notify(&callback, "SUBSCRIPTION_WITHDRAWN");
    let (_, nas, _) = own.nas();
    let request = ue.read(&nas);
    assert!(
        matches!(request, NasMessage::DeregistrationRequestToUe(_)),
        "{request:?}"
    );
    // While the AMF waits for the UE's answer.
    let forged = NasMessage::from(ue.service_request());
    other.initial(5, forged.encode().expect("written"), Some(ue.s_tmsi()));
    assert_eq!(own.receive_within(QUIET), None);
    let accept = ue.protect(DeregistrationAcceptFromUe);
    own.uplink(ue.pair(), accept);
    own.let_go(ue.pair());
    wait_for(&core, "registered", 0);
}

#[test]
fn who_registers_as_another_subscriber_keeps_nothing_of_the_former() {
    let core = open_core();
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    ue.idle(&mut gnb);
    let former = ue.s_tmsi();
    // Another USIM, the same equipment: under the former's keys it says another name.
    let mut other = Ue::new(&core.subscribers(), 1);
    let request = ue.request(MobileIdentity::Suci(other.suci()));
    let nas = ue.protect_initial(request.clone());
    gnb.initial(2, nas, Some(former));
    other.security = ue.security.take();
    other.authenticate(&mut gnb, request);
    other.accept(&mut gnb);
    other.complete(&mut gnb);
    core.counts("amf", "registered", 1);
    assert!(callback(&core, &other).is_some());
    assert_eq!(callback(&core, &ue), None, "{}", core.logs());
    // Nobody is known by the former's name.
    let stale = NasMessage::from(ServiceRequest {
        s_tmsi: former,
        ..other.service_request()
    });
    gnb.initial(3, stale.encode().expect("written"), Some(former));
    let (_, nas, _) = gnb.nas();
    let reject = NasMessage::decode(&nas).expect("in clear");
    assert!(matches!(reject, NasMessage::ServiceReject(_)), "{reject:?}");
}

#[test]
fn a_context_is_restored_once_however_many_ask_for_it() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ues: Vec<Ue> = (0..8).map(|at| Ue::new(&core.subscribers(), at)).collect();
    for (ran, ue) in ues.iter_mut().enumerate() {
        ue.register(&mut gnb, ran as u32 + 1);
        ue.idle(&mut gnb);
    }
    let mut gnb = amf_killed(&core);
    let mut again = Gnb::connect(&core.n2, 2);
    // Each comes twice at once: its first message was on its way when it tried again.
    for (ran, ue) in ues.iter_mut().enumerate() {
        let ran = ran as u32 + 1;
        let name = Some(ue.s_tmsi());
        let first = ue.protect_initial(ue.service_request());
        let second = ue.protect_initial(ue.service_request());
        gnb.initial(ran, first, name);
        again.initial(ran, second, name);
    }
    wait_for(&core, "registered", 8);
    // Of two messages out of order the older is refused; what a UE is told it can read, once each.
    let (mut served, give_up) = ([0; 8], Instant::now() + PATIENCE);
    let (mut accepts, mut quiet) = ([Vec::new(), Vec::new()], false);
    while !quiet && Instant::now() < give_up {
        quiet = served.iter().all(|times| *times > 0);
        for (gnb, accepts) in [&mut gnb, &mut again].into_iter().zip(&mut accepts) {
            let Some(message) = gnb.receive_within(QUIET) else {
                continue;
            };
            quiet = false;
            if let NgapMessage::InitialContextSetupRequest(request) = message {
                let at = request.ue.ran.0 as usize - 1;
                served[at] += 1;
                accepts.push((at, request.nas.expect("a message for the UE")));
            }
        }
    }
    assert!(served.iter().all(|times| *times > 0), "{served:?}");
    // Who has one of each gNB sent the first's message first.
    for (at, nas) in accepts.into_iter().flatten() {
        let accept = ues[at].read(&nas);
        assert!(matches!(accept, NasMessage::ServiceAccept(_)), "{accept:?}");
    }
    core.counts("amf", "registered", 8);
}

#[test]
fn what_an_amf_took_is_not_taken_again_by_the_one_that_restores_the_context() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    ue.idle(&mut gnb);
    let name = Some(ue.s_tmsi());
    let first = ue.protect_initial(ue.service_request());
    gnb.initial(2, first.clone(), name);
    ue.served(&mut gnb);
    // In the middle of a connection the same, and what begins none.
    let second = ue.protect(ue.service_request());
    gnb.uplink(ue.pair(), second.clone());
    ue.served(&mut gnb);
    let nowhere = ue.protect(UplinkNasTransport {
        payload: vec![0x2e, 1, 1, 0xc1],
        session: PduSessionId::new(9),
        request: None,
        snssai: None,
        dnn: None,
    });
    gnb.uplink(ue.pair(), nowhere.clone());
    let (_, nas, _) = gnb.nas();
    ue.read(&nas);
    // Killed with the gNB there, which would have it store the context.
    let mut gnb = amf_killed(&core);
    for (ran, heard) in [(3, first), (4, second), (5, nowhere)] {
        gnb.initial(ran, heard, name);
        let answer = gnb.receive();
        let NgapMessage::DownlinkNas(reject) = &answer else {
            // Ciphered whole, so nothing that can be answered in a stranger's words.
            let NgapMessage::UeContextReleaseCommand(command) = answer else {
                panic!("{ran}: {answer:?}");
            };
            let (UeIds::Pair(ue), true) = (command.ue, ran > 3) else {
                panic!("{ran}: {command:?}");
            };
            let sessions = Vec::new();
            gnb.send(UeContextReleaseComplete { ue, sessions });
            continue;
        };
        let read = NasMessage::decode(&reject.nas).expect("in clear");
        assert!(
            matches!(read, NasMessage::ServiceReject(_)),
            "{ran}: {read:?}"
        );
        gnb.let_go(reject.ue);
    }
    ue.come_back(&mut gnb, 6);
    assert_eq!(core.number("amf", "registered"), 1, "{}", core.logs());
}

#[test]
fn no_nas_count_is_used_twice_however_often_the_amf_is_killed() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    // More messages than are reserved at a time, and nothing that is a reason to store the context.
    for _ in 0..150 {
        let nowhere = ue.protect(UplinkNasTransport {
            payload: vec![0x2e, 1, 1, 0xc1],
            session: PduSessionId::new(9),
            request: None,
            snssai: None,
            dnn: None,
        });
        gnb.uplink(ue.pair(), nowhere);
        let (_, nas, _) = gnb.nas();
        let back = ue.read(&nas);
        assert!(
            matches!(back, NasMessage::DownlinkNasTransport(_)),
            "{back:?}"
        );
    }
    // Killed with the gNB there, which would have it store the context.
    let mut gnb = amf_killed(&core);
    ue.come_back(&mut gnb, 1);
    for _ in 0..2 {
        // Right after it has restored the context.
        gnb = amf_killed(&core);
        ue.come_back(&mut gnb, 1);
    }
    ue.idle(&mut gnb);
    core.counts("amf", "registered", 1);
}

#[test]
fn a_lost_accept_costs_no_authentication_and_both_names_are_good_until_the_new_one_is() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    ue.idle(&mut gnb);
    let old = ue.guti.expect("registered");
    for killed in [false, true, false] {
        // The accept is lost on the radio; the UE still has its old name.
        let request = ue.request(MobileIdentity::Guti(old));
        let nas = ue.protect_initial(request);
        gnb.initial(2, nas, Some(STmsi::of(old)));
        let (pair, _lost, _) = gnb.nas();
        if killed {
            gnb = amf_killed(&core);
        } else {
            gnb.release(pair);
        }
    }
    let request = ue.request(MobileIdentity::Guti(old));
    let nas = ue.protect_initial(request);
    gnb.initial(3, nas, Some(STmsi::of(old)));
    let new = ue.accept(&mut gnb);
    assert_ne!(new, old);
    ue.complete(&mut gnb);
    ue.idle(&mut gnb);
    ue.come_back(&mut gnb, 4);
    ue.idle(&mut gnb);
    // It has the new one: the old one is nobody's.
    ue.guti = Some(old);
    let nas = ue.protect_initial(ue.service_request());
    gnb.initial(5, nas, Some(STmsi::of(old)));
    let (_, nas, _) = gnb.nas();
    let reject = NasMessage::decode(&nas).expect("in clear");
    assert!(matches!(reject, NasMessage::ServiceReject(_)), "{reject:?}");
    core.counts("amf", "registered", 1);
}

#[test]
fn a_notice_for_a_former_registration_does_not_take_the_ue_that_has_come_anew() {
    let core = open_core();
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    let former = callback(&core, &ue).expect("registered");
    ue.idle(&mut gnb);
    ue.register(&mut gnb, 2);
    notify(&former, "UE_INITIAL_REGISTRATION");
    notify(&former, "SUBSCRIPTION_WITHDRAWN");
    assert_eq!(gnb.receive_within(QUIET), None);
    core.counts("amf", "registered", 1);
    // One that is meant takes it; registered elsewhere, it is let go of without a word.
    let now = callback(&core, &ue).expect("registered");
    notify(&now, "UE_INITIAL_REGISTRATION");
    gnb.let_go(ue.pair());
    wait_for(&core, "registered", 0);
    assert!(
        callback(&core, &ue).is_some(),
        "the registration is the other AMF's"
    );
}

#[test]
fn the_network_deregisters_a_ue_that_is_there_and_one_that_is_idle() {
    let core = open_core();
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    let callback_of_one = callback(&core, &ue).expect("registered");
    notify(&callback_of_one, "SUBSCRIPTION_WITHDRAWN");
    let (_, nas, _) = gnb.nas();
    let request = ue.read(&nas);
    assert!(
        matches!(request, NasMessage::DeregistrationRequestToUe(_)),
        "{request:?}"
    );
    let accept = ue.protect(DeregistrationAcceptFromUe);
    gnb.uplink(ue.pair(), accept);
    gnb.let_go(ue.pair());
    wait_for(&core, "registered", 0);
    assert_eq!(callback(&core, &ue), None);
    let mut idle = Ue::new(&core.subscribers(), 1);
    idle.register(&mut gnb, 2);
    idle.idle(&mut gnb);
    let callback_of_two = callback(&core, &idle).expect("registered");
    // Also one that the AMF must restore first.
    let mut gnb = amf_killed(&core);
    notify(&callback_of_two, "SUBSCRIPTION_WITHDRAWN");
    wait_for(&core, "registered", 0);
    assert_eq!(callback(&core, &idle), None);
    let nas = idle.protect_initial(idle.service_request());
    gnb.initial(3, nas, Some(idle.s_tmsi()));
    let (_, nas, _) = gnb.nas();
    let reject = NasMessage::decode(&nas).expect("in clear");
    assert!(matches!(reject, NasMessage::ServiceReject(_)), "{reject:?}");
}

#[test]
fn a_gnb_that_is_lost_is_missed_by_no_ue_however_much_waits_for_it() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    wait_for(&core, "connected", 1);
    for number in 0..400_u32 {
        let request = PduSessionEstablishmentRequest {
            header: SmHeader {
                session: PduSessionId::new(1).expect("a session"),
                pti: number as u8 % 200 + 1,
            },
            session_type: None,
            ssc_mode: None,
            options: None,
        };
        let nas = ue.protect(UplinkNasTransport {
            payload: NasMessage::from(request).encode().expect("written"),
            session: PduSessionId::new(1),
            request: Some(RequestKind::Initial),
            snssai: None,
            dnn: None,
        });
        gnb.uplink(ue.pair(), nas);
    }
    drop(gnb);
    wait_for(&core, "connected", 0);
    let mut gnb = Gnb::connect(&core.n2, 1);
    core.counts("amf", "registered", 1);
    let mut other = Ue::new(&core.subscribers(), 1);
    other.register(&mut gnb, 2);
}

#[test]
fn a_reset_takes_the_connections_that_it_names_and_no_registration() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ues: Vec<Ue> = (0..3).map(|at| Ue::new(&core.subscribers(), at)).collect();
    for (ran, ue) in ues.iter_mut().enumerate() {
        ue.register(&mut gnb, ran as u32 + 1);
    }
    wait_for(&core, "connected", 3);
    let one = UeConnection {
        amf: None,
        ran: Some(ues[0].pair().ran),
    };
    let none = UeConnection {
        // Numbers that do not belong together name nobody.
        amf: Some(ues[1].pair().amf),
        ran: Some(ues[2].pair().ran),
    };
    gnb.send(NgReset {
        cause: Cause::MISC_UNSPECIFIED,
        scope: ResetScope::Ues(vec![one, none]),
    });
    let acknowledge = gnb.receive();
    let NgapMessage::NgResetAcknowledge(acknowledge) = acknowledge else {
        panic!("{acknowledge:?}");
    };
    assert_eq!(acknowledge.ues, [one, none]);
    wait_for(&core, "connected", 2);
    assert_eq!(gnb.receive_within(QUIET), None);
    ues[0].come_back(&mut gnb, 9);
    wait_for(&core, "connected", 3);
    gnb.send(NgReset {
        cause: Cause::MISC_UNSPECIFIED,
        scope: ResetScope::All,
    });
    let acknowledge = gnb.receive();
    assert!(
        matches!(acknowledge, NgapMessage::NgResetAcknowledge(_)),
        "{acknowledge:?}"
    );
    wait_for(&core, "connected", 0);
    core.counts("amf", "registered", 3);
    for (ran, ue) in ues.iter_mut().enumerate() {
        ue.come_back(&mut gnb, ran as u32 + 1);
    }
    wait_for(&core, "connected", 3);
}

#[test]
fn an_idle_ue_is_paged_for_what_an_smf_has_and_gets_it() {
    let core = open_core();
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ue = Ue::new(&core.subscribers(), 0);
    ue.register(&mut gnb, 1);
    ue.idle(&mut gnb);
    let url = format!(
        "http://{}/namf-comm/v1/ue-contexts/{}/n1-n2-messages",
        core.address("amf"),
        ue.supi
    );
    let json = r#"{"n1MessageContainer":{"n1MessageClass":"SM","n1MessageContent":{"contentId":"n1"}},"pduSessionId":1}"#;
    let body = format!(
        "--X\r\nContent-Type: application/json\r\n\r\n{json}\r\n\
         --X\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1\r\n\r\nhello\r\n--X--\r\n"
    );
    let kind = "content-type: multipart/related; boundary=X";
    let (status, answer) = curl(&[&url, "-H", kind, "--data-binary", &body]);
    assert_eq!(status, 202, "{answer}");
    let page = gnb.receive();
    let NgapMessage::Paging(page) = page else {
        panic!("{page:?}");
    };
    assert_eq!(page.s_tmsi, ue.s_tmsi());
    ue.come_back(&mut gnb, 2);
    let (_, nas, _) = gnb.nas();
    let transport = ue.read(&nas);
    let NasMessage::DownlinkNasTransport(transport) = transport else {
        panic!("{transport:?}");
    };
    assert_eq!(transport.payload, b"hello");
}

#[test]
fn ues_that_were_idle_while_the_amf_was_killed_come_back() {
    let core = Core::up(&[]);
    let mut gnb = Gnb::connect(&core.n2, 1);
    let mut ues: Vec<Ue> = (0..20).map(|at| Ue::new(&core.subscribers(), at)).collect();
    for (ran, ue) in ues.iter_mut().enumerate() {
        ue.register(&mut gnb, ran as u32 + 1);
        ue.idle(&mut gnb);
    }
    let mut gnb = amf_killed(&core);
    for (ran, ue) in ues.iter_mut().enumerate() {
        ue.come_back(&mut gnb, ran as u32 + 1);
    }
    core.counts("amf", "registered", 20);
    core.counts("amf", "connected", 20);
}
