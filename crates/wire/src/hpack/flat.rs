//! The form in which header sections are handed on, and in which the tables keep their entries: for
//! each field the length of its name in an octet, that of its value in three, little-endian; name; value.
//! An entry that is referred to is copied as it stands.

/// Octets in front of a name.
pub(super) const PREFIX: usize = 4;
/// The longest name that can be handed on.
pub(super) const MAX_NAME: usize = 0xff;
/// The longest value that can be handed on.
pub(super) const MAX_VALUE: usize = 0xff_ffff;

/// What stands in front of a field; lengths beyond the largest are cut.
pub(super) const fn prefix(name: usize, value: usize) -> [u8; PREFIX] {
    let [low, middle, high, ..] = value.to_le_bytes();
    [name as u8, low, middle, high]
}

/// Whether a field can be handed on.
pub(super) const fn fits(name: usize, value: usize) -> bool {
    name <= MAX_NAME && value <= MAX_VALUE
}

/// The name of an entry, which must have fitted.
pub(super) fn name(entry: &[u8]) -> &[u8] {
    let end = PREFIX + usize::from(entry.first().copied().unwrap_or_default());
    entry.get(PREFIX..end).unwrap_or_default()
}

/// The value of an entry, which must have fitted.
pub(super) fn value(entry: &[u8]) -> &[u8] {
    let start = PREFIX + usize::from(entry.first().copied().unwrap_or_default());
    entry.get(start..).unwrap_or_default()
}
