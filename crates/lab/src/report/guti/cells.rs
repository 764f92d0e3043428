//! Every cell of tables 5.5 to 5.7: the best of ours beside the best of all others, how surely, and
//! how far the bare sockets of the same run are.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use super::thesis::{TABLE_PAYLOADS, TABLES, WinnerTable};
use super::versus::{Standing, Versus, best_against_best, is_ours, ratio_words};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{Better, PAIRS_NEEDED, compare_interleaved};

/// Bare sockets that a cell is held against: whichever did better in it.
const FLOORS: [&str; 2] = ["FLOOR-TCP", "FLOOR-EPOLL"];

/// Whose a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// Ours, and the difference is shown: spreads apart, pairs agreeing.
    OursOutside,
    /// Ours by the median; no difference is shown.
    OursWithin,
    /// Another's by the median; no difference is shown.
    TheirsWithin,
    /// Another's, and the difference is shown.
    Theirs,
    /// Too few repetitions for a verdict.
    Open,
    /// One side has no figures.
    NotRun,
}

impl Holder {
    fn of(versus: Option<&Versus>, metric: Metric) -> Self {
        let Some(versus) = versus else {
            return Self::NotRun;
        };
        match (versus.standing, versus.leads(metric)) {
            (Standing::Ahead, _) => Self::OursOutside,
            (Standing::Even, true) => Self::OursWithin,
            (Standing::Even, false) => Self::TheirsWithin,
            (Standing::Behind, _) => Self::Theirs,
            (Standing::Open, _) => Self::Open,
        }
    }

    const fn mark(self) -> (&'static str, &'static str) {
        match self {
            Self::OursOutside => ("good", "ours"),
            Self::OursWithin => ("even", "ours, within the spread"),
            Self::TheirsWithin => ("even", "not ours, within the spread"),
            Self::Theirs => ("bad", "lost"),
            Self::Open => ("none", "no verdict"),
            Self::NotRun => ("none", "not run"),
        }
    }
}

/// One cell of one table.
#[derive(Debug)]
struct Cell {
    condition: Condition,
    metric: Metric,
    versus: Option<Versus>,
    holder: Holder,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Cells(Vec<Cell>);

impl Cells {
    /// Judges every cell for which there are runs.
    pub(super) fn of(runs: &Runs<'_>) -> Self {
        let (ours, theirs): (Vec<String>, Vec<String>) = runs
            .contenders()
            .into_iter()
            .partition(|name| is_ours(name));
        let mut cells = Vec::new();
        for table in &TABLES {
            for (clients, _) in &table.rows {
                for payload in TABLE_PAYLOADS {
                    let condition = Condition::no_rate(payload, *clients);
                    let metric = table.metric;
                    let versus = best_against_best(runs, condition, metric, &ours, &theirs);
                    cells.push(Cell {
                        condition,
                        metric,
                        holder: Holder::of(versus.as_ref(), metric),
                        versus,
                    });
                }
            }
        }
        Self(cells)
    }

    fn count(&self, holder: Holder) -> usize {
        self.0.iter().filter(|cell| cell.holder == holder).count()
    }

    /// How many there are.
    pub(super) fn all(&self) -> usize {
        self.0.len()
    }

    /// How many have a verdict.
    pub(super) fn judged(&self) -> usize {
        self.all() - self.count(Holder::Open) - self.count(Holder::NotRun)
    }

    /// How many are ours, by the median at least.
    pub(super) fn ours(&self) -> usize {
        self.outside() + self.count(Holder::OursWithin)
    }

    /// How many are ours with a difference that is shown.
    pub(super) fn outside(&self) -> usize {
        self.count(Holder::OursOutside)
    }

    /// The verdict in a sentence.
    pub(super) fn words(&self) -> String {
        let mut words = format!(
            "{} of {} cells are ours, {} of them outside the spread",
            self.ours(),
            self.all(),
            self.outside()
        );
        let without = self.count(Holder::TheirsWithin);
        if without > 0 {
            let _ = write!(words, "; {without} are another's by the median, within it");
        }
        let lost = self.count(Holder::Theirs);
        if lost > 0 {
            let _ = write!(words, "; {lost} are lost");
        }
        let open = self.count(Holder::Open);
        if open > 0 {
            let _ = write!(
                words,
                "; {open} have fewer than {PAIRS_NEEDED} repetitions, so no verdict"
            );
        }
        let absent = self.count(Holder::NotRun);
        if absent > 0 {
            let _ = write!(words, "; {absent} were not run");
        }
        words
    }

    /// The cells that are not ours, each with whose it is and by how much.
    pub(super) fn not_ours(&self) -> Vec<String> {
        let not_ours = |cell: &&Cell| matches!(cell.holder, Holder::Theirs | Holder::TheirsWithin);
        self.0
            .iter()
            .filter(not_ours)
            .filter_map(|cell| {
                let versus = cell.versus.as_ref()?;
                Some(format!(
                    "{}, {}: {}; {} has {} of it",
                    cell.metric.name(),
                    cell.condition.words(),
                    versus.theirs.name,
                    versus.ours.name,
                    versus.words(),
                ))
            })
            .collect()
    }
}

/// The section; empty when no cell has both one of ours and another.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let cells = Cells::of(runs);
    if cells.count(Holder::NotRun) == cells.all() {
        return String::new();
    }
    let class = if cells.outside() == cells.all() {
        "good"
    } else if cells.ours() < cells.judged() {
        "bad"
    } else {
        "none"
    };
    let mut html = format!(
        "<p class=\"finding\"><span class=\"mark {class}\">{}/{}</span> {}.</p>",
        cells.ours(),
        cells.all(),
        escape(&cells.words())
    );
    let lost = cells.not_ours();
    if !lost.is_empty() {
        html.push_str("<p>Not ours:</p><ul>");
        for cell in &lost {
            let _ = write!(html, "<li>{}</li>", escape(cell));
        }
        html.push_str("</ul>");
    }
    let _ = write!(
        html,
        "<p>In each cell the best of Corewire's adapters over TCP, and under it its median over that of \
         the best other adapter of the cell, pair by pair, with the quartiles in brackets. Outside the \
         spread: at least {PAIRS_NEEDED} interleaved pairs, quartiles that do not overlap, pairs that \
         agree; where the machine changed its state, of runs in one state only, with how many those are. The last line is the same figure over that of bare sockets ({}) in the same run, where \
         they were measured.</p>",
        FLOORS.join(" or ")
    );
    for (table, cells) in TABLES
        .iter()
        .zip(cells.0.chunks(cells.all() / TABLES.len()))
    {
        let _ = write!(
            html,
            "<h3 id=\"cells-{}\">Table {}: {}</h3>{}",
            table.number,
            table.number,
            table.caption,
            grid(runs, table, cells)
        );
    }
    html
}

fn grid(runs: &Runs<'_>, table: &WinnerTable, cells: &[Cell]) -> String {
    let mut html =
        String::from("<div class=\"scroll\"><table class=\"winners\"><thead><tr><th>Clients</th>");
    for payload in TABLE_PAYLOADS {
        let _ = write!(html, "<th>{}</th>", format::bytes(payload));
    }
    html.push_str("</tr></thead><tbody>");
    for (row, cells) in table.rows.iter().zip(cells.chunks(TABLE_PAYLOADS.len())) {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", row.0);
        for cell in cells {
            let _ = write!(html, "<td>{}</td>", content(runs, cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn content(runs: &Runs<'_>, cell: &Cell) -> String {
    let (class, words) = cell.holder.mark();
    let mark = format!("<span class=\"mark {class}\">{words}</span>");
    let Some(versus) = &cell.versus else {
        return mark;
    };
    let mut html = format!(
        "<span class=\"name\">{}</span> <small class=\"name\">{}</small> {mark}<br>\
         <small>{} {}</small>",
        escape(&versus.ours.name),
        escape(&cell.metric.show(versus.ours.median)),
        escape(&versus.words()),
        escape(&versus.theirs.name),
    );
    if let Some((floor, ratio)) = over_the_floor(runs, cell, &versus.ours.name) {
        let _ = write!(
            html,
            "<br><small>{} {}</small>",
            escape(&ratio),
            escape(floor)
        );
    }
    html
}

/// The better floor of the cell, and our figure over it.
fn over_the_floor(runs: &Runs<'_>, cell: &Cell, ours: &str) -> Option<(&'static str, String)> {
    let measured = FLOORS.into_iter().filter_map(|floor| {
        let summary = runs.summary(cell.condition, floor, cell.metric)?;
        Some((floor, summary.median))
    });
    let (floor, _) = match cell.metric.better() {
        Better::Smaller => measured.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Larger => measured.max_by(|a, b| a.1.total_cmp(&b.1)),
    }?;
    let ours = runs.samples(cell.condition, ours, cell.metric);
    let bare = runs.samples(cell.condition, floor, cell.metric);
    let ratio = compare_interleaved(&ours, &bare).ratio?;
    Some((floor, ratio_words(Some(&ratio))))
}

/// The verdict and what is not ours, for the terminal; nothing when no cell was judged.
pub(super) fn lines(runs: &Runs<'_>) -> Vec<String> {
    let cells = Cells::of(runs);
    if cells.judged() == 0 {
        return Vec::new();
    }
    let mut lines = vec![format!("tables 5.5 to 5.7: {}", cells.words())];
    lines.extend(
        cells
            .not_ours()
            .into_iter()
            .map(|cell| format!("  not ours: {cell}")),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LineNs, Record};
    use crate::report::guti::thesis::CLIENTS;
    use crate::report::tests::generated::{Series, record};

    fn series(subjects: &[&str], repetitions: u32) -> Vec<Record> {
        Series {
            subjects,
            payloads: &TABLE_PAYLOADS,
            clients: &CLIENTS,
            rates: &[],
            repetitions,
        }
        .records()
    }

    #[test]
    fn all_cells_are_counted_and_the_floor_stands_beside_them() {
        let records = series(&["CW-S", "CW-BI", "TCP-AS", "GRPC-S", "FLOOR-TCP"], 5);
        let runs = Runs::new(&records);
        let cells = Cells::of(&runs);
        assert_eq!((cells.all(), cells.judged()), (81, 81));
        assert_eq!(cells.ours(), 81, "{:?}", cells.not_ours());
        let html = section(&runs);
        assert!(html.contains("81/81"), "{html}");
        assert!(html.contains("FLOOR-TCP</small>"), "{html}");
        // The floor is no contender: it takes no cell from anybody.
        assert!(!html.contains("× FLOOR-TCP</small><br>"), "{html}");
    }

    #[test]
    fn what_is_lost_is_named_with_its_holder() {
        let records = series(&["CW-GRPC", "TCP-AS"], 5);
        let runs = Runs::new(&records);
        let cells = Cells::of(&runs);
        assert!(cells.count(Holder::Theirs) > 0);
        let lines = lines(&runs);
        assert!(
            lines[0].contains("are lost") && lines[1].contains("TCP-AS; CW-GRPC has"),
            "{lines:?}"
        );
        assert!(section(&runs).contains("Not ours:"));
    }

    #[test]
    fn runs_that_met_another_state_do_not_decide_a_cell() {
        let mut records = series(&["CW-S", "TCP-AS"], 7);
        let one_state = Cells::of(&Runs::new(&records)).outside();
        for record in &mut records {
            // In the last two repetitions the far state meets one of the two, in turns.
            let met = ["CW-S", "TCP-AS"][record.repetition as usize % 2];
            let far = record.repetition > 5 && record.cell.subject == met;
            let ns = if far { 400.0 } else { 50.0 };
            record.line_ns = Some(LineNs {
                before: ns,
                after: ns,
            });
            if far {
                let measured = record.measured.as_mut().expect("complete");
                measured.qps /= 3.0;
                measured.latency_us.mean *= 3.0;
                measured.latency_us.p99 *= 3.0;
            }
        }
        let runs = Runs::new(&records);
        assert_eq!(Cells::of(&runs).outside(), one_state);
        let html = section(&runs);
        assert!(html.contains("[5 of 7 pairs in one state, all: "), "{html}");
        for record in &mut records {
            record.line_ns = None;
        }
        let html = section(&Runs::new(&records));
        assert!(!html.contains("in one state, all"), "{html}");
    }

    #[test]
    fn few_repetitions_are_no_verdict_and_nothing_run_is_no_section() {
        let few = series(&["CW-S", "TCP-AS"], PAIRS_NEEDED as u32 - 1);
        let runs = Runs::new(&few);
        assert_eq!(Cells::of(&runs).judged(), 0);
        assert!(lines(&runs).is_empty());
        assert!(section(&runs).contains("no verdict"));

        let lonely = [record("CW-S", 0, 1, None, 1)];
        assert_eq!(section(&Runs::new(&lonely)), "");
    }
}
