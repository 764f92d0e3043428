use super::*;
use proptest::prelude::*;

fn only(text: &str) -> Line<'_> {
    let mut records = Records::new(text.as_bytes());
    let line = records.next().expect("a record").expect("no fault");
    assert!(records.next().is_none());
    line
}

fn fault(text: &str) -> String {
    Records::new(text.as_bytes())
        .find_map(Result::err)
        .expect("a fault")
        .to_string()
}

/// An entry as text again: type, subscription, senders, groups.
fn route(text: &str) -> String {
    let Record::Route(route) = only(text).record else {
        panic!("no entry: {text}")
    };
    let senders: Vec<_> = route.senders.iter().collect();
    let target = match route.target {
        Target::Meid => "%meid".to_owned(),
        Target::Groups(groups) => groups
            .iter()
            .map(|group| group.iter().collect::<Vec<_>>().join(","))
            .collect::<Vec<_>>()
            .join(";"),
    };
    format!(
        "{} {} {senders:?} {target}",
        route.message_type, route.sub_id
    )
}

#[test]
fn a_whole_table_is_read_record_by_record() {
    let text = "# a comment\n\
        newrt | start | t1\r\n\
        \r\n\
        rte | 1 | a:1,b:1\r\
        \trte|2,me:4560|a:1;b:1|5 # the old form\n\
        mse | 3 | -1 | %meid\n\
        del | 4,me:4560 | 7\n\
        newrt | end | 4\n\
        meid_map | start\n\
        mme_ar | e2:3800 | m1  m2\tm3\n\
        mme_del | m4\n\
        meid_map | end | 2 | 0123abcd\n\
        updatert | start | t2\n\
        updatert | end";
    let lines: Vec<_> = Records::new(text.as_bytes())
        .map(|line| line.unwrap())
        .collect();
    assert!(lines.iter().all(|line| line.remark.is_none()));
    let numbers: Vec<_> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    let start = |id| Edge::Start { id };
    assert_eq!(lines[0].record, Record::NewTable(start(Some("t1"))));
    assert!(
        matches!(lines[4].record, Record::Delete(Delete { message_type: 4, sub_id: 7, senders }) if senders.iter().eq(["me:4560"]))
    );
    assert_eq!(
        lines[5].record,
        Record::NewTable(Edge::End { count: Some(4) })
    );
    assert_eq!(lines[6].record, Record::MeidMap(start(None)));
    let Record::MeidAdd { owner, meids } = lines[7].record else {
        panic!()
    };
    assert_eq!(owner, "e2:3800");
    assert!(meids.iter().eq(["m1", "m2", "m3"]));
    assert!(matches!(lines[8].record, Record::MeidDelete { meids } if meids.iter().eq(["m4"])));
    assert_eq!(
        lines[9].record,
        Record::MeidMap(Edge::End { count: Some(2) })
    );
    assert_eq!(lines[10].record, Record::Update(start(Some("t2"))));
    assert_eq!(lines[11].record, Record::Update(Edge::End { count: None }));
}

#[test]
fn a_comma_takes_turns_and_a_semicolon_fans_out() {
    assert_eq!(route("mse|12|-1|a:1,b:1;c:1"), r#"12 -1 [] a:1,b:1;c:1"#);
}

#[test]
fn both_forms_of_an_entry_say_the_same() {
    assert_eq!(route("rte|12,x:1|a:1|7"), route("mse|12,x:1|7|a:1"));
    assert_eq!(route("rte|12|a:1"), route("mse|12|-1|a:1"));
    // By the first letter, as the C library has it.
    assert_eq!(route("route|12|a:1"), route("rte|12|a:1"));
}

#[test]
fn blanks_around_names_do_not_belong_to_them() {
    assert_eq!(
        route("  mse | 12 , x:1 , y:1 |  -1 | a:1 , b:1 ; c:1  "),
        r#"12 -1 ["x:1", "y:1"] a:1,b:1;c:1"#
    );
}

#[test]
fn a_comment_begins_a_word() {
    assert_eq!(route("mse|12|-1|a#b:1 # not; this|"), r#"12 -1 [] a#b:1"#);
    assert!(Records::new(b"#\n   # x\n\t#|||\n   \n\n").next().is_none());
}

#[test]
fn a_name_that_a_blank_would_make_a_comment_is_none() {
    for text in [
        "mse|1|-1|#a:1",
        "mse|1,#a:1|-1|a:1",
        "mme_ar|#a:1|m",
        "mme_del|#m",
    ] {
        let fault = Records::new(text.as_bytes()).find_map(Result::err);
        assert_eq!(fault.expect(text).kind, FaultKind::BadName);
    }
}

#[test]
fn text_ends_at_a_nul() {
    assert!(matches!(
        only("newrt|end\n\0garbage").record,
        Record::NewTable(Edge::End { count: None })
    ));
}

#[test]
fn lines_go_on_where_the_message_before_ended() {
    let mut records = Records::from_line(b"\nmse|x|", 40);
    let fault = records.next().unwrap().unwrap_err();
    assert_eq!(
        fault.place,
        Place {
            line: 41,
            column: 5
        }
    );
    assert_eq!(records.line(), 42);
}

#[test]
fn faults_say_where_and_what_was_expected() {
    for (text, expected) in [
        (
            "\n\nxyz | 1",
            "line 3, column 1: newrt, updatert, rte, mse, del, meid_map, mme_ar or mme_del expected, found \"xyz\"",
        ),
        (
            "  mme_add|a:1|m",
            "line 1, column 3: newrt, updatert, rte, mse, del, meid_map, mme_ar or mme_del expected, found \"mme_add\"",
        ),
        ("newrt", "line 1, column 6: \"start\" or \"end\" expected"),
        (
            "newrt|  |t",
            "line 1, column 9: \"start\" or \"end\" expected",
        ),
        (
            "newrt | end | many",
            "line 1, column 15: the number of records expected, or nothing, found \"many\"",
        ),
        (
            "mse | twelve | -1 | a:1",
            "line 1, column 7: a message type expected, a number, found \"twelve\"",
        ),
        (
            "mse | 12 | | a:1",
            "line 1, column 12: a subscription expected, a number or -1 for any",
        ),
        (
            "mse | 12 | 1x | a:1",
            "line 1, column 12: a subscription expected, a number or -1 for any, found \"1x\"",
        ),
        (
            "mse | 99999999999 | 1 | a:1",
            "line 1, column 7: a message type expected, a number, found \"99999999999\"",
        ),
        (
            "mse | 12 | -1",
            "line 1, column 14: endpoints expected, host:port,.. or %meid",
        ),
        (
            "mse | 12 | -1 | ,;,",
            "line 1, column 17: endpoints expected, host:port,.. or %meid, found \",;,\"",
        ),
        (
            "mse|12|-1|a:1,b :1",
            "line 1, column 15: a name of visible ASCII characters expected, without blanks or a # in front, found \"b :1\"",
        ),
        (
            "mse|12|-1|a:1;%meid",
            "line 1, column 15: %meid expected to stand alone, found \"%meid\"",
        ),
        (
            "rte|12|a:1|",
            "line 1, column 12: a subscription expected, a number or -1 for any",
        ),
        (
            "mme_ar | e2:1",
            "line 1, column 14: managed elements expected, with blanks between them",
        ),
        (
            "mme_ar | | m1",
            "line 1, column 10: the endpoint that owns the managed elements expected, host:port",
        ),
        (
            "del | 12",
            "line 1, column 9: a subscription expected, a number or -1 for any",
        ),
    ] {
        assert_eq!(fault(text), expected, "{text}");
    }
    let not_text = Records::new(b"mse|1|-1|a\xff:1")
        .next()
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (not_text.place.column, not_text.kind),
        (11, FaultKind::NotText)
    );
}

#[test]
fn a_fault_repeats_forty_characters_of_what_it_found() {
    for character in ["x", "\u{e9}", "\u{1f600}"] {
        let text = character.repeat(50);
        let fault = Records::new(text.as_bytes()).find_map(Result::err);
        assert_eq!(fault.unwrap().found, character.repeat(40));
    }
}

#[test]
fn an_entry_without_senders_is_everybodys() {
    for (text, is) in [("mse|1|-1|a:1", true), ("mse|1,x:1|-1|a:1", false)] {
        let Record::Route(route) = only(text).record else {
            panic!("no entry: {text}")
        };
        assert_eq!(route.senders.is_everybody(), is);
    }
}

#[test]
fn limits_are_held_and_say_so() {
    let list = |count, separator: &str| vec!["a:1"; count].join(separator);
    let kind = |text: &str| {
        Records::new(text.as_bytes())
            .find_map(Result::err)
            .map(|fault| fault.kind)
    };
    let mse = |groups: String| format!("mse|1|-1|{groups}");
    assert_eq!(kind(&mse(list(MAX_GROUPS, ";"))), None);
    assert_eq!(
        kind(&mse(list(MAX_GROUPS + 1, ";"))),
        Some(FaultKind::TooManyGroups)
    );
    assert_eq!(kind(&mse(list(MAX_GROUP_ENDPOINTS, ","))), None);
    assert_eq!(
        kind(&mse(list(MAX_GROUP_ENDPOINTS + 1, ","))),
        Some(FaultKind::TooManyEndpoints)
    );
    let senders = |count| format!("mse|1,{}|-1|a:1", list(count, ","));
    assert_eq!(kind(&senders(MAX_SENDERS)), None);
    assert_eq!(
        kind(&senders(MAX_SENDERS + 1)),
        Some(FaultKind::TooManySenders)
    );
    let meids = |count| format!("mme_del|{}", list(count, " "));
    assert_eq!(kind(&meids(MAX_MEIDS)), None);
    assert_eq!(kind(&meids(MAX_MEIDS + 1)), Some(FaultKind::TooManyMeids));
    let meid = |length| format!("mme_del|{}", "n".repeat(length));
    assert_eq!(kind(&meid(MAX_NAME_OCTETS)), None);
    assert_eq!(
        kind(&meid(MAX_NAME_OCTETS + 1)),
        Some(FaultKind::NameTooLong)
    );
    let name = |length| mse(format!("{}:1", "n".repeat(length - 2)));
    assert_eq!(kind(&name(MAX_NAME_OCTETS)), None);
    assert_eq!(
        kind(&name(MAX_NAME_OCTETS + 1)),
        Some(FaultKind::NameTooLong)
    );
    assert_eq!(MAX_RECORD_OCTETS, 262_144);
    assert_eq!(
        kind(&"x".repeat(MAX_RECORD_OCTETS)),
        Some(FaultKind::UnknownRecord)
    );
    assert_eq!(
        kind(&"x".repeat(MAX_RECORD_OCTETS + 1)),
        Some(FaultKind::RecordTooLong)
    );
}

/// By the first field and how many there are, as the C library counts.
#[test]
fn records_count_by_their_first_field_even_when_nothing_comes_of_them() {
    let (routes, meids) = (Some(Counted::Routes), Some(Counted::Meids));
    for (line, counted) in [
        ("rte", routes),
        ("route|x", routes),
        ("mse|1|2", None),
        ("mse|1|2|3", routes),
        ("del|1", None),
        ("del|1|2", routes),
        ("mme_ar|e", None),
        ("mme_ar|e|m", meids),
        ("mme_del", None),
        ("mme_del|m", meids),
        ("newrt|start|t", None),
        ("", None),
    ] {
        assert_eq!(Counted::of(line.as_bytes()), counted, "{line}");
    }
}

#[test]
fn strange_records_are_taken_as_the_c_library_takes_them() {
    for (text, kind, column) in [
        ("newrt | begin", RemarkKind::TakenForStart, 9),
        ("mse|1|-1|a:1,,b:1", RemarkKind::EmptyEndpoint, 14),
        ("mse|1|-1|a:1;b:1;", RemarkKind::EmptyEndpoint, 18),
        ("mse|1|-1|a:1,host", RemarkKind::NoPort, 14),
        ("mse|1,|-1|a:1", RemarkKind::EmptySender, 7),
    ] {
        let remark = only(text).remark.expect(text);
        assert_eq!((remark.kind, remark.place.column), (kind, column), "{text}");
    }
    assert!(!matches!(
        only("mse|1,|-1|a:1").record,
        Record::Route(Route { senders, .. }) if senders.is_everybody()
    ));
}

#[test]
fn after_a_fault_it_goes_on_with_the_next_line() {
    let lines: Vec<_> = Records::new(b"mse|\nnewrt|end\n?\nnewrt|start").collect();
    let fine: Vec<_> = lines.iter().map(Result::is_ok).collect();
    assert_eq!(fine, [false, true, false, true]);
}

proptest! {
    #[test]
    fn anything_is_borne(text in proptest::collection::vec(any::<u8>(), 0..500)) {
        walk(&text);
    }

    #[test]
    fn anything_like_a_table_is_borne(
        text in "((mse|rte|del|newrt|mme_ar|mme_del|meid_map|updatert|x)?[ |,;:#%0-9a-c\\-\r\n]{0,20}){0,10}"
    ) {
        walk(text.as_bytes());
    }
}

/// Looks at everything that a parser gives: places are within the text, names are names.
fn walk(text: &[u8]) {
    let lines = text
        .split(|octet| *octet == b'\n' || *octet == b'\r')
        .count() as u32;
    for line in Records::new(text) {
        match line {
            Ok(line) => {
                assert!((1..=lines).contains(&line.number));
                if let Record::Route(Route {
                    target: Target::Groups(groups),
                    ..
                }) = line.record
                {
                    assert!(groups.iter().flat_map(|group| group.iter()).count() > 0);
                    assert!(groups.iter().all(|group| group.iter().all(is_name)));
                }
            }
            Err(fault) => {
                assert!((1..=lines).contains(&fault.place.line));
                assert!(fault.place.column >= 1 && fault.place.column as usize <= text.len() + 1);
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|octet| octet.is_ascii_graphic())
}
