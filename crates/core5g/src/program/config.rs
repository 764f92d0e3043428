//! The file that describes a network.
//!
//! ```toml
//! transport = "rest"            # rest, grpc, native, shm
//! threads = 1                   # event loops in each NF
//! n2 = "tcp"                    # sctp, udp, tcp
//! n2_listen = "127.0.0.1:38412"
//! listen = "127.0.0.1"          # of every NF, each at a free port
//! advertise = "core.example"    # the address or FQDN by which others reach the NFs; mostly left out
//! nrf_listen = "127.0.0.1:7000" # the NRF's own; a free port where it is left out
//! allow_nf = ["SMF:smf.secret"] # NFs that are not of this core: TYPE:FILE or TYPE:loopback
//! plmn = "001-01"
//! tac = 1
//! amf_id = "020040"             # region, set, pointer: TS 23.003, 2.10.1
//! slices = ["1", "1-010203"]    # SST, or SST-SD
//! t3512 = 3600                  # seconds after which an idle UE registers periodically
//! grace = 240                   # so many more, twice: not called any more, deregistered
//! pdu_sessions = 1              # replicas of SMF-PDU-Session
//! dns = ["10.45.0.1"]           # DNS servers that UEs are told, IPv4; none where it is left out
//! mtu = 1400                    # longest IPv4 packet of a session
//! subscribers = "subscribers.toml"
//! oauth2 = true                 # NFs ask each other for access tokens of the NRF
//! tls = "certificates"          # a folder of certificates, or "made": mutual TLS between the NFs
//!
//! [dnn]
//! internet = "10.45.0.0/16"     # addresses for its UEs
//! ```

use super::certificates::MADE;
use anyhow::Context as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// A network. What the file leaves out has the defaults above.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    pub(super) transport: String,
    pub(super) threads: usize,
    pub(super) n2: String,
    pub(super) n2_listen: String,
    pub(super) listen: String,
    pub(super) advertise: Option<String>,
    pub(super) nrf_listen: Option<String>,
    pub(super) allow_nf: Vec<String>,
    pub(super) plmn: String,
    pub(super) tac: u32,
    pub(super) amf_id: String,
    pub(super) slices: Vec<String>,
    pub(super) t3512: u64,
    pub(super) grace: u64,
    pub(super) pdu_sessions: usize,
    pub(super) dns: Vec<Ipv4Addr>,
    pub(super) mtu: u16,
    pub(super) subscribers: Option<PathBuf>,
    pub(super) oauth2: bool,
    pub(super) tls: Option<PathBuf>,
    pub(super) dnn: BTreeMap<String, String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transport: "rest".into(),
            threads: 1,
            n2: "tcp".into(),
            n2_listen: "127.0.0.1:38412".into(),
            listen: "127.0.0.1".into(),
            advertise: None,
            nrf_listen: None,
            allow_nf: Vec::new(),
            plmn: "001-01".into(),
            tac: 1,
            amf_id: "020040".into(),
            slices: vec!["1".into()],
            t3512: 3600,
            grace: 240,
            pdu_sessions: 1,
            dns: Vec::new(),
            mtu: 1400,
            subscribers: None,
            oauth2: true,
            tls: None,
            dnn: BTreeMap::from([("internet".to_owned(), "10.45.0.0/16".to_owned())]),
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or says what is not known; with line and column.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        let mut config: Self =
            toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
        // Paths are relative to the file that names them.
        if let (Some(subscribers), Some(folder)) = (&mut config.subscribers, path.parent()) {
            *subscribers = folder.join(&*subscribers);
        }
        if let (Some(tls), Some(folder)) = (&mut config.tls, path.parent())
            && *tls != Path::new(MADE)
        {
            *tls = folder.join(&*tls);
        }
        if let Some(folder) = path.parent() {
            for allowed in &mut config.allow_nf {
                if let Some((nf_type, file)) = allowed.split_once(':')
                    && file != "loopback"
                {
                    *allowed = format!("{nf_type}:{}", folder.join(file).display());
                }
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_leaves_out_has_defaults_and_what_is_unknown_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("network.toml");
        fs::write(&path, "threads = 2\nsubscribers = \"s.toml\"\n").expect("written");
        let config = Config::read(&path).expect("a network");
        assert_eq!(config.threads, 2);
        assert_eq!(config.subscribers, Some(folder.path().join("s.toml")));
        assert_eq!(config.plmn, "001-01");
        fs::write(&path, "thread = 2\n").expect("written");
        let fault = format!("{:#}", Config::read(&path).expect_err("unknown"));
        assert!(fault.contains("thread"), "{fault}");
    }
}
