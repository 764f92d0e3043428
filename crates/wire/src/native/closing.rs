//! How calls and the connection end.

use super::connection::{Connection, Role};
use super::fault::Violation;
use crate::Fault;
use corewire_message::{CallError, Code, ErrorKind, Origin};

impl super::calls::Call {
    /// Client: whether the service may have seen enough of it to execute it.
    pub(super) const fn may_have_executed(&self) -> bool {
        self.requested
    }
}

impl Connection {
    /// Forgets a call: its queued messages, its timer, what it holds of the peer's credit.
    pub(super) fn end(&mut self, slot: u32) {
        self.unschedule(slot);
        self.release(slot);
        let held = self.held_by(slot);
        let call = self.calls.get_mut(slot);
        self.waiting -= call.waiting;
        if let Some(deadline) = call.deadline.take() {
            self.deadlines.remove(deadline);
        }
        self.calls.remove(slot);
        self.give_back(held);
    }

    /// Nothing that came for a call is of use any more.
    pub(super) fn release(&mut self, slot: u32) {
        let (headers, body) = std::mem::take(&mut self.calls.get_mut(slot).held);
        self.memory.release(headers, body);
    }

    /// The connection ends because of a fault; the peer is told unless it told us.
    pub(super) fn fail(&mut self, violation: Violation) -> Fault {
        let fault = Fault {
            what: violation.text(),
            offset: self.offset,
        };
        if violation != Violation::ClosedByPeer {
            let reason = format!("{violation} (octet {})", self.offset);
            self.control.close(&reason);
        }
        self.wants = 0;
        self.fault = Some(fault.clone());
        fault
    }

    /// The connection is gone: every call in flight ends.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.fail_all();
        self.control.clear();
        self.partial_events.clear();
    }

    /// Ends every call in flight, as what became of it is known.
    pub(super) fn fail_all(&mut self) {
        let slots: Vec<u32> = self.calls.occupied().collect();
        for slot in slots {
            match self.role {
                Role::Server(_) => self.cancelled(slot, Code::Unavailable),
                Role::Client => {
                    let error = self.lost(self.calls.get(slot).may_have_executed());
                    self.failed(slot, error);
                }
            }
        }
    }

    fn lost(&self, may_have_executed: bool) -> CallError {
        let kind = if may_have_executed {
            ErrorKind::FateUnknown
        } else {
            ErrorKind::NotSent
        };
        let error =
            |context: String| CallError::new(kind, Origin::Transport, may_have_executed, context);
        match (&self.close_reason, &self.fault) {
            (Some(reason), _) => error(format!("the peer closed the connection: {reason}")),
            (None, Some(fault)) => {
                error("the connection was given up".into()).with_source(fault.clone())
            }
            (None, None) => error("the connection was lost".into()),
        }
    }

    pub(super) fn start_draining(&mut self) {
        if std::mem::replace(&mut self.draining, true) {
            return;
        }
        if matches!(self.role, Role::Server(_)) && self.fault.is_none() {
            self.control.drain(self.number);
        }
    }
}
