//! What the beginnings of sections came to when they came last.
//!
//! Most sections of a connection begin as one before them did: with fields that are in the tables, each an octet.
//! As long as the dynamic table is the same, the same octets are the same fields and the other way round, and the
//! run is taken as a whole.

/// Runs that are remembered; a power of two.
const RUNS: usize = 8;

/// The longest run, on either side of it. Longer ones are not remembered.
const LONGEST: usize = 1024;

/// Memory for runs: from what a section begins with to what it comes to.
#[derive(Debug)]
pub(super) struct Runs {
    /// None before the first, then [`RUNS`].
    runs: Vec<Run>,
}

#[derive(Clone, Debug, Default)]
struct Run {
    /// Nothing is no run.
    from: Vec<u8>,
    to: Vec<u8>,
    /// What it counts against a limit.
    cost: usize,
    /// The table's [`version`](super::dynamic_table::DynamicTable::version).
    version: u64,
}

impl Runs {
    pub(super) const fn new() -> Self {
        Self { runs: Vec::new() }
    }

    /// What was remembered at this place, any number that sections share which begin alike, and few others:
    /// what a section began with, and what that came to.
    #[inline]
    pub(super) fn get(&self, place: usize, version: u64) -> Option<(&[u8], &[u8])> {
        let run = self.runs.get(place % RUNS)?;
        (run.version == version && !run.from.is_empty()).then_some((&run.from, &run.to))
    }

    /// What a section that begins like this one came to, how much of it that is the beginning of, and what it
    /// costs.
    #[inline]
    pub(super) fn find(
        &self,
        place: usize,
        section: &[u8],
        version: u64,
    ) -> Option<(&[u8], usize, usize)> {
        let run = self.runs.get(place % RUNS)?;
        let begins = section.get(..run.from.len())?;
        let is_same = run.version == version && !begins.is_empty() && begins == run.from;
        is_same.then_some((&run.to, begins.len(), run.cost))
    }

    /// Remembers a run; `write` writes what it comes from.
    #[inline(never)]
    pub(super) fn remember(
        &mut self,
        place: usize,
        write: impl FnOnce(&mut Vec<u8>),
        to: &[u8],
        cost: usize,
        version: u64,
    ) {
        if to.is_empty() || to.len() > LONGEST {
            return;
        }
        if self.runs.is_empty() {
            self.runs.resize(RUNS, Run::default());
        }
        let run = &mut self.runs[place % RUNS];
        run.from.clear();
        write(&mut run.from);
        if run.from.len() > LONGEST {
            run.from = Vec::new();
        }
        run.to.clear();
        run.to.extend_from_slice(to);
        run.cost = cost;
        run.version = version;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remember(runs: &mut Runs, place: usize, from: &[u8], to: &[u8]) {
        runs.remember(place, |own| own.extend_from_slice(from), to, 40, 7);
    }

    #[test]
    fn finds_what_it_remembers_as_long_as_the_table_is_the_same() {
        let mut runs = Runs::new();
        assert_eq!(runs.find(3, b"abc", 7), None);
        remember(&mut runs, 3, b"ab", b"fields");
        assert_eq!(runs.find(3, b"abc", 7), Some((&b"fields"[..], 2, 40)));
        assert_eq!(runs.find(3 + RUNS, b"ab", 7), Some((&b"fields"[..], 2, 40)));
        assert_eq!(runs.get(3, 7), Some((&b"ab"[..], &b"fields"[..])));
        for (place, section, version) in [
            (3, &b"abc"[..], 8),
            (3, b"axc", 7),
            (3, b"a", 7),
            (4, b"abc", 7),
        ] {
            assert_eq!(runs.find(place, section, version), None);
        }
        assert_eq!(runs.get(3, 8), None);
        remember(&mut runs, 3, b"x", b"others");
        assert_eq!(runs.find(3, b"ab", 7), None);
        assert_eq!(runs.get(3, 7), Some((&b"x"[..], &b"others"[..])));
    }

    #[test]
    fn remembers_nothing_that_is_empty_or_too_long() {
        let mut runs = Runs::new();
        remember(&mut runs, 0, b"a", b"");
        remember(&mut runs, 1, b"a", &[0; LONGEST + 1]);
        remember(&mut runs, 2, &[1; LONGEST + 1], b"fields");
        remember(&mut runs, 3, b"", b"fields");
        for place in 0..RUNS {
            assert_eq!(runs.get(place, 7), None);
            assert_eq!(runs.find(place, &[1; LONGEST + 1], 7), None);
        }
        remember(&mut runs, 2, &[1; LONGEST], &[2; LONGEST]);
        assert!(runs.get(2, 7).is_some());
    }
}
