//! TLS settings that channels of this process share: what was read of the files, and the sessions.

use corewire_transport::tls::{ClientTls, Files, TlsFault};
use std::sync::{Mutex, PoisonError};

/// Files that are kept. Who has more than so many reads again those that were first.
const MOST: usize = 16;

static KEPT: Mutex<Vec<(Files, ClientTls)>> = Mutex::new(Vec::new());

/// Those of these files, read when nobody has them yet or they have changed.
///
/// # Errors
/// When they cannot be used as they are now.
pub(crate) fn of(files: Files) -> Result<ClientTls, TlsFault> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, tls)) = kept.iter().find(|(other, _)| *other == files) {
        tls.refresh()?;
        return Ok(tls.clone());
    }
    let tls = ClientTls::new(files.clone())?;
    if kept.len() >= MOST {
        kept.remove(0);
    }
    kept.push((files, tls.clone()));
    Ok(tls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn certificate(name: &str) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testkit/certificates");
        folder.join(format!("{name}.pem"))
    }

    #[test]
    fn files_that_have_changed_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authorities.pem");
        fs::copy(certificate("authority"), &path).unwrap();
        let files = Files::new().with_authorities(&path);
        let has = || {
            KEPT.lock()
                .unwrap()
                .iter()
                .filter(|(other, _)| *other == files)
                .count()
        };
        of(files.clone()).unwrap();
        of(files.clone()).unwrap();
        assert_eq!(has(), 1);
        fs::write(&path, "none").unwrap();
        let fault = of(files.clone()).unwrap_err();
        assert!(
            fault.to_string().contains("holds no certificate"),
            "{fault}"
        );
        fs::copy(certificate("stranger"), &path).unwrap();
        of(files.clone()).unwrap();
        for number in 0..MOST {
            let other = folder.path().join(number.to_string());
            fs::copy(certificate("authority"), &other).unwrap();
            of(Files::new().with_authorities(other)).unwrap();
        }
        assert_eq!(has(), 0, "the first make place");
    }
}
