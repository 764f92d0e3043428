//! What every procedure with a UE does: send, wait for the answer, send again, give up.

use super::{an_release, restoration};
use crate::context::network::{NAS_ATTEMPTS, NAS_TIMER};
use crate::context::ue::{Ended, Event, Ue, Uplink};
use corewire_core5g_nas::NasMessage;
use corewire_core5g_ngap::NgapMessage;
use std::time::Instant;

impl Ue {
    /// Sends a message and waits for its answer; sends it again when the UE is silent.
    ///
    /// # Errors
    /// When there is no answer, or something else comes first.
    pub(crate) async fn ask<T>(
        &mut self,
        message: impl Into<NasMessage>,
        mut pick: impl FnMut(Uplink) -> Result<T, Box<Uplink>>,
    ) -> Result<T, Ended> {
        let message = message.into();
        for _ in 0..NAS_ATTEMPTS {
            self.reserve_counts().await;
            self.send(message.clone());
            let until = self.amf.clock.now() + NAS_TIMER;
            loop {
                match self.next_nas(until).await {
                    Err(Ended::Silent) => break,
                    Err(ended) => return Err(ended),
                    Ok(uplink) => match pick(uplink) {
                        Ok(answer) => return Ok(answer),
                        // Not an answer: the UE began something else, or repeats itself.
                        Err(other) => self.defer_message(*other),
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
    async fn next_nas(&mut self, until: Instant) -> Result<Uplink, Ended> {
        loop {
            let octets = self
                .wait(until, |event| match event {
                    Event::Nas(_, octets) => Ok(octets),
                    other => Err(other),
                })
                .await?;
            match self.read(&octets) {
                Ok(uplink) => return Ok(uplink),
                Err(error) => self.send_5gmm_status(&error),
            }
        }
    }

    /// Waits for an event of a kind; others wait until the procedure has ended.
    ///
    /// # Errors
    /// When none comes by then, or the connection ends.
    pub(crate) async fn wait<T>(
        &mut self,
        until: Instant,
        mut pick: impl FnMut(Event) -> Result<T, Event>,
    ) -> Result<T, Ended> {
        loop {
            self.reserve_counts().await;
            let Some(event) = self.next_event(until).await else {
                return Err(Ended::Silent);
            };
            let Some(event) = self.admit(event) else {
                continue;
            };
            match pick(event) {
                Ok(picked) => return Ok(picked),
                Err(Event::Lost(connection)) if self.is_by(connection) => {
                    an_release::lost(self, connection);
                    return Err(Ended::Lost);
                }
                Err(Event::Arrived(link, uplink)) => {
                    self.deferred.push_back(Event::Arrived(link, uplink));
                    return Err(Ended::Superseded);
                }
                Err(Event::Ngap(by, message)) if is_release_request(&message) => {
                    self.deferred.push_back(Event::Ngap(by, message));
                    return Err(Ended::Lost);
                }
                Err(other) => self.defer(other),
            }
        }
    }

    /// The next event; `None` when there is none by then.
    async fn next_event(&self, until: Instant) -> Option<Event> {
        let slot = &self.slot;
        if let Some(event) = slot.mailbox.try_next() {
            return Some(event);
        }
        let timeout = self.amf.clock.sleep_until(slot.event_loop, until);
        slot.mailbox.next(timeout).await
    }

    /// Lets in what is about this UE. A connection that brings this UE's temporary identity must show
    /// that it is the UE's: by a message under its keys, not received before. Until then nothing that
    /// comes by it is the UE's, and nothing is ended for it (TS 33.501, 6.4.3; TS 38.413, 10.6).
    pub(crate) fn admit(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Initial(link, octets) => match self.verified(&octets) {
                Some(uplink) => Some(Event::Arrived(link, Box::new(uplink))),
                None => {
                    restoration::reroute(&self.amf, &link, octets);
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

    /// A message that does not belong to the procedure in progress waits for its end. What the UE
    /// repeats because it was not answered in time says nothing new.
    pub(crate) fn defer_message(&mut self, uplink: Uplink) {
        let begins_something = matches!(
            uplink.message,
            NasMessage::UplinkNasTransport(_) | NasMessage::DeregistrationRequestFromUe(_)
        );
        // Not what anybody could have sent: it would be kept for a UE that has not shown who it is.
        if begins_something && uplink.count.is_some() {
            self.defer(Event::Read(Box::new(uplink)));
        }
    }
}

/// Whether a gNB asks for the release of a UE's connection.
pub(crate) const fn is_release_request(message: &NgapMessage) -> bool {
    matches!(message, NgapMessage::UeContextReleaseRequest(_))
}
