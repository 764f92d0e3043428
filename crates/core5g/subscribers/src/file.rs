//! The file of subscribers.

use super::entry::{Entry, MAX_RANGES};
use anyhow::{Context, bail};
use corewire_core5g_aka::{HomeNetworkKey, HomeNetworkKeys, Subscriber, Supi};
use serde::Deserialize;
use std::path::Path;

/// Octets of a file that are read.
const MAX_OCTETS: u64 = 16 << 20;
/// Entries of one file.
const MAX_ENTRIES: usize = 100_000;

/// What a file provides. Holds keys: no `Debug`.
pub struct SubscriberFile {
    entries: Vec<Entry>,
    keys: Vec<KeyEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Document {
    #[serde(default)]
    subscriber: Vec<Entry>,
    #[serde(default)]
    home_network_key: Vec<KeyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    id: u8,
    profile: String,
    key: String,
}

impl KeyEntry {
    fn key(&self) -> anyhow::Result<HomeNetworkKey> {
        let octets = octets_of(&self.key)
            .with_context(|| format!("home-network-key {}: key: 64 hexadecimal digits", self.id))?;
        match self.profile.as_str() {
            "A" | "a" => Ok(HomeNetworkKey::profile_a(&octets)),
            "B" | "b" => HomeNetworkKey::profile_b(&octets)
                .with_context(|| format!("home-network-key {}: key", self.id)),
            _ => bail!("home-network-key {}: profile: A or B", self.id),
        }
    }
}

/// The octets of 64 hexadecimal digits.
fn octets_of(text: &str) -> Option<[u8; 32]> {
    let mut octets = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != octets.len() || !rest.is_empty() {
        return None;
    }
    for (octet, pair) in octets.iter_mut().zip(pairs) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *octet = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
    }
    Some(octets)
}

impl SubscriberFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or which part of it is wrong.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let place = || format!("the subscribers in {}", path.display());
        let length = std::fs::metadata(path).with_context(place)?.len();
        if length > MAX_OCTETS {
            bail!("{}: longer than {MAX_OCTETS} octets", path.display());
        }
        let text = std::fs::read_to_string(path).with_context(place)?;
        Self::parse(&text).with_context(place)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Which part of it is wrong.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let document: Document = toml::from_str(text)?;
        if document.subscriber.len() > MAX_ENTRIES {
            bail!("more than {MAX_ENTRIES} entries: use count for ranges");
        }
        let ranges = document.subscriber.iter().filter(|entry| entry.count > 1);
        if ranges.count() > MAX_RANGES {
            bail!("more than {MAX_RANGES} entries with a count");
        }
        for (number, entry) in document.subscriber.iter().enumerate() {
            if let Err(fault) = entry.check() {
                bail!("subscriber {} of the file: {fault}", number + 1);
            }
        }
        for key in &document.home_network_key {
            key.key()?;
        }
        Ok(Self {
            entries: document.subscriber,
            keys: document.home_network_key,
        })
    }

    /// A file with the subscribers that `ran attach` has by itself.
    #[must_use]
    pub fn example() -> String {
        "\
# Subscribers of a test network. K, OPc and the private keys are secrets in a real one.
[[subscriber]]
supi = \"imsi-001010000000001\"
count = 100000
k = \"465b5ce8b199b49faa5f0a2ee238a6bc\"
opc = \"e8ed289deba952e4283b54e88e6183ca\"
slices = [{ sst = 1, dnns = [\"internet\"] }]

# For SUCIs of profile A and B (TS 33.501, C.4): the test keys of the specification.
[[home-network-key]]
id = 1
profile = \"A\"
key = \"c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d\"

[[home-network-key]]
id = 2
profile = \"B\"
key = \"f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda\"
"
        .to_owned()
    }

    /// The n-th subscriber of all entries, counting from 0.
    ///
    /// Gives `None` beyond the last.
    #[must_use]
    pub fn nth(&self, n: u64) -> Option<(Supi, Subscriber)> {
        let mut left = n;
        for entry in &self.entries {
            if left < entry.count {
                // Both were checked when the file was read.
                let material = entry.material().ok()?;
                return Some((entry.nth(left)?, material.subscriber));
            }
            left -= entry.count;
        }
        None
    }

    /// How many subscribers there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.entries.iter().map(|entry| entry.count).sum()
    }

    /// What SUCIs are deconcealed with.
    #[must_use]
    pub fn home_network_keys(&self) -> HomeNetworkKeys {
        let mut keys = HomeNetworkKeys::default();
        for entry in &self.keys {
            if let Ok(key) = entry.key() {
                keys.insert(entry.id, key);
            }
        }
        keys
    }

    /// The entries.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_file() {
        let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
        assert_eq!(file.count(), 100_000);
        let (first, _) = file.nth(0).unwrap();
        assert_eq!(first.to_string(), "imsi-001010000000001");
        let (last, _) = file.nth(99_999).unwrap();
        assert_eq!(last.to_string(), "imsi-001010000100000");
        assert!(file.nth(100_000).is_none());
        let entry = &file.into_entries()[0];
        assert!(entry.holds(&first) && entry.holds(&last));
        for other in [
            "imsi-001010000000000",
            "imsi-001010000100001",
            "imsi-00101000000001",
        ] {
            assert!(!entry.holds(&other.parse().unwrap()), "{other}");
        }
        assert!(entry.may_use("310-410".parse().unwrap()));
        assert_eq!(entry.slices[0].snssai().to_string(), "1");
        assert_eq!(entry.slices[0].dnns, ["internet"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let good = "[[subscriber]]\nsupi = \"imsi-001010000000001\"\nk = \"465b5ce8b199b49faa5f0a2ee238a6bc\"\n";
        let opc = "opc = \"e8ed289deba952e4283b54e88e6183ca\"\n";
        assert!(SubscriberFile::parse(&format!("{good}{opc}")).is_ok());
        for (more, what) in [
            ("", "one of opc and op"),
            ("opc = \"12\"", "opc"),
            (&format!("{opc}count = 0"), "count"),
            (&format!("{opc}count = 99999999999"), "count"),
            (&format!("{opc}sqn = \"x\""), "sqn"),
            (
                &format!("{opc}serving-networks = [\"1\"]"),
                "serving-networks",
            ),
            (&format!("{opc}slices = []"), "slices"),
            (&format!("{opc}slices = [{{ sst = 1, sd = \"1\" }}]"), "sd"),
            (&format!("{opc}colour = \"red\""), "colour"),
            (
                &format!(
                    "{opc}[[home-network-key]]\nid = 1\nprofile = \"C\"\nkey = \"{}\"",
                    "0".repeat(64)
                ),
                "profile",
            ),
        ] {
            let Err(error) = SubscriberFile::parse(&format!("{good}{more}")) else {
                panic!("{more} is taken");
            };
            assert!(format!("{error:#}").contains(what), "{error:#}");
        }
    }
}
