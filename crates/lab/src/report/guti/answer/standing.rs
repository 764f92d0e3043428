//! Who is ahead, in sentences.

use std::collections::BTreeMap;

use super::{Metric, Runs, table_conditions};
use crate::report::format;
use crate::report::guti::versus::{Standing, Versus, best_against_best};
use crate::statistics::PAIRS_NEEDED;

/// How the best of Corewire's adapters stand against the best others.
pub(super) fn against_others(
    runs: &Runs<'_>,
    metric: Metric,
    ours: &[&String],
    theirs: &[&String],
) -> String {
    if ours.is_empty() {
        return "Corewire's adapters have no figures in this series.".to_owned();
    }
    if theirs.is_empty() {
        return "Only Corewire's adapters have figures in this series: nothing to compare with."
            .to_owned();
    }
    let mut by_standing: BTreeMap<Standing, Vec<Versus>> = BTreeMap::new();
    for condition in table_conditions(runs) {
        let ours = ours.iter().copied();
        let theirs = theirs.iter().copied();
        if let Some(versus) = best_against_best(runs, condition, metric, ours, theirs) {
            by_standing.entry(versus.standing).or_default().push(versus);
        }
    }
    let cells: usize = by_standing.values().map(Vec::len).sum();
    if cells == 0 {
        return "No cell has both a Corewire adapter and another one.".to_owned();
    }
    let open = by_standing.remove(&Standing::Open).unwrap_or_default();
    let decided: Vec<String> = by_standing
        .iter()
        .map(|(standing, found)| {
            let words = match standing {
                Standing::Even => "not shown to differ",
                other => other.words(),
            };
            let all = if found.len() + open.len() == cells {
                "all "
            } else {
                ""
            };
            format!("{words} in {all}{}{}", found.len(), ratio_range(found))
        })
        .collect();
    let mut sentences = Vec::new();
    if !decided.is_empty() {
        sentences.push(format!(
            "Of {} cells (clients × payload) the best Corewire adapter, against the best other \
             adapter of that cell, is {}.",
            cells - open.len(),
            format::list(&decided)
        ));
    }
    if !open.is_empty() {
        let better = open.iter().filter(|versus| versus.leads(metric)).count();
        sentences.push(format!(
            "No verdict in {} cells (clients × payload), which have fewer than {PAIRS_NEEDED} \
             interleaved repetitions; by the medians alone the best Corewire adapter is better \
             than the best other adapter in {better} of them{}.",
            open.len(),
            ratio_range(&open)
        ));
    }
    sentences.join(" ")
}

/// ` (1.12× to 2.30×)`, of the medians over the pairs.
fn ratio_range(found: &[Versus]) -> String {
    let ratios: Vec<f64> = found
        .iter()
        .filter_map(|versus| Some(versus.ratio?.median))
        .collect();
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(0.0, f64::max);
    match ratios.len() {
        0 => String::new(),
        1 => format!(" ({} the other's)", format::ratio(low)),
        _ => format!(
            " ({} to {} the other's)",
            format::ratio(low),
            format::ratio(high)
        ),
    }
}

/// Who is best in how many cells, among all that speak over TCP and in clear text.
pub(super) fn winners(runs: &Runs<'_>, metric: Metric) -> String {
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    let mut hints: BTreeMap<String, usize> = BTreeMap::new();
    let mut ties: BTreeMap<String, usize> = BTreeMap::new();
    for condition in table_conditions(runs) {
        let Some(ranking) = runs.rank(condition, &runs.contenders(), metric) else {
            continue;
        };
        match (ranking.winner(), ranking.best.first()) {
            (Some(winner), _) => *wins.entry(winner.to_owned()).or_default() += 1,
            (None, Some(best)) if !ranking.decided => {
                *hints.entry(best.clone()).or_default() += 1;
            }
            (None, Some(best)) => *ties.entry(best.clone()).or_default() += 1,
            (None, None) => {}
        }
    }
    let mut parts = Vec::new();
    if !wins.is_empty() {
        parts.push(format!(
            "Winners among all adapters over TCP: {}.",
            by_count(wins)
        ));
    }
    if !ties.is_empty() {
        let cells: usize = ties.values().sum();
        let plural = if cells == 1 { "" } else { "s" };
        parts.push(format!(
            "A tie at the top of {cells} cell{plural}, with the best median: {}.",
            by_count(ties)
        ));
    }
    if !hints.is_empty() {
        parts.push(format!("Best medians, no verdict: {}.", by_count(hints)));
    }
    parts.join(" ")
}

/// `CW-S (5), TCP-AS (2)`, the most first.
fn by_count(counts: BTreeMap<String, usize>) -> String {
    let mut order: Vec<(String, usize)> = counts.into_iter().collect();
    order.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    let names: Vec<String> = order
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    format::list(&names)
}
