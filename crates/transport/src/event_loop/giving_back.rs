//! Memory goes back to the system when it was held for peers and is not any more.
//!
//! The allocator keeps what was freed, and a loop keeps buffers: right for what comes next, wrong after a
//! flood. [`ProcessMemory`] tells when much was held and little is; then a thread of its own tells the
//! allocator, once for the process and not more often than every [`PAUSE`].

use super::{Due, EventLoop};
use corewire_driver::{after, clock};
use corewire_wire::memory::ProcessMemory;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long it takes at least from one time to the next.
const PAUSE: Duration = Duration::from_secs(5);

/// When it was done last, in this process.
static LAST: Mutex<Option<Instant>> = Mutex::new(None);

impl EventLoop {
    /// Looks whether there is much to give back. Called when connections end and when something is due:
    /// seldom enough.
    pub(super) fn give_memory_back(&mut self) {
        if self.gives_back_later || !self.memory_totals().any(ProcessMemory::has_fallen) {
            return;
        }
        // Others may look at it at the same time: they find the same, or that it was done.
        let mut last = LAST
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = clock();
        if let Some(last) = *last
            && now.duration_since(last) < PAUSE
        {
            self.gives_back_later = true;
            self.timers.insert(after(last, PAUSE), Due::GiveBack);
            return;
        }
        let mut fallen = false;
        for total in self.memory_totals() {
            fallen |= total.take_fallen();
        }
        if !fallen {
            return;
        }
        *last = Some(now);
        drop(last);
        self.buffers.shrink();
        // It takes milliseconds: the loop has others to serve. Where no thread can be had it is left.
        let _left = std::thread::Builder::new()
            .name("corewire-memory".into())
            .spawn(|| {
                let _whether = corewire_sys::release_free_memory();
            });
    }

    /// The time has come to look again.
    pub(super) fn give_back_now(&mut self) {
        self.gives_back_later = false;
        self.give_memory_back();
    }

    fn memory_totals(&self) -> impl Iterator<Item = &ProcessMemory> {
        self.listeners.iter().flatten().flat_map(|accepting| {
            let options = &accepting.detector.options;
            [
                &options.http2.process_memory,
                &options.native.process_memory,
            ]
        })
    }
}
