//! Reads a whole log: its records in order, what is damaged, and where it ends.

use crate::file_system::StoreFile;
use crate::record::{self, HEADER, Key, Link};
use crate::version_1;
use std::io;

/// Takes a change, oldest first, and says whether it can be used.
pub(crate) type Apply<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>) -> bool;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;
/// Bytes that are left out when the disk cannot read them.
const BLOCK: usize = 4096;
/// Places of damage that are named; more are counted.
const MAX_NAMED: usize = 1000;

/// A place of a log that is not right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where it begins, in bytes from the beginning of the log.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
    /// What is wrong.
    pub kind: DamageKind,
    /// Changes that are lost with it.
    pub changes: u64,
    /// The last of the names that they changed, where it is known. It has no value then, until a later
    /// record gives it one.
    pub name: Option<Vec<u8>>,
}

/// What is wrong with a place of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// Bytes have changed.
    Rotten,
    /// Records are not there.
    Missing,
    /// Records stand there a second time. They are not applied, and nothing is lost.
    Repeated,
    /// One half of the header has changed. Nothing is lost.
    Header,
    /// A value is right and its reader cannot use it.
    Unusable,
}

impl DamageKind {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rotten => "rotten",
            Self::Missing => "missing",
            Self::Repeated => "repeated",
            Self::Header => "header",
            Self::Unusable => "unusable",
        }
    }
}

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The key, if it is a log of today's form.
    pub(crate) key: Option<Key>,
    /// It is a log of an earlier version.
    pub(crate) is_version_1: bool,
    /// Records that were read.
    pub(crate) records: u64,
    /// Number of the last one.
    pub(crate) number: u64,
    /// Fingerprint of its name.
    pub(crate) previous: u64,
    /// Places that are not right, the first of them.
    pub(crate) damage: Vec<Damage>,
    /// How many places are not right.
    pub(crate) damaged: u64,
    /// Where the last whole record ends.
    pub(crate) end: u64,
    /// Bytes behind it of a record that was not written to its end.
    pub(crate) torn: u64,
    /// Fingerprints of names whose last value is lost, and the number of the record behind.
    lost: Vec<(u64, u64, usize)>,
}

impl Found {
    /// Changes that are known to be lost.
    pub(crate) fn lost(&self) -> u64 {
        let each = self.damage.iter().map(|one| one.changes);
        each.fold(0, u64::saturating_add)
    }

    fn add(&mut self, damage: Damage) {
        self.damaged += 1;
        if self.damage.len() < MAX_NAMED {
            self.damage.push(damage);
        }
    }
}

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum ScanError {
    Io(io::Error),
    /// It is no log, or both halves of its header have changed.
    NotALog,
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Gives each change to `apply`, oldest first; `apply` says whether the value can be used. A name whose
/// last value is lost is given as removed, so that no older value is taken for it.
pub(crate) fn scan(file: &dyn StoreFile, apply: Apply<'_>) -> Result<Found, ScanError> {
    let mut window = Window::new(file)?;
    let header = window.need(HEADER)?;
    if header.starts_with(version_1::MAGIC) {
        return scan_version_1(window, apply);
    }
    let mut found = Found::default();
    let Some((key, is_whole)) = Key::of_header(header) else {
        return Err(ScanError::NotALog);
    };
    found.key = Some(key);
    if !is_whole {
        found.add(Damage {
            offset: 0,
            length: HEADER as u64,
            kind: DamageKind::Header,
            changes: 0,
            name: None,
        });
    }
    window.skip(HEADER);
    let end = read_records(key, &mut window, apply, &mut found)?;
    found.end = end;
    forget_stale(file, key, apply, &mut found)?;
    Ok(found)
}

/// Damage that was passed and not yet counted: the record behind says what is missing.
struct Gap {
    offset: u64,
    length: u64,
}

fn read_records(
    key: Key,
    window: &mut Window<'_>,
    apply: Apply<'_>,
    found: &mut Found,
) -> Result<u64, ScanError> {
    let mut gap: Option<Gap> = None;
    let mut end = window.at;
    let mut needed = record::HEAD;
    loop {
        let at = window.at;
        window.need(needed)?;
        let (bytes, at_end) = (window.bytes(), window.is_at_end());
        needed = record::HEAD;
        match record::step(key, bytes, at_end) {
            record::Step::More(more) => needed = more,
            record::Step::Record {
                name,
                value,
                link,
                length,
            } => {
                let is_repeated = link.number <= found.number;
                if !is_repeated || gap.is_some() {
                    close(&mut gap, Some(&link), at, found);
                }
                if is_repeated {
                    repeated(at, length, found);
                } else {
                    (found.number, found.previous) = (link.number, link.fingerprint);
                    found.records += 1;
                    if !apply(name, value) {
                        let name = Some(name.to_vec());
                        found.add(Damage {
                            offset: at,
                            length: length as u64,
                            kind: DamageKind::Unusable,
                            changes: 1,
                            name,
                        });
                    }
                }
                window.skip(length);
                end = window.at;
            }
            record::Step::Rotten { link, length } => {
                if link.number > found.number {
                    close(&mut gap, Some(&link), at, found);
                    (found.number, found.previous) = (link.number, link.fingerprint);
                    let place = found.damage.len();
                    found.add(Damage {
                        offset: at,
                        length: length as u64,
                        kind: DamageKind::Rotten,
                        changes: 1,
                        name: None,
                    });
                    found.lost.push((link.fingerprint, link.number, place));
                } else {
                    close(&mut gap, None, at, found);
                    repeated(at, length, found);
                }
                window.skip(length);
                end = window.at;
            }
            record::Step::Rubbish { length } => {
                let gap = gap.get_or_insert(Gap {
                    offset: at,
                    length: 0,
                });
                gap.length += length as u64;
                window.skip(length);
                end = window.at;
            }
            record::Step::Torn => {
                found.torn = bytes.len() as u64;
                break;
            }
            record::Step::End => break,
        }
    }
    close(&mut gap, None, end, found);
    Ok(end)
}

/// Counts what is missing before a record, or at the end of the log.
fn close(gap: &mut Option<Gap>, next: Option<&Link>, at: u64, found: &mut Found) {
    let passed = gap.take();
    let missing = match next {
        Some(link) => link.number.saturating_sub(found.number.saturating_add(1)),
        // Nothing behind it tells how many.
        None => u64::from(passed.is_some()),
    };
    if passed.is_none() && missing == 0 {
        return;
    }
    let kind = match passed {
        Some(_) => DamageKind::Rotten,
        None => DamageKind::Missing,
    };
    let (offset, length) = passed.map_or((at, 0), |gap| (gap.offset, gap.length));
    let place = found.damage.len();
    found.add(Damage {
        offset,
        length,
        kind,
        changes: missing,
        name: None,
    });
    if let Some(link) = next.filter(|_| missing > 0) {
        found.lost.push((link.previous, link.number - 1, place));
    }
}

/// Records that stand there twice, behind each other, are one place.
fn repeated(at: u64, length: usize, found: &mut Found) {
    if let Some(last) = found.damage.last_mut()
        && last.kind == DamageKind::Repeated
        && last.offset + last.length == at
    {
        last.length += length as u64;
        return;
    }
    found.add(Damage {
        offset: at,
        length: length as u64,
        kind: DamageKind::Repeated,
        changes: 0,
        name: None,
    });
}

/// Finds the names whose last change is lost, in a second reading, and removes them.
fn forget_stale(
    file: &dyn StoreFile,
    key: Key,
    apply: Apply<'_>,
    found: &mut Found,
) -> Result<(), ScanError> {
    if found.lost.is_empty() {
        return Ok(());
    }
    // By fingerprint: the number of the last record that is right, and its name.
    let mut last: std::collections::HashMap<u64, (u64, Vec<u8>)> = found
        .lost
        .iter()
        .map(|(fingerprint, ..)| (*fingerprint, (0, Vec::new())))
        .collect();
    let mut window = Window::new(file)?;
    let _header = window.need(HEADER)?;
    window.skip(HEADER);
    let (mut needed, mut highest) = (record::HEAD, 0);
    loop {
        window.need(needed)?;
        let at_end = window.is_at_end();
        needed = record::HEAD;
        match record::step(key, window.bytes(), at_end) {
            record::Step::More(more) => needed = more,
            record::Step::Record {
                name, link, length, ..
            } => {
                if let Some(last) = last.get_mut(&link.fingerprint)
                    && link.number > highest
                {
                    *last = (link.number, name.to_vec());
                }
                highest = highest.max(link.number);
                window.skip(length);
            }
            record::Step::Rotten { length, .. } | record::Step::Rubbish { length } => {
                window.skip(length);
            }
            record::Step::Torn | record::Step::End => break,
        }
    }
    for (fingerprint, number, place) in std::mem::take(&mut found.lost) {
        let Some((last, name)) = last.get(&fingerprint).filter(|(number, _)| *number > 0) else {
            continue;
        };
        // Of the same number is a whole copy behind the rotten record: it was taken for a repetition.
        if *last <= number {
            let _removed = apply(name, None);
        }
        if let Some(damage) = found.damage.get_mut(place) {
            damage.name = Some(name.clone());
        }
    }
    Ok(())
}

fn scan_version_1(mut window: Window<'_>, apply: Apply<'_>) -> Result<Found, ScanError> {
    let mut found = Found {
        is_version_1: true,
        ..Found::default()
    };
    // It has no zeros of its own behind the last record.
    window.length = window.file.state()?.length;
    window.skip(version_1::MAGIC.len());
    let mut needed = 16;
    loop {
        let at = window.at;
        window.need(needed)?;
        let at_end = window.is_at_end();
        needed = 16;
        let bytes = window.bytes();
        match version_1::step(bytes, at_end) {
            version_1::Step::More(more) => needed = more,
            version_1::Step::Record {
                name,
                value,
                length,
            } => {
                found.records += 1;
                if !apply(name, value) {
                    let name = Some(name.to_vec());
                    found.add(Damage {
                        offset: at,
                        length: length as u64,
                        kind: DamageKind::Unusable,
                        changes: 1,
                        name,
                    });
                }
                window.skip(length);
            }
            version_1::Step::Rotten => {
                found.add(Damage {
                    offset: at,
                    length: window.length - at,
                    kind: DamageKind::Rotten,
                    // At least: it has no marks to count by.
                    changes: 1,
                    name: None,
                });
                break;
            }
            version_1::Step::Torn => {
                found.torn = bytes.len() as u64;
                break;
            }
            version_1::Step::End => break,
        }
    }
    found.end = window.at;
    Ok(found)
}

/// The part of a file that is in memory.
struct Window<'a> {
    file: &'a dyn StoreFile,
    /// Length of the file when it was opened, without the zeros at its end.
    length: u64,
    buffer: Vec<u8>,
    /// Where in the buffer the place is.
    begin: usize,
    /// Where in the file the place is.
    at: u64,
}

impl<'a> Window<'a> {
    fn new(file: &'a dyn StoreFile) -> io::Result<Self> {
        Ok(Self {
            file,
            length: without_zeros(file, file.state()?.length),
            buffer: Vec::new(),
            begin: 0,
            at: 0,
        })
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.begin..]
    }

    /// Nothing of the file is behind what is in memory.
    fn is_at_end(&self) -> bool {
        self.at + self.bytes().len() as u64 >= self.length
    }

    /// Goes on behind so many bytes, or at the end if there are fewer.
    fn skip(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes().len());
        self.begin += bytes;
        self.at += bytes as u64;
    }

    /// What there is from the place on: so many bytes, unless the file ends before.
    fn need(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.bytes().len() < bytes && !self.is_at_end() {
            self.fill(bytes)?;
        }
        Ok(self.bytes())
    }

    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        self.buffer.drain(..self.begin);
        self.begin = 0;
        let held = self.buffer.len();
        let from = self.at + held as u64;
        let left = usize::try_from(self.length - from).unwrap_or(usize::MAX);
        let wanted = left.min(CHUNK.max(bytes.saturating_sub(held)));
        self.buffer.resize(held + wanted, 0);
        match self.file.read_at(&mut self.buffer[held..], from) {
            Ok(0) => {
                // It has become shorter since.
                self.length = from;
                self.buffer.truncate(held);
            }
            Ok(read) => self.buffer.truncate(held + read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.buffer.truncate(held),
            Err(_) => {
                // What of it cannot be read counts as zeros, which are no record.
                let mut read = 0;
                while read < wanted {
                    let upto = (read + BLOCK).min(wanted);
                    let block = &mut self.buffer[held + read..held + upto];
                    block.fill(0);
                    match self.file.read_at(block, from + read as u64) {
                        Ok(0) | Err(_) => read = upto,
                        Ok(some) => read += some,
                    }
                }
            }
        }
        Ok(())
    }
}

/// Where the zeros at the end of a file begin. What cannot be read is none.
fn without_zeros(file: &dyn StoreFile, length: u64) -> u64 {
    let mut end = length;
    let mut block = vec![0; CHUNK];
    while end > 0 {
        let wanted = usize::try_from(end).unwrap_or(CHUNK).min(CHUNK);
        let from = end - wanted as u64;
        let mut read = 0;
        while read < wanted {
            match file.read_at(&mut block[read..wanted], from + read as u64) {
                Ok(0) | Err(_) => return end,
                Ok(some) => read += some,
            }
        }
        if let Some(last) = block[..wanted].iter().rposition(|byte| *byte != 0) {
            return from + last as u64 + 1;
        }
        end = from;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_damage_has_its_name_in_reports() {
        let kinds = [
            (DamageKind::Rotten, "rotten"),
            (DamageKind::Missing, "missing"),
            (DamageKind::Repeated, "repeated"),
            (DamageKind::Header, "header"),
            (DamageKind::Unusable, "unusable"),
        ];
        for (kind, name) in kinds {
            assert_eq!(kind.name(), name);
        }
    }
}
