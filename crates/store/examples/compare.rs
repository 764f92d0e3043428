//! The store beside `redb`, under the same load and the same faults (docs/stores.md).
//!
//! ```sh
//! cargo run --release -p corewire-store --example compare -- /path/on/a/disk
//! cargo run --release -p corewire-store --example compare -- fill /mount/of/a/small/tmpfs
//! cargo run --release -p corewire-store --example compare -- flip /any/folder
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

use bytes::Bytes;
use corewire_store::{Journal, Options};
use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("values");
/// Names that are written.
const NAMES: usize = 100_000;
/// Bytes of a value: about a UE's context.
const VALUE: usize = 1024;
/// How long each load lasts.
const LOAD: Duration = Duration::from_secs(3);
/// Callers at a time, in the loads with many.
const MANY: usize = 16;

type Values = Arc<Mutex<HashMap<Bytes, Bytes>>>;

/// Something that acknowledges changes.
trait Keeper: Sync {
    fn put(&self, name: &[u8], value: &[u8]) -> Result<(), String>;
}

struct Own {
    journal: Journal,
    held: Values,
    waits: bool,
}

impl Own {
    fn open(folder: &Path, sync_interval: Duration) -> (Self, corewire_store::Recovered) {
        let held = Values::default();
        let (all, apply) = (Arc::clone(&held), Arc::clone(&held));
        let mut options = Options::default();
        options.sync_interval = sync_interval;
        let (journal, recovered) = Journal::open(
            folder,
            "own",
            options,
            move |name, value| {
                let mut held = apply.lock().expect("the map");
                match value {
                    Some(value) => {
                        held.insert(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value))
                    }
                    None => held.remove(name),
                };
                true
            },
            Box::new(move |give| {
                let held = all.lock().expect("the map").clone();
                held.iter().for_each(|(name, value)| give(name, value));
            }),
            |_| {},
        )
        .expect("a store");
        let waits = sync_interval.is_zero();
        let own = Self {
            journal,
            held,
            waits,
        };
        (own, recovered)
    }
}

impl Keeper for Own {
    fn put(&self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let mut held = self.held.lock().expect("the map");
        let (name, value) = (Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
        let change = self.journal.put(name.clone(), value.clone());
        let change = change.map_err(|error| error.to_string())?;
        held.insert(name, value);
        drop(held);
        if self.waits {
            self.journal.wait(change).map_err(|error| error.to_string())
        } else {
            Ok(())
        }
    }
}

/// A commit for each change.
struct Redb(Database);

impl Redb {
    fn open(folder: &Path) -> Result<Self, String> {
        let path = folder.join("redb.redb");
        let database = Database::create(path).map_err(|error| error.to_string())?;
        Ok(Self(database))
    }

    fn write(&self, changes: &[(Vec<u8>, Vec<u8>)]) -> Result<(), redb::Error> {
        let mut write = self.0.begin_write()?;
        write.set_durability(Durability::Immediate)?;
        {
            let mut table = write.open_table(TABLE)?;
            for (name, value) in changes {
                table.insert(name.as_slice(), value.as_slice())?;
            }
        }
        write.commit()?;
        Ok(())
    }

    fn read(&self) -> Result<HashMap<Bytes, Bytes>, String> {
        let read = self.0.begin_read().map_err(|error| error.to_string())?;
        let table = read.open_table(TABLE).map_err(|error| error.to_string())?;
        let mut held = HashMap::new();
        for entry in table.iter().map_err(|error| error.to_string())? {
            let (name, value) = entry.map_err(|error| error.to_string())?;
            let (name, value) = (name.value(), value.value());
            held.insert(Bytes::copy_from_slice(name), Bytes::copy_from_slice(value));
        }
        Ok(held)
    }
}

impl Keeper for Redb {
    fn put(&self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let change = [(name.to_vec(), value.to_vec())];
        self.write(&change).map_err(|error| error.to_string())
    }
}

/// What comes while a commit runs goes into the next one together.
struct Grouped {
    redb: Redb,
    group: Mutex<Group>,
    turn: Condvar,
}

#[derive(Default)]
struct Group {
    changes: Vec<(Vec<u8>, Vec<u8>)>,
    begun: u64,
    done: u64,
    is_busy: bool,
}

impl Keeper for Grouped {
    fn put(&self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let mut group = self.group.lock().expect("the group");
        group.changes.push((name.to_vec(), value.to_vec()));
        let own = group.begun + 1;
        while group.done < own {
            if group.is_busy {
                group = self.turn.wait(group).expect("the group");
                continue;
            }
            let changes = std::mem::take(&mut group.changes);
            group.begun += 1;
            group.is_busy = true;
            let number = group.begun;
            drop(group);
            let written = self.redb.write(&changes);
            group = self.group.lock().expect("the group");
            group.is_busy = false;
            group.done = number;
            self.turn.notify_all();
            written.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn name(number: usize) -> Vec<u8> {
    format!("realm/amf/records/5g-guti-{number:09}").into_bytes()
}

fn load(title: &str, keeper: &dyn Keeper, callers: usize) {
    let began = Instant::now();
    let mut waits: Vec<Duration> = std::thread::scope(|scope| {
        let each: Vec<_> = (0..callers)
            .map(|caller| {
                scope.spawn(move || {
                    let (mut waits, mut number) = (Vec::new(), caller);
                    let value = vec![7; VALUE];
                    while began.elapsed() < LOAD {
                        let asked = Instant::now();
                        // Any order: what is next is far from what was last.
                        let place = number.wrapping_mul(7919) % NAMES;
                        keeper.put(&name(place), &value).expect("a disk with room");
                        waits.push(asked.elapsed());
                        number += callers;
                    }
                    waits
                })
            })
            .collect();
        let all = each.into_iter();
        all.flat_map(|one| one.join().expect("a caller")).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    waits.sort_unstable();
    let at = |part: f64| waits[((waits.len() - 1) as f64 * part) as usize];
    println!(
        "{title:<44} {callers:>2} callers {:>9.0}/s  p50 {:>9.1?}  p99 {:>9.1?}  p99.9 {:>9.1?}  max {:>9.1?}",
        waits.len() as f64 / seconds,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn speed(folder: &Path) {
    let own = folder.join("own");
    for (title, interval) in [
        ("own, 20 ms", Duration::from_millis(20)),
        ("own, 0: on the disk when acknowledged", Duration::ZERO),
    ] {
        for callers in [1, MANY] {
            let _gone = fs::remove_dir_all(&own);
            let (store, _) = Own::open(&own, interval);
            load(title, &store, callers);
        }
    }
    let path = folder.join("redb");
    for callers in [1, MANY] {
        let _gone = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        let grouped = Grouped {
            redb: Redb::open(&path).expect("a database"),
            group: Mutex::default(),
            turn: Condvar::new(),
        };
        load("redb, commits in groups", &grouped, callers);
    }
    println!();
    let _gone = (fs::remove_dir_all(&own), fs::remove_dir_all(&path));
    fs::create_dir_all(&path).expect("a folder");
    let all: Vec<_> = (0..NAMES).map(|at| (name(at), vec![7; VALUE])).collect();
    let (store, _) = Own::open(&own, Duration::from_millis(20));
    for (name, value) in &all {
        store.put(name, value).expect("a disk with room");
    }
    drop(store);
    let database = Redb::open(&path).expect("a database");
    for group in all.chunks(1000) {
        database.write(group).expect("a disk with room");
    }
    drop(database);
    for _ in 0..3 {
        let began = Instant::now();
        let (store, _) = Own::open(&own, Duration::from_millis(20));
        assert_eq!(store.held.lock().expect("the map").len(), NAMES);
        let took = began.elapsed();
        drop(store);
        let began = Instant::now();
        let database = Redb::open(&path).expect("a database");
        assert_eq!(database.read().expect("a table").len(), NAMES);
        println!(
            "start with {NAMES} records: own {took:.0?}, redb {:.0?}",
            began.elapsed()
        );
    }
    let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len()) >> 20;
    println!(
        "size of {NAMES} records of {VALUE} bytes: own {} MiB, redb {} MiB",
        size(&own.join("own.log")),
        size(&path.join("redb.redb"))
    );
}

/// Writes until the disk is full, makes room, and looks what works and what is there.
fn fill(folder: &Path) {
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![1; 1 << 20]).expect("room for 1 MiB of ballast");
    let (store, _) = Own::open(&folder.join("own"), Duration::from_millis(20));
    let _kept = report_fill("own", &store, &ballast);
    let acknowledged = store.held.lock().expect("the map").clone();
    drop(store);
    let (store, _) = Own::open(&folder.join("own"), Duration::from_millis(20));
    let found = store.held.lock().expect("the map").clone();
    println!(
        "  after a restart {} of {} are there",
        found.len(),
        acknowledged.len()
    );
    drop(store);
    fs::remove_dir_all(folder.join("own")).expect("a folder");
    fs::write(&ballast, vec![1; 1 << 20]).expect("room for 1 MiB of ballast");
    let redb = Redb::open(folder).expect("a database");
    let acknowledged = report_fill("redb", &redb, &ballast);
    drop(redb);
    match Redb::open(folder).and_then(|redb| redb.read()) {
        Ok(found) => println!(
            "  after a restart {} of {acknowledged} are there",
            found.len()
        ),
        Err(error) => println!("  after a restart: {error}"),
    }
    let _gone = fs::remove_file(folder.join("redb.redb"));
}

fn report_fill(title: &str, keeper: &dyn Keeper, ballast: &Path) -> usize {
    let (mut acknowledged, mut first) = (0, None);
    for number in 0..100_000 {
        match keeper.put(&name(number), &[7; VALUE]) {
            Ok(()) => acknowledged += 1,
            Err(error) => {
                first = Some(error);
                break;
            }
        }
    }
    println!(
        "{title}: {acknowledged} acknowledged, then: {}",
        first.unwrap_or_default()
    );
    fs::remove_file(ballast).expect("the ballast");
    let began = Instant::now();
    let again = loop {
        match keeper.put(&name(1_000_000), &[7; 8]) {
            Ok(()) => break Ok(began.elapsed()),
            Err(error) if began.elapsed() > Duration::from_secs(3) => break Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    match again {
        Ok(took) => {
            println!("  with room again it takes changes after {took:.0?}");
            acknowledged + 1
        }
        Err(error) => {
            println!("  with room again it still refuses after 3 s: {error}");
            acknowledged
        }
    }
}

/// Flips bits of a store of a hundred records, one at a time, and looks what is there afterwards.
fn flip(folder: &Path) {
    const RECORDS: usize = 100;
    let each = (0..RECORDS).map(|at| (name(at).into(), vec![at as u8; 200].into()));
    let expected: HashMap<Bytes, Bytes> = each.collect();
    let (own, path) = (folder.join("own"), folder.join("redb"));
    let _gone = (fs::remove_dir_all(&own), fs::remove_dir_all(&path));
    fs::create_dir_all(&path).expect("a folder");
    let (store, _) = Own::open(&own, Duration::from_millis(20));
    let redb = Redb::open(&path).expect("a database");
    let mut all: Vec<_> = expected.clone().into_iter().collect();
    all.sort();
    for (name, value) in all {
        store.put(&name, &value).expect("room");
        redb.write(&[(name.to_vec(), value.to_vec())])
            .expect("room");
    }
    drop((store, redb));
    for (title, file) in [
        ("own", own.join("own.log")),
        ("redb", path.join("redb.redb")),
    ] {
        let whole = fs::read(&file).expect("a file");
        let mut counts = [0_usize; 5];
        let tries = 2000;
        for number in 0..tries {
            let mut spoilt = whole.clone();
            // Spread over the part of the file that is used.
            let used = spoilt.iter().rposition(|byte| *byte != 0).unwrap_or(0);
            let place = (number * 7919 * 31) % used;
            spoilt[place] ^= 1 << (number % 8);
            fs::write(&file, &spoilt).expect("room");
            let found = std::panic::catch_unwind(|| match title {
                "own" => {
                    let (store, recovered) = Own::open(&own, Duration::from_millis(20));
                    let found = store.held.lock().expect("the map").clone();
                    Ok((found, recovered.damaged > 0))
                }
                _ => Redb::open(&path)
                    .and_then(|redb| redb.read())
                    .map(|found| (found, false)),
            });
            let place = match found {
                Err(_) => 4,
                Ok(Err(_)) => 3,
                Ok(Ok((found, _))) if found == expected => 0,
                Ok(Ok((found, true))) if found.len() == RECORDS - 1 => 1,
                Ok(Ok(_)) => 2,
            };
            counts[place] += 1;
            let _gone = fs::remove_dir_all(&own).and_then(|()| fs::create_dir_all(&own));
        }
        let [whole, reported, silent, refused, panicked] = counts;
        println!(
            "{title}: {tries} flipped bits: all there {whole}, one record lost and reported {reported}, wrong or missing without a word {silent}, nothing readable {refused}, panic {panicked}"
        );
    }
    let _gone = (fs::remove_dir_all(&own), fs::remove_dir_all(&path));
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fill", folder] => fill(Path::new(folder)),
        ["flip", folder] => flip(Path::new(folder)),
        [folder] => speed(Path::new(folder)),
        _ => eprintln!("compare [fill|flip] FOLDER"),
    }
}
