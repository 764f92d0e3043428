//! A UE's mobility management: registration, authentication, security mode, service, deregistration.

use std::time::Instant;

use super::{Current, Failure, Step, Ue, Want};
use corewire_core5g_aka::{Abba, UsimRefusal};
use corewire_core5g_nas::{
    AuthenticationFailure, AuthenticationRequest, AuthenticationResponse,
    ConfigurationUpdateCommand, ConfigurationUpdateComplete, DeregistrationAcceptFromUe,
    DeregistrationRequestFromUe, IdentityKind, IdentityResponse, MmCause, MobileIdentity,
    NasMessage, NasSecurityContext, PduSessionSet, RegistrationAccept, RegistrationComplete,
    RegistrationKind, RegistrationRequest, STmsi, SecurityModeCommand, SecurityModeComplete,
    SecurityModeReject, ServiceAccept, ServiceKind, ServiceRequest, Side,
};
use corewire_core5g_ngap::EstablishmentCause;

impl Ue {
    /// Registration (TS 24.501 clause 5.5.1).
    pub(super) fn register(&mut self, step: Step) -> Result<(), Failure> {
        let by_guti = step != Step::Registration;
        let identity = match (by_guti, self.guti) {
            (true, Some(guti)) => MobileIdentity::Guti(guti),
            (true, None) => return Err(self.failure("the UE has no GUTI to register by")),
            (false, _) => {
                self.forget();
                MobileIdentity::Suci(self.suci()?)
            }
        };
        let periodic = step == Step::Periodic;
        if !periodic {
            self.sessions = PduSessionSet::default();
        }
        let request = RegistrationRequest {
            kind: if periodic {
                RegistrationKind::Periodic
            } else {
                RegistrationKind::Initial
            },
            follow_on: true,
            ksi: self.security.as_ref().map(|security| security.ksi()),
            identity,
            capability: Some(self.capability.clone()),
            requested_nssai: if periodic {
                Vec::new()
            } else {
                vec![self.config.snssai]
            },
            last_tai: None,
            uplink_data: None,
            sessions: periodic.then_some(self.sessions),
            container: None,
        };
        if by_guti && self.security.is_some() {
            return if self.connected {
                self.send(request)
            } else {
                self.send_initial(request.into(), EstablishmentCause::Signalling)
            };
        }
        // Without keys only what may be read by all goes out (TS 24.501 clause 4.4.6).
        let clear = RegistrationRequest {
            requested_nssai: Vec::new(),
            ..request.clone()
        };
        let nas = NasMessage::from(clear)
            .encode()
            .map_err(|error| self.failure(error.to_string()))?;
        self.request = Some(request.into());
        self.wants.push_back(if self.connected {
            Want::Send(nas)
        } else {
            Want::Connect {
                nas,
                cause: EstablishmentCause::Signalling,
                s_tmsi: None,
            }
        });
        Ok(())
    }

    fn forget(&mut self) {
        self.security = None;
        self.fresh = None;
        self.guti = None;
        self.registered = false;
    }

    /// Service request (TS 24.501 clause 5.6.1).
    pub(super) fn request_service(&mut self, kind: ServiceKind) -> Result<(), Failure> {
        let Some(guti) = self.guti.filter(|_| self.registered) else {
            return Err(self.failure("a service request of a UE that is not registered"));
        };
        let request = ServiceRequest {
            ksi: self.security.as_ref().map(|security| security.ksi()),
            kind,
            s_tmsi: STmsi::of(guti),
            uplink_data: (kind == ServiceKind::Data).then_some(self.sessions),
            sessions: Some(self.sessions),
            container: None,
        };
        let cause = match kind {
            ServiceKind::MobileTerminated => EstablishmentCause::MobileTerminated,
            ServiceKind::Signalling => EstablishmentCause::Signalling,
            ServiceKind::Data => EstablishmentCause::Data,
        };
        self.send_initial(request.into(), cause)
    }

    /// Deregistration by the UE (TS 24.501 clause 5.5.2.2).
    pub(super) fn deregister(&mut self, switch_off: bool) -> Result<(), Failure> {
        let Some(guti) = self.guti.filter(|_| self.registered) else {
            return Err(self.failure("a deregistration of a UE that is not registered"));
        };
        self.registered = false;
        self.sessions = PduSessionSet::default();
        self.send(DeregistrationRequestFromUe {
            switch_off,
            ksi: self.security.as_ref().map(|security| security.ksi()),
            identity: MobileIdentity::Guti(guti),
        })
    }

    pub(super) fn mobility_message(
        &mut self,
        now: Instant,
        message: NasMessage,
    ) -> Result<(), Failure> {
        match message {
            NasMessage::AuthenticationRequest(request) => self.authenticate(&request),
            NasMessage::IdentityRequest(request) if request.kind == IdentityKind::Suci => {
                let identity = MobileIdentity::Suci(self.suci()?);
                self.answer(IdentityResponse { identity })
            }
            NasMessage::SecurityModeCommand(command) => self.complete_security_mode(&command),
            NasMessage::RegistrationAccept(accept) => self.registered(now, &accept),
            NasMessage::ServiceAccept(accept) => self.served(now, &accept),
            NasMessage::DeregistrationAcceptToUe(_) if self.step() == Some(Step::Detach) => {
                self.satisfied(now);
                Ok(())
            }
            NasMessage::DeregistrationRequestToUe(_) => {
                self.registered = false;
                self.sessions = PduSessionSet::default();
                self.send(DeregistrationAcceptFromUe)
            }
            NasMessage::ConfigurationUpdateCommand(command) => self.reconfigure(&command),
            NasMessage::RegistrationReject(reject) => {
                Err(self.failure(format!("registration was rejected: {}", reject.cause)))
            }
            NasMessage::ServiceReject(reject) => {
                Err(self.failure(format!("service was rejected: {}", reject.cause)))
            }
            NasMessage::AuthenticationReject(_) => Err(self.failure("authentication was rejected")),
            NasMessage::MmStatus(status) => {
                Err(self.failure(format!("the network complains: {}", status.cause)))
            }
            other => Err(self.failure(format!("{} makes no sense now", other.name()))),
        }
    }

    /// Authentication (TS 24.501 clause 5.4.1.3).
    fn authenticate(&mut self, request: &AuthenticationRequest) -> Result<(), Failure> {
        let network = self.serving_network();
        match self.usim.answer(&request.rand, &request.autn, &network) {
            Ok(answer) => {
                if request.abba != Abba::default() {
                    return Err(self.failure("an ABBA that is not of this release"));
                }
                let kamf = answer.kausf.kseaf(&network).kamf(&self.supi, &request.abba);
                self.fresh = Some((kamf, request.ksi));
                self.answer(AuthenticationResponse {
                    res_star: answer.res_star,
                })
            }
            Err(refusal) => {
                let (cause, auts) = match &refusal {
                    UsimRefusal::Mac => (MmCause::MAC_FAILURE, None),
                    UsimRefusal::SeparationBit => (MmCause::NON_5G_AUTHENTICATION, None),
                    UsimRefusal::Synch(auts) => (MmCause::SYNCH_FAILURE, Some(auts.clone())),
                };
                let expected = auts.is_some() && self.config.resynchronise;
                self.answer(AuthenticationFailure { cause, auts })?;
                if expected {
                    Ok(())
                } else {
                    Err(self.failure(refusal.to_string()))
                }
            }
        }
    }

    /// Reads SECURITY MODE COMMAND, which says itself which algorithms it is protected with.
    pub(super) fn read_security_mode(&mut self, octets: &[u8]) -> Result<NasMessage, Failure> {
        let unverified = NasMessage::decode_unverified(octets)
            .map_err(|error| self.failure(error.to_string()))?;
        let NasMessage::SecurityModeCommand(command) = &unverified else {
            let name = unverified.name();
            return Err(self.failure(format!("{name} starts no security context")));
        };
        let (kamf, ksi) = match (&self.fresh, &self.security) {
            (Some((kamf, ksi)), _) => (kamf.clone(), *ksi),
            _ => return Err(self.failure("a security mode without an authentication")),
        };
        if command.ksi != ksi {
            return Err(self.failure("the key set is another than the authentication's"));
        }
        let mut security = NasSecurityContext::new(kamf, ksi, command.algorithms, Side::Ue)
            .map_err(|error| self.failure(error.to_string()))?;
        let message = security
            .unprotect(octets)
            .map_err(|error| self.failure(format!("SecurityModeCommand: {error}")))?
            .message;
        self.security = Some(security);
        self.fresh = None;
        Ok(message)
    }

    /// Security mode (TS 24.501 clause 5.4.2).
    fn complete_security_mode(&mut self, command: &SecurityModeCommand) -> Result<(), Failure> {
        /// The equipment of a simulated UE.
        const IMEISV: &str = "4370816125816151";
        if command.replayed != self.capability {
            // Somebody on the way wants weaker algorithms.
            let cause = MmCause::SECURITY_CAPABILITIES_MISMATCH;
            self.send_in_clear(&SecurityModeReject { cause }.into())?;
            return Err(self.failure("the replayed security capabilities are not the UE's"));
        }
        let whole = match &self.request {
            Some(request) => Some(
                request
                    .encode()
                    .map_err(|error| self.failure(error.to_string()))?,
            ),
            None => None,
        };
        self.access_count = self
            .security
            .as_ref()
            .and_then(NasSecurityContext::uplink_count)
            .unwrap_or_default();
        self.send(SecurityModeComplete {
            imeisv: command.imeisv_requested.then(|| IMEISV.to_owned()),
            container: whole,
        })
    }

    fn registered(&mut self, now: Instant, accept: &RegistrationAccept) -> Result<(), Failure> {
        let registering = matches!(
            self.step(),
            Some(Step::Registration | Step::Reregistration | Step::Periodic)
        );
        if !registering {
            return Err(self.failure("a registration that nobody asked for was accepted"));
        }
        if accept.allowed_nssai.is_empty() && self.step() != Some(Step::Periodic) {
            return Err(self.failure("RegistrationAccept allows no slice"));
        }
        if accept.tai_list.is_empty() && self.step() != Some(Step::Periodic) {
            return Err(self.failure("RegistrationAccept has no tracking area"));
        }
        self.registered = true;
        self.request = None;
        if let Some(sessions) = accept.sessions {
            self.sessions = PduSessionSet(self.sessions.0 & sessions.0);
        }
        match accept.guti {
            Some(guti) => {
                self.guti = Some(guti);
                self.send(RegistrationComplete)?;
            }
            None if self.guti.is_none() => {
                return Err(self.failure("RegistrationAccept has no GUTI for a UE without one"));
            }
            None => {}
        }
        self.satisfied(now);
        Ok(())
    }

    fn served(&mut self, now: Instant, accept: &ServiceAccept) -> Result<(), Failure> {
        if let Some(sessions) = accept.sessions
            && sessions.0 & self.sessions.0 != self.sessions.0
        {
            return Err(self.failure("the network lost a session of an idle UE"));
        }
        if accept
            .reactivation_failed
            .is_some_and(|failed| failed.0 != 0)
        {
            return Err(self.failure("the user plane of a session was not established again"));
        }
        self.request = None;
        if let Some(Current {
            step: Step::Service,
            ..
        }) = self.current
        {
            self.satisfied(now);
        }
        Ok(())
    }

    fn reconfigure(&mut self, command: &ConfigurationUpdateCommand) -> Result<(), Failure> {
        if let Some(guti) = command.guti {
            self.guti = Some(guti);
        }
        if command.acknowledge {
            self.send(ConfigurationUpdateComplete)
        } else {
            Ok(())
        }
    }

    /// Answers as the network asked: protected, or before there are keys not.
    fn answer(&mut self, message: impl Into<NasMessage>) -> Result<(), Failure> {
        if self.in_clear {
            self.send_in_clear(&message.into())
        } else {
            self.send(message)
        }
    }

    fn send_in_clear(&mut self, message: &NasMessage) -> Result<(), Failure> {
        let octets = message
            .encode()
            .map_err(|error| self.failure(error.to_string()))?;
        self.wants.push_back(Want::Send(octets));
        Ok(())
    }
}
