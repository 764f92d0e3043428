//! The options, the same as those of the mesh's programs in C++ as far as the lab uses them.

use anyhow::{Context as _, bail};

pub(crate) const HELP: &str = "\
The mesh experiment's ends in hyper and tonic, and nghttp2's own tools behind the same options.

Usage: corewire-reference gateway --target HOST:PORT,... [options]
       corewire-reference replica [options]

  --kind hyper|tonic|nghttp2  what speaks (default hyper); nghttp2: h2load and nghttpd
  --target LIST               replicas, taken in turn
  --rate RATE|max             requests a second, open loop (default 1500), or a closed loop
  --in-flight N               requests in flight with --rate max (default 60)
  --payload OCTETS            of a request (default 1024)
  --duration SECONDS          measured (default 5)
  --warmup SECONDS            before that (default 1)
  --patience SECONDS          for the replicas to be reached (default 10)
  --connect N                 requests before the warm-up; h2load: connections (default 1)
  --ports N                   replica: listen at so many free ports, one thread for all (default 1)
  --json                      accepted; the output is always JSON lines

Prints JSON events as corewire-mesh-gateway and corewire-mesh-replica do.
";

/// Which end this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Gateway,
    Replica,
    /// Says that a replica listens, once it does: of a program that does not say so itself.
    Announce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Hyper,
    Tonic,
    /// `h2load` and `nghttpd`.
    Nghttp2,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) end: End,
    pub(crate) kind: Kind,
    pub(crate) target: Vec<String>,
    /// `None`: closed loop.
    pub(crate) rate: Option<f64>,
    pub(crate) in_flight: usize,
    pub(crate) payload: usize,
    pub(crate) duration: f64,
    pub(crate) warmup: f64,
    pub(crate) patience: f64,
    pub(crate) connect: u32,
    pub(crate) ports: u32,
}

impl Options {
    /// `None` when help was asked for.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> anyhow::Result<Option<Self>> {
        let mut words = words;
        let end = match words.next().as_deref() {
            Some("gateway") => End::Gateway,
            Some("replica") => End::Replica,
            Some("announce") => End::Announce,
            Some("--help") => return Ok(None),
            _ => bail!("gateway or replica? see --help"),
        };
        let mut options = Self {
            end,
            kind: Kind::Hyper,
            target: Vec::new(),
            rate: Some(1500.0),
            in_flight: 60,
            payload: 1024,
            duration: 5.0,
            warmup: 1.0,
            patience: 10.0,
            connect: 1,
            ports: 1,
        };
        while let Some(name) = words.next() {
            if name == "--help" {
                return Ok(None);
            }
            if name == "--json" {
                continue;
            }
            let value = words
                .next()
                .with_context(|| format!("{name} wants a value"))?;
            options
                .take(&name, &value)
                .with_context(|| format!("{name} {value}"))?;
        }
        if end != End::Replica && options.target.is_empty() {
            bail!("--target is missing, see --help");
        }
        Ok(Some(options))
    }

    fn take(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        match name {
            "--kind" => {
                self.kind = match value {
                    "hyper" => Kind::Hyper,
                    "tonic" => Kind::Tonic,
                    "nghttp2" => Kind::Nghttp2,
                    _ => bail!("hyper, tonic or nghttp2"),
                }
            }
            "--target" => self.target = value.split(',').map(str::to_owned).collect(),
            "--rate" => {
                self.rate = match value {
                    "max" => None,
                    rate => Some(positive(rate)?),
                }
            }
            "--in-flight" => self.in_flight = value.parse::<std::num::NonZeroUsize>()?.get(),
            "--payload" => self.payload = value.parse()?,
            "--duration" => self.duration = positive(value)?,
            "--warmup" => self.warmup = positive(value)?,
            "--patience" => self.patience = positive(value)?,
            "--connect" => self.connect = value.parse()?,
            "--ports" => self.ports = value.parse::<std::num::NonZeroU32>()?.get(),
            _ => bail!("there is no such option, see --help"),
        }
        Ok(())
    }
}

fn positive(text: &str) -> anyhow::Result<f64> {
    let number: f64 = text.parse()?;
    if !(number.is_finite() && number > 0.0) {
        bail!("a number above zero");
    }
    Ok(number)
}
