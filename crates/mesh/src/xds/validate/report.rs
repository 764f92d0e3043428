//! Everything that is wrong with a resource, each with the path of its field.

use crate::config::FieldFault;
use std::fmt;

/// Faults, and notices, that are kept of one resource; of more only the number is told.
pub(crate) const MAX_FINDINGS: usize = 64;

/// Where in a message one is. Costs nothing until it is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Self>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Segment<'a> {
    Root,
    Field(&'a str),
    Index(&'a str, usize),
    Key(&'a str, &'a str),
}

impl Path<'static> {
    /// The resource itself.
    pub(crate) const ROOT: Self = Self {
        parent: None,
        segment: Segment::Root,
    };
}

impl<'a> Path<'a> {
    const fn with(&'a self, segment: Segment<'a>) -> Self {
        Self {
            parent: Some(self),
            segment,
        }
    }

    /// A field of it.
    pub(crate) const fn field(&'a self, name: &'a str) -> Self {
        self.with(Segment::Field(name))
    }

    /// An element of a repeated field of it.
    pub(crate) const fn index(&'a self, name: &'a str, at: usize) -> Self {
        self.with(Segment::Index(name, at))
    }

    /// An entry of a map field of it.
    pub(crate) const fn key(&'a self, name: &'a str, key: &'a str) -> Self {
        self.with(Segment::Key(name, key))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent
            && !matches!(parent.segment, Segment::Root)
        {
            write!(f, "{parent}.")?;
        }
        match self.segment {
            Segment::Root => Ok(()),
            Segment::Field(name) => f.write_str(name),
            Segment::Index(name, at) => write!(f, "{name}[{at}]"),
            Segment::Key(name, key) => write!(f, "{name}[{key:?}]"),
        }
    }
}

/// What was found in one resource.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What makes it unusable.
    pub(crate) faults: Vec<FieldFault>,
    /// What it asks for that is not carried out.
    pub(crate) notices: Vec<FieldFault>,
    more_faults: usize,
    more_notices: usize,
}

impl Report {
    /// The field's value cannot be used.
    pub(crate) fn fault(&mut self, path: &Path<'_>, reason: impl Into<String>) {
        add(&mut self.faults, &mut self.more_faults, path, reason);
    }

    /// The field is understood, or at least seen, and not carried out.
    pub(crate) fn notice(&mut self, path: &Path<'_>, reason: impl Into<String>) {
        add(&mut self.notices, &mut self.more_notices, path, reason);
    }

    /// All that was found: the faults, and the notices.
    pub(crate) fn finish(mut self) -> (Vec<FieldFault>, Vec<FieldFault>) {
        tell_more(&mut self.faults, self.more_faults, "faults");
        tell_more(&mut self.notices, self.more_notices, "notices");
        (self.faults, self.notices)
    }
}

fn add(found: &mut Vec<FieldFault>, more: &mut usize, path: &Path<'_>, reason: impl Into<String>) {
    if found.len() == MAX_FINDINGS {
        *more += 1;
        return;
    }
    found.push(FieldFault {
        path: path.to_string(),
        reason: reason.into(),
    });
}

fn tell_more(found: &mut Vec<FieldFault>, more: usize, what: &str) {
    if more > 0 {
        found.push(FieldFault {
            path: String::new(),
            reason: format!("and {more} {what} more"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_one_would_write_them() {
        let host = Path::ROOT.index("virtual_hosts", 2);
        let config = host.key("typed_per_filter_config", "envoy.fault");
        assert_eq!(
            config.field("delay").to_string(),
            r#"virtual_hosts[2].typed_per_filter_config["envoy.fault"].delay"#
        );
        assert_eq!(Path::ROOT.to_string(), "");
    }

    #[test]
    fn of_too_many_faults_the_number_is_told() {
        let mut report = Report::default();
        for at in 0..MAX_FINDINGS + 3 {
            report.fault(&Path::ROOT.index("routes", at), "is wrong");
        }
        let (faults, notices) = report.finish();
        assert_eq!(faults.len(), MAX_FINDINGS + 1);
        assert_eq!(faults.last().unwrap().reason, "and 3 faults more");
        assert!(notices.is_empty());
    }
}
