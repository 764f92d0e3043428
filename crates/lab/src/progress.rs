//! How far the session is: a bar on a terminal, plain lines elsewhere. All on standard error;
//! standard output is for results.

use corewire_observe::errln;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::clock::span;
use crate::record::Cell;

/// Where progress is shown.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A bar that is drawn again and again.
    Bar(ProgressBar),
    /// A line a turn.
    Lines,
    /// Nowhere.
    #[cfg(test)]
    Silent(Vec<String>),
}

impl Progress {
    /// A bar if standard error is a terminal.
    pub(crate) fn detect() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self::Bar(bar)
    }

    pub(crate) fn begin(&self, steps: usize) {
        if let Self::Bar(bar) = self {
            bar.set_length(steps as u64);
        }
    }

    /// A series begins.
    pub(crate) fn turn(&mut self, title: &str, left: Duration) {
        match self {
            Self::Bar(bar) => bar.set_message(format!("{} left  {title}: network", span(left))),
            Self::Lines => errln!("[{} left] {title}", span(left)),
            #[cfg(test)]
            Self::Silent(_) => {}
        }
    }

    /// A run begins.
    pub(crate) fn step(&self, cell: &Cell, left: Duration) {
        if let Self::Bar(bar) = self {
            bar.set_message(format!("{} left  {cell}", span(left)));
        }
    }

    /// A run is over.
    pub(crate) fn step_done(&self) {
        if let Self::Bar(bar) = self {
            bar.inc(1);
        }
    }

    /// Something to keep on the screen.
    pub(crate) fn line(&mut self, text: &str) {
        match self {
            Self::Bar(bar) => bar.suspend(|| errln!("{text}")),
            Self::Lines => errln!("{text}"),
            #[cfg(test)]
            Self::Silent(lines) => lines.push(text.to_owned()),
        }
    }

    pub(crate) fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
