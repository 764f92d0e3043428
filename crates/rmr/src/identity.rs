//! Who we are to a route table, and to those who answer us.

use corewire_wire::rmr::SOURCE_OCTETS;
use std::fmt;

/// The names that mean this context: entries for other senders are not ours, and we send nothing
/// to ourselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    name: String,
    addresses: Vec<String>,
}

impl Identity {
    /// Who listens on a port of this host. The name is what `RMR_SRC_ID` says, without a port, or
    /// the host's own without its domain.
    ///
    /// # Errors
    /// When name and port do not fit into a message's source field: set a shorter `RMR_SRC_ID`.
    pub fn of_host(
        src_id: Option<&str>,
        host_name: &str,
        port: u16,
    ) -> Result<Self, SourceTooLong> {
        let host = match src_id {
            Some(id) => without_port(id),
            None => host_name.split('.').next().unwrap_or(host_name),
        };
        Self::named(format!("{host}:{port}"))
    }

    /// Who is known by a whole name, `host:port`.
    ///
    /// # Errors
    /// When it does not fit into a message's source field.
    pub fn named(name: impl Into<String>) -> Result<Self, SourceTooLong> {
        let name = name.into();
        if name.len() >= SOURCE_OCTETS {
            return Err(SourceTooLong { name });
        }
        Ok(Self {
            name,
            addresses: Vec::new(),
        })
    }

    /// The same with the addresses of its interfaces, `address:port` or `[address]:port`; the first
    /// is where replies go.
    #[must_use]
    pub fn with_addresses(
        mut self,
        addresses: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.addresses = addresses.into_iter().map(Into::into).collect();
        self
    }

    /// `host:port`: the source of our messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What goes into our messages as the source's address: the first one, or the name where there
    /// is none or `RMR_SRC_NAMEONLY` forbids it.
    #[must_use]
    pub fn source_ip(&self, name_only: bool) -> &str {
        match self.addresses.first() {
            Some(address) if !name_only => address,
            _ => &self.name,
        }
    }

    /// Whether a name in a table means us.
    #[must_use]
    pub fn is_me(&self, name: &str) -> bool {
        self.name == name || self.addresses.iter().any(|address| address == name)
    }
}

/// A host without `:port`; an IPv6 address keeps its brackets.
fn without_port(id: &str) -> &str {
    match id.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(end) => &id[..end + 2],
        None => id.split(':').next().unwrap_or(id),
    }
}

/// A name does not fit into a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what there is to say")]
pub struct SourceTooLong {
    /// The name.
    pub name: String,
}

impl fmt::Display for SourceTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "our name {:?} has more than the {} octets that a message's source holds; set a \
             shorter one in RMR_SRC_ID",
            self.name,
            SOURCE_OCTETS - 1
        )
    }
}

impl std::error::Error for SourceTooLong {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_host_without_domain_or_what_is_set() {
        let name = |src_id, host: &str| {
            let identity = Identity::of_host(src_id, host, 4560).unwrap();
            identity.name().to_owned()
        };
        assert_eq!(name(None, "gnb.example.org"), "gnb:4560");
        assert_eq!(name(Some("service-xapp.ns"), "gnb"), "service-xapp.ns:4560");
        assert_eq!(name(Some("xapp:99"), "gnb"), "xapp:4560");
        assert_eq!(name(Some("[fd00::1]:99"), "gnb"), "[fd00::1]:4560");
        assert_eq!(name(Some("[fd00::1]"), "gnb"), "[fd00::1]:4560");
        let long = "x".repeat(60);
        assert!(Identity::of_host(Some(&long), "gnb", 4560).is_err());
        assert!(Identity::of_host(Some(&long[..58]), "gnb", 4560).is_ok());
    }

    #[test]
    fn name_and_addresses_mean_us() {
        let identity = Identity::named("x:1").unwrap();
        assert_eq!(identity.source_ip(false), "x:1");
        let identity = identity.with_addresses(["10.0.0.1:1", "[fd00::1]:1"]);
        assert!(identity.is_me("x:1") && identity.is_me("[fd00::1]:1"));
        assert!(!identity.is_me("x:2") && !identity.is_me("127.0.0.1:1"));
        assert_eq!(identity.source_ip(false), "10.0.0.1:1");
        assert_eq!(identity.source_ip(true), "x:1");
    }
}
