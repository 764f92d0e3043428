//! A UE's NAS messages, read and written under its keys.

use super::ue::{Ue, Uplink};
use corewire_core5g_nas::{Envelope, MmStatus, NasError, NasMessage, NasSecurityContext};

impl Ue {
    /// The message, when it is under the context that is here.
    pub(crate) fn verified(&mut self, octets: &[u8]) -> Option<Uplink> {
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

    /// Reads a NAS message: one under a security header must be right, others are taken as what they
    /// are (TS 24.501, 4.4.4.3).
    ///
    /// # Errors
    /// The message cannot be acted on: [`send_5gmm_status`](Self::send_5gmm_status) answers it.
    pub(crate) fn read(&mut self, octets: &[u8]) -> Result<Uplink, NasError> {
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
    pub(crate) fn send(&mut self, message: impl Into<NasMessage>) {
        if let Some(octets) = self.protect(&message.into()) {
            self.send_octets(octets);
        }
    }

    /// Sends a NAS message in clear: the UE shares no context with the network.
    pub(crate) fn send_plain(&self, message: impl Into<NasMessage>) {
        if let Ok(octets) = message.into().encode() {
            self.send_octets(octets);
        }
    }

    /// The octets of a NAS message, protected as soon as there is a security context. Nothing is
    /// protected with a count that the store does not know to be used.
    pub(crate) fn protect(&mut self, message: &NasMessage) -> Option<Vec<u8>> {
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

    /// Sends octets that are protected already.
    pub(crate) fn send_octets(&self, octets: Vec<u8>) {
        if let Some(link) = &self.link {
            link.send_nas(octets);
        }
    }

    /// Answers a message that cannot be acted on by 5GMM STATUS, or not at all, as TS 24.501, 7 says.
    pub(crate) fn send_5gmm_status(&mut self, error: &NasError) {
        if let Some(cause) = error.mm_cause() {
            self.send(MmStatus { cause });
        }
    }

    /// The next downlink NAS COUNT; none without keys, or when all were used.
    pub(crate) fn downlink_count(&self) -> Option<u32> {
        self.security
            .as_ref()
            .and_then(NasSecurityContext::downlink_count)
    }

    /// The uplink NAS COUNT that is expected next; none without keys, or when all were used.
    pub(crate) fn uplink_count(&self) -> Option<u32> {
        self.security
            .as_ref()
            .and_then(NasSecurityContext::uplink_count)
    }

    /// Downlink counts that may be used: as many as there are while nothing is stored that another
    /// AMF could restore.
    pub(crate) fn counts_left(&self) -> u32 {
        match (self.stored, self.downlink_count()) {
            (Some(stored), Some(next)) => stored.downlink.saturating_sub(next),
            _ => u32::MAX,
        }
    }
}
