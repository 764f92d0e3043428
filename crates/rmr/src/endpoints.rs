//! Everybody that messages are sent to, whatever table names them.

use crate::counters::EndpointCounters;
use crate::slots::Slots;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// An endpoint's number: dense, from 0, never given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(u32);

impl EndpointId {
    /// The number, to find what belongs to the endpoint in [`Slots`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One endpoint. What a connection to it is, is the driver's.
#[derive(Debug)]
pub struct Endpoint {
    name: Arc<str>,
    counters: Arc<EndpointCounters>,
}

impl Endpoint {
    /// `host:port`, as it was named first.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What happened to messages for it.
    #[must_use]
    pub fn counters(&self) -> &Arc<EndpointCounters> {
        &self.counters
    }
}

/// The endpoints of a context, from tables, wormholes and replies. None is ever taken away, since
/// a table that no longer names one may be followed by one that does: connections and counters
/// stay, as they do in the C library. Their number is limited.
#[derive(Debug)]
pub struct Endpoints {
    slots: Slots<Endpoint>,
    ids: RwLock<HashMap<Arc<str>, EndpointId>>,
    max: usize,
}

impl Endpoints {
    /// No endpoints; there may be up to `max`.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self {
            slots: Slots::new(),
            ids: RwLock::default(),
            max: max.min(Slots::<Endpoint>::MAX),
        }
    }

    /// The endpoint of this name, which is made when nobody has named it before. Takes a lock: for
    /// wormholes and replies, not for each message.
    ///
    /// # Errors
    /// When there are half as many as there may be; those that are known stay. The other half is
    /// for tables: replies go to names that strangers make up, who must not keep routes out.
    pub fn intern(&self, name: &str) -> Result<EndpointId, TooManyEndpoints> {
        self.intern_up_to(self.max / 2, name)
    }

    /// The same for a name in a table.
    pub(crate) fn intern_routed(&self, name: &str) -> Result<EndpointId, TooManyEndpoints> {
        self.intern_up_to(self.max, name)
    }

    fn intern_up_to(&self, max: usize, name: &str) -> Result<EndpointId, TooManyEndpoints> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        let mut ids = self.ids.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = ids.get(name) {
            return Ok(*id);
        }
        let index = ids.len();
        if index >= max {
            return Err(TooManyEndpoints { max });
        }
        let name: Arc<str> = name.into();
        let id = EndpointId(u32::try_from(index).expect("Slots::MAX is below"));
        self.slots.get_or_init(index, || Endpoint {
            name: Arc::clone(&name),
            counters: Arc::default(),
        });
        ids.insert(name, id);
        Ok(id)
    }

    /// The endpoint of this name, if anybody has named it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<EndpointId> {
        let ids = self.ids.read().unwrap_or_else(PoisonError::into_inner);
        ids.get(name).copied()
    }

    /// An endpoint. Takes no lock.
    ///
    /// # Panics
    /// When the number is another context's, and there are fewer here.
    #[must_use]
    pub fn get(&self, id: EndpointId) -> &Endpoint {
        self.slots
            .get(id.index())
            .expect("an endpoint of this context")
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (EndpointId, &Endpoint)> {
        self.slots
            .iter()
            .map(|(index, endpoint)| (EndpointId(index as u32), endpoint))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// There are as many endpoints as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what there is to say")]
pub struct TooManyEndpoints {
    /// How many may be.
    pub max: usize,
}

impl fmt::Display for TooManyEndpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} endpoints can be known", self.max)
    }
}

impl std::error::Error for TooManyEndpoints {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let endpoints = Endpoints::new(4);
        assert!(endpoints.is_empty());
        let a = endpoints.intern("a:1").unwrap();
        assert!(!endpoints.is_empty());
        let b = endpoints.intern("b:1").unwrap();
        assert_eq!((a.index(), b.index()), (0, 1));
        assert_eq!(endpoints.intern("a:1"), Ok(a));
        assert_eq!(endpoints.find("b:1"), Some(b));
        assert_eq!(endpoints.get(b).name(), "b:1");
        assert_eq!(endpoints.intern("c:1"), Err(TooManyEndpoints { max: 2 }));
        assert_eq!(endpoints.find("c:1"), None);
        assert_eq!(endpoints.intern("a:1"), Ok(a));
        assert_eq!(endpoints.len(), 2);
        assert!(endpoints.iter().map(|(id, _)| id).eq([a, b]));
    }

    #[test]
    fn strangers_keep_no_routes_out() {
        let endpoints = Endpoints::new(4);
        let stranger = |n: usize| endpoints.intern(&format!("stranger{n}:1")).is_ok();
        assert_eq!((0..100).filter(|n| stranger(*n)).count(), 2);
        assert!(endpoints.intern_routed("a:1").is_ok() && endpoints.intern_routed("b:1").is_ok());
        assert_eq!(
            endpoints.intern_routed("c:1"),
            Err(TooManyEndpoints { max: 4 })
        );
        // What a table has named can be replied to.
        assert!(endpoints.intern("b:1").is_ok());
    }
}
