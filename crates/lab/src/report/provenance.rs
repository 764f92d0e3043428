//! The foot of the page: the machine, the versions, the options and the file, so that every number
//! can be made again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::escape::escape;
use super::format;
use crate::record::{Host, Record};
use crate::results;
use crate::states::Census;

/// Of an option that differs from run to run, how many values are shown.
const VALUES_SHOWN: usize = 12;

/// The markup of the foot. `commands` are the command lines that make the runs again.
pub(super) fn foot(dir: &Path, records: &[Record], commands: &[String]) -> String {
    let file = dir.join(results::FILE_NAME);
    let mut html = format!(
        "<p>Every number, figure and sentence of this page comes from <code>{}</code> ({} runs, \
         one JSON object a line, each with its options, versions, machine and histogram), and \
         from nothing else. To draw it again:</p><pre>corewire lab report {}</pre>",
        escape(&file.display().to_string()),
        format::count(records.len() as u64),
        escape(&dir.display().to_string()),
    );
    if !commands.is_empty() {
        let _ = write!(
            html,
            "<p>To measure it again, on this machine or on another:</p><pre>{}</pre>",
            escape(&commands.join("\n"))
        );
    }
    html.push_str(&hosts(records));
    if let Some(census) = Census::of(records) {
        let _ = write!(
            html,
            "<p>Distance of the cores: {}.</p>",
            escape(&census.words())
        );
    }
    html.push_str(&versions(records));
    html.push_str(&options(records));
    html
}

fn hosts(records: &[Record]) -> String {
    let mut distinct: Vec<&Host> = Vec::new();
    for record in records {
        if !distinct.contains(&&record.host) {
            distinct.push(&record.host);
        }
    }
    let mut html = String::new();
    if distinct.len() > 1 {
        let _ = write!(
            html,
            "<p class=\"warning\">These runs come from {} different machines or settings of one \
             machine: compare with care.</p>",
            distinct.len()
        );
    }
    for host in distinct {
        html.push_str("<h3>Machine</h3><dl>");
        entry(&mut html, "CPU", &host.cpu_model);
        entry(&mut html, "Cores online", &host.cores.to_string());
        let gib = host.memory_bytes as f64 / f64::from(1 << 30);
        entry(&mut html, "Memory", &format!("{gib:.1} GiB"));
        entry(&mut html, "Kernel", &host.kernel);
        entry(&mut html, "Distribution", &host.distribution);
        let unknown = || "none shown".to_owned();
        let governor = host.governor.clone().unwrap_or_else(unknown);
        entry(&mut html, "Frequency governor", &governor);
        let virtualised = host.virtualised.clone().unwrap_or_else(unknown);
        entry(&mut html, "Virtualisation", &virtualised);
        html.push_str("</dl>");
    }
    html
}

fn versions(records: &[Record]) -> String {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for record in records {
        for (name, version) in &record.versions {
            all.entry(name).or_default().insert(version);
        }
    }
    let mut html = String::from("<h3>Versions</h3><dl>");
    for (name, versions) in all {
        let versions: Vec<&str> = versions.into_iter().collect();
        entry(&mut html, name, &versions.join(", "));
    }
    html.push_str("</dl>");
    html
}

/// Options and every value that they had.
fn options(records: &[Record]) -> String {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records {
        for (name, value) in &record.options {
            collect(name, value, &mut all);
        }
    }
    let mut html = String::from("<h3>Options</h3><dl>");
    for (name, values) in all {
        let shown: Vec<&str> = values
            .iter()
            .take(VALUES_SHOWN)
            .map(String::as_str)
            .collect();
        let more = match values.len() {
            0..=VALUES_SHOWN => String::new(),
            count => format!(" and {} more values", count - VALUES_SHOWN),
        };
        entry(&mut html, &name, &format!("{}{more}", shown.join("; ")));
    }
    html.push_str("</dl>");
    html
}

/// Puts `value` under `name`, the fields of an object each under a name of their own.
fn collect(name: &str, value: &Value, all: &mut BTreeMap<String, BTreeSet<String>>) {
    let words = match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                collect(&format!("{name}.{field}"), value, all);
            }
            return;
        }
        Value::Array(values) if values.is_empty() => "not given".to_owned(),
        Value::Array(values) => {
            let words: Vec<String> = values.iter().map(word).collect();
            words.join(", ")
        }
        other => word(other),
    };
    all.entry(name.to_owned()).or_default().insert(words);
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not given".to_owned(),
        other => other.to_string(),
    }
}

fn entry(html: &mut String, name: &str, value: &str) {
    let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
}
