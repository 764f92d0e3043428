use super::*;
use crate::config::Transport;
use proptest::prelude::*;

fn registry() -> Registry {
    Registry::new(RegistryConfig::default(), 3)
}

fn instance(service: &str, id: &str) -> Instance {
    Instance::new(service, id, "127.0.0.1:9001".parse().unwrap())
}

fn changes(registry: &mut Registry) -> Vec<Change> {
    std::iter::from_fn(|| registry.poll()).collect()
}

#[test]
fn an_instance_lapses_after_its_lease_and_not_before() {
    let mut registry = registry();
    let start = Instant::now();
    let mut one = instance("smf", "i-1");
    one.ttl = Duration::from_secs(2);
    assert_eq!(registry.register(start, one), Ok(Duration::from_secs(2)));
    assert!(matches!(changes(&mut registry)[..], [Change::Present(_)]));

    let later = start + Duration::from_millis(1500);
    registry.heartbeat(later, "i-1", "").unwrap();
    registry.handle_timeout(start + Duration::from_secs(2));
    assert_eq!(registry.len(), 1, "its heartbeat counts");
    assert_eq!(
        registry.poll_timeout(),
        Some(later + Duration::from_secs(2))
    );

    registry.handle_timeout(later + Duration::from_secs(2));
    assert!(matches!(
        changes(&mut registry)[..],
        [Change::Gone(_, Departure::Lapsed)]
    ));
    assert_eq!(
        registry.heartbeat(later, "i-1", ""),
        Err(Refusal::NotRegistered)
    );
    assert_eq!(registry.poll_timeout(), None);
    assert_eq!(registry.services().count(), 0);
}

#[test]
fn registering_again_tells_only_what_is_new() {
    let mut registry = registry();
    let now = Instant::now();
    registry.register(now, instance("smf", "i-1")).unwrap();
    changes(&mut registry);
    registry.register(now, instance("smf", "i-1")).unwrap();
    assert!(matches!(changes(&mut registry)[..], [Change::Renewed(_)]));

    let mut moved = instance("smf", "i-1");
    moved.transport = Some(Transport::Native);
    registry.register(now, moved).unwrap();
    assert!(matches!(changes(&mut registry)[..], [Change::Present(_)]));

    registry.register(now, instance("amf", "i-1")).unwrap();
    assert!(matches!(
        changes(&mut registry)[..],
        [Change::Gone(_, Departure::Replaced), Change::Present(_)]
    ));
    assert_eq!(registry.of_service("smf").count(), 0);
    assert_eq!(registry.of_service("amf").count(), 1);
    registry.leave("i-1", "").unwrap();
    assert_eq!(registry.leave("i-1", ""), Err(Refusal::NotRegistered));
}

#[test]
fn it_holds_no_more_than_it_may() {
    let mut registry = registry();
    let now = Instant::now();
    for id in ["a", "b", "c"] {
        registry.register(now, instance("smf", id)).unwrap();
    }
    let refused = registry.register(now, instance("smf", "d"));
    assert_eq!(refused, Err(Refusal::Full { limit: 3 }));
    registry.register(now, instance("smf", "c")).unwrap();
    assert_eq!(registry.len(), 3);
}

#[test]
fn leases_are_granted_within_bounds() {
    let mut registry = registry();
    let config = RegistryConfig::default();
    for (asked, granted) in [
        (Duration::ZERO, config.default_ttl),
        (Duration::from_millis(1), config.min_ttl),
        (Duration::MAX, config.max_ttl),
    ] {
        let mut one = instance("smf", "i");
        one.ttl = asked;
        assert_eq!(registry.register(Instant::now(), one), Ok(granted));
    }
}

#[test]
fn after_a_restart_instances_have_time_to_come_back() {
    let mut registry = registry();
    let now = Instant::now();
    let mut one = instance("smf", "i-1");
    one.ttl = Duration::from_secs(1);
    registry.restore(now, [one]);
    assert!(
        changes(&mut registry).is_empty(),
        "clients and store know it"
    );
    registry.heartbeat(now, "i-1", "").unwrap();
    let grace = RegistryConfig::default().restart_grace;
    registry.handle_timeout(now + grace - Duration::from_millis(1));
    assert_eq!(registry.len(), 1);
    registry.handle_timeout(now + grace);
    assert!(registry.is_empty());
}

#[test]
fn every_fault_of_a_registration_is_told() {
    let request = crate::generated::registry::RegisterRequest {
        address: "somewhere".into(),
        transport: "pigeon".into(),
        weight: 70_000,
        instance_id: "a b".into(),
        ..Default::default()
    };
    let refusal = Instance::try_from(request).unwrap_err().to_string();
    for field in ["service", "instance_id", "address", "transport", "weight"] {
        assert!(
            refusal.contains(&format!("{field}: ")),
            "{field}: {refusal}"
        );
    }
}

#[derive(Clone, Debug)]
enum Step {
    Register(u8, u8, u64),
    Heartbeat(u8),
    Leave(u8),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4u8, 0..2u8, 0..3000u64)
            .prop_map(|(id, service, ttl)| Step::Register(id, service, ttl)),
        (0..4u8).prop_map(Step::Heartbeat),
        (0..4u8).prop_map(Step::Leave),
        (0..4000u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever happens, what `poll` told adds up to what is registered.
    #[test]
    fn changes_add_up(steps in proptest::collection::vec(step(), 0..60)) {
        let mut registry = registry();
        let mut now = Instant::now();
        let mut told: BTreeMap<Arc<str>, Arc<Instance>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Register(id, service, ttl) => {
                    let mut one = instance(&format!("s{service}"), &format!("i{id}"));
                    one.ttl = Duration::from_millis(ttl);
                    let _full = registry.register(now, one);
                }
                Step::Heartbeat(id) => drop(registry.heartbeat(now, &format!("i{id}"), "")),
                Step::Leave(id) => drop(registry.leave(&format!("i{id}"), "")),
                Step::Wait(ms) => {
                    now += Duration::from_millis(ms);
                    registry.handle_timeout(now);
                }
            }
            for change in changes(&mut registry) {
                match change {
                    Change::Present(one) => drop(told.insert(Arc::clone(&one.id), one)),
                    Change::Renewed(one) => prop_assert_eq!(&told[&one.id], &one),
                    Change::Gone(one, _) => prop_assert_eq!(told.remove(&one.id), Some(one)),
                }
            }
            let listed = registry.services().flat_map(|s| registry.of_service(s));
            let listed: BTreeMap<_, _> = listed.map(|one| (Arc::clone(&one.id), Arc::clone(one))).collect();
            prop_assert_eq!(&listed, &told);
            prop_assert!(registry.len() <= 3);
            prop_assert_eq!(registry.poll_timeout().is_some(), !registry.is_empty());
        }
    }
}

#[test]
fn an_instance_that_was_replaced_hears_it_and_comes_back() {
    let now = Instant::now();
    let mut registry = Registry::new(RegistryConfig::default(), 10);
    let own = Instance::new("smf", "i-1", "10.0.0.1:80".parse().unwrap());
    let other = Instance::new("smf", "i-1", "10.0.0.2:80".parse().unwrap());
    let register = |registry: &mut Registry, instance: &Instance| {
        registry.register(now, instance.clone()).unwrap();
        registry.find("i-1").unwrap().lease()
    };
    let lease = register(&mut registry, &own);
    assert_eq!(register(&mut registry, &own), lease, "the same again");
    registry.heartbeat(now, "i-1", &lease).unwrap();
    let others = register(&mut registry, &other);
    assert_ne!(lease, others);
    let gone = Err(Refusal::NotRegistered);
    assert_eq!(registry.heartbeat(now, "i-1", &lease), gone);
    assert_eq!(
        registry.leave("i-1", &lease),
        gone,
        "it does not take its successor away"
    );
    assert_eq!(register(&mut registry, &own), lease);
    assert_eq!(registry.heartbeat(now, "i-1", &others), gone);
    registry.leave("i-1", &lease).unwrap();
}
