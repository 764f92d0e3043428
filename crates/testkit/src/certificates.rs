//! Certificates for tests, made by OpenSSL (`crates/testkit/certificates/make`).
//!
//! | name | issued by | for |
//! |---|---|---|
//! | `server`, `rotated` | `authority` | localhost, 127.0.0.1, ::1 |
//! | `client` | `authority` | smf.local |
//! | `expired` | `authority` | as `server`, but for 2020 |
//! | `elsewhere` | `authority` | elsewhere.local |
//! | `foreign` | `stranger` | as `server` |

use corewire_transport::tls::Files;
use std::path::PathBuf;

/// Where this certificate is; its key is beside it.
#[must_use]
pub fn certificate(name: &str) -> PathBuf {
    directory().join(format!("{name}.pem"))
}

/// Where the key of this certificate is.
#[must_use]
pub fn key(name: &str) -> PathBuf {
    directory().join(format!("{name}.key"))
}

/// An end that presents this certificate and believes `authority`.
#[must_use]
pub fn files(name: &str) -> Files {
    Files::new()
        .with_identity(certificate(name), key(name))
        .with_authorities(certificate("authority"))
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("certificates")
}
