//! One gNB (TS 38.413), without a radio and without a socket: NGAP in, NGAP out, UEs beside it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;
use std::time::Instant;

use corewire_guti::Guami;

use super::step::Step;
use super::ue::{Failure, StepEnd, Ue, Want};
use corewire_core5g_aka::Supi;
use corewire_core5g_nas::{PduSessionId, Snssai, Tac, Tai};
use corewire_core5g_ngap::transfer::{
    GtpTunnel, ModifyRequestTransfer, ModifyResponseTransfer, ReleaseCommandTransfer,
    ReleaseResponseTransfer, SetupRequestTransfer, SetupResponseTransfer,
};
use corewire_core5g_ngap::*;

/// The stream of messages that are about no UE (TS 38.412 clause 7).
const NODE_STREAM: u16 = 0;

/// What a gNB is.
#[derive(Clone, Debug)]
pub(crate) struct GnbConfig {
    pub(crate) id: GnbId,
    pub(crate) tac: Tac,
    pub(crate) snssai: Snssai,
    /// Where its ends of the tunnels are said to be.
    pub(crate) address: IpAddr,
}

/// A gNB and the UEs in its cell.
#[derive(Debug)]
pub(crate) struct Gnb {
    config: GnbConfig,
    up: bool,
    /// The streams of the association that messages may be sent by.
    streams: u16,
    guamis: Vec<Guami>,
    ues: Vec<Slot>,
    deadlines: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The step that UEs wait before, until they are let go on.
    pause: Option<Step>,
    /// Who waits before it.
    paused: VecDeque<usize>,
    /// UEs are to leave: no script is continued.
    is_stopping: bool,
    /// UEs that have finished, are registered, and are to detach.
    to_leave: VecDeque<usize>,
    /// UEs that had finished and are detaching.
    leaving: usize,
    /// What is to be sent: stream and octets.
    pub(crate) out: VecDeque<(u16, Vec<u8>)>,
    /// What happened, for the report.
    pub(crate) events: VecDeque<Event>,
}

/// What a run's report is made of.
#[derive(Debug)]
pub(crate) enum Event {
    /// A step is done.
    Step(StepEnd),
    /// A UE gave up; `active`: in the middle of its script, not when it was done.
    Failed { failure: Failure, active: bool },
    /// A UE did all of its script.
    Finished,
    /// A UE waits before the step that it was told to wait before.
    Paused,
    /// A UE has left before its script was done; `active`: in the middle of it.
    Left { active: bool },
}

#[derive(Debug)]
struct Slot {
    ue: Ue,
    amf: Option<AmfUeNgapId>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Active,
    /// It waits before a step; it still answers.
    Paused,
    /// All of its script is done; it still answers.
    Finished,
    /// It had finished, and detaches because the run ends.
    Leaving,
    Failed,
}

impl Gnb {
    pub(crate) fn new(config: GnbConfig, ues: Vec<Ue>) -> Self {
        let slot = |ue| Slot {
            ue,
            amf: None,
            state: State::Waiting,
        };
        Self {
            config,
            up: false,
            streams: 0,
            guamis: Vec::new(),
            ues: ues.into_iter().map(slot).collect(),
            deadlines: BinaryHeap::new(),
            pause: None,
            paused: VecDeque::new(),
            is_stopping: false,
            to_leave: VecDeque::new(),
            leaving: 0,
            out: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// With UEs that wait before this step until they are let go on.
    pub(crate) fn pausing_before(mut self, step: Option<Step>) -> Self {
        self.pause = step;
        self
    }

    /// UEs that wait before the step.
    pub(crate) fn paused(&self) -> usize {
        self.paused.len()
    }

    /// Lets one of the UEs go on that wait; false when none waits.
    pub(crate) fn resume_one(&mut self, now: Instant) -> bool {
        let Some(index) = self.paused.pop_front() else {
            return false;
        };
        self.ues[index].state = State::Active;
        let result = self.begin_next(index, now);
        self.settle(index, now, result);
        true
    }

    /// Cuts all scripts short: UEs end the step that they are in, and detach. Those that wait or have
    /// finished do so by [`resume_one`](Self::resume_one) and [`leave_one`](Self::leave_one).
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
        self.pause = None;
        for (index, slot) in self.ues.iter_mut().enumerate() {
            slot.ue.leave();
            if slot.state == State::Finished && slot.ue.is_registered() {
                self.to_leave.push_back(index);
            }
        }
    }

    /// Lets one of the UEs detach that have finished; false when none is left.
    pub(crate) fn leave_one(&mut self, now: Instant) -> bool {
        let Some(index) = self.to_leave.pop_front() else {
            return false;
        };
        self.ues[index].state = State::Leaving;
        self.leaving += 1;
        let result = self.begin_next(index, now);
        self.settle(index, now, result);
        true
    }

    /// UEs that had finished and are detaching.
    pub(crate) const fn leaving(&self) -> usize {
        self.leaving
    }

    /// Whether none of the UEs that had finished is still to detach.
    pub(crate) fn has_left(&self) -> bool {
        self.leaving == 0 && self.to_leave.is_empty()
    }

    /// The UEs that are registered, as far as they know.
    pub(crate) fn attached(&self) -> impl Iterator<Item = &Supi> {
        let registered = self.ues.iter().filter(|slot| slot.ue.is_registered());
        registered.map(|slot| slot.ue.supi())
    }

    /// NG Setup was answered.
    pub(crate) const fn is_up(&self) -> bool {
        self.up
    }

    /// Its number in the network.
    pub(crate) const fn number(&self) -> u32 {
        self.config.id.value
    }

    pub(crate) const fn ues(&self) -> usize {
        self.ues.len()
    }

    /// The association is there, with so many streams: NG Setup (TS 38.413 clause 8.7.1).
    ///
    /// # Errors
    /// The gNB's own data cannot be said.
    pub(crate) fn set_up(&mut self, streams: u16) -> Result<(), String> {
        self.streams = streams;
        let plmns = vec![PlmnSlices {
            plmn: self.config.id.plmn,
            slices: vec![self.config.snssai],
        }];
        let tac = self.config.tac;
        self.node(&NgapMessage::from(NgSetupRequest {
            gnb: self.config.id,
            name: Some(format!("corewire-gnb-{}", self.config.id.value)),
            areas: vec![SupportedArea { tac, plmns }],
        }))
    }

    /// The association is gone, and with it every connection.
    pub(crate) fn lost(&mut self, now: Instant) {
        self.up = false;
        self.out.clear();
        for index in 0..self.ues.len() {
            self.connection_gone(index, now);
        }
    }

    /// Starts a UE.
    pub(crate) fn start(&mut self, index: usize, now: Instant) {
        self.ues[index].state = State::Active;
        self.settle(index, now, Ok(()));
    }

    /// When to be called again although nothing came.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((at, _))| *at)
    }

    /// Ends what has taken too long.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(Reverse((at, index))) = self.deadlines.peek().copied()
            && at <= now
        {
            self.deadlines.pop();
            let slot = &mut self.ues[index];
            // The deadline of a step that is done by now means nothing.
            let is_active = matches!(slot.state, State::Active | State::Leaving);
            if is_active && slot.ue.deadline() == Some(at) {
                let ended = slot.ue.time_is_up(now);
                self.settle(index, now, ended);
            }
        }
    }

    /// A message came from the AMF.
    ///
    /// # Errors
    /// The gNB cannot go on: the AMF refuses it, or speaks something else.
    pub(crate) fn handle(&mut self, now: Instant, octets: &[u8]) -> Result<(), String> {
        let message = match NgapMessage::decode(octets) {
            Ok(message) => message,
            Err(error) => {
                if let Some(answer) = error.answer() {
                    self.node(&answer)?;
                }
                return Err(format!(
                    "the AMF sent what is not to be understood: {error}"
                ));
            }
        };
        match message {
            NgapMessage::NgSetupResponse(response) => self.accepted(&response),
            NgapMessage::NgSetupFailure(failure) => {
                Err(format!("the AMF refuses the gNB: {}", failure.cause))
            }
            NgapMessage::NgReset(reset) => self.reset(now, &reset),
            NgapMessage::NgResetAcknowledge(_)
            | NgapMessage::OverloadStart(_)
            | NgapMessage::OverloadStop(_) => Ok(()),
            NgapMessage::Paging(paging) => {
                let whom = (0..self.ues.len()).find(|at| self.ues[*at].ue.is(paging.s_tmsi));
                if let Some(index) = whom {
                    let result = self.ues[index].ue.paged();
                    self.settle(index, now, result);
                }
                Ok(())
            }
            NgapMessage::ErrorIndication(indication) => self.complained(now, &indication),
            NgapMessage::DownlinkNas(message) => self.about(now, message.ue, |gnb, index| {
                gnb.ues[index].ue.nas(now, &message.nas)
            }),
            NgapMessage::InitialContextSetupRequest(request) => {
                self.about(now, request.ue, |gnb, index| {
                    gnb.set_up_context(now, index, request)
                })
            }
            NgapMessage::PduSessionResourceSetupRequest(request) => {
                self.about(now, request.ue, |gnb, index| {
                    gnb.set_up_sessions(now, index, request)
                })
            }
            NgapMessage::PduSessionResourceModifyRequest(request) => {
                self.about(now, request.ue, |gnb, index| {
                    gnb.modify_sessions(now, index, request)
                })
            }
            NgapMessage::PduSessionResourceReleaseCommand(command) => {
                self.about(now, command.ue, |gnb, index| {
                    gnb.release_sessions(now, index, command)
                })
            }
            NgapMessage::UeContextReleaseCommand(command) => self.released(now, &command),
            other => Err(format!("the AMF sent {}, which a gNB sends", other.name())),
        }
    }

    fn accepted(&mut self, response: &NgSetupResponse) -> Result<(), String> {
        let ours = response
            .plmns
            .iter()
            .find(|plmn| plmn.plmn == self.config.id.plmn)
            .ok_or("the AMF does not serve the gNB's network")?;
        if !ours.slices.contains(&self.config.snssai) {
            return Err(format!(
                "the AMF does not serve slice {}",
                self.config.snssai
            ));
        }
        if response.guamis.is_empty() {
            return Err("the AMF has no GUAMI".into());
        }
        self.guamis.clone_from(&response.guamis);
        self.up = true;
        Ok(())
    }

    fn reset(&mut self, now: Instant, reset: &NgReset) -> Result<(), String> {
        let ues = match &reset.scope {
            ResetScope::All => {
                for index in 0..self.ues.len() {
                    self.connection_gone(index, now);
                }
                Vec::new()
            }
            ResetScope::Ues(ues) => {
                for connection in ues {
                    if let Some(index) = connection.ran.and_then(|ran| self.index(ran)) {
                        self.connection_gone(index, now);
                    }
                }
                ues.clone()
            }
        };
        self.node(&NgapMessage::from(NgResetAcknowledge { ues }))
    }

    fn connection_gone(&mut self, index: usize, now: Instant) {
        let slot = &mut self.ues[index];
        slot.amf = None;
        let result = slot.ue.released(now);
        if matches!(slot.state, State::Active | State::Leaving) {
            self.settle(index, now, result);
        }
    }

    fn complained(&mut self, now: Instant, indication: &ErrorIndication) -> Result<(), String> {
        let cause = indication.cause.unwrap_or(Cause::MISC_UNSPECIFIED);
        match indication.ran.and_then(|ran| self.index(ran)) {
            Some(index) => {
                let failure = self.ues[index]
                    .ue
                    .failure(format!("the AMF complains: {cause}"));
                self.settle(index, now, Err(failure));
                Ok(())
            }
            None => Err(format!("the AMF complains: {cause}")),
        }
    }

    /// Does something for the UE that a message is about, whose numbers must fit.
    fn about(
        &mut self,
        now: Instant,
        ue: UePair,
        what: impl FnOnce(&mut Self, usize) -> Result<(), Failure>,
    ) -> Result<(), String> {
        let Some(index) = self.index(ue.ran) else {
            return self.node(&NgapMessage::from(ErrorIndication {
                amf: Some(ue.amf),
                ran: Some(ue.ran),
                cause: Some(Cause::UNKNOWN_LOCAL_UE_ID),
            }));
        };
        let slot = &mut self.ues[index];
        let amf = *slot.amf.get_or_insert(ue.amf);
        let result = if amf == ue.amf {
            what(self, index)
        } else {
            Err(slot.ue.failure("the AMF changed its number for the UE"))
        };
        self.settle(index, now, result);
        Ok(())
    }

    /// Initial context setup (TS 38.413 clause 8.3.1).
    fn set_up_context(
        &mut self,
        now: Instant,
        index: usize,
        request: InitialContextSetupRequest,
    ) -> Result<(), Failure> {
        let ue = &self.ues[index].ue;
        if ue.kgnb().as_ref() != Some(&request.kgnb) {
            return Err(ue.failure("the gNB's key is not the UE's"));
        }
        if request.capability != RadioSecurityCapability::from(ue.capability()) {
            return Err(ue.failure("the UE's algorithms at the gNB are not the UE's"));
        }
        if !self.guamis.contains(&request.guami) {
            return Err(ue.failure("the GUAMI is none of this AMF's"));
        }
        if !request.allowed_nssai.contains(&self.config.snssai) {
            return Err(ue.failure("the UE's slice is not allowed at the gNB"));
        }
        if !request.sessions.is_empty() && request.ambr.is_none() {
            return Err(ue.failure("sessions without the UE's rates"));
        }
        let set_up = self.set_up_each(index, &request.sessions)?;
        self.ue_message(
            index,
            InitialContextSetupResponse {
                ue: request.ue,
                set_up,
                failed: Vec::new(),
            },
        )?;
        let nas = request.nas.into_iter();
        self.deliver(
            now,
            index,
            nas.chain(request.sessions.into_iter().filter_map(|s| s.nas)),
        )
    }

    /// PDU session resource setup (TS 38.413 clause 8.2.1).
    fn set_up_sessions(
        &mut self,
        now: Instant,
        index: usize,
        request: PduSessionResourceSetupRequest,
    ) -> Result<(), Failure> {
        let set_up = self.set_up_each(index, &request.sessions)?;
        self.ue_message(
            index,
            PduSessionResourceSetupResponse {
                ue: request.ue,
                set_up,
                failed: Vec::new(),
            },
        )?;
        self.deliver(
            now,
            index,
            request.sessions.into_iter().filter_map(|s| s.nas),
        )
    }

    fn set_up_each(
        &self,
        index: usize,
        sessions: &[SessionSetup],
    ) -> Result<Vec<SessionTransfer>, Failure> {
        let ue = &self.ues[index].ue;
        let one = |setup: &SessionSetup| {
            let fault = |error: NgapError| ue.failure(error.to_string());
            let transfer = SetupRequestTransfer::decode(&setup.transfer).map_err(fault)?;
            if setup.snssai != self.config.snssai {
                return Err(ue.failure("the session is in another slice"));
            }
            if transfer.rate.is_none() {
                return Err(ue.failure("a flow without a guaranteed rate, and no session rate"));
            }
            if transfer.flows.is_empty() || transfer.uplink.address.is_unspecified() {
                return Err(ue.failure("the session has no flow, or its tunnel no end"));
            }
            let response = SetupResponseTransfer {
                downlink: GtpTunnel {
                    address: self.config.address,
                    teid: teid(index, setup.session),
                },
                flows: transfer.flows.iter().map(|flow| flow.qfi).collect(),
            };
            Ok(SessionTransfer {
                session: setup.session,
                transfer: response.encode().map_err(fault)?,
            })
        };
        sessions.iter().map(one).collect()
    }

    /// PDU session resource modify (TS 38.413 clause 8.2.3).
    fn modify_sessions(
        &mut self,
        now: Instant,
        index: usize,
        request: PduSessionResourceModifyRequest,
    ) -> Result<(), Failure> {
        let ue = &self.ues[index].ue;
        let fault = |error: NgapError| ue.failure(error.to_string());
        let one = |modify: &SessionModify| {
            let transfer = ModifyRequestTransfer::decode(&modify.transfer).map_err(fault)?;
            let response = ModifyResponseTransfer {
                flows: transfer.flows.iter().map(|flow| flow.qfi).collect(),
            };
            Ok(SessionTransfer {
                session: modify.session,
                transfer: response.encode().map_err(fault)?,
            })
        };
        let modified = request
            .sessions
            .iter()
            .map(one)
            .collect::<Result<_, Failure>>()?;
        self.ue_message(
            index,
            PduSessionResourceModifyResponse {
                ue: request.ue,
                modified,
                failed: Vec::new(),
            },
        )?;
        self.deliver(
            now,
            index,
            request.sessions.into_iter().filter_map(|s| s.nas),
        )
    }

    /// PDU session resource release (TS 38.413 clause 8.2.2).
    fn release_sessions(
        &mut self,
        now: Instant,
        index: usize,
        command: PduSessionResourceReleaseCommand,
    ) -> Result<(), Failure> {
        let ue = &self.ues[index].ue;
        let fault = |error: NgapError| ue.failure(error.to_string());
        let one = |release: &SessionTransfer| {
            ReleaseCommandTransfer::decode(&release.transfer).map_err(fault)?;
            Ok(SessionTransfer {
                session: release.session,
                transfer: ReleaseResponseTransfer.encode().map_err(fault)?,
            })
        };
        let released = command
            .sessions
            .iter()
            .map(one)
            .collect::<Result<_, Failure>>()?;
        self.ue_message(
            index,
            PduSessionResourceReleaseResponse {
                ue: command.ue,
                released,
            },
        )?;
        self.deliver(now, index, command.nas)
    }

    /// UE context release (TS 38.413 clause 8.3.3).
    fn released(&mut self, now: Instant, command: &UeContextReleaseCommand) -> Result<(), String> {
        let index = match command.ue {
            UeIds::Pair(ue) => self.index(ue.ran),
            UeIds::Amf(amf) => self.ues.iter().position(|slot| slot.amf == Some(amf)),
        };
        let Some(index) = index else {
            return self.node(&NgapMessage::from(ErrorIndication {
                amf: None,
                ran: None,
                cause: Some(Cause::UNKNOWN_LOCAL_UE_ID),
            }));
        };
        let amf = match command.ue {
            UeIds::Pair(ue) => ue.amf,
            UeIds::Amf(amf) => amf,
        };
        let complete = UeContextReleaseComplete {
            ue: UePair {
                amf,
                ran: ran(index),
            },
            sessions: Vec::new(),
        };
        let result = self.ue_message(index, complete);
        match result {
            Ok(()) => self.connection_gone(index, now),
            Err(failure) => self.settle(index, now, Err(failure)),
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        now: Instant,
        index: usize,
        nas: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<(), Failure> {
        for octets in nas {
            self.ues[index].ue.nas(now, &octets)?;
            self.fulfil(index)?;
        }
        Ok(())
    }

    /// Brings a UE as far as it gets without an answer.
    fn settle(&mut self, index: usize, now: Instant, result: Result<(), Failure>) {
        let result = result.and_then(|()| self.advance(index, now));
        let Err(failure) = result else {
            return;
        };
        if self.ues[index].state == State::Failed {
            return;
        }
        let active = matches!(self.ues[index].state, State::Active | State::Paused);
        self.leaving -= usize::from(self.ues[index].state == State::Leaving);
        self.ues[index].state = State::Failed;
        self.paused.retain(|paused| *paused != index);
        // What it has to say about it goes first.
        let _ = self.fulfil(index);
        if let Some(amf) = self.ues[index].amf {
            // The core need not keep what will never be used.
            let request = UeContextReleaseRequest {
                ue: UePair {
                    amf,
                    ran: ran(index),
                },
                sessions: Vec::new(),
                cause: Cause::RADIO_LOST,
            };
            let _ = self.ue_message(index, request);
        }
        self.events.push_back(Event::Failed { failure, active });
    }

    fn advance(&mut self, index: usize, now: Instant) -> Result<(), Failure> {
        self.fulfil(index)?;
        let is_active = |state| matches!(state, State::Active | State::Leaving);
        if !is_active(self.ues[index].state) {
            return Ok(());
        }
        loop {
            if let Some(end) = self.ues[index].ue.ended() {
                self.events.push_back(Event::Step(end));
            } else if self.ues[index].ue.deadline().is_some() {
                return Ok(());
            }
            if self.pause.is_some() && self.ues[index].ue.next_step() == self.pause {
                self.ues[index].state = State::Paused;
                self.paused.push_back(index);
                self.events.push_back(Event::Paused);
                return Ok(());
            }
            self.begin_next(index, now)?;
            if !is_active(self.ues[index].state) {
                return Ok(());
            }
        }
    }

    /// Begins a UE's next step, or finds that it has done all.
    fn begin_next(&mut self, index: usize, now: Instant) -> Result<(), Failure> {
        if !self.ues[index].ue.begin(now)? {
            let before = std::mem::replace(&mut self.ues[index].state, State::Finished);
            self.leaving -= usize::from(before == State::Leaving);
            self.events.push_back(if self.is_stopping {
                Event::Left {
                    active: before != State::Leaving,
                }
            } else {
                Event::Finished
            });
            return Ok(());
        }
        if let Some(deadline) = self.ues[index].ue.deadline() {
            self.deadlines.push(Reverse((deadline, index)));
        }
        self.fulfil(index)
    }

    /// Sends what the UE wants to be sent.
    fn fulfil(&mut self, index: usize) -> Result<(), Failure> {
        while let Some(want) = self.ues[index].ue.wants.pop_front() {
            let location = Location {
                cell: NrCell::of(self.config.id, 1),
                tai: Tai {
                    plmn: self.config.id.plmn,
                    tac: self.config.tac,
                },
            };
            let slot = &mut self.ues[index];
            match (want, slot.amf) {
                (Want::Connect { nas, cause, s_tmsi }, _) => {
                    slot.amf = None;
                    slot.ue.connected();
                    let message = InitialUeMessage {
                        ran: ran(index),
                        nas,
                        location,
                        establishment: cause,
                        s_tmsi,
                        context_requested: true,
                    };
                    self.ue_message(index, message)?;
                }
                (Want::Send(nas), Some(amf)) => {
                    let ue = UePair {
                        amf,
                        ran: ran(index),
                    };
                    self.ue_message(index, UplinkNas { ue, nas, location })?;
                }
                (Want::Release, Some(amf)) => {
                    let message = UeContextReleaseRequest {
                        ue: UePair {
                            amf,
                            ran: ran(index),
                        },
                        sessions: Vec::new(),
                        cause: Cause::USER_INACTIVITY,
                    };
                    self.ue_message(index, message)?;
                }
                (_, None) => return Err(slot.ue.failure("the AMF has no number for the UE yet")),
            }
        }
        Ok(())
    }

    /// A UE's stream, one for as long as the association lasts: any but the node's own, where there
    /// is another (TS 38.412 clause 7).
    fn stream_of(&self, index: usize) -> u16 {
        let others = usize::from(self.streams.saturating_sub(1));
        let place = index.checked_rem(others).map_or(0, |place| place + 1);
        u16::try_from(place).unwrap_or(NODE_STREAM)
    }

    fn ue_message(&mut self, index: usize, message: impl Into<NgapMessage>) -> Result<(), Failure> {
        match message.into().encode() {
            Ok(octets) => {
                self.out.push_back((self.stream_of(index), octets));
                Ok(())
            }
            Err(error) => Err(self.ues[index].ue.failure(error.to_string())),
        }
    }

    fn node(&mut self, message: &NgapMessage) -> Result<(), String> {
        let octets = message.encode().map_err(|error| error.to_string())?;
        self.out.push_back((NODE_STREAM, octets));
        Ok(())
    }

    fn index(&self, ran: RanUeNgapId) -> Option<usize> {
        let index = usize::try_from(ran.0).ok()?.checked_sub(1)?;
        (index < self.ues.len()).then_some(index)
    }
}

/// The gNB's number for a UE.
fn ran(index: usize) -> RanUeNgapId {
    RanUeNgapId(u32::try_from(index + 1).unwrap_or(u32::MAX))
}

/// The gNB's end of a session's tunnel.
fn teid(index: usize, session: PduSessionId) -> u32 {
    ran(index).0 << 4 | u32::from(session.value())
}
