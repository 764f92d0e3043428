use super::*;
use crate::policy::random::SplitMix;
use proptest::prelude::*;
use std::cell::RefCell;

#[derive(Default)]
struct Fake {
    down: Vec<u32>,
    load: RefCell<Vec<u32>>,
    slow: Vec<u32>,
}

impl Fake {
    fn down(down: &[u32]) -> Self {
        Self {
            down: down.to_vec(),
            ..Self::default()
        }
    }
}

impl Hosts for Fake {
    fn usable(&self, host: u32) -> bool {
        !self.down.contains(&host)
    }

    fn in_flight(&self, host: u32) -> u32 {
        self.load.borrow().get(host as usize).copied().unwrap_or(0)
    }

    fn latency_cost(&self, host: u32, _weight: u32) -> f64 {
        if self.slow.contains(&host) {
            1000.0
        } else {
            10.0
        }
    }
}

fn keys(count: u32) -> Vec<String> {
    (0..count).map(|host| format!("10.0.0.{host}:80")).collect()
}

fn hosts(keys: &[String]) -> Vec<Host<'_>> {
    let host = |key| Host {
        key,
        weight: 1,
        priority: 0,
        locality: 0,
        locality_weight: 1,
        state: HostState::Healthy,
    };
    keys.iter().map(|key| host(key)).collect()
}

fn settings(lb: LbPolicy) -> Settings {
    Settings {
        lb,
        overprovisioning: 140,
        panic_threshold: 50,
    }
}

fn balancer(lb: LbPolicy, hosts: &[Host<'_>]) -> Balancer {
    Balancer::new(settings(lb), hosts, None, &mut SplitMix::new(1))
}

fn counts(balancer: &Balancer, fake: &Fake, hosts: usize, picks: usize) -> Vec<u32> {
    let mut random = SplitMix::new(2);
    let mut counts = vec![0; hosts];
    for _ in 0..picks {
        let hash = Some(random.next());
        let host = balancer.pick(hash, &mut random, fake).unwrap();
        counts[host as usize] += 1;
        if let Some(load) = fake.load.borrow_mut().get_mut(host as usize) {
            *load += 1;
        }
    }
    counts
}

const RING: LbPolicy = LbPolicy::RingHash {
    min_size: 1024,
    max_size: 8192,
};

const ALL: [LbPolicy; 6] = [
    LbPolicy::RoundRobin,
    LbPolicy::LeastRequest { choices: 2 },
    RING,
    LbPolicy::Random,
    LbPolicy::PickFirst,
    LbPolicy::LatencyAware,
];

#[test]
fn round_robin_gives_everybody_the_same_also_while_one_is_down() {
    let keys = keys(5);
    let balancer = balancer(LbPolicy::RoundRobin, &hosts(&keys));
    assert_eq!(counts(&balancer, &Fake::default(), 5, 1000), [200; 5]);
    let without = counts(&balancer, &Fake::down(&[2]), 5, 1000);
    assert_eq!(without[2], 0);
    // Not all of it to its neighbour.
    assert!(
        without
            .iter()
            .all(|count| *count == 0 || count.abs_diff(250) <= 1),
        "{without:?}"
    );
}

#[test]
fn weights_are_kept_within_and_between_localities() {
    let keys = keys(4);
    let mut hosts = hosts(&keys);
    hosts[0].weight = 3;
    hosts[2].locality = 1;
    hosts[3].locality = 1;
    for host in &mut hosts[2..] {
        host.locality_weight = 3;
    }
    for lb in [LbPolicy::RoundRobin, LbPolicy::Random, RING] {
        let counts = counts(&balancer(lb, &hosts), &Fake::default(), 4, 16_000);
        for (count, expected) in counts.iter().zip([3000_u32, 1000, 6000, 6000]) {
            let allowed = if lb == RING {
                expected / 4
            } else {
                expected / 10
            };
            assert!(count.abs_diff(expected) < allowed, "{lb:?} {counts:?}");
        }
    }
}

#[test]
fn the_least_loaded_and_the_quickest_are_preferred() {
    let keys = keys(4);
    let hosts = hosts(&keys);
    let loaded = Fake {
        load: RefCell::new(vec![100, 0, 0, 0]),
        ..Fake::default()
    };
    let least = balancer(LbPolicy::LeastRequest { choices: 2 }, &hosts);
    let picked = counts(&least, &loaded, 4, 200);
    assert_eq!(picked[0], 0, "{picked:?}");
    let slow = Fake {
        slow: vec![3],
        ..Fake::default()
    };
    let picked = counts(&balancer(LbPolicy::LatencyAware, &hosts), &slow, 4, 1000);
    assert!(picked[3] < 10 && picked[0] > 200, "{picked:?}");
}

#[test]
fn a_request_finds_its_endpoint_again_and_another_while_that_is_down() {
    let keys = keys(10);
    let balancer = balancer(RING, &hosts(&keys));
    let mut random = SplitMix::new(3);
    for hash in (0..100).map(mix) {
        let mut pick = |fake: &Fake| balancer.pick(Some(hash), &mut random, fake).unwrap();
        let home = pick(&Fake::default());
        assert_eq!(pick(&Fake::default()), home);
        assert_eq!(pick(&Fake::down(&[(home + 1) % 10])), home);
        assert_ne!(pick(&Fake::down(&[home])), home);
    }
}

#[test]
fn pick_first_stays_with_the_first() {
    let keys = keys(3);
    let balancer = balancer(LbPolicy::PickFirst, &hosts(&keys));
    assert_eq!(counts(&balancer, &Fake::default(), 3, 10), [10, 0, 0]);
    assert_eq!(counts(&balancer, &Fake::down(&[0]), 3, 10), [0, 10, 0]);
}

#[test]
fn the_second_priority_helps_when_the_first_is_ill_and_takes_over_when_it_is_gone() {
    let keys = keys(20);
    let mut hosts = hosts(&keys);
    for host in &mut hosts[10..] {
        host.priority = 1;
        host.locality = 1;
    }
    for host in &mut hosts[..5] {
        host.state = HostState::Ill;
    }
    for lb in ALL {
        let picked = counts(&balancer(lb, &hosts), &Fake::default(), 20, 10_000);
        let first: u32 = picked[..10].iter().sum();
        assert!(first.abs_diff(7000) < 300, "{lb:?}: {first}");
        assert_eq!(picked[..5].iter().sum::<u32>(), 0, "{lb:?}");
    }
    // All of the first priority lost at once, before a new balancer is made.
    let gone: Vec<u32> = (0..10).collect();
    for lb in ALL {
        let picked = counts(&balancer(lb, &hosts), &Fake::down(&gone), 20, 1000);
        assert_eq!(picked[..10].iter().sum::<u32>(), 0, "{lb:?}");
    }
}

#[test]
fn enough_degraded_ones_spare_the_ill() {
    let keys = keys(4);
    let mut hosts = hosts(&keys);
    for host in &mut hosts[..3] {
        host.state = HostState::Degraded;
    }
    hosts[3].state = HostState::Ill;
    let balancer = balancer(LbPolicy::RoundRobin, &hosts);
    assert_eq!(
        counts(&balancer, &Fake::default(), 4, 300),
        [100, 100, 100, 0]
    );
}

#[test]
fn on_a_ring_a_locality_has_its_share_however_many_it_has() {
    let keys = keys(4);
    let mut hosts = hosts(&keys);
    hosts[3].locality = 1;
    let counts = counts(&balancer(RING, &hosts), &Fake::default(), 4, 10_000);
    assert!(counts[3].abs_diff(5000) < 800, "{counts:?}");
}

#[test]
fn who_drains_is_never_picked_not_even_in_panic() {
    let keys = keys(4);
    let mut hosts = hosts(&keys);
    hosts[0].state = HostState::Draining;
    hosts[1].state = HostState::Ill;
    hosts[2].state = HostState::Ill;
    for lb in ALL {
        let picked = counts(&balancer(lb, &hosts), &Fake::default(), 4, 300);
        assert_eq!(picked[0], 0, "{lb:?} {picked:?}");
        // One healthy of three: below half, so that all are tried.
        if lb == LbPolicy::RoundRobin {
            assert_eq!(picked, [0, 100, 100, 100]);
        }
    }
}

#[test]
fn a_ring_is_used_again_when_only_health_changed() {
    let keys = keys(4);
    let mut hosts = hosts(&keys);
    let before = balancer(RING, &hosts);
    hosts[1].state = HostState::Ill;
    let mut random = SplitMix::new(1);
    let after = Balancer::new(settings(RING), &hosts, Some(&before), &mut random);
    assert!(Arc::ptr_eq(
        &before.ring(0).unwrap(),
        &after.ring(0).unwrap()
    ));
    hosts[1].weight = 2;
    let other = Balancer::new(settings(RING), &hosts, Some(&after), &mut random);
    assert!(!Arc::ptr_eq(
        &other.ring(0).unwrap(),
        &after.ring(0).unwrap()
    ));
}

#[test]
fn nothing_is_picked_from_nothing() {
    let mut random = SplitMix::new(1);
    for lb in ALL {
        assert_eq!(
            balancer(lb, &[]).pick(None, &mut random, &Fake::default()),
            None
        );
        let keys = keys(2);
        let balancer = balancer(lb, &hosts(&keys));
        assert_eq!(
            balancer.pick(Some(1), &mut random, &Fake::down(&[0, 1])),
            None
        );
    }
}

fn any_state() -> impl Strategy<Value = HostState> {
    prop_oneof![
        Just(HostState::Healthy),
        Just(HostState::Degraded),
        Just(HostState::Ill),
        Just(HostState::Draining),
    ]
}

proptest! {
    #[test]
    fn a_pick_is_usable_and_there_is_one_when_a_healthy_one_is_usable(
        made in prop::collection::vec((any_state(), 1_u32..5, 0_u32..3), 0..12),
        lb in prop::sample::select(ALL.to_vec()),
        down in prop::collection::vec(0_u32..12, 0..6),
        panic_threshold in 0_u8..=100,
        seed: u64,
    ) {
        let keys = keys(12);
        let mut hosts: Vec<_> = made.iter().zip(&keys).map(|((state, weight, priority), key)| Host {
            key, weight: *weight, priority: *priority, locality: *priority, locality_weight: 1,
            state: *state,
        }).collect();
        hosts.sort_by_key(|host| host.priority);
        let settings = Settings { lb, overprovisioning: 140, panic_threshold };
        let mut random = SplitMix::new(seed);
        let balancer = Balancer::new(settings, &hosts, None, &mut random);
        let fake = Fake::down(&down);
        for _ in 0..20 {
            let hash = Some(random.next());
            match balancer.pick(hash, &mut random, &fake) {
                Some(host) => {
                    prop_assert!(fake.usable(host));
                    prop_assert!(hosts[host as usize].state != HostState::Draining);
                }
                None => {
                    // Who has a share and is usable is found.
                    let all_down = |state| hosts.iter().enumerate().all(|(number, host)| {
                        host.state != state || !fake.usable(number as u32)
                    });
                    let healthy_first = hosts.iter().any(|host| host.priority == 0
                        && host.state == HostState::Healthy);
                    if healthy_first && hosts.iter().all(|host| host.priority == 0) {
                        prop_assert!(all_down(HostState::Healthy));
                    }
                }
            }
        }
    }
}
