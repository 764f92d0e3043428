//! The report of the qualities: table 5.1 from what passed, the thesis's beside it, and what was seen.

use std::fmt::Write as _;

use super::ScenarioReport;
use super::escape::escape;
use super::page::Section;
use crate::qualities::{Framework, NAME, Quality, verdict};
use crate::record::{QUALITY, Record};

/// Makes the report from the records of this scenario.
pub(super) fn report(records: &[&Record]) -> ScenarioReport {
    ScenarioReport {
        title: "Qualities".to_owned(),
        sections: vec![
            Section {
                id: "qualities-table",
                title: "Table 5.1, tried".to_owned(),
                html: table(records),
            },
            Section {
                id: "qualities-evidence",
                title: "What was tried, and what was seen: tables 5.2 to 5.4".to_owned(),
                html: evidence(records),
            },
        ],
        figures: Vec::new(),
        commands: vec![format!("corewire lab run {NAME}")],
    }
}

/// The same for the terminal.
pub(crate) fn lines(records: &[&Record]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{:<30}", "quality");
    for framework in Framework::ALL {
        let _ = write!(text, "{:>12}", framework.name());
    }
    text.push('\n');
    for quality in Quality::ALL {
        let _ = write!(text, "{:<30}", quality.title());
        for framework in Framework::ALL {
            let _ = write!(text, "{:>12}", word(of(records, framework, quality)));
        }
        text.push('\n');
    }
    for record in records {
        if let Some((false, evidence)) = verdict(record) {
            let quality = record.cell.settings.get(QUALITY);
            let quality = quality.map_or("", String::as_str);
            let _ = write!(text, "\n{}, {quality}: {evidence}", record.cell.subject);
        }
    }
    text.push('\n');
    text
}

/// The last record of a check: one done again counts.
fn of<'a>(records: &[&'a Record], framework: Framework, quality: Quality) -> Option<&'a Record> {
    records.iter().copied().rfind(|record| {
        record.cell.subject == framework.name()
            && record.cell.settings.get(QUALITY).map(String::as_str) == Some(quality.name())
    })
}

fn word(record: Option<&Record>) -> &'static str {
    match record.map(verdict) {
        None | Some(None) => "not run",
        Some(Some((true, _))) => "passed",
        Some(Some((false, _))) => "no",
    }
}

fn table(records: &[&Record]) -> String {
    let mut html = String::from(
        "<p>In small print what the thesis gives: ++ fulfilled well, + fulfilled, - not at all. Ours \
         says whether the check below passed.</p><div class=\"scroll\"><table><thead><tr>\
         <th>Quality</th>",
    );
    for framework in Framework::ALL {
        let _ = write!(html, "<th>{}</th>", escape(framework.name()));
    }
    html.push_str("</tr></thead><tbody>");
    for quality in Quality::ALL {
        let _ = write!(html, "<tr><td>{}</td>", escape(quality.title()));
        for (at, framework) in Framework::ALL.into_iter().enumerate() {
            let thesis = quality.thesis().get(at).copied().unwrap_or_default();
            let ours = word(of(records, framework, quality));
            let _ = write!(html, "<td>{ours} <small>{}</small></td>", escape(thesis));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn evidence(records: &[&Record]) -> String {
    let mut html = String::new();
    for quality in Quality::ALL {
        let _ = write!(
            html,
            "<h3>{}</h3><p>{}.</p><ul>",
            escape(quality.title()),
            escape(quality.check())
        );
        for framework in Framework::ALL {
            let said = match of(records, framework, quality) {
                None => "not run".to_owned(),
                Some(record) => match (verdict(record), &record.error) {
                    (Some((_, evidence)), _) => evidence.to_owned(),
                    (None, Some(failure)) => format!("not run: {failure}"),
                    (None, None) => "not run".to_owned(),
                },
            };
            let _ = write!(
                html,
                "<li><b>{}</b>: {}</li>",
                escape(framework.name()),
                escape(&said)
            );
        }
        html.push_str("</ul>");
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Status;
    use crate::record::tests::example;

    fn record(framework: &str, quality: &str, passed: bool, evidence: &str) -> Record {
        let mut record = example();
        record.cell.scenario = NAME.to_owned();
        record.cell.subject = framework.to_owned();
        record.cell.settings = [(QUALITY.to_owned(), quality.to_owned())].into();
        record.status = Status::Complete;
        record.measured = None;
        record.extra = [
            (QUALITY.to_owned(), quality.into()),
            ("passed".to_owned(), passed.into()),
            ("evidence".to_owned(), evidence.into()),
        ]
        .into_iter()
        .collect();
        record
    }

    #[test]
    fn a_verdict_survives_its_file_and_stands_in_the_table() {
        let records = [
            record("Thrift", "tls", true, "500 calls answered, 0 failed"),
            record(
                "TCP-AS",
                "tls",
                false,
                "the <hand-written> protocol has none",
            ),
        ];
        let records = records.map(|record| {
            let line = serde_json::to_string(&record).expect("JSON");
            let read: Record = serde_json::from_str(&line).expect("the same");
            assert_eq!(read, record);
            read
        });
        let records: Vec<&Record> = records.iter().collect();
        let text = lines(&records);
        let row = text
            .lines()
            .find(|line| line.starts_with("TLS"))
            .expect("a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["TLS", "not", "run", "passed", "no", "not", "run"]);
        assert!(text.contains("TCP-AS, tls: the <hand"), "{text}");
        let page = report(&records);
        assert!(
            page.sections[0]
                .html
                .contains("<td>no <small>-</small></td>")
        );
        assert!(page.sections[1].html.contains("the &lt;hand-written&gt;"));
    }
}
