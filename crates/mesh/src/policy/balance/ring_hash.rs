//! Consistent hashing: a request's hash leads to a place on a ring of endpoints, so that one that
//! comes or goes moves only its own share of the requests.

use crate::policy::route::xx_hash;

/// The most places that a ring has, whatever a control plane asks for.
pub const MAX_PLACES: u32 = 1 << 18;

/// The longest key that is hashed, an address and a number.
const KEY_ROOM: usize = 12;

/// One endpoint of a ring.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "what a ring is made of")]
pub struct Member {
    /// What its places are made from: its address.
    pub key: Box<str>,
    /// Its share; above 0.
    pub weight: f64,
    /// What it is called outside.
    pub host: u32,
}

/// The ring. Places are those of gRPC and Envoy: the hash of `ADDRESS_NUMBER`, as many numbers as
/// the weight says.
#[derive(Debug)]
pub struct Ring {
    /// Hash and host, by hash.
    places: Box<[(u64, u32)]>,
    members: Vec<Member>,
    sizes: (u32, u32),
}

impl Ring {
    /// A ring of these members with `min` to `max` places.
    #[must_use]
    pub fn new(members: Vec<Member>, min: u32, max: u32) -> Self {
        Self {
            places: places(&members, min, max).into(),
            members,
            sizes: (min, max),
        }
    }

    /// Whether a ring of these would be this one.
    #[must_use]
    pub fn is_of(&self, members: &[Member], min: u32, max: u32) -> bool {
        self.members == members && self.sizes == (min, max)
    }

    /// How many places it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The host at `hash` or, when that cannot be used, at the next place of one that can.
    pub fn pick(&self, hash: u64, usable: impl Fn(u32) -> bool) -> Option<u32> {
        let first = self.places.partition_point(|(place, _)| *place < hash);
        let (before, behind) = self.places.split_at(first);
        let mut last = None;
        behind
            .iter()
            .chain(before)
            .map(|(_, host)| *host)
            // Asked once for places in a row.
            .filter(|host| last.replace(*host) != Some(*host))
            .find(|host| usable(*host))
    }
}

fn places(members: &[Member], min: u32, max: u32) -> Vec<(u64, u32)> {
    let total: f64 = members.iter().map(|member| member.weight).sum();
    let shares = members.iter().map(|member| member.weight / total);
    let smallest = shares.clone().fold(1.0_f64, f64::min);
    if members.is_empty() || !smallest.is_normal() {
        return Vec::new();
    }
    let max = max.clamp(1, MAX_PLACES);
    let min = min.clamp(1, max);
    // The smallest share gets a whole number of places; so does the ring.
    let scale = ((smallest * f64::from(min)).ceil() / smallest).min(f64::from(max));
    let mut places = Vec::with_capacity(scale as usize);
    let (mut have, mut wanted) = (0.0, 0.0);
    let mut key = Vec::new();
    for (member, share) in members.iter().zip(shares) {
        wanted += share * scale;
        key.clear();
        key.reserve(member.key.len() + KEY_ROOM);
        key.extend_from_slice(member.key.as_bytes());
        key.push(b'_');
        let stem = key.len();
        let mut number: u32 = 0;
        while have < wanted {
            key.truncate(stem);
            key.extend_from_slice(number.to_string().as_bytes());
            places.push((xx_hash::hash(&key, 0), member.host));
            number += 1;
            have += 1.0;
        }
    }
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::{Random, SplitMix};
    use proptest::prelude::*;

    fn members(weights: &[f64]) -> Vec<Member> {
        let member = |(host, weight): (usize, &f64)| Member {
            key: format!("10.0.0.{host}:80").into(),
            weight: *weight,
            host: host as u32,
        };
        weights.iter().enumerate().map(member).collect()
    }

    #[test]
    fn everybody_has_places_by_its_weight() {
        let ring = Ring::new(members(&[1.0, 1.0, 2.0]), 1024, 8192);
        assert!((1024..=1030).contains(&ring.len()), "{}", ring.len());
        let of = |host| {
            ring.places
                .iter()
                .filter(|(_, found)| *found == host)
                .count()
        };
        assert!(of(0).abs_diff(256) < 4 && of(2).abs_diff(512) < 4);
        let mut random = SplitMix::new(1);
        let mut drawn = [0_u32; 3];
        for _ in 0..100_000 {
            drawn[ring.pick(random.next(), |_| true).unwrap() as usize] += 1;
        }
        // Arcs are uneven: 256 of them vary by about a sixteenth.
        assert!(drawn[2].abs_diff(50_000) < 8000, "{drawn:?}");
    }

    #[test]
    fn a_hash_between_two_places_leads_to_the_second_and_behind_the_last_to_the_first() {
        let ring = Ring::new(members(&[1.0; 3]), 100, 200);
        let mut before = u64::MAX;
        for (place, host) in &ring.places {
            for hash in [*place, before.wrapping_add(1)] {
                assert_eq!(ring.pick(hash, |_| true), Some(*host));
            }
            before = *place;
        }
        assert!(before < u64::MAX);
        assert_eq!(ring.pick(u64::MAX, |_| true), ring.pick(0, |_| true));
    }

    #[test]
    fn a_host_that_goes_moves_only_its_own_requests() {
        let all = members(&[1.0; 10]);
        let ring = Ring::new(all.clone(), 1024, 8192);
        let fewer = Ring::new(
            all.into_iter().filter(|it| it.host != 4).collect(),
            1024,
            8192,
        );
        let mut random = SplitMix::new(2);
        let (mut moved, mut passed_over) = (0, 0);
        for _ in 0..10_000 {
            let hash = random.next();
            let before = ring.pick(hash, |_| true).unwrap();
            let after = fewer.pick(hash, |_| true).unwrap();
            moved += u32::from(before != 4 && before != after);
            let skipped = ring.pick(hash, |host| host != 4).unwrap();
            passed_over += u32::from(before != 4 && before != skipped);
        }
        assert_eq!(
            passed_over, 0,
            "one that cannot be used moves nobody else's"
        );
        assert!(moved < 1500, "of 10000, {moved} moved without need");
    }

    #[test]
    fn sizes_are_held() {
        assert_eq!(
            Ring::new(members(&[1.0; 3]), 1, 2).len(),
            2,
            "the largest size goes first"
        );
        assert!(Ring::new(members(&[1.0; 3]), u32::MAX, u32::MAX).len() <= MAX_PLACES as usize + 3);
        assert!(Ring::new(Vec::new(), 1024, 8192).is_empty());
        assert!(!Ring::new(members(&[1.0]), 1, 1).is_empty());
        assert!(
            Ring::new(members(&[1.0, 0.0]), 1024, 8192).is_empty(),
            "no size gives a share of nothing a whole place"
        );
        assert_eq!(Ring::new(Vec::new(), 1024, 8192).pick(1, |_| true), None);
        assert_eq!(
            Ring::new(members(&[1.0; 3]), 100, 200).pick(1, |_| false),
            None
        );
    }

    proptest! {
        #[test]
        fn a_hash_leads_to_the_same_usable_host_again(
            weights in prop::collection::vec(0.1_f64..10.0, 1..8), hash: u64, mask: u8,
        ) {
            let ring = Ring::new(members(&weights), 64, 4096);
            let usable = |host: u32| mask & (1 << host) != 0;
            let picked = ring.pick(hash, usable);
            prop_assert_eq!(picked, ring.pick(hash, usable));
            let any = (0..weights.len() as u32).any(usable);
            prop_assert_eq!(picked.is_some(), any);
            prop_assert!(picked.is_none_or(usable));
        }
    }
}
