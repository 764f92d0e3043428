//! What a client asks for, of one type.

use std::collections::HashSet;
use std::sync::Arc;

/// Everything of a type.
const EVERYTHING: &str = "*";

/// What a client asks for, of one type.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    /// It has asked at all.
    pub(super) asked: bool,
    pub(super) wildcard: bool,
    pub(super) names: HashSet<Arc<str>>,
    /// It has named something once: from then on an empty list means nothing, not everything.
    named: bool,
}

impl Subscription {
    /// Takes the whole list of a state-of-the-world request; gives the names that are no longer
    /// wanted. `may_be_wildcard`: an empty first list stands for everything.
    pub(super) fn replace(&mut self, wanted: Vec<String>, may_be_wildcard: bool) -> Vec<Arc<str>> {
        self.asked = true;
        self.named |= !wanted.is_empty();
        let mut wildcard = !self.named && may_be_wildcard;
        let mut names = HashSet::with_capacity(wanted.len());
        for name in wanted {
            if name == EVERYTHING {
                wildcard |= may_be_wildcard;
            } else if let Some(known) = self.names.take(&*name) {
                names.insert(known);
            } else {
                names.insert(name.into());
            }
        }
        self.wildcard = wildcard;
        std::mem::replace(&mut self.names, names)
            .into_iter()
            .collect()
    }

    /// Takes the changes of an incremental request; gives the names that were subscribed, and
    /// those that are no longer wanted.
    pub(super) fn change(
        &mut self,
        add: Vec<String>,
        remove: &[String],
        may_be_wildcard: bool,
    ) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        if !self.asked && add.is_empty() {
            self.wildcard = may_be_wildcard;
        }
        self.asked = true;
        let mut added = Vec::new();
        for name in add {
            self.named = true;
            if name == EVERYTHING {
                self.wildcard = may_be_wildcard;
            } else {
                let name: Arc<str> = name.into();
                self.names.insert(Arc::clone(&name));
                added.push(name);
            }
        }
        let mut gone = Vec::new();
        for name in remove {
            if name == EVERYTHING {
                self.wildcard = false;
            } else if let Some(name) = self.names.take(&**name) {
                gone.push(name);
            }
        }
        (added, gone)
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.wildcard || self.names.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_empty_list_is_everything_only_at_first() {
        let mut wanted = Subscription::default();
        assert!(wanted.replace(vec![], true).is_empty());
        assert!(wanted.wildcard);
        wanted.replace(list(&["a", "b"]), true);
        assert!(!wanted.wildcard);
        let mut gone = wanted.replace(vec![], true);
        gone.sort();
        assert_eq!(gone, ["a".into(), "b".into()]);
        assert!(!wanted.wildcard);
        wanted.replace(list(&["*"]), true);
        assert!(wanted.wildcard);

        let mut routes = Subscription::default();
        routes.replace(vec![], false);
        assert!(!routes.wildcard, "routes are always named");
    }

    #[test]
    fn changes_add_and_remove() {
        let mut wanted = Subscription::default();
        wanted.change(vec![], &[], true);
        assert!(wanted.wildcard);
        let (added, gone) = wanted.change(list(&["a"]), &list(&["*", "x"]), true);
        assert_eq!((added.len(), gone.len()), (1, 0));
        assert!(!wanted.wildcard && wanted.wants("a") && !wanted.wants("b"));
        let (_, gone) = wanted.change(vec![], &list(&["a"]), true);
        assert_eq!(gone, ["a".into()]);
    }
}
