//! `name=value; name="quoted"; ...`: what most of the headers are made of.

use super::{HeaderFault, MAX_VALUE, is_token, split_outside_quotes};
use std::fmt;
use std::str::FromStr;

/// Parameters that are read of one header.
const MAX_PARAMETERS: usize = 32;

/// Named values in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, Value)>);

/// A value, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// `instance-1`.
    Token(String),
    /// `"http://host/path"`.
    Quoted(String),
}

impl Value {
    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::Token(text) | Self::Quoted(text) => text,
        }
    }
}

impl Parameters {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// With one more, if its value can be written as a token.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        if is_token(name) && is_token(value) {
            self.0
                .push((name.to_owned(), Value::Token(value.to_owned())));
        }
        self
    }

    /// With one more in quotes, if it can stand there.
    #[must_use]
    pub fn with_quoted(mut self, name: &str, value: &str) -> Self {
        if is_token(name) && may_be_quoted(value) {
            self.0
                .push((name.to_owned(), Value::Quoted(value.to_owned())));
        }
        self
    }

    /// What is said of this name; names are not case-sensitive.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.text())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, value.text()))
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first away, if it has this name.
    pub(super) fn take_first(&mut self, name: &str) -> Option<String> {
        let (found, _) = self.0.first()?;
        if !found.eq_ignore_ascii_case(name) {
            return None;
        }
        match self.0.remove(0).1 {
            Value::Token(text) | Value::Quoted(text) => Some(text),
        }
    }
}

fn may_be_quoted(text: &str) -> bool {
    text.bytes()
        .all(|octet| matches!(octet, b' '..=b'~') && !matches!(octet, b'"' | b'\\'))
}

impl FromStr for Parameters {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        if text.len() > MAX_VALUE {
            return Err(HeaderFault);
        }
        let mut parameters = Vec::new();
        for part in split_outside_quotes(text, b';') {
            let (name, value) = part.split_once('=').ok_or(HeaderFault)?;
            let (name, value) = (name.trim_end(), value.trim_start());
            let quoted = value.strip_prefix('"').map(|rest| rest.strip_suffix('"'));
            let value = match quoted {
                Some(Some(text)) if may_be_quoted(text) => Value::Quoted(text.to_owned()),
                None if is_token(value) => Value::Token(value.to_owned()),
                _ => return Err(HeaderFault),
            };
            if !is_token(name) || parameters.len() == MAX_PARAMETERS {
                return Err(HeaderFault);
            }
            parameters.push((name.to_owned(), value));
        }
        Ok(Self(parameters))
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            match value {
                Value::Token(text) => write!(f, "{separator}{name}={text}")?,
                Value::Quoted(text) => write!(f, "{separator}{name}=\"{text}\"")?,
            }
        }
        Ok(())
    }
}
