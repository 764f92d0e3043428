//! A hundred thousand broken conversations: none panics, loops or takes more memory than the
//! limits say.

#![expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; only distances matter"
)]
#![expect(
    unsafe_code,
    reason = "counting what is allocated takes a global allocator"
)]

#[path = "native/conversation.rs"]
mod conversation;
#[path = "native/pair.rs"]
#[expect(dead_code, reason = "shared with the tests of the connection")]
mod pair;

use conversation::{commands, config, conversation};
use corewire_wire::native::{Config, Connection};
use corewire_wire::{Core, Input};
use pair::{Pair, feed, outputs, transmitted};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

struct Measuring;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(octets: isize) {
    LIVE.with(|live| {
        live.set(live.get() + octets);
        PEAK.with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

/// Numbers that look random and are the same each time (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % limit.max(1)
    }
}

const INTERESTING: [u32; 8] = [0, 1, 3, 0x7f, 0xff, 0x1_0000, 0x0100_0000, u32::MAX];

/// Where the frames of a transcript begin.
fn frames(octets: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 4;
    while let Some(length) = octets.get(at..at + 4) {
        starts.push(at);
        at += 12 + u32::from_le_bytes(length.try_into().unwrap()) as usize;
    }
    starts
}

fn mutate(octets: &mut Vec<u8>, starts: &[usize], numbers: &mut Numbers) {
    // Half of the changes hit a header: bodies are opaque.
    let at = if numbers.below(2) == 0 {
        starts[numbers.below(starts.len())] + numbers.below(14)
    } else {
        numbers.below(octets.len())
    };
    let at = at.min(octets.len().saturating_sub(1));
    match numbers.below(7) {
        0 => octets[at] ^= 1 << numbers.below(8),
        1 => octets[at] = numbers.next().to_le_bytes()[0],
        2 => {
            let value = INTERESTING[numbers.below(INTERESTING.len())].to_le_bytes();
            let end = (at + 4).min(octets.len());
            octets[at..end].copy_from_slice(&value[..end - at]);
        }
        3 => octets.truncate(at + 1),
        4 => {
            let end = (at + numbers.below(40)).min(octets.len());
            octets.drain(at..end.max(at + 1).min(octets.len() - 1).max(at));
        }
        5 => {
            // A frame comes once more, or at another time.
            let from = starts[numbers.below(starts.len())].min(octets.len());
            let to = starts[numbers.below(starts.len())].min(octets.len());
            let piece = octets[from.min(to)..from.max(to)].to_vec();
            let into = starts[numbers.below(starts.len())].min(octets.len());
            octets.splice(into..into, piece);
        }
        _ => {
            let piece: Vec<u8> = (0..numbers.below(30)).map(|n| (n * 37) as u8).collect();
            octets.splice(at..at, piece);
        }
    }
}

/// Feeds one broken conversation to its receiver and ends the connection; gives the fault's name.
fn suffer(
    core: &mut Connection,
    octets: &[u8],
    chunk: usize,
    now: std::time::Instant,
) -> Option<&'static str> {
    let mut buffer = bytes::BytesMut::new();
    let fed = feed(core, &mut buffer, octets, chunk, now);
    let told = outputs(core);
    assert!(told.len() <= octets.len() / 12 + 1);
    core.handle_timeout(now + Duration::from_secs(3600));
    transmitted(core, now);
    assert_eq!(core.handle_event(now, Input::Closed), Ok(()));
    outputs(core);
    assert_eq!(core.in_flight(), 0);
    fed.err().map(|fault| fault.what)
}

#[test]
fn broken_conversations_do_no_harm() {
    let bound = Config::default();
    let bound = (bound.connection_credit + bound.max_message + (1 << 20)) as isize;
    let mut numbers = Numbers(0x5EED);
    let mut faults = BTreeSet::new();
    for (unit, rounds) in [(30, 95_000), (1000, 5_000)] {
        let (up, down) = conversation(unit);
        let (up_frames, down_frames) = (frames(&up), frames(&down));
        for round in 0..rounds {
            let to_server = round % 4 != 0;
            let (mut octets, starts) = if to_server {
                (up.clone(), &up_frames)
            } else {
                (down.clone(), &down_frames)
            };
            for _ in 0..=numbers.below(3) {
                mutate(&mut octets, starts, &mut numbers);
            }
            let before = LIVE.with(Cell::get);
            PEAK.with(|peak| peak.set(before));
            let mut pair = Pair::with(config(), config());
            let core = if to_server {
                &mut pair.server
            } else {
                for turn in 0..4 {
                    commands(&mut pair, turn, unit);
                }
                transmitted(&mut pair.client, pair.now);
                &mut pair.client
            };
            let chunk = if numbers.below(4) == 0 {
                100
            } else {
                usize::MAX
            };
            let fault = suffer(core, &octets, chunk, pair.now);
            drop(pair);
            let peak = PEAK.with(Cell::get) - before;
            faults.insert(fault);
            assert!(peak < bound, "{peak} octets in round {round}");
        }
    }
    // The changes reach deep, and some do nothing that can be told.
    assert!(faults.len() > 30 && faults.contains(&None), "{faults:?}");
}
