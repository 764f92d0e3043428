//! The gNBs of an AMF: one association each, its reader, and what is sent to it.

use super::admission::{Admission, Verdict};
use super::ue::{self, Event};
use super::ues::{Delivery, Slot};
use super::{Amf, ng_reset, ng_setup};
use crate::aka::Kgnb;
use crate::nas::{STmsi, Snssai, Tai, UeSecurityCapability};
use crate::ngap::{
    AmfUeNgapId, Cause, DownlinkNas, ErrorIndication, InitialContextSetupRequest, InitialUeMessage,
    NgapMessage, PPID, Paging, PduSessionResourceModifyRequest, PduSessionResourceReleaseCommand,
    PduSessionResourceSetupRequest, RanUeNgapId, SessionModify, SessionSetup, SessionTransfer,
    UeAmbr, UeConnection, UeContextReleaseCommand, UeIds, UePair,
};
use crate::trace::{Kind, Trace};
use anyhow::{Context as _, bail};
use corewire_guti::Guami;
use corewire_transport::sctp::{Association, AssociationSender, Carrier, Driver, SendError};
use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// UEs of one gNB.
const MAX_UES: usize = 1_000_000;
/// The stream for what is about no UE (TS 38.412, 7).
const COMMON_STREAM: u16 = 0;

/// How long an association may be there without NG Setup, which is a gNB's first word (TS 38.413, 8.7.1.1).
const SETUP_PATIENCE: Duration = Duration::from_secs(10);

/// The gNBs that are connected.
pub(super) struct Gnbs {
    connected: Mutex<HashMap<u64, Arc<Gnb>>>,
    admission: Mutex<Admission>,
    next: AtomicU64,
}

/// One connection of one UE: no other has it, whatever numbers a gNB says again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionId {
    gnb: u64,
    serial: u64,
}

impl Gnbs {
    /// Of `limit` associations at a time, set up or not, and `waiting` of one host that are not set up.
    pub(super) fn new(limit: usize, waiting: usize) -> Self {
        Self {
            connected: Mutex::default(),
            admission: Mutex::new(Admission::new(limit, waiting)),
            next: AtomicU64::new(0),
        }
    }

    /// NG Setup is done: the gNB serves these areas.
    pub(super) fn set_up(&self, gnb: &Gnb, tais: Vec<Tai>) {
        self.admission().set_up(gnb.number);
        gnb.serve(tais);
    }

    fn admission(&self) -> MutexGuard<'_, Admission> {
        let admission = self.admission.lock();
        admission.unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a UE by every gNB that serves one of these areas.
    pub(super) fn page(&self, s_tmsi: STmsi, tais: &[Tai]) {
        let message = NgapMessage::from(Paging {
            s_tmsi,
            tais: tais.to_vec(),
        });
        let gnbs: Vec<_> = self.lock().values().cloned().collect();
        for gnb in gnbs.iter().filter(|gnb| gnb.serves(tais)) {
            gnb.send(COMMON_STREAM, &message);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Gnb>>> {
        self.connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One gNB.
pub(super) struct Gnb {
    number: u64,
    association: AssociationSender,
    trace: Option<Arc<Trace>>,
    tais: Mutex<Vec<Tai>>,
    /// NG Setup is done: other procedures may begin (TS 38.413, 8.7.1.1).
    is_set_up: AtomicBool,
    /// By RAN UE NGAP ID: whose connections it carries.
    ues: Mutex<HashMap<u32, Connection>>,
    next: AtomicU64,
}

impl Gnb {
    /// Sends a message; one that cannot be written or does not fit any more is dropped, and said.
    pub(super) fn send(&self, stream: u16, message: &NgapMessage) {
        let octets = match message.encode() {
            Ok(octets) => octets,
            Err(error) => {
                return tracing::error!(
                    name: "n2-encode-failed",
                    "a message for a gNB: {error}"
                );
            }
        };
        if let Some(trace) = &self.trace {
            trace.n2(Kind::N2Out, message.name());
        }
        match self.association.send(stream, PPID, &octets) {
            // Its UEs are told that it is gone; nobody waits for this message.
            Ok(()) | Err(SendError::Ended) => {}
            Err(error) => {
                tracing::warn!(name: "n2-send-failed", "a gNB does not take a message: {error}")
            }
        }
    }

    /// The stream for what is about a UE (TS 38.412, 7): the one that its own messages come by, or
    /// another of its own where the gNB does not take so many; the common one only where it takes no
    /// second.
    fn stream_for(&self, theirs: u16, ran: u32) -> u16 {
        stream_of(self.association.streams(), theirs, ran)
    }

    fn serve(&self, tais: Vec<Tai>) {
        *self.tais.lock().unwrap_or_else(PoisonError::into_inner) = tais;
        self.is_set_up.store(true, Ordering::Release);
    }

    fn serves(&self, tais: &[Tai]) -> bool {
        let own = self.tais.lock().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|tai| tais.contains(tai))
    }

    /// A UE has lost its connection, if its numbers name one.
    pub(super) fn lose(&self, numbers: UeConnection) {
        self.lose_each(&[numbers]);
    }

    /// UEs have lost their connections: those that one of these pairs of numbers names.
    pub(super) fn lose_each(&self, numbers: &[UeConnection]) {
        let lost = take_named(&mut self.ues(), numbers, |connection| connection.slot.id);
        for connection in &lost {
            self.lost(connection);
        }
    }

    /// Every UE has lost its connection.
    pub(super) fn lose_all(&self) {
        let ues = std::mem::take(&mut *self.ues());
        for connection in ues.values() {
            self.lost(connection);
        }
    }

    /// Tells the UE. It is told once of each connection, which is out of the table.
    fn lost(&self, connection: &Connection) {
        let id = self.id(connection.serial);
        let _gone_itself = connection.slot.deliver(Event::Lost(id));
    }

    const fn id(&self, serial: u64) -> ConnectionId {
        let gnb = self.number;
        ConnectionId { gnb, serial }
    }

    /// The UE with these numbers here, and its connection.
    fn of(&self, ue: UePair) -> Option<(Arc<Slot>, ConnectionId)> {
        let ues = self.ues();
        let found = ues.get(&ue.ran.0).filter(|found| found.slot.id == ue.amf)?;
        Some((Arc::clone(&found.slot), self.id(found.serial)))
    }

    fn connection(&self, slot: &Arc<Slot>, stream: u16) -> Connection {
        Connection {
            slot: Arc::clone(slot),
            stream,
            serial: self.next.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn link(self: &Arc<Self>, connection: &Connection, ran: u32) -> Link {
        Link {
            gnb: Arc::clone(self),
            ue: UePair {
                amf: connection.slot.id,
                ran: RanUeNgapId(ran),
            },
            stream: connection.stream,
            serial: connection.serial,
        }
    }

    fn ues(&self) -> MutexGuard<'_, HashMap<u32, Connection>> {
        self.ues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes those out of the table that one of these pairs of numbers names. However many say the AMF's
/// number only, the table is gone through for them once.
fn take_named<C>(
    ues: &mut HashMap<u32, C>,
    numbers: &[UeConnection],
    id: impl Fn(&C) -> AmfUeNgapId,
) -> Vec<C> {
    let mut taken = Vec::new();
    let mut by_amf = HashSet::new();
    for one in numbers {
        match (one.ran, one.amf) {
            (Some(ran), amf) => {
                let fits = |found: &C| amf.is_none_or(|amf| amf == id(found));
                if ues.get(&ran.0).is_some_and(fits) {
                    taken.extend(ues.remove(&ran.0));
                }
            }
            (None, Some(amf)) => {
                by_amf.insert(amf);
            }
            (None, None) => {}
        }
    }
    if !by_amf.is_empty() {
        let named = ues.extract_if(|_, found| by_amf.contains(&id(found)));
        taken.extend(named.map(|(_, connection)| connection));
    }
    taken
}

/// The stream for a UE whose messages come by `theirs`, at a gNB that takes so many.
fn stream_of(streams: u16, theirs: u16, ran: u32) -> u16 {
    let of_ues = COMMON_STREAM + 1..streams;
    if of_ues.contains(&theirs) {
        return theirs;
    }
    let place = ran.checked_rem(of_ues.len() as u32);
    place.map_or(COMMON_STREAM, |place| of_ues.start + place as u16)
}

/// Whose connection a gNB's number is.
struct Connection {
    slot: Arc<Slot>,
    stream: u16,
    /// Tells it from an earlier one of the same number, even of the same UE.
    serial: u64,
}

/// A UE's connection: which gNB, and by which number there.
#[derive(Clone)]
pub(super) struct Link {
    gnb: Arc<Gnb>,
    ue: UePair,
    /// The stream that is the UE's, for as long as the connection is there.
    stream: u16,
    serial: u64,
}

impl Link {
    /// Which connection it is.
    pub(super) fn id(&self) -> ConnectionId {
        self.gnb.id(self.serial)
    }

    /// The same connection as this UE's; `None` when it is over.
    pub(super) fn of(&self, slot: &Arc<Slot>) -> Option<Self> {
        let mut ues = self.gnb.ues();
        let connection = ues.get_mut(&self.ue.ran.0)?;
        if connection.serial != self.serial {
            return None;
        }
        connection.slot = Arc::clone(slot);
        Some(self.gnb.link(connection, self.ue.ran.0))
    }

    fn send(&self, message: impl Into<NgapMessage>) {
        self.gnb.send(self.stream, &message.into());
    }

    /// A NAS message for the UE.
    pub(super) fn send_nas(&self, nas: Vec<u8>) {
        self.send(DownlinkNas { ue: self.ue, nas });
    }

    /// The UE's context for the gNB.
    pub(super) fn set_up_context(&self, context: GnbContext<'_>) {
        let with_sessions = !context.sessions.is_empty();
        self.send(InitialContextSetupRequest {
            ue: self.ue,
            guami: context.guami,
            allowed_nssai: context.allowed.to_vec(),
            capability: context.capability.into(),
            kgnb: context.kgnb,
            nas: Some(context.nas),
            sessions: context.sessions,
            // Only with sessions (TS 38.413, 9.2.2.1).
            ambr: with_sessions.then_some(context.ambr),
        });
    }

    /// A session's user plane.
    pub(super) fn set_up(&self, session: SessionSetup, ambr: UeAmbr) {
        self.send(PduSessionResourceSetupRequest {
            ue: self.ue,
            sessions: vec![session],
            ambr: Some(ambr),
        });
    }

    /// A change of a session's user plane.
    pub(super) fn modify(&self, session: SessionModify) {
        self.send(PduSessionResourceModifyRequest {
            ue: self.ue,
            sessions: vec![session],
        });
    }

    /// The end of a session's user plane.
    pub(super) fn release_session(&self, session: SessionTransfer, nas: Option<Vec<u8>>) {
        self.send(PduSessionResourceReleaseCommand {
            ue: self.ue,
            nas,
            sessions: vec![session],
        });
    }

    /// The gNB is to let go of the UE.
    pub(super) fn release(&self, cause: Cause) {
        self.send(UeContextReleaseCommand {
            ue: UeIds::Pair(self.ue),
            cause,
        });
    }

    /// Whether the connection is with this gNB.
    pub(super) fn is_at(&self, gnb: u64) -> bool {
        self.gnb.number == gnb
    }

    /// Whether the gNB says the same number for both.
    pub(super) fn has_number_of(&self, other: &Self) -> bool {
        self.gnb.number == other.gnb.number && self.ue.ran == other.ue.ran
    }

    /// The connection is over: the number may be another UE's now.
    pub(super) fn forget(&self) {
        let mut ues = self.gnb.ues();
        if ues
            .get(&self.ue.ran.0)
            .is_some_and(|connection| connection.serial == self.serial)
        {
            ues.remove(&self.ue.ran.0);
        }
    }
}

/// What a gNB is told of a UE (TS 38.413, 9.2.2.1).
pub(super) struct GnbContext<'a> {
    pub(super) guami: Guami,
    pub(super) allowed: &'a [Snssai],
    pub(super) capability: &'a UeSecurityCapability,
    pub(super) kgnb: Kgnb,
    /// For the UE.
    pub(super) nas: Vec<u8>,
    pub(super) sessions: Vec<SessionSetup>,
    pub(super) ambr: UeAmbr,
}

/// UDP ports of SCTP in UDP: this node's (RFC 6951), and that of gNBs, which may be on this host.
const UDP_PORTS: (u16, u16) = (9899, 9898);

/// Takes gNBs from now on; says where, and what carries their messages.
///
/// # Errors
/// When N2 cannot be listened at.
pub(super) fn listen(amf: &Arc<Amf>, carrier: &str, address: &str) -> anyhow::Result<()> {
    let carrier = match carrier {
        "sctp" => Carrier::Raw,
        "udp" => Carrier::Udp {
            local: UDP_PORTS.0,
            remote: UDP_PORTS.1,
        },
        "tcp" => Carrier::Tcp,
        other => bail!("--n2 {other}: sctp, udp or tcp"),
    };
    let address = address
        .parse()
        .with_context(|| format!("--n2-listen {address}"))?;
    let driver = Driver::start(carrier).context("N2 cannot be carried")?;
    let mut acceptor = driver
        .listen(address)
        .with_context(|| format!("N2 cannot be listened at {address}"))?;
    tracing::info!(
        name: "n2-listening",
        "N2 at {}: {}",
        acceptor.address(),
        driver.description()
    );
    let task = Arc::clone(amf);
    amf.runtime.spawn(0, async move {
        // The driver lives as long as there is somebody to accept for.
        let _driver = driver;
        while let Ok(association) = acceptor.accept().await {
            accept(&task, association);
        }
    });
    Ok(())
}

fn accept(amf: &Arc<Amf>, association: Association) {
    let number = amf.gnbs.next.fetch_add(1, Ordering::Relaxed);
    // A carrier knows the peer of an association that it accepts.
    let peer = association.sender().peer();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let verdict = amf.gnbs.admission().admit(number, peer);
    match verdict {
        Verdict::Taken => {}
        Verdict::TakenFor(other) => {
            let other = amf.gnbs.lock().get(&other).cloned();
            if let Some(other) = other {
                other.association.abort();
            }
            tracing::warn!(
                name: "n2-association-replaced",
                "an association that waits for NG Setup is ended: there are as many as may be (--gnbs)"
            );
        }
        Verdict::Full | Verdict::HostWaits => {
            // Nothing that it may still say is waited for.
            association.sender().abort();
            let limit = match verdict {
                Verdict::Full => "--gnbs",
                _ => "--gnbs-waiting",
            };
            tracing::warn!(
                name: "n2-association-refused",
                "an association of {peer} is refused: there are as many as may be ({limit})"
            );
            return;
        }
    }
    let gnb = Arc::new(Gnb {
        number,
        association: association.sender(),
        trace: amf.runtime.trace().cloned(),
        tais: Mutex::default(),
        is_set_up: AtomicBool::new(false),
        ues: Mutex::default(),
        next: AtomicU64::new(0),
    });
    amf.gnbs.lock().insert(number, Arc::clone(&gnb));
    amf.numbers.gnbs.up();
    let task = Arc::clone(amf);
    let loops = amf.runtime.loops().len() as u64;
    let loop_index = usize::try_from(number % loops).unwrap_or_default();
    amf.runtime.spawn(
        loop_index,
        async move { serve(&task, &gnb, association).await },
    );
}

/// Reads what a gNB sends until its association ends, or until it is ended for want of NG Setup.
async fn serve(amf: &Arc<Amf>, gnb: &Arc<Gnb>, mut association: Association) {
    let loops = amf.runtime.loops();
    let event_loop = &loops[usize::try_from(gnb.number).unwrap_or_default() % loops.len()];
    let mut patience = pin!(event_loop.sleep_until(Instant::now() + SETUP_PATIENCE));
    loop {
        let next = {
            let mut receive = pin!(association.receive());
            poll_fn(|cx| match receive.as_mut().poll(cx) {
                Poll::Pending if !gnb.is_set_up.load(Ordering::Acquire) => {
                    patience.as_mut().poll(cx).map(|()| None)
                }
                received => received.map(Result::ok),
            })
            .await
        };
        let Some(message) = next else {
            break;
        };
        if message.ppid != PPID {
            // Nothing that an AMF reads (TS 38.412, 7).
            continue;
        }
        if let Some(trace) = &gnb.trace {
            trace.n2(Kind::N2In, "");
        }
        match NgapMessage::decode(&message.bytes) {
            Ok(decoded) => dispatch(amf, gnb, message.stream, decoded),
            Err(error) => {
                if let Some(answer) = error.answer() {
                    let stream = match message.stream {
                        COMMON_STREAM => COMMON_STREAM,
                        theirs => gnb.stream_for(theirs, 0),
                    };
                    gnb.send(stream, &answer);
                }
            }
        }
    }
    if !gnb.is_set_up.load(Ordering::Acquire) {
        // Also when it is there and says nothing: it may never answer a shutdown either.
        gnb.association.abort();
    }
    amf.gnbs.lock().remove(&gnb.number);
    amf.gnbs.admission().remove(gnb.number);
    amf.numbers.gnbs.down();
    gnb.lose_all();
}

/// What is about the gNB is done here; what is about a UE goes to its task.
fn dispatch(amf: &Arc<Amf>, gnb: &Arc<Gnb>, stream: u16, message: NgapMessage) {
    match message {
        NgapMessage::NgSetupRequest(request) => ng_setup::run(amf, gnb, &request),
        _ if !gnb.is_set_up.load(Ordering::Acquire) => {
            let cause = Cause::NOT_COMPATIBLE_WITH_STATE;
            gnb.send(COMMON_STREAM, &error_indication(None, None, cause));
        }
        NgapMessage::NgReset(reset) => ng_reset::run(gnb, reset),
        NgapMessage::InitialUeMessage(message) => initial(amf, gnb, stream, message),
        NgapMessage::UplinkNas(uplink) => {
            let nas = uplink.nas;
            to_ue(amf, gnb, uplink.ue, |id| Event::Nas(id, nas));
        }
        NgapMessage::ErrorIndication(error) => lost_at_gnb(gnb, &error),
        // Of a UE that came back elsewhere, or whose number is another's by now: the last word about
        // a connection that is over needs no answer (TS 38.413, 10.6).
        NgapMessage::UeContextReleaseComplete(complete) if gnb.of(complete.ue).is_none() => {}
        other => {
            if let Some(ue) = pair(&other) {
                to_ue(amf, gnb, ue, |id| Event::Ngap(id, Box::new(other)));
            }
        }
    }
}

/// The UE that an answer or a request of a gNB is about.
const fn pair(message: &NgapMessage) -> Option<UePair> {
    Some(match message {
        NgapMessage::InitialContextSetupResponse(message) => message.ue,
        NgapMessage::InitialContextSetupFailure(message) => message.ue,
        NgapMessage::PduSessionResourceSetupResponse(message) => message.ue,
        NgapMessage::PduSessionResourceModifyResponse(message) => message.ue,
        NgapMessage::PduSessionResourceReleaseResponse(message) => message.ue,
        NgapMessage::UeContextReleaseRequest(message) => message.ue,
        NgapMessage::UeContextReleaseComplete(message) => message.ue,
        // What is about no UE, and what an AMF sends.
        _ => return None,
    })
}

/// A UE has a new connection. One that is known by its temporary identity is asked whether the message
/// is its own: until it says so, what comes by this connection is nothing to it.
fn initial(amf: &Arc<Amf>, gnb: &Arc<Gnb>, stream: u16, message: InitialUeMessage) {
    let stream = gnb.stream_for(stream, message.ran.0);
    let known = message.s_tmsi.and_then(|s_tmsi| amf.ues.by_tmsi(s_tmsi));
    let is_new = known.is_none();
    let slot = known.or_else(|| amf.ues.add(amf.runtime.loops().len()));
    let Some(slot) = slot else {
        let busy = error_indication(None, Some(message.ran), Cause::OVERLOAD);
        return gnb.send(stream, &busy);
    };
    let Some(link) = take(gnb, &slot, message.ran.0, stream) else {
        let busy = error_indication(None, Some(message.ran), Cause::OVERLOAD);
        gnb.send(stream, &busy);
        if is_new {
            let _nothing_came = amf.ues.forget(&slot);
        }
        return;
    };
    if is_new {
        let event = Event::Stranger(link, message.nas, Asked::Nobody);
        return ue::start(ue::new(amf, &slot), event);
    }
    if slot.deliver(Event::Initial(link.clone(), message.nas)) == Delivery::Dropped {
        // It went this moment, or its mailbox is full; the UE's own timer brings it back.
        link.forget();
    }
}

/// Whether whom a first message names was asked if he knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Not yet.
    Nobody,
    /// He does not: the message is forged, or was received before, or the name is another's now.
    InVain,
}

/// Serves whoever is behind this connection as a UE of which nothing is known.
pub(super) fn divert(amf: &Arc<Amf>, link: &Link, nas: Vec<u8>) {
    let Some(slot) = amf.ues.add(amf.runtime.loops().len()) else {
        return link.forget();
    };
    match link.of(&slot) {
        Some(link) => {
            let event = Event::Stranger(link, nas, Asked::InVain);
            ue::start(ue::new(amf, &slot), event);
        }
        None => drop(amf.ues.forget(&slot)),
    }
}

/// The gNB's number is this UE's; who had it before has lost its connection. `None` when the gNB has too
/// many UEs.
fn take(gnb: &Arc<Gnb>, slot: &Arc<Slot>, ran: u32, stream: u16) -> Option<Link> {
    let connection = gnb.connection(slot, stream);
    let link = gnb.link(&connection, ran);
    let mut ues = gnb.ues();
    if ues.len() >= MAX_UES {
        return None;
    }
    let before = ues.insert(ran, connection);
    drop(ues);
    if let Some(before) = before.filter(|before| !Arc::ptr_eq(&before.slot, slot)) {
        gnb.lost(&before);
    }
    Some(link)
}

/// Hands a message to the UE that it is about, when it comes by the gNB that serves the UE. Numbers
/// that do not belong together are told, and what this gNB has under either is over (TS 38.413, 10.6).
fn to_ue(amf: &Arc<Amf>, gnb: &Arc<Gnb>, ue: UePair, event: impl FnOnce(ConnectionId) -> Event) {
    if let Some((slot, id)) = gnb.of(ue) {
        if slot.deliver(event(id)) == Delivery::Dropped {
            tracing::warn!(
                name: "n2-message-dropped",
                "a UE is gone, or sends faster than it is served"
            );
        }
        return;
    }
    let cause = match amf.ues.by_id(ue.amf) {
        Some(slot) => {
            let _gone_already = slot.deliver(Event::LostAt(gnb.number));
            Cause::INCONSISTENT_REMOTE_UE_ID
        }
        None => Cause::UNKNOWN_LOCAL_UE_ID,
    };
    gnb.lose(UeConnection {
        amf: None,
        ran: Some(ue.ran),
    });
    gnb.send(
        COMMON_STREAM,
        &error_indication(Some(ue.amf), Some(ue.ran), cause),
    );
}

/// A gNB does not know a UE, or by other numbers: the connection is over (TS 38.413, 8.7.5 and 10.6).
fn lost_at_gnb(gnb: &Gnb, error: &ErrorIndication) {
    let about_numbers = matches!(
        error.cause,
        Some(Cause::UNKNOWN_LOCAL_UE_ID | Cause::INCONSISTENT_REMOTE_UE_ID)
    );
    if let (true, Some(_), Some(_)) = (about_numbers, error.amf, error.ran) {
        let (amf, ran) = (error.amf, error.ran);
        gnb.lose(UeConnection { amf, ran });
    }
}

fn error_indication(
    amf: Option<AmfUeNgapId>,
    ran: Option<RanUeNgapId>,
    cause: Cause,
) -> NgapMessage {
    let cause = Some(cause);
    ErrorIndication { amf, ran, cause }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn amf_id(number: u64) -> AmfUeNgapId {
        AmfUeNgapId::new(number).expect("40 bits")
    }

    fn pair(amf: Option<u64>, ran: Option<u32>) -> UeConnection {
        UeConnection {
            amf: amf.map(amf_id),
            ran: ran.map(RanUeNgapId),
        }
    }

    #[test]
    fn a_reset_goes_through_the_table_once_however_many_it_names() {
        let looks = Cell::new(0);
        let mut ues: HashMap<u32, u64> = (0..10_000)
            .map(|ran| (ran, 1000 + u64::from(ran)))
            .collect();
        let id = |amf: &u64| {
            looks.set(looks.get() + 1);
            amf_id(*amf)
        };
        // As many as one message may name (TS 38.413, 9.3.1.133), most of them nobody's.
        let mut numbers: Vec<_> = (0..65_536).map(|at| pair(Some(5_000 + at), None)).collect();
        numbers.push(pair(None, Some(1)));
        numbers.push(pair(Some(1002), Some(2)));
        numbers.push(pair(Some(1002), Some(3)));
        numbers.push(pair(None, None));
        let mut taken = take_named(&mut ues, &numbers, id);
        taken.sort_unstable();
        let expected: Vec<u64> = [1001, 1002].into_iter().chain(5_000..11_000).collect();
        assert_eq!(taken, expected);
        assert_eq!(ues.len(), 10_000 - expected.len());
        assert!(looks.get() <= 10_000 + 2, "{}", looks.get());
    }

    #[test]
    fn a_ue_has_a_stream_that_its_gnb_takes_and_no_node_uses() {
        // As it came, where that many are taken.
        assert_eq!(stream_of(16, 3, 7), 3);
        // By more than are taken, or by the node's: one of the others, always the same.
        for theirs in [0, 4, 15] {
            assert_eq!(stream_of(4, theirs, 7), 2);
            assert_eq!(stream_of(4, theirs, 8), 3);
            assert_eq!(stream_of(4, theirs, 9), 1);
            assert_eq!(stream_of(2, theirs, 7), 1);
        }
        // There is only one, or the association is over.
        assert_eq!((stream_of(1, 3, 7), stream_of(0, 3, 7)), (0, 0));
    }
}
