//! What the source says of its measurements, and whether ours say so, too.

use std::fmt::Write as _;

use super::cells::{Cells, Row, time};
use crate::report::escape::escape;

/// UEs of the source's observations.
const FEW: u32 = 1;
const MANY: u32 = 10;
/// Times that differ by less are the same.
const SAME: f64 = 1.1;

/// A sentence of the source, and what ours come to.
struct Claim {
    says: &'static str,
    here: Option<(bool, String)>,
}

pub(super) fn section(cells: &Cells<'_>) -> String {
    let mut html = String::from(
        "<p>Sentences of the source, with means of flow 3gpp over REST where it says nothing else. Both \
         cores may be right: the source's sessions cost it a hundred times what ours cost.</p>\
         <div class=\"scroll\"><table><thead><tr><th>The source says</th><th>here</th><th></th></tr>\
         </thead><tbody>",
    );
    for claim in claims(cells) {
        let (class, verdict, words) = match claim.here {
            None => ("none", "not shown", "not run".to_owned()),
            Some((true, words)) => ("good", "the same", words),
            Some((false, words)) => ("even", "not here", words),
        };
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td><span class=\"mark {class}\">{verdict}</span></td></tr>",
            escape(claim.says),
            escape(&words),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    let mean = |procedure: &str, transport: &str, threads: &str, ues: u32| {
        let row = Row {
            flow: "3gpp".to_owned(),
            threads: threads.to_owned(),
            transport: transport.to_owned(),
        };
        let field = format!("{procedure}_ms");
        cells.median(&row, ues, |record| time(record, &field, "mean"))
    };
    let rest = |procedure: &str, threads: &str, ues| mean(procedure, "rest", threads, ues);
    let three = |threads: &str, ues| {
        Some([
            rest("registration", threads, ues)?,
            rest("session", threads, ues)?,
            rest("detach", threads, ues)?,
        ])
    };
    let words = |[registration, session, detach]: [f64; 3]| {
        format!(
            "{MANY} UEs, a loop a UE: registration {registration:.2}, session {session:.2}, detach \
             {detach:.2} ms"
        )
    };
    let grows = |procedure: &str, threads: &str| {
        let (one, ten) = (
            rest(procedure, threads, FEW)?,
            rest(procedure, threads, MANY)?,
        );
        let words = format!("{one:.2} ms at {FEW} UE, {ten:.2} ms at {MANY}");
        Some((ten > one * SAME, words))
    };
    let by_threads = |procedure: &str| {
        let (one, each) = (rest(procedure, "1", MANY)?, rest(procedure, "ues", MANY)?);
        Some((
            one,
            each,
            format!("{MANY} UEs: {one:.2} ms with one loop, {each:.2} ms with one a UE"),
        ))
    };
    vec![
        Claim {
            says: "Session creation takes the maximum time out of all 3 tasks.",
            here: three("ues", MANY).map(|all| (all[1] >= all[0] && all[1] >= all[2], words(all))),
        },
        Claim {
            says: "Detach is the fastest task out of the three tasks.",
            here: three("ues", MANY).map(|all| (all[2] <= all[0] && all[2] <= all[1], words(all))),
        },
        Claim {
            says: "Session creation time per user increases with the number of users (as many threads \
                   as users).",
            here: grows("session", "ues"),
        },
        Claim {
            says: "UE registration and detach time per user is almost the same for a different number of \
                   concurrent users.",
            here: grows("registration", "ues").map(|(grows, words)| (!grows, words)),
        },
        Claim {
            says: "Registration is slower with one thread in each NF than with as many as users.",
            here: by_threads("registration").map(|(one, each, words)| (one > each * SAME, words)),
        },
        Claim {
            says: "One thread was faster than as many as users in session creation.",
            here: by_threads("session").map(|(one, each, words)| (each > one * SAME, words)),
        },
        Claim {
            says: "gRPC is the fastest in session creation; REST is slower.",
            here: mean("session", "grpc", "ues", MANY)
                .zip(rest("session", "ues", MANY))
                .map(|(grpc, rest)| {
                    let words = format!("{MANY} UEs: gRPC {grpc:.2} ms, REST {rest:.2} ms");
                    (rest > grpc * SAME, words)
                }),
        },
    ]
}
