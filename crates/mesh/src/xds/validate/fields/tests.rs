//! The table against the fields that there are upstream, and the page that is made from it.

use super::*;
use corewire_xds::ResourceType;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const UPSTREAM: &str = include_str!("../../../../tests/upstream/fields.txt");

/// A field's name and type, by message and number.
type Fields<'a> = BTreeMap<u32, (&'a str, &'a str)>;

fn upstream() -> BTreeMap<&'static str, Fields<'static>> {
    let mut messages = BTreeMap::<_, Fields<'_>>::new();
    let mut current = "";
    for line in UPSTREAM.lines() {
        match line.strip_prefix("  ") {
            None => {
                current = line;
                messages.entry(current).or_default();
            }
            Some(field) => {
                let mut words = field.splitn(3, ' ');
                let mut word = || words.next().unwrap();
                let number = word().parse().unwrap();
                let fields = messages.get_mut(current).unwrap();
                fields.insert(number, (word(), word()));
            }
        }
    }
    messages
}

const ROOTS: [(&str, &Message); 4] = [
    ("Listener", &table::LISTENER),
    ("RouteConfiguration", &table::ROUTES),
    ("Cluster", &table::CLUSTER),
    ("ClusterLoadAssignment", &table::ASSIGNMENT),
];

/// Every message that is reached from a kind of resource, each once, in the order of reading.
fn reached(root: &'static Message) -> Vec<&'static Message> {
    let mut found: Vec<&'static Message> = Vec::new();
    let mut next = vec![root];
    while let Some(message) = next.pop() {
        if found.iter().any(|known| std::ptr::eq(*known, message)) {
            continue;
        }
        found.push(message);
        for field in message.fields.iter().rev() {
            match &field.treatment {
                Treatment::Within(inner) => next.push(inner),
                Treatment::Typed(inner) => next.extend(inner.iter().rev()),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn every_field_of_the_upstream_messages_has_a_row() {
    let upstream = upstream();
    let mut wrong = Vec::new();
    for (_, root) in ROOTS {
        for message in reached(root) {
            assert!(message.fields.len() <= MAX_FIELDS);
            for name in message.names {
                let Some(fields) = upstream.get(name) else {
                    wrong.push(format!("{name} is no message"));
                    continue;
                };
                let rows: BTreeMap<u32, &Field> =
                    message.fields.iter().map(|it| (it.number, it)).collect();
                for (number, (field, _)) in fields {
                    if rows.get(number).is_none_or(|row| row.name != *field) {
                        wrong.push(format!("{name}.{field} ({number}) has no row"));
                    }
                }
                for (number, row) in rows {
                    let Some((_, kind)) = fields.get(&number) else {
                        wrong.push(format!("{name}.{} is no field", row.name));
                        continue;
                    };
                    wrong.extend(mismatch(name, row, kind));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is wrong with a row for a field of this type.
fn mismatch(name: &str, row: &Field, kind: &str) -> Option<String> {
    let shape = match kind {
        _ if kind.starts_with("repeated ") => Shape::Repeated,
        _ if kind.starts_with("map<") => Shape::Map,
        _ => Shape::One,
    };
    let of = kind.rsplit('@').next().unwrap_or_default();
    let of = of.trim_end_matches('>');
    let fits = match &row.treatment {
        Treatment::Within(inner) => shape == row.shape && inner.names.contains(&of),
        Treatment::Typed(_) => shape == row.shape && of == "google.protobuf.Any",
        _ => true,
    };
    let text = || format!("{name}.{} is {kind}, the row says otherwise", row.name);
    (!fits).then(text)
}

#[test]
fn a_field_newer_than_the_table_is_reported_by_its_number() {
    // Within api_listener, a message of unknown fields only: 1000 is a number, 1001 a text.
    let octets = b"\x9a\x01\x09\xc0\x3e\x01\xca\x3e\x03new\x0a\x01x";
    let mut report = Report::default();
    check(ResourceType::Listener, octets, &mut report);
    let (faults, notices) = report.finish();
    let notices: Vec<_> = notices.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty());
    assert_eq!(
        notices,
        [
            "api_listener: has field 1000, which is not known here",
            "api_listener: has field 1001, which is not known here",
        ]
    );
}

#[test]
fn zero_is_as_good_as_nothing_and_an_empty_message_is_not() {
    let of = |octets: &[u8]| {
        let mut report = Report::default();
        check(ResourceType::Cluster, octets, &mut report);
        let (faults, notices) = report.finish();
        (faults.len(), notices.len())
    };
    // max_requests_per_connection (9), a wrapper: absent, zero, one.
    assert_eq!(of(b""), (0, 0));
    assert_eq!(of(b"\x4a\x00"), (0, 0));
    assert_eq!(of(b"\x4a\x02\x08\x01"), (0, 1));
    // lb_subset_config (22), a message.
    assert_eq!(of(b"\xb2\x01\x00"), (1, 0));
}

#[test]
fn octets_that_are_no_message_end_the_walk() {
    for octets in [
        &b"\xff"[..],
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x0b\x0b\x0b",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let mut report = Report::default();
        check(ResourceType::Route, octets, &mut report);
        let (faults, _) = report.finish();
        assert!(faults.is_empty());
    }
}

fn page() -> String {
    let mut text = String::from(
        "# Fields of xDS

What the mesh does with each field of the resources that a control plane sends. This page is made from
the table in `crates/mesh/src/xds/validate/fields/table.rs`; `COREWIRE_REGENERATE=1 cargo test -p
corewire-mesh --lib fields` writes it anew. `crates/mesh/tests/upstream` says which version of Envoy's
API the table is complete for.

| word | meaning |
|---|---|
| obeyed | it is carried out; a value that cannot be is refused |
| refused | the resource is refused (NACK) with the field's path, and the last good one holds |
| reported | the resource is used without it; `mesh.state()` has a notice with the field's path |
| harmless | it changes nothing for a caller, for the reason given |
| by value | some values are obeyed, others refused or reported, as the text says |

A field that is not listed is newer than the table: it is reported by its number.
",
    );
    let mut shown = BTreeSet::new();
    for (title, root) in ROOTS {
        let _ = write!(text, "\n## {title}\n");
        for message in reached(root) {
            if !shown.insert(std::ptr::from_ref(message)) {
                continue;
            }
            let _ = write!(
                text,
                "\n### {}\n\n| field | |\n|---|---|\n",
                message.names.join(", ")
            );
            for (fields, what) in rows(message) {
                let _ = writeln!(text, "| {} | {what} |", fields.join(", "));
            }
        }
    }
    text
}

/// Fields that are treated alike share a row.
fn rows(message: &'static Message) -> Vec<(Vec<String>, String)> {
    let mut rows: Vec<(Vec<String>, String)> = Vec::new();
    for field in message.fields {
        let names = |messages: &[&Message]| {
            let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
            let names: Vec<_> = messages.iter().map(|it| last(it.names[0])).collect();
            names.join(", ")
        };
        let what = match &field.treatment {
            Treatment::Obeyed => "obeyed".to_owned(),
            Treatment::Within(inner) => format!("obeyed: {}", names(&[inner])),
            Treatment::Typed(inner) => format!("obeyed: one of {}", names(inner)),
            Treatment::Judged(how) => format!("by value: {how}"),
            Treatment::Refused(why) => format!("**refused**: {why}"),
            Treatment::Reported(why) => format!("reported: {why}"),
            Treatment::Harmless(why) => format!("harmless: {why}"),
        };
        let name = format!("`{}`", field.name);
        match rows.iter_mut().find(|(_, known)| *known == what) {
            Some((fields, _)) => fields.push(name),
            None => rows.push((vec![name], what)),
        }
    }
    rows
}

#[test]
fn the_page_of_fields_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mesh-fields.md");
    if std::env::var_os("COREWIRE_REGENERATE").is_some() {
        std::fs::write(file, page()).unwrap();
    }
    let found = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        found == page(),
        "docs/mesh-fields.md is not what the table makes; run\n    \
         COREWIRE_REGENERATE=1 cargo test -p corewire-mesh --lib fields"
    );
}
