//! Headers that say where a request goes, when somebody between has to find out.

use super::{DISCOVERY, HeaderFault, is_token, split_outside_quotes};
use crate::problem::append;
use corewire::Headers;
use std::fmt;
use std::str::FromStr;

/// `3gpp-Sbi-Target-apiRoot`: `http(s)://authority[prefix]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetApiRoot {
    /// Over TLS.
    pub secure: bool,
    /// `host[:port]`.
    pub authority: String,
    /// What stands in front of the path, with its slash; usually nothing.
    pub prefix: String,
}

impl FromStr for TargetApiRoot {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(HeaderFault)?;
        let secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(HeaderFault),
        };
        let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let prefix = prefix.trim_end_matches('/');
        let good = is_token(authority) && !authority.contains(['@', '?', '#']);
        if !good || !(prefix.is_empty() || is_token(prefix)) {
            return Err(HeaderFault);
        }
        Ok(Self {
            secure,
            authority: authority.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl fmt::Display for TargetApiRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.prefix)
    }
}

/// `3gpp-Sbi-Callback`: that a request is a notification, and of which kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// `Nnrf_NFManagement_NFStatusNotify` and the like (TS 29.500, annex B).
    pub kind: String,
    /// Version of the service's API.
    pub version: Option<u32>,
}

impl FromStr for Callback {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts
            .next()
            .filter(|kind| is_token(kind))
            .ok_or(HeaderFault)?;
        let version = parts
            .next()
            .map(|part| {
                let number = part.strip_prefix("apiversion=").ok_or(HeaderFault)?;
                let plain = number.bytes().all(|octet| octet.is_ascii_digit());
                number.parse().ok().filter(|_| plain).ok_or(HeaderFault)
            })
            .transpose()?;
        if parts.next().is_some() {
            return Err(HeaderFault);
        }
        Ok(Self {
            kind: kind.to_owned(),
            version,
        })
    }
}

impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        match self.version {
            Some(version) => write!(f, "; apiversion={version}"),
            None => Ok(()),
        }
    }
}

/// `3gpp-Sbi-Max-Forward-Hops`: how many more proxies may pass a request on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxForwardHops(pub u8);

impl FromStr for MaxForwardHops {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let (hops, node) = text.split_once(';').ok_or(HeaderFault)?;
        let hops = hops.trim();
        let plain =
            (1..=2).contains(&hops.len()) && hops.bytes().all(|octet| octet.is_ascii_digit());
        if !plain || node.trim() != "nodetype=scp" {
            return Err(HeaderFault);
        }
        hops.parse().map(Self).map_err(|_| HeaderFault)
    }
}

impl fmt::Display for MaxForwardHops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; nodetype=scp", self.0)
    }
}

/// `3gpp-Sbi-Nrf-Uri`: which NRF a proxy is to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NrfUri {
    /// Discovery.
    pub discovery: Option<String>,
    /// Management.
    pub management: Option<String>,
    /// Tokens.
    pub tokens: Option<String>,
}

impl FromStr for NrfUri {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let mut read = Self::default();
        for part in split_outside_quotes(text, b';') {
            let (name, value) = part.split_once(':').ok_or(HeaderFault)?;
            let place = match name.trim_end() {
                "nnrf-disc" => &mut read.discovery,
                "nnrf-nfm" => &mut read.management,
                "nnrf-oauth2" => &mut read.tokens,
                // `oauth2-requested-services` and what comes later.
                _ => continue,
            };
            let value = value.trim_start().strip_prefix('"');
            let value = value.and_then(|value| value.strip_suffix('"'));
            let plain = |value: &&str| {
                value
                    .bytes()
                    .all(|octet| octet.is_ascii_graphic() && octet != b'"')
            };
            *place = Some(value.filter(plain).ok_or(HeaderFault)?.to_owned());
        }
        if read == Self::default() {
            return Err(HeaderFault);
        }
        Ok(read)
    }
}

impl fmt::Display for NrfUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("nnrf-disc", &self.discovery),
            ("nnrf-nfm", &self.management),
            ("nnrf-oauth2", &self.tokens),
        ];
        let mut separator = "";
        for (name, uri) in parts {
            if let Some(uri) = uri {
                write!(f, "{separator}{name}: \"{uri}\"")?;
                separator = "; ";
            }
        }
        Ok(())
    }
}

/// The discovery headers of a request: names and values as the NRF's query has them (5.2.3.2.7).
pub fn discovery(headers: &Headers) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(DISCOVERY)?;
        Some((name, std::str::from_utf8(value).ok()?))
    })
}

/// Adds a discovery header.
pub fn put_discovery(headers: &mut Headers, parameter: &str, value: &str) {
    append(headers, &format!("{DISCOVERY}{parameter}"), value);
}
