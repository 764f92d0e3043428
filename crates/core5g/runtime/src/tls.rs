//! Mutual TLS between network functions (TS 33.501, 13.1): each shows a certificate and checks the
//! other's, also to and at the NRF.

use clap::Args;
use corewire::tls::{ClientTls, Files, ServerTls};
use corewire_core5g_sbi::holder::Holder;
use corewire_transport::tls::first_certificate;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Certificates of a process: all three, or it speaks clear text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
pub struct TlsArgs {
    /// This end's certificate (PEM), for its address and for calling others: everything is TLS then,
    /// and who comes must show a certificate
    #[arg(long = "tls-certificate", value_name = "FILE", requires_all = ["key", "authorities"])]
    pub certificate: Option<PathBuf>,
    /// Its key
    #[arg(long = "tls-key", value_name = "FILE", requires = "certificate")]
    pub key: Option<PathBuf>,
    /// Whose certificates are believed
    #[arg(
        long = "tls-authorities",
        value_name = "FILE",
        requires = "certificate"
    )]
    pub authorities: Option<PathBuf>,
}

impl TlsArgs {
    /// As another process is told them.
    pub fn arguments(&self) -> Vec<String> {
        let each = [
            ("--tls-certificate", &self.certificate),
            ("--tls-key", &self.key),
            ("--tls-authorities", &self.authorities),
        ];
        let given = |(name, path): (&str, &Option<PathBuf>)| {
            let path = path.as_ref()?;
            Some([name.to_owned(), path.display().to_string()])
        };
        each.into_iter().filter_map(given).flatten().collect()
    }

    /// The instance that the certificate names, if there is one and it names one.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn instance(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = &self.certificate else {
            return Ok(None);
        };
        let holder = Holder::of(&first_certificate(path)?);
        Ok(holder.instance().map(str::to_owned))
    }

    fn files(&self) -> Option<Files> {
        let certificate = self.certificate.as_ref()?;
        let (key, authorities) = (self.key.as_ref()?, self.authorities.as_ref()?);
        let files = Files::new().with_identity(certificate, key);
        Some(files.with_authorities(authorities))
    }

    /// For calling others; `None`: clear text.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub fn client(&self) -> anyhow::Result<Option<ClientTls>> {
        Ok(self.files().map(ClientTls::new).transpose()?)
    }

    /// For being called; `None`: clear text.
    ///
    /// # Errors
    /// As [`client`](Self::client).
    pub fn server(&self) -> anyhow::Result<Option<ServerTls>> {
        Ok(self.files().map(ServerTls::new).transpose()?)
    }
}
