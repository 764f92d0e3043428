//! One range of subscribers.

use corewire_core5g_aka::{AuthManagementField, Op, Opc, Sqn, Subscriber, SubscriberKey, Supi};
use corewire_core5g_sbi::model::common::{Ambr, Snssai};
use corewire_guti::Plmn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most subscribers of one entry.
pub(crate) const MAX_COUNT: u64 = 100_000_000;

/// A range of subscribers as it is written down. Holds keys: no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Entry {
    /// The first.
    pub supi: Supi,
    /// How many, counting up.
    #[serde(default = "one")]
    pub count: u64,
    k: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opc: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    op: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amf: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sqn: Option<String>,
    /// Digits of the MNC in the SUPI.
    #[serde(default = "two")]
    pub mnc_digits: u8,
    /// Networks they may use; none: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    serving_networks: Vec<String>,
    /// Together, of all sessions.
    #[serde(default = "default_ambr")]
    pub ambr: Ambr,
    /// Slices, the default first.
    #[serde(default = "default_slices")]
    pub slices: Vec<Slice>,
}

/// A slice and its data networks, the default first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    sst: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sd: Option<String>,
    /// Names of data networks.
    #[serde(default = "default_dnns")]
    pub dnns: Vec<String>,
}

impl Slice {
    /// Its name.
    pub fn snssai(&self) -> Snssai {
        Snssai {
            sst: self.sst,
            sd: self.sd.clone(),
        }
    }
}

const fn one() -> u64 {
    1
}

const fn two() -> u8 {
    2
}

fn default_ambr() -> Ambr {
    Ambr {
        uplink: "1 Gbps".to_owned(),
        downlink: "2 Gbps".to_owned(),
    }
}

fn default_slices() -> Vec<Slice> {
    vec![Slice {
        sst: 1,
        sd: None,
        dnns: default_dnns(),
    }]
}

fn default_dnns() -> Vec<String> {
    vec!["internet".to_owned()]
}

/// Entries with more than one subscriber that one list holds: every lookup passes them.
pub(crate) const MAX_RANGES: usize = 1000;

/// Entries by their first SUPI. Single subscribers, which may be many, are found by name.
#[derive(Clone, Default)]
pub struct Entries {
    singles: BTreeMap<String, Entry>,
    ranges: BTreeMap<String, Entry>,
}

impl Entries {
    /// Adds an entry, in place of one of the same first SUPI; gives whether there was room.
    pub fn insert(&mut self, entry: Entry) -> bool {
        let name = entry.supi.to_string();
        if entry.count > 1 && self.ranges.len() >= MAX_RANGES && !self.ranges.contains_key(&name) {
            return false;
        }
        self.remove(&name);
        if entry.count > 1 {
            self.ranges.insert(name, entry);
        } else {
            self.singles.insert(name, entry);
        }
        true
    }

    /// Removes the entry of this first SUPI; gives whether there was one.
    pub fn remove(&mut self, supi: &str) -> bool {
        self.singles.remove(supi).is_some() || self.ranges.remove(supi).is_some()
    }

    /// The entry that holds a subscriber.
    pub fn find(&self, supi: &Supi) -> Option<&Entry> {
        // No text is made of the SUPI where there is no single.
        let named = (!self.singles.is_empty())
            .then(|| self.singles.get(&supi.to_string()))
            .flatten();
        named.or_else(|| self.ranges.values().find(|entry| entry.holds(supi)))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.ranges.iter().chain(&self.singles)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.singles.len() + self.ranges.len()
    }
}

/// What a network computes with for one entry. Holds keys: no `Debug`.
#[derive(Clone)]
pub struct Material {
    /// K and OPc.
    pub subscriber: Subscriber,
    /// AMF, the authentication management field.
    pub field: AuthManagementField,
    /// The first sequence number is beyond it.
    pub sqn: Sqn,
}

impl Entry {
    /// The key material.
    ///
    /// # Errors
    /// Which member is wrong, and why.
    pub fn material(&self) -> Result<Material, String> {
        let key: SubscriberKey = self.k.parse().map_err(|error| format!("k: {error}"))?;
        let opc = match (&self.opc, &self.op) {
            (Some(opc), None) => opc.parse().map_err(|error| format!("opc: {error}"))?,
            (None, Some(op)) => {
                let op: Op = op.parse().map_err(|error| format!("op: {error}"))?;
                Opc::from_op(&key, &op)
            }
            _ => return Err("one of opc and op is needed".to_owned()),
        };
        let field = match &self.amf {
            Some(text) => text.parse().map_err(|error| format!("amf: {error}"))?,
            None => AuthManagementField::default(),
        };
        let sqn = match &self.sqn {
            Some(text) => text.parse().map_err(|error| format!("sqn: {error}"))?,
            None => Sqn::default(),
        };
        Ok(Material {
            subscriber: Subscriber::new(key, opc),
            field,
            sqn,
        })
    }

    /// Looks at every member.
    ///
    /// # Errors
    /// Which is wrong, and why.
    pub fn check(&self) -> Result<(), String> {
        self.material()?;
        if !(1..=MAX_COUNT).contains(&self.count) {
            return Err(format!("count: {} is not 1 to {MAX_COUNT}", self.count));
        }
        if self.nth(self.count - 1).is_none() {
            return Err("count: the last SUPI would have more digits than the first".to_owned());
        }
        if !matches!(self.mnc_digits, 2 | 3) {
            return Err("mnc-digits: 2 or 3".to_owned());
        }
        for network in &self.serving_networks {
            let plmn: Result<Plmn, _> = network.parse();
            plmn.map_err(|error| format!("serving-networks: {network:?}: {error}"))?;
        }
        if self.slices.is_empty() {
            return Err("slices: at least one".to_owned());
        }
        for slice in &self.slices {
            if slice.snssai().to_string().parse() != Ok(slice.snssai()) {
                return Err("slices: sd has six hexadecimal digits".to_owned());
            }
            if slice.dnns.is_empty() {
                return Err("slices: at least one of dnns".to_owned());
            }
        }
        Ok(())
    }

    /// Whether the range holds this subscriber.
    pub fn holds(&self, supi: &Supi) -> bool {
        let (first, asked) = (self.supi.imsi(), supi.imsi());
        let number = |digits: &str| digits.parse::<u64>().ok();
        match (number(first), number(asked)) {
            (Some(low), Some(asked_number)) => {
                first.len() == asked.len()
                    && asked_number
                        .checked_sub(low)
                        .is_some_and(|at| at < self.count)
            }
            _ => false,
        }
    }

    /// The n-th subscriber, counting from 0.
    pub fn nth(&self, n: u64) -> Option<Supi> {
        if n >= self.count {
            return None;
        }
        let first = self.supi.imsi();
        let number = first.parse::<u64>().ok()?.checked_add(n)?;
        let digits = format!("{number:0width$}", width = first.len());
        (digits.len() == first.len()).then(|| Supi::from_imsi(&digits).ok())?
    }

    /// Whether they may use this network (TS 33.501, 6.1.3.2.0 step 2).
    pub fn may_use(&self, network: Plmn) -> bool {
        let text = network.to_string();
        self.serving_networks.is_empty() || self.serving_networks.contains(&text)
    }
}
