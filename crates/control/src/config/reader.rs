//! Walks a TOML document and keeps every fault with its place, instead of stopping at the first.
//!
//! A [`Table`] gives its values one by one with [`Table::take`]; [`Table::finish`] reports the
//! settings that nobody took, so that a mistyped name is never silently ignored. A value of the
//! wrong kind reports itself and reads as `None`.

use super::fault::{Fault, Faults};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Faults beyond these are counted, not kept: the file is rubbish anyway.
const MAX_FAULTS: usize = 1000;

/// A document and what was found wrong with it.
pub(crate) struct Reader<'t> {
    text: &'t str,
    root: Spanned<DeTable<'t>>,
    /// Where lines begin.
    lines: Vec<usize>,
    syntax: bool,
    faults: RefCell<Vec<Fault>>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let (root, errors) = DeTable::parse_recoverable(text);
        let starts = text
            .bytes()
            .enumerate()
            .filter(|(_, octet)| *octet == b'\n');
        let reader = Self {
            text,
            root,
            lines: std::iter::once(0)
                .chain(starts.map(|(at, _)| at + 1))
                .collect(),
            syntax: errors.is_empty(),
            faults: RefCell::default(),
        };
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let reason = format!("not TOML: {}", error.message());
            reader.fault(&span, String::new(), reason, String::new());
        }
        reader
    }

    /// The whole document; `None` when it is no TOML: what could be read of it would only cause
    /// faults that are none.
    pub(crate) fn document(&self) -> Option<Table<'_, 't>> {
        self.syntax.then(|| Table {
            reader: self,
            table: self.root.get_ref(),
            span: self.root.span(),
            path: String::new(),
            taken: BTreeSet::new(),
        })
    }

    pub(crate) fn into_faults(self) -> Faults {
        Faults::new(self.faults.into_inner())
    }

    fn fault(&self, span: &Range<usize>, path: String, reason: String, next: String) {
        let mut faults = self.faults.borrow_mut();
        if faults.len() >= MAX_FAULTS {
            return;
        }
        let start = span.start.min(self.text.len());
        let line = self.lines.partition_point(|begins| *begins <= start).max(1);
        let begins = self.lines[line - 1];
        let before = self.text.get(begins..start).unwrap_or_default();
        faults.push(Fault {
            line,
            column: before.chars().count() + 1,
            path,
            reason,
            next,
        });
    }
}

/// A table whose settings are taken one by one.
pub(crate) struct Table<'r, 't> {
    reader: &'r Reader<'t>,
    table: &'r DeTable<'t>,
    span: Range<usize>,
    path: String,
    taken: BTreeSet<&'static str>,
}

impl<'r, 't> Table<'r, 't> {
    /// The setting of this name, if it is there.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value<'r, 't>> {
        self.taken.insert(name);
        let (_, value) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some(self.value(name, value))
    }

    /// The setting of this name; that it is not there is a fault.
    pub(crate) fn need(&mut self, name: &'static str, next: &str) -> Option<Value<'r, 't>> {
        let found = self.take(name);
        if found.is_none() {
            self.fault(format!("{name} is missing"), next);
        }
        found
    }

    /// Every setting, whatever its name.
    pub(crate) fn entries(&self) -> Vec<(String, Value<'r, 't>)> {
        let entries = self.table.iter();
        entries
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                (name.clone(), self.value(&name, value))
            })
            .collect()
    }

    fn value(&self, name: &str, value: &'r Spanned<DeValue<'t>>) -> Value<'r, 't> {
        let path = match &*self.path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Value {
            reader: self.reader,
            value,
            path,
        }
    }

    pub(crate) fn fault(&self, reason: impl Into<String>, next: impl Into<String>) {
        let path = self.path.clone();
        self.reader
            .fault(&self.span, path, reason.into(), next.into());
    }

    /// A last look at it, and [`finish`](Self::finish).
    pub(crate) fn finish_after(self, look: impl FnOnce(&Self)) {
        look(&self);
        self.finish();
    }

    /// Reports the settings that nobody took.
    pub(crate) fn finish(self) {
        for (key, value) in self.table.iter() {
            let name = &**key.get_ref();
            if self.taken.contains(name) {
                continue;
            }
            let next =
                suggestion(name, self.taken.iter().copied().collect()).unwrap_or_else(|| {
                    let known: Vec<&str> = self.taken.iter().copied().collect();
                    format!("known here: {}", known.join(", "))
                });
            let path = self.value(name, value).path;
            let reason = "this setting is not known".to_owned();
            self.reader.fault(&key.span(), path, reason, next);
        }
    }
}

/// A value and where it stands.
pub(crate) struct Value<'r, 't> {
    reader: &'r Reader<'t>,
    value: &'r Spanned<DeValue<'t>>,
    path: String,
}

impl<'r, 't> Value<'r, 't> {
    pub(crate) fn fault(&self, reason: impl Into<String>, next: impl Into<String>) {
        let (span, path) = (self.value.span(), self.path.clone());
        self.reader.fault(&span, path, reason.into(), next.into());
    }

    fn wrong<T>(&self, wanted: &str) -> Option<T> {
        let found = self.value.get_ref().type_str();
        self.fault(
            format!("this is {}", article(found)),
            format!("write {wanted}"),
        );
        None
    }

    pub(crate) fn is_string(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub(crate) fn string(&self) -> Option<String> {
        match self.value.get_ref().as_str() {
            Some(text) => Some(text.to_owned()),
            None => self.wrong("a string in quotes"),
        }
    }

    /// A string that is not empty, of at most 255 visible characters of ASCII without spaces: what
    /// may be the name of a service.
    pub(crate) fn name(&self) -> Option<String> {
        let name = self.string()?;
        let good =
            !name.is_empty() && name.len() <= 255 && name.bytes().all(|b| b.is_ascii_graphic());
        if good && !name.contains('|') {
            return Some(name);
        }
        self.fault(
            format!("{name:?} is no name"),
            "use 1 to 255 visible characters of ASCII, without spaces and |",
        );
        None
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.value.get_ref().as_bool() {
            Some(value) => Some(value),
            None => self.wrong("true or false"),
        }
    }

    pub(crate) fn integer(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let Some(integer) = self.value.get_ref().as_integer() else {
            return self.wrong("a whole number");
        };
        let read = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        if let Some(number) = read.filter(|number| range.contains(number)) {
            return Some(number);
        }
        let reason = format!("{integer} is out of range");
        self.fault(reason, format!("give {} to {}", range.start(), range.end()));
        None
    }

    pub(crate) fn integer32(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        self.integer(range).and_then(|n| u32::try_from(n).ok())
    }

    /// A share in percent, 0 to 100, as millionths.
    pub(crate) fn percent(&self) -> Option<u32> {
        let value = self.value.get_ref();
        let read: Option<f64> = match (value.as_integer(), value.as_float()) {
            (Some(integer), _) => integer.as_str().parse().ok(),
            (_, Some(float)) => float.as_str().parse().ok(),
            _ => return self.wrong("a share in percent, for example 2.5"),
        };
        match read.filter(|share| (0.0..=100.0).contains(share)) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to 1,000,000 fits"
            )]
            Some(share) => Some((share * 10_000.0).round() as u32),
            None => {
                self.fault("no share in percent", "give 0 to 100, for example 2.5");
                None
            }
        }
    }

    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let text = self.string()?;
        let Some(duration) = parse_duration(&text) else {
            self.fault(
                format!("{text:?} is no time span"),
                "write a number and ns, us, ms, s, m or h, for example \"250ms\"",
            );
            return None;
        };
        if range.contains(&duration) {
            return Some(duration);
        }
        let next = format!("give {:?} to {:?}", range.start(), range.end());
        self.fault(format!("{text} is out of range"), next);
        None
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let text = self.string()?;
        match text.parse() {
            Ok(address) => Some(address),
            Err(_) => {
                self.fault(
                    format!("{text:?} is no address"),
                    "write IP:PORT, for example \"127.0.0.1:9001\" or \"[::1]:9001\"; names are not looked up",
                );
                None
            }
        }
    }

    /// One of these words.
    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.string()?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.fault(
            format!("{text:?} is not known here"),
            suggestion(&text, known.iter().copied().collect())
                .unwrap_or_else(|| format!("give one of {}", known.join(", "))),
        );
        None
    }

    pub(crate) fn table(&self) -> Option<Table<'r, 't>> {
        match self.value.get_ref().as_table() {
            Some(table) => Some(Table {
                reader: self.reader,
                table,
                span: self.value.span(),
                path: self.path.clone(),
                taken: BTreeSet::new(),
            }),
            None => self.wrong("a table, for example { name = \"…\" }"),
        }
    }

    pub(crate) fn array(&self) -> Option<Vec<Self>> {
        let Some(array) = self.value.get_ref().as_array() else {
            return self.wrong("a list in brackets");
        };
        let values = array.iter().enumerate();
        Some(
            values
                .map(|(index, value)| Self {
                    reader: self.reader,
                    value,
                    path: format!("{}[{index}]", self.path),
                })
                .collect(),
        )
    }

    pub(crate) fn tables(&self) -> Vec<Table<'r, 't>> {
        let values = self.array().unwrap_or_default();
        values.iter().filter_map(Self::table).collect()
    }
}

/// The strings of a list; a single string is a list of one.
pub(crate) fn strings(table: &mut Table<'_, '_>, name: &'static str) -> Vec<String> {
    match table.take(name) {
        None => Vec::new(),
        Some(value) if value.is_string() => value.string().into_iter().collect(),
        Some(value) => {
            let values = value.array().unwrap_or_default();
            values.iter().filter_map(Value::string).collect()
        }
    }
}

/// "Did you mean …", when one of the known words is close.
pub(crate) fn suggestion(word: &str, known: BTreeSet<&str>) -> Option<String> {
    let closest = known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .min()?;
    (closest.0 <= 1 + word.len() / 4).then(|| format!("did you mean {:?}?", closest.1))
}

/// How many letters must be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    // Names are short; what is not is no misspelling of one.
    if a.len().max(b.len()) > 64 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let nanoseconds: u64 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut total = whole.parse::<u64>().ok()?.checked_mul(nanoseconds)?;
    let mut place = nanoseconds;
    for digit in fraction.bytes() {
        place /= 10;
        total = total.checked_add(u64::from(digit.checked_sub(b'0')?) * place)?;
    }
    Some(Duration::from_nanos(total))
}

fn article(kind: &str) -> String {
    match kind {
        "array" | "integer" | "inline table" | "offset date-time" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_are_read_exactly() {
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2h"), Some(Duration::from_secs(7200)));
        for rubbish in ["", "5", "ms", "1.2.3s", "-1s", "99999999999h", "1 parsec"] {
            assert_eq!(parse_duration(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn close_words_are_suggested_and_far_ones_are_not() {
        let known = BTreeSet::from(["timeout", "transport", "retry"]);
        assert_eq!(
            suggestion("timout", known.clone()).as_deref(),
            Some("did you mean \"timeout\"?")
        );
        assert_eq!(suggestion("frobnicate", known), None);
    }
}
