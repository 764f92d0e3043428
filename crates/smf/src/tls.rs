//! TLS by the options of a command line.

use clap::Args;
use corewire::tls::{ClientTls, Files, ServerTls};
use corewire::{ClientOptions, ServerOptions};
use std::path::PathBuf;

/// Certificates of this process. In a mesh they are the control plane's to ask for, and the
/// bootstrap's to name.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TlsArgs {
    /// This end's certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Whose certificates are believed; a server asks its clients for certificates then
    #[arg(long, value_name = "FILE")]
    tls_authorities: Option<PathBuf>,
}

impl TlsArgs {
    fn files(&self) -> Files {
        let mut files = Files::new();
        files.certificate.clone_from(&self.tls_certificate);
        files.key.clone_from(&self.tls_key);
        files.authorities.clone_from(&self.tls_authorities);
        files
    }

    /// Settings of connections: TLS when authorities are given.
    pub(crate) fn client(&self) -> anyhow::Result<ClientOptions> {
        let mut options = ClientOptions::default();
        if self.tls_authorities.is_some() {
            options.tls = Some(ClientTls::new(self.files())?);
        }
        Ok(options)
    }

    /// Settings of a server: TLS when a certificate is given.
    pub(crate) fn server(&self) -> anyhow::Result<ServerOptions> {
        let mut options = ServerOptions::default();
        if self.tls_certificate.is_some() {
            options.tls = Some(ServerTls::new(self.files())?);
        }
        Ok(options)
    }
}
