//! The lists of names in a record, split while they are walked. All names have been checked.

/// Whom an entry is for: everybody, or those who are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Senders<'a>(Option<&'a str>);

impl<'a> Senders<'a> {
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn of(list: &'a str) -> Self {
        Self(Some(list))
    }

    /// Whether the entry is for everybody.
    #[must_use]
    pub fn is_everybody(&self) -> bool {
        self.0.is_none()
    }

    /// The names. Empty ones are left out: they are nobody's.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0.into_iter().flat_map(|list| names(list, b','))
    }
}

/// The groups of an entry: a message goes to one endpoint of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups<'a>(&'a str);

impl<'a> Groups<'a> {
    pub(super) fn of(list: &'a str) -> Self {
        Self(list)
    }

    /// The groups. Those without an endpoint are left out.
    pub fn iter(&self) -> impl Iterator<Item = Group<'a>> + use<'a> {
        names(self.0, b';').map(Group)
    }
}

/// The endpoints that take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group<'a>(&'a str);

impl<'a> Group<'a> {
    /// The endpoints' names, `host:port`.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        names(self.0, b',')
    }
}

/// Managed elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meids<'a>(&'a str);

impl<'a> Meids<'a> {
    pub(super) fn of(list: &'a str) -> Self {
        Self(list)
    }

    /// Their identifiers.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0.split_ascii_whitespace()
    }
}

/// What stands between separators, without the blanks around it and without what is empty.
fn names<'a>(list: &'a str, separator: u8) -> impl Iterator<Item = &'a str> + use<'a> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        loop {
            let list = rest?;
            let name = match memchr::memchr(separator, list.as_bytes()) {
                Some(end) => {
                    rest = Some(&list[end + 1..]);
                    &list[..end]
                }
                None => {
                    rest = None;
                    list
                }
            };
            let name = name.trim_ascii();
            if !name.is_empty() {
                return Some(name);
            }
        }
    })
}
