//! The driver on a disk in memory, with its thread and the clock. Nothing here waits for a time to pass.

use super::*;
use crate::faulty::{Disk, Fault, INPUT_OUTPUT, When};
use crate::options::State;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Wake, Waker};

const LONG: Duration = Duration::from_secs(3600);

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// A disk that does not get better by itself within a test.
fn options(sync_interval: Duration) -> Options {
    Options {
        sync_interval,
        retry_interval: LONG,
        ..Options::default()
    }
}

struct Opened {
    journal: Journal,
    found: Map,
    recovered: Recovered,
    told: Receiver<Status>,
}

fn open(disk: &Disk, options: Options) -> Opened {
    let (tell, told): (Sender<Status>, _) = channel();
    let mut found = Map::new();
    let (journal, recovered) = Journal::open_on(
        Arc::new(disk.clone()),
        Path::new("/store"),
        "test",
        options,
        |name, value| {
            match value {
                Some(value) => found.insert(name.to_vec(), value.to_vec()),
                None => found.remove(name),
            };
            true
        },
        Box::new(|_| {}),
        // Not every test listens.
        move |status| drop(tell.send(status.clone())),
    )
    .unwrap();
    Opened {
        journal,
        found,
        recovered,
        told,
    }
}

/// What is on the disk when the machine is lost now.
fn durable(disk: &Disk) -> Map {
    open(&disk.after_power_loss(), options(LONG)).found
}

fn map(pairs: &[(&str, &str)]) -> Map {
    pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// From the next call but `calls` on, the disk takes nothing.
fn fail_after(disk: &Disk, calls: usize) {
    let number = (disk.calls().len() + calls) as u64;
    disk.set_fault(Some((When::From(number), Fault::Error(INPUT_OUTPUT))));
}

#[test]
fn what_was_waited_for_is_on_the_disk_and_changes_are_numbered() {
    let disk = Disk::new();
    let store = open(&disk, options(LONG)).journal;
    assert_eq!([store.put("a", "1"), store.put("b", "2")], [Ok(1), Ok(2)]);
    assert_eq!(store.remove("a"), Ok(3));
    assert_eq!(store.synced(), 0, "its interval has only begun");
    assert_eq!(durable(&disk), Map::new());
    assert_eq!(store.wait(3), Ok(()));
    assert_eq!(store.synced(), 3);
    assert_eq!(durable(&disk), map(&[("b", "2")]));
}

#[test]
fn closing_brings_all_to_the_disk_and_takes_no_more() {
    for close in [Journal::close, |journal: &Journal| {
        journal.close().unwrap();
        journal.close()
    }] {
        let disk = Disk::new();
        let store = open(&disk, options(LONG));
        store.journal.put("a", "1").unwrap();
        assert_eq!(close(&store.journal), Ok(()));
        assert_eq!(store.journal.put("a", "2"), Err(WriteError::Closed));
        let next = open(&disk.after_power_loss(), options(LONG));
        assert_eq!(next.found, map(&[("a", "1")]));
        assert_eq!(next.recovered.records, 1);
    }
    // Dropping closes too.
    let disk = Disk::new();
    let store = open(&disk, options(LONG));
    store.journal.put("a", "1").unwrap();
    drop(store);
    assert_eq!(durable(&disk), map(&[("a", "1")]));
}

#[test]
fn a_change_settles_at_once_unless_the_interval_is_zero() {
    let disk = Disk::new();
    let store = open(&disk, options(LONG)).journal;
    let change = store.put("a", "1").unwrap();
    assert_eq!(block_on(store.settled(change)), Ok(()));
    assert_eq!((store.synced(), durable(&disk)), (0, Map::new()));

    let disk = Disk::new();
    let store = open(&disk, options(Duration::ZERO)).journal;
    let change = store.put("a", "1").unwrap();
    assert_eq!(block_on(store.settled(change)), Ok(()));
    assert_eq!(durable(&disk), map(&[("a", "1")]));
    // The write is taken; its sync, and the new log after it, are not.
    fail_after(&disk, 1);
    let change = store.put("a", "2").unwrap();
    assert_eq!(block_on(store.settled(change)), Err(WriteError::Failed));
    assert_eq!(store.wait(change), Err(WriteError::Failed));
}

#[test]
fn refusing_and_serving_again_are_told_once_each() {
    let disk = Disk::new();
    let Opened { journal, told, .. } = open(
        &disk,
        Options {
            retry_interval: Duration::ZERO,
            ..options(LONG)
        },
    );
    assert_eq!(journal.status().state, State::Serving);
    fail_after(&disk, 0);
    assert_eq!(journal.put("a", "1"), Err(WriteError::Failed));
    let refusing = told.recv().unwrap();
    assert_eq!(refusing.state, State::Refusing(WriteError::Failed));
    assert_eq!(refusing.refused, 1);
    disk.set_fault(None);
    assert_eq!(told.recv().unwrap().state, State::Serving);
    assert!(told.try_recv().is_err());
    journal.put("a", "1").unwrap();
}

#[test]
fn the_end_does_not_wait_for_a_disk_that_is_left_alone_and_says_that_it_was_no_good_one() {
    for _ in 0..5 {
        let disk = Disk::new();
        let store = open(&disk, options(Duration::ZERO)).journal;
        fail_after(&disk, 0);
        assert_eq!(store.put("a", "1"), Err(WriteError::Failed));
        // It has tried to mend it, and sleeps for an hour.
        let tries = disk.calls().len();
        let is_idle = || store.shared.is_idle.load(Ordering::SeqCst);
        while disk.calls().len() == tries || !is_idle() {
            std::thread::yield_now();
        }
        assert_eq!(store.close(), Err(WriteError::Failed));
    }
}

#[test]
fn a_store_in_a_folder_of_the_operating_system_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = |found: &mut Map| {
        let apply = |name: &[u8], value: Option<&[u8]>| {
            found.insert(name.to_vec(), value.unwrap_or_default().to_vec());
            true
        };
        Journal::open(
            folder.path(),
            "test",
            options(LONG),
            apply,
            Box::new(|_| {}),
            |_| {},
        )
    };
    let (store, _) = open(&mut Map::new()).unwrap();
    store.put("a", "1").unwrap();
    assert!(
        matches!(open(&mut Map::new()), Err(OpenError::InUse(_))),
        "one process has it"
    );
    store.close().unwrap();
    drop(store);
    let mut found = Map::new();
    open(&mut found).unwrap();
    assert_eq!(found, map(&[("a", "1")]));
}
