//! A UE of a transcript: a USIM, keys, and the last word of the network. It says only what it is told to.

use corewire_core5g_aka::{
    Abba, AuthManagementField, AuthVector, Kamf, Protection, Rand, RoutingIndicator,
    ServingNetwork, Sqn, SqnWindow, Subscriber, Suci, Supi, Usim, UsimRefusal,
};
use corewire_core5g_nas::{
    AuthenticationFailure, AuthenticationRequest, AuthenticationResponse, Envelope, Ksi, MmCause,
    NasMessage, NasSecurityContext, Side, UeSecurityCapability,
};
use corewire_guti::{Guti, Plmn};

/// One UE.
pub(super) struct TestUe {
    pub(super) supi: Supi,
    subscriber: Subscriber,
    usim: Usim,
    /// What the home network has used.
    sqn: Sqn,
    vectors: u8,
    pub(super) capability: UeSecurityCapability,
    pub(super) security: Option<NasSecurityContext>,
    /// Under the keys of an authentication that no security mode has confirmed.
    fresh: Option<(Kamf, Ksi)>,
    commanded: Option<NasSecurityContext>,
    challenge: Option<AuthenticationRequest>,
    pub(super) guti: Option<Guti>,
    /// The whole of the request that SECURITY MODE COMPLETE repeats.
    pub(super) request: Option<NasMessage>,
    /// RAN UE NGAP ID, gNB and AMF UE NGAP ID of its connection.
    pub(super) ran: Option<u32>,
    pub(super) gnb: usize,
    pub(super) amf: Option<corewire_core5g_ngap::AmfUeNgapId>,
    /// What it said last.
    pub(super) last_said: Vec<u8>,
    /// The NAS COUNT that the gNB's key is made from.
    pub(super) access_count: u32,
}

/// What a UE got, and whether it was protected.
pub(super) enum Received {
    Plain(NasMessage),
    Protected(NasMessage),
    Unreadable,
}

impl TestUe {
    pub(super) fn new(number: usize) -> Self {
        let subscriber = Subscriber::new(
            "465b5ce8b199b49faa5f0a2ee238a6bc".parse().unwrap(),
            "e8ed289deba952e4283b54e88e6183ca".parse().unwrap(),
        );
        Self {
            supi: format!("imsi-00101{number:010}").parse().unwrap(),
            usim: Usim::new(subscriber.clone(), SqnWindow::default()),
            subscriber,
            sqn: Sqn::default(),
            vectors: 0,
            capability: UeSecurityCapability::of_ue(),
            security: None,
            fresh: None,
            commanded: None,
            challenge: None,
            guti: None,
            request: None,
            ran: None,
            gnb: 1,
            amf: None,
            last_said: Vec::new(),
            access_count: 0,
        }
    }

    pub(super) fn suci(&self) -> Suci {
        let indicator = RoutingIndicator::default();
        Suci::conceal(&self.supi, 2, indicator, Protection::Null).unwrap()
    }

    pub(super) fn ksi(&self) -> Option<Ksi> {
        self.security.as_ref().map(NasSecurityContext::ksi)
    }

    fn network() -> ServingNetwork {
        ServingNetwork::of(Plmn::new(1, 1, 2).unwrap())
    }

    /// A vector of the home network; `fresh`: with a sequence number that was not used before.
    pub(super) fn vector(&mut self, fresh: bool) -> AuthVector {
        if fresh {
            self.sqn = self.sqn.next();
        }
        self.vectors += 1;
        let field = AuthManagementField::new([0x80, 0]);
        let rand = Rand::new([self.vectors; 16]);
        self.subscriber
            .vector(rand, self.sqn, &field, &Self::network())
    }

    /// The USIM has taken a sequence number that the home network does not know of.
    pub(super) fn desynchronise(&mut self) {
        let vector = self.vector(true);
        let taken = self
            .usim
            .answer(&vector.rand, &vector.autn, &Self::network());
        taken.unwrap();
        self.sqn = Sqn::default();
    }

    /// The home network has got an AUTS: it goes on behind the USIM's sequence number.
    pub(super) fn resynchronise(&mut self, rand: &str, auts: &str) {
        let (rand, auts) = (rand.parse().unwrap(), auts.parse().unwrap());
        self.sqn = self.subscriber.resynchronise(&rand, &auts).unwrap();
    }

    /// The answer of the USIM to the last challenge.
    pub(super) fn answer_challenge(&mut self) -> NasMessage {
        let challenge = self.challenge.as_ref().expect("a challenge");
        let network = Self::network();
        match self.usim.answer(&challenge.rand, &challenge.autn, &network) {
            Ok(answer) => {
                let kseaf = answer.kausf.kseaf(&network);
                let kamf = kseaf.kamf(&self.supi, &Abba::default());
                self.fresh = Some((kamf, challenge.ksi));
                let res_star = answer.res_star;
                AuthenticationResponse { res_star }.into()
            }
            Err(UsimRefusal::Synch(auts)) => AuthenticationFailure {
                cause: MmCause::SYNCH_FAILURE,
                auts: Some(auts),
            }
            .into(),
            Err(other) => panic!("{other}"),
        }
    }

    /// The UE loses its keys and its name.
    pub(super) fn forget(&mut self) {
        self.security = None;
        self.guti = None;
    }

    /// Reads what the network says, and remembers what matters of it.
    pub(super) fn read(&mut self, octets: &[u8]) -> Received {
        let protected = matches!(Envelope::of(octets), Ok(Envelope::Protected { .. }));
        if !protected {
            let message = NasMessage::decode(octets).expect("a plain message");
            self.note(&message);
            return Received::Plain(message);
        }
        if let Ok(NasMessage::SecurityModeCommand(command)) = NasMessage::decode_unverified(octets)
            && let Some((kamf, ksi)) = self.fresh.take()
        {
            assert_eq!((command.ksi, &command.replayed), (ksi, &self.capability));
            let context = NasSecurityContext::new(kamf, ksi, command.algorithms, Side::Ue);
            self.commanded = Some(context.unwrap());
        }
        let contexts = [&mut self.commanded, &mut self.security];
        let read = contexts
            .into_iter()
            .flatten()
            .find_map(|context| context.unprotect(octets).ok());
        match read {
            Some(read) => {
                self.note(&read.message);
                Received::Protected(read.message)
            }
            None => Received::Unreadable,
        }
    }

    fn note(&mut self, message: &NasMessage) {
        match message {
            NasMessage::AuthenticationRequest(request) => self.challenge = Some(request.clone()),
            NasMessage::RegistrationAccept(accept) => self.guti = accept.guti.or(self.guti),
            _ => {}
        }
    }

    /// The octets of a message: protected when the UE has keys.
    pub(super) fn protect(&mut self, message: &NasMessage, is_initial: bool) -> Vec<u8> {
        if matches!(message, NasMessage::SecurityModeComplete(_)) {
            self.security = self.commanded.take().or_else(|| self.security.take());
        }
        let Some(security) = &mut self.security else {
            return message.encode().unwrap();
        };
        if is_initial || matches!(message, NasMessage::SecurityModeComplete(_)) {
            self.access_count = security.uplink_count().unwrap();
        }
        if is_initial {
            security.protect_initial(message).unwrap()
        } else {
            security.protect(message).unwrap()
        }
    }
}
