//! A UE's session management: it establishes one session, changes it, and lets it go.

use std::time::Instant;

use super::{Failure, Step, Ue, the_session};
use corewire_core5g_nas::{
    DownlinkNasTransport, NasMessage, OptionsRequest, PduAddress, PduSessionEstablishmentAccept,
    PduSessionEstablishmentRequest, PduSessionModificationCommand, PduSessionModificationComplete,
    PduSessionModificationRequest, PduSessionReleaseComplete, PduSessionReleaseRequest,
    PduSessionSet, QosRules, RequestKind, SessionType, SmCause, SmHeader, SscMode,
    UplinkNasTransport,
};

impl Ue {
    /// PDU session establishment (TS 24.501 clause 6.4.1).
    pub(super) fn establish(&mut self) -> Result<(), Failure> {
        if !self.registered {
            return Err(self.failure("a session of a UE that is not registered"));
        }
        let header = self.next_transaction();
        let request = PduSessionEstablishmentRequest {
            header,
            session_type: Some(SessionType::Ipv4),
            ssc_mode: Some(SscMode::ONE),
            options: Some(OptionsRequest {
                dns_servers: true,
                link_mtu: true,
            }),
        };
        let transport = UplinkNasTransport {
            payload: self.octets(request)?,
            session: Some(header.session),
            request: Some(RequestKind::Initial),
            snssai: Some(self.config.snssai),
            dnn: Some(self.config.dnn.clone()),
        };
        self.send(transport)
    }

    /// PDU session modification (TS 24.501 clause 6.4.2).
    pub(super) fn modify(&mut self) -> Result<(), Failure> {
        let header = self.next_transaction();
        let request = PduSessionModificationRequest {
            header,
            qos_rules: Some(QosRules::match_all(1)),
        };
        self.send_session(header, request)
    }

    /// PDU session release (TS 24.501 clause 6.4.3).
    pub(super) fn release(&mut self) -> Result<(), Failure> {
        let header = self.next_transaction();
        let request = PduSessionReleaseRequest {
            header,
            cause: Some(SmCause::REGULAR_DEACTIVATION),
        };
        self.send_session(header, request)
    }

    pub(super) fn session_message(
        &mut self,
        now: Instant,
        transport: DownlinkNasTransport,
    ) -> Result<(), Failure> {
        if let Some(cause) = transport.cause {
            return Err(self.failure(format!("the payload was not forwarded: {cause}")));
        }
        let message = NasMessage::decode(&transport.payload)
            .map_err(|error| self.failure(error.to_string()))?;
        match message {
            NasMessage::PduSessionEstablishmentAccept(accept) => self.established(now, &accept),
            NasMessage::PduSessionModificationCommand(command) => self.modified(now, &command),
            NasMessage::PduSessionReleaseCommand(command) => {
                self.check(command.header, Step::Release)?;
                self.sessions = PduSessionSet::default();
                let header = command.header;
                self.send_session(header, PduSessionReleaseComplete { header })?;
                if self.step() == Some(Step::Release) {
                    self.satisfied(now);
                }
                Ok(())
            }
            NasMessage::PduSessionEstablishmentReject(reject) => {
                Err(self.failure(format!("the session was rejected: {}", reject.cause)))
            }
            NasMessage::PduSessionModificationReject(reject) => {
                Err(self.failure(format!("the modification was rejected: {}", reject.cause)))
            }
            NasMessage::PduSessionReleaseReject(reject) => {
                Err(self.failure(format!("the release was rejected: {}", reject.cause)))
            }
            NasMessage::SmStatus(status) => {
                Err(self.failure(format!("the SMF complains: {}", status.cause)))
            }
            other => Err(self.failure(format!("{} makes no sense now", other.name()))),
        }
    }

    fn established(
        &mut self,
        now: Instant,
        accept: &PduSessionEstablishmentAccept,
    ) -> Result<(), Failure> {
        if self.step() != Some(Step::Session) {
            return Err(self.failure("a session that nobody asked for was accepted"));
        }
        self.check(accept.header, Step::Session)?;
        let address = match (accept.session_type, accept.address) {
            (SessionType::Ipv4, Some(PduAddress::Ipv4(address))) => address,
            _ => return Err(self.failure("the session has no IPv4 address")),
        };
        if address.is_unspecified() {
            return Err(self.failure("the session's address is 0.0.0.0"));
        }
        /// The 5QIs without a guaranteed rate (TS 23.501, table 5.7.4-1), which a default rule's flow has.
        const NON_GUARANTEED: [u8; 9] = [5, 6, 7, 8, 9, 69, 70, 79, 80];
        let Some(flow) = accept.qos_rules.default_flow() else {
            return Err(self.failure("the session has no default QoS rule"));
        };
        if accept.qos_flows.is_none() && !NON_GUARANTEED.contains(&flow) {
            return Err(self.failure("the session's default flow is not described"));
        }
        if accept.ambr.downlink_kbps == 0 || accept.ambr.uplink_kbps == 0 {
            return Err(self.failure("the session has no rate"));
        }
        if accept
            .dnn
            .as_deref()
            .is_some_and(|dnn| dnn != self.config.dnn)
        {
            return Err(self.failure("the session is to another data network"));
        }
        self.sessions = self.sessions.with(the_session());
        self.satisfied(now);
        Ok(())
    }

    fn modified(
        &mut self,
        now: Instant,
        command: &PduSessionModificationCommand,
    ) -> Result<(), Failure> {
        self.check(command.header, Step::Modification)?;
        let header = command.header;
        self.send_session(header, PduSessionModificationComplete { header })?;
        if self.step() == Some(Step::Modification) {
            self.satisfied(now);
        }
        Ok(())
    }

    /// The message is about the UE's session, and answers what the UE asked, or nothing (PTI 0).
    fn check(&self, header: SmHeader, step: Step) -> Result<(), Failure> {
        if header.session != the_session() {
            return Err(self.failure("a message about a session that the UE does not have"));
        }
        let asked = self.step() == Some(step);
        if header.pti != if asked { self.pti } else { 0 } {
            return Err(self.failure(format!("transaction {} is not the UE's", header.pti)));
        }
        Ok(())
    }

    fn next_transaction(&mut self) -> SmHeader {
        // 1 to 254 (TS 24.007 clause 11.2.3.1a).
        self.pti = self.pti % 254 + 1;
        SmHeader {
            session: the_session(),
            pti: self.pti,
        }
    }

    fn send_session(
        &mut self,
        header: SmHeader,
        message: impl Into<NasMessage>,
    ) -> Result<(), Failure> {
        let transport = UplinkNasTransport {
            payload: self.octets(message)?,
            session: Some(header.session),
            request: None,
            snssai: None,
            dnn: None,
        };
        self.send(transport)
    }

    fn octets(&self, message: impl Into<NasMessage>) -> Result<Vec<u8>, Failure> {
        message
            .into()
            .encode()
            .map_err(|error| self.failure(error.to_string()))
    }
}
