//! One UE's context, and what every procedure does with it: send, wait for the answer, give up.

use super::gnb::{self, Asked, ConnectionId, Link};
use super::network::{NAS_ATTEMPTS, NAS_TIMER};
use super::releases::Turn;
use super::session_transport::{Session, Transfer};
use super::silence::Silence;
use super::ues::Slot;
use super::{Amf, an_release, deregistration, initial, session_transport, store};
use crate::aka::Supi;
use crate::nas::{
    Envelope, MmStatus, NasError, NasMessage, NasSecurityContext, STmsi, Snssai,
    UeSecurityCapability,
};
use crate::ngap::{Cause, NgapMessage, UeAmbr};
use crate::runtime::{Flow, Sbi, contain};
use crate::source3;
use corewire::LoopHandle;
use corewire_guti::Guti;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Events that wait for the end of a procedure.
const MAX_DEFERRED: usize = 64;

/// What can happen to a UE.
pub(super) enum Event {
    /// Somebody has a new connection, says this UE's name, and sent this.
    Initial(Link, Vec<u8>),
    /// It was the UE: the message is under its keys.
    Arrived(Link, Box<Uplink>),
    /// Somebody of whom nothing is known has a new connection, and sent this.
    Stranger(Link, Vec<u8>, Asked),
    /// A NAS message came by this connection.
    Nas(ConnectionId, Vec<u8>),
    /// The same, read already: it waited for a procedure's end.
    Read(Box<Uplink>),
    /// A gNB sent something about the UE by this connection.
    Ngap(ConnectionId, Box<NgapMessage>),
    /// This connection is lost.
    Lost(ConnectionId),
    /// It is its turn to tell its SMFs that it has lost a connection.
    TakeDown(Turn),
    /// A gNB and this AMF do not agree about its connection there.
    LostAt(u64),
    /// An SMF has something for it or for its gNB.
    Transfer(Box<Transfer>),
    /// The SMF has ended the context with this handle; the session's number may be another's by now.
    SessionReleased { session: u8, handle: u64 },
    /// The UDM no longer has it registered here, or its subscription has ended.
    Deregister(Notice),
    /// It has registered anew under another slot: this one is the past.
    Superseded,
    /// It is idle since then, and should have been heard of.
    Silent(Instant),
}

/// What the UDM says of a registration that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// Which of the UE's registrations, as the AMF named it to the UDM.
    pub(super) registration: u64,
    pub(super) why: Why,
}

/// Why a registration has ended (TS 29.503, 6.2.6.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The UE is at another AMF now: it is not told.
    Elsewhere,
    /// It may not be here any more.
    Withdrawn,
    /// It is to come again at once.
    ToRegisterAgain,
}

impl Event {
    /// Whether it may not be dropped however much waits. Of each kind no more can come than the UE
    /// has had connections whose first message was taken, or registrations.
    pub(super) const fn must_arrive(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Arrived(..) | Self::Superseded)
    }
}

/// Why a procedure ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The UE was told so, or has told so; nothing is left to say.
    Refused,
    /// The UE did not answer.
    Silent,
    /// The connection is lost.
    Lost,
    /// The UE began something else: its message waits.
    Superseded,
}

/// What a UE sent, and how far it can be believed.
pub(super) struct Uplink {
    pub(super) message: NasMessage,
    /// The NAS COUNT of a message whose MAC was right.
    pub(super) count: Option<u32>,
}

/// A UE's context.
pub(super) struct Ue {
    pub(super) amf: Arc<Amf>,
    pub(super) slot: Arc<Slot>,
    pub(super) sbi: Sbi,
    pub(super) link: Option<Link>,
    /// A verified message came by `link`: from then on none that is not verified is looked at.
    secured: bool,
    /// The gNB has the UE's context (security, slices).
    pub(super) context_at_gnb: bool,
    pub(super) registered: bool,
    pub(super) supi: Option<Supi>,
    pub(super) guti: Option<Guti>,
    /// The GUTI before: good until the UE is known to have the one above (TS 24.501, 5.5.1.2.8).
    pub(super) former: Option<Guti>,
    /// How the UDM names this registration to us.
    pub(super) registration: u64,
    pub(super) security: Option<NasSecurityContext>,
    /// What the store has of the counts; nothing when it has nothing under these keys.
    pub(super) stored: Option<store::Counts>,
    /// The NAS COUNT of the message that the gNB's key is made from.
    pub(super) kgnb_count: u32,
    pub(super) capability: Option<UeSecurityCapability>,
    /// Of its subscription: what it is allowed is chosen from these at each registration.
    pub(super) subscribed: Vec<Snssai>,
    pub(super) allowed: Vec<Snssai>,
    pub(super) ambr: UeAmbr,
    /// Boxed: a node of the map has room for eleven, and most UEs have one.
    pub(super) sessions: BTreeMap<u8, Box<Session>>,
    /// What waits for the UE to come back.
    pub(super) pending: Vec<Transfer>,
    /// What came while a procedure waited for something else.
    deferred: VecDeque<Event>,
}

/// A UE that nothing is known of yet.
pub(super) fn new(amf: &Arc<Amf>, slot: &Arc<Slot>) -> Box<Ue> {
    Box::new(Ue {
        amf: Arc::clone(amf),
        slot: Arc::clone(slot),
        sbi: amf.runtime.sbi(slot.loop_index),
        link: None,
        context_at_gnb: false,
        registered: false,
        supi: None,
        guti: None,
        former: None,
        registration: 0,
        secured: false,
        security: None,
        stored: None,
        kgnb_count: 0,
        capability: None,
        subscribed: Vec::new(),
        allowed: Vec::new(),
        ambr: UeAmbr {
            downlink: 0,
            uplink: 0,
        },
        sessions: BTreeMap::new(),
        pending: Vec::new(),
        deferred: VecDeque::new(),
    })
}

/// Begins the UE's task: it does what `event` asks for, and what comes meanwhile, and parks.
pub(super) fn start(ue: Box<Ue>, event: Event) {
    let (amf, loop_index) = (Arc::clone(&ue.amf), ue.slot.loop_index);
    amf.runtime.spawn(loop_index, run(ue, event));
}

async fn run(mut ue: Box<Ue>, mut event: Event) {
    loop {
        if let Some(event) = ue.admit(event)
            && contain(Box::pin(handle(&mut ue, event))).await.is_err()
        {
            ue.abandon();
            return;
        }
        if !ue.registered && ue.link.is_none() {
            ue.forget();
            return;
        }
        event = match ue.deferred.pop_front() {
            Some(deferred) => deferred,
            None => {
                let slot = Arc::clone(&ue.slot);
                ue.deferred = VecDeque::new();
                match slot.park(ue) {
                    Some((back, next)) => {
                        ue = back;
                        next
                    }
                    None => return,
                }
            }
        };
    }
}

async fn handle(ue: &mut Ue, event: Event) {
    ue.reserve_counts().await;
    match event {
        // Made one of the next two when it was admitted.
        Event::Initial(..) => {}
        Event::Arrived(link, uplink) => initial::arrived(ue, link, *uplink).await,
        Event::Stranger(link, octets, asked) => initial::stranger(ue, link, &octets, asked).await,
        Event::Nas(_, octets) => match ue.read(&octets) {
            Ok(uplink) => initial::dispatch(ue, uplink).await,
            Err(error) => ue.complain(&error),
        },
        Event::Read(uplink) => initial::dispatch(ue, *uplink).await,
        Event::Ngap(_, message) => session_transport::from_gnb(ue, *message).await,
        Event::Lost(connection) => an_release::lost(ue, connection),
        Event::TakeDown(turn) => {
            let is_done = an_release::take_down(ue).await;
            turn.end(is_done);
        }
        Event::LostAt(gnb) => an_release::lost_at(ue, gnb).await,
        Event::Transfer(transfer) => session_transport::downlink(ue, *transfer).await,
        Event::SessionReleased { session, handle } => {
            if ue.sessions.get(&session).map(|entry| entry.handle) == Some(handle) {
                ue.sessions.remove(&session);
                ue.save().await;
            }
        }
        // One that means an earlier registration, perhaps another process's, is the past.
        Event::Deregister(notice) if notice.registration != ue.registration => {}
        Event::Deregister(notice) => match notice.why {
            Why::Elsewhere => deregistration::implicit(ue).await,
            Why::Withdrawn => deregistration::by_network(ue, false).await,
            Why::ToRegisterAgain => deregistration::by_network(ue, true).await,
        },
        Event::Superseded => deregistration::implicit(ue).await,
        Event::Silent(since) => {
            if ue.registered && ue.link.is_none() && Silence::is_since(&ue.slot, since) {
                deregistration::of_silent(ue).await;
            }
        }
    }
}

impl Ue {
    /// The loop that its task runs on.
    pub(super) fn event_loop(&self) -> &LoopHandle {
        let loops = self.amf.runtime.loops();
        &loops[self.slot.loop_index % loops.len()]
    }

    /// Lets in what is about this UE. Who says its name must show that he is the UE: a message under
    /// its keys, not received before; until then nothing that comes by his connection is the UE's,
    /// and nothing is ended for him (TS 33.501, 6.4.3; TS 38.413, 10.6).
    fn admit(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Initial(link, octets) => match self.verified(&octets) {
                Some(uplink) => Some(Event::Arrived(link, Box::new(uplink))),
                None => {
                    gnb::divert(&self.amf, &link, octets);
                    None
                }
            },
            Event::Nas(by, _) | Event::Ngap(by, _) if !self.is_by(by) => {
                // Its first message waits for a procedure's end: this one waits behind it.
                if self.comes_by(by) {
                    self.defer(event);
                }
                None
            }
            other => Some(other),
        }
    }

    /// The message, when it is under the context that is here.
    fn verified(&mut self, octets: &[u8]) -> Option<Uplink> {
        // Not by `read`: what another connection brings says nothing of this one.
        match (Envelope::of(octets), &mut self.security) {
            (Ok(Envelope::Protected { .. }), Some(security)) => {
                let received = security.unprotect(octets).ok()?;
                // Nothing else begins a connection (TS 24.501, 3.1: initial NAS message); what does is
                // stored as received, so that nobody begins one by what an earlier AMF took already.
                let begins = matches!(
                    received.message,
                    NasMessage::RegistrationRequest(_)
                        | NasMessage::ServiceRequest(_)
                        | NasMessage::DeregistrationRequestFromUe(_)
                );
                begins.then_some(Uplink {
                    message: received.message,
                    count: Some(received.count),
                })
            }
            _ => None,
        }
    }

    /// Whether this is the UE's connection.
    pub(super) fn is_by(&self, connection: ConnectionId) -> bool {
        self.link
            .as_ref()
            .is_some_and(|link| link.id() == connection)
    }

    /// Whether the UE has come by this connection and is not served on it yet.
    fn comes_by(&self, connection: ConnectionId) -> bool {
        let comes =
            |event: &Event| matches!(event, Event::Arrived(link, _) if link.id() == connection);
        self.deferred.iter().any(comes)
    }

    /// Reads a NAS message: one under a security header must be right, others are taken as what they
    /// are (TS 24.501, 4.4.4.3).
    pub(super) fn read(&mut self, octets: &[u8]) -> Result<Uplink, NasError> {
        match (Envelope::of(octets)?, &mut self.security) {
            (Envelope::Protected { .. }, Some(security)) => {
                let received = security.unprotect(octets)?;
                self.secured = true;
                Ok(Uplink {
                    message: received.message,
                    count: Some(received.count),
                })
            }
            _ if self.secured => Err(NasError::unprotected()),
            _ => Ok(Uplink {
                message: NasMessage::decode_unverified(octets)?,
                count: None,
            }),
        }
    }

    /// Sends a NAS message, protected as soon as there is a security context.
    pub(super) fn send(&mut self, message: impl Into<NasMessage>) {
        if let Some(octets) = self.protect(&message.into()) {
            self.send_octets(octets);
        }
    }

    /// The octets of a NAS message, protected as soon as there is a security context. Nothing is
    /// protected with a count that the store does not know to be used.
    pub(super) fn protect(&mut self, message: &NasMessage) -> Option<Vec<u8>> {
        if self.counts_left() == 0 {
            tracing::warn!(
                name: "no-nas-count",
                "{} is not sent: no NAS COUNT can be reserved for it while the UDSF does not answer",
                message.name()
            );
            return None;
        }
        let octets = match &mut self.security {
            Some(security) => security.protect(message),
            None => message.encode(),
        };
        octets
            .inspect_err(|error| {
                tracing::error!(
                    name: "nas-encode-failed",
                    "{} cannot be sent: {error}",
                    message.name()
                );
            })
            .ok()
    }

    pub(super) fn send_octets(&self, octets: Vec<u8>) {
        if let Some(link) = &self.link {
            link.send_nas(octets);
        }
    }

    /// Answers a message that cannot be acted on as TS 24.501, 7 says; silently, where it says so.
    pub(super) fn complain(&mut self, error: &NasError) {
        if let Some(cause) = error.mm_cause() {
            self.send(MmStatus { cause });
        }
    }

    /// Sends a message and waits for its answer; sends it again when the UE is silent.
    ///
    /// # Errors
    /// When there is no answer, or something else comes first.
    pub(super) async fn ask<T>(
        &mut self,
        message: impl Into<NasMessage>,
        mut pick: impl FnMut(Uplink) -> Result<T, Box<Uplink>>,
    ) -> Result<T, Ended> {
        let message = message.into();
        for _ in 0..NAS_ATTEMPTS {
            self.reserve_counts().await;
            self.send(message.clone());
            let until = Instant::now() + NAS_TIMER;
            loop {
                match self.next_nas(until).await {
                    Err(Ended::Silent) => break,
                    Err(ended) => return Err(ended),
                    Ok(uplink) => match pick(uplink) {
                        Ok(answer) => return Ok(answer),
                        // Not an answer: the UE began something else, or repeats itself.
                        Err(other) => self.put_off(*other),
                    },
                }
            }
        }
        Err(Ended::Silent)
    }

    /// The next NAS message of the UE.
    ///
    /// # Errors
    /// When none comes by then, or the connection ends.
    pub(super) async fn next_nas(&mut self, until: Instant) -> Result<Uplink, Ended> {
        loop {
            let octets = self
                .wait(until, |event| match event {
                    Event::Nas(_, octets) => Ok(octets),
                    other => Err(other),
                })
                .await?;
            match self.read(&octets) {
                Ok(uplink) => return Ok(uplink),
                Err(error) => self.complain(&error),
            }
        }
    }

    /// Waits for an event of a kind; others wait until the procedure has ended.
    ///
    /// # Errors
    /// When none comes by then, or the connection ends.
    pub(super) async fn wait<T>(
        &mut self,
        until: Instant,
        mut pick: impl FnMut(Event) -> Result<T, Event>,
    ) -> Result<T, Ended> {
        loop {
            self.reserve_counts().await;
            let event_loop = self.event_loop().clone();
            let Some(event) = self.slot.next(&event_loop, until).await else {
                return Err(Ended::Silent);
            };
            let Some(event) = self.admit(event) else {
                continue;
            };
            match pick(event) {
                Ok(picked) => return Ok(picked),
                Err(Event::Lost(connection)) if self.is_by(connection) => {
                    self.deferred.push_back(Event::Lost(connection));
                    return Err(Ended::Lost);
                }
                Err(Event::Arrived(link, uplink)) => {
                    self.deferred.push_back(Event::Arrived(link, uplink));
                    return Err(Ended::Superseded);
                }
                Err(Event::Ngap(by, message)) if an_release::is_request(&message) => {
                    self.deferred.push_back(Event::Ngap(by, message));
                    return Err(Ended::Lost);
                }
                Err(other) => self.defer(other),
            }
        }
    }

    /// Keeps an event for later, unless as many wait as a mailbox holds.
    fn defer(&mut self, event: Event) {
        if self.deferred.len() < MAX_DEFERRED || event.must_arrive() {
            self.deferred.push_back(event);
        }
    }

    /// A message that does not belong to the procedure in progress waits for its end. What the UE
    /// repeats because it was not answered in time says nothing new.
    pub(super) fn put_off(&mut self, uplink: Uplink) {
        let begins_something = matches!(
            uplink.message,
            NasMessage::UplinkNasTransport(_) | NasMessage::DeregistrationRequestFromUe(_)
        );
        // Not what anybody could have sent: it would be kept for a UE that has not shown who it is.
        if begins_something && uplink.count.is_some() {
            self.defer(Event::Read(Box::new(uplink)));
        }
    }

    /// The UE's permanent identity as service interfaces write it.
    pub(super) fn supi_text(&self) -> String {
        self.supi
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    /// Says what has become of the UE, where source 3's operations drive.
    pub(super) async fn tell(&self, operation: &str, changes: impl FnOnce() -> Value + Send) {
        if self.amf.runtime.flow() == Flow::Source3 {
            source3::tell(&self.sbi, operation, &self.supi_text(), changes).await;
        }
    }

    /// Takes the UE out of the tables: nothing finds it any more.
    fn forget(&mut self) {
        self.forget_names();
        self.amf.silence.forget(&self.slot);
        let told = self.amf.ues.forget(&self.slot);
        for event in std::mem::take(&mut self.deferred).into_iter().chain(told) {
            match event {
                // Whoever says its name now is not the UE that was.
                Event::Initial(link, octets) => gnb::divert(&self.amf, &link, octets),
                // Its own timer brings it back.
                Event::Arrived(link, _) => link.forget(),
                _ => {}
            }
        }
    }

    /// A procedure panicked, so the context here is not to be trusted: releases the connection and
    /// forgets the UE. The UE registers again, or is restored from what the store last got.
    fn abandon(&mut self) {
        tracing::error!(
            name: "ue-abandoned",
            "a procedure of AMF UE NGAP ID {:?} panicked: its connection is released and its context dropped",
            self.slot.id
        );
        if let Some(link) = &self.link {
            link.release(Cause::UNSPECIFIED);
            link.forget();
        }
        self.set_link(None);
        self.set_registered(false);
        self.forget();
    }

    /// The UE has no name any more.
    pub(super) fn forget_names(&mut self) {
        let gutis = [self.guti.take(), self.former.take()];
        for guti in gutis.into_iter().flatten() {
            self.amf.ues.forget_tmsi(STmsi::of(guti), &self.slot);
        }
        if let Some(supi) = self.supi.take() {
            self.amf.ues.forget_supi(&supi.to_string(), &self.slot);
        }
    }

    /// Says that it is registered, or is no more, where that is counted.
    pub(super) fn set_registered(&mut self, registered: bool) {
        if self.registered != registered {
            self.registered = registered;
            match registered {
                true => self.amf.numbers.registered.up(),
                false => self.amf.numbers.registered.down(),
            }
            self.note_silence();
        }
    }

    /// Who is registered and has no connection is to be heard of.
    fn note_silence(&self) {
        match self.registered && self.link.is_none() {
            true => self.amf.silence.begins(Instant::now(), &self.slot),
            false => Silence::ends(&self.slot),
        }
    }

    /// Has a connection from now on, or none.
    pub(super) fn set_link(&mut self, link: Option<Link>) {
        let connected = link.is_some();
        if self.slot.set_connected(connected) != connected {
            match connected {
                true => self.amf.numbers.connected.up(),
                false => self.amf.numbers.connected.down(),
            }
        }
        self.link = link;
        self.secured = false;
        self.context_at_gnb = false;
        self.note_silence();
    }

    /// A verified message came by the connection that it has.
    pub(super) const fn set_secured(&mut self) {
        self.secured = true;
    }
}
