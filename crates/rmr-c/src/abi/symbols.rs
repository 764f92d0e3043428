//! The table of `rmr_symtab.h`.

use crate::boundary::boundary;
use libc::{c_char, c_int, c_uint, c_void};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io::Write as _;
use std::ptr::null_mut;

/// The class of numbers.
const NUMBERS: c_uint = 0;

/// What `rmr_sym_alloc` gives.
#[derive(Default)]
pub struct Table {
    entries: HashMap<Key, *mut c_void>,
    deleted: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Name(c_uint, CString),
}

impl Key {
    /// # Safety
    /// `name` is null, a text that ends with NUL, or, of class 0, the address of a number.
    unsafe fn of(name: *const c_char, class: c_uint) -> Option<Self> {
        if name.is_null() {
            return None;
        }
        Some(if class == NUMBERS {
            // SAFETY: the address of a number, says the caller.
            Self::Number(unsafe { name.cast::<u64>().read_unaligned() })
        } else {
            // SAFETY: a text, says the caller.
            Self::Name(class, unsafe { CStr::from_ptr(name) }.to_owned())
        })
    }

    fn is_of(&self, class: c_uint) -> bool {
        match self {
            Self::Number(_) => class == NUMBERS,
            Self::Name(its, _) => *its == class,
        }
    }
}

type Visit =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_char, *mut c_void, *mut c_void);

/// The table behind C's pointer, for as long as no callback runs.
///
/// # Safety
/// Null or from `rmr_sym_alloc` and not freed; no other thread uses it now.
unsafe fn table<'a>(pointer: *mut c_void) -> Option<&'a mut Table> {
    // SAFETY: as the caller says.
    unsafe { pointer.cast::<Table>().as_mut() }
}

#[unsafe(no_mangle)]
pub extern "C" fn rmr_sym_alloc(size: c_int) -> *mut c_void {
    /// A wrong guess must not cost all memory: the table grows.
    const MOST_RESERVED: usize = 4096;
    boundary(null_mut(), || {
        let mut table = Table::default();
        table
            .entries
            .reserve(super::length(size).min(MOST_RESERVED));
        Box::into_raw(Box::new(table)).cast()
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_free(pointer: *mut c_void) {
    boundary((), || {
        if !pointer.is_null() {
            // SAFETY: from `rmr_sym_alloc`, and freed once, says the header.
            drop(unsafe { Box::from_raw(pointer.cast::<Table>()) });
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_clear(pointer: *mut c_void) {
    boundary((), || {
        // SAFETY: as the header says.
        if let Some(table) = unsafe { table(pointer) } {
            table.deleted += table.entries.len() as u64;
            table.entries.clear();
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_put(
    pointer: *mut c_void,
    name: *const c_char,
    class: c_uint,
    val: *mut c_void,
) -> c_int {
    boundary(-1, || {
        // SAFETY: as the header says; class 0 is taken as 1, so the name is a text.
        let (table, key) = unsafe { (table(pointer), Key::of(name, class.max(1))) };
        put(table, key, val)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_map(pointer: *mut c_void, key: u64, val: *mut c_void) -> c_int {
    boundary(-1, || {
        // SAFETY: as the header says.
        put(unsafe { table(pointer) }, Some(Key::Number(key)), val)
    })
}

fn put(table: Option<&mut Table>, key: Option<Key>, val: *mut c_void) -> c_int {
    let (Some(table), Some(key)) = (table, key) else {
        return -1;
    };
    c_int::from(table.entries.insert(key, val).is_none())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_get(
    pointer: *mut c_void,
    name: *const c_char,
    class: c_uint,
) -> *mut c_void {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let (table, key) = unsafe { (table(pointer), Key::of(name, class)) };
        get(table, key)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_pull(pointer: *mut c_void, key: u64) -> *mut c_void {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        get(unsafe { table(pointer) }, Some(Key::Number(key)))
    })
}

fn get(table: Option<&mut Table>, key: Option<Key>) -> *mut c_void {
    let found = table
        .zip(key)
        .and_then(|(table, key)| table.entries.get(&key).copied());
    found.unwrap_or(null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_del(pointer: *mut c_void, name: *const c_char, class: c_uint) {
    boundary((), || {
        // SAFETY: as the header says.
        let (table, key) = unsafe { (table(pointer), Key::of(name, class)) };
        delete(table, key);
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_ndel(pointer: *mut c_void, key: u64) {
    boundary((), || {
        // SAFETY: as the header says.
        delete(unsafe { table(pointer) }, Some(Key::Number(key)));
    });
}

fn delete(table: Option<&mut Table>, key: Option<Key>) {
    if let (Some(table), Some(key)) = (table, key)
        && table.entries.remove(&key).is_some()
    {
        table.deleted += 1;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_foreach_class(
    pointer: *mut c_void,
    class: c_uint,
    user_fun: Option<Visit>,
    user_data: *mut c_void,
) {
    boundary((), || {
        // SAFETY: as the header says.
        let (Some(table), Some(visit)) = (unsafe { table(pointer) }, user_fun) else {
            return;
        };
        // The function may change the table: it is given what is there now.
        let entries: Vec<_> = table
            .entries
            .iter()
            .filter(|(key, _)| key.is_of(class))
            .map(|(key, val)| (key.clone(), *val))
            .collect();
        for (key, val) in &entries {
            let name = match key {
                Key::Name(_, name) => name.as_ptr(),
                Key::Number(_) => std::ptr::null(),
            };
            let entry = std::ptr::from_ref(key).cast_mut().cast();
            // SAFETY: the function takes these, says the header; the table is not borrowed now.
            unsafe { visit(pointer, entry, name, *val, user_data) };
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_dump(pointer: *mut c_void) {
    boundary((), || {
        // SAFETY: as the header says.
        if let Some(table) = unsafe { table(pointer) } {
            for (key, val) in &table.entries {
                match key {
                    Key::Name(_, name) => {
                        say(format_args!(
                            "symtab dump: key={} val@={val:p}",
                            name.to_string_lossy()
                        ));
                    }
                    Key::Number(number) => {
                        say(format_args!("symtab dump: nkey={number} val@={val:p}"));
                    }
                }
            }
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_sym_stats(pointer: *mut c_void, level: c_int) {
    /// From this level on entries are listed.
    const LISTS: c_int = 4;
    // SAFETY: as the header says.
    if let Some(table) = unsafe { table(pointer) } {
        if level >= LISTS {
            // SAFETY: the contract is the same.
            unsafe { rmr_sym_dump(pointer) };
        }
        let (entries, room) = (table.entries.len(), table.entries.capacity());
        let deleted = table.deleted;
        say(format_args!(
            "symtab stats: {room}(size) {entries}(inhab) {deleted}(dead)"
        ));
    }
}

/// Writes a line to standard error, as the original does; one that cannot be written is dropped.
fn say(line: fmt::Arguments<'_>) {
    let _dropped = writeln!(std::io::stderr(), "{line}");
}
