//! The calling thread's `errno`, through which C is told why.

use libc::c_int;

/// Sets it.
pub(crate) fn set(value: c_int) {
    // SAFETY: the address is that of the thread's own errno, alive as long as the thread.
    unsafe { *libc::__errno_location() = value };
}

/// What an error of the system means to C.
pub(crate) fn of(error: &std::io::Error) -> c_int {
    error.raw_os_error().unwrap_or_else(|| match error.kind() {
        std::io::ErrorKind::TimedOut => libc::ETIMEDOUT,
        std::io::ErrorKind::WouldBlock => libc::EAGAIN,
        std::io::ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        std::io::ErrorKind::InvalidInput => libc::EINVAL,
        _ => libc::EIO,
    })
}
