//! TLS: of the control plane's own port, of a service's clients, of a sidecar's connections. Here
//! are names of files and of certificates; who reads the files is told at each.

use super::reader::{self, Table};
use std::path::PathBuf;
use std::sync::Arc;

/// The certificate provider that clients use when a service names no other.
const PROVIDER: &str = "default";

/// A certificate, its key, and whom to believe: PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate, then those of the authorities between it and a root.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Authorities that are believed.
    pub authorities: Option<PathBuf>,
}

/// The control plane's own port: files of this machine, as written (relative to the file).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlTls {
    /// With authorities, clients must present a certificate that one of them issued.
    pub files: TlsFiles,
    /// Clear text is spoken on the same port as well.
    pub allow_clear_text: bool,
}

/// What clients of a service must do: TLS, with their own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceTls {
    /// The instances' certificates must have one of these names (DNS or URI); empty: any.
    pub names: Vec<Arc<str>>,
    /// The certificate provider in the bootstrap of clients that have one.
    pub provider: Arc<str>,
    /// The name that clients ask for in the handshake; may be empty.
    pub sni: Arc<str>,
}

impl ControlTls {
    pub(super) fn read(root: &mut Table<'_, '_>) -> Option<Self> {
        let mut table = root.take("tls")?.table()?;
        let files = TlsFiles::read(&mut table);
        let clear = table.take("allow-clear-text");
        let allow_clear_text = clear.and_then(|v| v.boolean()).unwrap_or(false);
        table.finish();
        files.map(|files| Self {
            files,
            allow_clear_text,
        })
    }
}

impl TlsFiles {
    /// Of a sidecar: files of the machine that it runs on.
    pub(super) fn of_sidecar(sidecar: &mut Table<'_, '_>) -> Option<Self> {
        let mut table = sidecar.take("tls")?.table()?;
        let files = Self::read(&mut table);
        if files.as_ref().is_some_and(|it| it.authorities.is_none()) {
            table.fault(
                "nobody would be trusted",
                "write authorities = \"FILE\": whose certificates are believed",
            );
        }
        table.finish();
        files
    }

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let certificate = table.need("certificate", "write certificate = \"FILE\" (PEM)");
        let key = table.need("key", "write key = \"FILE\" (PEM)");
        let authorities = table.take("authorities").and_then(|v| v.string());
        Some(Self {
            certificate: certificate?.string()?.into(),
            key: key?.string()?.into(),
            authorities: authorities.map(PathBuf::from),
        })
    }
}

impl ServiceTls {
    pub(super) fn read(service: &mut Table<'_, '_>) -> Option<Self> {
        let mut table = service.take("tls")?.table()?;
        let names = reader::strings(&mut table, "names");
        let provider = table.take("provider").and_then(|v| v.string());
        let sni = table.take("sni").and_then(|v| v.string());
        table.finish();
        Some(Self {
            names: names.into_iter().map(Into::into).collect(),
            provider: provider.unwrap_or_else(|| PROVIDER.into()).into(),
            sni: sni.unwrap_or_default().into(),
        })
    }
}
