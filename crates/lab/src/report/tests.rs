pub(crate) mod generated;
mod wellformed;

use std::path::Path;

use super::write;
use crate::record::Record;
use crate::results::Appender;
use generated::{Series, failed, record};

const SUBJECTS: [&str; 6] = [
    "TCP-AS",
    "THRIFT-NB",
    "THRIFT-AS",
    "GRPC-S",
    "CW-S",
    "CW-BI",
];

fn series(repetitions: u32) -> Vec<Record> {
    Series {
        subjects: &SUBJECTS,
        payloads: &[0, 10_000, 100_000],
        clients: &[1, 4, 16],
        rates: &[100],
        repetitions,
    }
    .records()
}

fn save(dir: &Path, records: &[Record]) {
    let mut appender = Appender::open(dir).expect("a directory of our own");
    for record in records {
        appender.append(record).expect("room");
    }
}

/// The page made of `records`, and the names of its figures.
pub(super) fn page(records: &[Record]) -> (String, Vec<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    save(dir.path(), records);
    let page = write(dir.path()).expect("a report");
    let mut figures: Vec<String> = std::fs::read_dir(dir.path().join("figures"))
        .expect("figures")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let svg = std::fs::read_to_string(entry.path()).expect("text");
            wellformed::check_xml(&svg);
            assert!(svg.contains("<style>"), "stands alone");
            entry.file_name().into_string().expect("a plain name")
        })
        .collect();
    figures.sort();
    let page = std::fs::read_to_string(page).expect("text");
    wellformed::check_html(&page);
    (page, figures)
}

#[test]
fn every_figure_of_the_thesis_is_drawn_and_the_page_is_well_formed() {
    let (page, figures) = page(&series(5));
    for number in [
        "5.1", "5.2", "5.3", "5.4a", "5.4b", "5.5", "5.6a", "5.6b", "5.7", "5.8", "5.9", "5.10a",
        "5.10b", "5.10c", "5.11a", "5.11b", "5.11c",
    ] {
        assert!(
            figures.contains(&format!("figure-{number}.svg")),
            "{figures:?}"
        );
        assert!(page.contains(&format!("Figure {number}:")), "{number}");
    }
    for table in ["5.5", "5.6", "5.7"] {
        assert!(page.contains(&format!("Table {table}:")));
    }
    assert!(figures.contains(&"percentiles-0-bytes-16-clients.svg".to_owned()));
}

#[test]
fn the_page_asks_nothing_of_a_network() {
    let (page, _) = page(&series(1));
    // The name of the SVG language is an address that is never fetched.
    let without_names = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "//cdn", "@import", "src=", "url(http"] {
        assert!(!without_names.contains(word), "{word}");
    }
    for link in without_names
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(
            link.starts_with('#') || link.starts_with("figures/"),
            "{link}"
        );
    }
}

#[test]
fn every_link_within_the_page_has_a_target() {
    let (page, figures) = page(&series(1));
    for link in page
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        match link.strip_prefix('#') {
            Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "{link}"),
            None => assert!(figures.contains(&link.replace("figures/", "")), "{link}"),
        }
    }
}

#[test]
fn a_failed_cell_is_a_hole_with_its_reason() {
    let mut records = series(2);
    for record in &mut records {
        if record.cell.subject == "THRIFT-AS" && record.cell.clients == 16 {
            *record = failed(record.clone(), "port 4001 is in use");
        }
    }
    let (page, _) = page(&records);
    assert!(page.contains("Failed or cut short"));
    assert!(page.contains("port 4001 is in use (server, at its start)"));
    assert!(page.contains("THRIFT-AS, 16 clients: failed: port 4001 is in use"));
}

#[test]
fn what_was_not_run_is_named() {
    let (page, _) = page(&series(1));
    assert!(page.contains("Adapters of the thesis without any run"));
    assert!(page.contains("THRIFT-S, GRPC-AS, GRPC-BI and GRPC-ASBI"));
    assert!(page.contains("0 B, no-rate mode: 2, 6, 8, 10, 12 and 14 clients"));
}

#[test]
fn no_winner_is_named_below_five_repetitions_and_one_is_from_five_on() {
    let (few, _) = page(&series(4));
    assert!(few.contains("no winner named"));
    assert!(!few.contains("Winners among all adapters"));
    let (enough, _) = page(&series(5));
    assert!(!enough.contains("no winner named"));
    assert!(enough.contains("Winners among all adapters"));
}

#[test]
fn data_cannot_bring_markup_into_the_page() {
    let mut strange = record("CW-S", 0, 1, None, 1);
    strange.cell.subject = "<script>alert(1)</script>".into();
    strange.host.cpu_model = "\"><img>".into();
    strange
        .versions
        .insert("<b>lib</b>".into(), "</dl>&".into());
    strange
        .options
        .insert("</pre>".into(), serde_json::json!("<i>"));
    let failure = failed(
        record("TCP-AS", 0, 1, None, 1),
        "</td><script>alert(2)</script>",
    );
    let (page, _) = page(&[strange, failure]);
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img>"));
    assert!(!page.contains("<b>lib"));
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_series_that_was_cut_short_at_once_still_makes_a_page() {
    let (page, figures) = page(&[failed(record("CW-S", 0, 1, None, 1), "interrupted")]);
    assert!(page.contains("interrupted"));
    assert!(page.contains("no runs to draw it from"));
    assert!(page.contains("&quot;What is not here&quot;): CW-S."));
    assert!(figures.is_empty(), "{figures:?}");
}

#[test]
fn without_a_run_there_is_no_report_but_a_clear_error() {
    let dir = tempfile::tempdir().expect("a directory");
    save(dir.path(), &[]);
    let error = write(dir.path()).expect_err("nothing to show").to_string();
    assert!(error.contains("nothing to report"), "{error}");
}

#[test]
fn the_same_file_makes_the_same_page() {
    let dir = tempfile::tempdir().expect("a directory");
    save(dir.path(), &series(2));
    let first = std::fs::read(write(dir.path()).expect("a report")).expect("the page");
    let second = std::fs::read(write(dir.path()).expect("a report")).expect("the page");
    assert_eq!(first, second);
}

#[test]
fn no_two_elements_share_an_id() {
    let (page, _) = page(&series(1));
    let mut ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let all = ids.len();
    assert!(all > 30, "sections, figures and patterns have ids");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn a_new_report_leaves_no_figure_of_an_older_one_and_touches_nothing_else() {
    let dir = tempfile::tempdir().expect("a directory");
    save(dir.path(), &series(1));
    write(dir.path()).expect("a report");
    let figures = dir.path().join("figures");
    let old = figures.join("percentiles-0-bytes-2-clients.svg");
    let foreign = figures.join("notes.txt");
    for path in [&old, &foreign] {
        std::fs::write(path, "").expect("room");
    }
    write(dir.path()).expect("a report");
    assert!(!old.exists());
    assert!(foreign.exists());
    assert!(figures.join("figure-5.1.svg").exists());
}

#[test]
fn a_failure_that_was_made_good_is_no_hole() {
    let failure = failed(record("CW-S", 0, 1, None, 1), "the client lost its way");
    let mut records = vec![failure];
    records.extend(series(1));
    let (page, _) = page(&records);
    assert!(!page.contains("the client lost its way"));
}
