//! Textured colours as SVG patterns.

use super::Key;
use crate::report::palette::Texture;
use crate::report::svg::Svg;

/// Defines what `keys` need and returns the paint of each, in order.
///
/// `scope` makes the names of the patterns unique within the page: ids of inlined drawings share
/// one name space.
pub(in crate::report) fn define(svg: &mut Svg, scope: &str, keys: &[Key]) -> Vec<String> {
    keys.iter()
        .map(|key| {
            let colour = key.paint.colour;
            let (size, marks) = match key.paint.texture {
                Texture::Plain => return colour.to_owned(),
                Texture::Hatched => (
                    5,
                    "<path d=\"M-1,1 l2,-2 M0,5 l5,-5 M4,6 l2,-2\" stroke=\"#ffffff\" \
                     stroke-opacity=\"0.75\" stroke-width=\"1.1\"/>",
                ),
                Texture::Dotted => (
                    4,
                    "<circle cx=\"2\" cy=\"2\" r=\"1\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>",
                ),
            };
            let id = format!("{scope}-{}", key.number);
            svg.define(&format!(
                "<pattern id=\"{id}\" width=\"{size}\" height=\"{size}\" \
                 patternUnits=\"userSpaceOnUse\"><rect width=\"{size}\" height=\"{size}\" \
                 fill=\"{colour}\"/>{marks}</pattern>"
            ));
            format!("url(#{id})")
        })
        .collect()
}
