//! Header sections that wait to be encoded: what they come to depends on those that are sent before them.

use super::Indexing;

/// Octets in front of each field: lengths and how it is indexed.
const PREFIX: usize = 8;

/// Memory that an emptied section keeps, octets.
const KEEP: usize = 1024;

/// The fields of a header section, in order.
///
/// Those in front that are to be remembered are most often those of a section before: an encoder takes
/// them as a whole. Fields that vary or are secret are best put behind them.
#[derive(Debug, Default)]
pub struct Section {
    octets: Vec<u8>,
    /// How many octets the fields in front have that are to be remembered.
    lead: usize,
}

impl Section {
    /// Adds a field; `false` when it is longer than a section holds, 2^16 - 1 octets of a name and 2^32 - 1
    /// of a value.
    #[must_use]
    pub fn put(&mut self, name: &[u8], value: &[u8], indexing: Indexing) -> bool {
        let (Ok(name_length), Ok(value_length)) =
            (u16::try_from(name.len()), u32::try_from(value.len()))
        else {
            return false;
        };
        let indexing_bits = match indexing {
            Indexing::Yes => 0,
            Indexing::No => 1,
            Indexing::Never => 2,
        };
        let prefix = u64::from(value_length) | u64::from(name_length) << 32 | indexing_bits << 48;
        let leads = self.lead == self.octets.len() && indexing == Indexing::Yes;
        self.octets.reserve(PREFIX + name.len() + value.len());
        self.octets.extend_from_slice(&prefix.to_le_bytes());
        self.octets.extend_from_slice(name);
        self.octets.extend_from_slice(value);
        if leads {
            self.lead = self.octets.len();
        }
        true
    }

    /// Empties it, and keeps some of its memory.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.lead = 0;
        if self.octets.capacity() > KEEP {
            self.octets.shrink_to(KEEP);
        }
    }

    /// The fields in front that are to be remembered.
    pub(super) fn lead(&self) -> &[u8] {
        &self.octets[..self.lead]
    }

    /// All others.
    pub(super) fn behind_lead(&self) -> &[u8] {
        &self.octets[self.lead..]
    }

    /// A number that most other sections do not have.
    pub(super) fn first_sight(&self) -> usize {
        let octet = |at: usize| usize::from(self.octets.get(at).copied().unwrap_or_default());
        self.lead + octet(self.lead / 2) + octet(self.lead.wrapping_sub(1))
    }

    /// The fields in these octets.
    pub(super) fn fields(octets: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], Indexing)> {
        let mut rest = octets;
        std::iter::from_fn(move || {
            let (prefix, behind) = rest.split_first_chunk::<PREFIX>()?;
            let prefix = u64::from_le_bytes(*prefix);
            let (name, behind) = behind.split_at_checked((prefix >> 32 & 0xffff) as usize)?;
            let (value, behind) = behind.split_at_checked((prefix & 0xffff_ffff) as usize)?;
            rest = behind;
            let indexing = match prefix >> 48 {
                0 => Indexing::Yes,
                1 => Indexing::No,
                _ => Indexing::Never,
            };
            Some((name, value, indexing))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_out_as_they_went_in() {
        let long = vec![b'v'; 70_000];
        let name = [b'n'; 300];
        let fields = [
            (&b":status"[..], &b"200"[..], Indexing::Yes),
            (b"x-empty", b"", Indexing::Yes),
            (&name, &long, Indexing::No),
            (b"authorization", b"x", Indexing::Never),
            (b"", b"y", Indexing::Yes),
        ];
        let mut section = Section::default();
        for (name, value, indexing) in fields {
            assert!(section.put(name, value, indexing));
        }
        let lead: Vec<_> = Section::fields(section.lead()).collect();
        assert_eq!(lead, fields[..2]);
        let others: Vec<_> = Section::fields(section.behind_lead()).collect();
        assert_eq!(others, fields[2..]);
        section.clear();
        assert!(section.octets.is_empty() && section.octets.capacity() <= KEEP);
        assert!(section.lead().is_empty() && section.behind_lead().is_empty());
        let long = vec![b'n'; 70_000];
        assert!(!section.put(&long, b"", Indexing::Yes));
    }
}
