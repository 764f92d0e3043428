//! Regular expressions that every client takes, with the same meaning.
//!
//! gRPC and Envoy compile them with RE2, our client with Rust's `regex`. Each takes constructs that the
//! other refuses or reads otherwise, and a client refuses the whole route configuration for one of them.
//! What is taken here is the language of both; everything else is named.

use std::fmt;

/// The most instructions that an Envoy compiles (`re2.max_program_size.error_level`).
pub(super) const MAX_PROGRAM: usize = 100;
/// The most repetitions that RE2 counts, those within each other multiplied.
const MAX_REPEAT: usize = 1000;
/// How deep groups may be within each other.
const MAX_DEPTH: usize = 100;
/// Instructions of every program.
const BASE: usize = 4;

/// Why a regular expression is not taken by every client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Re2Fault {
    /// This construct is unknown to a client, or means something else there.
    Construct {
        /// What stands there.
        text: String,
        /// What to write.
        advice: &'static str,
    },
    /// A group, class or escape does not end.
    Open(&'static str),
    /// There is nothing to repeat, or what is repeated is a repetition.
    Repetition(String),
    /// It repeats more than 1000 times.
    TooOften,
    /// Groups are too deep within each other.
    TooDeep,
    /// The compiled program has so many instructions at least.
    TooLarge(usize),
}

impl Re2Fault {
    pub(super) const fn advice(&self) -> &'static str {
        match self {
            Self::Construct { advice, .. } => advice,
            Self::Open(_) => "close it, or write a backslash before the sign",
            Self::Repetition(_) => "put what is repeated into (?:…)",
            Self::TooOften => "repeat at most 1000 times",
            Self::TooDeep => "take groups away",
            Self::TooLarge(_) => {
                "repeat without counting (+, *): an Envoy compiles 100 instructions at most"
            }
        }
    }
}

impl fmt::Display for Re2Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Construct { text, .. } => {
                write!(f, "{text} is not taken alike by all clients (RE2 and Rust)")
            }
            Self::Open(what) => write!(f, "{what} is not closed"),
            Self::Repetition(text) => write!(f, "{text} repeats nothing, or a repetition"),
            Self::TooOften => f.write_str("it repeats more than 1000 times"),
            Self::TooDeep => write!(f, "groups are more than {MAX_DEPTH} deep"),
            Self::TooLarge(size) => {
                write!(f, "it compiles to {size} instructions at least")
            }
        }
    }
}

/// Checks a regular expression.
pub(super) fn check(text: &str) -> Result<(), Re2Fault> {
    // An Envoy compiles octets, the others letters.
    if let Some(letter) = text.chars().find(|letter| !letter.is_ascii()) {
        let advice = "write ASCII, or a dot for each octet";
        return Err(construct(letter.to_string(), advice));
    }
    let mut parser = Parser {
        rest: text,
        names: Vec::new(),
        dot_takes_newline: false,
    };
    let part = parser.alternation(MAX_DEPTH)?;
    if !parser.rest.is_empty() {
        return Err(Re2Fault::Open("a group that ) ends was never begun; it"));
    }
    let size = part.size.saturating_add(BASE);
    if size > MAX_PROGRAM {
        return Err(Re2Fault::TooLarge(size));
    }
    Ok(())
}

/// What was read: how many instructions it takes at least, and how often something in it repeats.
#[derive(Clone, Copy)]
struct Part {
    size: usize,
    repeats: usize,
}

const ONE: Part = Part {
    size: 1,
    repeats: 1,
};

/// Where an escape stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Expression,
    /// Square brackets.
    Class,
}

struct Parser<'a> {
    rest: &'a str,
    names: Vec<&'a str>,
    dot_takes_newline: bool,
}

impl<'a> Parser<'a> {
    fn take(&mut self, start: &str) -> bool {
        let rest = self.rest.strip_prefix(start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// Until the end, or the parenthesis that closes the group.
    fn alternation(&mut self, depth: usize) -> Result<Part, Re2Fault> {
        let mut found = self.concatenation(depth)?;
        while self.take("|") {
            let other = self.concatenation(depth)?;
            // Alternatives may share instructions: the longer one is the least there is.
            found.size = found.size.max(other.size);
            found.repeats = found.repeats.max(other.repeats);
        }
        Ok(found)
    }

    fn concatenation(&mut self, depth: usize) -> Result<Part, Re2Fault> {
        let mut found = Part {
            size: 0,
            repeats: 1,
        };
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let part = self.repetition(depth)?;
            found.size = found.size.saturating_add(part.size);
            found.repeats = found.repeats.max(part.repeats);
        }
        Ok(found)
    }

    fn repetition(&mut self, depth: usize) -> Result<Part, Re2Fault> {
        if let Some(operator) = self.operator()? {
            return Err(Re2Fault::Repetition(operator.text.to_owned()));
        }
        let mut part = self.atom(depth)?;
        let Some(operator) = self.operator()? else {
            return Ok(part);
        };
        part.size = part.size.saturating_mul(operator.copies) + operator.extra;
        part.repeats = part.repeats.saturating_mul(operator.counted);
        if part.repeats > MAX_REPEAT {
            return Err(Re2Fault::TooOften);
        }
        match self.operator()? {
            Some(second) => Err(Re2Fault::Repetition(format!(
                "{}{}",
                operator.text, second.text
            ))),
            None => Ok(part),
        }
    }

    /// `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}`, each with a `?` behind it or none.
    fn operator(&mut self) -> Result<Option<Operator<'a>>, Re2Fault> {
        let before = self.rest;
        let (copies, counted, extra) = if self.take("*") || self.take("+") || self.take("?") {
            (1, 1, 1)
        } else if self.take("{") {
            let Some((least, most)) = self.counts() else {
                return Err(Re2Fault::Construct {
                    text: "{ that is no repetition {n}, {n,} or {n,m}".into(),
                    advice: "write \\\\{ for the sign itself",
                });
            };
            if least.max(most.unwrap_or(0)) > MAX_REPEAT {
                return Err(Re2Fault::TooOften);
            }
            if most.is_some_and(|most| most < least) {
                let text = before[..before.len() - self.rest.len()].to_owned();
                return Err(Re2Fault::Repetition(text));
            }
            let copies = most.unwrap_or_else(|| least.max(1));
            (copies, copies.max(1), 0)
        } else {
            return Ok(None);
        };
        self.take("?");
        Ok(Some(Operator {
            text: &before[..before.len() - self.rest.len()],
            copies,
            counted,
            extra,
        }))
    }

    fn counts(&mut self) -> Option<(usize, Option<usize>)> {
        let (inner, rest) = self.rest.split_once('}')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
            // What is too long to be read is too often.
            digits.then(|| text.parse().unwrap_or(usize::MAX))
        };
        let counts = match inner.split_once(',') {
            None => (number(inner)?, Some(number(inner)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        self.rest = rest;
        Some(counts)
    }

    fn atom(&mut self, depth: usize) -> Result<Part, Re2Fault> {
        if self.take("(") {
            return self.group(depth);
        }
        if self.take("[") {
            return self.class();
        }
        if self.take("\\") {
            return match self.escape(Within::Expression)? {
                Escape::Set(set) => Ok(of_set(&set)),
                Escape::Letter(_) | Escape::Property | Escape::Place => Ok(ONE),
            };
        }
        Ok(match self.next() {
            Some('.') if !self.dot_takes_newline => Part {
                size: 2,
                repeats: 1,
            },
            _ => ONE,
        })
    }

    fn group(&mut self, depth: usize) -> Result<Part, Re2Fault> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Re2Fault::TooDeep);
        };
        let before = self.dot_takes_newline;
        let mut captures = 2;
        if self.take("?") {
            captures = 0;
            if self.take("P<") {
                captures = 2;
                self.group_name()?;
            } else if self
                .rest
                .starts_with(['<', '=', '!', 'P', '#', '>', '|', '&', '\'', '('])
            {
                return Err(construct(
                    format!("(?{}", self.rest.chars().next().unwrap_or_default()),
                    "write (?P<name>…) for a name; look-around and comments are none",
                ));
            } else if !self.flags()? {
                // For the rest of the group around.
                return Ok(Part {
                    size: 0,
                    repeats: 1,
                });
            }
        }
        let mut part = self.alternation(depth)?;
        if !self.take(")") {
            return Err(Re2Fault::Open("a group"));
        }
        self.dot_takes_newline = before;
        part.size += captures;
        Ok(part)
    }

    fn group_name(&mut self) -> Result<(), Re2Fault> {
        let Some((name, rest)) = self.rest.split_once('>') else {
            return Err(Re2Fault::Open("the name of a group"));
        };
        let is_word = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'_';
        let begins = name.bytes().next().is_some_and(|it| !it.is_ascii_digit());
        if !begins || !name.bytes().all(is_word) || self.names.contains(&name) {
            return Err(construct(
                format!("the group name {name:?}"),
                "write letters, digits and _, no name twice",
            ));
        }
        self.names.push(name);
        self.rest = rest;
        Ok(())
    }

    /// `imsU-` until `:` (a group follows: `true`) or `)`.
    fn flags(&mut self) -> Result<bool, Re2Fault> {
        let (mut off, mut any, mut any_behind) = (false, false, false);
        loop {
            match self.next() {
                Some(':') if !off || any_behind => return Ok(true),
                Some(')') if any && (!off || any_behind) => return Ok(false),
                Some('-') if !off => off = true,
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    any = true;
                    any_behind |= off;
                    if flag == 's' {
                        self.dot_takes_newline = !off;
                    }
                }
                None => return Err(Re2Fault::Open("a group")),
                Some(other) => {
                    return Err(construct(
                        format!("(?…{other}"),
                        "the flags are i, m, s and U: (?i), (?i:…), (?-s:…)",
                    ));
                }
            }
        }
    }

    fn class(&mut self) -> Result<Part, Re2Fault> {
        let inverted = self.take("^");
        let mut set = Set::default();
        let (mut first, mut has_property) = (true, false);
        loop {
            if !first && self.take("]") {
                break;
            }
            first = false;
            for operation in ["&&", "--", "~~"] {
                if self.rest.starts_with(operation) {
                    return Err(construct(
                        format!("{operation} in a class"),
                        "write one of the two signs, or a backslash before each",
                    ));
                }
            }
            if self.rest.starts_with("[:") {
                set.add_named(self.named_class()?);
                continue;
            }
            let low = match self.class_item()? {
                Escape::Letter(letter) => letter,
                Escape::Set(other) => {
                    set.add(&other);
                    self.no_range()?;
                    continue;
                }
                Escape::Property | Escape::Place => {
                    has_property = true;
                    self.no_range()?;
                    continue;
                }
            };
            let is_range = self.rest.starts_with('-')
                && !self.rest.starts_with("-]")
                && !self.rest.starts_with("--");
            let high = if is_range {
                self.take("-");
                match self.class_item()? {
                    Escape::Letter(high) if high >= low => high,
                    _ => {
                        return Err(construct(
                            format!("the range from {low:?} in a class"),
                            "write the lower sign first",
                        ));
                    }
                }
            } else {
                low
            };
            set.add_range(low, high);
        }
        if inverted {
            set.0.iter_mut().for_each(|bit| *bit = !*bit);
        }
        Ok(if has_property { ONE } else { of_set(&set) })
    }

    fn class_item(&mut self) -> Result<Escape, Re2Fault> {
        match self.next() {
            None => Err(Re2Fault::Open("a class")),
            Some('\\') => self.escape(Within::Class),
            Some('[') => Err(construct("[ in a class".into(), "write \\\\[")),
            Some(letter) => Ok(Escape::Letter(letter)),
        }
    }

    /// Behind a set a minus would be the sign itself to one, and a range to the other.
    fn no_range(&self) -> Result<(), Re2Fault> {
        if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
            return Err(construct(
                "a range that begins with a set".into(),
                "write - last in the class",
            ));
        }
        Ok(())
    }

    fn named_class(&mut self) -> Result<&'a str, Re2Fault> {
        let Some((name, rest)) = self.rest[2..].split_once(":]") else {
            return Err(Re2Fault::Open("a named class"));
        };
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print",
            "punct", "space", "upper", "word", "xdigit",
        ];
        if !NAMES.contains(&name.trim_start_matches('^')) {
            return Err(construct(
                format!("[:{name}:]"),
                "write [:alpha:], [:digit:] …",
            ));
        }
        self.rest = rest;
        Ok(name)
    }

    fn escape(&mut self, within: Within) -> Result<Escape, Re2Fault> {
        let Some(letter) = self.next() else {
            return Err(Re2Fault::Open("a backslash"));
        };
        let known = |letter| Ok(Escape::Letter(letter));
        match letter {
            'a' => known('\x07'),
            'f' => known('\x0c'),
            't' => known('\t'),
            'n' => known('\n'),
            'r' => known('\r'),
            'v' => known('\x0b'),
            'x' => self.hexadecimal(),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Ok(Escape::Set(Box::new(Set::of_escape(letter)))),
            'p' | 'P' => self.property(),
            'b' | 'B' | 'A' | 'z' if within == Within::Expression => Ok(Escape::Place),
            '<' | '>' => Err(construct(
                format!("\\{letter}"),
                "write the sign without a backslash",
            )),
            _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => known(letter),
            _ => Err(construct(
                format!("\\{letter}"),
                "the escapes are \\\\d \\\\s \\\\w \\\\b \\\\A \\\\z \\\\pL \\\\x41 \\\\n and those of signs",
            )),
        }
    }

    fn hexadecimal(&mut self) -> Result<Escape, Re2Fault> {
        let digits = if let Some(rest) = self.rest.strip_prefix('{') {
            let (digits, rest) = rest.split_once('}').ok_or(Re2Fault::Open("\\x{"))?;
            self.rest = rest;
            digits
        } else {
            let digits = self.rest.get(..2).unwrap_or_default();
            self.rest = &self.rest[digits.len()..];
            digits
        };
        let all = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| all);
        let letter = number.and_then(char::from_u32).filter(char::is_ascii);
        letter
            .map(Escape::Letter)
            .ok_or_else(|| construct(format!("\\x{digits}"), "write two digits, \\\\x7f at most"))
    }

    fn property(&mut self) -> Result<Escape, Re2Fault> {
        const NAMES: [&str; 46] = [
            "C",
            "Cc",
            "Cf",
            "Co",
            "L",
            "Ll",
            "Lm",
            "Lo",
            "Lt",
            "Lu",
            "M",
            "Mc",
            "Me",
            "Mn",
            "N",
            "Nd",
            "Nl",
            "No",
            "P",
            "Pc",
            "Pd",
            "Pe",
            "Pf",
            "Pi",
            "Po",
            "Ps",
            "S",
            "Sc",
            "Sk",
            "Sm",
            "So",
            "Z",
            "Zl",
            "Zp",
            "Zs",
            "Arabic",
            "Cyrillic",
            "Devanagari",
            "Greek",
            "Hangul",
            "Han",
            "Hebrew",
            "Hiragana",
            "Katakana",
            "Latin",
            "Thai",
        ];
        let name = if let Some(rest) = self.rest.strip_prefix('{') {
            let (name, rest) = rest.split_once('}').ok_or(Re2Fault::Open("\\p{"))?;
            self.rest = rest;
            name
        } else {
            let name = self.rest.get(..1).unwrap_or_default();
            self.rest = &self.rest[name.len()..];
            name
        };
        if NAMES.contains(&name) {
            return Ok(Escape::Property);
        }
        Err(construct(
            format!("\\p{{{name}}}"),
            "write a general category (L, Lu, Nd …) or a common script, as Unicode spells it",
        ))
    }
}

fn construct(text: String, advice: &'static str) -> Re2Fault {
    Re2Fault::Construct { text, advice }
}

struct Operator<'a> {
    text: &'a str,
    /// How many copies of what is repeated a program has.
    copies: usize,
    /// The same, as far as they count for the limit of repetitions.
    counted: usize,
    extra: usize,
}

enum Escape {
    Letter(char),
    Set(Box<Set>),
    /// A property of Unicode.
    Property,
    /// A place in the text: no letter is taken.
    Place,
}

/// The letters of a class, as far as they are in Latin-1, in which Envoy compiles.
struct Set([bool; 256]);

impl Default for Set {
    fn default() -> Self {
        Self([false; 256])
    }
}

impl Set {
    fn of_escape(letter: char) -> Self {
        let mut set = Self::default();
        for octet in 0..=255_u8 {
            let holds = match letter.to_ascii_lowercase() {
                'd' => octet.is_ascii_digit(),
                's' => matches!(octet, b'\t' | b'\n' | 0x0c | b'\r' | b' '),
                _ => octet.is_ascii_alphanumeric() || octet == b'_',
            };
            set.0[usize::from(octet)] = holds != letter.is_ascii_uppercase();
        }
        set
    }

    fn add(&mut self, other: &Self) {
        for (bit, other) in self.0.iter_mut().zip(other.0) {
            *bit |= other;
        }
    }

    fn add_range(&mut self, low: char, high: char) {
        for letter in u32::from(low)..=u32::from(high).min(255) {
            self.0[letter as usize] = true;
        }
    }

    /// Roughly: what counts is how many ranges there are.
    fn add_named(&mut self, name: &str) {
        let (low, high) = match name {
            "digit" => ('0', '9'),
            "lower" => ('a', 'z'),
            "upper" => ('A', 'Z'),
            _ => ('!', '~'),
        };
        self.add_range(low, high);
    }
}

/// An instruction a range; one for a range of letters in both cases.
fn of_set(set: &Set) -> Part {
    let mut set = set.0;
    let lower = usize::from(b'a')..=usize::from(b'z');
    if lower.clone().all(|at| set[at] == set[at - 32]) && lower.clone().any(|at| set[at]) {
        lower.for_each(|at| set[at - 32] = false);
    }
    let mut ranges = 0;
    let mut before = false;
    for bit in set {
        ranges += usize::from(bit && !before);
        before = bit;
    }
    Part {
        size: ranges.max(1),
        repeats: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/regexes.md` says where the expressions and their marks are from.
    #[test]
    fn takes_what_every_engine_takes_alike_and_nothing_else() {
        let mut seen = [0, 0];
        for line in include_str!("../../tests/regexes.txt").lines() {
            let (mark, text) = line.split_once(' ').unwrap();
            let rust = corewire_mesh::config::Regex::new(text).is_ok();
            let by_both = mark != "envoy-refuses" && rust;
            let taken = check(text);
            // What both take and read differently is not taken.
            assert_eq!(
                by_both && mark != "differs",
                taken.is_ok(),
                "{text}: {taken:?}"
            );
            seen[usize::from(taken.is_ok())] += 1;
        }
        assert!(seen[0] > 40 && seen[1] > 40, "{seen:?}");
    }

    #[test]
    fn says_what_to_write() {
        for (text, said) in [
            ("a**", "** repeats nothing, or a repetition"),
            (
                "(?x)a",
                "(?…x is not taken alike by all clients (RE2 and Rust)",
            ),
            (
                r"\Qa\E",
                r"\Q is not taken alike by all clients (RE2 and Rust)",
            ),
            (
                "[a&&b]",
                "&& in a class is not taken alike by all clients (RE2 and Rust)",
            ),
            ("[a-z]{200}", "it compiles to 204 instructions at least"),
            ("a{1001}", "it repeats more than 1000 times"),
            ("(a", "a group is not closed"),
        ] {
            assert_eq!(check(text).unwrap_err().to_string(), said);
        }
        assert_eq!(check(&"(".repeat(2000)), Err(Re2Fault::TooDeep));
    }

    proptest::proptest! {
        #[test]
        fn anything_is_checked(text in ".{0,60}", signs in r"[()\[\]{}*+?|\\^$a1,:<>P-]{0,30}") {
            let _ = check(&text);
            let _ = check(&signs);
        }
    }
}
