//! The functions of libnng that are used, found at run time.

use crate::log::say;
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::io;
use std::sync::OnceLock;

/// What NNG returns when a timeout is over.
pub(super) const TIMED_OUT: c_int = 5;
/// What NNG returns when it would have to wait.
pub(super) const TRY_AGAIN: c_int = 8;
/// Asks receiving to allocate the buffer.
pub(super) const ALLOCATE: c_int = 1;
const DO_NOT_WAIT: c_int = 2;

/// In the order in which they are tried.
const NAMES: [&CStr; 2] = [c"libnng.so.1", c"libnng.so"];

/// NNG's socket: a structure with a number in it, which is passed as the number is.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id {
    id: u32,
}

type Open = unsafe extern "C" fn(*mut Id) -> c_int;
type Attach = unsafe extern "C" fn(Id, *const c_char, *mut c_void, c_int) -> c_int;

/// libnng.
pub(super) struct Library {
    push: Open,
    pull: Open,
    dial: Attach,
    listen: Attach,
    send: unsafe extern "C" fn(Id, *mut c_void, usize, c_int) -> c_int,
    receive: unsafe extern "C" fn(Id, *mut *mut c_void, *mut usize, c_int) -> c_int,
    free: unsafe extern "C" fn(*mut c_void, usize),
    close: unsafe extern "C" fn(Id) -> c_int,
    set_millis: unsafe extern "C" fn(Id, *const c_char, i32) -> c_int,
    set_size: unsafe extern "C" fn(Id, *const c_char, usize) -> c_int,
    text: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Library {
    /// The library, loaded when it is asked for first.
    ///
    /// # Errors
    /// What the loader says.
    pub(super) fn get() -> io::Result<&'static Self> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let loaded = LIBRARY.get_or_init(Self::load).as_ref();
        loaded.map_err(|error| {
            say!(
                Critical,
                "COREWIRE_RMR_TRANSPORT=nng: libnng cannot be loaded ({error}); on Debian it is in \
                 the package libnng1"
            );
            io::Error::from_raw_os_error(libc::ENOTSUP)
        })
    }

    fn load() -> Result<Self, String> {
        let handle = NAMES
            .iter()
            // SAFETY: a text that ends with NUL; what runs is libnng's own initialisation.
            .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) })
            .find(|handle| !handle.is_null())
            .ok_or_else(loader_error)?;
        // SAFETY: the handle is open and stays so; the types are those of nng.h 1.x.
        unsafe {
            Ok(Self {
                push: symbol(handle, c"nng_push0_open")?,
                pull: symbol(handle, c"nng_pull0_open")?,
                dial: symbol(handle, c"nng_dial")?,
                listen: symbol(handle, c"nng_listen")?,
                send: symbol(handle, c"nng_send")?,
                receive: symbol(handle, c"nng_recv")?,
                free: symbol(handle, c"nng_free")?,
                close: symbol(handle, c"nng_close")?,
                set_millis: symbol(handle, c"nng_setopt_ms")?,
                set_size: symbol(handle, c"nng_setopt_size")?,
                text: symbol(handle, c"nng_strerror")?,
            })
        }
    }

    pub(super) fn push_socket(&self) -> io::Result<u32> {
        self.open(self.push)
    }

    pub(super) fn pull_socket(&self) -> io::Result<u32> {
        self.open(self.pull)
    }

    fn open(&self, open: Open) -> io::Result<u32> {
        let mut id = Id { id: 0 };
        // SAFETY: a place for a socket.
        self.check(unsafe { open(&raw mut id) })?;
        Ok(id.id)
    }

    pub(super) fn dial(&self, id: u32, url: &CStr, waits: bool) -> io::Result<()> {
        let flags = if waits { 0 } else { DO_NOT_WAIT };
        // SAFETY: a text that ends with NUL; the dialer is not asked for.
        self.check(unsafe { (self.dial)(Id { id }, url.as_ptr(), std::ptr::null_mut(), flags) })
    }

    pub(super) fn listen(&self, id: u32, url: &CStr) -> io::Result<()> {
        // SAFETY: a text that ends with NUL; the listener is not asked for.
        self.check(unsafe { (self.listen)(Id { id }, url.as_ptr(), std::ptr::null_mut(), 0) })
    }

    /// Sends a copy; the error is NNG's code.
    pub(super) fn send(&self, id: u32, octets: &[u8]) -> Result<(), c_int> {
        let data = octets.as_ptr().cast_mut().cast();
        // SAFETY: without a flag that says otherwise, NNG only reads the octets.
        code(unsafe { (self.send)(Id { id }, data, octets.len(), 0) })
    }

    /// Receives as the flags say; the error is NNG's code.
    pub(super) fn receive(
        &self,
        id: u32,
        octets: &mut *mut c_void,
        length: &mut usize,
        flags: c_int,
    ) -> Result<(), c_int> {
        // SAFETY: places for a pointer, which ALLOCATE fills, and for a length.
        code(unsafe { (self.receive)(Id { id }, octets, length, flags) })
    }

    pub(super) fn free(&self, octets: *mut c_void, length: usize) {
        // SAFETY: from `receive` with ALLOCATE, and freed once.
        unsafe { (self.free)(octets, length) };
    }

    pub(super) fn close(&self, id: u32) {
        // SAFETY: takes a number; one that is closed already is an error and no harm.
        unsafe { (self.close)(Id { id }) };
    }

    pub(super) fn set_millis(&self, id: u32, name: &CStr, millis: i32) -> io::Result<()> {
        // SAFETY: a text that ends with NUL.
        self.check(unsafe { (self.set_millis)(Id { id }, name.as_ptr(), millis) })
    }

    pub(super) fn set_size(&self, id: u32, name: &CStr, size: usize) -> io::Result<()> {
        // SAFETY: a text that ends with NUL.
        self.check(unsafe { (self.set_size)(Id { id }, name.as_ptr(), size) })
    }

    fn check(&self, result: c_int) -> io::Result<()> {
        code(result).map_err(|code| self.error(code))
    }

    /// What a code of NNG's means.
    pub(super) fn error(&self, code: c_int) -> io::Error {
        const ADDRESS_IN_USE: c_int = 10;
        const REFUSED: c_int = 6;
        const SYSTEM: c_int = 0x1000_0000;
        match code {
            ADDRESS_IN_USE => io::Error::from_raw_os_error(libc::EADDRINUSE),
            REFUSED => io::Error::from_raw_os_error(libc::ECONNREFUSED),
            system if system & SYSTEM != 0 => io::Error::from_raw_os_error(system & !SYSTEM),
            _ => {
                // SAFETY: gives a text that is never freed.
                let text = unsafe { CStr::from_ptr((self.text)(code)) };
                io::Error::other(text.to_string_lossy().into_owned())
            }
        }
    }
}

fn code(result: c_int) -> Result<(), c_int> {
    if result == 0 { Ok(()) } else { Err(result) }
}

/// # Safety
/// `handle` is of a loaded library, and `F` is the type of the function of that name.
unsafe fn symbol<F: Copy>(handle: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: as the caller says; the name ends with NUL.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if address.is_null() {
        return Err(loader_error());
    }
    // SAFETY: not null, and a function of that type, says the caller.
    Ok(unsafe { std::mem::transmute_copy(&address) })
}

fn loader_error() -> String {
    // SAFETY: takes nothing; gives null or a text that lives until the next call on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: not null, so a text that ends with NUL.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
