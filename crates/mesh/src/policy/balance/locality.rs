//! Localities: how much each gets within a priority.

/// How a locality is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a weight and two counts")]
pub struct Locality {
    /// Its weight among the others.
    pub weight: u32,
    /// How many of its endpoints get traffic.
    pub used: u32,
    /// How many it has.
    pub total: u32,
}

/// The weights of localities when some of their endpoints are gone: a locality keeps its weight as
/// long as its healthy endpoints can bear it (`overprovisioning`, in percent), then it shrinks with
/// them ("Locality weighted load balancing" in Envoy).
#[must_use]
pub fn effective_weights(localities: &[Locality], overprovisioning: u32) -> Vec<u32> {
    let effective = |it: &Locality| {
        if it.used == 0 || it.total == 0 {
            return 0;
        }
        let percent = u64::from(overprovisioning) * u64::from(it.used) / u64::from(it.total);
        // In hundredths, so that small weights can shrink at all.
        let weight = u64::from(it.weight.max(1)) * percent.min(100);
        u32::try_from(weight).unwrap_or(u32::MAX).max(1)
    };
    localities.iter().map(effective).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(weight: u32, used: u32, total: u32) -> Locality {
        Locality {
            weight,
            used,
            total,
        }
    }

    #[test]
    fn a_locality_shrinks_when_too_many_of_its_endpoints_are_gone() {
        let weights = |used| effective_weights(&[of(1, used, 100), of(2, 100, 100)], 140);
        assert_eq!(weights(100), [100, 200]);
        assert_eq!(weights(72), [100, 200]);
        assert_eq!(weights(50), [70, 200]);
        assert_eq!(weights(0), [0, 200]);
        assert_eq!(
            effective_weights(&[of(0, 1, 1000)], 140),
            [1],
            "little, but not nothing"
        );
        assert_eq!(effective_weights(&[of(u32::MAX, 1, 1)], 140), [u32::MAX]);
    }
}
