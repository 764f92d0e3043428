//! The maker of access tokens.

use corewire_core5g_sbi::token::Signer;

/// What tokens are signed with, and what they say of their maker.
pub(super) struct Issuer {
    pub(super) signer: Signer,
    /// What it calls itself.
    pub(super) name: String,
    /// Seconds that a token is good for.
    pub(super) lifetime: u32,
}

impl Issuer {
    /// With a new key, or one of PKCS #8 in DER.
    ///
    /// # Errors
    /// When the key is none for P-256.
    pub(super) fn new(name: &str, key: Option<&[u8]>, lifetime: u32) -> anyhow::Result<Self> {
        Ok(Self {
            signer: Signer::new(key)?,
            name: name.to_owned(),
            lifetime,
        })
    }
}
