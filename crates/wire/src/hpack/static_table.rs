//! The table that both ends know (RFC 7541, appendix A), each field in the flat form of
//! [`super::flat`], and how to find a field in it.

use super::digest::digest;
use super::flat::{self, SLACK};

/// How many entries it has. The first dynamic one is numbered behind them (RFC 7541, 2.3.3).
pub(super) const LENGTH: usize = 61;

const FIELDS: [(&str, &str); LENGTH] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Each entry, and nothing behind it up to [`SLACK`] octets, which is more than the longest has.
static ENTRIES: [[u8; SLACK]; LENGTH] = {
    let mut entries = [[0; SLACK]; LENGTH];
    let mut field = 0;
    while field < LENGTH {
        let (name, value) = (FIELDS[field].0.as_bytes(), FIELDS[field].1.as_bytes());
        let prefix = flat::prefix(name.len(), value.len());
        let (mut part, mut at) = (0, 0);
        while part < 3 {
            let octets: &[u8] = [&prefix, name, value][part];
            let mut octet = 0;
            while octet < octets.len() {
                entries[field][at] = octets[octet];
                at += 1;
                octet += 1;
            }
            part += 1;
        }
        field += 1;
    }
    entries
};

/// How many octets of each entry are its own.
static LENGTHS: [u8; LENGTH] = {
    let mut lengths = [0; LENGTH];
    let mut field = 0;
    while field < LENGTH {
        let (name, value) = FIELDS[field];
        lengths[field] = (flat::PREFIX + name.len() + value.len()) as u8;
        field += 1;
    }
    lengths
};

/// Places of the table of names: a power of two, and so many that few names share one.
const PLACES: usize = 256;

/// The first entry of each name, found by the name's digest; the next free place when taken.
static NAMES: [u8; PLACES] = {
    let mut names = [0; PLACES];
    let mut field = LENGTH;
    // Downwards: the first entry of a name is the one that stays.
    while field > 0 {
        let name = FIELDS[field - 1].0.as_bytes();
        let mut place = digest(name) as usize % PLACES;
        while names[place] != 0 && !same(FIELDS[names[place] as usize - 1].0.as_bytes(), name) {
            place = (place + 1) % PLACES;
        }
        names[place] = field as u8;
        field -= 1;
    }
    names
};

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The entry of this number, from 1 on, and how many octets of it are its own.
#[inline]
pub(super) fn entry(number: usize) -> Option<(&'static [u8; SLACK], usize)> {
    let place = number.wrapping_sub(1);
    Some((ENTRIES.get(place)?, usize::from(*LENGTHS.get(place)?)))
}

/// The number of the first entry with this name, whose digest is given.
pub(super) fn find_name(name: &[u8], digest: u32) -> Option<usize> {
    let mut place = digest as usize % PLACES;
    loop {
        let number = usize::from(NAMES[place]);
        if number == 0 {
            return None;
        }
        if entry(number).is_some_and(|(entry, _)| flat::has_name(entry, name)) {
            return Some(number);
        }
        place = (place + 1) % PLACES;
    }
}

/// The number of the entry that is this field, `first` being the first with its name.
pub(super) fn find(first: usize, name: &[u8], value: &[u8]) -> Option<usize> {
    let mut numbers = first..=LENGTH;
    numbers
        .by_ref()
        .map_while(|number| Some((number, entry(number)?.0.as_slice())))
        .take_while(|(_, entry)| flat::has_name(entry, name))
        .find(|(_, entry)| flat::is(entry, name, value))
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found() {
        for number in 1..=LENGTH {
            let (name, value) = FIELDS[number - 1];
            let (name, value) = (name.as_bytes(), value.as_bytes());
            let (entry, length) = entry(number).unwrap();
            assert!(flat::is(entry, name, value));
            assert_eq!(length, 4 + name.len() + value.len());
            let first = find_name(name, digest(name)).unwrap();
            assert!(first <= number && FIELDS[first - 1].0.as_bytes() == name);
            assert!(first == 1 || FIELDS[first - 2].0.as_bytes() != name);
            assert_eq!(find(first, name, value), Some(number));
        }
    }

    #[test]
    fn nothing_else_is_found() {
        assert_eq!((entry(0), entry(LENGTH + 1)), (None, None));
        for name in ["", ":", ":statu", ":statuses", "x-a", "www-authenticatf"] {
            assert_eq!(find_name(name.as_bytes(), digest(name.as_bytes())), None);
        }
        let status = find_name(b":status", digest(b":status")).unwrap();
        assert_eq!(find(status, b":status", b"201"), None);
        assert_eq!(find(LENGTH, b"www-authenticate", b"x"), None);
    }
}
