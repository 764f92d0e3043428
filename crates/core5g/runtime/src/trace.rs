//! Where the time of a procedure goes, hop by hop: begin and end of every call at both its ends, and of
//! every message on N2, written to a file when that is asked for (`core up --trace`). Without it nothing
//! is timed, and no message says anything more.
//!
//! A line is `KIND NUMBER BEGIN END NAME`: nanoseconds of the machine's clock, so that the files of all
//! processes of one machine can be laid over each other. A call bears the same number at both ends; of
//! N2 the first message that one side sends is the first that the other gets.
//!
//! | kind | number | times |
//! |---|---|---|
//! | `call` | the call's | asked, answered |
//! | `serve` | the call's | handler begins, ends |
//! | `n2-out` | counts from 0 | handed to the association, the same |
//! | `n2-in` | counts from 0 | taken from the association, the same |
//! | `step` | 0 | a UE begins, is satisfied |
#![expect(clippy::disallowed_methods, reason = "times of records")]

use anyhow::Context as _;
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The header that carries a call's number to the one that serves it.
pub const NUMBER: &str = "hop-number";

/// The file of one process.
pub struct Trace {
    file: Mutex<BufWriter<File>>,
    /// Numbers of calls: this process in the upper half, so that no two are alike.
    next: AtomicU64,
    n2_in: AtomicU64,
    n2_out: AtomicU64,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "those of the table above")]
pub enum Kind {
    /// A call, at its caller.
    Call,
    /// A call, where it is served.
    Serve,
    /// A message that N2 brought.
    N2In,
    /// A message for N2.
    N2Out,
    /// A step of a UE.
    Step,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Serve => "serve",
            Self::N2In => "n2-in",
            Self::N2Out => "n2-out",
            Self::Step => "step",
        }
    }
}

/// A moment of the machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct Moment(Duration);

impl Moment {
    /// What the clock says.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self(since.unwrap_or_default())
    }

    /// The same moment by this clock.
    fn of(instant: Instant) -> Self {
        Self(Self::now().0.saturating_sub(instant.elapsed()))
    }
}

impl Trace {
    /// A new file in place of one that is there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("--trace {}", path.display()))?;
        Ok(Self {
            file: Mutex::new(BufWriter::new(file)),
            next: AtomicU64::new(u64::from(std::process::id()) << 32),
            n2_in: AtomicU64::new(0),
            n2_out: AtomicU64::new(0),
        })
    }

    /// A number for a call.
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes down what has ended now.
    pub fn ended(&self, kind: Kind, number: u64, began: Moment, name: impl fmt::Display) {
        self.write(kind, number, (began, Moment::now()), name);
    }

    /// A UE's step began and took so long.
    pub fn step(&self, name: impl fmt::Display, began: Instant, took: Duration) {
        let began = Moment::of(began);
        self.write(Kind::Step, 0, (began, Moment(began.0 + took)), name);
    }

    /// A message came by N2, or goes.
    pub fn n2(&self, kind: Kind, name: &str) {
        let count = match kind {
            Kind::N2In => &self.n2_in,
            _ => &self.n2_out,
        };
        let now = Moment::now();
        self.write(
            kind,
            count.fetch_add(1, Ordering::Relaxed),
            (now, now),
            name,
        );
    }

    /// Everything written so far can be read.
    pub fn flush(&self) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.flush() {
            tracing::error!(name: "trace-incomplete", "--trace: {error}");
        }
    }

    fn write(
        &self,
        kind: Kind,
        number: u64,
        (begin, end): (Moment, Moment),
        name: impl fmt::Display,
    ) {
        let (kind, begin, end) = (kind.name(), begin.0.as_nanos(), end.0.as_nanos());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A disk that is full is said at the end.
        let _full = writeln!(file, "{kind} {number} {begin} {end} {name}");
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_kind_number_times_and_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("amf.trace");
        let trace = Trace::create(&path).expect("a file");
        let (number, began) = (trace.number(), Moment::now());
        trace.ended(Kind::Call, number, began, "POST a/b");
        trace.n2(Kind::N2In, "InitialUeMessage");
        trace.n2(Kind::N2In, "UplinkNas");
        trace.flush();
        let text = std::fs::read_to_string(&path).expect("written");
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.splitn(5, ' ').collect())
            .collect();
        assert_eq!((lines[0][0], lines[0][4]), ("call", "POST a/b"));
        assert_eq!(lines[0][1], number.to_string());
        let times: Vec<u128> = lines[0][2..4]
            .iter()
            .map(|text| text.parse().expect("a time"))
            .collect();
        assert!(times[0] <= times[1]);
        assert_eq!((lines[2][0], lines[2][1]), ("n2-in", "1"));
    }
}
