//! Standard error as a place for lines that may be closed, full, or not read.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, write};
use std::os::fd::BorrowedFd;

/// The line was not written, or not all of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost;

/// Writes one line, of at most `MAX_LINE` bytes, without ever waiting for a reader.
pub(super) fn write_line(to: BorrowedFd<'_>, line: &str) -> Result<(), Lost> {
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        if !is_writable(to) {
            return Err(Lost);
        }
        match write(to, rest) {
            Ok(0) => return Err(Lost),
            Ok(bytes) => rest = rest.get(bytes..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return Err(Lost),
        }
    }
    Ok(())
}

/// Whether a write would not block. A pipe says so when it has room for `PIPE_BUF` bytes, which is
/// as long as a line can be; a file always says so.
fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let at_once = Timespec::default();
    matches!(poll(&mut fds, Some(&at_once)), Ok(1)) && fds[0].revents().contains(PollFlags::OUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read as _, pipe};
    use std::os::fd::AsFd as _;

    #[test]
    fn writes_a_line() {
        let (mut reader, writer) = pipe().expect("a pipe");
        assert_eq!(write_line(writer.as_fd(), "line\n"), Ok(()));
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("readable");
        assert_eq!(text, "line\n");
    }

    #[test]
    fn loses_the_line_when_the_reader_has_left() {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        assert_eq!(write_line(writer.as_fd(), "line\n"), Err(Lost));
    }

    #[test]
    fn loses_lines_when_the_reader_does_not_read() {
        let (_reader, writer) = pipe().expect("a pipe");
        let line = "x".repeat(4095) + "\n";
        let taken = (0..1000).take_while(|_| write_line(writer.as_fd(), &line).is_ok());
        assert!(taken.count() < 1000, "a pipe takes 64 KiB by default");
    }

    #[test]
    fn loses_the_line_when_the_disk_is_full() {
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        assert_eq!(write_line(full.as_fd(), "line\n"), Err(Lost));
    }
}
