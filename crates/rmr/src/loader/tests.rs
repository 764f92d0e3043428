use super::*;
use crate::identity::Identity;
use crate::table::{NoRoute, TableLimits};

struct Bench {
    router: Arc<Router>,
    loader: Loader,
}

impl Bench {
    fn new() -> Self {
        Self::with(TableLimits::default())
    }

    fn with(limits: TableLimits) -> Self {
        let identity = Identity::named("me:4560")
            .unwrap()
            .with_addresses(["10.0.0.1:4560", "[fd00::1]:4560"]);
        let router = Arc::new(Router::new(identity, limits));
        let loader = Loader::new(Arc::clone(&router));
        Self { router, loader }
    }

    /// Reads a text; gives what a route manager is told.
    fn read(&mut self, text: &str) -> Vec<String> {
        let outcome = self.loader.read(text.as_bytes());
        assert_eq!(
            outcome.changed,
            outcome.states.iter().any(|state| state.taken)
        );
        outcome.states.iter().map(ToString::to_string).collect()
    }

    /// A whole table of these entries, which must be taken.
    fn table(&mut self, entries: &str) {
        let told = self.read(&format!("newrt|start|t\n{entries}\nnewrt|end\n"));
        assert_eq!(told, ["table t was taken"]);
    }

    /// Where the next message goes.
    fn to(&self, message_type: i32, sub_id: i32, meid: &str) -> Result<Vec<String>, NoRoute> {
        let table = self.router.table();
        let targets = table.targets(message_type, sub_id, meid.as_bytes())?;
        let count = targets.len();
        let names: Vec<_> = targets
            .map(|id| self.router.endpoints().get(id).name().to_owned())
            .collect();
        assert_eq!(names.len(), count);
        Ok(names)
    }

    #[track_caller]
    fn goes(&self, message_type: i32, sub_id: i32, expected: &[&str]) {
        assert_eq!(self.to(message_type, sub_id, "").unwrap(), expected);
    }

    #[track_caller]
    fn nowhere(&self, message_type: i32, sub_id: i32, why: NoRoute) {
        assert_eq!(self.to(message_type, sub_id, "").unwrap_err(), why);
    }
}

#[test]
fn a_group_takes_turns_and_groups_fan_out() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|a:1,b:1,c:1;d:1;e:1,f:1");
    for expected in [
        ["a:1", "d:1", "e:1"],
        ["b:1", "d:1", "f:1"],
        ["c:1", "d:1", "e:1"],
        ["a:1", "d:1", "f:1"],
    ] {
        bench.goes(1, -1, &expected);
    }
}

#[test]
fn an_entry_of_one_endpoint_is_fixed_and_no_other() {
    let mut bench = Bench::new();
    bench.table(
        "mse|1|-1|a:1\nmse|2|-1|a:1,me:4560\nmse|3|-1|a:1,b:1\nmse|4|-1|a:1;b:1\nmse|5|-1|%meid",
    );
    bench.read("meid_map|start\nmme_ar|a:1|m\nmeid_map|end");
    let table = bench.router.table();
    let a = bench.router.endpoints().find("a:1");
    for (message_type, fixed) in [(1, a), (2, a), (3, None), (4, None), (5, None)] {
        let targets = table.targets(message_type, -1, b"m").unwrap();
        assert_eq!(targets.fixed(), fixed, "{message_type}");
    }
}

#[test]
fn a_subscription_without_its_own_entry_uses_the_one_for_any() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|any:1\nmse|1|7|seven:1\nmse|2|7|only:1");
    bench.goes(1, 7, &["seven:1"]);
    bench.goes(1, 8, &["any:1"]);
    bench.goes(1, -1, &["any:1"]);
    bench.goes(2, 7, &["only:1"]);
    bench.nowhere(2, 8, NoRoute::NoEntry);
    bench.nowhere(2, -1, NoRoute::NoEntry);
    bench.nowhere(3, -1, NoRoute::NoEntry);
}

#[test]
fn entries_for_other_senders_are_not_ours() {
    let mut bench = Bench::new();
    bench.table(
        "mse|1,other:4560|-1|a:1\n\
         mse|2,other:4560,me:4560|-1|a:1\n\
         mse|3,10.0.0.1:4560|-1|a:1\n\
         mse|4,[fd00::1]:4560|-1|a:1\n\
         mse|5,me:4561|-1|a:1\n\
         mse|6,|-1|a:1",
    );
    for ours in [2, 3, 4] {
        bench.goes(ours, -1, &["a:1"]);
    }
    for theirs in [1, 5, 6] {
        bench.nowhere(theirs, -1, NoRoute::NoEntry);
    }
}

#[test]
fn a_later_entry_replaces_an_earlier_one() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|all:1\nmse|1,me:4560|-1|mine:1\nmse|1,other:1|-1|theirs:1");
    bench.goes(1, -1, &["mine:1"]);
    bench.table("mse|1|-1|a:1;b:1\nrte|1|c:1");
    bench.goes(1, -1, &["c:1"]);
    bench.table("mse|1|-1|a:1\nmse|1|-1|%meid");
    bench.nowhere(1, -1, NoRoute::UnknownMeid);
}

#[test]
fn nothing_is_sent_to_ourselves() {
    let mut bench = Bench::new();
    bench.table(
        "mse|1|-1|me:4560,a:1\n\
         mse|2|-1|a:1;10.0.0.1:4560;b:1\n\
         mse|3|-1|me:4560;[fd00::1]:4560,me:4560",
    );
    bench.goes(1, -1, &["a:1"]);
    bench.goes(1, -1, &["a:1"]);
    bench.goes(2, -1, &["a:1", "b:1"]);
    bench.nowhere(3, -1, NoRoute::EmptyEntry);
    // The entry is there, so the one for any subscription is not looked for.
    bench.table("mse|3|5|me:4560\nmse|3|-1|a:1");
    bench.nowhere(3, 5, NoRoute::EmptyEntry);
}

#[test]
fn by_managed_element() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|%meid");
    assert_eq!(
        bench.read("meid_map|start|m\nmme_ar|e2a:1|m1 m2\nmme_ar|e2b:1|m3 m2\nmeid_map|end|2|md5"),
        ["table m was taken"]
    );
    assert_eq!(bench.to(1, -1, "m1").unwrap(), ["e2a:1"]);
    assert_eq!(bench.to(1, -1, "m2").unwrap(), ["e2b:1"]);
    assert_eq!(bench.to(1, -1, "m3\0left over").unwrap(), ["e2b:1"]);
    assert_eq!(bench.to(1, -1, ""), Err(NoRoute::UnknownMeid));
    assert_eq!(bench.to(1, -1, "m"), Err(NoRoute::UnknownMeid));
    // Changes are changes to all there is; a new table of routes keeps the owners.
    bench.read("meid_map|start\nmme_del|m1 mx\nmeid_map|end|1");
    bench.table("mse|2|-1|%meid");
    assert_eq!(bench.to(2, -1, "m1"), Err(NoRoute::UnknownMeid));
    assert_eq!(bench.to(2, -1, "m3").unwrap(), ["e2b:1"]);
    bench.nowhere(1, -1, NoRoute::NoEntry);
}

#[test]
fn a_table_says_how_much_is_in_it() {
    let mut bench = Bench::new();
    let counts = |bench: &Bench| {
        let table = bench.router.table();
        (table.len(), table.is_empty(), table.meids())
    };
    assert_eq!(counts(&bench), (0, true, 0));
    bench.read("meid_map|start\nmme_ar|a:1|m1 m2\nmme_ar|b:1|m2 m3\nmeid_map|end");
    assert_eq!(counts(&bench), (0, true, 3));
    bench.table("mse|1|-1|a:1\nmse|2|-1|me:4560");
    assert_eq!(counts(&bench), (2, false, 3));
}

#[test]
fn identifiers_of_managed_elements_end_where_a_message_ends_them() {
    let mut bench = Bench::new();
    let (fits, long) = ("f".repeat(31), "g".repeat(32));
    let outcome = bench.loader.read(
        format!("newrt|start\nmse|1|-1|%meid\nmme_ar|a:1|{fits} {long}\nnewrt|end\n").as_bytes(),
    );
    assert!(outcome.reports.iter().any(|report| matches!(
        report,
        Report::LongMeids {
            line: 3,
            count: 1,
            max: 31
        }
    )));
    // Where none is too long there is nothing to say.
    let outcome = bench
        .loader
        .read(b"meid_map|start\nmme_ar|a:1|m\nmeid_map|end\n");
    assert!(matches!(outcome.reports[..], [Report::Taken { .. }]));
    assert_eq!(bench.to(1, -1, &fits).unwrap(), ["a:1"]);
    assert_eq!(bench.to(1, -1, &long), Err(NoRoute::UnknownMeid));
}

#[test]
fn nothing_is_live_before_its_end() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|old:1");
    assert!(bench.read("newrt|start|t2\nmse|1|-1|new:1\n").is_empty());
    bench.goes(1, -1, &["old:1"]);
    assert_eq!(bench.read("newrt|end|1"), ["table t2 was taken"]);
    bench.goes(1, -1, &["new:1"]);
}

#[test]
fn a_wrong_count_refuses_the_table() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|old:1");
    assert_eq!(
        bench.read("newrt|start|t2\nmse|1|-1|new:1\nmse|2|-1|new:1\nnewrt|end|3\n"),
        ["table t2 was refused: missing table records: expected 3 got 2"]
    );
    bench.goes(1, -1, &["old:1"]);
    // What was for others and what took entries away count; who owns what does not.
    assert_eq!(
        bench.read(
            "newrt|start\nmse|1,other:1|-1|new:1\ndel|1|-1\nmme_ar|a:1|m\nrte|2|a:1\nnewrt|end|3\n"
        ),
        ["table <id-missing> was taken"]
    );
    assert_eq!(
        bench.read("meid_map|start|m\nmme_ar|b:1|m\nmse|9|-1|a:1\nmeid_map|end|2"),
        ["table m was refused: missing table records: expected 2 got 1"]
    );
    assert_eq!(
        bench.router.table().owner(b"m"),
        bench.router.endpoints().find("a:1")
    );
}

/// What the O-RAN SC route manager writes for a message name or an endpoint that it does not know,
/// and other records that the C library skips. A count includes those that it counts.
#[test]
fn skips_and_reports_records_that_cannot_be_read() {
    for (record, counted, report) in [
        (
            "mse||-1|a:1",
            true,
            "line 3, column 5: a message type expected, a number",
        ),
        (
            "mse|2|-1|",
            true,
            "line 3, column 10: endpoints expected, host:port,.. or %meid",
        ),
        (
            "mse|2||a:1",
            true,
            "line 3, column 7: a subscription expected, a number or -1 for any",
        ),
        (
            "mse|2|",
            false,
            "line 3, column 7: a subscription expected, a number or -1 for any",
        ),
        (
            "rte|x|a:1",
            true,
            "line 3, column 5: a message type expected, a number, found \"x\"",
        ),
        (
            "del|2|y",
            true,
            "line 3, column 7: a subscription expected, a number or -1 for any, found \"y\"",
        ),
        (
            "mxe|2|-1|a:1",
            false,
            "line 3, column 1: newrt, updatert, rte, mse, del, meid_map, mme_ar or mme_del expected, found \"mxe\"",
        ),
        (
            "?|2|3|4",
            false,
            "line 3, column 1: newrt, updatert, rte, mse, del, meid_map, mme_ar or mme_del expected, found \"?\"",
        ),
    ] {
        let mut bench = Bench::new();
        bench.table("mse|1|-1|old:1");
        let count = 1 + u32::from(counted);
        let table = format!("newrt|start|t\nmse|1|-1|new:1\n{record}\nnewrt|end|{count}\n");
        let outcome = bench.loader.read(table.as_bytes());
        assert!(outcome.states[0].taken, "{record}: {:?}", outcome.states);
        let reports: Vec<String> = outcome.reports.iter().map(ToString::to_string).collect();
        assert!(
            reports.contains(&format!("route table: {report}")),
            "{record}: {reports:?}"
        );
        bench.goes(1, -1, &["new:1"]);
        bench.nowhere(2, -1, NoRoute::NoEntry);
    }
}

#[test]
fn skipped_records_of_managed_elements_count_in_their_map() {
    for (record, count) in [("mme_ar||m", 2), ("mme_del|", 2), ("mme_ar|a:1", 1)] {
        let mut bench = Bench::new();
        let text = format!("meid_map|start|m\nmme_ar|a:1|m1\n{record}\nmeid_map|end|{count}\n");
        let outcome = bench.loader.read(text.as_bytes());
        assert!(outcome.states[0].taken, "{record}: {:?}", outcome.states);
        assert!(matches!(outcome.reports[0], Report::Fault(_)), "{record}");
    }
}

#[test]
fn counts_lines_on_over_several_messages() {
    let mut bench = Bench::new();
    bench.read("newrt|start|bad\nmse|1|-1|new:1\n");
    let outcome = bench.loader.read(b"\nmse|x|-1|a:1\nnewrt|end");
    assert!(outcome.reports[0].to_string().contains("line 4, column 5"));
    bench.goes(1, -1, &["new:1"]);
}

#[test]
fn takes_the_unsigned_form_of_any_subscription() {
    let mut bench = Bench::new();
    bench.table("mse|1|4294967295|a:1");
    bench.goes(1, -1, &["a:1"]);
    bench.goes(1, 7, &["a:1"]);
}

#[test]
fn refuses_a_table_whose_count_is_no_number() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|old:1");
    assert_eq!(
        bench.read("newrt|start|t\nmse|1|-1|new:1\nnewrt|end|one\n"),
        [
            "table t was refused: line 3, column 11: the number of records expected, or nothing, found \"one\""
        ]
    );
    bench.goes(1, -1, &["old:1"]);
}

#[test]
fn a_table_that_is_begun_again_was_not_complete() {
    let mut bench = Bench::new();
    for second in ["newrt", "meid_map"] {
        assert_eq!(
            bench.read(&format!(
                "newrt|start|one\nmse|1|-1|a:1\n{second}|start|two\n{second}|end"
            )),
            [
                "table one was refused: table not complete",
                "table two was taken"
            ]
        );
        bench.nowhere(1, -1, NoRoute::NoEntry);
    }
}

#[test]
fn records_outside_of_a_table_change_nothing() {
    let mut bench = Bench::new();
    let outcome = bench
        .loader
        .read(b"mse|1|-1|a:1\ndel|1|-1\nmme_ar|a:1|m\nnewrt|end|7\nmeid_map|end\nupdatert|end|1");
    assert!(outcome.states.is_empty() && !outcome.changed);
    assert_eq!(outcome.reports.len(), 6);
    assert!(!bench.router.is_ready());
}

#[test]
fn changes_build_upon_what_is_live() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|a:1,b:1\nmse|2|-1|a:1\nmse|3|-1|a:1;b:1\nmse|4|-1|a:1");
    bench.goes(1, -1, &["a:1"]);
    assert_eq!(
        bench.read(
            "updatert|start|u\nmse|2|-1|c:1\nmse|5|-1|c:1\ndel|4|-1\ndel|9|-1\n\
             del|3,other:1|-1\nupdatert|end|5"
        ),
        ["table u was taken"]
    );
    // Turns go on.
    bench.goes(1, -1, &["b:1"]);
    bench.goes(2, -1, &["c:1"]);
    bench.goes(3, -1, &["a:1", "b:1"]);
    bench.nowhere(4, -1, NoRoute::NoEntry);
    bench.goes(5, -1, &["c:1"]);
}

#[test]
fn changes_to_nothing_are_refused() {
    let mut bench = Bench::new();
    let changes = "updatert|start|u\nmse|1|-1|a:1\nupdatert|end";
    let refused = ["table u was refused: full table not previously received"];
    assert_eq!(bench.read(changes), refused);
    // A seed is no base for a route manager's changes.
    bench.table("mse|2|-1|a:1");
    bench.loader.forget_full();
    assert_eq!(bench.read(changes), refused);
    bench.nowhere(1, -1, NoRoute::NoEntry);
    bench.goes(2, -1, &["a:1"]);
    bench.table("mse|2|-1|a:1");
    assert_eq!(bench.read(changes), ["table u was taken"]);
}

#[test]
fn ready_when_routes_have_come() {
    let mut bench = Bench::new();
    bench.read("meid_map|start\nmme_ar|a:1|m\nmeid_map|end|1");
    assert!(!bench.router.is_ready());
    bench.table("mse|1|-1|%meid");
    assert!(bench.router.is_ready());
    assert_eq!(bench.to(1, -1, "m").unwrap(), ["a:1"]);
}

#[test]
fn endpoints_outlive_tables() {
    let mut bench = Bench::new();
    bench.table("mse|1|-1|a:1");
    let a = bench.router.endpoints().find("a:1").unwrap();
    bench.router.endpoints().get(a).counters().accepted.add(3);
    bench.table("mse|1|-1|b:1");
    bench.table("mse|1|-1|a:1");
    assert_eq!(bench.router.endpoints().find("a:1"), Some(a));
    assert_eq!(bench.router.endpoints().get(a).counters().accepted.get(), 3);
}

#[test]
fn limits_refuse_the_table() {
    let limits = TableLimits {
        entries: 2,
        members: 4,
        meids: 2,
        endpoints: 3,
    };
    for (entries, reason) in [
        (
            "mse|1|-1|a:1\nmse|2|-1|a:1\nmse|3|-1|a:1",
            "line 4: more than 2 entries",
        ),
        (
            "mse|1|-1|a:1,a:1;a:1,a:1,a:1",
            "line 2: more than 4 endpoints in its groups",
        ),
        ("mme_ar|a:1|x y z", "line 2: more than 2 managed elements"),
        (
            "mse|1|-1|a:1,b:1;c:1,d:1",
            "line 2: more than 3 different endpoints in this and earlier tables",
        ),
    ] {
        let mut bench = Bench::with(limits);
        bench.table("mse|1|-1|a:1");
        assert_eq!(
            bench.read(&format!("newrt|start|t\n{entries}\nnewrt|end")),
            [format!("table t was refused: {reason}")]
        );
        bench.goes(1, -1, &["a:1"]);
        // Replaced entries do not count.
        bench.table("mse|1|-1|a:1\nmse|2|-1|a:1\nmse|1|-1|b:1");
    }
    // As much as may be is taken.
    for entries in [
        "mse|1|-1|a:1\nmse|2|-1|a:1",
        "mse|1|-1|a:1,b:1;a:1,b:1",
        "mme_ar|a:1|x y",
        "mse|1|-1|a:1,b:1,c:1",
    ] {
        Bench::with(limits).table(entries);
    }
}

#[test]
fn a_flood_of_faults_is_counted_not_told() {
    let mut bench = Bench::new();
    let outcome = bench.loader.read("?\n".repeat(1000).as_bytes());
    assert_eq!(outcome.reports.len(), MOST_REPORTS + 1);
    assert!(matches!(
        outcome.reports.last(),
        Some(Report::AndMore { count: 980 })
    ));
}

#[test]
fn a_table_is_text_again() {
    let mut bench = Bench::new();
    bench.table(
        "mse|2|7|b:1,a:1;c:1\nmse|1|-1|a:1\nmse|3|-1|%meid\nmse|4|-1|me:4560\nmse|5|-1|a:1;b:1",
    );
    bench.read("meid_map|start\nmme_ar|e2:1|m2 m1\nmme_ar|a:1|m3\nmeid_map|end|2");
    let text = bench.router.table().to_text(bench.router.endpoints());
    assert_eq!(
        text,
        "newrt | start |t\n\
         mse | 1 | -1 | a:1\n\
         mse | 2 | 7 | b:1,a:1;c:1\n\
         mse | 3 | -1 | %meid\n\
         mse | 5 | -1 | a:1;b:1\n\
         newrt | end | 4\n\
         meid_map | start\n\
         mme_ar | a:1 | m3\n\
         mme_ar | e2:1 | m1 m2\n\
         meid_map | end | 2\n"
    );
    let mut again = Bench::new();
    assert_eq!(again.read(&text).len(), 2);
    assert_eq!(again.router.table().to_text(again.router.endpoints()), text);
}
