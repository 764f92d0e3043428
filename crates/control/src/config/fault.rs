//! What is wrong with a configuration file, all of it.

use std::fmt;

/// One fault of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The line it stands in, from 1; 0 when it belongs to no line.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The setting, for example `route[2].retry.attempts`.
    pub path: String,
    /// What is wrong.
    pub reason: String,
    /// What to do next.
    pub next: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)?;
        if self.next.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.next)
        }
    }
}

/// Every fault of a configuration file, in the order of its lines. Empty only while it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn one(reason: &str, next: &str) -> Self {
        Self(vec![Fault {
            line: 0,
            column: 0,
            path: String::new(),
            reason: reason.into(),
            next: next.into(),
        }])
    }

    pub(crate) fn new(mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        Self(faults)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Fault> {
        self.0.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
