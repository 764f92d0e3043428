//! gNBs, and the connections of UEs through them.
//!
//! A gNB names a UE by a number that it uses again later, so each connection has a serial besides. Who
//! the UE is (`S`) is the business of those above: a connection that is lost is given back to them.

use super::session::GnbContext;
use crate::ports::Association;
use corewire_core5g_nas::Tai;
use corewire_core5g_ngap::{
    AmfUeNgapId, Cause, DownlinkNas, InitialContextSetupRequest, NgapMessage,
    PduSessionResourceModifyRequest, PduSessionResourceReleaseCommand,
    PduSessionResourceSetupRequest, RanUeNgapId, SessionModify, SessionSetup, SessionTransfer,
    UeAmbr, UeConnection, UeContextReleaseCommand, UeIds, UePair,
};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// UEs of one gNB.
const MAX_UES: usize = 1_000_000;
/// The stream for what is about no UE (TS 38.412, 7).
pub(crate) const COMMON_STREAM: u16 = 0;

/// One connection of one UE: no other has it, whatever numbers a gNB says again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId {
    gnb: u64,
    serial: u64,
}

/// A connection that is over, and whose it was.
pub(crate) type Lost<S> = (Arc<S>, ConnectionId);

/// One gNB.
pub(crate) struct Gnb<S> {
    pub(crate) number: u64,
    association: Box<dyn Association>,
    tais: Mutex<Vec<Tai>>,
    /// NG Setup is done: other procedures may begin (TS 38.413, 8.7.1.1).
    is_set_up: AtomicBool,
    /// By RAN UE NGAP ID: whose connections it carries.
    ues: Mutex<HashMap<u32, Connection<S>>>,
    next: AtomicU64,
}

/// Whose connection a gNB's number is.
struct Connection<S> {
    slot: Arc<S>,
    amf: AmfUeNgapId,
    stream: u16,
    /// Where the UE was when it last said something.
    tai: Tai,
    /// Tells it from an earlier one of the same number, even of the same UE.
    serial: u64,
}

impl<S> Gnb<S> {
    pub(crate) fn new(number: u64, association: Box<dyn Association>) -> Self {
        Self {
            number,
            association,
            tais: Mutex::default(),
            is_set_up: AtomicBool::new(false),
            ues: Mutex::default(),
            next: AtomicU64::new(0),
        }
    }

    /// Sends a message; one that cannot be written is dropped, and logged.
    pub(crate) fn send(&self, stream: u16, message: &NgapMessage) {
        match message.encode() {
            Ok(octets) => self.association.send(stream, message.name(), &octets),
            Err(error) => {
                tracing::error!(name: "n2-encode-failed", "a message for a gNB: {error}");
            }
        }
    }

    /// Ends the association at once.
    pub(crate) fn abort(&self) {
        self.association.abort();
    }

    /// The stream for what is about a UE (TS 38.412, 7): the one that its own messages come by, or
    /// another of its own where the gNB does not take so many; the common one only where it takes no
    /// second.
    pub(crate) fn stream_for(&self, theirs: u16, ran: u32) -> u16 {
        stream_of(self.association.streams(), theirs, ran)
    }

    /// NG Setup is done: it serves these areas.
    pub(crate) fn serve(&self, tais: Vec<Tai>) {
        *self.tais.lock().unwrap_or_else(PoisonError::into_inner) = tais;
        self.is_set_up.store(true, Ordering::Release);
    }

    /// Whether NG Setup is done.
    pub(crate) fn is_set_up(&self) -> bool {
        self.is_set_up.load(Ordering::Acquire)
    }

    /// Whether it serves one of these areas.
    pub(crate) fn serves(&self, tais: &[Tai]) -> bool {
        let own = self.tais.lock().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|tai| tais.contains(tai))
    }

    /// Takes the connections out of the table that one of these pairs of numbers names.
    #[must_use]
    pub(crate) fn lose(&self, numbers: &[UeConnection]) -> Vec<Lost<S>> {
        let lost = take_named(&mut self.ues(), numbers, |connection| connection.amf);
        lost.into_iter().map(|one| self.lost(one)).collect()
    }

    /// Takes every connection out of the table.
    #[must_use]
    pub(crate) fn lose_all(&self) -> Vec<Lost<S>> {
        let ues = std::mem::take(&mut *self.ues());
        ues.into_values().map(|one| self.lost(one)).collect()
    }

    fn lost(&self, connection: Connection<S>) -> Lost<S> {
        let id = self.id(connection.serial);
        (connection.slot, id)
    }

    const fn id(&self, serial: u64) -> ConnectionId {
        let gnb = self.number;
        ConnectionId { gnb, serial }
    }

    /// The UE with these numbers here, and its connection; `tai` is where it is now, if that is said.
    pub(crate) fn of(&self, ue: UePair, tai: Option<Tai>) -> Option<(Arc<S>, ConnectionId)> {
        let mut ues = self.ues();
        let found = ues.get_mut(&ue.ran.0).filter(|found| found.amf == ue.amf)?;
        found.tai = tai.unwrap_or(found.tai);
        Some((Arc::clone(&found.slot), self.id(found.serial)))
    }

    /// The gNB's number is this UE's from now on. Gives the connection of another UE that had the number
    /// before too; `None` when the gNB has too many UEs.
    pub(crate) fn take(
        self: &Arc<Self>,
        slot: &Arc<S>,
        ue: UePair,
        stream: u16,
        tai: Tai,
    ) -> Option<(Link<S>, Option<Lost<S>>)> {
        let connection = Connection {
            slot: Arc::clone(slot),
            amf: ue.amf,
            stream,
            tai,
            serial: self.next.fetch_add(1, Ordering::Relaxed),
        };
        let link = self.link(&connection, ue.ran);
        let mut ues = self.ues();
        if ues.len() >= MAX_UES {
            return None;
        }
        let before = ues.insert(ue.ran.0, connection);
        drop(ues);
        let other = before.filter(|before| !Arc::ptr_eq(&before.slot, slot));
        Some((link, other.map(|other| self.lost(other))))
    }

    fn link(self: &Arc<Self>, connection: &Connection<S>, ran: RanUeNgapId) -> Link<S> {
        Link {
            gnb: Arc::clone(self),
            ue: UePair {
                amf: connection.amf,
                ran,
            },
            stream: connection.stream,
            serial: connection.serial,
        }
    }

    fn ues(&self) -> MutexGuard<'_, HashMap<u32, Connection<S>>> {
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

/// A UE's connection: which gNB, and by which number there.
pub(crate) struct Link<S> {
    gnb: Arc<Gnb<S>>,
    ue: UePair,
    /// The stream that is the UE's, for as long as the connection is there.
    stream: u16,
    serial: u64,
}

impl<S> Clone for Link<S> {
    fn clone(&self) -> Self {
        Self {
            gnb: Arc::clone(&self.gnb),
            ue: self.ue,
            stream: self.stream,
            serial: self.serial,
        }
    }
}

impl<S> Link<S> {
    /// Which connection it is.
    pub(crate) fn id(&self) -> ConnectionId {
        self.gnb.id(self.serial)
    }

    /// The same connection as this UE's, whose number is `amf`; `None` when it is over.
    pub(crate) fn of(&self, slot: &Arc<S>, amf: AmfUeNgapId) -> Option<Self> {
        let mut ues = self.gnb.ues();
        let connection = ues.get_mut(&self.ue.ran.0)?;
        if connection.serial != self.serial {
            return None;
        }
        connection.slot = Arc::clone(slot);
        connection.amf = amf;
        Some(self.gnb.link(connection, self.ue.ran))
    }

    /// Where the UE was when it last said something; `None` when the connection is over.
    pub(crate) fn tai(&self) -> Option<Tai> {
        let ues = self.gnb.ues();
        let connection = ues.get(&self.ue.ran.0)?;
        (connection.serial == self.serial).then_some(connection.tai)
    }

    fn send(&self, message: impl Into<NgapMessage>) {
        self.gnb.send(self.stream, &message.into());
    }

    /// A NAS message for the UE.
    pub(crate) fn send_nas(&self, nas: Vec<u8>) {
        self.send(DownlinkNas { ue: self.ue, nas });
    }

    /// The UE's context for the gNB.
    pub(crate) fn set_up_context(&self, context: GnbContext<'_>) {
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
    pub(crate) fn set_up(&self, session: SessionSetup, ambr: UeAmbr) {
        self.send(PduSessionResourceSetupRequest {
            ue: self.ue,
            sessions: vec![session],
            ambr: Some(ambr),
        });
    }

    /// A change of a session's user plane.
    pub(crate) fn modify(&self, session: SessionModify) {
        self.send(PduSessionResourceModifyRequest {
            ue: self.ue,
            sessions: vec![session],
        });
    }

    /// The end of a session's user plane.
    pub(crate) fn release_session(&self, session: SessionTransfer, nas: Option<Vec<u8>>) {
        self.send(PduSessionResourceReleaseCommand {
            ue: self.ue,
            nas,
            sessions: vec![session],
        });
    }

    /// The gNB is to let go of the UE.
    pub(crate) fn release(&self, cause: Cause) {
        self.send(UeContextReleaseCommand {
            ue: UeIds::Pair(self.ue),
            cause,
        });
    }

    /// Whether the connection is with this gNB.
    pub(crate) fn is_at(&self, gnb: u64) -> bool {
        self.gnb.number == gnb
    }

    /// Whether the gNB says the same number for both.
    pub(crate) fn has_number_of(&self, other: &Self) -> bool {
        self.gnb.number == other.gnb.number && self.ue.ran == other.ue.ran
    }

    /// The connection is over: the number may be another UE's now.
    pub(crate) fn forget(&self) {
        let mut ues = self.gnb.ues();
        if ues
            .get(&self.ue.ran.0)
            .is_some_and(|connection| connection.serial == self.serial)
        {
            ues.remove(&self.ue.ran.0);
        }
    }
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
