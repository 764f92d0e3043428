//! How a message gets from its sender to the kernel, or waits: what each carrier needs, and what is done
//! when the connection is lost meanwhile.

use super::{CONNECT_WAIT, LARGE_FRAME, Link, Out, PACE, UNREACHABLE};
use crate::carrier::{Carrier, CarrierKind};
use crate::flush::Advice;
use crate::outgoing::MOST_WAITING;
use crate::ready::Ready;
use crate::send_timeout::SendTimeout;
use crate::state::{self, Refused};
use corewire_driver::clock;
use corewire_rmr::DropKind;
use corewire_wire::rmr::record::MAX_TRACE;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a pause as long as this the connection is looked at before it is written to.
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// A sender that waits for room looks at least as often.
const ROOM_WAIT: Duration = Duration::from_millis(1);
/// A sender waits for a peer that reads nothing as long when the kernel has the beginning of its message,
/// which cannot be taken back.
const STALLED: Duration = Duration::from_secs(1);

impl Link {
    pub(super) fn try_send(
        self: &Arc<Self>,
        out: &mut Out,
        message: &Ready<'_>,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        if let CarrierKind::Nng { .. } = self.kind {
            return self.send_by_nng(out, message, timeout);
        }
        let mut now = clock();
        let unused = now.saturating_duration_since(out.used);
        out.used = now;
        if unused >= LOOK_AFTER {
            self.look(out);
        }
        self.connected(out, CONNECT_WAIT)?;
        if self.kind.has_records() && message.parts.trace.len() > MAX_TRACE {
            return Err(Refused::new(state::OVERFLOW, libc::EMSGSIZE));
        }
        let frame = message.frame();
        if !self.gathers {
            return self.hand_over(out, frame, now, timeout);
        }
        let length = frame.len();
        if !out.waiting.is_empty() && out.waiting.waiting() + length > MOST_WAITING {
            self.make_room(out, length, timeout)?;
            now = clock();
        }
        let mut pace = PACE.get();
        let waiting = out.waiting.waiting() + length;
        let mut advice = out.policy.accepted(&mut pace, now, waiting);
        if length >= LARGE_FRAME {
            advice = Advice::Write;
            // Perhaps all that waits goes: then the frame need not be copied.
            self.flush(out, 0, CONNECT_WAIT)?;
        }
        let passes = advice == Advice::Write && out.waiting.is_empty();
        if passes && !self.kind.has_records() {
            self.write_through(out, frame)?;
        } else {
            let carrier = out.carrier.as_mut().ok_or(UNREACHABLE)?;
            carrier.push(&mut out.waiting, message);
        }
        if advice == Advice::Write {
            if !out.waiting.is_empty() {
                self.flush(out, 1, CONNECT_WAIT)?;
            }
            pace.wrote(now, clock());
        } else {
            pace.gathered(now);
        }
        PACE.set(pace);
        if out.waiting.is_empty() {
            out.policy.written();
        } else {
            self.arm(out);
        }
        Ok(())
    }

    /// Gives a frame to the kernel, which delivers it whatever becomes of this process. In a rush the
    /// kernel gathers, too.
    fn hand_over(
        self: &Arc<Self>,
        out: &mut Out,
        frame: &[u8],
        now: Instant,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        if !out.waiting.is_empty() {
            self.make_room(out, MOST_WAITING, timeout)?;
        }
        let mut pace = PACE.get();
        let kept = out.carrier.as_ref().map_or(0, Carrier::kept);
        let advice = out.policy.accepted(&mut pace, now, kept + frame.len());
        let gathers = advice == Advice::Gather && frame.len() < LARGE_FRAME;
        let is_kept = match self.write_all(out, frame, gathers, timeout) {
            Ok(is_kept) => is_kept,
            Err(refused) => {
                if out.is_idle() {
                    out.policy.written();
                }
                return Err(refused);
            }
        };
        if is_kept {
            pace.gathered(now);
            self.arm(out);
        } else {
            out.policy.written();
            pace.wrote(now, clock());
        }
        PACE.set(pace);
        Ok(())
    }

    /// Writes a frame as a whole, waiting for room; whether the kernel keeps it until more comes.
    fn write_all(
        self: &Arc<Self>,
        out: &mut Out,
        frame: &[u8],
        gathers: bool,
        timeout: SendTimeout,
    ) -> Result<bool, Refused> {
        let (mut end, mut attempts) = (None, 0);
        loop {
            self.connected(out, CONNECT_WAIT)?;
            let Some(Carrier::Si95(si95)) = &mut out.carrier else {
                return Err(UNREACHABLE);
            };
            match si95.hand_over(frame, gathers) {
                Ok(count) if count == frame.len() => {
                    out.waiting.passed();
                    return Ok(gathers);
                }
                Ok(count) => {
                    out.waiting.push(frame, count);
                    self.write_rest(out)?;
                    return Ok(false);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let now = clock();
                    let end = *end.get_or_insert(now + timeout.0);
                    if now >= end || self.shared.is_closed() {
                        return Err(Refused::new(state::RETRY, libc::EAGAIN));
                    }
                    out.wait_for_peer(end.min(now + ROOM_WAIT));
                }
                // The connection is gone; over a new one it may go.
                Err(error) => self.lost_again(out, &error, &mut attempts)?,
            }
        }
    }

    /// Writes the rest of a frame of which the kernel has the beginning, for as long as its peer reads.
    /// After that it waits here, and goes with whoever sends next, or by the flusher.
    fn write_rest(self: &Arc<Self>, out: &mut Out) -> Result<(), Refused> {
        let (mut left, mut end) = (usize::MAX, clock());
        while !self.flush(out, 1, CONNECT_WAIT)? {
            let now = clock();
            let waiting = out.waiting.waiting();
            if std::mem::replace(&mut left, waiting) != waiting {
                end = now + STALLED;
            }
            if now >= end || self.shared.is_closed() {
                self.arm(out);
                break;
            }
            out.wait_for_peer(end.min(now + ROOM_WAIT));
        }
        Ok(())
    }

    fn send_by_nng(
        self: &Arc<Self>,
        out: &mut Out,
        message: &Ready<'_>,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        if self.shared.is_closed() {
            return Err(UNREACHABLE);
        }
        self.connected(out, CONNECT_WAIT)?;
        let Some(Carrier::Nng(nng)) = &mut out.carrier else {
            return Err(UNREACHABLE);
        };
        nng.send(message.rmr_frame(), timeout)?;
        out.waiting.passed();
        Ok(())
    }

    /// The connection is lost, and the frame may go over a new one, once.
    fn lost_again(
        &self,
        out: &mut Out,
        error: &io::Error,
        attempts: &mut u32,
    ) -> Result<(), Refused> {
        self.lose(out, error);
        *attempts += 1;
        if *attempts > 1 {
            return Err(Refused::new(state::SEND_FAILED, crate::errno::of(error)));
        }
        Ok(())
    }

    /// Has the flusher look after what waits.
    pub(super) fn arm(self: &Arc<Self>, out: &mut Out) {
        if !out.armed {
            out.armed = true;
            self.shared.flusher.arm(Arc::clone(self));
        }
    }

    /// Writes a frame that nothing waits in front of; what the kernel does not take waits.
    fn write_through(self: &Arc<Self>, out: &mut Out, frame: &[u8]) -> Result<(), Refused> {
        let mut attempts = 0;
        loop {
            self.connected(out, CONNECT_WAIT)?;
            let Some(Carrier::Si95(si95)) = &out.carrier else {
                return Err(UNREACHABLE);
            };
            match si95.send(frame) {
                Ok(count) if count == frame.len() => {
                    out.waiting.passed();
                    return Ok(());
                }
                Ok(count) => {
                    out.waiting.push(frame, count);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    out.waiting.push(frame, 0);
                    return Ok(());
                }
                // The connection is gone; over a new one it may go.
                Err(error) => self.lost_again(out, &error, &mut attempts)?,
            }
        }
    }

    /// Writes what waits. When the connection is lost and no new one can be made within `wait`, what
    /// waits is given up and reported, except for the last `told` frames, whose sender learns it
    /// now.
    pub(super) fn flush(
        self: &Arc<Self>,
        out: &mut Out,
        told: u64,
        wait: Duration,
    ) -> Result<bool, Refused> {
        let mut attempts = 0;
        loop {
            if let Err(refused) = self.connected(out, wait) {
                self.give_up(out, DropKind::ConnectionLost, refused.errno, told);
                return Err(refused);
            }
            let carrier = out.carrier.as_mut().ok_or(UNREACHABLE)?;
            let written = carrier.flush(&mut out.waiting);
            match written {
                Ok(all) => {
                    if all {
                        out.policy.written();
                    }
                    return Ok(all);
                }
                Err(error) => {
                    if let Err(refused) = self.lost_again(out, &error, &mut attempts) {
                        self.give_up(out, DropKind::ConnectionLost, refused.errno, told);
                        return Err(refused);
                    }
                }
            }
        }
    }

    /// Waits until there is room for `length` octets more.
    fn make_room(
        self: &Arc<Self>,
        out: &mut Out,
        length: usize,
        timeout: SendTimeout,
    ) -> Result<(), Refused> {
        let end = clock() + timeout.0;
        loop {
            self.flush(out, 0, CONNECT_WAIT)?;
            if out.waiting.is_empty() || out.waiting.waiting() + length <= MOST_WAITING {
                return Ok(());
            }
            let now = clock();
            if now >= end || self.shared.is_closed() {
                return Err(Refused::new(state::RETRY, libc::EAGAIN));
            }
            out.wait_for_peer(end.min(now + ROOM_WAIT));
        }
    }
}
