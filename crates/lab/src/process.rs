//! Child processes that cannot be lost: pinned to cores from their first instruction, read line by
//! line with deadlines, and ended on every way out of the program.
//!
//! Children are only ever signalled through a handle that has not been waited for, so the process
//! id cannot have passed to somebody else. Each child leads its own process group: a Ctrl-C at the
//! terminal reaches the lab alone, which then ends them in order.

mod pin;
mod quota;
mod words;

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

pub(crate) use pin::{CpuPlan, Cpus};
pub(crate) use quota::Quota;
use words::Words;

/// How long a process may take to end after being asked, before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last words of a process that has ended may be on their way.
const LAST_WORDS_LATE: Duration = Duration::from_millis(500);
/// A program that prints one endless line is not read further.
const LONGEST_LINE: u64 = 16 << 20;

/// What came from a child's standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Output {
    /// A line, without its end.
    Line(String),
    /// Nothing in the time given.
    Silence,
    /// The process closed its output, so it has ended or is about to.
    End,
}

/// A running child process. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Arc<Mutex<Child>>,
    lines: Receiver<String>,
    stderr: Arc<Words>,
}

impl Process {
    /// Starts `program` on the given cores.
    pub(crate) fn spawn<A, E>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        environment: impl IntoIterator<Item = E>,
        cpus: &Cpus,
    ) -> anyhow::Result<Self>
    where
        A: AsRef<OsStr>,
        E: Into<(&'static str, String)>,
    {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(environment.into_iter().map(Into::into))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = cpus
            .spawn(&mut command)
            .with_context(|| format!("cannot start {}", program.display()))?;
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || read_lines(stdout, |line| sender.send(line).is_ok()));
        }
        let stderr = Arc::new(Words::default());
        if let Some(pipe) = child.stderr.take() {
            let words = Arc::clone(&stderr);
            thread::spawn(move || {
                read_lines(pipe, |line| {
                    words.hear(line);
                    true
                });
                words.end();
            });
        }
        let child = Arc::new(Mutex::new(child));
        register(&child);
        Ok(Self {
            name: program
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            child,
            lines,
            stderr,
        })
    }

    /// The program's file name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The process id; the process is there (perhaps ended) as long as `self` is.
    pub(crate) fn id(&self) -> u32 {
        lock(&self.child).id()
    }

    /// The next line of its output, waiting at most so long.
    pub(crate) fn output(&self, wait: Duration) -> Output {
        match self.lines.recv_timeout(wait) {
            Ok(line) => Output::Line(line),
            Err(RecvTimeoutError::Timeout) => Output::Silence,
            Err(RecvTimeoutError::Disconnected) => Output::End,
        }
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Ending> {
        let status = lock(&self.child).try_wait().ok().flatten();
        status.map(Ending)
    }

    /// Waits for its end, at most so long.
    pub(crate) fn wait(&self, wait: Duration) -> Option<Ending> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(ending) = self.ended() {
                return Some(ending);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Says a line to its standard input. It may have ended meanwhile, which its output tells.
    pub(crate) fn say(&self, line: &str) {
        if let Some(stdin) = &mut lock(&self.child).stdin {
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
    }

    /// Closes its standard input.
    pub(crate) fn say_no_more(&self) {
        drop(lock(&self.child).stdin.take());
    }

    /// Asks it to stop and tell what it has (SIGINT).
    pub(crate) fn interrupt(&self) {
        signal(&mut lock(&self.child), Signal::INT);
    }

    /// Asks it to end, and kills it if it does not.
    pub(crate) fn end(&self) {
        {
            let mut child = lock(&self.child);
            drop(child.stdin.take());
            signal_group(&mut child, Signal::TERM);
        }
        if self.wait(GRACE).is_none() {
            kill(&mut lock(&self.child));
        }
    }

    /// The last of what it said on standard error, as one line; empty when it said nothing.
    pub(crate) fn last_words(&self) -> String {
        // Who has ended has said everything, but the thread that listens may not have read it yet.
        let wait = self.ended().map_or(Duration::ZERO, |_| LAST_WORDS_LATE);
        self.stderr.last(wait)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending(ExitStatus);

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("unknown status"),
        }
    }
}

/// Reads a pipe to its end, or until nobody listens any more; in a thread of its own, so that the
/// child never blocks on a full one.
fn read_lines(pipe: impl Read, mut keep: impl FnMut(String) -> bool) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
                if !keep(text) {
                    return;
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock still guards a usable child; on the way out of a panic it must be ended.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn signal(child: &mut Child, signal: Signal) {
    // Only while it has not been waited for: until then the id is its own.
    if matches!(child.try_wait(), Ok(None)) {
        // It may end at this very moment; then there is nothing left to do.
        let _ = kill_process(Pid::from_child(child), signal);
    }
}

/// With whatever it has started: a script's children do not end with the script.
fn signal_group(child: &mut Child, signal: Signal) {
    if matches!(child.try_wait(), Ok(None)) {
        let _ = kill_process_group(Pid::from_child(child), signal);
    }
}

fn kill(child: &mut Child) {
    signal_group(child, Signal::KILL);
    // Fails only if it has already been waited for.
    let _ = child.kill();
    let _ = child.wait();
}

/// Children alive, for the ways out that run no destructor (panic=abort, second Ctrl-C).
static CHILDREN: Mutex<Vec<Weak<Mutex<Child>>>> = Mutex::new(Vec::new());

fn register(child: &Arc<Mutex<Child>>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            earlier(panic);
            kill_all();
        }));
    });
    let mut children = lock(&CHILDREN);
    children.retain(|child| child.strong_count() > 0);
    children.push(Arc::downgrade(child));
}

/// Kills every child at once.
///
/// A lock that stays taken is passed over: it may be this very thread that holds it, in a panic.
pub(crate) fn kill_all() {
    let Some(children) = try_lock(&CHILDREN) else {
        return;
    };
    for child in children.iter().filter_map(Weak::upgrade) {
        if let Some(mut child) = try_lock(&child) {
            kill(&mut child);
        }
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..50 {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

#[cfg(test)]
mod tests;
