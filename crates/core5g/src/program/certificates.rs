//! The certificates of a core whose NFs speak TLS: given in a folder, or made.

use anyhow::{Context as _, bail};
use corewire_core5g_runtime::random_instance;
use corewire_core5g_runtime::tls::TlsArgs;
use corewire_transport::tls::{Authority, Subject};
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Instead of a folder: they are made.
pub(super) const MADE: &str = "made";
/// Who has no certificate of his own has this one's.
const ANY: &str = "nf";
/// Who issued them.
const AUTHORITY: &str = "authority";
/// What the operator's commands show.
pub(super) const OPERATOR: &str = "operator";
/// How long a made one is valid; each start makes new ones.
const LIFE: Duration = Duration::from_secs(398 * 86_400);

/// The extension that says of which types an NF may be (RFC 9310).
const NF_TYPES: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 34];

/// The extension's value: a sequence of one IA5String.
fn nf_types(one: &str) -> Vec<u8> {
    const SEQUENCE: u8 = 0x30;
    const IA5_STRING: u8 = 0x16;
    // Names of types have a few letters, so each length is one octet.
    let length = one.len().min(100) as u8;
    let text = &one.as_bytes()[..usize::from(length)];
    [&[SEQUENCE, length + 2, IA5_STRING, length], text].concat()
}

/// The type of the NF that is called so; of the operator a name that is no NF's.
fn type_of(name: &str) -> String {
    let function = name.split('-').next().unwrap_or_default();
    function.to_uppercase()
}

/// Where they are: `authority.pem`, and `NAME.pem` with `NAME.key` for each NF that has its own, else
/// `nf.pem` with `nf.key`.
pub(super) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Those of a folder.
    ///
    /// # Errors
    /// When it is none, or has no authorities.
    pub(super) fn given(folder: &Path) -> anyhow::Result<Self> {
        let there = || format!("the folder of certificates {}", folder.display());
        let folder = fs::canonicalize(folder).with_context(there)?;
        let given = Self { folder };
        let authorities = given.file(AUTHORITY, "pem");
        if !authorities.is_file() {
            bail!(
                "{} is missing: whose certificates are believed",
                authorities.display()
            );
        }
        Ok(given)
    }

    /// Made anew in the state folder, one for each of these NFs at the addresses of this machine. The
    /// authority's key is not kept.
    ///
    /// # Errors
    /// When they cannot be made or written.
    pub(super) fn made<'a>(
        state: &Path,
        names: impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<Self> {
        let folder = std::path::absolute(state.join("certificates"))?;
        let there = || folder.display().to_string();
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(&folder).with_context(there)?;
        let made = Self { folder };
        let authority = Authority::new("Corewire core", LIFE)?;
        let path = made.file(AUTHORITY, "pem");
        fs::write(&path, authority.pem()).with_context(|| path.display().to_string())?;
        for name in names {
            made.issue(&authority, name)
                .with_context(|| format!("the certificate of {name}"))?;
        }
        Ok(made)
    }

    /// One for `name`, by the authority (TS 33.310, 6.1.3c.3): its NF instance id as URI, and the
    /// type of NF that it may be.
    fn issue(&self, authority: &Authority, name: &str) -> anyhow::Result<()> {
        let instance = random_instance().context("no instance id could be drawn")?;
        let issued = authority.issue(&Subject {
            name: name.to_owned(),
            hosts: vec![format!("{name}.core.corewire.test"), "localhost".to_owned()],
            addresses: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            uris: vec![format!("urn:uuid:{instance}")],
            extensions: vec![(NF_TYPES.to_vec(), nf_types(&type_of(name)))],
        })?;
        issued.write(&self.file(name, "pem"), &self.file(name, "key"))?;
        Ok(())
    }

    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ending}"))
    }

    /// What the NF (or the operator) of this name is given.
    ///
    /// # Errors
    /// When there is none for it.
    pub(super) fn of(&self, name: &str) -> anyhow::Result<TlsArgs> {
        let has_own = |name: &&str| self.file(name, "pem").is_file();
        let Some(name) = [name, ANY].into_iter().find(has_own) else {
            let folder = self.folder.display();
            bail!("{folder}: no certificate for {name}: {name}.pem or {ANY}.pem");
        };
        Ok(TlsArgs {
            certificate: Some(self.file(name, "pem")),
            key: Some(self.file(name, "key")),
            authorities: Some(self.file(AUTHORITY, "pem")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use corewire_core5g_sbi::holder::Holder;

    #[test]
    fn what_is_made_says_who_it_is_and_is_its_owners() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let made = Certificates::made(folder.path(), ["amf", "smf-gateway"].into_iter());
        let made = made.expect("made");
        for (name, nf_type) in [("amf", "AMF"), ("smf-gateway", "SMF")] {
            let files = made.of(name).expect("one");
            let text = fs::read_to_string(files.certificate.expect("one")).expect("text");
            let text: String = text.lines().filter(|line| !line.starts_with('-')).collect();
            let holder = Holder::of(&STANDARD.decode(text).expect("base64"));
            assert!(
                holder.instance().is_some() && holder.may_be_of(nf_type),
                "{name}"
            );
            assert!(!holder.may_be_of("UDM"), "{name}");
            let key = fs::metadata(files.key.expect("one")).expect("there");
            assert_eq!(key.permissions().mode() & 0o777, 0o600);
        }
        assert!(!made.file(AUTHORITY, "key").exists());
    }

    #[test]
    fn a_folder_has_one_for_each_or_one_for_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str| fs::write(folder.path().join(name), "").expect("written");
        let fault = Certificates::given(folder.path())
            .err()
            .expect("nobody is believed");
        assert!(
            fault.to_string().contains("authority.pem is missing"),
            "{fault}"
        );
        put("authority.pem");
        put("amf.pem");
        let given = Certificates::given(folder.path()).expect("a folder");
        let fault = given.of("smf-gateway").expect_err("none for it");
        assert!(
            fault.to_string().contains("smf-gateway.pem or nf.pem"),
            "{fault}"
        );
        put("nf.pem");
        let named = |name: &str| {
            let path = given.of(name).expect("one").key.expect("its key");
            path.file_name().expect("a name").to_owned()
        };
        assert_eq!(named("amf"), "amf.key");
        assert_eq!(named("smf-gateway"), "nf.key");
    }
}
