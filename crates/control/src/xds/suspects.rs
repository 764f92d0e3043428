//! Who of a refused response is to blame.
//!
//! A refusal names no resource that a program could rely on. What stood in a refused response is
//! therefore sent again in halves, until one that is alone is refused: that one is bad, and those
//! beside it get through. It costs one refusal more each time the number of suspects doubles.

use crate::resources::{Digest, Resource};
use std::sync::Arc;

/// Resources of refused responses that have not been sent alone yet.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// The next one is the last. Names of all together are bounded by who adds them.
    groups: Vec<Vec<(Arc<str>, Digest)>>,
    names: usize,
}

impl Suspects {
    pub(super) const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Takes what was refused together; gives back what is more than `limit` names in all.
    pub(super) fn split(
        &mut self,
        mut refused: Vec<(Arc<str>, Digest)>,
        limit: usize,
    ) -> Vec<(Arc<str>, Digest)> {
        let room = limit.saturating_sub(self.names).min(refused.len());
        let too_many = refused.split_off(room);
        self.names += refused.len();
        let second = refused.split_off(refused.len() / 2);
        let halves = [second, refused];
        self.groups
            .extend(halves.into_iter().filter(|half| !half.is_empty()));
        too_many
    }

    /// The next group, as far as its resources are still what was refused.
    pub(super) fn next(
        &mut self,
        current: impl Fn(&str, Digest) -> Option<Arc<Resource>>,
    ) -> Option<Vec<Arc<Resource>>> {
        while let Some(group) = self.groups.pop() {
            self.names -= group.len();
            let still = group
                .iter()
                .filter_map(|(name, digest)| current(name, *digest));
            let still: Vec<_> = still.collect();
            if !still.is_empty() {
                return Some(still);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_xds::envoy::config::core::v3::Node;

    #[test]
    fn halves_come_until_each_is_alone_and_no_more_than_there_is_room_for() {
        let all: Vec<_> = ["a", "b", "c", "d", "e"]
            .map(|name| Arc::new(Resource::new(name, &Node::default())))
            .into();
        let named = |made: &[Arc<Resource>]| -> Vec<(Arc<str>, Digest)> {
            let pairs = made.iter().map(|it| (Arc::clone(&it.name), it.digest));
            pairs.collect()
        };
        let find = |name: &str, digest: Digest| {
            let mut found = all
                .iter()
                .filter(|it| &*it.name == name && it.digest == digest);
            found.next().cloned()
        };
        let mut suspects = Suspects::default();
        let left = suspects.split(named(&all), 4);
        assert_eq!(left.len(), 1, "one too many");
        let mut alone = Vec::new();
        while let Some(group) = suspects.next(find) {
            match group.as_slice() {
                [one] => alone.push(one.name.to_string()),
                _ => assert!(suspects.split(named(&group), 4).is_empty()),
            }
        }
        assert_eq!(alone, ["a", "b", "c", "d"]);
        assert!(suspects.is_empty() && suspects.names == 0);
        // What is gone or other now is no suspect any more.
        suspects.split(named(&all), 5);
        assert!(suspects.next(|_, _| None).is_none());
    }
}
