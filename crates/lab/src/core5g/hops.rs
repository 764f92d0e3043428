//! Where the time of one registration goes, and that of one session: what the NFs and the simulated RAN
//! wrote down of every hop (`core up --trace`), laid over each other.
//!
//! At every moment one party has the procedure in hand. Where calls are nested it is the innermost one
//! that was asked last: the one who serves it, or the way there and back. Where there is no call it is
//! a message on N2, or whoever got the last of them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// What the RAN is called in rows and shares.
const RAN: &str = "UE, gNB";
/// What is on N2.
const N2: &str = "on the way, N2";
/// What is between two NFs.
const WAY: &str = "on the way, between NFs";

/// A line of a trace.
#[derive(Debug, Clone)]
struct Line {
    nf: String,
    kind: String,
    number: u64,
    begin: u64,
    end: u64,
    name: String,
}

/// One hop: a call, or a message on N2.
#[derive(Debug, Clone, PartialEq)]
struct Hop {
    from: String,
    to: String,
    what: String,
    begin: u64,
    end: u64,
    /// When it was served, where the one that served it said so.
    served: Option<(u64, u64)>,
    /// Nobody waits for it.
    background: bool,
    is_call: bool,
}

/// What is in the trace files of a folder of this step of the UE whose RAN wrote `ran`; `None` when there is no
/// such step.
pub(super) fn of_step(folder: &Path, ran: &Path, step: &str) -> Option<Value> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "trace") {
            let nf = path.file_stem()?.to_string_lossy().into_owned();
            lines.extend(read(&path, &nf));
        }
    }
    let ran = read(ran, RAN);
    let step_line = ran
        .iter()
        .find(|line| line.kind == "step" && line.name == step)?;
    let (begin, end) = (step_line.begin, step_line.end);
    let mut hops = calls(&lines, (begin, end), step);
    hops.extend(messages(&lines, &ran, (begin, end)));
    hops.sort_by_key(|hop| hop.begin);
    Some(told(&hops, (begin, end), step))
}

fn read(path: &Path, nf: &str) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| parse(line, nf)).collect()
}

fn parse(line: &str, nf: &str) -> Option<Line> {
    let mut parts = line.splitn(5, ' ');
    Some(Line {
        nf: nf.to_owned(),
        kind: parts.next()?.to_owned(),
        number: parts.next()?.parse().ok()?,
        begin: parts.next()?.parse().ok()?,
        end: parts.next()?.parse().ok()?,
        name: parts.next().unwrap_or_default().to_owned(),
    })
}

/// The calls that were made within a step.
fn calls(lines: &[Line], (begin, end): (u64, u64), step: &str) -> Vec<Hop> {
    let served: HashMap<u64, &Line> = lines
        .iter()
        .filter(|line| line.kind == "serve")
        .map(|line| (line.number, line))
        .collect();
    let within = |call: &Line| call.kind == "call" && call.begin >= begin && call.begin < end;
    lines
        .iter()
        .filter(|line| within(line))
        .map(|call| {
            let at = served.get(&call.number);
            Hop {
                from: call.nf.clone(),
                to: at.map_or_else(|| "?".to_owned(), |at| at.nf.clone()),
                what: call.name.clone(),
                begin: call.begin,
                end: call.end,
                served: at.map(|at| (at.begin, at.end)),
                // A registration waits for every call but those that an NF makes behind its answer; the
                // SMF does all of a session's work behind its answer.
                background: step == "registration"
                    && call.nf != "amf"
                    && !served.values().any(|serve| {
                        serve.nf == call.nf && serve.begin <= call.begin && call.end <= serve.end
                    }),
                is_call: true,
            }
        })
        .collect()
}

/// The messages on N2 within a step: the first that one side sends is the first that the other gets.
fn messages(lines: &[Line], ran: &[Line], (begin, end): (u64, u64)) -> Vec<Hop> {
    let first = ran.iter().map(|line| line.begin).min().unwrap_or(begin);
    let of = |lines: &[Line], kind: &str| {
        let mut found: Vec<Line> = lines
            .iter()
            .filter(|line| line.kind == kind && line.begin >= first)
            .filter(|line| line.nf == "amf" || line.nf == RAN)
            .cloned()
            .collect();
        found.sort_by_key(|line| line.begin);
        found
    };
    let pairs = |sent: Vec<Line>, got: Vec<Line>| {
        sent.into_iter()
            .zip(got)
            .map(|(sent, got)| Hop {
                from: sent.nf,
                to: got.nf,
                what: sent.name,
                begin: sent.begin,
                end: got.begin.max(sent.begin),
                served: None,
                background: false,
                is_call: false,
            })
            .filter(|hop| hop.begin >= begin && hop.begin < end)
            .collect::<Vec<_>>()
    };
    let mut all = pairs(of(ran, "n2-out"), of(lines, "n2-in"));
    all.extend(pairs(of(lines, "n2-out"), of(ran, "n2-in")));
    all
}

/// Who has the procedure in hand at this moment.
fn owner(hops: &[Hop], at: u64) -> String {
    let under_way = |hop: &&Hop| !hop.background && hop.begin <= at && at < hop.end;
    let call = hops
        .iter()
        .filter(|hop| hop.is_call)
        .filter(under_way)
        .max_by_key(|hop| hop.begin);
    if let Some(call) = call {
        return match call.served {
            Some((begin, end)) if begin <= at && at < end => call.to.clone(),
            _ => WAY.to_owned(),
        };
    }
    if hops
        .iter()
        .filter(|hop| !hop.is_call)
        .any(|hop| under_way(&hop))
    {
        return N2.to_owned();
    }
    let last = hops
        .iter()
        .filter(|hop| !hop.is_call && hop.end <= at)
        .max_by_key(|hop| hop.end);
    last.map_or_else(|| RAN.to_owned(), |hop| hop.to.clone())
}

fn told(hops: &[Hop], (begin, end): (u64, u64), step: &str) -> Value {
    let us = |at: u64| (at.max(begin) - begin) as f64 / 1e3;
    let mut moments: Vec<u64> = hops
        .iter()
        .flat_map(|hop| {
            let (from, to) = hop.served.unwrap_or((hop.begin, hop.end));
            [hop.begin, from, to, hop.end]
        })
        .chain([begin, end])
        .filter(|at| (begin..=end).contains(at))
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let mut shares: Vec<(String, f64)> = Vec::new();
    for pair in moments.windows(2) {
        let who = owner(hops, pair[0] + (pair[1] - pair[0]) / 2);
        let took = (pair[1] - pair[0]) as f64 / 1e3;
        match shares.iter_mut().find(|(known, _)| *known == who) {
            Some((_, sum)) => *sum += took,
            None => shares.push((who, took)),
        }
    }
    let shares: Vec<Value> = shares
        .into_iter()
        .map(|(who, took)| json!({"who": who, "us": took}))
        .collect();
    let rows: Vec<Value> = hops
        .iter()
        .map(|hop| {
            let mut row = Map::new();
            row.insert("from".into(), hop.from.clone().into());
            row.insert("to".into(), hop.to.clone().into());
            row.insert("what".into(), hop.what.clone().into());
            row.insert("begin_us".into(), us(hop.begin).into());
            row.insert("end_us".into(), us(hop.end).into());
            if let Some((from, to)) = hop.served {
                row.insert("served_us".into(), json!([us(from), us(to)]));
            }
            if hop.background {
                row.insert("background".into(), true.into());
            }
            Value::Object(row)
        })
        .collect();
    json!({"step": step, "took_us": us(end), "rows": rows, "shares": shares})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_laid_over_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("written");
            path
        };
        write(
            "amf.trace",
            "n2-in 8 120000 120000 \nn2-out 8 500000 500000 DownlinkNASTransport\n\
             call 1 150000 450000 nausf-auth/v1/ue-authentications\n",
        );
        write(
            "ausf.trace",
            "serve 1 200000 400000 nausf-auth/v1/ue-authentications\n\
             call 2 250000 350000 nudm-ueau/v1/x\ncall 3 380000 700000 nudm-ueau/v1/events\n",
        );
        write("udm.trace", "serve 2 280000 330000 nudm-ueau/v1/x\n");
        let ran = write(
            "ran",
            "n2-out 0 110000 110000 InitialUEMessage\nn2-in 0 520000 520000 DownlinkNASTransport\n\
             step 0 100000 600000 registration\n",
        );
        let told = of_step(folder.path(), &ran, "registration").expect("a step");
        assert_eq!(told["took_us"], 500.0);
        let share = |who: &str| {
            let shares = told["shares"].as_array().expect("shares");
            shares
                .iter()
                .find(|share| share["who"] == who)
                .and_then(|share| share["us"].as_f64())
        };
        assert_eq!(share(RAN), Some(10.0 + 80.0));
        assert_eq!(share(N2), Some(10.0 + 20.0));
        assert_eq!(share("amf"), Some(30.0 + 50.0));
        assert_eq!(share("ausf"), Some(50.0 + 50.0));
        assert_eq!(share("udm"), Some(50.0));
        assert_eq!(share(WAY), Some(50.0 + 50.0 + 30.0 + 20.0));
        let rows = told["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[4]["what"], "DownlinkNASTransport");
        assert_eq!(rows[3]["background"], true);
        assert_eq!(of_step(folder.path(), &ran, "session"), None);
    }
}
