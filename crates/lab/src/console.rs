//! Standard output, for results.

use std::io::{self, ErrorKind, Write as _};

/// Writes text to standard output. A reader that has seen enough (`| head`) is no error.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
