//! Operation names: sent once, then a number.

use super::fault::Violation;
use corewire_message::{CallKind, Operation};

/// The number of a name that is not kept: it comes with the name each time.
pub(super) const ANONYMOUS: u16 = u16::MAX;

/// Places of the cache in front of the map.
const CACHE: usize = 16;

/// The names that this end has sent.
#[derive(Debug, Default)]
pub(super) struct SentOperations {
    /// The last name seen at each place, found by its address: programs use few names, each from
    /// one constant.
    cache: [Option<(Operation, u16)>; CACHE],
    /// All of them, in order of name.
    sorted: Vec<(Operation, u16)>,
}

impl SentOperations {
    /// The number of a name, and whether the name must go with it. Keeps at most `limit` names.
    pub(super) fn number(&mut self, operation: &Operation, limit: u16) -> (u16, bool) {
        let address = operation.as_str().as_ptr() as usize;
        let place = (address ^ (address >> 4) ^ (address >> 8)) % CACHE;
        if let Some((cached, number)) = &self.cache[place]
            && cached.is_same(operation)
        {
            return (*number, false);
        }
        let found = self
            .sorted
            .binary_search_by(|entry| entry.0.as_str().cmp(operation.as_str()));
        let (number, is_new) = match (found, u16::try_from(self.sorted.len())) {
            (Ok(at), _) => (self.sorted[at].1, false),
            (Err(at), Ok(number)) if number < limit => {
                self.sorted.insert(at, (operation.clone(), number));
                (number, true)
            }
            _ => return (ANONYMOUS, true),
        };
        self.cache[place] = Some((operation.clone(), number));
        (number, is_new)
    }
}

/// The names that the peer has sent.
#[derive(Debug, Default)]
pub(super) struct KnownOperations {
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    operation: Operation,
    /// Once the application knew it; asked again each time while it does not.
    kind: Option<CallKind>,
}

impl KnownOperations {
    /// A name came with its number.
    pub(super) fn define(
        &mut self,
        number: u16,
        name: &[u8],
        limit: u16,
    ) -> Result<Operation, Violation> {
        let name = std::str::from_utf8(name).map_err(|_| Violation::OperationName)?;
        let operation = Operation::parse(name).map_err(|_| Violation::OperationName)?;
        if number != ANONYMOUS {
            if usize::from(number) != self.known.len() {
                return Err(Violation::OperationOrder);
            }
            if number >= limit {
                return Err(Violation::TooManyOperations);
            }
            self.known.push(Known {
                operation: operation.clone(),
                kind: None,
            });
        }
        Ok(operation)
    }

    /// The name with this number.
    pub(super) fn get(&self, number: u16) -> Result<Operation, Violation> {
        self.known
            .get(usize::from(number))
            .map(|known| known.operation.clone())
            .ok_or(Violation::OperationUndefined)
    }

    /// The shape of its calls, asked of `kind_of` until it is known.
    pub(super) fn kind(
        &mut self,
        number: u16,
        operation: &Operation,
        kind_of: &dyn Fn(&Operation) -> Option<CallKind>,
    ) -> Option<CallKind> {
        match self.known.get_mut(usize::from(number)) {
            Some(known) => {
                if known.kind.is_none() {
                    known.kind = kind_of(operation);
                }
                known.kind
            }
            None => kind_of(operation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_sent_once_and_past_the_limit_each_time() {
        let mut sent = SentOperations::default();
        let names: Vec<Operation> = (0..100)
            .map(|n| Operation::parse(&format!("service/method{n}")).unwrap())
            .collect();
        for (n, name) in (0u16..).zip(&names) {
            let expected = if n < 64 { (n, true) } else { (ANONYMOUS, true) };
            assert_eq!(sent.number(name, 64), expected);
        }
        for (n, name) in (0u16..64).zip(&names) {
            assert_eq!(sent.number(name, 64), (n, false));
            let elsewhere = Operation::parse(name.as_str()).unwrap();
            assert_eq!(sent.number(&elsewhere, 64), (n, false));
        }
    }

    #[test]
    fn numbers_come_in_order_and_within_the_limit() {
        let mut known = KnownOperations::default();
        assert_eq!(known.define(1, b"a/b", 2), Err(Violation::OperationOrder));
        assert_eq!(known.define(0, b"a/", 2), Err(Violation::OperationName));
        assert!(known.define(0, b"a/b", 2).is_ok());
        assert!(known.define(1, b"a/c", 2).is_ok());
        assert_eq!(
            known.define(2, b"a/d", 2),
            Err(Violation::TooManyOperations)
        );
        assert!(known.define(ANONYMOUS, b"a/d", 2).is_ok());
        assert_eq!(known.get(1).unwrap().as_str(), "a/c");
        assert_eq!(known.get(2), Err(Violation::OperationUndefined));
        assert_eq!(known.get(ANONYMOUS), Err(Violation::OperationUndefined));
    }

    #[test]
    fn a_shape_is_asked_for_until_it_is_known() {
        let mut known = KnownOperations::default();
        let operation = known.define(0, b"a/b", 2).unwrap();
        assert_eq!(known.kind(0, &operation, &|_| None), None);
        let unary = Some(CallKind::Unary);
        assert_eq!(known.kind(0, &operation, &|_| unary), unary);
        assert_eq!(known.kind(0, &operation, &|_| None), unary);
    }
}
