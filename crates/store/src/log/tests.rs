//! The log on a file system that fails, with a clock that the tests set.
//!
//! The invariant, checked after each fault: what was acknowledged is there after `kill -9`, what was
//! refused is not, and the loss of the machine costs what was not synchronised and nothing else.

use super::*;
use crate::faulty::{Call, Disk, Fault, INPUT_OUTPUT, NO_SPACE, READ_ONLY, When};
use crate::scan::DamageKind;
use std::cell::Cell;
use std::collections::BTreeMap;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const LOG: &str = "/store/test.log";
const EVERY_FAULT: [Fault; 5] = [
    Fault::Error(NO_SPACE),
    Fault::Error(INPUT_OUTPUT),
    Fault::Error(READ_ONLY),
    Fault::Short(1, NO_SPACE),
    Fault::Short(70, INPUT_OUTPUT),
];

/// A store whose owner holds a map.
struct Store {
    disk: Disk,
    log: Mutex<Log>,
    contents: Contents,
    held: Arc<Mutex<Map>>,
    /// What was held after each change that was acknowledged.
    history: Vec<Map>,
    now: Cell<Instant>,
    recovered: Recovered,
}

fn options() -> Options {
    Options {
        growth: 600,
        ahead: 300,
        ..Options::default()
    }
}

impl Store {
    fn open(disk: &Disk) -> Result<Self, OpenError> {
        Self::open_with(disk, options())
    }

    fn open_with(disk: &Disk, options: Options) -> Result<Self, OpenError> {
        let place = Place {
            folder: "/store".into(),
            name: "test".to_owned(),
        };
        let mut map = Map::new();
        let start = Instant::now();
        let (log, recovered) = Log::open(
            Arc::new(disk.clone()),
            place,
            options,
            start,
            &mut |name, value| {
                match value {
                    Some(value) => map.insert(name.to_vec(), value.to_vec()),
                    None => map.remove(name),
                };
                true
            },
        )?;
        let held = Arc::new(Mutex::new(map.clone()));
        let all = Arc::clone(&held);
        let store = Self {
            disk: disk.clone(),
            log: Mutex::new(log),
            contents: Box::new(move |give| {
                for (name, value) in all.lock().unwrap().iter() {
                    give(name, value);
                }
            }),
            held,
            history: vec![map],
            now: Cell::new(start),
            recovered,
        };
        store.settle();
        Ok(store)
    }

    fn settle(&self) {
        for _ in 0..1000 {
            match step(&self.log, &self.contents, &|| self.now.get()) {
                Next::End => return,
                Next::Wait(until) if until.is_none_or(|until| until > self.now.get()) => return,
                Next::Wait(_) | Next::Again => {}
            }
        }
        panic!("it never comes to rest");
    }

    fn pass(&self, time: Duration) {
        self.now.set(self.now.get() + time);
        self.settle();
    }

    fn change(&mut self, name: &str, value: Option<&str>) -> Result<u64, WriteError> {
        let mut held = self.held.lock().unwrap();
        let name = Bytes::copy_from_slice(name.as_bytes());
        let octets = value.map(|value| Bytes::copy_from_slice(value.as_bytes()));
        let change = lock(&self.log).append(self.now.get(), &name, octets.as_ref())?;
        match value {
            Some(value) => held.insert(name.to_vec(), value.into()),
            None => held.remove(&name[..]),
        };
        self.history.push(held.clone());
        Ok(change)
    }

    fn put(&mut self, name: &str, value: &str) -> Result<u64, WriteError> {
        self.change(name, Some(value))
    }

    fn held(&self) -> Map {
        self.held.lock().unwrap().clone()
    }

    fn synced(&self) -> usize {
        usize::try_from(lock(&self.log).synced()).unwrap()
    }

    fn state(&self) -> State {
        lock(&self.log).status(self.now.get()).state
    }

    /// What the next process finds after `kill -9`.
    fn killed(&self) -> (Map, Recovered) {
        let next = Self::open(&self.disk.after_kill()).expect("a store that opens");
        (next.held(), next.recovered)
    }

    fn workload(&mut self) {
        for number in 0..24_u32 {
            let name = format!("name-{}", number % 5);
            // Some are refused: that is what is tried here.
            let _taken = match number % 7 {
                6 => self.change(&name, None),
                _ => self.put(
                    &name,
                    &format!("value {number} {}", "x".repeat(number as usize)),
                ),
            };
            if number % 3 == 2 {
                self.pass(Duration::from_millis(25));
            }
        }
    }

    /// The invariant.
    fn check(&self, what: &str) {
        let (found, _) = self.killed();
        assert_eq!(found, self.held(), "after kill -9, {what}");
        // A disk that never took the log has nothing after the loss of the machine.
        let after = Self::open(&self.disk.after_power_loss());
        let found = after.map(|store| store.held()).unwrap_or_default();
        let synced = self.synced();
        assert!(
            self.history[synced..].contains(&found),
            "after power loss, {what}: {found:?} of {synced} synchronised and {:?}",
            self.history.last()
        );
    }
}

/// A disk whose log a former process has left, with something in it.
fn used_disk() -> Disk {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("former", "1").unwrap();
    store.put("name-1", "2").unwrap();
    store.pass(Duration::from_secs(1));
    drop(store);
    disk.after_kill()
}

/// What was written to the log: without the zeros behind it.
fn written(disk: &Disk) -> Vec<u8> {
    let mut bytes = disk.read(LOG).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes.truncate(end + 1);
    bytes
}

/// One with a torn tail and a rotten record besides.
fn damaged_disk() -> Disk {
    let disk = used_disk();
    let mut bytes = written(&disk);
    bytes[HEADER + 60] ^= 1;
    bytes.extend([0xc5, b'R', b'e']);
    disk.overwrite(LOG, bytes);
    disk
}

#[test]
fn acknowledged_changes_survive_and_refused_ones_do_not_whichever_call_fails() {
    for (kind, make) in [
        ("new", Disk::new as fn() -> Disk),
        ("used", used_disk),
        ("damaged", damaged_disk),
    ] {
        let disk = make();
        let mut store = Store::open(&disk).unwrap();
        store.workload();
        store.check("without a fault");
        let calls = disk.calls();
        for call in [
            Call::Open,
            Call::Write,
            Call::Sync,
            Call::Name,
            Call::SyncFolder,
            Call::Extend,
        ] {
            assert!(calls.contains(&call), "{kind}: {call:?} is not tried");
        }
        for (number, call) in calls.iter().enumerate() {
            for fault in EVERY_FAULT {
                for when in [When::Once(number as u64), When::From(number as u64)] {
                    let what = format!("{kind} disk, {fault:?} {when:?}, {call:?}");
                    try_fault(make(), when, fault, &what);
                }
            }
        }
    }
}

fn try_fault(disk: Disk, when: When, fault: Fault, what: &str) {
    disk.set_fault(Some((when, fault)));
    // One that does not start has acknowledged nothing, and has changed nothing.
    if let Ok(mut store) = Store::open(&disk) {
        store.workload();
        store.check(what);
        let refuses = store.state() != State::Serving;
        lock(&store.log).close();
        store.settle();
        let ended = lock(&store.log).ended();
        assert!(
            !refuses || ended.is_err() || matches!(when, When::Once(_)),
            "ends well and has refused: {what}"
        );
        if ended.is_ok() {
            assert_eq!(store.synced(), store.history.len() - 1, "{what}");
        }
    }
    // When the disk is well again, so is the store; the process need not be started anew.
    let disk = disk.after_kill();
    disk.set_fault(Some((when, fault)));
    let Ok(mut store) = Store::open(&disk) else {
        return;
    };
    store.workload();
    disk.set_fault(None);
    store.pass(Duration::from_millis(300));
    assert_eq!(store.state(), State::Serving, "recovers by itself: {what}");
    store.put("last", what).unwrap();
    store.pass(Duration::from_millis(25));
    store.check(what);
    assert_eq!(store.synced(), store.history.len() - 1, "{what}");
}

#[test]
fn every_fsync_that_fails_leads_to_a_new_log_and_none_is_simply_tried_again() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("a", "1").unwrap();
    disk.set_fault(Some((
        When::Once(disk.calls().len() as u64),
        Fault::Error(INPUT_OUTPUT),
    )));
    store.pass(Duration::from_millis(20));
    // Repaired at once, by a new log; what the disk forgot is on it again.
    assert_eq!(store.state(), State::Serving);
    assert_eq!(store.synced(), 1);
    store.check("after a repair");
    assert_eq!(
        Store::open(&disk.after_power_loss()).unwrap().held(),
        store.held()
    );
}

#[test]
fn refuses_with_no_room_on_a_full_disk_and_serves_when_there_is_room_again() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    disk.set_room(Some(400));
    let mut refused = 0;
    for number in 0..20 {
        match store.put(&format!("{number}"), &"x".repeat(40)) {
            Ok(_) => assert_eq!(refused, 0, "taken after it was refused"),
            Err(error) => {
                assert_eq!(error, WriteError::NoRoom);
                refused += 1;
            }
        }
    }
    assert!(refused > 10);
    assert_eq!(store.state(), State::Refusing(WriteError::NoRoom));
    assert_eq!(lock(&store.log).status(store.now.get()).refused, refused);
    store.check("on a full disk");
    for _ in 0..10 {
        store.pass(Duration::from_secs(1));
        assert_eq!(store.state(), State::Refusing(WriteError::NoRoom));
    }
    disk.set_room(None);
    store.pass(Duration::from_secs(1));
    assert_eq!(store.state(), State::Serving);
    store.put("again", "1").unwrap();
    store.check("when there is room again");
}

#[test]
fn refuses_while_the_disk_does_not_answer_for_longer_than_the_limit() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("a", "1").unwrap();
    lock(&store.log).syncing_since = Some(store.now.get());
    store.now.set(store.now.get() + options().stall_limit);
    store.put("a", "2").unwrap();
    store.now.set(store.now.get() + Duration::from_millis(1));
    assert_eq!(store.put("a", "3"), Err(WriteError::Stalled));
    assert_eq!(store.state(), State::Refusing(WriteError::Stalled));
    // The disk answers: both changes that were taken are on it.
    let (now, file) = (store.now.get(), Arc::clone(&lock(&store.log).file));
    lock(&store.log).synced_up_to(now, 2, file.sync());
    assert_eq!(store.state(), State::Serving);
    store.put("a", "4").unwrap();
    store.check("after a stall");
}

#[test]
fn with_an_interval_of_zero_a_change_settles_when_it_is_on_the_disk() {
    let disk = Disk::new();
    let no_window = Options {
        sync_interval: Duration::ZERO,
        ..options()
    };
    let mut store = Store::open_with(&disk, no_window).unwrap();
    let change = store.put("a", "1").unwrap();
    assert_eq!(lock(&store.log).settled(change, None), None);
    store.settle();
    assert_eq!(lock(&store.log).settled(change, None), Some(Ok(())));
    assert_eq!(
        Store::open(&disk.after_power_loss()).unwrap().held(),
        store.held()
    );
}

#[test]
fn an_acknowledged_change_is_on_the_disk_when_its_interval_is_over() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("a", "1").unwrap();
    store.pass(Duration::from_millis(19));
    assert_eq!(store.synced(), 0);
    store.pass(Duration::from_millis(1));
    assert_eq!(store.synced(), 1);
    let other = Options {
        sync_interval: Duration::from_secs(3),
        ..options()
    };
    drop(store);
    let mut store = Store::open_with(&disk, other).unwrap();
    store.put("a", "2").unwrap();
    store.pass(Duration::from_millis(2999));
    assert_eq!(store.synced(), 0);
    store.pass(Duration::from_millis(1));
    assert_eq!(store.synced(), 1);
}

/// Where a record begins, its name, and its value.
type Written = (usize, Vec<u8>, Option<Vec<u8>>);

/// Twelve records of eight names: some overwritten, one removed.
fn small_log() -> (Vec<u8>, Vec<Written>) {
    let disk = Disk::new();
    let all = Options {
        growth: u64::MAX / 4,
        ahead: 300,
        ..Options::default()
    };
    let mut store = Store::open_with(&disk, all).unwrap();
    let mut records = Vec::new();
    for number in 0..12_u32 {
        let name = format!("n{}", number % 8);
        let value = (number != 9).then(|| format!("value {number}"));
        let at = disk.read(LOG).unwrap().len();
        store.change(&name, value.as_deref()).unwrap();
        records.push((at, name.into_bytes(), value.map(String::into_bytes)));
    }
    (disk.read(LOG).unwrap(), records)
}

fn apply(records: &[Written]) -> Map {
    let mut map = Map::new();
    for (_, name, value) in records {
        match value {
            Some(value) => map.insert(name.clone(), value.clone()),
            None => map.remove(name),
        };
    }
    map
}

fn with(bytes: &[u8]) -> Disk {
    let disk = Disk::new();
    disk.overwrite(LOG, bytes);
    disk
}

#[test]
fn a_flipped_bit_anywhere_costs_the_record_it_is_in_and_is_reported() {
    let (bytes, records) = small_log();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut spoilt = bytes.clone();
            spoilt[place] ^= 1 << bit;
            let disk = with(&spoilt);
            let store = Store::open(&disk).unwrap();
            let what = format!("bit {bit} of byte {place}");
            let recovered = &store.recovered;
            assert_eq!(recovered.damaged, 1, "{what}");
            assert_eq!(recovered.torn, 0, "{what}");
            let hit = records.iter().rposition(|(at, ..)| *at <= place);
            let Some(hit) = hit else {
                assert_eq!(recovered.damage[0].kind, DamageKind::Header, "{what}");
                assert_eq!(
                    (recovered.lost, store.held()),
                    (0, apply(&records)),
                    "{what}"
                );
                continue;
            };
            assert_eq!(recovered.lost, 1, "{what}");
            assert_eq!(recovered.damage[0].offset, records[hit].0 as u64, "{what}");
            let name = &records[hit].1;
            let is_last = hit + 1 == records.len();
            let mut expected = records.clone();
            if is_last && store.held().contains_key(name) {
                // No record behind it says whose it was: the older value is all there is.
                expected.remove(hit);
            } else {
                // The older value is not taken for the lost one.
                expected[hit].2 = None;
                assert!(
                    recovered.damage[0].name.is_none()
                        || recovered.damage[0].name.as_ref() == Some(name),
                    "{what}"
                );
            }
            assert_eq!(store.held(), apply(&expected), "{what}");
            let kept = recovered.kept.as_ref().unwrap();
            assert_eq!(disk.read(kept).unwrap(), spoilt, "{what}");
            // The next start finds nothing wrong.
            let (held, again) = store.killed();
            assert_eq!((held, again.damaged), (apply(&expected), 0), "{what}");
        }
    }
}

#[test]
fn a_log_cut_anywhere_keeps_what_was_whole_and_a_copy_of_the_rest() {
    let (bytes, records) = small_log();
    for cut in (HEADER..bytes.len()).flat_map(|cut| [(cut, 0), (cut, 5000)]) {
        let (cut, zeros) = cut;
        let spoilt = [&bytes[..cut], &vec![0; zeros][..]].concat();
        let disk = with(&spoilt);
        let mut store = Store::open(&disk).unwrap();
        let whole = records.iter().filter(|(at, ..)| *at < cut).count();
        let next = records.get(whole).map_or(bytes.len(), |(at, ..)| *at);
        let whole = if cut < next { whole - 1 } else { whole };
        assert_eq!(store.held(), apply(&records[..whole]), "cut at {cut}");
        let recovered = store.recovered.clone();
        assert_eq!((recovered.damaged, recovered.lost), (0, 0), "cut at {cut}");
        assert_eq!(
            recovered.torn > 0,
            cut < next && cut > HEADER,
            "cut at {cut}"
        );
        if let Some(kept) = recovered.kept {
            assert_eq!(disk.read(kept).unwrap(), spoilt);
        }
        store.put("new", "x").unwrap();
        let (held, again) = store.killed();
        assert_eq!((held, again.torn, again.damaged), (store.held(), 0, 0));
    }
}

#[test]
fn bytes_missing_or_doubled_in_the_middle_cost_what_they_touch() {
    let (bytes, records) = small_log();
    let ends: Vec<_> = records
        .iter()
        .skip(1)
        .map(|(at, ..)| *at)
        .chain([bytes.len()])
        .collect();
    for from in (HEADER..bytes.len()).step_by(3) {
        for length in [1, 8, 57, 200] {
            let until = (from + length).min(bytes.len());
            let touched = |(at, end): (usize, usize)| at < until && from < end;
            let spans = records.iter().map(|(at, ..)| *at).zip(ends.iter().copied());
            let lost: Vec<bool> = spans.map(touched).collect();
            let mut without = bytes[..from].to_vec();
            without.extend(&bytes[until..]);
            let what = format!("{length} bytes at {from}");
            let store = Store::open(&with(&without)).unwrap();
            let read = usize::try_from(store.recovered.records).unwrap();
            let whole = lost.iter().filter(|lost| !**lost).count();
            assert_eq!(read, whole, "without {what}");
            // Nothing stale: each name has its last value or none.
            for (name, value) in store.held() {
                let last = records
                    .iter()
                    .enumerate()
                    .rev()
                    .find(|(_, one)| one.1 == name);
                let (place, (.., expected)) = last.unwrap();
                let is_unknown = until == bytes.len() || lost[place] && lost[records.len() - 1];
                let many = lost.iter().filter(|lost| **lost).count() > 1;
                assert!(
                    expected.as_ref() == Some(&value) || is_unknown || many,
                    "without {what}"
                );
            }
            let mut doubled = bytes[..until].to_vec();
            doubled.extend(&bytes[from..]);
            let store = Store::open(&with(&doubled)).unwrap();
            assert!(
                store.recovered.damaged > 0 || store.recovered.torn > 0,
                "twice {what}"
            );
            let read = usize::try_from(store.recovered.records).unwrap();
            assert!(read >= records.len() - 1, "twice {what}: {read}");
        }
    }
}

#[test]
fn a_log_written_twice_behind_itself_is_read_once() {
    let (bytes, records) = small_log();
    let mut twice = bytes.clone();
    twice.extend(&bytes);
    let store = Store::open(&with(&twice)).unwrap();
    assert_eq!(store.held(), apply(&records));
    assert_eq!(store.recovered.records as usize, records.len());
    twice.extend(&bytes[HEADER..]);
    twice.drain(bytes.len()..bytes.len() + HEADER);
    let store = Store::open(&with(&twice)).unwrap();
    assert_eq!(store.held(), apply(&records));
    assert_eq!(store.recovered.damage[0].kind, DamageKind::Repeated);
    assert_eq!(store.recovered.lost, 0);
}

/// The last record stands there twice, and of one of the two a bit is wrong.
#[test]
fn of_a_doubled_record_the_whole_one_counts_only_when_it_comes_first() {
    let (bytes, records) = small_log();
    let (last, name, _) = records.last().unwrap();
    let mut twice = bytes.clone();
    twice.extend(&bytes[*last..]);

    let mut second_rotten = twice.clone();
    *second_rotten.last_mut().unwrap() ^= 1;
    let store = Store::open(&with(&second_rotten)).unwrap();
    assert_eq!(store.held(), apply(&records));
    assert_eq!(store.recovered.lost, 0);
    assert_eq!(store.recovered.damage[0].kind, DamageKind::Repeated);

    // What the name had before must not be served as if it were the last value.
    let mut first_rotten = twice;
    first_rotten[bytes.len() - 1] ^= 1;
    let store = Store::open(&with(&first_rotten)).unwrap();
    let mut without = apply(&records);
    without.remove(name);
    assert_eq!(store.held(), without);
    assert_eq!(store.recovered.lost, 1);
    assert_eq!(store.recovered.damage[0].name.as_ref(), Some(name));
}

#[test]
fn a_block_that_the_disk_cannot_read_costs_what_is_in_it() {
    let disk = Disk::new();
    let mut store = Store::open_with(
        &disk,
        Options {
            growth: u64::MAX / 4,
            ahead: 300,
            ..Options::default()
        },
    )
    .unwrap();
    for number in 0..40 {
        store.put(&format!("{number}"), &"x".repeat(1000)).unwrap();
    }
    let disk = disk.after_kill();
    disk.spoil(LOG, 10_000);
    let next = Store::open(&disk).unwrap();
    assert!((1..=2).contains(&next.recovered.damaged));
    let lost = usize::try_from(next.recovered.lost).unwrap();
    assert!((4..=6).contains(&lost), "{lost}");
    assert_eq!(next.held().len(), 40 - lost);
}

#[test]
fn refuses_to_start_on_damage_where_that_is_wanted_and_leaves_the_log_alone() {
    let (mut bytes, _) = small_log();
    bytes[HEADER + 70] ^= 1;
    let disk = with(&bytes);
    let strict = Options {
        on_damage: OnDamage::Refuse,
        ..options()
    };
    let refused = Store::open_with(&disk, strict);
    assert!(matches!(refused.err(), Some(OpenError::Damaged(..))));
    assert_eq!(disk.read(LOG).unwrap(), bytes);
}

#[test]
fn two_processes_do_not_share_a_store_even_when_the_lock_file_is_removed() {
    let disk = Disk::new();
    let mut first = Store::open(&disk).unwrap();
    first.put("a", "1").unwrap();
    assert!(matches!(
        Store::open(&disk).err(),
        Some(OpenError::InUse(_))
    ));
    disk.delete("/store/test.lock");
    assert!(matches!(
        Store::open(&disk).err(),
        Some(OpenError::InUse(_))
    ));
    drop(first);
    assert_eq!(Store::open(&disk).unwrap().held().len(), 1);
}

#[test]
fn what_another_program_does_to_the_log_is_undone_and_a_copy_kept() {
    type Deed = fn(&Disk);
    let deeds: [(&str, Deed); 6] = [
        ("copied over itself", |disk| {
            let mut bytes = disk.read(LOG).unwrap();
            let end = written(disk).len();
            // As it was before the last change.
            bytes[end - 30..end].fill(0);
            bytes[end - 60..end - 30].fill(0);
            disk.overwrite(LOG, bytes);
        }),
        ("emptied", |disk| disk.overwrite(LOG, Vec::new())),
        ("cut", |disk| {
            let bytes = disk.read(LOG).unwrap();
            disk.overwrite(LOG, &bytes[..bytes.len() - 5]);
        }),
        ("appended to", |disk| {
            let mut bytes = disk.read(LOG).unwrap();
            bytes.extend(b"more");
            disk.overwrite(LOG, bytes);
        }),
        ("deleted", |disk| disk.delete(LOG)),
        ("replaced", |disk| {
            disk.overwrite("/store/other", b"other".to_vec());
            disk.rename("/store/other".as_ref(), LOG.as_ref()).unwrap();
        }),
    ];
    for (what, deed) in deeds {
        for at_once in [true, false] {
            let disk = Disk::new();
            let mut store = Store::open(&disk).unwrap();
            store.put("a", "1").unwrap();
            store.put("b", "2").unwrap();
            if at_once {
                store.pass(Duration::from_millis(20));
            }
            deed(&disk);
            let strange = disk.read(LOG);
            // The next look comes with the next sync, or after a while.
            if at_once {
                store.put("a", "3").unwrap();
                store.pass(Duration::from_millis(20));
            }
            store.pass(Duration::from_millis(1001));
            assert_eq!(store.state(), State::Serving, "{what}");
            store.put("d", "4").unwrap();
            store.check(what);
            if let Some(strange) = strange.filter(|_| !at_once) {
                let kept = disk.read("/store/test.kept-1.log");
                assert_eq!(kept, Some(strange), "{what}");
            }
        }
    }
}

#[test]
fn a_log_that_grows_is_written_anew_and_holds_what_came_meanwhile() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    for number in 0..500_u32 {
        store
            .put(&format!("{}", number % 3), &format!("{number}"))
            .unwrap();
        if number % 10 == 0 {
            store.pass(Duration::from_millis(20));
        }
    }
    let length = written(&disk).len();
    assert!(length < 2000, "{length}");
    store.check("after many new logs");
    assert_eq!(disk.names().len(), 2, "{:?}", disk.names());
}

#[test]
fn changes_made_while_a_new_log_is_written_are_in_it() {
    let disk = Disk::new();
    let store = Store::open(&disk).unwrap();
    let Store { log, held, now, .. } = store;
    let log = Arc::new(log);
    let add = |held: &mut Map, log: &Mutex<Log>, name: &str, value: Option<&str>| {
        let octets = value.map(|value| Bytes::copy_from_slice(value.as_bytes()));
        let name = Bytes::copy_from_slice(name.as_bytes());
        lock(log).append(now.get(), &name, octets.as_ref()).unwrap();
        match value {
            Some(value) => held.insert(name.to_vec(), value.into()),
            None => held.remove(&name[..]),
        };
    };
    for number in 0..20 {
        let mut held = held.lock().unwrap();
        add(&mut held, &log, &format!("{number}"), Some(&"x".repeat(60)));
    }
    // While the contents are given: one is changed behind the place, one removed, one comes.
    let (meanwhile, inside) = (Arc::clone(&held), Arc::clone(&log));
    let at = now.get();
    let contents: Contents = Box::new(move |give| {
        let all = meanwhile.lock().unwrap().clone();
        for (number, (name, value)) in all.iter().enumerate() {
            give(name, value);
            if number == 10 {
                let mut held = meanwhile.lock().unwrap();
                for (name, value) in [("0", Some("changed")), ("1", None), ("new", Some("1"))] {
                    let octets = value.map(|value| Bytes::copy_from_slice(value.as_bytes()));
                    let name = Bytes::copy_from_slice(name.as_bytes());
                    lock(&inside).append(at, &name, octets.as_ref()).unwrap();
                    match value {
                        Some(value) => held.insert(name.to_vec(), value.into()),
                        None => held.remove(&name[..]),
                    };
                }
            }
        }
    });
    let names = disk.calls().len();
    assert_eq!(step(&log, &contents, &|| now.get()), Next::Again);
    assert!(
        disk.calls()[names..].contains(&Call::Name),
        "not written anew"
    );
    let next = Store::open(&disk.after_kill()).unwrap();
    assert_eq!(next.held(), *held.lock().unwrap());
    assert_eq!(next.held().get(&b"0"[..]), Some(&b"changed".to_vec()));
}

#[test]
fn a_log_of_the_earlier_version_is_read_and_written_anew() {
    let old = version_1::encode(&[
        (b"a", Some(b"1")),
        (b"b", Some(b"")),
        (b"a", Some(b"2")),
        (b"c", Some(b"3")),
        (b"c", None),
    ]);
    let expected = Map::from([(b"a".to_vec(), b"2".to_vec()), (b"b".to_vec(), Vec::new())]);
    let disk = with(&old);
    let store = Store::open(&disk).unwrap();
    assert_eq!(store.held(), expected);
    assert_eq!((store.recovered.damaged, store.recovered.torn), (0, 0));
    assert_eq!(store.killed().0, expected);
    assert!(disk.read(LOG).unwrap().starts_with(b"CWSTORE2"));
    // What is damaged in it is kept, and told.
    let mut spoilt = old.clone();
    spoilt[60] ^= 1;
    let disk = with(&spoilt);
    let store = Store::open(&disk).unwrap();
    assert_eq!(store.recovered.damaged, 1);
    assert_eq!(disk.read("/store/test.kept-1.log").unwrap(), spoilt);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("test.log"), &spoilt).unwrap();
    let told = crate::check(folder.path(), "test", |_, _| true).unwrap();
    let rotten = &told.damage[0];
    // What it begins with is not right; it has no marks, so all behind it is lost.
    assert_eq!(rotten.offset + rotten.length, spoilt.len() as u64);
    let torn = Store::open(&with(&old[..old.len() - 1])).unwrap();
    assert_eq!((torn.recovered.damaged, torn.recovered.torn), (0, 16));
}

#[test]
fn a_disk_that_refuses_at_the_start_is_named_with_what_it_says() {
    let disk = used_disk();
    disk.set_fault(Some((When::Once(0), Fault::Error(READ_ONLY))));
    let refused = Store::open(&disk).err().unwrap();
    assert!(matches!(&refused, OpenError::Io { path, .. } if path == std::path::Path::new(LOG)));
    let source = std::error::Error::source(&refused).unwrap();
    let said = source.downcast_ref::<io::Error>().unwrap();
    assert_eq!(said.raw_os_error(), Some(READ_ONLY));
}

#[test]
fn a_file_that_is_no_log_is_refused_and_stays_as_it_is() {
    for bytes in [&b"rubbish, and more of it"[..], &[0; 500], b"CWSTORE2"] {
        let disk = with(bytes);
        let refused = Store::open(&disk).err();
        assert!(
            matches!(refused, Some(OpenError::NotALog(_))),
            "{refused:?}"
        );
        assert_eq!(disk.read(LOG).unwrap(), bytes);
    }
}

#[test]
fn names_and_values_that_are_too_long_are_refused() {
    let mut store = Store::open(&Disk::new()).unwrap();
    let long = "x".repeat(MAX_NAME + 1);
    assert_eq!(store.put(&long, "1"), Err(WriteError::TooLong));
    assert_eq!(store.put("", "1"), Err(WriteError::TooLong));
    let value = "x".repeat(MAX_VALUE + 1);
    assert_eq!(store.put("a", &value), Err(WriteError::TooLong));
    store.put(&long[1..], &value[1..]).unwrap();
    assert_eq!(store.state(), State::Serving);
}

#[test]
fn the_end_brings_what_is_left_to_the_disk_and_takes_no_more() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("a", "1").unwrap();
    lock(&store.log).close();
    assert_eq!(store.put("a", "2"), Err(WriteError::Closed));
    // An end that comes before the disk has all is no good one.
    assert_eq!(lock(&store.log).ended(), Err(WriteError::Failed));
    store.settle();
    assert_eq!(lock(&store.log).ended(), Ok(()));
    assert_eq!(
        Store::open(&disk.after_power_loss()).unwrap().held(),
        store.held()
    );
}

#[test]
fn the_end_takes_away_the_zeros_that_the_file_was_ahead_by() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("a", "1").unwrap();
    store.pass(Duration::from_millis(20));
    assert!(disk.read(LOG).unwrap().len() > written(&disk).len());
    lock(&store.log).close();
    store.settle();
    assert_eq!(disk.read(LOG).unwrap(), written(&disk));
}

#[test]
fn the_file_is_made_longer_when_less_than_half_of_what_it_is_ahead_by_is_left_and_not_at_the_end() {
    let disk = Disk::new();
    let rare = Options {
        growth: u64::MAX / 4,
        ahead: 1000,
        ..options()
    };
    let mut store = Store::open_with(&disk, rare).unwrap();
    for number in 0..40 {
        store.put("a", &format!("{number}")).unwrap();
        let extended = |disk: &Disk| {
            disk.calls()
                .iter()
                .filter(|call| **call == Call::Extend)
                .count()
        };
        let (before, end) = (extended(&disk), written(&disk).len());
        let left = disk.read(LOG).unwrap().len() - end;
        store.pass(Duration::from_millis(20));
        assert_eq!(
            extended(&disk) - before,
            usize::from(left < 500),
            "{left} are left"
        );
        if left < 500 {
            assert_eq!(disk.read(LOG).unwrap().len(), end + 1000);
        }
    }
    // A disk that cannot, or a log that ends, goes without.
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    store.put("a", "1").unwrap();
    lock(&store.log).close();
    store.settle();
    assert!(!disk.calls().contains(&Call::Extend));
}

#[test]
fn a_log_is_written_anew_when_it_has_grown_by_growth_and_by_twice_what_was_left() {
    // The last one is reached to the byte: a record of "a" has 63.
    for (held, growth) in [(30, 600), (30, 9000), (0, 630)] {
        let disk = Disk::new();
        let with = Options {
            growth,
            ahead: 0,
            ..options()
        };
        let mut store = Store::open_with(&disk, with).unwrap();
        for number in 0..held {
            store.put(&format!("{number}"), "1").unwrap();
        }
        let mut shortened = disk.read(LOG).unwrap().len() as u64;
        lock(&store.log).shortened = shortened;
        let mut times = 0;
        for number in 0..1000_u32 {
            store.put("a", &format!("{number:05}")).unwrap();
            let length = disk.read(LOG).unwrap().len() as u64;
            let is_due = length - shortened > growth.max(2 * shortened);
            let before = disk.calls().len();
            store.pass(Duration::from_millis(20));
            let is_anew = disk.calls()[before..].contains(&Call::Name);
            assert_eq!(is_anew, is_due, "{length} bytes, {shortened} were left");
            if is_due {
                shortened = disk.read(LOG).unwrap().len() as u64;
                times += 1;
            }
        }
        assert!(times > 2, "{times}");
    }
}

/// Gives these contents, and calls `between` before each value.
fn giving(values: Vec<(String, Vec<u8>)>, between: impl Fn(usize) + Send + 'static) -> Contents {
    Box::new(move |give| {
        for (number, (name, value)) in values.iter().enumerate() {
            between(number);
            give(name.as_bytes(), value);
        }
    })
}

/// A store whose log is to be shortened: it has grown by more than it may.
fn grown(disk: &Disk) -> (Arc<Mutex<Log>>, Instant) {
    let mut store = Store::open(disk).unwrap();
    for number in 0..10 {
        store
            .put("a", &format!("{number}{}", "x".repeat(60)))
            .unwrap();
    }
    (Arc::new(store.log), store.now.get())
}

fn values(count: usize, length: usize) -> Vec<(String, Vec<u8>)> {
    (0..count)
        .map(|number| (format!("{number}"), vec![b'v'; length]))
        .collect()
}

fn syncs(disk: &Disk, from: usize) -> usize {
    disk.calls()[from..]
        .iter()
        .filter(|call| **call == Call::Sync)
        .count()
}

#[test]
fn a_long_new_log_goes_to_the_disk_eight_mebibytes_at_a_time() {
    let disk = Disk::new();
    let (log, now) = grown(&disk);
    let from = disk.calls().len();
    let next = step(&log, &giving(values(20, 1 << 20), |_| ()), &|| now);
    assert_eq!(next, Next::Again);
    // Twice while it is written, once when the contents end, and when it is in place.
    assert_eq!(syncs(&disk, from), 4);
    assert!(written(&disk).len() > 20 << 20);
    // Read back a piece at a time, of which none ends where a record does.
    let next = Store::open(&disk.after_power_loss()).unwrap();
    assert_eq!((next.held().len(), next.recovered.records), (20, 20));
    assert_eq!((next.recovered.damaged, next.recovered.torn), (0, 0));
    assert_eq!(lock(&log).synced(), 10);
}

#[test]
fn many_changes_that_came_meanwhile_are_written_before_the_log_is_replaced_and_few_with_it() {
    for (meanwhile, rounds) in [(FEW, 1), (FEW + 1, 2)] {
        let disk = Disk::new();
        let (log, now) = grown(&disk);
        let inside = Arc::clone(&log);
        let contents = giving(values(1, 1), move |_| {
            for number in 0..meanwhile {
                let value = Bytes::from(format!("{number}"));
                lock(&inside)
                    .append(now, &Bytes::from_static(b"late"), Some(&value))
                    .unwrap();
            }
        });
        let from = disk.calls().len();
        step(&log, &contents, &|| now);
        assert_eq!(syncs(&disk, from), rounds + 1, "{meanwhile} changes");
        let held = Store::open(&disk.after_power_loss()).unwrap().held();
        let last = format!("{}", meanwhile - 1).into_bytes();
        assert_eq!(held.get(&b"late"[..]), Some(&last));
    }
}

#[test]
fn while_a_long_log_is_written_anew_changes_go_to_the_disk_when_their_interval_is_over() {
    for (waited, synced) in [(19, 0), (20, 10)] {
        let disk = Disk::new();
        let (log, begin) = grown(&disk);
        let (inside, passed) = (Arc::clone(&log), Arc::new(Mutex::new(0)));
        let clock = Arc::clone(&passed);
        let contents = giving(values(4, 1 << 20), move |number| {
            if number == 2 {
                *passed.lock().unwrap() = waited;
            }
            if number == 3 {
                // The second value has gone to the file since.
                assert_eq!(lock(&inside).synced(), synced, "after {waited} ms");
            }
        });
        step(&log, &contents, &|| {
            begin + Duration::from_millis(*clock.lock().unwrap())
        });
        assert_eq!(lock(&log).synced(), 10);
    }
}

#[test]
fn a_change_whose_sync_failed_is_not_on_the_disk_before_the_new_log_is() {
    let disk = Disk::new();
    let mut store = Store::open(&disk).unwrap();
    let first = store.put("a", "1").unwrap();
    let number = disk.calls().len() as u64;
    disk.set_fault(Some((When::Once(number), Fault::Error(INPUT_OUTPUT))));
    let now = store.now.get() + Duration::from_secs(1);
    // The sync fails; then the old log would take one again, and say nothing of what it has forgotten.
    assert_eq!(step(&store.log, &store.contents, &|| now), Next::Again);
    let log = Arc::new(store.log);
    let inside = Arc::clone(&log);
    let contents = giving(values(4, 1 << 20), move |_| {
        assert_eq!(lock(&inside).synced(), 0);
        assert_eq!(
            lock(&inside).settled(first, None),
            Some(Err(WriteError::Failed))
        );
    });
    assert_eq!(step(&log, &contents, &|| now), Next::Again);
    assert_eq!(lock(&log).settled(first, None), Some(Ok(())));
}

#[test]
fn a_disk_that_refused_while_a_log_was_shortened_is_tried_before_changes_are_taken_again() {
    let disk = Disk::new();
    let (log, now) = grown(&disk);
    let (inside, full) = (Arc::clone(&log), disk.clone());
    let contents = giving(values(1, 1), move |_| {
        let number = full.calls().len() as u64;
        full.set_fault(Some((When::Once(number), Fault::Error(NO_SPACE))));
        let refused = lock(&inside).append(now, &Bytes::from_static(b"b"), None);
        assert_eq!(refused, Err(WriteError::NoRoom));
    });
    assert_eq!(step(&log, &contents, &|| now), Next::Again);
    let refusing = State::Refusing(WriteError::NoRoom);
    assert_eq!(lock(&log).status(now).state, refusing);
    let retry = now + options().retry_interval;
    assert_eq!(step(&log, &contents, &|| now), Next::Wait(Some(retry)));
    assert_eq!(step(&log, &contents, &|| retry), Next::Again);
    assert_eq!(lock(&log).status(retry).state, State::Serving);
}

#[test]
fn a_log_that_cannot_be_shortened_is_as_good_as_before_and_tried_again_later() {
    let disk = Disk::new();
    let (log, now) = grown(&disk);
    let number = disk.calls().len() as u64;
    disk.set_fault(Some((When::From(number), Fault::Error(NO_SPACE))));
    let contents = giving(values(1, 1), |_| ());
    assert_eq!(step(&log, &contents, &|| now), Next::Again);
    disk.set_fault(None);
    assert_eq!(lock(&log).status(now).state, State::Serving);
    let (name, value) = (Bytes::from_static(b"b"), Bytes::from_static(b"2"));
    lock(&log).append(now, &name, Some(&value)).unwrap();
    let long = written(&disk).len();
    for (time, is_short) in [
        (SHORTEN_AGAIN - Duration::from_millis(1), false),
        (SHORTEN_AGAIN, true),
    ] {
        while step(&log, &contents, &|| now + time) == Next::Again {}
        assert_eq!(written(&disk).len() < long, is_short, "after {time:?}");
    }
}

#[test]
fn who_waits_for_a_change_is_woken_once_when_it_is_settled_either_way() {
    struct Count(std::sync::atomic::AtomicU32);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    for fails in [false, true] {
        let disk = Disk::new();
        let mut store = Store::open(&disk).unwrap();
        let change = store.put("a", "1").unwrap();
        let counts = [0, 1].map(|_| Arc::new(Count(0.into())));
        for count in counts.iter().chain(&counts) {
            let waker = Waker::from(Arc::clone(count));
            assert_eq!(lock(&store.log).settled(change, Some(&waker)), None);
        }
        if fails {
            let number = disk.calls().len() as u64;
            disk.set_fault(Some((When::From(number), Fault::Error(INPUT_OUTPUT))));
        }
        store.settle();
        let woken = counts
            .each_ref()
            .map(|count| count.0.load(std::sync::atomic::Ordering::Relaxed));
        assert_eq!(woken, [1, 1]);
        let settled = lock(&store.log).settled(change, None);
        assert_eq!(
            settled,
            Some(if fails {
                Err(WriteError::Failed)
            } else {
                Ok(())
            })
        );
    }
}

#[test]
fn the_copy_of_a_damaged_log_is_whole_whichever_call_fails_and_where_there_are_no_links() {
    let (mut bytes, _) = small_log();
    bytes[HEADER + 60] ^= 1;
    // Longer than is copied at a time.
    bytes.resize(PIECE + 5000, b'x');
    let disk = with(&bytes);
    let calls = Store::open(&disk).unwrap().disk.calls();
    for number in 0..calls.len() as u64 {
        let disk = with(&bytes);
        disk.set_fault(Some((When::Once(number), Fault::Error(INPUT_OUTPUT))));
        let Ok(store) = Store::open(&disk) else {
            assert_eq!(disk.read(LOG).unwrap(), bytes, "call {number}");
            continue;
        };
        store.pass(Duration::from_secs(1));
        assert_eq!(store.state(), State::Serving, "call {number}");
        let kept = disk.read("/store/test.kept-1.log");
        assert!(kept.is_some_and(|kept| kept == bytes), "call {number}");
    }
}
