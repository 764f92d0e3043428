//! The certificates of a core whose NFs speak TLS: given in a folder, or made by OpenSSL.

use crate::runtime::random_instance;
use crate::tls::TlsArgs;
use anyhow::{Context as _, bail};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Instead of a folder: they are made.
pub(super) const MADE: &str = "made";
/// Who has no certificate of his own has this one's.
const ANY: &str = "nf";
/// Who issued them.
const AUTHORITY: &str = "authority";
/// What the operator's commands show.
pub(super) const OPERATOR: &str = "operator";
/// Days that a made one is good for; each start makes new ones.
const DAYS: &str = "398";

/// The extension that says of which types an NF may be (RFC 9310).
const NF_TYPES: &str = "1.3.6.1.5.5.7.1.34";

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
    /// When OpenSSL is not there or does not do it.
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
        made.openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            DAYS,
            "-keyout",
            "authority.key",
            "-out",
            "authority.pem",
            "-subj",
            "/O=Corewire core/CN=authority",
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        ])?;
        for name in names {
            made.issue(name)?;
        }
        let key = made.file(AUTHORITY, "key");
        fs::remove_file(&key).with_context(|| key.display().to_string())?;
        Ok(made)
    }

    /// One for `name`, by the authority.
    fn issue(&self, name: &str) -> anyhow::Result<()> {
        let [pem, key, request, extensions] =
            ["pem", "key", "csr", "ext"].map(|ending| format!("{name}.{ending}"));
        let instance = random_instance().context("no instance id could be drawn")?;
        let nf_type = type_of(name);
        let text = format!(
            "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n\
             extendedKeyUsage=serverAuth,clientAuth\n\
             subjectAltName=DNS:{name}.core.corewire.test,DNS:localhost,IP:127.0.0.1,IP:::1,\
             URI:urn:uuid:{instance}\n\
             {NF_TYPES}=ASN1:SEQUENCE:types\n[types]\none=IA5STRING:{nf_type}\n"
        );
        let path = self.folder.join(&extensions);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        self.openssl(&[
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            &key,
            "-out",
            &request,
            "-subj",
            &format!("/O=Corewire core/CN={name}"),
        ])?;
        self.openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "authority.pem",
            "-CAkey",
            "authority.key",
            "-CAcreateserial",
            "-days",
            DAYS,
            "-extfile",
            &extensions,
            "-out",
            &pem,
        ])?;
        for done in [request, extensions] {
            let path = self.folder.join(done);
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    fn openssl(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .context("certificates are made by the program openssl; install the package openssl")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("openssl {}: {}", arguments.join(" "), said.trim_end());
        }
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
