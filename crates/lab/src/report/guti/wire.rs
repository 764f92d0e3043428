//! What HTTP costs a call, which the thesis suspected and did not measure: the same service, client
//! and server with and without it. And whose gRPC ends cost what: stock, ours, one of each.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use super::versus::ratio_words;
use crate::guti::{MIXED, mixed_ends};
use crate::record::Mode;
use crate::report::escape::escape;
use crate::statistics::{PAIRS_NEEDED, Verdict, compare_interleaved};

/// With HTTP, without it, and what differs besides.
const OVERHEADS: [(&str, &str, &str); 4] = [
    ("CW-REST", "CW-S", "the same caller and server"),
    ("CW-GRPC", "CW-S", "the same caller and server"),
    (
        "CW-GRPC",
        "CW-REST",
        "gRPC's framing and trailers over plain HTTP/2",
    ),
    (
        "THRIFT-AS",
        "THRIFT-NB",
        "HTTP/1.1; the client is asynchronous besides",
    ),
];

const METRICS: [(Metric, &str); 6] = [
    (Metric::Qps, "Requests a second"),
    (Metric::Mean, "Mean latency"),
    (Metric::Median, "Median"),
    (Metric::P99, "99th percentile"),
    (Metric::ServerCpuPerRequest, "Server CPU a request"),
    (Metric::ClientCpuPerRequest, "Client CPU a request"),
];

/// The section; empty when nothing in it was run.
pub(super) fn section(runs: &Runs<'_>) -> String {
    format!("{}{}", overheads(runs), ends(runs))
}

fn overheads(runs: &Runs<'_>) -> String {
    let mut rows = String::new();
    for condition in runs.conditions() {
        for (with, without, besides) in OVERHEADS {
            let name = format!("{with} over {without}");
            row(runs, condition, (with, without), &name, besides, &mut rows);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h3 id=\"http-overhead\">HTTP's own overhead</h3>\
         <p>The thesis suspects HTTP/2 of gRPC's cost and HTTP of THRIFT-AS's, and measures neither. \
         Each row is one adapter's figure over that of its like without HTTP, median over the pairs of \
         this run with the quartiles in brackets; an asterisk where no difference is shown (at least \
         {PAIRS_NEEDED} pairs, spreads apart, pairs agreeing).</p>{}",
        table(&rows, "What differs besides")
    )
}

/// Stock ends against ours, by the client of each subject.
fn ends(runs: &Runs<'_>) -> String {
    let mut pairs: Vec<(String, String, &str)> = Vec::new();
    for subject in runs.subjects() {
        let Some((client, server)) = mixed_ends(subject) else {
            continue;
        };
        // Against both ends of its client, both of its server: what each end by itself changes.
        let words = [
            "our server instead of a stock one",
            "our client instead of a stock one",
            "a stock client instead of ours",
            "a stock server instead of ours",
        ];
        let ours = client.starts_with("CW-");
        let (with_client, with_server) = if ours { (3, 1) } else { (0, 2) };
        pairs.push((subject.clone(), client.to_owned(), words[with_client]));
        pairs.push((subject.clone(), server.to_owned(), words[with_server]));
    }
    let whole = ["GRPC-S", "GRPC-AS", "GRPC-ASBI", "GRPC-CB"];
    if !pairs.is_empty() {
        for stock in whole {
            let both = "both ends ours instead of stock";
            pairs.push(("CW-GRPC".to_owned(), stock.to_owned(), both));
        }
    }
    let mut rows = String::new();
    for condition in runs.conditions() {
        for (subject, than, words) in &pairs {
            let name = format!("{subject} over {than}");
            row(runs, condition, (subject, than), &name, words, &mut rows);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h3 id=\"grpc-ends\">Whose gRPC ends</h3><p>A<code>{MIXED}</code>B is the client of A with the \
         server of B: both speak gRPC. Read as the table above.</p>{}",
        table(&rows, "What is exchanged")
    )
}

fn table(rows: &str, last: &str) -> String {
    let mut html =
        String::from("<div class=\"scroll\"><table><thead><tr><th></th><th>Payload, clients</th>");
    for (_, title) in METRICS {
        let _ = write!(html, "<th>{title}</th>");
    }
    let _ = write!(
        html,
        "<th>{last}</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    html
}

fn row(
    runs: &Runs<'_>,
    condition: Condition,
    (left, right): (&str, &str),
    name: &str,
    words: &str,
    html: &mut String,
) {
    let mut cells = String::new();
    for (metric, _) in METRICS {
        if metric == Metric::Qps && condition.mode == Mode::Rate {
            // Both make the rate that was asked for.
            cells.push_str("<td></td>");
            continue;
        }
        let compared = compare_interleaved(
            &runs.samples(condition, left, metric),
            &runs.samples(condition, right, metric),
        );
        let Some(ratio) = &compared.ratio else {
            if matches!(metric, Metric::Qps | Metric::Mean) {
                return;
            }
            cells.push_str("<td class=\"none\">–</td>");
            continue;
        };
        let unsure = match compared.verdict {
            Verdict::NotShown(_) => "*",
            Verdict::Smaller | Verdict::Larger => "",
        };
        let _ = write!(
            cells,
            "<td>{}{unsure}</td>",
            escape(&ratio_words(Some(ratio)))
        );
    }
    let _ = write!(
        html,
        "<tr><th scope=\"row\">{}</th><td>{}</td>{cells}<td>{}</td></tr>",
        escape(name),
        escape(&condition.words()),
        escape(words),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::report::tests::generated::Series;

    fn series(subjects: &[&str]) -> Vec<Record> {
        Series {
            subjects,
            payloads: &[0],
            clients: &[1],
            rates: &[],
            repetitions: 5,
        }
        .records()
    }

    #[test]
    fn http_stands_over_its_like_without_it() {
        let records = series(&["CW-S", "CW-REST", "THRIFT-NB", "THRIFT-AS"]);
        let html = section(&Runs::new(&records));
        assert!(html.contains("CW-REST over CW-S"), "{html}");
        assert!(html.contains("THRIFT-AS over THRIFT-NB"), "{html}");
        assert!(
            !html.contains("CW-GRPC over") && !html.contains("grpc-ends"),
            "{html}"
        );
    }

    #[test]
    fn each_end_of_grpc_is_exchanged_by_itself() {
        let mut records = series(&["GRPC-S", "CW-GRPC"]);
        for (name, like) in [
            ("GRPC-S-to-CW-GRPC", "GRPC-S"),
            ("CW-GRPC-to-GRPC-S", "CW-GRPC"),
        ] {
            let mixed: Vec<Record> = records
                .iter()
                .filter(|record| record.cell.subject == like)
                .cloned()
                .map(|mut record| {
                    record.cell.subject = name.to_owned();
                    record
                })
                .collect();
            records.extend(mixed);
        }
        let runs = Runs::new(&records);
        let html = section(&runs);
        for row in [
            "GRPC-S-to-CW-GRPC over GRPC-S",
            "our server instead of a stock one",
            "CW-GRPC-to-GRPC-S over GRPC-S",
            "our client instead of a stock one",
            "CW-GRPC over GRPC-S",
        ] {
            assert!(html.contains(row), "{row} in {html}");
        }
        // Who is of two minds takes no cell.
        assert!(!runs.contenders().iter().any(|name| name.contains(MIXED)));
    }

    #[test]
    fn without_http_there_is_nothing_to_say() {
        assert_eq!(section(&Runs::new(&series(&["CW-S", "TCP-AS"]))), "");
    }
}
