//! A UE's context, the place where it is kept, what can happen to it, and what all UEs share.

use super::gnbs::Gnbs;
use super::link::{self, ConnectionId};
use super::mailbox::{Delivered, Mail, Mailbox};
use super::network::Network;
use super::releases::{Releases, Turn};
use super::session::{Session, Transfer};
use super::silence::{IdleMark, Silence};
use super::ues::{Claim, Ues};
use crate::aka::Supi;
use crate::amf::ports::{Clock, Peers, Sbi};
use crate::due::Due;
use crate::nas::{
    NasMessage, NasSecurityContext, PduSessionSet, STmsi, Snssai, UeSecurityCapability,
};
use crate::ngap::{AmfUeNgapId, NgapMessage, UeAmbr};
use crate::runtime::{Flow, Gauge};
use corewire_guti::{Allocator, Guti};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Events that wait for the end of a procedure.
const MAX_DEFERRED: usize = 64;

/// What all UEs of an AMF share.
pub(in crate::amf) struct Amf {
    pub(in crate::amf) network: Network,
    pub(in crate::amf) own: Own,
    pub(in crate::amf) clock: Arc<dyn Clock>,
    pub(in crate::amf) peers: Arc<dyn Peers>,
    /// Begins a UE's task, with the event that it begins with.
    pub(in crate::amf) start: Box<dyn Fn(Box<Ue>, Event) + Send + Sync>,
    pub(in crate::amf) gutis: Gutis,
    pub(in crate::amf) ues: Ues<Slot>,
    pub(in crate::amf) silence: Silence,
    pub(in crate::amf) releases: Arc<Releases>,
    /// UEs that are paged, by when T3513 expires.
    pub(in crate::amf) paged: Due<AmfUeNgapId>,
    pub(in crate::amf) gnbs: Gnbs<Slot>,
    pub(in crate::amf) numbers: Numbers,
}

/// What other network functions know this AMF by.
pub(in crate::amf) struct Own {
    /// The NF instance id, a UUID.
    pub(in crate::amf) instance: String,
    /// Where it is called: `http://host:port`, or `https`.
    pub(in crate::amf) api_root: String,
    /// Which operations drive the procedures.
    pub(in crate::amf) flow: Flow,
    /// Event loops among which UEs are distributed.
    pub(in crate::amf) event_loops: usize,
}

/// The source of GUTIs.
pub(in crate::amf) enum Gutis {
    /// An allocator of this process.
    Own(Box<Allocator>),
    /// `corewire nf guti` at this address: it outlives this process, and what it has given away is
    /// not given away again.
    Service(String),
}

/// What `corewire core status` shows of an AMF.
pub(in crate::amf) struct Numbers {
    /// Registered UEs.
    pub(in crate::amf) registered: Gauge,
    /// Of them, those with a connection.
    pub(in crate::amf) connected: Gauge,
    pub(in crate::amf) gnbs: Gauge,
}

impl Amf {
    /// The way to other network functions from one event loop.
    pub(in crate::amf) fn sbi(&self, event_loop: usize) -> Sbi {
        Sbi {
            peers: Arc::clone(&self.peers),
            event_loop,
        }
    }

    /// A place for a UE of which nothing is known; `None` when there are too many.
    pub(in crate::amf) fn add_ue(&self) -> Option<Arc<Slot>> {
        self.ues.add(|id| Slot::new(id, self.own.event_loops))
    }

    /// The place of the UE with this temporary identity, perhaps a new one; `None` when there are too
    /// many.
    pub(in crate::amf) fn claim_ue(&self, s_tmsi: STmsi) -> Option<Claim<Slot>> {
        let make = |id| Slot::new(id, self.own.event_loops);
        self.ues.claim(s_tmsi, make)
    }

    /// Takes a UE out of the tables; gives what it was still to be told.
    pub(in crate::amf) fn forget_ue(&self, slot: &Slot) -> VecDeque<Event> {
        self.ues.forget(slot.id);
        slot.mailbox.close()
    }
}

/// A UE's connection.
pub(in crate::amf) type Link = link::Link<Slot>;

/// A gNB of this AMF.
pub(in crate::amf) type Gnb = link::Gnb<Slot>;

/// One UE's place: its context while nothing happens, its mailbox while something does.
pub(in crate::amf) struct Slot {
    /// AMF UE NGAP ID.
    pub(in crate::amf) id: AmfUeNgapId,
    /// The loop that its task runs on.
    pub(in crate::amf) event_loop: usize,
    /// Since when it is silent.
    pub(in crate::amf) idle: IdleMark,
    pub(in crate::amf) mailbox: Mailbox<Box<Ue>, Event>,
    connected: AtomicBool,
}

/// Whether an event found its UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amf) enum Delivery {
    Taken,
    /// The UE is gone, or its mailbox is full.
    Dropped,
}

impl Slot {
    fn new(id: AmfUeNgapId, event_loops: usize) -> Self {
        let number = usize::try_from(id.value()).unwrap_or_default();
        Self {
            id,
            event_loop: number % event_loops.max(1),
            idle: IdleMark::new(id),
            mailbox: Mailbox::running(),
            connected: AtomicBool::new(false),
        }
    }

    /// Hands an event to the UE; begins its task when none runs.
    pub(in crate::amf) fn deliver(&self, event: Event) -> Delivery {
        match self.mailbox.deliver(event) {
            Delivered::Queued => Delivery::Taken,
            Delivered::Dropped => Delivery::Dropped,
            Delivered::Begin(ue, event) => {
                start(ue, event);
                Delivery::Taken
            }
        }
    }

    pub(in crate::amf) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }
}

impl AsRef<IdleMark> for Slot {
    fn as_ref(&self) -> &IdleMark {
        &self.idle
    }
}

/// Begins a UE's task with this event.
pub(in crate::amf) fn start(ue: Box<Ue>, event: Event) {
    let amf = Arc::clone(&ue.amf);
    (amf.start)(ue, event);
}

/// What can happen to a UE.
pub(in crate::amf) enum Event {
    /// A new connection came with this UE's temporary identity, and this message.
    Initial(Link, Vec<u8>),
    /// It was the UE: the message is under its keys.
    Arrived(Link, Box<Uplink>),
    /// A UE of which nothing is known has a new connection, and sent this.
    UnknownUe(Link, Vec<u8>, Claimed),
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
    /// T3513 may have expired.
    Paged,
    /// It is idle since then, and should have been heard of.
    Silent(Instant),
}

/// Whether the UE that a first message names was asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amf) enum Claimed {
    /// Not yet.
    NotAsked,
    /// It is not its own: the message is forged, was received before, or the name is another's now.
    Denied,
}

/// What the UDM says of a registration that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amf) struct Notice {
    /// Which of the UE's registrations, as the AMF named it to the UDM.
    pub(in crate::amf) registration: u64,
    pub(in crate::amf) why: Why,
}

/// Why a registration has ended (TS 29.503, 6.2.6.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amf) enum Why {
    /// The UE is at another AMF now: it is not told.
    Elsewhere,
    /// It may not be here any more.
    Withdrawn,
    /// It is to come again at once.
    ToRegisterAgain,
}

impl Mail for Event {
    /// Of each kind that must arrive no more can come than the UE has had connections whose first
    /// message was taken, or registrations.
    fn must_arrive(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Arrived(..) | Self::Superseded)
    }
}

/// Why a procedure ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amf) enum Ended {
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
pub(in crate::amf) struct Uplink {
    pub(in crate::amf) message: NasMessage,
    /// The NAS COUNT of a message whose MAC was right.
    pub(in crate::amf) count: Option<u32>,
}

/// What the store has of a context's NAS COUNTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amf) struct Counts {
    /// The first downlink count that is not reserved.
    pub(in crate::amf) downlink: u32,
    /// The next uplink count as it was.
    pub(in crate::amf) uplink: u32,
}

/// How far the paging of a UE is.
#[derive(Clone, Copy, Debug)]
pub(in crate::amf) struct Paging {
    /// How often it was called.
    pub(in crate::amf) attempts: u8,
    /// When T3513 expires.
    pub(in crate::amf) until: Instant,
}

/// A UE's context.
pub(in crate::amf) struct Ue {
    pub(in crate::amf) amf: Arc<Amf>,
    pub(in crate::amf) slot: Arc<Slot>,
    pub(in crate::amf) sbi: Sbi,
    pub(in crate::amf) link: Option<Link>,
    /// A verified message came by `link`: from then on none that is not verified is looked at.
    pub(in crate::amf) secured: bool,
    /// The gNB has the UE's context (security, slices).
    pub(in crate::amf) context_at_gnb: bool,
    pub(in crate::amf) registered: bool,
    pub(in crate::amf) supi: Option<Supi>,
    pub(in crate::amf) guti: Option<Guti>,
    /// The GUTI before: good until the UE is known to have the one above (TS 24.501, 5.5.1.2.8).
    pub(in crate::amf) former: Option<Guti>,
    /// How the UDM names this registration to us.
    pub(in crate::amf) registration: u64,
    pub(in crate::amf) security: Option<NasSecurityContext>,
    /// What the store has of the counts; nothing when it has nothing under these keys.
    pub(in crate::amf) stored: Option<Counts>,
    /// The NAS COUNT of the message that the gNB's key is made from.
    pub(in crate::amf) kgnb_count: u32,
    pub(in crate::amf) capability: Option<UeSecurityCapability>,
    /// Of its subscription: what it is allowed is chosen from these at each registration.
    pub(in crate::amf) subscribed: Vec<Snssai>,
    pub(in crate::amf) allowed: Vec<Snssai>,
    pub(in crate::amf) ambr: UeAmbr,
    /// Boxed: a node of the map has room for eleven, and most UEs have one.
    pub(in crate::amf) sessions: BTreeMap<u8, Box<Session>>,
    /// What waits for the UE to come back.
    pub(in crate::amf) pending: Vec<Transfer>,
    /// It is being paged.
    pub(in crate::amf) paging: Option<Paging>,
    /// What came while a procedure waited for something else.
    pub(in crate::amf) deferred: VecDeque<Event>,
}

impl Ue {
    /// A UE of which nothing is known yet.
    pub(in crate::amf) fn new(amf: &Arc<Amf>, slot: &Arc<Slot>) -> Box<Self> {
        Box::new(Self {
            amf: Arc::clone(amf),
            slot: Arc::clone(slot),
            sbi: amf.sbi(slot.event_loop),
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
            paging: None,
            deferred: VecDeque::new(),
        })
    }

    /// Whether this is the UE's connection.
    pub(in crate::amf) fn is_by(&self, connection: ConnectionId) -> bool {
        self.link
            .as_ref()
            .is_some_and(|link| link.id() == connection)
    }

    /// Whether the UE has come by this connection and is not served on it yet.
    pub(in crate::amf) fn comes_by(&self, connection: ConnectionId) -> bool {
        let comes =
            |event: &Event| matches!(event, Event::Arrived(link, _) if link.id() == connection);
        self.deferred.iter().any(comes)
    }

    /// Keeps an event until the procedure in progress has ended, unless as many wait as a mailbox
    /// holds.
    pub(in crate::amf) fn defer(&mut self, event: Event) {
        if self.deferred.len() < MAX_DEFERRED || event.must_arrive() {
            self.deferred.push_back(event);
        }
    }

    /// The UE's permanent identity as service interfaces write it.
    pub(in crate::amf) fn supi_text(&self) -> String {
        self.supi
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    /// The sessions that the UE has here.
    pub(in crate::amf) fn session_set(&self) -> PduSessionSet {
        self.sessions
            .keys()
            .filter_map(|session| crate::nas::PduSessionId::new(*session))
            .fold(PduSessionSet::default(), PduSessionSet::with)
    }

    /// The UE has no name any more.
    pub(in crate::amf) fn forget_names(&mut self) {
        let gutis = [self.guti.take(), self.former.take()];
        for guti in gutis.into_iter().flatten() {
            self.amf.ues.forget_tmsi(STmsi::of(guti), &self.slot);
        }
        if let Some(supi) = self.supi.take() {
            self.amf.ues.forget_supi(&supi.to_string(), &self.slot);
        }
    }

    /// Says that it is registered, or is no more, where that is counted.
    pub(in crate::amf) fn set_registered(&mut self, registered: bool) {
        if self.registered != registered {
            self.registered = registered;
            match registered {
                true => self.amf.numbers.registered.up(),
                false => self.amf.numbers.registered.down(),
            }
            self.note_silence();
        }
    }

    /// A UE that is registered and has no connection is to be heard of.
    fn note_silence(&self) {
        match self.registered && self.link.is_none() {
            true => self
                .amf
                .silence
                .begins(self.amf.clock.now(), &self.slot.idle),
            false => self.slot.idle.end(),
        }
    }

    /// Has a connection from now on, or none.
    pub(in crate::amf) fn set_link(&mut self, link: Option<Link>) {
        let connected = link.is_some();
        let was = self.slot.connected.swap(connected, Ordering::AcqRel);
        if was != connected {
            match connected {
                true => self.amf.numbers.connected.up(),
                false => self.amf.numbers.connected.down(),
            }
        }
        if connected {
            self.paging = None;
        }
        self.link = link;
        self.secured = false;
        self.context_at_gnb = false;
        self.note_silence();
    }
}
