//! Curves over the number of UEs: time per UE of each procedure beside the source's, CPU time, rate.

use super::cells::{Cells, Row, number, sum, time};
use super::source::{PROCEDURES, Procedure};
use crate::record::Record;
use crate::report::FigureFile;
use crate::report::chart::lines::{Lines, Point};
use crate::report::chart::{Key, Slot};
use crate::report::escape::escape;
use crate::report::format;
use crate::report::scale::Kind;
use crate::report::svg::Drawing;

/// The source's series.
const SOURCE: &str = "source 3";

/// A figure with what stands below it.
pub(super) struct Figure {
    file: String,
    drawing: Drawing,
    caption: String,
}

impl Figure {
    pub(super) fn new(file: &str, drawing: Drawing, caption: &str) -> Self {
        Self {
            file: file.to_owned(),
            drawing,
            caption: caption.to_owned(),
        }
    }

    pub(super) fn html(&self) -> String {
        format!(
            "<figure id=\"{file}\"><div class=\"scroll\">{}</div><figcaption><p>{} \
             <a href=\"figures/{file}.svg\">{file}.svg</a></p></figcaption></figure>",
            self.drawing.inline(),
            escape(&self.caption),
            file = self.file,
        )
    }

    pub(super) fn file(&self) -> FigureFile {
        FigureFile {
            name: format!("{}.svg", self.file),
            svg: self.drawing.file(),
        }
    }
}

/// The curve of one procedure; `None` when fewer than two numbers of UEs were run.
pub(super) fn procedure(cells: &Cells<'_>, procedure: &Procedure) -> Option<Figure> {
    let mut chart = Chart::new(cells, "3gpp", |record| {
        time(record, procedure.field, "mean")
    })?;
    for threads in ["1", "ues"] {
        let slots = chart.ues.iter().map(|ues| {
            procedure.mean(threads, *ues).map_or(Slot::NotRun, |mean| {
                let point = Point {
                    value: mean,
                    spread: None,
                };
                Slot::Mark(point, format::micros(mean * 1e3))
            })
        });
        chart
            .series
            .push((name_of(SOURCE, threads), slots.collect()));
    }
    let file = format!("figure-core-{}", procedure.field.trim_end_matches("_ms"));
    let title = format!("{}: mean time per UE", procedure.title);
    let caption = "Lower is better. Flow 3gpp; medians of the repetitions, the vertical lines span the \
                   quartiles. +ues: as many event loops in each NF as UEs, otherwise one. The source's \
                   machine was another, and its core had neither NAS security nor ASN.1: its lines show \
                   how its cost grows.";
    Some(chart.draw(&file, &title, "ms a UE", caption))
}

/// Curves of all procedures.
pub(super) fn procedures(cells: &Cells<'_>) -> Vec<Figure> {
    PROCEDURES
        .iter()
        .filter_map(|one| procedure(cells, one))
        .collect()
}

/// CPU time and rate by the number of UEs.
pub(super) fn costs(cells: &Cells<'_>) -> Vec<Figure> {
    let cpu = Chart::new(cells, "3gpp", |record| {
        Some(sum(record, "cpu_us_per_ue")? / 1e3)
    });
    let rate = Chart::new(cells, "3gpp", |record| number(record, "attached_per_s"));
    let cpu = cpu.map(|chart| {
        let caption = "Lower is better. User and system time of all NFs for one UE's registration and \
                       session. What falls with more UEs is the price of falling asleep and being woken.";
        chart.draw("figure-core-cpu", "CPU time of all NFs", "ms a UE", caption)
    });
    let rate = rate.map(|chart| {
        let caption = "Higher is better. Registrations and sessions a second, all NFs, the gNB and the \
                       UEs on this machine's cores; at most 100 UEs in the middle of their steps.";
        let title = "Registrations with sessions a second";
        chart.draw("figure-core-rate", title, "UEs a second", caption)
    });
    cpu.into_iter().chain(rate).collect()
}

/// A transport, or the source, with its setting of threads.
fn name_of(subject: &str, threads: &str) -> String {
    match threads {
        "ues" => format!("{subject}+ues"),
        _ => subject.to_owned(),
    }
}

struct Chart {
    ues: Vec<u32>,
    series: Vec<(String, Vec<Slot<Point>>)>,
}

impl Chart {
    fn new(cells: &Cells<'_>, flow: &str, of: impl Fn(&Record) -> Option<f64>) -> Option<Self> {
        let ues = cells.ues();
        let rows: Vec<Row> = cells
            .rows()
            .into_iter()
            .filter(|row| row.flow == flow)
            .collect();
        if ues.len() < 2 || rows.is_empty() {
            return None;
        }
        let slot = |row: &Row, ues: u32| {
            cells
                .summary(row, ues, &of)
                .map_or(Slot::NotRun, |summary| {
                    let point = Point {
                        value: summary.median,
                        spread: Some((summary.q1, summary.q3)),
                    };
                    Slot::Mark(point, format::significant(summary.median))
                })
        };
        let series = rows
            .iter()
            .map(|row| {
                let slots = ues.iter().map(|ues| slot(row, *ues)).collect();
                (name_of(&row.transport, &row.threads), slots)
            })
            .collect();
        Some(Self { ues, series })
    }

    fn draw(mut self, file: &str, title: &str, value_title: &str, caption: &str) -> Figure {
        let mut names: Vec<String> = self.series.iter().map(|(name, _)| name.clone()).collect();
        crate::report::palette::sort(&mut names);
        self.series
            .sort_by_key(|(name, _)| names.iter().position(|known| known == name));
        let position = |ues: &u32| (f64::from(*ues).log10(), ues.to_string());
        let drawing = Lines {
            id: file.to_owned(),
            title: title.to_owned(),
            value_title: value_title.to_owned(),
            position_title: "UEs".to_owned(),
            keys: Key::number_all(&names),
            positions: self.ues.iter().map(position).collect(),
            series: self.series.into_iter().map(|(_, slots)| slots).collect(),
            kind: Some(Kind::Log),
        }
        .draw();
        Figure::new(file, drawing, caption)
    }
}
