//! The fields of one line, taken one after the other.

use super::fault::{Fault, FaultKind, Remark, RemarkKind};
use super::names::{Groups, Meids, Senders};
use super::{
    MAX_GROUP_ENDPOINTS, MAX_GROUPS, MAX_MEIDS, MAX_NAME_OCTETS, MAX_RECORD_OCTETS, MAX_SENDERS,
    Target,
};

/// Instead of groups: by the managed element.
const BY_MEID: &str = "%meid";

/// The fields of a line that have not been taken yet.
pub(super) struct Fields<'a> {
    /// The line without its comment.
    line: &'a str,
    kind: &'a str,
    /// Where the next field begins; beyond the line when there is none.
    next: usize,
    /// Where the field that was taken last begins.
    last: usize,
    remark: Option<Remark>,
}

impl<'a> Fields<'a> {
    /// `None` when the line is blank or a comment.
    pub(super) fn of(line: &'a [u8]) -> Result<Option<Self>, Box<Fault>> {
        if line.len() > MAX_RECORD_OCTETS {
            return Err(Fault::at(1, FaultKind::RecordTooLong, line));
        }
        let line = &line[..comment(line)];
        if line.is_empty() {
            return Ok(None);
        }
        let line = str::from_utf8(line).map_err(|fault| {
            let at = fault.valid_up_to();
            Fault::at(at + 1, FaultKind::NotText, &line[at..])
        })?;
        let mut fields = Self {
            line,
            kind: "",
            next: 0,
            last: 0,
            remark: None,
        };
        fields.kind = fields.optional().unwrap_or("");
        if fields.kind.is_empty() {
            // The C library passes over such a line, which may be all blanks.
            return if fields.is_at_end() {
                Ok(None)
            } else {
                Err(fields.unknown())
            };
        }
        Ok(Some(fields))
    }

    /// The first field.
    pub(super) fn kind(&self) -> &'a str {
        self.kind
    }

    pub(super) fn remark(&self) -> Option<Remark> {
        self.remark
    }

    /// Notes what is strange about the field that was taken last.
    pub(super) fn note(&mut self, kind: RemarkKind) {
        self.note_at(self.last + 1, kind);
    }

    fn note_at(&mut self, column: usize, kind: RemarkKind) {
        self.remark.get_or_insert_with(|| Remark::at(column, kind));
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.next > self.line.len()
    }

    /// The next field without the blanks around it; `None` when it is empty or there is none.
    pub(super) fn optional(&mut self) -> Option<&'a str> {
        let rest = self.line.get(self.next..)?;
        let end = memchr::memchr(b'|', rest.as_bytes()).unwrap_or(rest.len());
        let field = rest[..end].trim_ascii_start();
        self.last = self.next + end - field.len();
        self.next += end + 1;
        let field = field.trim_ascii_end();
        (!field.is_empty()).then_some(field)
    }

    /// The next field, which must be there.
    pub(super) fn required(&mut self, missing: FaultKind) -> Result<&'a str, Box<Fault>> {
        if self.is_at_end() {
            return Err(Fault::at(self.line.len() + 1, missing, b""));
        }
        self.optional()
            .ok_or_else(|| Fault::at(self.last + 1, missing, b""))
    }

    /// The fault of a first field that names no record.
    pub(super) fn unknown(&self) -> Box<Fault> {
        let column = self.line.len() - self.line.trim_ascii_start().len() + 1;
        Fault::at(column, FaultKind::UnknownRecord, self.kind.as_bytes())
    }

    pub(super) fn count(&mut self) -> Result<Option<u32>, Box<Fault>> {
        self.optional()
            .map(|count| {
                count
                    .parse()
                    .map_err(|_| self.fault(count, FaultKind::BadCount))
            })
            .transpose()
    }

    /// A subscription. Senders that keep it unsigned write 4294967295 for -1.
    pub(super) fn sub_id(&mut self) -> Result<i32, Box<Fault>> {
        let field = self.required(FaultKind::NoSubId)?;
        integer(field)
            .or_else(|| field.parse().ok().map(u32::cast_signed))
            .ok_or_else(|| self.fault(field, FaultKind::NoSubId))
    }

    /// `type` or `type,sender,sender`.
    pub(super) fn type_and_senders(&mut self) -> Result<(i32, Senders<'a>), Box<Fault>> {
        let field = self.required(FaultKind::NoMessageType)?;
        let Some((message_type, senders)) = field.split_once(',') else {
            let message_type =
                integer(field).ok_or_else(|| self.fault(field, FaultKind::NoMessageType))?;
            return Ok((message_type, Senders::none()));
        };
        let message_type = integer(message_type.trim_ascii())
            .ok_or_else(|| self.fault(message_type, FaultKind::NoMessageType))?;
        let mut count = 0;
        for sender in senders.split(',') {
            count += 1;
            if count > MAX_SENDERS {
                return Err(self.fault(sender, FaultKind::TooManySenders));
            }
            self.name(sender, RemarkKind::EmptySender)?;
        }
        Ok((message_type, Senders::of(senders)))
    }

    /// `%meid`, or groups.
    pub(super) fn target(&mut self) -> Result<Target<'a>, Box<Fault>> {
        let field = self.required(FaultKind::NoTarget)?;
        if field == BY_MEID {
            return Ok(Target::Meid);
        }
        let (mut groups, mut endpoints, mut some) = (1, 1, false);
        let mut rest = field;
        loop {
            let end = memchr::memchr2(b',', b';', rest.as_bytes());
            let name = &rest[..end.unwrap_or(rest.len())];
            some |= self.endpoint(name)?;
            let Some(end) = end else { break };
            if rest.as_bytes()[end] == b';' {
                groups += 1;
                endpoints = 0;
            }
            endpoints += 1;
            rest = &rest[end + 1..];
            if groups > MAX_GROUPS {
                return Err(self.fault(rest, FaultKind::TooManyGroups));
            }
            if endpoints > MAX_GROUP_ENDPOINTS {
                return Err(self.fault(rest, FaultKind::TooManyEndpoints));
            }
        }
        if some {
            Ok(Target::Groups(Groups::of(field)))
        } else {
            Err(self.fault(field, FaultKind::NoTarget))
        }
    }

    pub(super) fn owner(&mut self) -> Result<&'a str, Box<Fault>> {
        let field = self.required(FaultKind::NoOwner)?;
        self.endpoint(field)?;
        Ok(field)
    }

    pub(super) fn meids(&mut self) -> Result<Meids<'a>, Box<Fault>> {
        let field = self.required(FaultKind::NoMeids)?;
        let meids = Meids::of(field);
        for (count, meid) in meids.iter().enumerate() {
            if count >= MAX_MEIDS {
                return Err(self.fault(meid, FaultKind::TooManyMeids));
            }
            if meid.len() > MAX_NAME_OCTETS {
                return Err(self.fault(meid, FaultKind::NameTooLong));
            }
            // Messages carry any octets here, but a text cannot hold all of them.
            if meid.starts_with('#') || meid.bytes().any(|octet| octet.is_ascii_control()) {
                return Err(self.fault(meid, FaultKind::BadName));
            }
        }
        Ok(meids)
    }

    /// Checks an endpoint's name; `false` when it is empty.
    fn endpoint(&mut self, name: &'a str) -> Result<bool, Box<Fault>> {
        if !self.name(name, RemarkKind::EmptyEndpoint)? {
            return Ok(false);
        }
        let trimmed = name.trim_ascii();
        if trimmed == BY_MEID {
            return Err(self.fault(name, FaultKind::MeidNotAlone));
        }
        if memchr::memchr(b':', trimmed.as_bytes()).is_none() {
            self.note_at(self.column(name), RemarkKind::NoPort);
        }
        Ok(true)
    }

    /// Checks a name, which may have blanks around it; `false` when it is empty.
    fn name(&mut self, name: &'a str, empty: RemarkKind) -> Result<bool, Box<Fault>> {
        let trimmed = name.trim_ascii();
        if trimmed.is_empty() {
            self.note_at(self.column(name), empty);
            return Ok(false);
        }
        if trimmed.len() > MAX_NAME_OCTETS {
            return Err(self.fault(trimmed, FaultKind::NameTooLong));
        }
        if is_name(trimmed) {
            Ok(true)
        } else {
            Err(self.fault(trimmed, FaultKind::BadName))
        }
    }

    /// The fault of a part of this line.
    fn fault(&self, part: &str, kind: FaultKind) -> Box<Fault> {
        let trimmed = part.trim_ascii();
        let part = if trimmed.is_empty() { part } else { trimmed };
        Fault::at(self.column(part), kind, trimmed.as_bytes())
    }

    /// Where a part of this line begins, counted from 1.
    fn column(&self, part: &str) -> usize {
        // Both lie in the same text, so the distance of their addresses is that in the text.
        (part.as_ptr().addr() - self.line.as_ptr().addr()) + 1
    }
}

/// Whether it is a name that can stand anywhere: after a blank a `#` would begin a comment.
fn is_name(name: &str) -> bool {
    let visible = name
        .bytes()
        .fold(true, |fine, octet| fine & octet.is_ascii_graphic());
    visible && !name.starts_with('#')
}

/// Where a comment begins, or the line ends: a `#` is one at the beginning of a word only.
fn comment(line: &[u8]) -> usize {
    memchr::memchr_iter(b'#', line)
        .find(|at| *at == 0 || line[at - 1].is_ascii_whitespace())
        .unwrap_or(line.len())
}

/// A number, as short and unmistakable as it can be: digits, with a minus in front or not.
fn integer(field: &str) -> Option<i32> {
    field.parse().ok()
}
