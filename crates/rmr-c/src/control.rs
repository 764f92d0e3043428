//! The thread that brings routes: from the seed file and from a route manager; and that tells now
//! and then what became of messages.

use crate::context::Context;
use crate::deadline::Deadline;
use crate::link::Link;
use crate::log::{self, say};
use crate::message::Message;
use crate::send;
use crate::send_timeout::SendTimeout;
use corewire_driver::clock;
use corewire_rmr::{
    ALARM, Action, DropAlarm, Level, LossKind, Reply, Report, Settings, TableOrigin, TableSource,
};
use corewire_wire::rmr::message_type;
use corewire_wire::rmr::table_message::{MAX_STATE_OCTETS, TableState, write_request};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The thread looks at least as often whether it is to end.
const TURN: Duration = Duration::from_millis(200);
/// Statistics are written as often at first ...
const EARLY_STATISTICS: Duration = Duration::from_secs(30);
/// ... for as long ...
const EARLY: Duration = Duration::from_secs(300);
/// ... and then as often.
const LATER_STATISTICS: Duration = Duration::from_secs(300);
/// Where the level of detail is looked for when the environment names no file.
const VCTL_FILE: &str = "rmr.v";
/// What is sent to a route manager waits as long at most.
const TIMEOUT: SendTimeout = SendTimeout(Duration::from_millis(20));

/// The body of the thread.
pub(crate) fn run(context: &'static Context, settings: &Settings) {
    let mut control = Control::new(context, settings);
    while !context.shared().is_closed() {
        control.turn();
    }
    if let Some(context) = control.context {
        context.close_now();
    }
    // A table may have come meanwhile.
    context.router().clear();
}

struct Control<'a> {
    routed: &'static Context,
    settings: &'a Settings,
    source: TableSource,
    /// Listens at the control port; `None` when there is only a file.
    context: Option<&'static Context>,
    /// What came from the route manager last, for the answer.
    current: Option<NonNull<Message>>,
    replies: u64,
    started: Instant,
    statistics_due: Instant,
    drops: DropAlarm,
    detail: i32,
}

impl<'a> Control<'a> {
    fn new(routed: &'static Context, settings: &'a Settings) -> Self {
        let now = clock();
        let context = settings.origin.control_port().and_then(|port| {
            Context::open_control(settings, port)
                .inspect_err(|error| {
                    say!(
                        Critical,
                        "route tables cannot come in: listening at port {port}: {error}; set \
                         RMR_CTL_PORT to another, or RMR_RTG_SVC=-1 when there is only a file"
                    );
                })
                .ok()
        });
        Self {
            routed,
            settings,
            source: TableSource::new(settings, routed.router().clone(), now),
            context,
            current: None,
            replies: 0,
            started: now,
            statistics_due: now + EARLY_STATISTICS,
            drops: DropAlarm::default(),
            detail: 0,
        }
    }

    fn turn(&mut self) {
        self.detail = self.read_detail();
        self.act();
        self.alarm();
        self.statistics();
        let now = clock();
        let due = self
            .source
            .poll_timeout()
            .map_or(now + TURN, |due| due.min(now + TURN));
        let wait = due.saturating_duration_since(now);
        match self.context {
            Some(context) => self.receive(context, wait),
            None => self.routed.shared().rest(wait),
        }
        self.source.handle_timeout(clock());
    }

    fn receive(&mut self, context: &'static Context, wait: Duration) {
        let (old, deadline) = (self.current.take(), Deadline::after(wait));
        // SAFETY: it came from there, and nobody else has it.
        let received = unsafe { context.inbox().receive(context.pool(), old, deadline) };
        let Some(mut message) = received else {
            self.current = old;
            return;
        };
        self.current = Some(message);
        self.replies += 1;
        let reply = Reply(self.replies);
        // SAFETY: just received.
        let inside = unsafe { message.as_mut() };
        let (kind, payload) = (inside.mtype, inside.used_payload());
        self.source.handle_message(clock(), kind, payload, reply);
        self.act();
    }

    fn act(&mut self) {
        while let Some(action) = self.source.poll() {
            match action {
                Action::ReadSeed { path } => {
                    let contents = std::fs::read(&path);
                    let contents = contents.as_deref();
                    self.source.handle_seed(clock(), contents);
                }
                Action::Request { to } => {
                    if !self.request(&to) {
                        self.source.handle_request_failed();
                    }
                }
                Action::Acknowledge { reply, state } => self.acknowledge(reply, &state),
                Action::Stash { path, text } => {
                    if let Err(error) = stash(&path, &text) {
                        say!(
                            Warning,
                            "the route table cannot be saved in {path}: {error}"
                        );
                    }
                }
                Action::Report(report) => self.report(&report),
            }
        }
    }

    /// Asks the route manager for a table.
    fn request(&self, to: &str) -> bool {
        let Some(context) = self.context else {
            return false;
        };
        let Some(link) = context.link_to(to) else {
            return false;
        };
        let mut text = Vec::new();
        // The name is that of the context which asks; the answer comes to the control port.
        write_request(&self.routed.name(), unix_time().as_secs(), &mut text);
        tell(context, &link, message_type::TABLE_REQUEST, 0, &text)
    }

    /// Tells the alarm manager when messages begin to be dropped since the program does not receive
    /// them, and when that is over.
    fn alarm(&mut self) {
        let dropped = self.routed.inbox().counters().lost(LossKind::QueueFull);
        let Some(alarm) = self.drops.look(clock(), dropped.get()) else {
            return;
        };
        let program = std::env::current_exe().unwrap_or_default();
        let program = program.file_name().unwrap_or_default().to_string_lossy();
        let text = alarm.text(&program, unix_time().as_millis());
        let manager = &self.settings.alarm_manager;
        let context = self.context.unwrap_or(self.routed);
        let told = context
            .link_to(manager)
            .is_some_and(|link| tell(context, &link, ALARM, -1, text.as_bytes()));
        if told {
            say!(Info, "{manager} is told: {text}");
        } else {
            say!(Warning, "{manager} cannot be told: {text}");
        }
    }

    /// Tells whoever sent the last message what became of the table.
    fn acknowledge(&mut self, reply: Reply, state: &TableState) {
        let (Some(context), Some(mut message)) = (self.context, self.current) else {
            return;
        };
        if reply != Reply(self.replies) {
            return;
        }
        let mut text = Vec::with_capacity(MAX_STATE_OCTETS);
        state.write(&mut text);
        // SAFETY: it was received and is not used elsewhere.
        let inside = unsafe { message.as_mut() };
        if inside.payload_size() < text.len() {
            return;
        }
        fill(inside, message_type::TABLE_STATE, -1, &text);
        send::clear_call_mark(inside);
        if let Err(refused) = send::back(context, inside, TIMEOUT) {
            let error = io::Error::from_raw_os_error(refused.errno);
            say!(
                Warning,
                "the route manager cannot be told about its table: {error}"
            );
        }
    }

    fn report(&self, report: &Report) {
        let level = match report.level() {
            Level::Error => log::Level::Error,
            Level::Warning => log::Level::Warning,
            Level::Info => log::Level::Info,
        };
        if self.detail >= level as i32 {
            log::write_always(level, format_args!("{report}"));
        } else {
            log::write(level, format_args!("{report}"));
        }
    }

    /// What the control file says: how much to tell about routes.
    fn read_detail(&self) -> i32 {
        let text = match &self.settings.vctl_file {
            Some(path) => std::fs::read_to_string(path),
            None => std::fs::read_to_string(std::env::temp_dir().join(VCTL_FILE)),
        };
        text.ok()
            .and_then(|text| text.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    }

    fn statistics(&mut self) {
        let now = clock();
        if now < self.statistics_due || self.settings.origin == TableOrigin::FileOnly {
            return;
        }
        let early = now.saturating_duration_since(self.started) < EARLY;
        self.statistics_due = now
            + if early {
                EARLY_STATISTICS
            } else {
                LATER_STATISTICS
            };
        if self.detail < 0 {
            return;
        }
        let seconds = unix_time().as_secs();
        let source = self.routed.name();
        for link in self.routed.all_links() {
            let counts = &*link.counts;
            let (hard, soft) = (counts.failed.get(), counts.retry.get());
            log::write_always(
                log::Level::Info,
                format_args!(
                    "sends: ts={seconds} src={source} target={} open={} succ={} fail={} \
                     (hard={hard} soft={soft}) dropped={}",
                    link.name(),
                    i32::from(link.is_open()),
                    counts.accepted.get(),
                    hard + soft,
                    counts.all_dropped(),
                ),
            );
        }
    }
}

/// Sends a text to a peer; whether it was accepted.
fn tell(context: &Context, link: &Arc<Link>, message_type: i32, sub_id: i32, text: &[u8]) -> bool {
    let Some(mut message) = context.allocate(Some(text.len()), None) else {
        return false;
    };
    // SAFETY: just allocated.
    let inside = unsafe { message.as_mut() };
    fill(inside, message_type, sub_id, text);
    let sent = send::direct(context, inside, link, TIMEOUT).is_ok();
    // SAFETY: ours, and not used again.
    unsafe { crate::pool::free(message) };
    sent
}

fn unix_time() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

fn fill(message: &mut Message, message_type: i32, sub_id: i32, text: &[u8]) {
    message.mtype = message_type;
    message.sub_id = sub_id;
    message.set_payload(text);
}

/// Replaces a file as a whole.
fn stash(path: &str, text: &str) -> io::Result<()> {
    let fresh = format!("{path}.new");
    std::fs::write(&fresh, text)?;
    std::fs::rename(&fresh, path)
}
