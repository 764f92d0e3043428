use super::*;
use crate::config::RegistryConfig;
use crate::registry::Instance;

fn config(text: &str) -> Arc<Config> {
    Arc::new(Config::parse(text).unwrap_or_else(|faults| panic!("{faults}")))
}

fn registry_of(services: &[&str]) -> Registry {
    let mut registry = Registry::new(RegistryConfig::default(), 100);
    for (index, service) in services.iter().enumerate() {
        let address = format!("127.0.0.1:{}", 9000 + index).parse().unwrap();
        let one = Instance::new(service, &format!("i-{index}"), address);
        registry.register(Instant::now(), one).unwrap();
    }
    registry
}

const TWO: &str = "[[service]]\nname = \"a\"\n[[service]]\nname = \"b\"\n";
const ONE: &str = "[[service]]\nname = \"a\"\n";

#[test]
fn a_removed_cluster_stays_until_routes_have_been_learnt() {
    let (now, registry) = (Instant::now(), registry_of(&[]));
    let mut catalog = Catalog::new(0);
    catalog.set_config(now, config(TWO), &registry);
    catalog.set_config(now, config(ONE), &registry);
    let has = |catalog: &Catalog| {
        let snapshot = catalog.snapshot();
        ResourceType::ALL.map(|kind| snapshot.set(&View::Grpc, kind).get("b").is_some())
    };
    // Listeners and routes are gone at once; clusters and endpoints follow.
    assert_eq!(has(&catalog), [false, false, true, true]);
    assert_eq!(catalog.poll_timeout(), Some(now + LINGER));
    // Another reload does not make it stay longer.
    catalog.set_config(now + LINGER / 2, config(ONE), &registry);
    assert_eq!(catalog.poll_timeout(), Some(now + LINGER));
    assert!(catalog.handle_timeout(now + LINGER));
    assert_eq!(has(&catalog), [false; 4]);
    assert_eq!(catalog.poll_timeout(), None);

    // One that comes back meanwhile just stays.
    catalog.set_config(now, config(TWO), &registry);
    catalog.set_config(now, config(ONE), &registry);
    catalog.set_config(now, config(TWO), &registry);
    assert_eq!(catalog.poll_timeout(), None);
    assert_eq!(has(&catalog), [true; 4]);
}

#[test]
fn a_registered_service_is_served_and_stays_for_a_while() {
    let now = Instant::now();
    let mut registry = registry_of(&["c"]);
    let mut catalog = Catalog::new(0);
    catalog.set_config(now, config(ONE), &registry_of(&[]));
    let c: Arc<str> = "c".into();
    assert!(catalog.refresh(now, [&c], &registry));
    let snapshot = catalog.snapshot();
    for kind in ResourceType::ALL {
        assert!(
            snapshot.set(&View::Corewire, kind).get("c").is_some(),
            "{kind}"
        );
    }
    assert!(!catalog.refresh(now, [&c], &registry), "nothing changed");

    registry.leave("i-0", "").unwrap();
    assert!(catalog.refresh(now, [&c], &registry));
    assert!(!catalog.handle_timeout(now + FORGET_AFTER / 2));
    let listeners = |catalog: &Catalog| {
        let snapshot = catalog.snapshot();
        snapshot.set(&View::Corewire, ResourceType::Listener).len()
    };
    assert_eq!(listeners(&catalog), 2);
    assert!(catalog.handle_timeout(now + FORGET_AFTER));
    assert_eq!(listeners(&catalog), 1);
}

/// Whoever registers one service after the other and leaves again must not fill the memory with
/// services that are kept for their return.
#[test]
fn services_without_instances_are_not_kept_beyond_the_limit() {
    let now = Instant::now();
    let mut registry = registry_of(&[]);
    let mut catalog = Catalog::new(0);
    let text = format!("{ONE}[limits]\nservices = 5\n");
    catalog.set_config(now, config(&text), &registry);
    for number in 0..50 {
        let name: Arc<str> = format!("c-{number}").into();
        let instance = Instance::new(&name, &name, "127.0.0.1:9000".parse().unwrap());
        registry.register(now, instance).unwrap();
        catalog.refresh(now, [&name], &registry);
        let snapshot = catalog.snapshot();
        let served = snapshot.set(&View::Grpc, ResourceType::Cluster);
        assert!(served.get(&name).is_some(), "who is there is served");
        registry.leave(&name, "").unwrap();
        catalog.refresh(now, [&name], &registry);
    }
    assert!(
        catalog.services().count() <= 5,
        "{}",
        catalog.services().count()
    );
    let snapshot = catalog.snapshot();
    for view in View::OF_APIS {
        for kind in ResourceType::ALL {
            let count = snapshot.set(&view, kind).len();
            assert!(count <= 5, "{kind}: {count}");
        }
    }
}

#[test]
fn only_changes_count_as_generations() {
    let (now, registry) = (Instant::now(), registry_of(&["a"]));
    let mut catalog = Catalog::new(7);
    for (text, generation) in [(ONE, 8), (ONE, 8), (TWO, 9)] {
        catalog.set_config(now, config(text), &registry);
        assert_eq!(catalog.generation(), generation);
    }
}

#[test]
fn another_process_serves_the_same_versions() {
    let registry = registry_of(&["a", "c", "c"]);
    let digests = || {
        let mut catalog = Catalog::new(0);
        catalog.set_config(Instant::now(), config(TWO), &registry);
        let snapshot = catalog.snapshot();
        ResourceType::ALL.map(|kind| snapshot.set(&View::Grpc, kind).digest())
    };
    assert_eq!(digests(), digests());
}
