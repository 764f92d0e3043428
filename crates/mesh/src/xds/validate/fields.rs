//! What is done with each field of a resource: obeyed, refused, reported, or harmless with a reason.
//!
//! The octets of a resource are walked beside the decoded message, so that fields are seen which this
//! project's own protocol files do not have. [`table`] has a row for every field of every message that
//! is read; a field without a row is newer than the table and reported by its number.

mod table;
#[cfg(test)]
mod tests;

use super::report::{Path, Report};
use corewire_xds::ResourceType;

/// Messages within messages that are followed. Policies of load balancing may hold others; reading
/// them ends earlier.
const MAX_DEPTH: usize = 64;

/// Fields of one message that are counted while it is walked; no message in the table has more.
const MAX_FIELDS: usize = 64;

/// A message and what is done with each of its fields.
pub(super) struct Message {
    /// Its full names: messages with the same fields may share a table.
    names: &'static [&'static str],
    fields: &'static [Field],
}

/// A row of the table.
pub(super) struct Field {
    number: u32,
    name: &'static str,
    shape: Shape,
    treatment: Treatment,
    /// Zero and false are as if it were absent.
    unless_zero: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    Repeated,
    /// Keys are texts, values are messages.
    Map,
}

/// What is done with a field.
enum Treatment {
    /// It is carried out.
    Obeyed,
    /// It is a message that is read; its fields have rows of their own.
    Within(&'static Message),
    /// It holds one of these messages, whose fields have rows of their own; what becomes of others is
    /// decided where it is read.
    Typed(&'static [&'static Message]),
    /// Its value decides: the text says how.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the text is for the documentation")
    )]
    Judged(&'static str),
    /// The resource is refused: without the field calls would go to a wrong place, or unprotected.
    Refused(&'static str),
    /// The resource is used without it, and the state says so.
    Reported(&'static str),
    /// It changes nothing for a caller: the text says why.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the text is for the documentation")
    )]
    Harmless(&'static str),
}

impl Field {
    const fn new(number: u32, name: &'static str, treatment: Treatment) -> Self {
        Self {
            number,
            name,
            shape: Shape::One,
            treatment,
            unless_zero: false,
        }
    }

    const fn obeyed(number: u32, name: &'static str) -> Self {
        Self::new(number, name, Treatment::Obeyed)
    }

    const fn within(number: u32, name: &'static str, message: &'static Message) -> Self {
        Self::new(number, name, Treatment::Within(message))
    }

    const fn typed(number: u32, name: &'static str, messages: &'static [&'static Message]) -> Self {
        Self::new(number, name, Treatment::Typed(messages))
    }

    const fn judged(number: u32, name: &'static str, how: &'static str) -> Self {
        Self::new(number, name, Treatment::Judged(how))
    }

    const fn refused(number: u32, name: &'static str, why: &'static str) -> Self {
        Self::new(number, name, Treatment::Refused(why))
    }

    const fn reported(number: u32, name: &'static str, why: &'static str) -> Self {
        Self::new(number, name, Treatment::Reported(why))
    }

    const fn harmless(number: u32, name: &'static str, why: &'static str) -> Self {
        Self::new(number, name, Treatment::Harmless(why))
    }

    const fn repeated(mut self) -> Self {
        self.shape = Shape::Repeated;
        self
    }

    const fn map(mut self) -> Self {
        self.shape = Shape::Map;
        self
    }

    const fn unless_zero(mut self) -> Self {
        self.unless_zero = true;
        self
    }
}

/// Adds to the report what the table says of the fields that are present. The octets have been decoded
/// before; what cannot be read ends the walk.
pub(super) fn check(kind: ResourceType, octets: &[u8], report: &mut Report) {
    let message = match kind {
        ResourceType::Listener => &table::LISTENER,
        ResourceType::Route => &table::ROUTES,
        ResourceType::Cluster => &table::CLUSTER,
        ResourceType::Endpoints => &table::ASSIGNMENT,
    };
    walk(octets, message, &Path::ROOT, MAX_DEPTH, report);
}

fn walk(octets: &[u8], message: &Message, path: &Path<'_>, depth: usize, report: &mut Report) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let mut counts = [0_usize; MAX_FIELDS];
    let mut rest = octets;
    while let Some((number, value, after)) = next_field(rest) {
        rest = after;
        let mut rows = message.fields.iter().zip(&mut counts);
        let Some((field, count)) = rows.find(|(field, _)| field.number == number) else {
            let reason = format!("has field {number}, which is not known here");
            report.notice(path, reason);
            continue;
        };
        if matches!(
            field.treatment,
            Treatment::Refused(_) | Treatment::Reported(_)
        ) && (value.is_zero(field.unless_zero) || *count > 0)
        {
            continue;
        }
        *count += 1;
        look_at(field, *count - 1, value, path, depth, report);
    }
}

fn look_at(
    field: &Field,
    at: usize,
    value: Value<'_>,
    path: &Path<'_>,
    depth: usize,
    report: &mut Report,
) {
    match &field.treatment {
        Treatment::Obeyed | Treatment::Harmless(_) | Treatment::Judged(_) => {}
        Treatment::Refused(why) => report.fault(&path.field(field.name), *why),
        Treatment::Reported(why) => report.notice(&path.field(field.name), *why),
        Treatment::Within(_) | Treatment::Typed(_) => {
            let Value::Octets(octets) = value else {
                return;
            };
            match field.shape {
                Shape::One => descend(field, octets, &path.field(field.name), depth, report),
                Shape::Repeated => {
                    let path = path.index(field.name, at);
                    descend(field, octets, &path, depth, report);
                }
                Shape::Map => {
                    let key = part(octets, 1).and_then(|key| std::str::from_utf8(key).ok());
                    let path = path.key(field.name, key.unwrap_or_default());
                    let octets = part(octets, 2).unwrap_or_default();
                    descend(field, octets, &path, depth, report);
                }
            }
        }
    }
}

fn descend(field: &Field, octets: &[u8], path: &Path<'_>, depth: usize, report: &mut Report) {
    match &field.treatment {
        Treatment::Within(message) => walk(octets, message, path, depth, report),
        Treatment::Typed(messages) => {
            let url = part(octets, 1).and_then(|url| std::str::from_utf8(url).ok());
            let url = url.unwrap_or_default();
            let name = url.rsplit_once('/').map_or(url, |(_, name)| name);
            let mut known = messages.iter();
            if let Some(message) = known.find(|message| message.names.contains(&name)) {
                walk(
                    part(octets, 2).unwrap_or_default(),
                    message,
                    path,
                    depth,
                    report,
                );
            }
        }
        _ => {}
    }
}

/// A value on the wire.
#[derive(Clone, Copy)]
enum Value<'a> {
    /// A number; `true` when it is zero.
    Number {
        is_zero: bool,
    },
    Octets(&'a [u8]),
}

impl Value<'_> {
    /// Whether it is what the field has when it is absent. A message is that only where zero is as
    /// good as nothing (a wrapper, a duration).
    fn is_zero(self, empty_counts: bool) -> bool {
        match self {
            Self::Number { is_zero } => is_zero,
            Self::Octets(octets) => empty_counts && octets.is_empty(),
        }
    }
}

/// The last value of a message's field that holds octets.
fn part(mut octets: &[u8], wanted: u32) -> Option<&[u8]> {
    let mut found = None;
    while let Some((number, value, rest)) = next_field(octets) {
        octets = rest;
        if let (true, Value::Octets(value)) = (number == wanted, value) {
            found = Some(value);
        }
    }
    found
}

/// The next field of a message: number, value, and the octets behind it.
fn next_field(octets: &[u8]) -> Option<(u32, Value<'_>, &[u8])> {
    let (tag, rest) = varint(octets)?;
    let number = u32::try_from(tag >> 3).ok()?;
    let fixed = |length: usize| {
        let (value, rest) = rest.split_at_checked(length)?;
        let is_zero = value.iter().all(|octet| *octet == 0);
        Some((number, Value::Number { is_zero }, rest))
    };
    match tag & 7 {
        0 => {
            let (value, rest) = varint(rest)?;
            let is_zero = value == 0;
            Some((number, Value::Number { is_zero }, rest))
        }
        1 => fixed(8),
        2 => {
            let (length, rest) = varint(rest)?;
            let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some((number, Value::Octets(value), rest))
        }
        5 => fixed(4),
        _ => None,
    }
}

fn varint(octets: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, octet) in octets.iter().enumerate().take(10) {
        value |= u64::from(octet & 0x7f) << (7 * at).min(63);
        if *octet < 0x80 {
            return Some((value, &octets[at + 1..]));
        }
    }
    None
}
