//! What a library and a route manager tell each other beside the table itself: message types 21
//! and 22. Both are a line of text that ends with a NUL, as the C library sends them.

use std::fmt;

/// Writes the payload of a request for a table: who asks, and when.
pub fn write_request(name: &str, unix_seconds: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{name} ts={unix_seconds}\n\0").as_bytes());
}

/// What became of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields of the message")]
pub struct TableState {
    /// Whether it is live now.
    pub taken: bool,
    /// What its start called it.
    pub id: Option<String>,
    /// Why it was not taken.
    pub reason: Option<String>,
}

/// Stands for the identifier of a table that had none.
const NO_ID: &str = "<id-missing>";

/// The longest payload: that of the C library's buffer.
pub const MAX_STATE_OCTETS: usize = 1024;

impl TableState {
    /// Writes the payload; what does not fit into [`MAX_STATE_OCTETS`] is cut.
    pub fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let word = if self.taken { "OK" } else { "ERR" };
        let id = self.id.as_deref().unwrap_or(NO_ID);
        let reason = self.reason.as_deref().unwrap_or("");
        out.extend(
            format!("{word} {id} {reason}")
                .bytes()
                // It is one line, whatever a table was called.
                .map(|octet| {
                    if octet.is_ascii_control() {
                        b' '
                    } else {
                        octet
                    }
                })
                .take(MAX_STATE_OCTETS - 2),
        );
        debug_assert!(out.len() - begin <= MAX_STATE_OCTETS - 2);
        out.extend_from_slice(b"\n\0");
    }

    /// Reads a payload; `None` when it is none.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let end = memchr::memchr3(0, b'\n', b'\r', payload).unwrap_or(payload.len());
        let text = str::from_utf8(&payload[..end]).ok()?.trim_ascii();
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let taken = match word {
            "OK" => true,
            "ERR" => false,
            _ => return None,
        };
        let (id, reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(Self {
            taken,
            id: given(id).filter(|id| id != NO_ID),
            reason: given(reason.trim_ascii()),
        })
    }
}

impl fmt::Display for TableState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_deref().unwrap_or(NO_ID);
        match (&self.reason, self.taken) {
            (_, true) => write!(f, "table {id} was taken"),
            (None, false) => write!(f, "table {id} was refused"),
            (Some(reason), false) => write!(f, "table {id} was refused: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(state: &TableState) -> String {
        let mut out = Vec::new();
        state.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn requests_and_states_read_as_the_c_library_writes_them() {
        let mut out = Vec::new();
        write_request("xapp:4560", 1_600_000_000, &mut out);
        assert_eq!(out, b"xapp:4560 ts=1600000000\n\0");
        let mut state = TableState {
            taken: true,
            id: None,
            reason: None,
        };
        assert_eq!(text(&state), "OK <id-missing> \n\0");
        state.id = Some("t7".to_owned());
        state.taken = false;
        state.reason = Some("table not complete".to_owned());
        assert_eq!(text(&state), "ERR t7 table not complete\n\0");
    }

    #[test]
    fn what_is_written_is_read() {
        for (taken, id, reason) in [
            (true, None, None),
            (true, Some("a"), None),
            (false, None, Some("no end")),
            (false, Some("b"), Some("two words")),
        ] {
            let state = TableState {
                taken,
                id: id.map(str::to_owned),
                reason: reason.map(str::to_owned),
            };
            assert_eq!(
                TableState::read(text(&state).as_bytes()).as_ref(),
                Some(&state)
            );
        }
        for other in [&b""[..], b"NO way", b"OKAY", b"\xff\xff"] {
            assert_eq!(TableState::read(other), None);
        }
    }

    #[test]
    fn a_long_reason_is_cut_and_stays_one_line() {
        let state = TableState {
            taken: false,
            id: None,
            reason: Some("a\nb".repeat(1000)),
        };
        let text = text(&state);
        assert_eq!(text.len(), MAX_STATE_OCTETS);
        assert!(text.ends_with("\n\0"));
        assert_eq!(text.lines().count(), 2);
    }
}
