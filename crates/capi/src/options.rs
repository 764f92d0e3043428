//! Structures of settings, which may grow: each begins with its own size.

use crate::body::{array, corewire_slice, gather};
use crate::boundary::{boundary, text};
use crate::error::{Fault, corewire_error};
use crate::headers::{collect, corewire_header};
use crate::operation::corewire_operation;
use crate::shared_tls;
use corewire_message::{Priority, Request};
use corewire_transport::ClientOptions;
use corewire_transport::tls::{ClientTls, Files};
use std::ffi::c_char;
use std::time::{Duration, Instant};

/// For `timeout_us`: no deadline.
pub const COREWIRE_NO_TIMEOUT: u64 = u64::MAX;

/// What stands for "no deadline": a time that no process lives to see.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Larger structures are not settings but a size that was never set.
const MOST_OCTETS: usize = 4096;

/// A structure of settings: `repr(C)`, any bits are a value, no padding, a `size: usize` first.
///
/// # Safety
/// As said.
pub(crate) unsafe trait Settings: Copy {}

/// Reads settings that may be older (shorter) or newer (longer) than this library's. What is
/// missing keeps its default; what is unknown must be zero.
///
/// # Safety
/// `from` is null or points to settings, of which as many octets are readable as they say.
pub(crate) unsafe fn read<T: Settings>(from: *const T, default: T) -> Result<T, Fault> {
    if from.is_null() {
        return Ok(default);
    }
    // SAFETY: not null; each such structure begins with its size.
    let size = unsafe { from.cast::<usize>().read() };
    if !(size_of::<usize>()..=MOST_OCTETS).contains(&size) {
        return Err(corewire_error::misuse(
            "an options structure has no plausible size: fill it with its init function first",
        ));
    }
    let known = size.min(size_of::<T>());
    let mut settings = default;
    // SAFETY: `known` octets are readable there and writable here; any bits are a value of T.
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut settings).cast::<u8>(), known);
    }
    // SAFETY: the caller says that `size` octets are readable.
    let unknown = unsafe { std::slice::from_raw_parts(from.cast::<u8>().add(known), size - known) };
    if unknown.iter().any(|octet| *octet != 0) {
        return Err(corewire_error::misuse(
            "an options structure sets something that this version of the library does not know",
        ));
    }
    Ok(settings)
}

/// Fills settings with their defaults, as many octets as the program knows of.
///
/// # Safety
/// `into` is null or `size` octets are writable there.
unsafe fn init<T: Settings>(into: *mut T, size: usize, default: T) {
    if into.is_null() || !(size_of::<usize>()..=MOST_OCTETS).contains(&size) {
        return;
    }
    let known = size.min(size_of::<T>());
    // SAFETY: `size` octets are writable there, and `known` are not more than the default has.
    unsafe {
        std::ptr::write_bytes(into.cast::<u8>(), 0, size);
        std::ptr::copy_nonoverlapping((&raw const default).cast::<u8>(), into.cast::<u8>(), known);
        into.cast::<usize>().write(size);
    }
}

/// Settings of a channel. Fill with corewire_channel_options_init, then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct corewire_channel_options {
    /// Octets of this structure.
    pub size: usize,
    /// How long connecting may take, microseconds.
    pub connect_timeout_us: u64,
    /// The timeout of calls that bring none, microseconds.
    pub call_timeout_us: u64,
    /// How long a blocking caller asks the socket again and again before it sleeps, microseconds.
    /// Burns the CPU meanwhile. 0: never.
    pub busy_poll_us: u64,
    /// How long a caller that waits, in a blocking call or in corewire_loop_run_once, asks again
    /// before it sleeps, as long as answers come meanwhile; it lets other threads run between, and
    /// stops by itself when answers do not come. Microseconds. 0: never.
    pub patience_us: u64,
    /// TLS: a PEM file with the authorities that may have issued the service's certificate. NULL:
    /// clear text. This and the files below are paths ended by NUL, read again when they change.
    pub tls_authorities: *const c_char,
    /// TLS: a PEM file with the certificate to present to a service that asks for one (mutual TLS).
    /// NULL: none.
    pub tls_certificate: *const c_char,
    /// TLS: a PEM file with that certificate's private key.
    pub tls_key: *const c_char,
    /// TLS: the name or address that the service's certificate must be for, ended by NUL. NULL: the
    /// endpoint's host.
    pub tls_server_name: *const c_char,
    /// Not 0: for a "native://" endpoint on this host, use shared memory where the service offers
    /// it, and the socket otherwise. Not with TLS. An endpoint "shm://" needs no such setting.
    pub shared_memory: u32,
    /// TLS: not 0: channels of this process with the same files share what was read of them and their
    /// sessions, so that a new channel's connection goes on from an earlier one's to the same service,
    /// without certificates being sent and checked again (docs/tls.md). 0: only connections of this
    /// channel do.
    pub tls_shared: u32,
}

// SAFETY: integers, and pointers that are checked when they are used; no padding.
unsafe impl Settings for corewire_channel_options {}

impl corewire_channel_options {
    fn new() -> Self {
        let defaults = ClientOptions::default();
        Self {
            size: size_of::<Self>(),
            connect_timeout_us: micros(defaults.connect_timeout),
            call_timeout_us: micros(defaults.call_timeout),
            busy_poll_us: micros(defaults.busy_poll),
            patience_us: micros(defaults.patience),
            tls_authorities: std::ptr::null(),
            tls_certificate: std::ptr::null(),
            tls_key: std::ptr::null(),
            tls_server_name: std::ptr::null(),
            shared_memory: u32::from(defaults.shared_memory),
            tls_shared: 0,
        }
    }
}

/// The settings of a channel.
///
/// # Safety
/// See [`read`]; its texts are null or ended by NUL.
pub(crate) unsafe fn client_options(
    options: *const corewire_channel_options,
) -> Result<ClientOptions, Fault> {
    // SAFETY: the caller's contract.
    let settings = unsafe { read(options, corewire_channel_options::new()) }?;
    let mut options = ClientOptions::default();
    options.connect_timeout = duration(settings.connect_timeout_us);
    options.call_timeout = duration(settings.call_timeout_us);
    options.busy_poll = duration(settings.busy_poll_us);
    options.patience = duration(settings.patience_us);
    options.shared_memory = settings.shared_memory != 0;
    let files = TlsFiles {
        certificate: settings.tls_certificate,
        key: settings.tls_key,
        authorities: settings.tls_authorities,
    };
    // SAFETY: the caller's contract.
    let files = unsafe { files.read() }?;
    if files.authorities.is_some() {
        let mut tls = match settings.tls_shared {
            0 => ClientTls::new(files)?,
            _ => shared_tls::of(files)?,
        };
        if !settings.tls_server_name.is_null() {
            // SAFETY: the caller's contract.
            let name = unsafe { text(settings.tls_server_name, "tls_server_name") }?;
            tls = tls.with_server_name(name)?;
        }
        options.tls = Some(tls);
    } else if files.certificate.is_some() || !settings.tls_server_name.is_null() {
        return Err(corewire_error::misuse(
            "tls_authorities is NULL: a TLS client needs the authorities that it believes",
        ));
    }
    Ok(options)
}

/// The files of an end's TLS settings, as C names them.
pub(crate) struct TlsFiles {
    pub(crate) certificate: *const c_char,
    pub(crate) key: *const c_char,
    pub(crate) authorities: *const c_char,
}

impl TlsFiles {
    /// # Safety
    /// Each is null or a text ended by NUL.
    pub(crate) unsafe fn read(self) -> Result<Files, Fault> {
        let mut files = Files::new();
        match (self.certificate.is_null(), self.key.is_null()) {
            (true, true) => {}
            (false, false) => {
                // SAFETY: not null, and ended by NUL.
                let certificate = unsafe { text(self.certificate, "tls_certificate") }?;
                // SAFETY: as above.
                let key = unsafe { text(self.key, "tls_key") }?;
                files = files.with_identity(certificate, key);
            }
            (true, false) => return Err(corewire_error::misuse("tls_key has no tls_certificate")),
            (false, true) => return Err(corewire_error::misuse("tls_certificate has no tls_key")),
        }
        if !self.authorities.is_null() {
            // SAFETY: not null, and ended by NUL.
            files = files.with_authorities(unsafe { text(self.authorities, "tls_authorities") }?);
        }
        Ok(files)
    }
}

/// For members that a later version may give a meaning.
pub(crate) fn must_be_zero(value: u32, name: &str) -> Result<(), Fault> {
    if value == 0 {
        return Ok(());
    }
    Err(corewire_error::misuse(format!("{name} is not 0")))
}

/// Settings of one call. NULL instead of them means all defaults and costs least.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct corewire_call_options {
    /// Octets of this structure.
    pub size: usize,
    /// How long the caller waits, microseconds; for a stream, how long it may live. 0: as the
    /// channel's options say. COREWIRE_NO_TIMEOUT: for ever.
    pub timeout_us: u64,
    /// Headers to send, copied by the call; NULL if there are none.
    pub headers: *const corewire_header,
    /// How many.
    pub header_count: usize,
    /// How urgent: 0 is the most urgent, 31 the least (TS 29.500, 6.8.4.1).
    pub priority: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: integers and one pointer, which is checked when it is used; no padding.
unsafe impl Settings for corewire_call_options {}

impl corewire_call_options {
    pub(crate) fn new() -> Self {
        Self {
            size: size_of::<Self>(),
            timeout_us: 0,
            headers: std::ptr::null(),
            header_count: 0,
            priority: u32::from(Priority::NORMAL.value()),
            reserved: 0,
        }
    }
}

/// The request that these arguments of a call describe.
///
/// # Safety
/// `first` and `count` are an array of slices that keep the contract of
/// [`corewire_slice::octets`]; for `options` see [`read`].
pub(crate) unsafe fn request(
    operation: &corewire_operation,
    first: *const corewire_slice,
    count: usize,
    options: *const corewire_call_options,
) -> Result<Request, Fault> {
    let mut request = Request::new(operation.0.clone());
    // SAFETY: the caller's contract.
    request.body = unsafe { gather(array(first, count, "body")?, None) }?;
    if options.is_null() {
        return Ok(request);
    }
    // SAFETY: the caller's contract.
    let settings = unsafe { read(options, corewire_call_options::new()) }?;
    request.deadline = match settings.timeout_us {
        0 => None,
        timeout => Some(Instant::now() + duration(timeout)),
    };
    request.priority = u8::try_from(settings.priority)
        .ok()
        .and_then(|value| Priority::try_from(value).ok())
        .ok_or_else(|| corewire_error::misuse("a priority is above 31"))?;
    must_be_zero(settings.reserved, "corewire_call_options.reserved")?;
    // SAFETY: the caller's contract.
    request.headers = unsafe { collect(settings.headers, settings.header_count) }?;
    Ok(request)
}

/// Fills *options with the defaults. `size` is sizeof(corewire_channel_options). Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_channel_options_init(
    options: *mut corewire_channel_options,
    size: usize,
) {
    // SAFETY: null, or `size` octets are writable, says the header.
    boundary((), || unsafe {
        init(options, size, corewire_channel_options::new())
    });
}

/// Fills *options with the defaults. `size` is sizeof(corewire_call_options). Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_call_options_init(
    options: *mut corewire_call_options,
    size: usize,
) {
    // SAFETY: null, or `size` octets are writable, says the header.
    boundary((), || unsafe {
        init(options, size, corewire_call_options::new())
    });
}

/// Fills *options with the defaults. `size` is sizeof(corewire_server_options). Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_options_init(
    options: *mut crate::server::corewire_server_options,
    size: usize,
) {
    let default = crate::server::corewire_server_options::new;
    // SAFETY: null, or `size` octets are writable, says the header.
    boundary((), || unsafe { init(options, size, default()) });
}

/// Microseconds as a duration, short enough to be added to any clock.
pub(crate) fn duration(micros: u64) -> Duration {
    Duration::from_micros(micros).min(NEVER)
}

/// A duration in microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_structures_keep_defaults_and_longer_ones_must_be_zero() {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Longer(corewire_channel_options, u64);
        let mut longer = Longer(corewire_channel_options::new(), 0);
        longer.0.call_timeout_us = 7;
        longer.0.busy_poll_us = 9;
        longer.0.size = size_of::<Longer>();
        let settings = |size| {
            let mut cut = longer;
            cut.0.size = size;
            // SAFETY: as many octets are readable as the structure says.
            unsafe { read((&raw const cut).cast(), corewire_channel_options::new()) }
        };
        assert_eq!(settings(size_of::<Longer>()).unwrap().busy_poll_us, 9);
        let shorter = settings(3 * size_of::<u64>()).unwrap();
        assert_eq!((shorter.call_timeout_us, shorter.busy_poll_us), (7, 0));
        assert!(settings(0).is_err());
        assert!(settings(1 << 40).is_err());
        longer.1 = 1;
        let pointer = (&raw const longer).cast();
        // SAFETY: as many octets are readable as the structure says.
        assert!(unsafe { read(pointer, corewire_channel_options::new()) }.is_err());
    }

    #[test]
    fn init_writes_no_more_than_the_program_knows() {
        let mut memory = [u64::MAX; 4];
        // SAFETY: 16 octets are writable.
        unsafe { corewire_channel_options_init(memory.as_mut_ptr().cast(), 16) };
        assert_eq!(memory, [16, 5_000_000, u64::MAX, u64::MAX]);
    }
}
