//! Certificates, keys and trust anchors in PEM files, read again when the files change.

use arc_swap::ArcSwap;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use zeroize::Zeroizing;

/// How often files are looked at, at most: when a connection begins and so much time has passed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Longest file that is read. A chain of certificates is a few thousand octets; a bundle of every
/// public authority some hundred thousand.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Where an end's certificate, its key and its trust anchors are: PEM files, as OpenSSL, cert-manager
/// and SPIFFE agents write them.
///
/// Files that are replaced take effect for connections that begin more than a second later, without
/// a restart; replace them by renaming, the key and its certificate close together. While they do
/// not fit, the last good ones stay in use and [`ServerTls::fault`](super::ServerTls::fault) says why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Files {
    /// This end's certificate, then those of the authorities between it and a root.
    pub certificate: Option<PathBuf>,
    /// The certificate's private key: PKCS#8, PKCS#1 or SEC 1.
    pub key: Option<PathBuf>,
    /// Authorities whose certificates are accepted from the other end.
    pub authorities: Option<PathBuf>,
}

impl Files {
    /// No files yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this certificate chain and its key.
    #[must_use]
    pub fn with_identity(mut self, certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.certificate = Some(certificate.as_ref().to_owned());
        self.key = Some(key.as_ref().to_owned());
        self
    }

    /// Accepting certificates that these authorities issued.
    #[must_use]
    pub fn with_authorities(mut self, authorities: impl AsRef<Path>) -> Self {
        self.authorities = Some(authorities.as_ref().to_owned());
        self
    }

    pub(super) fn identity(
        &self,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, TlsFault> {
        let (certificate, key) = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => (certificate, key),
            (None, None) => return Ok(None),
            (Some(path), None) => return Err(TlsFault::new(path, "a certificate needs its key")),
            (None, Some(path)) => return Err(TlsFault::new(path, "a key needs its certificate")),
        };
        let chain = certificates(certificate)?;
        let octets = read(key)?;
        let private = PrivateKeyDer::from_pem_slice(&octets)
            .map_err(|error| TlsFault::new(key, format!("holds no private key: {error}")))?;
        Ok(Some((chain, private)))
    }

    pub(super) fn roots(&self) -> Result<Option<RootCertStore>, TlsFault> {
        let Some(path) = &self.authorities else {
            return Ok(None);
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path)? {
            roots
                .add(certificate)
                .map_err(|error| TlsFault::new(path, error.to_string()))?;
        }
        Ok(Some(roots))
    }

    /// What tells one state of the files from another.
    fn stamp(&self) -> Stamp {
        let of = |path: &Option<PathBuf>| {
            let found = fs::metadata(path.as_ref()?).ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        [of(&self.certificate), of(&self.key), of(&self.authorities)]
    }
}

/// Makes something of the files as they are.
type Make<T> = dyn Fn(&Files) -> Result<T, TlsFault> + Send + Sync;

type Stamp = [Option<(SystemTime, u64)>; 3];

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, TlsFault> {
    let fault = |error: std::io::Error| TlsFault::new(path, error.to_string());
    let length = fs::metadata(path).map_err(fault)?.len();
    if length > MAX_FILE {
        let text = format!("has {length} octets, more than {MAX_FILE}: is it a PEM file?");
        return Err(TlsFault::new(path, text));
    }
    fs::read(path).map(Zeroizing::new).map_err(fault)
}

/// The first certificate of a PEM file, as DER: that of who shows it, in front of its issuers.
///
/// # Errors
/// When the file cannot be read or holds none.
pub fn first_certificate(path: impl AsRef<Path>) -> Result<Vec<u8>, TlsFault> {
    let all = certificates(path.as_ref())?;
    Ok(all.first().map(|first| first.to_vec()).unwrap_or_default())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let octets = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&octets).collect();
    let found = found.map_err(|error| TlsFault::new(path, error.to_string()))?;
    if found.is_empty() {
        let text = "holds no certificate (-----BEGIN CERTIFICATE-----)";
        return Err(TlsFault::new(path, text));
    }
    Ok(found)
}

/// What is wrong with a file of certificates or keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFault {
    path: PathBuf,
    what: String,
}

impl TlsFault {
    pub(super) fn new(path: &Path, what: impl Into<String>) -> Self {
        let (path, what) = (path.to_owned(), what.into());
        Self { path, what }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.as_os_str().is_empty() {
            return f.write_str(&self.what);
        }
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

impl std::error::Error for TlsFault {}

/// What was made of files, made again when they change.
pub(super) struct Kept<T> {
    files: Files,
    make: Box<Make<T>>,
    current: ArcSwap<T>,
    looked: Mutex<Looked>,
}

struct Looked {
    at: Option<Instant>,
    stamp: Stamp,
    fault: Option<TlsFault>,
}

impl<T> Kept<T> {
    pub(super) fn new(
        files: Files,
        make: impl Fn(&Files) -> Result<T, TlsFault> + Send + Sync + 'static,
    ) -> Result<Self, TlsFault> {
        // Before they are read: a change meanwhile is found then.
        let stamp = files.stamp();
        let current = ArcSwap::from_pointee(make(&files)?);
        Ok(Self {
            files,
            make: Box::new(make),
            current,
            looked: Mutex::new(Looked {
                at: None,
                stamp,
                fault: None,
            }),
        })
    }

    /// What holds now; looks at the files when that was long ago.
    pub(super) fn at(&self, now: Instant) -> Arc<T> {
        // Another thread that looks at this moment does it for all.
        if let Ok(mut looked) = self.looked.try_lock() {
            let first = *looked.at.get_or_insert(now);
            if now.saturating_duration_since(first) >= LOOK_EVERY {
                looked.at = Some(now);
                self.look(&mut looked);
            }
        }
        self.current.load_full()
    }

    fn look(&self, looked: &mut Looked) {
        let stamp = self.files.stamp();
        if stamp == looked.stamp && looked.fault.is_none() {
            return;
        }
        looked.stamp = stamp;
        looked.fault = self.make_again().err();
    }

    fn make_again(&self) -> Result<(), TlsFault> {
        self.current.store(Arc::new((self.make)(&self.files)?));
        Ok(())
    }

    /// Reads the files now if they have changed.
    pub(super) fn refresh(&self) -> Result<(), TlsFault> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        self.look(&mut looked);
        looked.fault.clone().map_or(Ok(()), Err)
    }

    /// Reads the files now.
    pub(super) fn reload(&self) -> Result<(), TlsFault> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.stamp = self.files.stamp();
        let made = self.make_again();
        looked.fault = made.clone().err();
        made
    }

    pub(super) fn fault(&self) -> Option<TlsFault> {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.fault.clone()
    }

    pub(super) const fn files(&self) -> &Files {
        &self.files
    }
}
