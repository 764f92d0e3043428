//! One UE (TS 24.501), without a radio: NAS in, NAS out.
//!
//! ```text
//!   begin ──▶ a step's first message ──▶ nas, set_up, released ... ──▶ done, or a failure
//! ```

mod mobility;
mod session;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corewire_guti::{Guti, Plmn};

use super::step::Step;
use corewire_core5g_aka::{
    HomeNetworkPublicKey, Kamf, Kgnb, Protection, RoutingIndicator, ServingNetwork, Sqn, SqnWindow,
    Subscriber, Suci, Supi, Usim,
};
use corewire_core5g_nas::{
    Envelope, Ksi, NasMessage, NasSecurityContext, PduSessionId, PduSessionSet, STmsi, Snssai,
    UeSecurityCapability,
};
use corewire_core5g_ngap::EstablishmentCause;

/// What all UEs of a run have in common.
#[derive(Debug)]
pub(crate) struct UeConfig {
    /// The network that they attach to; home and serving network are one.
    pub(crate) plmn: Plmn,
    /// What they do.
    pub(crate) script: Vec<Step>,
    /// How long a step may take.
    pub(crate) patience: Duration,
    /// How long the step `wait` is.
    pub(crate) wait: Duration,
    /// The slice of their session.
    pub(crate) snssai: Snssai,
    /// The data network of their session.
    pub(crate) dnn: String,
    /// What they conceal their SUPI with; none is the null scheme.
    pub(crate) home_network_key: Option<(u8, HomeNetworkPublicKey)>,
    /// Their USIMs are ahead of the home network, which must resynchronise.
    pub(crate) resynchronise: bool,
}

/// What a UE wants of its gNB, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// A new connection, with this message.
    Connect {
        nas: Vec<u8>,
        cause: EstablishmentCause,
        s_tmsi: Option<STmsi>,
    },
    /// This message on the connection.
    Send(Vec<u8>),
    /// The connection to be released: nothing has been said for a while.
    Release,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) struct StepEnd {
    pub(crate) step: Step,
    pub(crate) began: Instant,
    pub(crate) took: Duration,
}

/// Why a UE gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) step: Option<Step>,
    pub(crate) what: String,
}

/// A UE.
#[derive(Debug)]
pub(crate) struct Ue {
    config: Arc<UeConfig>,
    supi: Supi,
    usim: Usim,
    capability: UeSecurityCapability,
    security: Option<NasSecurityContext>,
    /// K_AMF and its number, after an authentication and before security mode.
    fresh: Option<(Kamf, Ksi)>,
    /// The NAS COUNT that the gNB's key belongs to: of SECURITY MODE COMPLETE or the initial message.
    access_count: u32,
    guti: Option<Guti>,
    registered: bool,
    connected: bool,
    /// The network's last message was not protected: it is answered in kind.
    in_clear: bool,
    sessions: PduSessionSet,
    pti: u8,
    /// The whole registration or service request of the step, for SECURITY MODE COMPLETE.
    request: Option<NasMessage>,
    next: usize,
    /// The script is cut short: it detaches, if it is registered, and does nothing more.
    leaves: bool,
    current: Option<Current>,
    /// What is to be done for the gNB.
    pub(crate) wants: VecDeque<Want>,
}

/// The step that is being done.
#[derive(Clone, Copy, Debug)]
struct Current {
    step: Step,
    began: Instant,
    /// When NAS was satisfied; the step may still wait for the connection to go.
    satisfied: Option<Instant>,
}

/// The session that a UE has.
fn the_session() -> PduSessionId {
    PduSessionId::new(1).expect("1 is a session")
}

impl Ue {
    pub(crate) fn new(config: Arc<UeConfig>, supi: Supi, subscriber: Subscriber) -> Self {
        /// Ahead of any home network that counts from zero, and not too far (TS 33.102 C.2.2).
        const AHEAD: u64 = 1 << 20;
        let taken = if config.resynchronise {
            Sqn::new(AHEAD).unwrap_or_default()
        } else {
            Sqn::default()
        };
        Self {
            config,
            supi,
            usim: Usim::new(subscriber, SqnWindow::after(taken)),
            capability: UeSecurityCapability::of_ue(),
            security: None,
            fresh: None,
            access_count: 0,
            guti: None,
            registered: false,
            connected: false,
            in_clear: true,
            sessions: PduSessionSet::default(),
            pti: 0,
            request: None,
            next: 0,
            leaves: false,
            current: None,
            wants: VecDeque::new(),
        }
    }

    /// Whether it was told apart from others on the radio by this name.
    pub(crate) fn is(&self, s_tmsi: STmsi) -> bool {
        self.guti.is_some_and(|guti| STmsi::of(guti) == s_tmsi)
    }

    /// The key that its gNB must have got.
    pub(crate) fn kgnb(&self) -> Option<Kgnb> {
        let security = self.security.as_ref()?;
        Some(security.kgnb(self.access_count))
    }

    pub(crate) const fn capability(&self) -> &UeSecurityCapability {
        &self.capability
    }

    /// When the step that is being done has taken too long.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.current.map(|current| {
            current.began
                + match current.step {
                    Step::Wait => self.config.wait,
                    _ => self.config.patience,
                }
        })
    }

    /// The step has taken as long as it may: what it waited for is there, if that was time.
    ///
    /// # Errors
    /// It waited for something else.
    pub(crate) fn time_is_up(&mut self, now: Instant) -> Result<(), Failure> {
        match self.step() {
            Some(Step::Wait) => {
                self.satisfied(now);
                Ok(())
            }
            _ => Err(self.failure("no answer in time")),
        }
    }

    /// The step that comes next.
    pub(crate) fn next_step(&self) -> Option<Step> {
        if self.leaves {
            self.registered.then_some(Step::Detach)
        } else {
            self.config.script.get(self.next).copied()
        }
    }

    /// Cuts its script short: when the step in progress is done, it detaches.
    pub(crate) const fn leave(&mut self) {
        self.leaves = true;
    }

    /// Whether the network has it registered, as far as it knows.
    pub(crate) const fn is_registered(&self) -> bool {
        self.registered
    }

    pub(crate) const fn supi(&self) -> &Supi {
        &self.supi
    }

    /// Begins the next step; false when there is none.
    ///
    /// # Errors
    /// The script makes no sense here: for example a session before a registration.
    pub(crate) fn begin(&mut self, now: Instant) -> Result<bool, Failure> {
        let Some(step) = self.next_step() else {
            return Ok(false);
        };
        self.next += 1;
        self.current = Some(Current {
            step,
            began: now,
            satisfied: None,
        });
        match step {
            Step::Registration | Step::Reregistration | Step::Periodic => self.register(step)?,
            Step::Session => self.establish()?,
            Step::Modification => self.modify()?,
            Step::Release => self.release()?,
            Step::Idle if self.connected => self.wants.push_back(Want::Release),
            // The network was faster.
            Step::Idle => self.satisfied(now),
            Step::Wait => {}
            Step::Service => self.request_service(corewire_core5g_nas::ServiceKind::Data)?,
            Step::Detach | Step::SwitchOff => self.deregister(step == Step::SwitchOff)?,
        }
        Ok(true)
    }

    /// The step's end, once there is one; then the next may begin.
    pub(crate) fn ended(&mut self) -> Option<StepEnd> {
        let current = self.current?;
        let satisfied = current.satisfied?;
        let waits_for_release = matches!(current.step, Step::Detach | Step::SwitchOff | Step::Idle);
        if waits_for_release && self.connected {
            return None;
        }
        self.current = None;
        Some(StepEnd {
            step: current.step,
            began: current.began,
            took: satisfied.saturating_duration_since(current.began),
        })
    }

    /// The connection is there: its first message was sent.
    pub(crate) const fn connected(&mut self) {
        self.connected = true;
    }

    /// The connection is gone.
    ///
    /// # Errors
    /// The step needed it.
    pub(crate) fn released(&mut self, now: Instant) -> Result<(), Failure> {
        self.connected = false;
        match self.current {
            Some(Current {
                step: Step::Idle | Step::SwitchOff,
                satisfied: None,
                ..
            }) => {
                self.satisfied(now);
                Ok(())
            }
            // Idle from now on.
            Some(Current {
                step: Step::Wait, ..
            }) => Ok(()),
            Some(Current {
                satisfied: None, ..
            }) => Err(self.failure("the connection was released before the step was done")),
            _ => Ok(()),
        }
    }

    /// The network has something for the UE, which is idle.
    ///
    /// # Errors
    /// The UE is not registered.
    pub(crate) fn paged(&mut self) -> Result<(), Failure> {
        if self.connected {
            return Ok(());
        }
        self.request_service(corewire_core5g_nas::ServiceKind::MobileTerminated)
    }

    /// A NAS message came.
    ///
    /// # Errors
    /// It is not what the network may send now.
    pub(crate) fn nas(&mut self, now: Instant, octets: &[u8]) -> Result<(), Failure> {
        let message = self.read(octets)?;
        match message {
            NasMessage::DownlinkNasTransport(transport) => self.session_message(now, transport),
            message => self.mobility_message(now, message),
        }
    }

    /// Reads a message as TS 24.501 clause 4.4.4.2 allows: what is not protected only before there
    /// is protection, and only if it says nothing that needs proof.
    fn read(&mut self, octets: &[u8]) -> Result<NasMessage, Failure> {
        let fault = |error: corewire_core5g_nas::NasError| error.to_string();
        let envelope = Envelope::of(octets).map_err(|error| self.failure(fault(error)))?;
        self.in_clear = envelope == Envelope::Plain;
        match envelope {
            Envelope::Plain => {
                let message =
                    NasMessage::decode(octets).map_err(|error| self.failure(fault(error)))?;
                let allowed = matches!(
                    message,
                    NasMessage::AuthenticationRequest(_)
                        | NasMessage::AuthenticationReject(_)
                        | NasMessage::IdentityRequest(_)
                        | NasMessage::RegistrationReject(_)
                        | NasMessage::ServiceReject(_)
                        | NasMessage::DeregistrationAcceptToUe(_)
                );
                if !allowed {
                    let name = message.name();
                    return Err(self.failure(format!("{name} came without protection")));
                }
                Ok(message)
            }
            Envelope::Protected {
                new_context: true, ..
            } => self.read_security_mode(octets),
            Envelope::Protected { .. } => {
                let Some(security) = &mut self.security else {
                    return Err(self.failure("a protected message before there are keys"));
                };
                security
                    .unprotect(octets)
                    .map(|received| received.message)
                    .map_err(|error| self.failure(fault(error)))
            }
        }
    }

    /// Protects a message and sends it on the connection, or on a new one.
    fn send(&mut self, message: impl Into<NasMessage>) -> Result<(), Failure> {
        let message = message.into();
        let Some(security) = &mut self.security else {
            return Err(self.failure("there are no keys to protect a message with"));
        };
        if self.connected {
            let octets = security
                .protect(&message)
                .map_err(|error| self.failure(error.to_string()))?;
            self.wants.push_back(Want::Send(octets));
            return Ok(());
        }
        self.send_initial(message, EstablishmentCause::Signalling)
    }

    /// Sends an initial message under the context that the UE has.
    fn send_initial(
        &mut self,
        message: NasMessage,
        cause: EstablishmentCause,
    ) -> Result<(), Failure> {
        let Some(security) = &mut self.security else {
            return Err(self.failure("there are no keys to protect a message with"));
        };
        let count = security.uplink_count();
        let octets = security
            .protect_initial(&message)
            .map_err(|error| self.failure(error.to_string()))?;
        self.access_count = count.unwrap_or_default();
        self.request = Some(message);
        self.wants.push_back(Want::Connect {
            nas: octets,
            cause,
            s_tmsi: self.guti.map(STmsi::of),
        });
        Ok(())
    }

    /// NAS has what it wanted of the step.
    fn satisfied(&mut self, now: Instant) {
        if let Some(current) = &mut self.current {
            current.satisfied.get_or_insert(now);
        }
    }

    fn step(&self) -> Option<Step> {
        self.current.map(|current| current.step)
    }

    pub(crate) fn failure(&self, what: impl Into<String>) -> Failure {
        Failure {
            step: self.step(),
            what: what.into(),
        }
    }

    fn suci(&self) -> Result<Suci, Failure> {
        let protection = match &self.config.home_network_key {
            Some((id, key)) => Protection::Key { id: *id, key },
            None => Protection::Null,
        };
        let digits = self.config.plmn.mnc_digits();
        Suci::conceal(&self.supi, digits, RoutingIndicator::default(), protection)
            .map_err(|error| self.failure(error.to_string()))
    }

    fn serving_network(&self) -> ServingNetwork {
        ServingNetwork::of(self.config.plmn)
    }
}
