//! How near the adapters come to what bare sockets and bare memory can do.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::record::Record;
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::compare_interleaved;

/// Requests a second that the goals' page gives as the order of size: at 0 B, 10 kB, 100 kB.
struct Reference {
    subject: &'static str,
    clients: u32,
    words: &'static str,
    rates: [&'static str; 3],
    /// Ours with the same shape.
    ours: &'static [&'static str],
}

const PAYLOADS: [u64; 3] = [0, 10_000, 100_000];

const ROWS: [Reference; 8] = [
    Reference {
        subject: "FLOOR-SHM-SPIN",
        clients: 1,
        words: "shared memory, spinning",
        rates: ["2.7M", "216k", "33k"],
        ours: &["CW-SHM"],
    },
    Reference {
        subject: "FLOOR-SHM-FUTEX",
        clients: 1,
        words: "shared memory, futex",
        rates: ["99k", "73k", "24k"],
        ours: &["CW-SHM"],
    },
    Reference {
        subject: "FLOOR-SPIN",
        clients: 1,
        words: "TCP, both sides spin",
        rates: ["122k", "73k", "22k"],
        ours: &["CW-S+poll"],
    },
    Reference {
        subject: "FLOOR-TCP",
        clients: 1,
        words: "TCP, blocking",
        rates: ["55–61k", "44k", "17–20k"],
        ours: &["CW-S+sleep", "CW-S", "TCP-AS", "THRIFT-S", "THRIFT-NB"],
    },
    Reference {
        subject: "FLOOR-EPOLL",
        clients: 16,
        words: "16 connections, one server thread, blocking clients",
        rates: ["143k", "109k", "30k"],
        ours: &["CW-S", "CW-BI", "CW-S on 1", "THRIFT-S", "THRIFT-NB"],
    },
    Reference {
        subject: "FLOOR-EL",
        clients: 16,
        words: "16 connections, one server thread, one client thread for all",
        rates: ["188k", "122k", "33k"],
        ours: &["CW-EL"],
    },
    Reference {
        subject: "FLOOR-TCP",
        clients: 16,
        words: "16 connections, a server thread each, blocking clients",
        rates: ["", "", ""],
        ours: &["CW-S"],
    },
    Reference {
        subject: "FLOOR-PIPE-64",
        clients: 1,
        words: "1 connection, 64 outstanding",
        rates: ["2.3–3.2M", "320–380k", "25–36k"],
        ours: &[],
    },
];

/// The whole section; empty without a run of the floor.
pub(super) fn section(runs: &Runs<'_>) -> String {
    if !runs
        .subjects()
        .iter()
        .any(|name| name.starts_with("FLOOR-"))
    {
        return String::new();
    }
    let mut html = String::from(
        "<p>The least that can be written for the same exchange, by the same client program, in the \
         same interleaved run. Order of size: what the goals' page measured on its machine. Below \
         each floor, the adapters of the same shape as a share of it, medians over pairs.</p>\
         <div class=\"scroll\"><table><thead><tr><th>requests a second</th><th>0 B</th><th>10 kB</th>\
         <th>100 kB</th><th>order of size</th></tr></thead><tbody>",
    );
    for reference in &ROWS {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}: {}</th>",
            escape(reference.subject),
            escape(reference.words)
        );
        for payload in PAYLOADS {
            let condition = Condition::no_rate(payload, reference.clients);
            let rate = runs.summary(condition, reference.subject, Metric::Qps);
            let rate = rate.map_or_else(|| "–".to_owned(), |rate| format::compact(rate.median));
            let _ = write!(html, "<td>{rate}</td>");
        }
        let order: Vec<&str> = reference
            .rates
            .into_iter()
            .filter(|r| !r.is_empty())
            .collect();
        let _ = write!(html, "<td>{}</td></tr>", escape(&order.join(", ")));
        for ours in reference.ours {
            let _ = write!(html, "<tr><td>{} over it</td>", escape(ours));
            for payload in PAYLOADS {
                let share = share(runs, payload, reference, ours);
                let _ = write!(html, "<td>{}</td>", share.unwrap_or_else(|| "–".to_owned()));
            }
            html.push_str("<td></td></tr>");
        }
    }
    html.push_str("</tbody></table></div>");
    html
}

fn share(runs: &Runs<'_>, payload: u64, reference: &Reference, ours: &str) -> Option<String> {
    let condition = Condition::no_rate(payload, reference.clients);
    let ours = runs.samples(condition, ours, Metric::Qps);
    let floor = runs.samples(condition, reference.subject, Metric::Qps);
    let ratio = compare_interleaved(&ours, &floor).ratio?;
    Some(format!(
        "{} ({} to {})",
        format::ratio(ratio.median),
        format::ratio(ratio.q1),
        format::ratio(ratio.q3)
    ))
}

/// The same, one a line: for the terminal.
pub(super) fn lines(records: &[&Record]) -> Vec<String> {
    let runs = Runs::new(records.iter().copied());
    let mut lines = Vec::new();
    for reference in &ROWS {
        for ours in reference.ours {
            let shares = PAYLOADS.map(|payload| share(&runs, payload, reference, ours));
            if shares.iter().all(Option::is_none) {
                continue;
            }
            let shares = shares.map(|share| share.unwrap_or_else(|| "–".to_owned()));
            lines.push(format!(
                "{:<12} over {:<16} {:>2} clients  {}",
                ours,
                reference.subject,
                reference.clients,
                shares.join("  ")
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::generated::Series;

    #[test]
    fn ours_stands_beside_the_floor_of_its_shape() {
        let records = Series {
            subjects: &["FLOOR-TCP", "CW-S", "TCP-AS"],
            payloads: &[0],
            clients: &[1],
            rates: &[],
            repetitions: 5,
        }
        .records();
        let html = section(&Runs::new(&records));
        assert!(
            html.contains("CW-S over it") && html.contains("TCP, blocking"),
            "{html}"
        );
        let records: Vec<&Record> = records.iter().collect();
        let lines = lines(&records);
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("TCP-AS") && line.contains("FLOOR-TCP"))
        );
    }

    #[test]
    fn without_a_run_of_it_there_is_no_floor() {
        let records = Series {
            subjects: &["CW-S"],
            payloads: &[0],
            clients: &[1],
            rates: &[],
            repetitions: 2,
        }
        .records();
        assert_eq!(section(&Runs::new(&records)), "");
    }
}
