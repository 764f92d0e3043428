use super::*;
use crate::identity::Identity;
use crate::table::TableLimits;

struct Bench {
    router: Arc<Router>,
    source: TableSource,
    begun: Instant,
}

const TABLE: &[u8] = b"newrt|start|t\nmse|1|-1|a:1\nnewrt|end|1\n";

impl Bench {
    fn new(variables: &[(&str, &str)]) -> Self {
        let (settings, faults) = Settings::from_env(|name| {
            variables
                .iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, value)| (*value).to_owned())
        });
        assert!(faults.is_empty(), "{faults:?}");
        let identity = Identity::named("me:4560").unwrap();
        let router = Arc::new(Router::new(identity, TableLimits::default()));
        let begun = now();
        Self {
            source: TableSource::new(&settings, Arc::clone(&router), begun),
            router,
            begun,
        }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.begun + Duration::from_secs(seconds)
    }

    /// What is to be done, without reports, as text.
    fn actions(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.source.poll())
            .filter_map(|action| match action {
                Action::ReadSeed { path } => Some(format!("read {path}")),
                Action::Request { to } => Some(format!("ask {to}")),
                Action::Acknowledge { reply, state } => Some(format!("{}: {state}", reply.0)),
                Action::Stash { path, .. } => Some(format!("stash {path}")),
                Action::Report(_) => None,
            })
            .collect()
    }

    fn reports(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.source.poll())
            .filter_map(|action| match action {
                Action::Report(report) => Some(report.to_string()),
                _ => None,
            })
            .collect()
    }

    /// Seconds until something is due.
    fn due(&self) -> Option<u64> {
        self.source
            .poll_timeout()
            .map(|due| due.duration_since(self.begun).as_secs())
    }

    fn wait_until(&mut self, seconds: u64) {
        self.source.handle_timeout(self.at(seconds));
    }

    fn message(&mut self, seconds: u64, text: &[u8], reply: u64) {
        let now = self.at(seconds);
        self.source
            .handle_message(now, message_type::TABLE_DATA, text, Reply(reply));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; only distances matter"
)]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_file_alone_is_read_each_second_until_ready_then_each_minute() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "-1"), ("RMR_SEED_RT", "f")]);
    assert_eq!(bench.actions(), ["read f"]);
    assert_eq!(bench.due(), None);
    let missing = io::Error::from(io::ErrorKind::NotFound);
    bench.source.handle_seed(bench.at(0), Err(&missing));
    assert_eq!(bench.reports().len(), 1);
    assert_eq!(bench.due(), Some(1));
    bench.wait_until(1);
    assert_eq!(bench.actions(), ["read f"]);
    // The same again is not worth another word.
    bench.source.handle_seed(bench.at(1), Err(&missing));
    assert!(bench.reports().is_empty());
    bench.wait_until(2);
    assert_eq!(bench.actions(), ["read f"]);
    bench.source.handle_seed(bench.at(2), Ok(TABLE));
    assert!(bench.router.is_ready());
    assert_eq!(bench.due(), Some(62));
    bench.wait_until(61);
    assert!(bench.actions().is_empty());
    bench.wait_until(62);
    assert_eq!(bench.actions(), ["read f"]);
    bench
        .source
        .handle_seed(bench.at(62), Ok(b"newrt|start\nbad\nnewrt|end|1"));
    // The record that is skipped, and the table that is refused.
    assert_eq!(bench.reports().len(), 2);
    assert_eq!(bench.router.table().len(), 1);
    assert_eq!(bench.due(), Some(122));
}

#[test]
fn the_same_file_again_changes_nothing() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "-1"), ("RMR_SEED_RT", "f")]);
    bench.source.handle_seed(bench.at(0), Ok(TABLE));
    let before = std::ptr::from_ref(&*bench.router.table()).addr();
    bench.source.handle_seed(bench.at(60), Ok(TABLE));
    assert_eq!(std::ptr::from_ref(&*bench.router.table()).addr(), before);
}

#[test]
fn a_seed_that_is_longer_than_is_taken_is_not_read_and_said_once() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "-1"), ("RMR_SEED_RT", "f")]);
    bench.actions();
    // Zeros that nobody looks at take no memory.
    let long = vec![0; MAX_TABLE_OCTETS + 1];
    bench.source.handle_seed(bench.at(0), Ok(&long));
    bench.source.handle_seed(bench.at(1), Ok(&long));
    let told: Vec<_> = std::iter::from_fn(|| bench.source.poll()).collect();
    let expected = Action::Report(Report::SeedTooLong {
        path: "f".to_owned(),
        octets: MAX_TABLE_OCTETS + 1,
        max: 268_435_456,
    });
    assert_eq!(told, [expected]);
    assert_eq!(bench.due(), Some(2));
}

#[test]
fn a_seed_that_ends_within_a_table_is_said() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "-1"), ("RMR_SEED_RT", "f")]);
    bench.actions();
    bench
        .source
        .handle_seed(bench.at(0), Ok(b"newrt|start\nmse|1|-1|a:1\n"));
    assert_eq!(
        bench.reports(),
        ["seed route table f ends within a table: newrt | end expected"]
    );
    // Its beginning does not wait for an end.
    bench.source.handle_seed(bench.at(1), Ok(b"newrt|end\n"));
    assert!(!bench.router.is_ready());
}

#[test]
fn a_manager_is_asked_until_a_whole_table_has_come() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "rm:4561"), ("RMR_RTREQ_FREQ", "10")]);
    assert_eq!(bench.actions(), ["ask rm:4561"]);
    assert_eq!(bench.due(), Some(10));
    bench.source.handle_request_failed();
    assert_eq!(bench.reports().len(), 1);
    bench.wait_until(10);
    assert_eq!(bench.actions(), ["ask rm:4561"]);
    // While it comes there is no need to ask; when the rest does not come there is.
    bench.message(15, b"newrt|start|t\nmse|1|-1|a:1\n", 4);
    assert!(bench.actions().is_empty());
    assert_eq!(bench.due(), Some(25));
    bench.wait_until(25);
    assert_eq!(bench.actions(), ["ask rm:4561"]);
    bench.message(26, b"newrt|end|9", 5);
    assert_eq!(
        bench.actions(),
        ["5: table t was refused: missing table records: expected 9 got 1"]
    );
    assert_eq!(bench.due(), Some(36));
    bench.message(27, TABLE, 6);
    assert_eq!(bench.actions(), ["6: table t was taken"]);
    assert_eq!(bench.due(), None);
}

#[test]
fn a_seed_serves_until_the_manager_comes() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "rm:4561"), ("RMR_SEED_RT", "f")]);
    assert_eq!(bench.actions(), ["read f", "ask rm:4561"]);
    bench.source.handle_seed(bench.at(0), Ok(TABLE));
    assert!(bench.router.is_ready());
    // It is neither read again nor acknowledged, nor a reason not to ask.
    assert!(bench.actions().is_empty());
    assert_eq!(bench.due(), Some(5));
    // And no base for changes.
    bench.message(1, b"updatert|start|u\nupdatert|end\n", 1);
    assert_eq!(
        bench.actions(),
        ["1: table u was refused: full table not previously received"]
    );
}

#[test]
fn who_listens_only_asks_nobody() {
    let mut bench = Bench::new(&[("RMR_RTG_SVC", "4999")]);
    assert!(bench.actions().is_empty());
    assert_eq!(bench.due(), None);
    bench.message(0, TABLE, 1);
    assert_eq!(bench.actions(), ["1: table t was taken"]);
}

#[test]
fn each_table_of_a_message_is_acknowledged() {
    let mut bench = Bench::new(&[]);
    let text = [TABLE, b"meid_map|start|m\nmme_ar|a:1|x\nmeid_map|end|1\n\0"].concat();
    bench.message(0, &text, 9);
    assert_eq!(
        bench.actions(),
        ["9: table t was taken", "9: table m was taken"]
    );
}

#[test]
fn other_messages_on_the_control_port_are_passed_over() {
    let mut bench = Bench::new(&[]);
    bench
        .source
        .handle_message(bench.at(0), 12010, TABLE, Reply(1));
    assert!(!bench.router.is_ready());
    assert_eq!(
        bench.reports(),
        ["a message of type 12010 came to the control port; passed over"]
    );
}

#[test]
fn the_last_table_is_saved_at_most_once_a_second() {
    let mut bench = Bench::new(&[("RMR_STASH_RT", "s")]);
    bench.message(0, TABLE, 1);
    assert_eq!(bench.actions(), ["1: table t was taken", "stash s"]);
    for reply in 2..5 {
        bench.message(0, TABLE, reply);
    }
    bench.message(0, b"newrt|start|t\nmse|2|-1|z:1\nnewrt|end", 5);
    assert_eq!(bench.actions().len(), 4);
    assert_eq!(bench.due(), Some(1));
    bench.wait_until(1);
    let Some(Action::Stash { text, .. }) = bench.source.poll() else {
        panic!("the last one is saved")
    };
    assert!(text.contains("z:1"));
    assert_eq!(bench.due(), None);
    // A refused one changes nothing.
    bench.message(5, b"newrt|start\nnewrt|end|7", 6);
    assert_eq!(bench.due(), None);
}

#[test]
fn a_file_alone_is_not_saved() {
    let bench = Bench::new(&[
        ("RMR_RTG_SVC", "-1"),
        ("RMR_SEED_RT", "f"),
        ("RMR_STASH_RT", "s"),
    ]);
    assert_eq!(bench.source.stash, None);
}
