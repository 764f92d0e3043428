//! Output of command-line programs: results on standard output, progress on standard error.
//!
//! `println!` panics when the reader of a pipe has left or the disk is full.
//! [`outln!`](crate::outln) returns the error instead, and a program's `main` passes what it ends
//! with to [`exit_code`]: a reader that left is no failure, as with any Unix filter.
//! [`errln!`](crate::errln) cannot fail at all.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Writes a line to standard output. Evaluates to `Result<(), OutputError>`.
///
/// ```
/// # fn main() -> Result<(), corewire_observe::terminal::OutputError> {
/// let nf = "amf";
/// corewire_observe::outln!("{nf}: listening")?;
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! outln {
    () => { $crate::terminal::write_out(::std::format_args!("\n")) };
    ($($arg:tt)+) => {
        $crate::terminal::write_out(::std::format_args!("{}\n", ::std::format_args!($($arg)+)))
    };
}

/// Writes a line to standard error. Evaluates to `()`: a line that cannot be written is dropped.
///
/// For progress and for the last words of a command. What a running network function has to say
/// goes through `tracing`, which adds the time and limits the rate.
#[macro_export]
macro_rules! errln {
    ($($arg:tt)+) => {
        $crate::terminal::write_err(::std::format_args!("{}\n", ::std::format_args!($($arg)+)))
    };
}

/// Standard output could not be written.
///
/// A type of its own, so that a broken *socket* below some other error is never taken for a reader
/// of standard output that has left.
#[derive(Debug)]
pub struct OutputError(io::Error);

impl OutputError {
    /// Whether the reader of the pipe has left.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output cannot be written")
    }
}

impl Error for OutputError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Writes text to standard output and flushes it.
///
/// # Errors
/// When the reader has left, or the disk is full or broken. Return it from `main` by way of
/// [`exit_code`].
pub fn write_out(text: fmt::Arguments<'_>) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    out.write_fmt(text)
        .and_then(|()| out.flush())
        .map_err(OutputError)
}

/// Writes text to standard error if that is possible.
pub fn write_err(text: fmt::Arguments<'_>) {
    // There is nowhere else to say it.
    let _ = io::stderr().lock().write_fmt(text);
}

/// The exit status of a command that failed with `error`, after saying so on standard error.
///
/// A reader of standard output that left (`corewire core status | head`) got what it wanted:
/// success, and not a word.
#[must_use]
pub fn exit_code(program: &str, error: &(dyn Error + 'static), text: &str) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    write_err(format_args!("{program}: {text}\n"));
    ExitCode::FAILURE
}

/// Whether the error, or a cause of it, is standard output whose reader has left.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<OutputError>())
        .any(OutputError::is_broken_pipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer<E>(E);

    impl<E> fmt::Display for Outer<E> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl<E: Error + 'static> Error for Outer<E> {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn finds_a_left_reader_below_other_errors() {
        let output = |kind: io::ErrorKind| Outer(OutputError(kind.into()));
        assert!(is_broken_pipe(&output(io::ErrorKind::BrokenPipe)));
        assert!(!is_broken_pipe(&output(io::ErrorKind::StorageFull)));
    }

    #[test]
    fn broken_socket_is_no_left_reader() {
        let socket = Outer(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(!is_broken_pipe(&socket));
    }
}
