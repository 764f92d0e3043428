//! The frame of the page: head, navigation, sections, foot. One file that opens without a network.

use std::fmt::Write as _;

use super::escape::escape;
use super::svg;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A part of the page.
#[derive(Debug)]
pub(super) struct Section {
    /// Unique in the page; the target of its link.
    pub(super) id: &'static str,
    pub(super) title: String,
    /// Markup, already escaped.
    pub(super) html: String,
}

/// The whole document. `title` is text; `foot` is markup.
pub(super) fn document(title: &str, sections: &[Section], foot: &str) -> String {
    let title = escape(title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}\n{}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1>\n<nav><ul>",
        svg::STYLE
    );
    for section in sections {
        let _ = write!(
            html,
            "<li><a href=\"#{}\">{}</a></li>",
            section.id,
            escape(&section.title)
        );
    }
    html.push_str(
        "<li><a href=\"#provenance\">How to make it again</a></li></ul></nav></header>\n<main>\n",
    );
    for section in sections {
        let _ = write!(
            html,
            "<section id=\"{}\"><h2>{}</h2>\n{}</section>\n",
            section.id,
            escape(&section.title),
            section.html
        );
    }
    let _ = write!(
        html,
        "</main>\n<footer id=\"provenance\"><h2>How to make it again</h2>\n{foot}</footer>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    html
}
