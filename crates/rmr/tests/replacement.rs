//! Tables are replaced while others look into them.

use corewire_rmr::{Action, Identity, Reply, Router, Settings, TableLimits, TableSource};
use corewire_wire::rmr::message_type::TABLE_DATA;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const TABLES: usize = 300;
const ENTRIES: i32 = 200;

#[expect(clippy::disallowed_methods, reason = "any instant will do")]
fn source(router: &Arc<Router>) -> TableSource {
    TableSource::new(&Settings::default(), Arc::clone(router), Instant::now())
}

#[expect(clippy::disallowed_methods, reason = "any instant will do")]
fn load(source: &mut TableSource, text: &str) {
    source.handle_message(Instant::now(), TABLE_DATA, text.as_bytes(), Reply(0));
    while let Some(action) = source.poll() {
        if let Action::Acknowledge { state, .. } = action {
            assert!(state.taken, "{state}");
        }
    }
}

/// A table all of whose endpoints carry its number.
fn table(number: usize) -> String {
    let mut text = format!("newrt|start|{number}\n");
    for message_type in 0..ENTRIES {
        let _ = writeln!(
            text,
            "mse|{message_type}|-1|t{number}:1,t{number}:2;t{number}:3"
        );
    }
    let _ = write!(text, "newrt|end|{ENTRIES}");
    text
}

fn router() -> Arc<Router> {
    let identity = Identity::named("me:1").unwrap();
    Arc::new(Router::new(identity, TableLimits::default()))
}

#[test]
fn who_looks_sees_whole_tables_and_never_an_older_one_again() {
    let router = router();
    let mut source = source(&router);
    load(&mut source, &table(0));
    let stop = AtomicBool::new(false);
    let readers = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                let mut message_type = 0;
                while !stop.load(Ordering::Relaxed) {
                    let live = router.table();
                    let number: usize = live.id().expect("it has one").parse().unwrap();
                    assert!(number >= last, "table {number} after {last}");
                    last = number;
                    let targets = live.targets(message_type, 5, b"").expect("an entry");
                    assert_eq!(targets.len(), 2);
                    let host = format!("t{number}:");
                    assert!(
                        targets
                            .map(|id| router.endpoints().get(id).name())
                            .all(|name| name.starts_with(&host))
                    );
                    message_type = (message_type + 1) % ENTRIES;
                    readers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 1..=TABLES {
            // Each is looked at before the next one comes.
            let seen = readers.load(Ordering::Relaxed);
            load(&mut source, &table(number));
            while readers.load(Ordering::Relaxed) < seen + 3 {
                thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(router.table().id(), Some("300"));
}

#[test]
fn turns_are_exact_with_several_senders() {
    let router = router();
    load(
        &mut source(&router),
        "newrt|start\nmse|1|-1|a:1,b:1,c:1\nnewrt|end",
    );
    let counts: [AtomicUsize; 3] = Default::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..150_000 {
                    for endpoint in router.table().targets(1, -1, b"").unwrap() {
                        counts[endpoint.index()].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(counts.map(AtomicUsize::into_inner), [150_000; 3]);
}

/// Who owns what often follows the routes in the same text: whoever waits until the router is ready
/// may send to an owner at once.
#[test]
fn ready_means_that_the_whole_text_is_live() {
    const ELEMENTS: usize = 5_000;
    let mut text = "newrt|start\nmse|1|-1|%meid\nnewrt|end|1\nmeid_map|start\n".to_owned();
    for element in 0..ELEMENTS {
        let _ = writeln!(text, "mme_ar|owner:1|element-{element}");
    }
    let _ = writeln!(text, "meid_map|end|{ELEMENTS}");
    for _ in 0..10 {
        let router = router();
        let mut source = source(&router);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                while !router.is_ready() {
                    std::hint::spin_loop();
                }
                let last = format!("element-{}", ELEMENTS - 1);
                router.table().targets(1, -1, last.as_bytes()).is_ok()
            });
            load(&mut source, &text);
            assert!(waiting.join().unwrap(), "ready, and an owner was unknown");
        });
    }
}
