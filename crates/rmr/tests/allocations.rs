//! Looking where a message goes allocates nothing, however it is routed.

#![expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; nothing waits"
)]
#![expect(unsafe_code, reason = "counting allocations takes a global allocator")]

use corewire_rmr::{Identity, Reply, Router, Settings, TableLimits, TableSource};
use corewire_wire::rmr::message_type::TABLE_DATA;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TABLE: &[u8] = b"newrt|start\nmse|1|-1|a:1\nmse|2|-1|a:1,b:1;c:1\nmse|3|-1|%meid\n\
    mme_ar|e2:1|m1\nnewrt|end\n";

#[test]
fn looking_allocates_nothing() {
    let identity = Identity::named("me:1").unwrap();
    let router = Arc::new(Router::new(identity, TableLimits::default()));
    let mut source = TableSource::new(&Settings::default(), Arc::clone(&router), Instant::now());
    let look = || {
        let mut found = 0;
        for message_type in 0..4 {
            let table = router.table();
            if let Ok(targets) = table.targets(message_type, 7, b"m1") {
                for endpoint in targets {
                    found += router.endpoints().get(endpoint).name().len();
                }
            }
        }
        found
    };
    // A thread's first look makes its place in the list of readers.
    assert_eq!(look(), 0);
    source.handle_message(Instant::now(), TABLE_DATA, TABLE, Reply(0));
    let before = COUNT.get();
    for _ in 0..1000 {
        assert_eq!(look(), 3 + 6 + 4);
    }
    assert_eq!(COUNT.get(), before);
}
