//! Records through the router, and through a restart.

use super::embedded::Embedded;
use super::record::{MAX_LISTED_OCTETS, MAX_RECORD};
use super::records::Udsf;
use super::store::Store;
use corewire_core5g_runtime::durable::Watch;
use corewire_core5g_sbi::Router;
use corewire_core5g_sbi::asking::{self, Answered, now};
use corewire_store::faulty::{Disk, Fault, INPUT_OUTPUT, When};
use corewire_store::file_system::OsFileSystem;
use std::path::Path;
use std::sync::Arc;

fn udsf(folder: Option<&Path>, max_octets: usize) -> Router<Udsf> {
    let store = Store::Embedded(match folder {
        Some(folder) => open(folder, max_octets),
        None => Embedded::in_memory(max_octets),
    });
    let records = corewire_core5g_runtime::Gauge::default();
    Udsf { store, records }.router()
}

fn open(folder: &Path, max_octets: usize) -> Embedded {
    let options = corewire_store::Options::default();
    let disk = Arc::new(OsFileSystem);
    Embedded::open(disk, folder, max_octets, options, Watch::of_test()).unwrap()
}

/// One on a disk of the test.
fn udsf_on(disk: &Disk) -> Router<Udsf> {
    let (disk, options) = (Arc::new(disk.clone()), corewire_store::Options::default());
    let folder = Path::new("/store");
    let store = Embedded::open(disk, folder, 1 << 20, options, Watch::of_test()).unwrap();
    Udsf {
        store: Store::Embedded(store),
        records: corewire_core5g_runtime::Gauge::default(),
    }
    .router()
}

fn ask(router: &Router<Udsf>, method: &str, path: &str, body: &str) -> Answered {
    asking::ask(
        router,
        method,
        path,
        &[("content-type", "application/json")],
        body,
    )
}

const ONE: &str = "/nudsf-dr/v1/realm/amf/records/ue-1";

#[test]
fn a_record_is_made_read_replaced_and_removed() {
    let router = udsf(None, 1000);
    assert_eq!(ask(&router, "GET", ONE, "").cause(), "RECORD_NOT_FOUND");
    let made = ask(&router, "PUT", ONE, r#"{"a":1}"#);
    assert_eq!((made.status, made.header("location")), (201, Some(ONE)));
    assert_eq!(ask(&router, "GET", ONE, "").text(), r#"{"a":1}"#);
    assert_eq!(ask(&router, "PUT", ONE, r#"{"a":2}"#).status, 204);
    assert_eq!(ask(&router, "GET", ONE, "").text(), r#"{"a":2}"#);
    assert_eq!(ask(&router, "DELETE", ONE, "").status, 204);
    assert_eq!(ask(&router, "DELETE", ONE, "").status, 404);
}

#[test]
fn records_are_listed_in_order_and_by_prefix() {
    let router = udsf(None, 100_000);
    for number in (0..50).rev() {
        let path = format!("/nudsf-dr/v1/realm/amf/records/ue-{number:02}");
        ask(&router, "PUT", &path, &number.to_string());
    }
    ask(&router, "PUT", "/nudsf-dr/v1/realm/smf/records/ue-01", "1");
    let path = "/nudsf-dr/v1/realm/amf/records?prefix=ue-1&after=ue-17";
    let all = ask(&router, "GET", path, "").text();
    assert_eq!(
        all,
        r#"[{"id":"ue-18","record":18},{"id":"ue-19","record":19}]"#
    );
}

#[test]
fn a_list_of_long_records_comes_in_pages() {
    let router = udsf(None, 1 << 30);
    let long = format!("\"{}\"", "1".repeat(MAX_RECORD - 2));
    for number in 0..10 {
        let path = format!("/nudsf-dr/v1/realm/amf/records/ue-{number}");
        assert_eq!(ask(&router, "PUT", &path, &long).status, 201);
    }
    let (mut all, mut after) = (0, String::new());
    loop {
        let path = format!("/nudsf-dr/v1/realm/amf/records?prefix=&after={after}");
        let said = ask(&router, "GET", &path, "");
        assert!(said.text().len() < MAX_LISTED_OCTETS + 1000);
        let page = said.json();
        let page = page.as_array().unwrap();
        let Some(last) = page.last() else { break };
        last["id"].as_str().unwrap().clone_into(&mut after);
        all += page.len();
    }
    assert_eq!(all, 10);
}

#[test]
fn what_two_change_at_a_time_is_the_same_in_the_log() {
    const NAMES: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), 1 << 30);
    for name in 0..NAMES {
        std::thread::scope(|scope| {
            for value in ["one", "two"] {
                let store = &store;
                scope.spawn(move || {
                    for _ in 0..100 {
                        now(store.put(&name.to_string(), value.into())).unwrap();
                        now(store.remove(&name.to_string())).unwrap();
                    }
                    now(store.put(&name.to_string(), value.into())).unwrap();
                });
            }
        });
    }
    let held = |store: &Embedded| -> Vec<_> {
        (0..NAMES)
            .map(|name| store.get(&name.to_string()))
            .collect()
    };
    let before = held(&store);
    drop(store);
    let again = open(folder.path(), 1 << 30);
    assert_eq!(held(&again), before);
}

#[test]
fn a_full_store_refuses_and_a_long_record_too() {
    let router = udsf(None, 200);
    assert_eq!(ask(&router, "PUT", ONE, &"1".repeat(100)).status, 201);
    let two = ask(
        &router,
        "PUT",
        "/nudsf-dr/v1/r/s/records/2",
        &"1".repeat(100),
    );
    assert_eq!(
        (two.status, two.cause().as_str()),
        (507, "INSUFFICIENT_RESOURCES")
    );
    let long = ask(&router, "PUT", ONE, &"1".repeat((1 << 20) + 1));
    assert_eq!(long.status, 413);
    let slash = ask(&router, "PUT", "/nudsf-dr/v1/r/s/records/a%2Fb", "1");
    assert_eq!(slash.status, 400);
    ask(&router, "DELETE", ONE, "");
    assert_eq!(ask(&router, "PUT", ONE, &"1".repeat(100)).status, 201);
}

#[test]
fn records_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let router = udsf(Some(folder.path()), 1 << 20);
    for number in 0..500 {
        let path = format!("/nudsf-dr/v1/realm/amf/records/{number}");
        assert_eq!(ask(&router, "PUT", &path, &number.to_string()).status, 201);
    }
    ask(&router, "DELETE", "/nudsf-dr/v1/realm/amf/records/7", "");
    drop(router);
    let router = udsf(Some(folder.path()), 1 << 20);
    let path = "/nudsf-dr/v1/realm/amf/records/499";
    assert_eq!(ask(&router, "GET", path, "").text(), "499");
    let gone = "/nudsf-dr/v1/realm/amf/records/7";
    assert_eq!(ask(&router, "GET", gone, "").status, 404);
}

fn path(number: u32) -> String {
    format!("/nudsf-dr/v1/realm/amf/records/ue-{number}")
}

#[test]
fn refuses_changes_with_507_when_the_disk_is_full_and_keeps_what_it_acknowledged() {
    let disk = Disk::new();
    let router = udsf_on(&disk);
    assert_eq!(ask(&router, "PUT", &path(0), "\"old\"").status, 201);
    disk.set_room(Some(1500));
    let mut taken = 1;
    for number in 1..60 {
        let said = ask(&router, "PUT", &path(number), &number.to_string());
        if said.status == 201 {
            taken += 1;
            continue;
        }
        assert_eq!(
            (said.status, said.cause().as_str()),
            (507, "INSUFFICIENT_RESOURCES")
        );
        // What is refused is not there, not even until the end of the process.
        assert_eq!(ask(&router, "GET", &path(number), "").status, 404);
    }
    assert!((3..59).contains(&taken), "{taken}");
    assert_eq!(ask(&router, "PUT", &path(0), "\"new\"").status, 507);
    assert_eq!(ask(&router, "DELETE", &path(0), "").status, 507);
    let again = udsf_on(&disk.after_kill());
    assert_eq!(ask(&again, "GET", &path(0), "").text(), "\"old\"");
    for number in 1..60 {
        let expected = if number < taken { 200 } else { 404 };
        assert_eq!(
            ask(&again, "GET", &path(number), "").status,
            expected,
            "{number}"
        );
    }
}

#[test]
fn refuses_changes_with_503_when_the_disk_fails() {
    let disk = Disk::new();
    let router = udsf_on(&disk);
    ask(&router, "PUT", &path(0), "\"old\"");
    disk.set_fault(Some((When::From(0), Fault::Error(INPUT_OUTPUT))));
    let said = ask(&router, "PUT", &path(0), "\"new\"");
    assert_eq!(
        (said.status, said.cause().as_str()),
        (503, "SYSTEM_FAILURE")
    );
    assert_eq!(ask(&router, "DELETE", &path(0), "").status, 503);
    assert_eq!(ask(&router, "GET", &path(0), "").text(), "\"old\"");
}
