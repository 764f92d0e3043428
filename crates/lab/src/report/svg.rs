//! A small SVG writer: only the shapes that the charts need.
//!
//! Colours of the page (ink, grid, background) come from the classes in `chart.css`, so that a
//! figure follows the reader's light or dark setting; colours of the data are attributes. The same
//! body is inlined in the page, where the page's own style sheet holds those classes, and written as
//! a file of its own, which then carries them in a `<style>` element.

use std::fmt::Write as _;

use super::escape::escape;

/// The classes of every chart, shared by the page and the figures that stand alone.
pub(super) const STYLE: &str = include_str!("chart.css");

/// Which end of a text stands at its coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The text begins there.
    Start,
    /// The text is centred there.
    Middle,
    /// The text ends there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A rectangle, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A drawing under construction.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
    definitions: String,
}

impl Svg {
    /// A rectangle; `fill` is a paint (`#rrggbb` or `url(#id)`), or nothing if the class has it.
    pub(super) fn rect(&mut self, rect: Rect, class: &str, fill: Option<&str>) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            px(rect.x),
            px(rect.y),
            px(rect.width.max(0.0)),
            px(rect.height.max(0.0)),
        );
        if let Some(fill) = fill {
            let _ = write!(self.body, " fill=\"{fill}\"");
        }
        self.body.push_str("/>");
    }

    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1),
        );
    }

    /// A straight line in a colour of the data.
    pub(super) fn coloured_line(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        class: &str,
        stroke: &str,
    ) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" stroke=\"{stroke}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1),
        );
    }

    /// An open line through `points`, dashed by an SVG dash array unless that is empty.
    pub(super) fn polyline(
        &mut self,
        points: &[(f64, f64)],
        class: &str,
        stroke: &str,
        dashes: &str,
    ) {
        let _ = write!(
            self.body,
            "<polyline class=\"{class}\" fill=\"none\" stroke=\"{stroke}\""
        );
        if !dashes.is_empty() {
            let _ = write!(self.body, " stroke-dasharray=\"{dashes}\"");
        }
        self.body.push_str(" points=\"");
        for (index, (x, y)) in points.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let _ = write!(self.body, "{space}{},{}", px(*x), px(*y));
        }
        self.body.push_str("\"/>");
    }

    /// A filled path; `data` is SVG path data.
    pub(super) fn path(&mut self, data: &str, class: &str, fill: &str) {
        let _ = write!(
            self.body,
            "<path class=\"{class}\" fill=\"{fill}\" d=\"{data}\"/>"
        );
    }

    /// A line of text; its size and weight come from the class.
    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
            px(at.0),
            px(at.1),
            anchor.name(),
            escape(text),
        );
    }

    /// A text that reads upwards, centred at `at`: the title of a vertical axis.
    pub(super) fn upward_text(&mut self, at: (f64, f64), class: &str, text: &str) {
        let (x, y) = (px(at.0), px(at.1));
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape(text),
        );
    }

    /// Draws inside a group with a tooltip.
    pub(super) fn with_tooltip(&mut self, tooltip: &str, draw: impl FnOnce(&mut Self)) {
        let _ = write!(self.body, "<g><title>{}</title>", escape(tooltip));
        draw(self);
        self.body.push_str("</g>");
    }

    /// Adds to the definitions (patterns); `markup` is SVG.
    pub(super) fn define(&mut self, markup: &str) {
        self.definitions.push_str(markup);
    }

    /// Closes the drawing.
    pub(super) fn finish(self, width: f64, height: f64, title: &str) -> Drawing {
        Drawing {
            body: self.body,
            definitions: self.definitions,
            title: title.to_owned(),
            width,
            height,
        }
    }
}

/// A finished drawing.
#[derive(Debug)]
pub(super) struct Drawing {
    body: String,
    definitions: String,
    title: String,
    width: f64,
    height: f64,
}

impl Drawing {
    /// The element to put into a page that holds [`STYLE`].
    pub(super) fn inline(&self) -> String {
        self.element("")
    }

    /// A whole SVG file that needs nothing beside it.
    pub(super) fn file(&self) -> String {
        let style = format!("<style>{STYLE}</style>");
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
            self.element(&style)
        )
    }

    fn element(&self, style: &str) -> String {
        let (width, height) = (px(self.width), px(self.height));
        let title = escape(&self.title);
        let mut element = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" \
             aria-label=\"{title}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">{style}"
        );
        if !self.definitions.is_empty() {
            let _ = write!(element, "<defs>{}</defs>", self.definitions);
        }
        let _ = write!(
            element,
            "<rect class=\"paper\" x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\"/>"
        );
        element.push_str(&self.body);
        element.push_str("</svg>");
        element
    }
}

/// A coordinate with the hundredths that matter and no more.
fn px(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // Avoids "-0", which is valid but reads as a mistake.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// About how wide a text is, in pixels, in the sans-serif face of the charts at `size` pixels.
///
/// Labels are laid out without a font at hand; the estimate is on the wide side, so that what is
/// laid out from it does not overlap.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|letter| advance(letter) * size).sum()
}

fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.32,
        ' ' | 'f' | 't' | 'r' | 'I' | '-' | '(' | ')' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '–' => 0.95,
        'A'..='Z' | '+' => 0.72,
        _ => 0.62,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_data_cannot_break_out_of_its_element() {
        let mut svg = Svg::default();
        svg.text((1.0, 2.0), Anchor::Middle, "label", "<b> & \"c\"");
        svg.with_tooltip("</title><script>", |_| {});
        let file = svg.finish(10.0, 10.0, "\"><x>").file();
        assert!(file.contains("&lt;b&gt; &amp; &quot;c&quot;"));
        assert!(!file.contains("<script>"));
        assert!(!file.contains("<x>"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(px(1.0 / 3.0), "0.33");
        assert_eq!(px(-0.001), "0");
        assert_eq!(px(12.0), "12");
    }

    #[test]
    fn a_figure_of_its_own_carries_its_style_and_an_inlined_one_does_not() {
        let drawing = Svg::default().finish(10.0, 10.0, "t");
        assert!(drawing.file().contains("<style>"));
        assert!(!drawing.inline().contains("<style>"));
    }
}
