//! What lets the NFs of one core have access tokens: the key that its NRF signs with, and the secret
//! that its NFs show. Files in the state folder that nobody else can read.
//!
//! The key outlives the NRF's process: what it has signed stays good when it is started again.

use anyhow::Context as _;
use corewire_core5g_runtime::wall_clock;
use corewire_core5g_sbi::token::Signer;
use serde_json::json;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Seconds that a token of the operator's own commands is good for.
const LIFETIME: u64 = 60;

/// Where they are.
pub(super) struct Secrets {
    pub(super) token_key: PathBuf,
    pub(super) client_secret: PathBuf,
}

impl Secrets {
    /// Those of this folder; drawn where there are none yet.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn of(folder: &Path) -> anyhow::Result<Self> {
        let secrets = Self {
            token_key: folder.join("token.key"),
            client_secret: folder.join("client.secret"),
        };
        if !secrets.token_key.exists() {
            write(&secrets.token_key, &Signer::draw()?)?;
        }
        if !secrets.client_secret.exists() {
            let mut octets = [0; 32];
            getrandom::fill(&mut octets).context("no secret could be drawn")?;
            let text: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            write(&secrets.client_secret, text.as_bytes())?;
        }
        Ok(secrets)
    }

    /// What the operator's own commands show an NF of this type, signed with the key of the folder;
    /// `None` when there is none.
    ///
    /// # Errors
    /// When the key cannot be read.
    pub(super) fn operator(
        folder: &Path,
        nf_type: &str,
        scope: &str,
    ) -> anyhow::Result<Option<String>> {
        let path = folder.join("token.key");
        let key = match fs::read(&path) {
            Ok(key) => key,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let signer = Signer::new(Some(&key)).with_context(|| path.display().to_string())?;
        let claims = json!({
            "iss": "operator", "sub": "operator", "aud": nf_type, "scope": scope,
            "exp": wall_clock().seconds() + LIFETIME,
        });
        Ok(Some(format!("Bearer {}", signer.sign(&claims)?)))
    }
}

fn write(path: &Path, octets: &[u8]) -> anyhow::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    options
        .open(path)
        .and_then(|mut file| file.write_all(octets))
        .with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_core5g_sbi::token::KeySet;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn secrets_are_drawn_once_and_nobody_else_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Secrets::operator(folder.path(), "UDM", "x").unwrap(), None);
        let secrets = Secrets::of(folder.path()).unwrap();
        let both =
            || [&secrets.token_key, &secrets.client_secret].map(|path| fs::read(path).unwrap());
        let before = both();
        Secrets::of(folder.path()).unwrap();
        assert_eq!(both(), before);
        for path in [&secrets.token_key, &secrets.client_secret] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let shown = Secrets::operator(folder.path(), "UDM", "x")
            .unwrap()
            .unwrap();
        let signer = Signer::new(Some(&before[0])).unwrap();
        let keys = KeySet::read(signer.public().to_string().as_bytes()).unwrap();
        let claims = keys.verify(shown.strip_prefix("Bearer ").unwrap()).unwrap();
        assert!(claims.is_for("UDM", "") && claims.allows("x"));
    }
}
