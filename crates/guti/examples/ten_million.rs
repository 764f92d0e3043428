//! Allocates ten million GUTIs and says, million by million, how long it took and how much memory
//! the process holds; then gives half of them back and allocates those again.
//!
//! ```sh
//! cargo run --release -p corewire-guti --example ten_million
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

use std::time::Instant;

use corewire_guti::{Allocator, Guami};

const MILLION: usize = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let allocator = Allocator::new(Guami::default())?;
    // The list of the GUTIs to give back is this program's, not the allocator's: made before, and
    // touched, so that what grows from here on is the allocator.
    let mut tmsis = vec![u32::MAX; 10 * MILLION];
    let before = resident_kib()?;
    println!(
        "allocator: {} MiB at most; process before: {} MiB",
        allocator.memory() >> 20,
        before >> 10
    );

    for (i, million) in tmsis.chunks_mut(MILLION).enumerate() {
        let start = Instant::now();
        for tmsi in million {
            *tmsi = allocator.allocate()?.tmsi().value();
        }
        let each = start.elapsed() / MILLION as u32;
        let grown = resident_kib()? - before;
        println!(
            "{:>2} million allocated: {each:?} each, {grown} KiB grown",
            i + 1
        );
    }

    let start = Instant::now();
    for &tmsi in tmsis.iter().step_by(2) {
        let guti = corewire_guti::Guti::new(allocator.guami(), tmsi.try_into()?);
        allocator.deallocate(&guti)?;
    }
    let each = start.elapsed() / (5 * MILLION) as u32;
    println!("every second given back: {each:?} each");

    let start = Instant::now();
    for tmsi in tmsis.iter_mut().step_by(2) {
        *tmsi = allocator.allocate()?.tmsi().value();
    }
    let each = start.elapsed() / (5 * MILLION) as u32;
    println!(
        "allocated again: {each:?} each, {} KiB grown",
        resident_kib()? - before
    );

    tmsis.sort_unstable();
    tmsis.dedup();
    println!("{} distinct TMSIs", tmsis.len());
    if tmsis.len() != 10 * MILLION {
        return Err("two GUTIs were the same".into());
    }
    Ok(())
}

/// Resident memory of this process, in KiB.
fn resident_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
