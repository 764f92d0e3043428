//! Route tables against a model that is as simple as it can be: whatever records come in whatever
//! order, messages go where the model says.

use corewire_rmr::{Action, Identity, Reply, Router, Settings, TableLimits, TableSource};
use corewire_wire::rmr::message_type::TABLE_DATA;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

const ME: &str = "me:1";
const MY_ADDRESS: &str = "10.0.0.1:1";
const NAMES: [&str; 6] = ["a:1", "b:1", "c:1", "d:1", ME, MY_ADDRESS];
const MEIDS: [&str; 4] = ["m1", "m2", "m3", "m4"];

/// A record as it is meant.
#[derive(Clone, Debug)]
enum Record {
    NewTable,
    Update,
    MeidMap,
    /// The end of any of the three, with a count that is right, off by so many, or absent.
    End(&'static str, Option<i32>),
    Route(Entry),
    Delete(i32, i32, Vec<&'static str>),
    Own(&'static str, Vec<&'static str>),
    Disown(Vec<&'static str>),
    Faulty,
}

#[derive(Clone, Debug)]
struct Entry {
    message_type: i32,
    sub_id: i32,
    senders: Vec<&'static str>,
    /// By managed element when there are none.
    groups: Vec<Vec<&'static str>>,
    old_form: bool,
}

fn names(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&NAMES[..]), 1..=most)
}

fn senders() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![3 => Just(Vec::new()), 2 => names(3)]
}

fn entry() -> impl Strategy<Value = Record> {
    let groups = prop_oneof![
        1 => Just(Vec::new()),
        5 => prop::collection::vec(names(3), 1..=3),
    ];
    (0..3, -1..2, senders(), groups, any::<bool>()).prop_map(
        |(message_type, sub_id, senders, groups, old_form)| {
            Record::Route(Entry {
                message_type,
                sub_id,
                senders,
                groups,
                old_form,
            })
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    let meids = || prop::collection::vec(prop::sample::select(&MEIDS[..]), 1..=3);
    prop_oneof![
        12 => entry(),
        2 => (0..3, -1..2, senders()).prop_map(|(a, b, c)| Record::Delete(a, b, c)),
        4 => (prop::sample::select(&NAMES[..4]), meids()).prop_map(|(a, b)| Record::Own(a, b)),
        1 => meids().prop_map(Record::Disown),
    ]
}

/// What begins, what ends, and what should not be there.
fn strange() -> impl Strategy<Value = Record> {
    let end = prop::sample::select(&["newrt", "updatert", "meid_map"][..]);
    prop_oneof![
        Just(Record::NewTable),
        Just(Record::Update),
        Just(Record::MeidMap),
        end.prop_map(|kind| Record::End(kind, None)),
        Just(Record::Faulty),
    ]
}

/// Mostly a whole table or whole changes; now and then something strange among them.
fn message() -> impl Strategy<Value = Vec<Record>> {
    let kind = prop::sample::select(&["newrt", "newrt", "updatert", "meid_map"][..]);
    let count = prop_oneof![4 => Just(None), 4 => Just(Some(0)), 1 => Just(Some(1))];
    let records = prop::collection::vec(record(), 0..10);
    let noise = prop::option::weighted(0.2, (any::<prop::sample::Index>(), strange()));
    (kind, records, count, noise).prop_map(|(kind, mut records, count, noise)| {
        records.insert(
            0,
            match kind {
                "newrt" => Record::NewTable,
                "updatert" => Record::Update,
                _ => Record::MeidMap,
            },
        );
        records.push(Record::End(kind, count));
        if let Some((at, strange)) = noise {
            records.insert(at.index(records.len() + 1), strange);
        }
        records
    })
}

type Key = (i32, i32);

/// The groups with whose turn it is; by managed element when `None`.
type Target = Option<Vec<(Vec<&'static str>, usize)>>;

#[derive(Clone, Debug, Default)]
struct Routes {
    entries: BTreeMap<Key, Target>,
    owners: BTreeMap<&'static str, &'static str>,
}

#[derive(Debug, Default)]
struct Model {
    live: Routes,
    pending: Option<(Routes, bool)>,
    updates: i32,
    meid_updates: i32,
    full: bool,
    ready: bool,
    taken: u32,
    refused: u32,
}

fn is_me(name: &str) -> bool {
    name == ME || name == MY_ADDRESS
}

fn is_meant(senders: &[&str]) -> bool {
    senders.is_empty() || senders.iter().any(|sender| is_me(sender))
}

impl Model {
    /// Gives the record as text, and does what it says.
    fn apply(&mut self, record: &Record) -> String {
        match record {
            Record::NewTable => {
                let mut routes = self.live.clone();
                routes.entries.clear();
                self.begin(routes, true);
                "newrt|start|t".to_owned()
            }
            Record::Update => {
                self.begin(self.live.clone(), self.full);
                "updatert | start".to_owned()
            }
            Record::MeidMap => {
                self.begin(self.live.clone(), true);
                "meid_map|start | m # words".to_owned()
            }
            Record::End(kind, wrong) => self.end(kind, *wrong),
            Record::Route(entry) => {
                self.updates += 1;
                if let Some((routes, _)) = &mut self.pending
                    && is_meant(&entry.senders)
                {
                    let groups = entry.groups.iter().map(|group| {
                        let others = group.iter().copied().filter(|name| !is_me(name));
                        (others.collect::<Vec<_>>(), 0)
                    });
                    let target = (!entry.groups.is_empty())
                        .then(|| groups.filter(|(group, _)| !group.is_empty()).collect());
                    routes
                        .entries
                        .insert((entry.message_type, entry.sub_id), target);
                }
                entry.text()
            }
            Record::Delete(message_type, sub_id, senders) => {
                self.updates += 1;
                if let Some((routes, _)) = &mut self.pending
                    && is_meant(senders)
                {
                    routes.entries.remove(&(*message_type, *sub_id));
                }
                let senders: String = senders.iter().map(|name| format!(",{name}")).collect();
                format!("del | {message_type}{senders} | {sub_id}")
            }
            Record::Own(owner, meids) => {
                self.meid_updates += 1;
                if let Some((routes, _)) = &mut self.pending {
                    routes
                        .owners
                        .extend(meids.iter().map(|meid| (*meid, *owner)));
                }
                format!("mme_ar|{owner}|{}", meids.join(" "))
            }
            Record::Disown(meids) => {
                self.meid_updates += 1;
                if let Some((routes, _)) = &mut self.pending {
                    routes.owners.retain(|meid, _| !meids.contains(meid));
                }
                format!("mme_del | {}", meids.join("  "))
            }
            Record::Faulty => {
                // Skipped, and counted for its four fields.
                self.updates += 1;
                "mse | 1 | what | a:1".to_owned()
            }
        }
    }

    fn begin(&mut self, routes: Routes, fine: bool) {
        self.refused += u32::from(self.pending.is_some());
        self.pending = Some((routes, fine));
        (self.updates, self.meid_updates) = (0, 0);
    }

    fn end(&mut self, kind: &str, wrong: Option<i32>) -> String {
        let got = match kind {
            "meid_map" => self.meid_updates,
            _ => self.updates,
        };
        if let Some((routes, fine)) = self.pending.take() {
            if fine && wrong.unwrap_or(0) == 0 {
                self.live = routes;
                self.taken += 1;
                self.full |= kind == "newrt";
                self.ready |= kind != "meid_map";
            } else {
                self.refused += 1;
            }
        }
        match wrong {
            Some(wrong) => format!("{kind}|end|{}", got + wrong),
            None => format!("{kind} | end"),
        }
    }

    fn next(&mut self, message_type: i32, sub_id: i32, meid: &str) -> Option<Vec<&'static str>> {
        let own = self.live.entries.contains_key(&(message_type, sub_id));
        let sub_id = if own { sub_id } else { -1 };
        match self.live.entries.get_mut(&(message_type, sub_id))? {
            None => self.live.owners.get(meid).map(|owner| vec![*owner]),
            Some(groups) if groups.is_empty() => None,
            Some(groups) => Some(
                groups
                    .iter_mut()
                    .map(|(group, turn)| {
                        *turn += 1;
                        group[(*turn - 1) % group.len()]
                    })
                    .collect(),
            ),
        }
    }
}

impl Entry {
    fn text(&self) -> String {
        let senders: String = self
            .senders
            .iter()
            .map(|name| format!(" , {name}"))
            .collect();
        let groups = if self.groups.is_empty() {
            "%meid".to_owned()
        } else {
            let groups: Vec<_> = self.groups.iter().map(|group| group.join(",")).collect();
            groups.join(" ; ")
        };
        let (message_type, sub_id) = (self.message_type, self.sub_id);
        match (self.old_form, sub_id) {
            (true, -1) => format!("rte|{message_type}{senders}|{groups}"),
            (true, _) => format!("rte|{message_type}{senders}|{groups}|{sub_id}"),
            (false, _) => format!("mse | {message_type}{senders} | {sub_id} | {groups}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn messages_go_where_the_model_says(
        messages in prop::collection::vec(message(), 1..6),
        ends in prop::sample::select(&["\n", "\r\n", "\r"][..]),
    ) {
        let identity = Identity::named(ME).unwrap().with_addresses([MY_ADDRESS]);
        let router = Arc::new(Router::new(identity, TableLimits::default()));
        let now = now();
        let mut source = TableSource::new(&Settings::default(), Arc::clone(&router), now);
        let mut model = Model::default();
        let (mut taken, mut refused) = (0, 0);
        for message in messages {
            let text: Vec<_> = message.iter().map(|record| model.apply(record)).collect();
            source.handle_message(now, TABLE_DATA, text.join(ends).as_bytes(), Reply(0));
            while let Some(action) = source.poll() {
                if let Action::Acknowledge { state, .. } = action {
                    *if state.taken { &mut taken } else { &mut refused } += 1;
                }
            }
            prop_assert_eq!((taken, refused), (model.taken, model.refused));
            prop_assert_eq!(router.is_ready(), model.ready);
            let table = router.table();
            for message_type in 0..3 {
                for sub_id in -1..3 {
                    for meid in ["", "m1", "m2", "m3", "m5"] {
                        let targets = table.targets(message_type, sub_id, meid.as_bytes());
                        let ours = targets.ok().map(|targets| {
                            targets
                                .map(|id| router.endpoints().get(id).name().to_owned())
                                .collect::<Vec<_>>()
                        });
                        let theirs = model.next(message_type, sub_id, meid);
                        let theirs = theirs.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
                        prop_assert_eq!(ours, theirs, "type {} sub {} meid {}", message_type, sub_id, meid);
                    }
                }
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "any instant will do")]
fn now() -> Instant {
    Instant::now()
}
