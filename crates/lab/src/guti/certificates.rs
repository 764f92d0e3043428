//! Certificates for a session with TLS, made by OpenSSL: an authority, one for the server, one for the
//! client; ECDSA on P-256, as network functions have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::args::Tls;

/// The folder in that of the results. The keys are worth nothing: no one else believes the authority.
const FOLDER: &str = "certificates";

const AUTHORITY: &str = "authority";

/// The ends, and the names that their certificates are for.
const ENDS: [(&str, &str); 2] = [
    ("server", "DNS:localhost,IP:127.0.0.1,IP:::1"),
    ("client", "DNS:client.corewire.test"),
];

/// Where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes them in the folder of the results; those of a session that is resumed are taken again.
    ///
    /// # Errors
    /// When OpenSSL is not there or does not do it.
    pub(super) fn make(results: &Path, listen: &str) -> anyhow::Result<Self> {
        let made = Self {
            folder: results.join(FOLDER),
        };
        let files = [AUTHORITY, ENDS[0].0, ENDS[1].0];
        if files.iter().all(|name| made.file(name, "pem").is_file()) {
            return Ok(made);
        }
        fs::create_dir_all(&made.folder)
            .with_context(|| format!("{} cannot be made", made.folder.display()))?;
        made.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
             -keyout authority.key -out authority.pem -subj /CN=authority \
             -addext basicConstraints=critical,CA:TRUE \
             -addext keyUsage=critical,keyCertSign,cRLSign",
        )?;
        for (name, mut names) in ENDS.map(|(name, names)| (name, names.to_owned())) {
            if name == ENDS[0].0 {
                names.push_str(&extra_name(listen));
            }
            let extensions = format!(
                "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n\
                 extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName={names}\n"
            );
            let path = made.file(name, "ext");
            fs::write(&path, extensions)
                .with_context(|| format!("{} cannot be written", path.display()))?;
            made.openssl(&format!(
                "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key \
                 -out {name}.csr -subj /CN={name}"
            ))?;
            made.openssl(&format!(
                "x509 -req -in {name}.csr -CA authority.pem -CAkey authority.key -CAcreateserial \
                 -days 3650 -extfile {name}.ext -out {name}.pem"
            ))?;
        }
        Ok(made)
    }

    fn openssl(&self, arguments: &str) -> anyhow::Result<()> {
        let output = Command::new("openssl")
            .args(arguments.split_ascii_whitespace())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .context("--tls needs the program openssl; install the package openssl")?;
        if !output.status.success() {
            bail!(
                "openssl {arguments}: {}\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim_end()
            );
        }
        Ok(())
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    /// The options of the server program or of the client program.
    pub(super) fn options(&self, kind: Tls, is_server: bool) -> Vec<String> {
        let mode = match kind {
            Tls::Off => return Vec::new(),
            Tls::Server => "server",
            Tls::Mutual => "mutual",
        };
        let end = ENDS[usize::from(!is_server)].0;
        let mut options = vec!["--tls".to_owned(), mode.to_owned()];
        for (option, name, extension) in [
            ("--tls-certificate", end, "pem"),
            ("--tls-key", end, "key"),
            ("--tls-authorities", AUTHORITY, "pem"),
        ] {
            let file = self.file(name, extension);
            options.extend([option.to_owned(), file.display().to_string()]);
        }
        options
    }
}

/// The host that the server listens at, when the usual names do not hold it.
fn extra_name(listen: &str) -> String {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host {
        "" | "localhost" | "127.0.0.1" | "::1" => String::new(),
        address if address.parse::<std::net::IpAddr>().is_ok() => format!(",IP:{address}"),
        name => format!(",DNS:{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_gets_what_it_needs() {
        let made = Certificates {
            folder: PathBuf::from("/x"),
        };
        assert!(made.options(Tls::Off, true).is_empty());
        let server = made.options(Tls::Mutual, true).join(" ");
        assert_eq!(
            server,
            "--tls mutual --tls-certificate /x/server.pem --tls-key /x/server.key \
             --tls-authorities /x/authority.pem"
        );
        assert!(
            made.options(Tls::Server, false)
                .contains(&"/x/client.key".to_owned())
        );
    }

    #[test]
    fn a_certificate_is_for_the_host_that_is_listened_at() {
        for (listen, name) in [
            ("127.0.0.1:0", ""),
            ("[::1]:0", ""),
            ("10.0.0.7:5000", ",IP:10.0.0.7"),
            ("[fe80::1]:1", ",IP:fe80::1"),
            ("amf.local:1", ",DNS:amf.local"),
        ] {
            assert_eq!(extra_name(listen), name, "{listen}");
        }
    }
}
