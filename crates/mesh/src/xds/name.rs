//! Names of targets: `xds:///smf-pdu-session`, `xds://authority/name`, or just the name.

use std::fmt;

/// A target by its name, with the authority it belongs to, if any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetName {
    authority: Option<String>,
    name: String,
}

impl TargetName {
    /// Reads a name.
    ///
    /// # Errors
    /// When it is empty or of another scheme than `xds`.
    pub fn parse(text: &str) -> Result<Self, TargetNameFault> {
        let (authority, name) = match text.strip_prefix("xds:") {
            Some(rest) => match rest.strip_prefix("//") {
                Some(rest) => {
                    let (authority, name) = rest.split_once('/').ok_or(TargetNameFault)?;
                    (Some(authority), name)
                }
                None => (None, rest.trim_start_matches('/')),
            },
            None if text.contains("://") => return Err(TargetNameFault),
            None => (None, text),
        };
        if name.is_empty() {
            return Err(TargetNameFault);
        }
        let authority = authority.filter(|it| !it.is_empty());
        Ok(Self {
            authority: authority.map(Into::into),
            name: name.into(),
        })
    }

    /// The authority, when there is one.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// The name within its authority.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is called in a snapshot: the name itself, unless it belongs to an authority.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.authority {
            None => self.name.clone(),
            Some(authority) => format!("xds://{authority}/{}", self.name),
        }
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.authority.as_deref().unwrap_or_default();
        write!(f, "xds://{authority}/{}", self.name)
    }
}

/// A text that names no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetNameFault;

impl fmt::Display for TargetNameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a target is written NAME, xds:///NAME or xds://AUTHORITY/NAME")
    }
}

impl std::error::Error for TargetNameFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_every_form() {
        for (text, key, printed) in [
            ("smf", "smf", "xds:///smf"),
            ("xds:///smf", "smf", "xds:///smf"),
            ("xds:smf", "smf", "xds:///smf"),
            (
                "xds:///echo.ns.svc.cluster.local:7070",
                "echo.ns.svc.cluster.local:7070",
                "xds:///echo.ns.svc.cluster.local:7070",
            ),
            ("xds://core/smf/a", "xds://core/smf/a", "xds://core/smf/a"),
        ] {
            let name = TargetName::parse(text).unwrap();
            assert_eq!(name.key(), key);
            assert_eq!(name.to_string(), printed);
        }
        for text in [
            "",
            "xds:",
            "xds:///",
            "xds://core",
            "dns:///smf",
            "http://smf",
        ] {
            assert_eq!(TargetName::parse(text), Err(TargetNameFault), "{text}");
        }
    }
}
