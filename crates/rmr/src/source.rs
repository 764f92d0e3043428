//! Where tables come from: a seed file, a route manager, or one after the other. Sans-IO.
//!
//! ```text
//!  RMR_RTG_SVC=-1          seed file, read again every 60 s, every second until ready
//!  RMR_RTG_SVC=host:port   seed file once, then host:port is asked until a table has come
//!  RMR_RTG_SVC=port        seed file once, then whoever connects to the port may send tables
//! ```

use crate::loader::{Loader, Outcome};
use crate::report::Report;
use crate::router::Router;
use crate::settings::{Settings, TableOrigin};
use corewire_wire::rmr::message_type;
use corewire_wire::rmr::table_message::TableState;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A seed file that is in use is looked at again after this.
pub const SEED_PERIOD: Duration = Duration::from_secs(60);

/// Until there is a table, this.
pub const SEED_PERIOD_UNTIL_READY: Duration = Duration::from_secs(1);

/// The longest seed file, or text of one message, that is taken.
pub const MAX_TABLE_OCTETS: usize = 256 << 20;

/// Tables that follow each other closely are saved together.
pub const STASH_PERIOD: Duration = Duration::from_secs(1);

/// Names a message for its answer. Made and understood by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a driver's own number")]
pub struct Reply(pub u64);

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a driver must handle each")]
pub enum Action {
    /// Read the file and give what it holds to [`TableSource::handle_seed`].
    ReadSeed {
        /// Its name.
        path: String,
    },
    /// Send a message of type 21 to the route manager, with subscription 0 and the text of
    /// [`write_request`](corewire_wire::rmr::table_message::write_request). When that fails call
    /// [`TableSource::handle_request_failed`].
    Request {
        /// Whom.
        to: String,
    },
    /// Return a message to its sender, with type 22, subscription -1 and this text.
    Acknowledge {
        /// The message.
        reply: Reply,
        /// The text.
        state: TableState,
    },
    /// Replace the file's contents, by renaming a new one. A failure is to be logged, no more.
    Stash {
        /// Its name.
        path: String,
        /// What it is to hold.
        text: String,
    },
    /// Write to the log.
    Report(Report),
}

/// Keeps a [`Router`]'s table as its sources have it. Only one for each router.
///
/// Call [`poll`](Self::poll) until it is empty after everything else, and
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says.
#[derive(Debug)]
pub struct TableSource {
    router: Arc<Router>,
    loader: Loader,
    origin: TableOrigin,
    seed: Option<String>,
    /// What came of reading the seed file last: the same again says nothing new.
    seed_seen: Option<Result<Vec<u8>, Report>>,
    stash: Option<String>,
    request_period: Duration,
    heard: bool,
    seed_due: Option<Instant>,
    request_due: Option<Instant>,
    stash_due: Option<Instant>,
    stashed: Option<Instant>,
    actions: VecDeque<Action>,
}

impl TableSource {
    /// Begins at once: with the seed file, if there is one, and with a request, if somebody is to
    /// be asked.
    #[must_use]
    pub fn new(settings: &Settings, router: Arc<Router>, now: Instant) -> Self {
        let mut source = Self {
            loader: Loader::new(Arc::clone(&router)),
            router,
            origin: settings.origin.clone(),
            seed: settings.seed_rt.clone(),
            seed_seen: None,
            stash: settings.stash(),
            request_period: settings.request_period,
            heard: false,
            seed_due: settings.seed_rt.is_some().then_some(now),
            request_due: matches!(settings.origin, TableOrigin::Ask { .. }).then_some(now),
            stash_due: None,
            stashed: None,
            actions: VecDeque::new(),
        };
        source.handle_timeout(now);
        source
    }

    /// What is to be done next.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.seed_due, self.request_due, self.stash_due]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |due: &mut Option<Instant>| due.take_if(|due| *due <= now).is_some();
        if is_due(&mut self.seed_due)
            && let Some(path) = &self.seed
        {
            let path = path.clone();
            self.actions.push_back(Action::ReadSeed { path });
        }
        if is_due(&mut self.request_due)
            && let TableOrigin::Ask { address, .. } = &self.origin
            && !self.loader.has_full()
        {
            let to = address.clone();
            self.report(Report::Requested { to: to.clone() });
            self.actions.push_back(Action::Request { to });
            self.request_due = Some(now + self.request_period);
        }
        if is_due(&mut self.stash_due)
            && let Some(path) = &self.stash
        {
            let text = self.router.table().to_text(self.router.endpoints());
            let path = path.clone();
            self.actions.push_back(Action::Stash { path, text });
            self.stashed = Some(now);
        }
    }

    /// The seed file was read, or cannot be.
    pub fn handle_seed(&mut self, now: Instant, contents: Result<&[u8], &io::Error>) {
        let path = self.seed.clone().unwrap_or_default();
        let seen = match contents {
            Ok(text) if text.len() > MAX_TABLE_OCTETS => Err(Report::SeedTooLong {
                path,
                octets: text.len(),
                max: MAX_TABLE_OCTETS,
            }),
            Ok(text) => Ok(text.to_vec()),
            Err(error) => Err(Report::SeedUnreadable {
                path,
                error: error.to_string(),
            }),
        };
        // Read again each second until there is a table: once is enough to say what is wrong with
        // it. And turns go on where they are.
        if self.seed_seen.as_ref() != Some(&seen) {
            match &seen {
                Ok(text) => self.seed(text),
                Err(report) => self.report(report.clone()),
            }
            self.seed_seen = Some(seen);
        }
        if self.origin == TableOrigin::FileOnly {
            self.seed_due = Some(
                now + if self.router.is_ready() {
                    SEED_PERIOD
                } else {
                    SEED_PERIOD_UNTIL_READY
                },
            );
        } else {
            // A seed makes us ready, but the manager's changes are changes to its own table.
            self.loader.forget_full();
        }
    }

    /// A message came to the control port.
    pub fn handle_message(
        &mut self,
        now: Instant,
        message_type: i32,
        payload: &[u8],
        reply: Reply,
    ) {
        if message_type != message_type::TABLE_DATA {
            self.report(Report::StrangeMessage { message_type });
            return;
        }
        if !self.heard {
            self.heard = true;
            self.report(Report::ManagerHeard);
        }
        let outcome = self.loader.read(payload);
        for state in &outcome.states {
            let state = state.clone();
            self.actions.push_back(Action::Acknowledge { reply, state });
        }
        if outcome.changed && self.stash.is_some() {
            let due = self
                .stashed
                .map_or(now, |last| now.max(last + STASH_PERIOD));
            self.stash_due.get_or_insert(due);
        }
        self.reports(outcome);
        if let Some(due) = &mut self.request_due {
            // It is coming: no need to ask while it does. (The C library never asks again, even if
            // the rest is lost or refused.)
            *due = now + self.request_period;
        }
        if self.loader.has_full() {
            self.request_due = None;
        }
        self.handle_timeout(now);
    }

    /// A request could not be sent. It is sent again when its time comes.
    pub fn handle_request_failed(&mut self) {
        if let TableOrigin::Ask { address, .. } = &self.origin {
            let to = address.clone();
            self.report(Report::RequestFailed { to });
        }
    }

    fn seed(&mut self, text: &[u8]) {
        let outcome = self.loader.read(text);
        self.reports(outcome);
        if self.loader.is_pending() {
            self.loader.abandon();
            let path = self.seed.clone().unwrap_or_default();
            self.report(Report::SeedIncomplete { path });
        }
    }

    fn reports(&mut self, outcome: Outcome) {
        for report in outcome.reports {
            self.report(report);
        }
    }

    fn report(&mut self, report: Report) {
        self.actions.push_back(Action::Report(report));
    }
}

#[cfg(test)]
mod tests;
