//! Tables as the O-RAN SC route manager writes them (ric-plt-rtmgr, releases up to M), odd records
//! among them: each gets to whoever it is meant for, and is acknowledged.
//!
//! `full.txt` is what it sends whenever something changes, `update.txt` what a subscription brings,
//! `older.txt` what releases before the present form wrote.

use corewire_rmr::{Action, Identity, NoRoute, Reply, Router, Settings, TableLimits, TableSource};
use corewire_wire::rmr::message_type::TABLE_DATA;
use std::sync::Arc;
use std::time::Instant;

const FULL: &str = include_str!("route_manager/full.txt");
const UPDATE: &str = include_str!("route_manager/update.txt");
const NO_ELEMENTS: &str = include_str!("route_manager/no_elements.txt");
const OLDER: &str = include_str!("route_manager/older.txt");

const XAPP: &str = "10.10.0.21:4560";
const SUBMGR: &str = "service-ricplt-submgr-rmr.ricplt:4560";
const E2MGR: &str = "service-ricplt-e2mgr-rmr.ricplt:3801";

/// One of those that get the table.
struct Receiver {
    router: Arc<Router>,
    source: TableSource,
}

impl Receiver {
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn named(name: &str) -> Self {
        let identity = Identity::named(name).unwrap();
        let router = Arc::new(Router::new(identity, TableLimits::default()));
        let source = TableSource::new(&Settings::default(), Arc::clone(&router), Instant::now());
        Self { router, source }
    }

    /// Takes a message; gives the acknowledgements.
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn take(&mut self, text: &str) -> Vec<String> {
        let source = &mut self.source;
        source.handle_message(Instant::now(), TABLE_DATA, text.as_bytes(), Reply(0));
        let mut told = Vec::new();
        while let Some(action) = source.poll() {
            if let Action::Acknowledge { state, .. } = action {
                told.push(state.to_string());
            }
        }
        told
    }

    fn with(name: &str, texts: &[&str]) -> Self {
        let mut receiver = Self::named(name);
        for text in texts {
            let told = receiver.take(text);
            let taken = |told: &String| told.ends_with("was taken");
            assert!(!told.is_empty() && told.iter().all(taken), "{told:?}");
        }
        receiver
    }

    fn to(&self, message_type: i32, sub_id: i32, meid: &str) -> Result<Vec<String>, NoRoute> {
        let table = self.router.table();
        let targets = table.targets(message_type, sub_id, meid.as_bytes())?;
        let name = |id| self.router.endpoints().get(id).name().to_owned();
        Ok(targets.map(name).collect())
    }

    #[track_caller]
    fn goes(&self, message_type: i32, sub_id: i32, expected: &[&str]) {
        assert_eq!(self.to(message_type, sub_id, "").unwrap(), expected);
    }

    #[track_caller]
    fn nowhere(&self, message_type: i32, sub_id: i32) {
        let none = self.to(message_type, sub_id, "").unwrap_err();
        assert_eq!(none, NoRoute::NoEntry);
    }
}

#[test]
fn an_xapp_reaches_the_platform_and_other_xapps() {
    let xapp = Receiver::with(XAPP, &[FULL]);
    assert!(xapp.router.is_ready());
    for subscribing in [12010, 12020] {
        xapp.goes(subscribing, -1, &[SUBMGR]);
        xapp.goes(subscribing, 7, &[SUBMGR]);
    }
    // Not to itself.
    xapp.goes(30001, -1, &["10.10.0.22:4560"]);
    xapp.goes(12050, 8, &["10.10.0.22:4560"]);
    xapp.nowhere(30000, -1);
    xapp.goes(20010, 20000, &["10.10.0.22:4560"]);
    // The policies that it holds itself.
    assert_eq!(xapp.to(20010, 20008, ""), Err(NoRoute::EmptyEntry));
    // Routes that were added by hand.
    xapp.goes(4711, 5, &["10.10.0.99:4560"]);
    xapp.goes(4712, 9, &["a:4560", "c:4560"]);
    xapp.goes(4712, 9, &["b:4560", "c:4560"]);
    xapp.goes(4714, -1, &["fd00::17:4560"]);
}

#[test]
fn control_goes_to_who_owns_the_element() {
    let xapp = Receiver::with(XAPP, &[FULL]);
    for control in [12040, 4713] {
        let to = |meid| xapp.to(control, -1, meid);
        let [a, c] = ["10.104.160.127:38000", "10.108.90.168:38000"].map(str::to_owned);
        assert_eq!(to("gnb_001_001_000a"), Ok(vec![a.clone()]));
        assert_eq!(to("gnb_001_001_000b"), Ok(vec![a]));
        assert_eq!(to("gnb_001_001_000c"), Ok(vec![c]));
        assert_eq!(to("gnb_001_001_000d"), Err(NoRoute::UnknownMeid));
    }
}

#[test]
fn the_platform_has_its_own_routes() {
    let submgr = Receiver::with(SUBMGR, &[FULL]);
    submgr.goes(12011, 7, &[XAPP]);
    submgr.nowhere(12011, 8);
    assert_eq!(
        submgr.to(12010, -1, "gnb_001_001_000c").unwrap(),
        ["10.108.90.168:38000"]
    );
    let e2mgr = Receiver::with(E2MGR, &[FULL]);
    let all = [
        "10.104.160.127:38000",
        "10.108.90.168:38000",
        "10.102.131.163:38000",
    ];
    e2mgr.goes(1101, -1, &all);
    let e2term = Receiver::with(all[0], &[FULL]);
    e2term.goes(12050, 7, &[XAPP]);
    e2term.goes(12041, 7, &[XAPP]);
    e2term.goes(12041, 9, &[XAPP]);
    e2term.goes(12002, -1, &[E2MGR]);
    e2term.nowhere(1210, -1);
    e2term.nowhere(1101, -1);
}

/// A message name that it does not know, and components that are not there yet.
#[test]
fn records_that_say_nothing_cost_only_themselves() {
    for name in [XAPP, SUBMGR, E2MGR] {
        let receiver = Receiver::with(name, &[FULL]);
        for empty in [1200, 20012] {
            receiver.to(empty, -1, "").unwrap_err();
        }
        assert!(receiver.to(0, -1, "").is_err());
    }
}

#[test]
fn a_subscription_changes_what_is_there() {
    let e2term = Receiver::with("10.104.160.127:38000", &[FULL, UPDATE]);
    e2term.goes(12050, 31, &["10.10.0.22:4560"]);
    e2term.goes(12050, 7, &["10.10.0.22:4560"]);
    e2term.goes(12050, 8, &["10.10.0.22:4560"]);
    e2term.goes(12041, 7, &[XAPP]);
    let submgr = Receiver::with(SUBMGR, &[FULL, UPDATE]);
    submgr.goes(12011, 31, &["10.10.0.22:4560"]);
    submgr.goes(12011, 7, &[XAPP]);
}

#[test]
fn without_xapps_and_elements_there_is_an_empty_table() {
    let receiver = Receiver::with(XAPP, &[NO_ELEMENTS]);
    assert!(receiver.router.is_ready());
    receiver.nowhere(12010, -1);
    // The owners of managed elements are kept from table to table: an empty list removes none.
    let kept = Receiver::with(XAPP, &[FULL, NO_ELEMENTS, FULL]);
    assert!(kept.to(12040, -1, "gnb_001_001_000a").is_ok());
}

#[test]
fn what_older_releases_wrote() {
    let xapp = Receiver::with(XAPP, &[OLDER]);
    xapp.goes(10040, 5, &[SUBMGR]);
    xapp.goes(10050, -1, &["10.10.0.22:4560"]);
    let other = Receiver::with("10.10.0.22:4560", &[OLDER]);
    other.nowhere(10040, -1);
    other.goes(10060, 3, &[XAPP]);
    other.nowhere(10060, 4);
}

/// It sends each table once more when the answer is not in time.
#[test]
fn a_table_that_comes_twice_is_the_same_table() {
    let mut xapp = Receiver::with(XAPP, &[FULL, FULL]);
    xapp.goes(12010, -1, &[SUBMGR]);
    // A table begins before the last has come as a whole: that one is refused.
    let cut = &FULL[..FULL.find("newrt|end").unwrap()];
    xapp.take(cut);
    let told = xapp.take(FULL);
    assert!(told[0].contains("table not complete"), "{told:?}");
    assert!(told.last().unwrap().ends_with("was taken"), "{told:?}");
    xapp.goes(12010, -1, &[SUBMGR]);
}
