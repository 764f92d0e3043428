//! A UE's context, the place where it is kept, what can happen to it, and what all UEs share.

use super::gnbs::Gnbs;
use super::link::{self, ConnectionId};
use super::mailbox::{Delivered, Mail, Mailbox};
use super::network::Network;
use super::releases::{Releases, Turn};
use super::session::{Session, Transfer};
use super::silence::{IdleMark, Silence};
use super::ues::{Claim, Ues};
use crate::ports::{Clock, Peers, Sbi};
use corewire_core5g_aka::Supi;
use corewire_core5g_nas::{
    NasMessage, NasSecurityContext, PduSessionSet, STmsi, Snssai, UeSecurityCapability,
};
use corewire_core5g_ngap::{AmfUeNgapId, NgapMessage, UeAmbr};
use corewire_core5g_runtime::due::Due;
use corewire_core5g_runtime::{Flow, Gauge};
use corewire_guti::{Allocator, Guti};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Events that wait for the end of a procedure.
const MAX_DEFERRED: usize = 64;

/// What all UEs of an AMF share.
pub(crate) struct Amf {
    pub(crate) network: Network,
    pub(crate) own: Own,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) peers: Arc<dyn Peers>,
    /// Begins a UE's task, with the event that it begins with.
    pub(crate) start: Box<dyn Fn(Box<Ue>, Event) + Send + Sync>,
    pub(crate) gutis: Gutis,
    pub(crate) ues: Ues<Slot>,
    pub(crate) silence: Silence,
    pub(crate) releases: Arc<Releases>,
    /// UEs that are paged, by when T3513 expires.
    pub(crate) paged: Due<AmfUeNgapId>,
    pub(crate) gnbs: Gnbs<Slot>,
    pub(crate) numbers: Numbers,
}

/// What other network functions know this AMF by.
pub(crate) struct Own {
    /// The NF instance id, a UUID.
    pub(crate) instance: String,
    /// Where it is called: `http://host:port`, or `https`.
    pub(crate) api_root: String,
    /// Which operations drive the procedures.
    pub(crate) flow: Flow,
    /// Event loops among which UEs are distributed.
    pub(crate) event_loops: usize,
}

/// The source of GUTIs.
pub(crate) enum Gutis {
    /// An allocator of this process.
    Own(Box<Allocator>),
    /// `corewire nf guti` at this address: it outlives this process, and what it has given away is
    /// not given away again.
    Service(String),
}

/// What `corewire core status` shows of an AMF.
pub(crate) struct Numbers {
    /// Registered UEs.
    pub(crate) registered: Gauge,
    /// Of them, those with a connection.
    pub(crate) connected: Gauge,
    pub(crate) gnbs: Gauge,
}

impl Amf {
    /// The way to other network functions from one event loop.
    pub(crate) fn sbi(&self, event_loop: usize) -> Sbi {
        Sbi {
            peers: Arc::clone(&self.peers),
            event_loop,
        }
    }

    /// A place for a UE of which nothing is known; `None` when there are too many.
    pub(crate) fn add_ue(&self) -> Option<Arc<Slot>> {
        self.ues.add(|id| Slot::new(id, self.own.event_loops))
    }

    /// The place of the UE with this temporary identity, perhaps a new one; `None` when there are too
    /// many.
    pub(crate) fn claim_ue(&self, s_tmsi: STmsi) -> Option<Claim<Slot>> {
        let make = |id| Slot::new(id, self.own.event_loops);
        self.ues.claim(s_tmsi, make)
    }

    /// Takes a UE out of the tables; gives what it was still to be told.
    pub(crate) fn forget_ue(&self, slot: &Slot) -> VecDeque<Event> {
        self.ues.forget(slot.id);
        slot.mailbox.close()
    }
}

/// A UE's connection.
pub(crate) type Link = link::Link<Slot>;

/// A gNB of this AMF.
pub(crate) type Gnb = link::Gnb<Slot>;

/// One UE's place: its context while nothing happens, its mailbox while something does.
pub(crate) struct Slot {
    /// AMF UE NGAP ID.
    pub(crate) id: AmfUeNgapId,
    /// The loop that its task runs on.
    pub(crate) event_loop: usize,
    /// Since when it is silent.
    pub(crate) idle: IdleMark,
    pub(crate) mailbox: Mailbox<Box<Ue>, Event>,
    connected: AtomicBool,
}

/// Whether an event found its UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
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
    pub(crate) fn deliver(&self, event: Event) -> Delivery {
        match self.mailbox.deliver(event) {
            Delivered::Queued => Delivery::Taken,
            Delivered::Dropped => Delivery::Dropped,
            Delivered::Begin(ue, event) => {
                start(ue, event);
                Delivery::Taken
            }
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }
}

impl AsRef<IdleMark> for Slot {
    fn as_ref(&self) -> &IdleMark {
        &self.idle
    }
}

/// Begins a UE's task with this event.
pub(crate) fn start(ue: Box<Ue>, event: Event) {
    let amf = Arc::clone(&ue.amf);
    (amf.start)(ue, event);
}

/// What can happen to a UE.
pub(crate) enum Event {
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
pub(crate) enum Claimed {
    /// Not yet.
    NotAsked,
    /// It is not its own: the message is forged, was received before, or the name is another's now.
    Denied,
}

/// What the UDM says of a registration that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Which of the UE's registrations, as the AMF named it to the UDM.
    pub(crate) registration: u64,
    pub(crate) why: Why,
}

/// Why a registration has ended (TS 29.503, 6.2.6.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
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
pub(crate) enum Ended {
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
pub(crate) struct Uplink {
    pub(crate) message: NasMessage,
    /// The NAS COUNT of a message whose MAC was right.
    pub(crate) count: Option<u32>,
}

/// What the store has of a context's NAS COUNTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The first downlink count that is not reserved.
    pub(crate) downlink: u32,
    /// The next uplink count as it was.
    pub(crate) uplink: u32,
}

/// How far the paging of a UE is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paging {
    /// How often it was called.
    pub(crate) attempts: u8,
    /// When T3513 expires.
    pub(crate) until: Instant,
}

/// A UE's context.
pub(crate) struct Ue {
    pub(crate) amf: Arc<Amf>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) sbi: Sbi,
    pub(crate) link: Option<Link>,
    /// A verified message came by `link`: from then on none that is not verified is looked at.
    pub(crate) secured: bool,
    /// The gNB has the UE's context (security, slices).
    pub(crate) context_at_gnb: bool,
    pub(crate) registered: bool,
    pub(crate) supi: Option<Supi>,
    pub(crate) guti: Option<Guti>,
    /// The GUTI before: good until the UE is known to have the one above (TS 24.501, 5.5.1.2.8).
    pub(crate) former: Option<Guti>,
    /// How the UDM names this registration to us.
    pub(crate) registration: u64,
    pub(crate) security: Option<NasSecurityContext>,
    /// What the store has of the counts; nothing when it has nothing under these keys.
    pub(crate) stored: Option<Counts>,
    /// The NAS COUNT of the message that the gNB's key is made from.
    pub(crate) kgnb_count: u32,
    pub(crate) capability: Option<UeSecurityCapability>,
    /// Of its subscription: what it is allowed is chosen from these at each registration.
    pub(crate) subscribed: Vec<Snssai>,
    pub(crate) allowed: Vec<Snssai>,
    pub(crate) ambr: UeAmbr,
    /// Boxed: a node of the map has room for eleven, and most UEs have one.
    pub(crate) sessions: BTreeMap<u8, Box<Session>>,
    /// What waits for the UE to come back.
    pub(crate) pending: Vec<Transfer>,
    /// It is being paged.
    pub(crate) paging: Option<Paging>,
    /// What came while a procedure waited for something else.
    pub(crate) deferred: VecDeque<Event>,
}

impl Ue {
    /// A UE of which nothing is known yet.
    pub(crate) fn new(amf: &Arc<Amf>, slot: &Arc<Slot>) -> Box<Self> {
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
    pub(crate) fn is_by(&self, connection: ConnectionId) -> bool {
        self.link
            .as_ref()
            .is_some_and(|link| link.id() == connection)
    }

    /// Whether the UE has come by this connection and is not served on it yet.
    pub(crate) fn comes_by(&self, connection: ConnectionId) -> bool {
        let comes =
            |event: &Event| matches!(event, Event::Arrived(link, _) if link.id() == connection);
        self.deferred.iter().any(comes)
    }

    /// Keeps an event until the procedure in progress has ended, unless as many wait as a mailbox
    /// holds.
    pub(crate) fn defer(&mut self, event: Event) {
        if self.deferred.len() < MAX_DEFERRED || event.must_arrive() {
            self.deferred.push_back(event);
        }
    }

    /// The UE's permanent identity as service interfaces write it.
    pub(crate) fn supi_text(&self) -> String {
        self.supi
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    }

    /// The sessions that the UE has here.
    pub(crate) fn session_set(&self) -> PduSessionSet {
        self.sessions
            .keys()
            .filter_map(|session| corewire_core5g_nas::PduSessionId::new(*session))
            .fold(PduSessionSet::default(), PduSessionSet::with)
    }

    /// The UE has no name any more.
    pub(crate) fn forget_names(&mut self) {
        let gutis = [self.guti.take(), self.former.take()];
        for guti in gutis.into_iter().flatten() {
            self.amf.ues.forget_tmsi(STmsi::of(guti), &self.slot);
        }
        if let Some(supi) = self.supi.take() {
            self.amf.ues.forget_supi(&supi.to_string(), &self.slot);
        }
    }

    /// Says that it is registered, or is no more, where that is counted.
    pub(crate) fn set_registered(&mut self, registered: bool) {
        if self.registered != registered {
            self.registered = registered;
            if registered {
                self.amf.numbers.registered.up()
            } else {
                self.amf.numbers.registered.down()
            }
            self.note_silence();
        }
    }

    /// A UE that is registered and has no connection is to be heard of.
    fn note_silence(&self) {
        if self.registered && self.link.is_none() {
            self.amf
                .silence
                .begins(self.amf.clock.now(), &self.slot.idle)
        } else {
            self.slot.idle.end()
        }
    }

    /// Has a connection from now on, or none.
    pub(crate) fn set_link(&mut self, link: Option<Link>) {
        let connected = link.is_some();
        let was = self.slot.connected.swap(connected, Ordering::AcqRel);
        if was != connected {
            if connected {
                self.amf.numbers.connected.up()
            } else {
                self.amf.numbers.connected.down()
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
