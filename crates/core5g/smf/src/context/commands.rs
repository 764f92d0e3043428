//! Commands that wait for the UE's answer, by T3591 and T3592 (TS 24.501, table 10.3.2): time is an argument.

use super::reference::SmContextRef;
use bytes::Bytes;
use corewire_core5g_runtime::due::Due;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// T3591 and T3592.
const TIMER: Duration = Duration::from_secs(16);
/// How often a command is sent before the procedure is given up (6.3.2.5 and 6.3.3.5).
const ATTEMPTS: u32 = 5;

/// What a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// PDU SESSION ESTABLISHMENT ACCEPT of an earlier process: what the gNB then says is waited for.
    Establishment,
    /// PDU SESSION MODIFICATION COMMAND: T3591.
    Modification,
    /// PDU SESSION RELEASE COMMAND: T3592.
    Release,
}

/// What is to be done of a command that was not answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// It is sent again.
    Again(Bytes),
    /// It is not.
    GivenUp(Kind),
}

struct Command {
    kind: Kind,
    /// Its transaction; that of an earlier process's is not known.
    pti: Option<u8>,
    message: Bytes,
    sent: u32,
    until: Instant,
}

/// The last command of each session that is not answered yet.
#[derive(Default)]
pub(crate) struct Commands {
    waiting: Mutex<HashMap<SmContextRef, Command>>,
    due: Due<SmContextRef>,
}

impl Commands {
    /// A command is sent; it takes the place of an earlier one of its session.
    pub(crate) fn sent(
        &self,
        now: Instant,
        session: SmContextRef,
        kind: Kind,
        pti: u8,
        message: Bytes,
    ) {
        let until = now + TIMER;
        let command = Command {
            kind,
            pti: Some(pti),
            message,
            sent: 1,
            until,
        };
        self.insert(session, command);
    }

    /// An earlier process has sent a command, or was about to: its answer is waited for once more.
    pub(crate) fn left(&self, now: Instant, session: SmContextRef, kind: Kind) {
        let command = Command {
            kind,
            pti: None,
            message: Bytes::new(),
            sent: ATTEMPTS,
            until: now + TIMER,
        };
        self.insert(session, command);
    }

    fn insert(&self, session: SmContextRef, command: Command) {
        self.due.push(command.until, session);
        self.lock().insert(session, command);
    }

    /// The UE answers; says whether a command of this kind and transaction waited for that.
    pub(crate) fn answered(&self, session: SmContextRef, kind: Kind, pti: u8) -> bool {
        let mut waiting = self.lock();
        let fits =
            |command: &Command| command.kind == kind && command.pti.is_none_or(|own| own == pti);
        let is_answer = waiting.get(&session).is_some_and(fits);
        if is_answer {
            waiting.remove(&session);
        }
        is_answer
    }

    /// Whether a command of this session waits for its answer.
    pub(crate) fn waits(&self, session: SmContextRef) -> bool {
        self.lock().contains_key(&session)
    }

    /// The UE could not take the command of this transaction: it is not sent again.
    pub(crate) fn refused(&self, session: SmContextRef, pti: u8) {
        let mut waiting = self.lock();
        let is_it = |command: &Command| command.pti == Some(pti);
        if waiting.get(&session).is_some_and(is_it) {
            waiting.remove(&session);
        }
    }

    /// The session has ended: nothing answers its command any more.
    pub(crate) fn forget(&self, session: SmContextRef) {
        self.lock().remove(&session);
    }

    /// The commands that were not answered in time.
    pub(crate) fn handle_timeout(&self, now: Instant) -> Vec<(SmContextRef, Expiry)> {
        let mut expired = Vec::new();
        for session in self.due.handle_timeout(now) {
            let mut waiting = self.lock();
            // Answered meanwhile, or sent anew: that has a time of its own.
            let Some(command) = waiting.get_mut(&session).filter(|c| c.until <= now) else {
                continue;
            };
            if command.sent == ATTEMPTS {
                expired.push((session, Expiry::GivenUp(command.kind)));
                waiting.remove(&session);
                continue;
            }
            command.sent += 1;
            command.until = now + TIMER;
            expired.push((session, Expiry::Again(command.message.clone())));
            self.due.push(command.until, session);
        }
        expired
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SmContextRef, Command>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_sent_five_times_unless_its_own_answer_comes() {
        let commands = Commands::default();
        let [one, two] = [1, 2]
            .map(|number| SmContextRef::new("127.0.0.1:7000".parse().expect("an address"), number));
        let mut now = Instant::now();
        commands.sent(now, one, Kind::Release, 2, Bytes::from_static(b"release"));
        commands.sent(
            now,
            two,
            Kind::Modification,
            3,
            Bytes::from_static(b"modify"),
        );
        assert!(!commands.answered(two, Kind::Release, 3));
        assert!(!commands.answered(two, Kind::Modification, 2));
        assert!(commands.answered(two, Kind::Modification, 3));
        assert!(!commands.answered(two, Kind::Modification, 3), "twice");
        for _ in 0..4 {
            assert_eq!(commands.handle_timeout(now + TIMER / 2), []);
            now += TIMER;
            let again = Expiry::Again(Bytes::from_static(b"release"));
            assert_eq!(commands.handle_timeout(now), [(one, again)]);
        }
        now += TIMER;
        let given_up = Expiry::GivenUp(Kind::Release);
        assert_eq!(commands.handle_timeout(now), [(one, given_up)]);
        assert_eq!(commands.handle_timeout(now + 10 * TIMER), []);
    }

    #[test]
    fn what_an_earlier_process_has_sent_is_answered_by_any_transaction_or_given_up() {
        let commands = Commands::default();
        let maker = "127.0.0.1:7000".parse().expect("an address");
        let [one, two] = [1, 2].map(|number| SmContextRef::new(maker, number));
        let now = Instant::now();
        commands.left(now, one, Kind::Release);
        commands.left(now, two, Kind::Establishment);
        assert!(!commands.answered(one, Kind::Modification, 7));
        assert!(commands.answered(one, Kind::Release, 7));
        let given_up = Expiry::GivenUp(Kind::Establishment);
        assert_eq!(commands.handle_timeout(now + TIMER), [(two, given_up)]);
    }

    #[test]
    fn a_command_that_is_sent_anew_waits_from_then_on() {
        let commands = Commands::default();
        let session = SmContextRef::new("127.0.0.1:7000".parse().expect("an address"), 1);
        let now = Instant::now();
        commands.sent(now, session, Kind::Modification, 2, Bytes::new());
        let later = now + TIMER / 2;
        commands.sent(later, session, Kind::Release, 3, Bytes::new());
        assert_eq!(commands.handle_timeout(now + TIMER), []);
        commands.refused(session, 2);
        assert_eq!(commands.handle_timeout(later + TIMER).len(), 1);
        commands.refused(session, 3);
        assert_eq!(commands.handle_timeout(later + 10 * TIMER), []);
    }
}
