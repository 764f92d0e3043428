//! Certificates for a session with TLS, made by OpenSSL: an authority, one for the server, one for the
//! client; ECDSA on P-256, as network functions have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// The folder in that of the results. The keys are worth nothing: no one else believes the authority.
const FOLDER: &str = "certificates";

const AUTHORITY: &str = "authority";

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Server,
    Client,
}

/// The ends, and the names that their certificates are for.
const ENDS: [(&str, &str); 2] = [
    ("server", "DNS:localhost,IP:127.0.0.1,IP:::1"),
    ("client", "DNS:client.corewire.test"),
];

/// Where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes them in the folder of the results; those of a session that is resumed are taken again.
    /// The server's is also for `more`, as OpenSSL writes names: `DNS:amf.local`; may be empty.
    ///
    /// # Errors
    /// When OpenSSL is not there or does not do it.
    pub(crate) fn make(results: &Path, more: &str) -> anyhow::Result<Self> {
        // Programs are given the names of the files wherever they run.
        let results = std::path::absolute(results)
            .with_context(|| format!("{} is no path", results.display()))?;
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
            if name == ENDS[0].0 && !more.is_empty() {
                names.push_str(&format!(",{more}"));
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
            .context(
                "TLS needs the program openssl to make certificates; install the package openssl",
            )?;
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

    /// The certificate of an end.
    pub(crate) fn certificate(&self, end: End) -> PathBuf {
        self.file(ENDS[end as usize].0, "pem")
    }

    /// Its key.
    pub(crate) fn key(&self, end: End) -> PathBuf {
        self.file(ENDS[end as usize].0, "key")
    }

    /// Whom both believe.
    pub(crate) fn authorities(&self) -> PathBuf {
        self.file(AUTHORITY, "pem")
    }

    /// The options by which a program is told where they are.
    pub(crate) fn options(&self, end: End) -> Vec<String> {
        let files = [
            ("--tls-certificate", self.certificate(end)),
            ("--tls-key", self.key(end)),
            ("--tls-authorities", self.authorities()),
        ];
        let words = files.into_iter();
        words
            .flat_map(|(option, file)| [option.to_owned(), file.display().to_string()])
            .collect()
    }
}

/// The name of the host that a server listens at, when the usual ones do not hold it; may be empty.
pub(crate) fn name_of_host(listen: &str) -> String {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host {
        "" | "localhost" | "127.0.0.1" | "::1" => String::new(),
        address if address.parse::<std::net::IpAddr>().is_ok() => format!("IP:{address}"),
        name => format!("DNS:{name}"),
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
        let server = made.options(End::Server).join(" ");
        assert_eq!(
            server,
            "--tls-certificate /x/server.pem --tls-key /x/server.key \
             --tls-authorities /x/authority.pem"
        );
        assert!(
            made.options(End::Client)
                .contains(&"/x/client.key".to_owned())
        );
    }

    #[test]
    fn a_certificate_is_for_the_host_that_is_listened_at() {
        for (listen, name) in [
            ("127.0.0.1:0", ""),
            ("[::1]:0", ""),
            ("10.0.0.7:5000", "IP:10.0.0.7"),
            ("[fe80::1]:1", "IP:fe80::1"),
            ("amf.local:1", "DNS:amf.local"),
        ] {
            assert_eq!(name_of_host(listen), name, "{listen}");
        }
    }
}
