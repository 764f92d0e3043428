//! A gNB and UEs that do what the test says, one message at a time, also what none would do.

use corewire_core5g_aka::{
    Abba, Kgnb, Protection, RoutingIndicator, ServingNetwork, SqnWindow, Subscriber, Suci, Supi,
    Usim,
};
use corewire_core5g_nas::*;
use corewire_core5g_ngap::*;
use corewire_core5g_subscribers::SubscriberFile;
use corewire_guti::{Guti, Plmn};
use corewire_transport::sctp::{Association, Carrier, Driver};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn plmn() -> Plmn {
    "001-01".parse().expect("a network")
}

fn tai() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac::new(1).expect("24 bits"),
    }
}

fn gnb_id(value: u32) -> GnbId {
    GnbId {
        plmn: plmn(),
        value,
        bits: 24,
    }
}

fn location() -> Location {
    Location {
        cell: NrCell::of(gnb_id(1), 1),
        tai: tai(),
    }
}

/// What a gNB with this number says first.
pub(crate) fn set_up_request(number: u32) -> NgSetupRequest {
    NgSetupRequest {
        gnb: gnb_id(number),
        name: None,
        areas: vec![SupportedArea {
            tac: tai().tac,
            plmns: vec![PlmnSlices {
                plmn: plmn(),
                slices: vec!["01".parse().expect("a slice")],
            }],
        }],
    }
}

/// A gNB's association with the AMF.
pub(crate) struct Gnb {
    association: Association,
    _driver: Driver,
}

impl Gnb {
    /// Connects, and sets N2 up.
    pub(crate) fn connect(n2: &str, number: u32) -> Self {
        let driver = Driver::start(Carrier::Tcp).expect("a carrier");
        let address = n2.parse().expect("an address");
        let until = Instant::now() + PATIENCE;
        let association = loop {
            match driver.connect(address, PATIENCE) {
                Ok(association) => break association,
                Err(error) => assert!(Instant::now() < until, "no AMF: {error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut gnb = Self {
            association,
            _driver: driver,
        };
        gnb.set_up(number);
        gnb
    }

    /// Sets N2 up, again perhaps.
    pub(crate) fn set_up(&mut self, number: u32) {
        self.send(set_up_request(number));
        let answer = self.receive();
        assert!(
            matches!(answer, NgapMessage::NgSetupResponse(_)),
            "{answer:?}"
        );
    }

    pub(crate) fn send(&self, message: impl Into<NgapMessage>) {
        let octets = message.into().encode().expect("it can be written");
        self.association
            .send(1, PPID, &octets)
            .expect("the AMF takes it");
    }

    /// The AMF's next message.
    pub(crate) fn receive(&mut self) -> NgapMessage {
        self.receive_within(PATIENCE)
            .expect("the AMF says something")
    }

    /// The AMF's next message, if it says anything.
    pub(crate) fn receive_within(&mut self, patience: Duration) -> Option<NgapMessage> {
        let message = self.association.receive_until(Instant::now() + patience)?;
        let message = message.expect("the association is there");
        Some(NgapMessage::decode(&message.bytes).expect("NGAP"))
    }

    /// Says that a UE has a new connection with this number.
    pub(crate) fn initial(&self, ran: u32, nas: Vec<u8>, s_tmsi: Option<STmsi>) {
        self.send(InitialUeMessage {
            ran: RanUeNgapId(ran),
            nas,
            location: location(),
            establishment: EstablishmentCause::Signalling,
            s_tmsi,
            context_requested: true,
        });
    }

    pub(crate) fn uplink(&self, ue: UePair, nas: Vec<u8>) {
        self.send(UplinkNas {
            ue,
            nas,
            location: location(),
        });
    }

    /// Asks for a UE's release, as when it is silent, and lets go of it.
    pub(crate) fn release(&mut self, ue: UePair) {
        self.send(UeContextReleaseRequest {
            ue,
            sessions: Vec::new(),
            cause: Cause::USER_INACTIVITY,
        });
        self.let_go(ue);
    }

    /// Lets go of a UE when the AMF says so, which it is about to.
    pub(crate) fn let_go(&mut self, ue: UePair) {
        let command = self.receive();
        let NgapMessage::UeContextReleaseCommand(command) = command else {
            panic!("{command:?}");
        };
        assert_eq!(command.ue, UeIds::Pair(ue));
        let sessions = Vec::new();
        self.send(UeContextReleaseComplete { ue, sessions });
    }

    /// A NAS message from the AMF, and whose it is; a context for the gNB is taken on the way.
    pub(crate) fn nas(&mut self) -> (UePair, Vec<u8>, Option<Kgnb>) {
        match self.receive() {
            NgapMessage::DownlinkNas(message) => (message.ue, message.nas, None),
            NgapMessage::InitialContextSetupRequest(request) => {
                self.send(InitialContextSetupResponse {
                    ue: request.ue,
                    set_up: Vec::new(),
                    failed: Vec::new(),
                });
                let nas = request.nas.expect("a message for the UE");
                (request.ue, nas, Some(request.kgnb))
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A UE in nobody's hands but the test's.
pub(crate) struct Ue {
    pub(crate) supi: Supi,
    usim: Usim,
    pub(crate) security: Option<NasSecurityContext>,
    pub(crate) guti: Option<Guti>,
    /// Its connection, once the AMF has said something on it.
    pub(crate) pair: Option<UePair>,
}

impl Ue {
    /// The subscriber at this place of a core's file.
    pub(crate) fn new(subscribers: &Path, at: u64) -> Self {
        let file = SubscriberFile::read(subscribers).expect("subscribers");
        let (supi, subscriber): (Supi, Subscriber) = file.nth(at).expect("so many");
        Self {
            supi,
            usim: Usim::new(subscriber, SqnWindow::default()),
            security: None,
            guti: None,
            pair: None,
        }
    }

    pub(crate) fn suci(&self) -> Suci {
        Suci::conceal(&self.supi, 2, RoutingIndicator::default(), Protection::Null).expect("a SUCI")
    }

    pub(crate) fn s_tmsi(&self) -> STmsi {
        STmsi::of(self.guti.expect("it has registered"))
    }

    pub(crate) fn pair(&self) -> UePair {
        self.pair.expect("it has a connection")
    }

    pub(crate) fn request(&self, identity: MobileIdentity) -> RegistrationRequest {
        RegistrationRequest {
            kind: RegistrationKind::Initial,
            follow_on: true,
            ksi: self.security.as_ref().map(NasSecurityContext::ksi),
            identity,
            capability: Some(UeSecurityCapability::of_ue()),
            requested_nssai: Vec::new(),
            last_tai: None,
            uplink_data: None,
            sessions: None,
            container: None,
        }
    }

    pub(crate) fn service_request(&self) -> ServiceRequest {
        ServiceRequest {
            ksi: self.security.as_ref().map(NasSecurityContext::ksi),
            kind: ServiceKind::Signalling,
            s_tmsi: self.s_tmsi(),
            uplink_data: None,
            sessions: None,
            container: None,
        }
    }

    pub(crate) fn protect(&mut self, message: impl Into<NasMessage>) -> Vec<u8> {
        let security = self.security.as_mut().expect("keys");
        security.protect(&message.into()).expect("protected")
    }

    pub(crate) fn protect_initial(&mut self, message: impl Into<NasMessage>) -> Vec<u8> {
        let security = self.security.as_mut().expect("keys");
        security
            .protect_initial(&message.into())
            .expect("protected")
    }

    /// Reads what the AMF says under the UE's keys: a count that was used before is refused.
    pub(crate) fn read(&mut self, octets: &[u8]) -> NasMessage {
        let security = self.security.as_mut().expect("keys");
        security
            .unprotect(octets)
            .expect("a message under the UE's keys with a count of its own")
            .message
    }

    /// Registers by SUCI on a new connection with this number, to its end.
    pub(crate) fn register(&mut self, gnb: &mut Gnb, ran: u32) {
        self.security = None;
        let request = self.request(MobileIdentity::Suci(self.suci()));
        let nas = NasMessage::from(request.clone()).encode().expect("written");
        gnb.initial(ran, nas, None);
        self.authenticate(gnb, request);
        self.accept(gnb);
        self.complete(gnb);
    }

    /// Answers a challenge and a security mode command, which are to come.
    pub(crate) fn authenticate(&mut self, gnb: &mut Gnb, request: RegistrationRequest) {
        let (ue, challenge, _) = gnb.nas();
        self.pair = Some(ue);
        let protected = Envelope::of(&challenge).expect("NAS") != Envelope::Plain;
        let challenge = if protected {
            self.read(&challenge)
        } else {
            NasMessage::decode(&challenge).expect("NAS")
        };
        let NasMessage::AuthenticationRequest(challenge) = challenge else {
            panic!("{challenge:?}");
        };
        let network = ServingNetwork::of(plmn());
        let answer = self
            .usim
            .answer(&challenge.rand, &challenge.autn, &network)
            .expect("a challenge of the home network");
        let kamf = answer
            .kausf
            .kseaf(&network)
            .kamf(&self.supi, &Abba::default());
        let response = AuthenticationResponse {
            res_star: answer.res_star,
        };
        let response = if protected {
            self.protect(response)
        } else {
            NasMessage::from(response).encode().expect("written")
        };
        gnb.uplink(ue, response);
        let (_, command, _) = gnb.nas();
        let unverified = NasMessage::decode_unverified(&command).expect("NAS");
        let NasMessage::SecurityModeCommand(said) = unverified else {
            panic!("{unverified:?}");
        };
        let security = NasSecurityContext::new(kamf, said.ksi, said.algorithms, Side::Ue);
        self.security = Some(security.expect("keys"));
        self.read(&command);
        let whole = NasMessage::from(request).encode().expect("written");
        let complete = self.protect(SecurityModeComplete {
            imeisv: None,
            container: Some(whole),
        });
        gnb.uplink(ue, complete);
    }

    /// Takes REGISTRATION ACCEPT, which is to come; gives the GUTI in it.
    pub(crate) fn accept(&mut self, gnb: &mut Gnb) -> Guti {
        let accept = self.accepted(gnb);
        accept.guti.expect("a GUTI")
    }

    /// Takes REGISTRATION ACCEPT with a GUTI, which is to come.
    pub(crate) fn accepted(&mut self, gnb: &mut Gnb) -> RegistrationAccept {
        let (ue, nas, _) = gnb.nas();
        self.pair = Some(ue);
        let accept = self.read(&nas);
        let NasMessage::RegistrationAccept(accept) = accept else {
            panic!("{accept:?}");
        };
        self.guti = Some(accept.guti.expect("a GUTI"));
        accept
    }

    pub(crate) fn complete(&mut self, gnb: &mut Gnb) {
        let complete = self.protect(RegistrationComplete);
        gnb.uplink(self.pair(), complete);
    }

    /// Becomes idle.
    pub(crate) fn idle(&mut self, gnb: &mut Gnb) {
        gnb.release(self.pair());
        self.pair = None;
    }

    /// Comes back on a new connection with this number, and is served.
    pub(crate) fn come_back(&mut self, gnb: &mut Gnb, ran: u32) {
        let nas = self.protect_initial(self.service_request());
        gnb.initial(ran, nas, Some(self.s_tmsi()));
        self.served(gnb);
    }

    /// Takes SERVICE ACCEPT, which is to come.
    pub(crate) fn served(&mut self, gnb: &mut Gnb) {
        let (ue, nas, _) = gnb.nas();
        self.pair = Some(ue);
        let accept = self.read(&nas);
        assert!(matches!(accept, NasMessage::ServiceAccept(_)), "{accept:?}");
    }
}
