//! Records through the router, and through a restart.

use super::embedded::Embedded;
use super::records::Udsf;
use super::store::{MAX_LISTED_OCTETS, MAX_RECORD, Store};
use crate::sbi::Router;
use crate::sbi::asking::{self, Said};
use std::path::Path;

fn udsf(folder: Option<&Path>, max_octets: usize) -> Router<Udsf> {
    let store = Store::Embedded(Embedded::open(folder, max_octets).unwrap());
    let records = crate::runtime::Gauge::default();
    Udsf { store, records }.router()
}

fn ask(router: &Router<Udsf>, method: &str, path: &str, body: &str) -> Said {
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
    let store = Embedded::open(Some(folder.path()), 1 << 30).unwrap();
    for name in 0..NAMES {
        std::thread::scope(|scope| {
            for value in ["one", "two"] {
                let store = &store;
                scope.spawn(move || {
                    for _ in 0..100 {
                        store.put(&name.to_string(), value.into()).unwrap();
                        store.remove(&name.to_string());
                    }
                    store.put(&name.to_string(), value.into()).unwrap();
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
    let again = Embedded::open(Some(folder.path()), 1 << 30).unwrap();
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
