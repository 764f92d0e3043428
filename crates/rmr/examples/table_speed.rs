//! How long a lookup takes, how long a table of many entries, and what replacing one under traffic
//! costs who sends.
//!
//! ```sh
//! cargo run --release -p corewire-rmr --example table_speed -- [ENTRIES] [SWAPS A SECOND] [SECONDS]
//! ```
//!
//! Lookups are medians of rounds, the last two lines means of rounds that alternate. The sender here
//! does nothing but lookups, so that a sender of messages, for whom each is a small part, pays a
//! smaller share.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use corewire_rmr::{Action, Identity, Reply, Router, Settings, TableLimits, TableSource};
use corewire_wire::rmr::message_type::TABLE_DATA;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| {
        arguments.next().map_or(default, |argument| {
            argument
                .parse()
                .unwrap_or_else(|_| panic!("{argument:?}: a number expected"))
        })
    };
    let (entries, swaps, seconds) = (number(10_000), number(10), number(3));
    let router = Arc::new(Router::new(
        Identity::named("bench:4560").expect("a short name"),
        TableLimits::default(),
    ));
    let now = Instant::now();
    let mut source = TableSource::new(&Settings::default(), Arc::clone(&router), now);
    let text = text(entries);
    println!("{entries} entries, {} octets of text", text.len());

    load(&mut source, &text);
    median("read and make live", 21, "ms", || {
        let begun = Instant::now();
        load(&mut source, &text);
        begun.elapsed().as_secs_f64() * 1e3
    });

    let cases: [(&str, Key); 4] = [
        ("found, one endpoint", |at| ((at * 2) as i32, -1)),
        ("found, groups that take turns", |at| {
            ((at * 2 + 1) as i32, -1)
        }),
        ("found by type after subscription", |at| {
            ((at * 2) as i32, 77)
        }),
        ("not found", |at| (-1 - at as i32, 77)),
    ];
    for (name, key) in cases {
        median(&format!("lookup: {name}"), 11, "ns", || {
            lookups(&router, entries, key, 1_000_000)
        });
    }
    median("lookup: always the same", 11, "ns", || {
        lookups(&router, 1, |_| (4, -1), 1_000_000)
    });

    if seconds > 0 && swaps > 0 {
        swapping(&router, &mut source, &text, entries, swaps, seconds);
    }
}

/// Half of the entries have one endpoint, half have two groups of two; all are for one of two
/// senders, as a route manager writes them.
fn text(entries: u32) -> String {
    let mut text = "newrt | start | bench\n".to_owned();
    for at in 0..entries {
        let host = |n: u32| format!("service-ricplt-xapp{}-rmr.ricxapp:4560", (at + n) % 97);
        let groups = match at % 2 {
            0 => host(0),
            _ => format!("{},{};{},{}", host(1), host(2), host(3), host(4)),
        };
        let _ = writeln!(text, "mse|{at},other:4560,bench:4560|-1|{groups}");
    }
    let _ = writeln!(text, "newrt | end | {entries}");
    text
}

fn load(source: &mut TableSource, text: &str) {
    source.handle_message(Instant::now(), TABLE_DATA, text.as_bytes(), Reply(0));
    let mut taken = false;
    while let Some(action) = source.poll() {
        if let Action::Acknowledge { state, .. } = action {
            assert!(state.taken, "{state}");
            taken = true;
        }
    }
    assert!(taken);
}

/// Message type and subscription of the n-th lookup.
type Key = fn(u32) -> (i32, i32);

/// Nanoseconds a lookup, reading the live table each time as a sender does.
fn lookups(router: &Router, entries: u32, key: Key, count: u32) -> f64 {
    let begun = Instant::now();
    let mut sum = 0;
    let mut at: u32 = 1;
    for _ in 0..count {
        // Far jumps, so that the table's memory counts as it does with many types.
        at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (message_type, sub_id) = key((at >> 8) % entries.div_ceil(2));
        let table = router.table();
        if let Ok(targets) = table.targets(message_type, sub_id, b"") {
            for endpoint in targets {
                sum += endpoint.index();
            }
        }
    }
    black_box(sum);
    begun.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

/// Lookups a second of one sender while tables are replaced and while they are not.
fn swapping(
    router: &Arc<Router>,
    source: &mut TableSource,
    text: &str,
    entries: u32,
    swaps: u32,
    seconds: u32,
) {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut rates = [Vec::new(), Vec::new()];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                lookups(router, entries, |at| ((at * 2) as i32, -1), 10_000);
                done.fetch_add(10_000, Ordering::Relaxed);
                // Lets the other thread run where both are pinned to one CPU.
                std::thread::yield_now();
            }
        });
        for round in 0..seconds * 4 {
            // Where a table lies in memory makes a tenth of a lookup, and tables alternate between
            // two places: half of the quiet rounds have either.
            for _ in 0..=round / 2 % 2 {
                load(source, text);
            }
            let (begun, before) = (Instant::now(), done.load(Ordering::Relaxed));
            let end = begun + Duration::from_millis(500);
            let swapping = round % 2 == 0;
            let mut next = begun;
            while Instant::now() < end {
                if swapping {
                    load(source, text);
                    next += Duration::from_secs(1) / swaps;
                } else {
                    next = end;
                }
                std::thread::sleep(next.min(end).saturating_duration_since(Instant::now()));
            }
            let rate =
                (done.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64();
            rates[usize::from(swapping)].push(rate / 1e6);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let [quiet, swapped] = rates.map(|all| all.iter().sum::<f64>() / all.len() as f64);
    println!("one sender, table as it is     {quiet:8.2} M lookups/s");
    println!(
        "one sender, {swaps} tables a second {swapped:8.2} M lookups/s, {:.1} % less",
        (1.0 - swapped / quiet) * 100.0
    );
}

fn median(name: &str, rounds: usize, unit: &str, mut round: impl FnMut() -> f64) {
    round();
    let mut all: Vec<_> = (0..rounds).map(|_| round()).collect();
    all.sort_by(f64::total_cmp);
    println!(
        "{name:<34} {:8.2} {unit} [{:.2}..{:.2}]",
        all[rounds / 2],
        all[0],
        all[rounds - 1]
    );
}
