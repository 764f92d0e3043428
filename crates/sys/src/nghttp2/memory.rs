//! Where nghttp2's memory comes from: a few lists of free blocks for each thread, filled from Rust's
//! allocator.
//!
//! The library takes and frees half a dozen small blocks for each stream. Here a block that is freed is
//! the next to be handed out, whichever session it is for: it is still in the cache, and a steady flow of
//! calls asks the allocator for nothing. A block may be freed on another thread than it was taken on; it
//! is then that thread's.

use libnghttp2_sys as ffi;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// What the library can use of a block of the smallest class; each class is twice the one before.
const SMALLEST: usize = 64;
/// 64 to 2048 octets: all that a stream needs.
const CLASSES: usize = 6;
/// The class of blocks that are not kept.
const NONE: usize = usize::MAX;
/// Octets kept free in each class, a thread.
const KEPT: usize = 64 << 10;

/// What stands in front of each block. Its size keeps what follows aligned for anything.
#[repr(C, align(16))]
struct Head {
    class: usize,
    /// Octets that the library may use; in a free block, the address of the next free one.
    size_or_next: usize,
}

struct FreeList {
    first: Cell<*mut Head>,
    left: Cell<usize>,
}

struct Pool([FreeList; CLASSES]);

thread_local! {
    static POOL: Pool = const { Pool::new() };
}

/// The library's view of it. Sessions copy it.
pub(super) fn memory() -> ffi::nghttp2_mem {
    ffi::nghttp2_mem {
        mem_user_data: ptr::null_mut(),
        malloc: Some(take),
        free: Some(give),
        calloc: Some(take_zeroed),
        realloc: Some(resize),
    }
}

impl Pool {
    const fn new() -> Self {
        let mut lists = [const { FreeList::new(0) }; CLASSES];
        let mut class = 0;
        while class < CLASSES {
            lists[class] = FreeList::new(KEPT / usable(class));
            class += 1;
        }
        Self(lists)
    }
}

impl FreeList {
    const fn new(left: usize) -> Self {
        Self {
            first: Cell::new(ptr::null_mut()),
            left: Cell::new(left),
        }
    }

    fn pop(&self) -> Option<NonNull<Head>> {
        let block = NonNull::new(self.first.get())?;
        // SAFETY: blocks on the list are live, owned by it, and hold the next one's address.
        let next = unsafe { block.as_ref().size_or_next };
        self.first.set(ptr::with_exposed_provenance_mut(next));
        self.left.set(self.left.get() + 1);
        Some(block)
    }

    /// Whether it kept the block.
    fn push(&self, mut block: NonNull<Head>) -> bool {
        let Some(left) = self.left.get().checked_sub(1) else {
            return false;
        };
        self.left.set(left);
        // SAFETY: the block is live and nobody's but the list's from here on.
        unsafe { block.as_mut().size_or_next = self.first.get().expose_provenance() };
        self.first.set(block.as_ptr());
        true
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (class, list) in self.0.iter().enumerate() {
            while let Some(block) = list.pop() {
                // SAFETY: taken off the list: it is nobody's.
                unsafe { release(block, usable(class)) };
            }
        }
    }
}

/// What the library can use of a block of this class.
const fn usable(class: usize) -> usize {
    SMALLEST << class
}

/// The smallest class that has so much; [`NONE`] when none has.
const fn class_for(size: usize) -> usize {
    if size <= SMALLEST {
        return 0;
    }
    // The number of bits in which the largest offset differs from the smallest class's.
    let class = ((size - 1) / SMALLEST).ilog2() as usize + 1;
    if class < CLASSES { class } else { NONE }
}

fn layout(size: usize) -> Option<Layout> {
    let whole = size.checked_add(size_of::<Head>())?;
    Layout::from_size_align(whole, align_of::<Head>()).ok()
}

fn acquire(size: usize) -> Option<NonNull<Head>> {
    let class = class_for(size);
    let kept = |pool: &Pool| pool.0.get(class).and_then(FreeList::pop);
    // A thread that ends may have lost its pool before its last session.
    let block = POOL.try_with(kept).ok().flatten();
    let size = if class == NONE { size } else { usable(class) };
    let block = match block {
        Some(block) => block,
        // SAFETY: the layout is not empty: it has a head.
        None => NonNull::new(unsafe { alloc(layout(size)?) }.cast::<Head>())?,
    };
    // SAFETY: a live block with room for a head, which is nobody's yet.
    unsafe {
        block.write(Head {
            class,
            size_or_next: size,
        });
    }
    Some(block)
}

/// # Safety
/// The block came from [`alloc`] with this size and is nobody's.
unsafe fn release(block: NonNull<Head>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: by this function's contract.
        unsafe { dealloc(block.as_ptr().cast(), layout) };
    }
}

/// What the library is given of a block: all behind the head.
fn behind(block: Option<NonNull<Head>>) -> *mut c_void {
    block.map_or(ptr::null_mut(), |block| {
        // SAFETY: every block has more than its head.
        unsafe { block.add(1) }.as_ptr().cast()
    })
}

/// # Safety
/// `given` came from [`behind`] and was not given back.
unsafe fn in_front(given: NonNull<c_void>) -> NonNull<Head> {
    // SAFETY: by this function's contract a head stands in front.
    unsafe { given.cast::<Head>().sub(1) }
}

unsafe extern "C" fn take(size: usize, _: *mut c_void) -> *mut c_void {
    behind(acquire(size))
}

unsafe extern "C" fn take_zeroed(count: usize, size: usize, _: *mut c_void) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        return ptr::null_mut();
    };
    let given = behind(acquire(size));
    if !given.is_null() {
        // SAFETY: the block has at least so many octets and is nobody else's.
        unsafe { given.write_bytes(0, size) };
    }
    given
}

unsafe extern "C" fn give(given: *mut c_void, _: *mut c_void) {
    let Some(given) = NonNull::new(given) else {
        return;
    };
    // SAFETY: the library gives back what it was given, once.
    let block = unsafe { in_front(given) };
    // SAFETY: the head of a live block.
    let Head {
        class,
        size_or_next: size,
    } = unsafe { block.read() };
    let keep = |pool: &Pool| pool.0.get(class).is_some_and(|list| list.push(block));
    if !POOL.try_with(keep).unwrap_or(false) {
        // SAFETY: taken with this size, and no list has it.
        unsafe { release(block, size) };
    }
}

unsafe extern "C" fn resize(given: *mut c_void, size: usize, user: *mut c_void) -> *mut c_void {
    let Some(old) = NonNull::new(given) else {
        // SAFETY: asks for nothing.
        return unsafe { take(size, user) };
    };
    // SAFETY: the library gives what it was given; the head of a live block.
    let have = unsafe { in_front(old).as_ref() }.size_or_next;
    if size <= have {
        return given;
    }
    let new = behind(acquire(size));
    if !new.is_null() {
        // SAFETY: both blocks are live, different, and have at least `have` octets; the old one is
        // given back once.
        unsafe {
            ptr::copy_nonoverlapping(given.cast::<u8>(), new.cast::<u8>(), have);
            give(given, user);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: *mut c_void = ptr::null_mut();

    #[test]
    fn classes_fit_what_they_are_for() {
        for size in 0..=usable(CLASSES - 1) {
            let class = class_for(size);
            assert!(size <= usable(class), "{size}");
            assert!(class == 0 || size > usable(class - 1), "{size}");
        }
        assert_eq!(class_for(usable(CLASSES - 1) + 1), NONE);
        assert_eq!(class_for(usize::MAX), NONE);
    }

    #[test]
    fn what_was_given_back_last_comes_first() {
        for size in [0, 1, 64, 65, 2048] {
            // SAFETY: each block is written within its size and given back once.
            unsafe {
                let (first, second) = (take(size, NOBODY), take(size, NOBODY));
                assert_ne!(first, second);
                assert_eq!(first as usize % 16, 0);
                first.write_bytes(0xff, size);
                second.write_bytes(0xff, size);
                give(first, NOBODY);
                give(second, NOBODY);
                assert_eq!(take(size, NOBODY), second);
                let zeroed = take_zeroed(1, size, NOBODY);
                assert_eq!(zeroed, first);
                let octets = std::slice::from_raw_parts(zeroed.cast::<u8>(), size);
                assert!(octets.iter().all(|octet| *octet == 0));
                give(first, NOBODY);
                give(second, NOBODY);
            }
        }
    }

    #[test]
    fn a_block_that_grows_keeps_its_octets() {
        // SAFETY: as above.
        unsafe {
            let mut block = resize(NOBODY, 10, NOBODY);
            for size in [10, 100, 1000, 10_000, 100_000] {
                block = resize(block, size, NOBODY);
                let octets = std::slice::from_raw_parts_mut(block.cast::<u8>(), size);
                assert!(size == 10 || octets[..10] == [7; 10], "{size}");
                octets.fill(7);
            }
            assert_eq!(resize(block, 5, NOBODY), block);
            give(block, NOBODY);
        }
    }

    #[test]
    fn more_than_is_kept_goes_back_and_too_much_is_refused() {
        // SAFETY: as above.
        unsafe {
            let blocks: Vec<_> = (0..2 * KEPT / 64).map(|_| take(64, NOBODY)).collect();
            blocks.into_iter().for_each(|block| give(block, NOBODY));
            POOL.with(|pool| assert_eq!(pool.0[0].left.get(), 0));
            assert!(take(usize::MAX - 8, NOBODY).is_null());
            assert!(take_zeroed(usize::MAX, 2, NOBODY).is_null());
            give(NOBODY, NOBODY);
        }
    }

    #[test]
    fn a_block_may_end_on_another_thread() {
        // SAFETY: as above.
        let block = unsafe { take(100, NOBODY) } as usize;
        let there = std::thread::spawn(move || {
            // SAFETY: as above; the address is that of the block.
            unsafe { give(ptr::with_exposed_provenance_mut(block), NOBODY) };
        });
        there.join().unwrap();
    }
}
