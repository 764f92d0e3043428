//! Route tables as text: what a seed file holds and a route manager sends.
//!
//! ```text
//! newrt | start | table-7
//! mse | 12010,gnb-sim:4560 | -1 | xapp-a:4560,xapp-b:4560;monitor:4560
//! mse | 12011 | 3 | %meid
//! newrt | end | 2
//! ```
//!
//! A record is a line; its fields stand between `|`. Like the C library this goes by the first
//! letter of the first field, takes LF, CRLF and CR for the end of a record, and a `#` at the
//! beginning of a word for the end of what counts. Both skip a record that they cannot read; this
//! reports where it stands and what was expected there ([`Fault`]), and whether the count at the
//! table's end includes it ([`Counted`]). What is taken but can hardly be meant is a [`Remark`].
//!
//! Only the text is read here: what records mean together is `corewire-rmr`'s.

mod fault;
mod field;
mod names;

pub use fault::{Counted, Fault, FaultKind, Place, Remark, RemarkKind};
pub use names::{Group, Groups, Meids, Senders};

use field::Fields;

/// Octets of one record. The C library's own limits on names and lists stay far below.
pub const MAX_RECORD_OCTETS: usize = 256 << 10;

/// Octets of one name: a host name of 255, a colon and a port.
pub const MAX_NAME_OCTETS: usize = 261;

/// Groups of one entry. The C library splits 64 and takes the rest for one name.
pub const MAX_GROUPS: usize = 256;

/// Endpoints of one group. The C library drops what comes after 32.
pub const MAX_GROUP_ENDPOINTS: usize = 1024;

/// Senders that one entry is for. The C library looks at 126 of them.
pub const MAX_SENDERS: usize = 1024;

/// Managed elements of one record. The C library splits 128 and takes the rest for one name.
pub const MAX_MEIDS: usize = 4096;

/// One record of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a table's builder must handle each"
)]
pub enum Record<'a> {
    /// `newrt`: a table that replaces all routes.
    NewTable(Edge<'a>),
    /// `updatert`: changes to the routes that are live.
    Update(Edge<'a>),
    /// `meid_map`: changes to who owns which managed element.
    MeidMap(Edge<'a>),
    /// `rte` and `mse`: where messages of a type go.
    Route(Route<'a>),
    /// `del`: takes an entry away.
    Delete(Delete<'a>),
    /// `mme_ar`: managed elements and the endpoint that owns them from now on.
    MeidAdd {
        /// The endpoint.
        owner: &'a str,
        /// The managed elements.
        meids: Meids<'a>,
    },
    /// `mme_del`: managed elements that nobody owns any more.
    MeidDelete {
        /// The managed elements.
        meids: Meids<'a>,
    },
}

/// The beginning or the end of a table or of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Edge<'a> {
    /// Records follow.
    Start {
        /// What the acknowledgement calls it.
        id: Option<&'a str>,
    },
    /// All records have come.
    End {
        /// How many there were.
        count: Option<u32>,
    },
}

/// Where messages of a type go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the record")]
pub struct Route<'a> {
    /// The messages' type.
    pub message_type: i32,
    /// Their subscription, or -1 for those that have no entry of their own.
    pub sub_id: i32,
    /// Whom the entry is for.
    pub senders: Senders<'a>,
    /// Where they go.
    pub target: Target<'a>,
}

/// An entry that is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the record")]
pub struct Delete<'a> {
    /// The messages' type.
    pub message_type: i32,
    /// Their subscription, or -1.
    pub sub_id: i32,
    /// Whom the record is for.
    pub senders: Senders<'a>,
}

/// Where messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a table's builder must handle each"
)]
pub enum Target<'a> {
    /// To one endpoint of each group.
    Groups(Groups<'a>),
    /// To whoever owns the managed element that the message names.
    Meid,
}

/// A record, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what there is to say of a line")]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: u32,
    /// What it says.
    pub record: Record<'a>,
    /// What is strange about it; the first, if there are several.
    pub remark: Option<Remark>,
}

/// The records of a text, one after the other; blank lines and comments are passed over. After a
/// fault it goes on with the next line.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
    line: u32,
}

impl<'a> Records<'a> {
    /// The records of a whole text. It ends at a NUL, if there is one: senders in C include theirs.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self::from_line(text, 1)
    }

    /// The records of a text whose first line is counted as `line`: a table may come in several
    /// messages.
    #[must_use]
    pub fn from_line(text: &'a [u8], line: u32) -> Self {
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        Self {
            rest: &text[..end],
            line,
        }
    }

    /// The number of the line that comes next.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Line<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', self.rest);
            let line = &self.rest[..end.unwrap_or(self.rest.len())];
            let (number, after) = (self.line, end.map_or(self.rest.len(), |end| end + 1));
            // CRLF ends one record, not two.
            let crlf = line.len() + 1 < self.rest.len() && &self.rest[line.len()..][..2] == b"\r\n";
            self.rest = &self.rest[after + usize::from(crlf)..];
            self.line = self.line.saturating_add(1);
            match record(line) {
                Ok(None) => {}
                Ok(Some((record, remark))) => {
                    return Some(Ok(Line {
                        number,
                        record,
                        remark: remark.map(|remark| remark.on(number)),
                    }));
                }
                Err(mut fault) => {
                    fault.place.line = number;
                    fault.counted = Counted::of(line);
                    return Some(Err(*fault));
                }
            }
        }
        None
    }
}

/// What a line says, and what is strange about it; `None` for a blank one or a comment. Places are
/// in the line alone.
fn record(line: &[u8]) -> Result<Option<(Record<'_>, Option<Remark>)>, Box<Fault>> {
    let Some(mut fields) = Fields::of(line)? else {
        return Ok(None);
    };
    let kind = fields.kind();
    let record = match kind.as_bytes()[0] {
        b'n' => Record::NewTable(edge(&mut fields)?),
        b'u' => Record::Update(edge(&mut fields)?),
        b'r' => Record::Route(rte(&mut fields)?),
        b'd' => {
            let (message_type, senders) = fields.type_and_senders()?;
            Record::Delete(Delete {
                message_type,
                sub_id: fields.sub_id()?,
                senders,
            })
        }
        b'm' => match kind {
            "mse" => {
                let (message_type, senders) = fields.type_and_senders()?;
                Record::Route(Route {
                    message_type,
                    sub_id: fields.sub_id()?,
                    senders,
                    target: fields.target()?,
                })
            }
            "meid_map" => Record::MeidMap(edge(&mut fields)?),
            "mme_ar" => Record::MeidAdd {
                owner: fields.owner()?,
                meids: fields.meids()?,
            },
            "mme_del" => Record::MeidDelete {
                meids: fields.meids()?,
            },
            _ => return Err(fields.unknown()),
        },
        _ => return Err(fields.unknown()),
    };
    Ok(Some((record, fields.remark())))
}

/// `start [| id]` or `end [| count]`. Like the C library this takes any other word for a start.
fn edge<'a>(fields: &mut Fields<'a>) -> Result<Edge<'a>, Box<Fault>> {
    Ok(match fields.required(FaultKind::NoEdge)? {
        "end" => Edge::End {
            count: fields.count()?,
        },
        word => {
            if !word.starts_with('s') {
                fields.note(RemarkKind::TakenForStart);
            }
            Edge::Start {
                id: fields.optional(),
            }
        }
    })
}

/// The old form has the subscription last, if at all.
fn rte<'a>(fields: &mut Fields<'a>) -> Result<Route<'a>, Box<Fault>> {
    let (message_type, senders) = fields.type_and_senders()?;
    let target = fields.target()?;
    let sub_id = if fields.is_at_end() {
        super::UNSET
    } else {
        fields.sub_id()?
    };
    Ok(Route {
        message_type,
        sub_id,
        senders,
        target,
    })
}

#[cfg(test)]
mod tests;
