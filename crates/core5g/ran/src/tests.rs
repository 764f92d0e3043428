//! The simulated RAN against a network that keeps the rules, and one that breaks one of them.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corewire_guti::{Guami, Guti, Plmn, Tmsi};

use crate::gnb::{Event, Gnb, GnbConfig};
use crate::step::Step;
use crate::ue::{Ue, UeConfig};
use corewire_core5g_aka::{
    Abba, AuthManagementField, AuthVector, HomeNetworkKeys, Kgnb, Rand, ServingNetwork, Sqn,
    Subscriber, Supi,
};
use corewire_core5g_nas::*;
use corewire_core5g_ngap::transfer::*;
use corewire_core5g_ngap::*;

fn plmn() -> Plmn {
    Plmn::new(1, 1, 2).unwrap()
}

fn slice() -> Snssai {
    "01".parse().unwrap()
}

fn subscriber() -> Subscriber {
    Subscriber::new(
        "465b5ce8b199b49faa5f0a2ee238a6bc".parse().unwrap(),
        "e8ed289deba952e4283b54e88e6183ca".parse().unwrap(),
    )
}

/// A rule that the network breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    Nothing,
    ForgedChallenge,
    OtherCapability,
    BadMac,
    Replay,
    Plain,
    OtherKeyAtGnb,
    NoGuti,
    NoSlice,
    OtherTransaction,
    NoAddress,
    NoFlow,
    NoRate,
    Silence,
    Garbage,
}

/// A network of one UE.
struct Network {
    broken: Broken,
    sqn: Sqn,
    vector: Option<AuthVector>,
    security: Option<NasSecurityContext>,
    capability: UeSecurityCapability,
    count: u32,
    resynchronised: bool,
    registered: bool,
    context_at_gnb: bool,
    out: VecDeque<Vec<u8>>,
}

const AMF_ID: u64 = 7;

impl Network {
    fn new(broken: Broken) -> Self {
        Self {
            broken,
            sqn: Sqn::default(),
            vector: None,
            security: None,
            capability: UeSecurityCapability::of_ue(),
            count: 0,
            resynchronised: false,
            registered: false,
            context_at_gnb: false,
            out: VecDeque::new(),
        }
    }

    fn ue(ran: RanUeNgapId) -> UePair {
        UePair {
            amf: AmfUeNgapId::new(AMF_ID).unwrap(),
            ran,
        }
    }

    fn send(&mut self, message: impl Into<NgapMessage>) {
        self.out.push_back(message.into().encode().unwrap());
    }

    fn nas(&mut self, ran: RanUeNgapId, nas: Vec<u8>) {
        let ue = Self::ue(ran);
        self.send(DownlinkNas { ue, nas });
    }

    fn protect(&mut self, message: impl Into<NasMessage>) -> Vec<u8> {
        let message = message.into();
        self.security.as_mut().unwrap().protect(&message).unwrap()
    }

    fn handle(&mut self, octets: &[u8]) {
        match NgapMessage::decode(octets).unwrap() {
            NgapMessage::NgSetupRequest(_) => self.send(NgSetupResponse {
                amf_name: "amf".into(),
                guamis: vec![Guami::default()],
                capacity: 1,
                plmns: vec![PlmnSlices {
                    plmn: plmn(),
                    slices: vec![slice()],
                }],
            }),
            NgapMessage::InitialUeMessage(m) => self.uplink(m.ran, &m.nas),
            NgapMessage::UplinkNas(m) => self.uplink(m.ue.ran, &m.nas),
            NgapMessage::UeContextReleaseRequest(m) => self.release(m.ue.ran),
            NgapMessage::PduSessionResourceSetupResponse(m) => {
                let transfer = SetupResponseTransfer::decode(&m.set_up[0].transfer).unwrap();
                assert_eq!(transfer.flows, [1]);
            }
            NgapMessage::InitialContextSetupResponse(_)
            | NgapMessage::UeContextReleaseComplete(_)
            | NgapMessage::PduSessionResourceModifyResponse(_)
            | NgapMessage::PduSessionResourceReleaseResponse(_) => {}
            other => panic!("{other:?}"),
        }
    }

    fn release(&mut self, ran: RanUeNgapId) {
        self.context_at_gnb = false;
        self.send(UeContextReleaseCommand {
            ue: UeIds::Pair(Self::ue(ran)),
            cause: Cause::USER_INACTIVITY,
        });
    }

    fn uplink(&mut self, ran: RanUeNgapId, octets: &[u8]) {
        let known = self.security.as_mut();
        let message = match known.and_then(|security| security.unprotect(octets).ok()) {
            Some(received) => {
                self.count = received.count;
                received.message
            }
            None => {
                self.security = None;
                NasMessage::decode_unverified(octets).unwrap()
            }
        };
        match message {
            NasMessage::RegistrationRequest(_) if self.security.is_some() => self.accept(ran),
            NasMessage::RegistrationRequest(request) => {
                let MobileIdentity::Suci(suci) = request.identity else {
                    panic!("no SUCI");
                };
                assert!(suci.deconceal(&HomeNetworkKeys::default()).is_ok());
                self.challenge(ran);
            }
            NasMessage::SecurityModeReject(_) => {}
            NasMessage::AuthenticationFailure(failure)
                if failure.cause != MmCause::SYNCH_FAILURE =>
            {
                assert_eq!(self.broken, Broken::ForgedChallenge);
            }
            NasMessage::AuthenticationFailure(failure) => {
                let rand = &self.vector.as_ref().unwrap().rand;
                let told = subscriber().resynchronise(rand, &failure.auts.unwrap());
                self.sqn = told.unwrap();
                self.resynchronised = true;
                self.challenge(ran);
            }
            NasMessage::AuthenticationResponse(response) => self.start_security(ran, &response),
            NasMessage::SecurityModeComplete(complete) => {
                let whole = NasMessage::decode(&complete.container.unwrap()).unwrap();
                let NasMessage::RegistrationRequest(whole) = whole else {
                    panic!("{whole:?}");
                };
                assert_eq!(whole.requested_nssai, [slice()]);
                self.accept(ran);
            }
            NasMessage::RegistrationComplete(_) => {
                assert_ne!(self.broken, Broken::NoGuti);
                self.registered = true;
            }
            NasMessage::ServiceRequest(request) => {
                let accept = ServiceAccept {
                    sessions: request.sessions,
                    reactivation_failed: None,
                };
                let nas = self.protect(accept);
                self.set_up_context(ran, nas);
            }
            NasMessage::UplinkNasTransport(transport) => self.session(ran, &transport),
            NasMessage::DeregistrationRequestFromUe(request) => {
                self.registered = false;
                if !request.switch_off {
                    let nas = self.protect(DeregistrationAcceptToUe);
                    self.nas(ran, nas);
                }
                self.release(ran);
            }
            other => panic!("{other:?}"),
        }
    }

    fn challenge(&mut self, ran: RanUeNgapId) {
        self.sqn = self.sqn.next();
        let network = ServingNetwork::of(plmn());
        let field = AuthManagementField::default();
        let mut vector = subscriber().vector(Rand::new([5; 16]), self.sqn, &field, &network);
        if self.broken == Broken::ForgedChallenge {
            vector.autn = corewire_core5g_aka::Autn::new([9; 16]);
        }
        let request = NasMessage::from(AuthenticationRequest {
            ksi: Ksi::ZERO,
            abba: Abba::default(),
            rand: vector.rand.clone(),
            autn: vector.autn.clone(),
        });
        self.vector = Some(vector);
        match self.broken {
            Broken::Silence => {}
            Broken::Garbage => self.out.push_back(vec![0xff; 9]),
            _ => self.nas(ran, request.encode().unwrap()),
        }
    }

    fn start_security(&mut self, ran: RanUeNgapId, response: &AuthenticationResponse) {
        let vector = self.vector.as_ref().unwrap();
        assert!(vector.xres_star.accepts(&response.res_star));
        let supi: Supi = "imsi-001010000000001".parse().unwrap();
        let kseaf = vector.kausf.kseaf(&ServingNetwork::of(plmn()));
        let kamf = kseaf.kamf(&supi, &Abba::default());
        let algorithms = NasAlgorithms {
            ciphering: Ciphering::Nea2,
            integrity: Integrity::Nia2,
        };
        let context = NasSecurityContext::new(kamf, Ksi::ZERO, algorithms, Side::Network);
        self.security = Some(context.unwrap());
        let replayed = match self.broken {
            Broken::OtherCapability => UeSecurityCapability::from_octets(&[0x80, 0x40]).unwrap(),
            _ => self.capability.clone(),
        };
        let mut nas = self.protect(SecurityModeCommand {
            algorithms,
            ksi: Ksi::ZERO,
            replayed,
            imeisv_requested: true,
            repeat_initial: true,
        });
        if self.broken == Broken::BadMac {
            nas[3] ^= 1;
        }
        self.nas(ran, nas.clone());
        if self.broken == Broken::Replay {
            self.nas(ran, nas);
        }
    }

    fn accept(&mut self, ran: RanUeNgapId) {
        let guti = Guti::new(Guami::default(), Tmsi::try_from(99).unwrap());
        let tai = Tai {
            plmn: plmn(),
            tac: Tac::new(1).unwrap(),
        };
        let accept = RegistrationAccept {
            guti: (self.broken != Broken::NoGuti).then_some(guti),
            tai_list: vec![tai],
            allowed_nssai: match self.broken {
                Broken::NoSlice => Vec::new(),
                _ => vec![slice()],
            },
            t3512: Some(Duration::from_secs(600)),
            ..Default::default()
        };
        let nas = match self.broken {
            Broken::Plain => NasMessage::from(accept).encode().unwrap(),
            _ => self.protect(accept),
        };
        self.set_up_context(ran, nas);
    }

    fn set_up_context(&mut self, ran: RanUeNgapId, nas: Vec<u8>) {
        if self.context_at_gnb {
            return self.nas(ran, nas);
        }
        self.context_at_gnb = true;
        let security = self.security.as_ref().unwrap();
        let kgnb = match self.broken {
            Broken::OtherKeyAtGnb => Kgnb::new([1; 32]),
            _ => security.kgnb(self.count),
        };
        let capability = (&self.capability).into();
        self.send(InitialContextSetupRequest {
            ue: Self::ue(ran),
            guami: Guami::default(),
            allowed_nssai: vec![slice()],
            capability,
            kgnb,
            nas: Some(nas),
            sessions: Vec::new(),
            ambr: None,
        });
    }

    fn session(&mut self, ran: RanUeNgapId, transport: &UplinkNasTransport) {
        let ue = Self::ue(ran);
        let session = PduSessionId::new(1).unwrap();
        match NasMessage::decode(&transport.payload).unwrap() {
            NasMessage::PduSessionEstablishmentRequest(request) => {
                assert_eq!(transport.request, Some(RequestKind::Initial));
                assert_eq!(transport.dnn.as_deref(), Some("internet"));
                let mut header = request.header;
                if self.broken == Broken::OtherTransaction {
                    header.pti += 1;
                }
                let nas = self.carried(PduSessionEstablishmentAccept {
                    header,
                    session_type: SessionType::Ipv4,
                    ssc_mode: SscMode::ONE,
                    qos_rules: QosRules::match_all(1),
                    ambr: SessionAmbr {
                        downlink_kbps: 1000,
                        uplink_kbps: 1000,
                    },
                    cause: None,
                    address: (self.broken != Broken::NoAddress)
                        .then_some(PduAddress::Ipv4(Ipv4Addr::new(10, 0, 0, 1))),
                    snssai: Some(slice()),
                    qos_flows: (self.broken != Broken::NoFlow)
                        .then(|| QosFlowDescriptions::of_flow(1, 9)),
                    dnn: Some("internet".into()),
                    options: None,
                });
                let transfer = SetupRequestTransfer {
                    uplink: GtpTunnel {
                        address: [127, 0, 0, 9].into(),
                        teid: 1,
                    },
                    session_type: SessionType::Ipv4,
                    flows: vec![QosFlow {
                        qfi: 1,
                        five_qi: 9,
                        priority: 8,
                    }],
                    rate: (self.broken != Broken::NoRate).then_some(SessionRate {
                        downlink: 1_000_000,
                        uplink: 1_000_000,
                    }),
                };
                self.send(PduSessionResourceSetupRequest {
                    ue,
                    sessions: vec![SessionSetup {
                        session,
                        nas: Some(nas),
                        snssai: slice(),
                        transfer: transfer.encode().unwrap(),
                    }],
                    ambr: None,
                });
            }
            NasMessage::PduSessionModificationRequest(request) => {
                let nas = self.carried(PduSessionModificationCommand {
                    header: request.header,
                    ambr: None,
                    qos_rules: request.qos_rules,
                });
                let transfer = ModifyRequestTransfer {
                    rate: None,
                    flows: Vec::new(),
                };
                self.send(PduSessionResourceModifyRequest {
                    ue,
                    sessions: vec![SessionModify {
                        session,
                        nas: Some(nas),
                        transfer: transfer.encode().unwrap(),
                    }],
                });
            }
            NasMessage::PduSessionReleaseRequest(request) => {
                let cause = SmCause::REGULAR_DEACTIVATION;
                let nas = self.carried(PduSessionReleaseCommand {
                    header: request.header,
                    cause,
                });
                let cause = Cause::NORMAL_RELEASE;
                self.send(PduSessionResourceReleaseCommand {
                    ue,
                    nas: Some(nas),
                    sessions: vec![SessionTransfer {
                        session,
                        transfer: ReleaseCommandTransfer { cause }.encode().unwrap(),
                    }],
                });
            }
            NasMessage::PduSessionModificationComplete(_)
            | NasMessage::PduSessionReleaseComplete(_) => {}
            other => panic!("{other:?}"),
        }
    }

    fn carried(&mut self, message: impl Into<NasMessage>) -> Vec<u8> {
        self.protect(DownlinkNasTransport {
            payload: message.into().encode().unwrap(),
            session: PduSessionId::new(1),
            cause: None,
            ..DownlinkNasTransport::default()
        })
    }
}

/// A gNB with one UE of this script.
fn gnb_of_one(script: &[Step], resynchronise: bool) -> Gnb {
    let config = Arc::new(UeConfig {
        plmn: plmn(),
        script: script.to_vec(),
        patience: Duration::from_secs(5),
        wait: Duration::from_millis(10),
        snssai: slice(),
        dnn: "internet".into(),
        home_network_key: None,
        resynchronise,
    });
    let supi = "imsi-001010000000001".parse().unwrap();
    let ue = Ue::new(config, supi, subscriber());
    let gnb = GnbConfig {
        id: GnbId {
            plmn: plmn(),
            value: 1,
            bits: 24,
        },
        tac: Tac::new(1).unwrap(),
        snssai: slice(),
        address: [127, 0, 0, 1].into(),
    };
    Gnb::new(gnb, vec![ue])
}

/// Lets a gNB and the network talk until nothing is left to say.
fn exchange(gnb: &mut Gnb, network: &mut Network, now: Instant) -> Result<(), String> {
    while let Some((stream, octets)) = gnb.out.pop_front() {
        // The node's own is for what is about no UE (TS 38.412, 7).
        let is_setup = matches!(
            NgapMessage::decode(&octets),
            Ok(NgapMessage::NgSetupRequest(_))
        );
        assert_eq!(stream, u16::from(!is_setup));
        network.handle(&octets);
        while let Some(octets) = network.out.pop_front() {
            gnb.handle(now, &octets)?;
        }
    }
    Ok(())
}

/// Runs one UE's script; what was done, and why it failed.
fn attach(
    script: &[Step],
    network: &mut Network,
    resynchronise: bool,
) -> Result<Vec<Step>, String> {
    attach_pausing(script, network, resynchronise, None)
}

/// The same, with a pause before a step, which ends at once.
fn attach_pausing(
    script: &[Step],
    network: &mut Network,
    resynchronise: bool,
    pause: Option<Step>,
) -> Result<Vec<Step>, String> {
    let mut gnb = gnb_of_one(script, resynchronise).pausing_before(pause);
    let now = Instant::now();
    let mut exchange = |gnb: &mut Gnb| exchange(gnb, network, now);
    gnb.set_up(4)?;
    exchange(&mut gnb)?;
    assert!(gnb.is_up());
    gnb.start(0, now);
    exchange(&mut gnb)?;
    assert_eq!(gnb.paused() == 1, pause.is_some());
    if gnb.resume_one(now) {
        exchange(&mut gnb)?;
    }
    if let Some(timeout) = gnb.timeout() {
        gnb.handle_timeout(timeout);
    }
    let mut done = Vec::new();
    for event in gnb.events.drain(..) {
        match event {
            Event::Step(end) => done.push(end.step),
            Event::Failed { failure, .. } => return Err(failure.what),
            Event::Finished => return Ok(done),
            Event::Left { .. } => return Err("it was not told to leave".into()),
            Event::Paused => {}
        }
    }
    Err("neither finished nor failed".into())
}

/// The UE of a run that is stopped: the steps that it did, and whether it was in the middle of its
/// script.
fn stopped(pause: Option<Step>) -> (Vec<Step>, bool) {
    let mut network = Network::new(Broken::Nothing);
    let mut gnb = gnb_of_one(&[Step::Registration, Step::Session], false).pausing_before(pause);
    let now = Instant::now();
    gnb.set_up(4).unwrap();
    exchange(&mut gnb, &mut network, now).unwrap();
    gnb.start(0, now);
    exchange(&mut gnb, &mut network, now).unwrap();
    assert_eq!(gnb.attached().count(), 1);
    gnb.stop();
    while gnb.resume_one(now) || gnb.leave_one(now) {
        exchange(&mut gnb, &mut network, now).unwrap();
    }
    assert!(gnb.has_left() && !network.registered);
    assert_eq!(gnb.attached().count(), 0);
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for event in gnb.events.drain(..) {
        match event {
            Event::Step(end) => done.push(end.step),
            Event::Left { active } => left.push(active),
            Event::Finished | Event::Paused => {}
            Event::Failed { failure, .. } => panic!("{failure:?}"),
        }
    }
    assert_eq!(left.len(), 1);
    (done, left[0])
}

#[test]
fn a_ue_that_has_finished_detaches_when_the_run_is_stopped() {
    let steps = vec![Step::Registration, Step::Session, Step::Detach];
    assert_eq!(stopped(None), (steps, false));
}

#[test]
fn a_ue_that_waits_detaches_without_its_other_steps_when_the_run_is_stopped() {
    let steps = vec![Step::Registration, Step::Detach];
    assert_eq!(stopped(Some(Step::Session)), (steps, true));
}

#[test]
fn a_ue_does_all_of_its_script() {
    use Step::*;
    let script = [
        Registration,
        Session,
        Modification,
        Idle,
        Service,
        Release,
        Session,
        Periodic,
        Detach,
        Registration,
        Reregistration,
        SwitchOff,
    ];
    let mut network = Network::new(Broken::Nothing);
    assert_eq!(attach(&script, &mut network, false), Ok(script.to_vec()));
    assert!(!network.registered);
}

#[test]
fn a_ue_waits_before_the_step_that_it_was_told_and_goes_on() {
    let script = [Step::Registration, Step::Session, Step::Detach];
    let mut network = Network::new(Broken::Nothing);
    let done = attach_pausing(&script, &mut network, false, Some(Step::Detach));
    assert_eq!(done, Ok(script.to_vec()));
    assert!(!network.registered);
}

#[test]
fn a_usim_that_is_ahead_resynchronises_the_network() {
    let mut network = Network::new(Broken::Nothing);
    let done = attach(&[Step::Registration], &mut network, true);
    assert_eq!(done, Ok(vec![Step::Registration]));
    assert!(network.resynchronised && network.registered);
}

#[test]
fn a_network_that_breaks_a_rule_is_caught() {
    for (broken, reason) in [
        (
            Broken::ForgedChallenge,
            "does not come from the home network",
        ),
        (Broken::OtherCapability, "capabilities are not the UE's"),
        (Broken::BadMac, "the MAC is wrong"),
        (Broken::Replay, "without an authentication"),
        (Broken::Plain, "RegistrationAccept came without protection"),
        (Broken::OtherKeyAtGnb, "the gNB's key is not the UE's"),
        (Broken::NoGuti, "no GUTI"),
        (Broken::NoSlice, "allows no slice"),
        (Broken::OtherTransaction, "transaction"),
        (Broken::NoAddress, "no IPv4 address"),
        (Broken::NoFlow, "default flow is not described"),
        (Broken::NoRate, "no session rate"),
        (Broken::Silence, "no answer in time"),
        (Broken::Garbage, "not to be understood"),
    ] {
        let mut network = Network::new(broken);
        let result = attach(&[Step::Registration, Step::Session], &mut network, false);
        let why = result.unwrap_err();
        assert!(why.contains(reason), "{broken:?}: {why}");
    }
}

#[test]
fn a_script_that_makes_no_sense_fails_at_once() {
    for (script, reason) in [
        (Step::Session, "not registered"),
        (Step::Service, "not registered"),
        (Step::Detach, "not registered"),
        (Step::Reregistration, "no GUTI"),
    ] {
        let mut network = Network::new(Broken::Nothing);
        let why = attach(&[script], &mut network, false).unwrap_err();
        assert!(why.contains(reason), "{script}: {why}");
    }
}
