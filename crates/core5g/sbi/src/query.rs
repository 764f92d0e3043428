//! Query parameters (TS 29.501, 5.3.13): `name=value` pairs, lists with commas, objects as JSON.

use super::percent;
use super::problem::Problem;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Pairs that are read of one query; more are refused.
pub(crate) const MAX_PARAMETERS: usize = 128;

/// The parameters of one request, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Reads what follows the question mark.
    ///
    /// # Errors
    /// 400, when an escape is broken or there are too many parameters.
    pub fn parse(text: &'a str) -> Result<Self, Problem> {
        Self::parse_with(text, percent::decode)
    }

    /// Reads a form (`application/x-www-form-urlencoded`).
    ///
    /// # Errors
    /// As [`Query::parse`].
    pub fn parse_form(text: &'a str) -> Result<Self, Problem> {
        Self::parse_with(text, percent::decode_form)
    }

    fn parse_with(
        text: &'a str,
        decode: fn(&str) -> Option<Cow<'_, str>>,
    ) -> Result<Self, Problem> {
        let mut pairs = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            if pairs.len() == MAX_PARAMETERS {
                let most = format!("more than {MAX_PARAMETERS} query parameters");
                return Err(Problem::new(400, "INVALID_QUERY_PARAM").detail(most));
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                return Err(Problem::new(400, "INVALID_QUERY_PARAM")
                    .invalid(name, "its escapes are no UTF-8"));
            };
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// The parameters in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The first value of this name.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value)
    }

    /// The value of this name, which the specification makes mandatory.
    ///
    /// # Errors
    /// 400 `MANDATORY_QUERY_PARAM_MISSING`.
    pub fn required(&self, name: &str) -> Result<&str, Problem> {
        let missing =
            || Problem::new(400, "MANDATORY_QUERY_PARAM_MISSING").invalid(name, "it is mandatory");
        self.one(name).ok_or_else(missing)
    }

    /// All members of the lists of this name: with commas, repeated, or both.
    pub fn list<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.iter()
            .filter(move |(found, _)| *found == name)
            .flat_map(|(_, value)| value.split(','))
            .map(str::trim)
            .filter(|member| !member.is_empty())
    }

    /// The value of this name, read as its type is written in text.
    ///
    /// # Errors
    /// 400 `OPTIONAL_QUERY_PARAM_INCORRECT`.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        self.one(name)
            .map(|value| value.parse().map_err(|_| incorrect(name)))
            .transpose()
    }

    /// The value of this name, read as JSON.
    ///
    /// # Errors
    /// 400 `OPTIONAL_QUERY_PARAM_INCORRECT`.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Problem> {
        self.one(name)
            .map(|value| serde_json::from_str(value).map_err(|_| incorrect(name)))
            .transpose()
    }
}

fn incorrect(name: &str) -> Problem {
    Problem::new(400, "OPTIONAL_QUERY_PARAM_INCORRECT").invalid(name, "its value cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_lists_are_read() {
        let query = Query::parse("a=1&b=x%20y,z&b=w&c&&d=%7B%22sst%22%3A1%7D").unwrap();
        assert_eq!(query.one("a"), Some("1"));
        assert_eq!(query.parsed::<u32>("a").unwrap(), Some(1));
        assert_eq!(query.list("b").collect::<Vec<_>>(), ["x y", "z", "w"]);
        assert_eq!(query.one("c"), Some(""));
        let json: serde_json::Value = query.json("d").unwrap().unwrap();
        assert_eq!(json["sst"], 1);
        assert_eq!(query.required("x").unwrap_err().status(), 400);
        assert!(query.parsed::<u32>("c").is_err());
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert!(Query::parse("a=%f").is_err());
        let many = "a=1&".repeat(MAX_PARAMETERS + 1);
        assert!(Query::parse(&many).is_err());
        assert!(Query::parse(&many[4..]).is_ok());
    }
}
