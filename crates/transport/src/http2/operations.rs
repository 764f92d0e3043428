//! Operations that were asked for lately, so that a request's name is not allocated again.

use corewire_message::Operation;

const PLACES: usize = 64;

/// A small cache by name: each name has one place. Names of known operations only get in, so a
/// stranger cannot fill it with rubbish.
#[derive(Debug)]
pub(super) struct Operations(Vec<Option<Operation>>);

impl Operations {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn find(&self, name: &str) -> Option<Operation> {
        let operation = self.0.get(place(name))?.as_ref()?;
        (operation.as_str() == name).then(|| operation.clone())
    }

    pub(super) fn keep(&mut self, operation: &Operation) {
        if self.0.is_empty() {
            self.0.resize(PLACES, None);
        }
        self.0[place(operation.as_str())] = Some(operation.clone());
    }
}

/// Names of one service differ in their last letters and their length.
fn place(name: &str) -> usize {
    let mixed = name.bytes().rev().take(8).fold(name.len(), |mixed, octet| {
        mixed.wrapping_mul(31).wrapping_add(usize::from(octet))
    });
    mixed % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_until_another_takes_its_place() {
        let mut operations = Operations::new();
        assert!(operations.find("a/b").is_none());
        let kept: Vec<_> = (0..1000)
            .map(|number| Operation::parse(&format!("service/method{number}")).unwrap())
            .collect();
        for operation in &kept {
            operations.keep(operation);
            let found = operations.find(operation.as_str()).unwrap();
            assert!(found.is_same(operation));
        }
        let still = |operation: &&Operation| operations.find(operation.as_str()).is_some();
        assert!(kept.iter().filter(still).count() <= PLACES);
        assert!(operations.find("service/other").is_none());
    }
}
