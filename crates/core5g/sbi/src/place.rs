//! Where in a JSON text a decoder stopped: as a JSON pointer (RFC 6901), which is how problem documents
//! name what is wrong (TS 29.571, 5.2.4.2).

/// Names and numbers that a pointer has at most; deeper ones are cut.
const MAX_DEPTH: usize = 32;

/// The member or element that stands at this line and column (from 1, as serde_json counts them, in
/// octets). Where an object or array has just ended, that one.
pub(super) fn pointer_at(text: &[u8], line: usize, column: usize) -> String {
    let begin = match line {
        0 | 1 => 0,
        _ => {
            let ends = text
                .iter()
                .enumerate()
                .filter(|(_, octet)| **octet == b'\n');
            ends.map(|(at, _)| at + 1).nth(line - 2).unwrap_or(0)
        }
    };
    let end = (begin + column).min(text.len());
    Walk::default().over(&text[..end])
}

enum Level {
    /// The member that is being read.
    Object(Option<String>),
    /// The element that is being read.
    Array(usize),
}

#[derive(Default)]
struct Walk {
    levels: Vec<Level>,
    /// An object's name may come next, not a value.
    wants_name: bool,
}

impl Walk {
    fn over(mut self, text: &[u8]) -> String {
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'{' => {
                    self.levels.push(Level::Object(None));
                    self.wants_name = true;
                }
                b'[' => {
                    self.levels.push(Level::Array(0));
                    self.wants_name = false;
                }
                // The one that ends here is what is wrong.
                b'}' | b']' if at + 1 == text.len() => self.leave_open(),
                b'}' | b']' => {
                    self.levels.pop();
                    self.wants_name = false;
                }
                b',' => match self.levels.last_mut() {
                    Some(Level::Array(number)) => *number += 1,
                    Some(Level::Object(_)) => self.wants_name = true,
                    None => {}
                },
                b'"' => {
                    let length = string(&text[at + 1..]);
                    let name = &text[at + 1..(at + 1 + length).min(text.len())];
                    if self.wants_name
                        && let Some(Level::Object(member)) = self.levels.last_mut()
                    {
                        *member = Some(String::from_utf8_lossy(name).into_owned());
                        self.wants_name = false;
                    }
                    at += length + 1;
                }
                _ => {}
            }
            at += 1;
        }
        self.pointer()
    }

    fn leave_open(&mut self) {
        // Of the object itself no member is meant.
        if let Some(level) = self.levels.last_mut() {
            *level = Level::Object(None);
        }
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for level in self.levels.iter().take(MAX_DEPTH) {
            match level {
                Level::Object(None) => {}
                Level::Object(Some(name)) => {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                }
                Level::Array(number) => pointer.push_str(&format!("/{number}")),
            }
        }
        pointer
    }
}

/// Octets of a string up to the quote that ends it.
fn string(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "it is only read")]
        list: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[expect(dead_code, reason = "it is only read")]
        number: u8,
        #[expect(dead_code, reason = "it is only read")]
        name: String,
    }

    fn place(text: &str) -> String {
        let error = serde_json::from_str::<Outer>(text).unwrap_err();
        pointer_at(text.as_bytes(), error.line(), error.column())
    }

    #[test]
    fn a_decoder_s_place_is_a_pointer() {
        for (text, pointer) in [
            (
                r#"{"list":[{"number":1,"name":"a"},{"number":"x","name":"b"}]}"#,
                "/list/1/number",
            ),
            (r#"{"list":[{"number":300,"name":"a"}]}"#, "/list/0/number"),
            ("{\n \"list\": [\n  {\"number\": 1}\n ]\n}", "/list/0"),
            (
                r#"{"li~st":[{"a/b":"{\"","x":[1,{"y":2}]}],"list":7}"#,
                "/list",
            ),
            (r#"{"other":1}"#, ""),
        ] {
            assert_eq!(place(text), pointer, "{text}");
        }
    }

    #[test]
    fn whatever_stands_there_it_ends() {
        for text in [
            "",
            "\"",
            "\"\\",
            "[[[[",
            "}}}}",
            "{\"a",
            ",,,\"\\\"",
            "\n\n",
        ] {
            for line in 0..4 {
                for column in 0..8 {
                    let _anything = pointer_at(text.as_bytes(), line, column);
                }
            }
        }
    }
}
