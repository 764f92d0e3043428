//! One look for one subject, the same in every figure.
//!
//! The family gives the hue (gRPC blue, Thrift green, the TCP baseline grey, Corewire orange to
//! red), the member its lightness, and a hatch marks the asynchronous ones, so that neither a
//! colour-blind reader nor a black-and-white print depends on the hue. The greens lean to blue and
//! the reds to orange, which keeps them apart under deuteranopia and protanopia. Every bar carries
//! its number from the legend besides.

/// The texture over a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texture {
    /// A synchronous adapter.
    Plain,
    /// An asynchronous adapter: diagonal lines.
    Hatched,
    /// A tuned variant of another subject (`NAME+something`): dots.
    Dotted,
}

/// How a subject is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paint {
    /// `#rrggbb`.
    pub(super) colour: &'static str,
    pub(super) texture: Texture,
}

/// Every subject with a look of its own, in the order in which they are shown.
///
/// The eight adapters of the thesis come first, in the order of its figures' families; then those of
/// the other scenarios.
const KNOWN: [(&str, &str, Texture); 51] = [
    ("TCP-AS", "#7d8590", Texture::Hatched),
    ("THRIFT-S", "#12805c", Texture::Plain),
    ("THRIFT-NB", "#2fae8a", Texture::Plain),
    ("THRIFT-AS", "#86d5bd", Texture::Hatched),
    ("GRPC-S", "#2a62c0", Texture::Plain),
    ("GRPC-AS", "#4a7fd4", Texture::Hatched),
    ("GRPC-BI", "#74abe8", Texture::Plain),
    ("GRPC-ASBI", "#a9cdf3", Texture::Hatched),
    ("GRPC-CB", "#5a5fc7", Texture::Hatched),
    ("CW-S", "#dc540f", Texture::Plain),
    ("CW-AS", "#f58a1f", Texture::Hatched),
    ("CW-BI", "#ffb347", Texture::Plain),
    ("CW-EL", "#9c4a12", Texture::Dotted),
    ("CW-SHM", "#bf2720", Texture::Plain),
    ("CW-REST", "#e8735a", Texture::Plain),
    ("CW-GRPC", "#ffd08a", Texture::Hatched),
    // Paths of the mesh: no mesh grey, inline orange to red, sidecars green, gRPC C++ blue.
    ("direct-rest", "#6b7280", Texture::Plain),
    ("direct-grpc", "#9aa1ab", Texture::Hatched),
    ("direct-native", "#454b54", Texture::Dotted),
    ("direct-shm", "#c3c8cf", Texture::Plain),
    ("stages-rest", "#c9a227", Texture::Plain),
    ("stages-native", "#8f7310", Texture::Dotted),
    ("inline-rest", "#e0561a", Texture::Plain),
    ("inline-grpc", "#f79a3e", Texture::Hatched),
    ("inline-native", "#b8330f", Texture::Dotted),
    ("inline-shm", "#ffc266", Texture::Plain),
    ("envoy-1-rest", "#5fbf9f", Texture::Plain),
    ("envoy-1-grpc", "#9fdcc8", Texture::Hatched),
    ("envoy-2-rest", "#0f7a57", Texture::Plain),
    ("envoy-2-grpc", "#2f9f7f", Texture::Hatched),
    ("shim-grpc", "#7a6fd0", Texture::Plain),
    ("grpc-xds", "#2f66c8", Texture::Plain),
    ("ref-grpc", "#86b4ec", Texture::Hatched),
    ("ref-nghttp2", "#a3877a", Texture::Dotted),
    ("ref-hyper", "#b0506e", Texture::Plain),
    ("ref-tonic", "#d99bb0", Texture::Hatched),
    ("ref-h2load", "#7d6a5c", Texture::Plain),
    // The RMR scenario: the real library grey, NNG green, gRPC blue, ours orange to red.
    ("rmr", "#6b7480", Texture::Plain),
    ("rmr-nng", "#1f9470", Texture::Hatched),
    ("nng-raw", "#54c2a0", Texture::Plain),
    ("grpc", "#2e6bc9", Texture::Plain),
    ("grpc-hint", "#8bbaec", Texture::Hatched),
    ("si95", "#e0590f", Texture::Plain),
    ("si95-gather", "#ef8a45", Texture::Hatched),
    ("native", "#c22f22", Texture::Plain),
    ("shm", "#8c1d13", Texture::Plain),
    ("nng", "#f7b04e", Texture::Hatched),
    ("rmr-to-si95", "#e89070", Texture::Hatched),
    ("si95-to-rmr", "#a35a3f", Texture::Hatched),
    // The 5G core: the source grey; gRPC, native and shared memory as above.
    ("source 3", "#838b96", Texture::Plain),
    ("rest", "#1b8a63", Texture::Plain),
];

/// For subjects that this list does not know, by their family.
const OTHER: [(&str, &[&str]); 5] = [
    ("TCP", &["#59616b", "#a2a9b2"]),
    ("THRIFT", &["#1d8a68", "#5cc4a4"]),
    ("GRPC", &["#2f64b8", "#8dbcee"]),
    ("CW", &["#bd3a12", "#f7a65a", "#8c2d04"]),
    ("", &["#8a5aa8", "#b48bcb", "#6d4c41", "#a1887f"]),
];

/// The paint of `subject`.
pub(super) fn paint(subject: &str) -> Paint {
    let (base, tuned) = split(subject);
    let (colour, texture) = KNOWN
        .iter()
        .find(|(name, ..)| *name == base)
        .map_or_else(|| unknown(base), |(_, colour, texture)| (*colour, *texture));
    let texture = if tuned { Texture::Dotted } else { texture };
    Paint { colour, texture }
}

/// Sorts subjects into the order of the figures: the known ones first, each followed by its tuned
/// variants, then the others by name.
pub(super) fn sort(subjects: &mut [String]) {
    subjects.sort_by_key(|subject| {
        let (base, tuned) = split(subject);
        let place = KNOWN
            .iter()
            .position(|(name, ..)| *name == base)
            .unwrap_or(KNOWN.len());
        (place, base.to_owned(), tuned, subject.clone())
    });
}

/// The name without a tuning (`NAME+malloc`), and whether there was one.
fn split(subject: &str) -> (&str, bool) {
    match subject.split_once('+') {
        Some((base, _)) => (base, true),
        None => (subject, false),
    }
}

fn unknown(base: &str) -> (&'static str, Texture) {
    let family = base.split('-').next().unwrap_or_default();
    let colours = OTHER
        .iter()
        .find(|(name, _)| *name == family)
        .map_or(OTHER[OTHER.len() - 1].1, |(_, colours)| colours);
    // By the name alone, so that a subject keeps its colour when others come or go.
    let sum: usize = base.bytes().map(usize::from).sum();
    (colours[sum % colours.len()], Texture::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_known_subjects_look_the_same() {
        for (index, (name, colour, _)) in KNOWN.iter().enumerate() {
            for (other, other_colour, _) in &KNOWN[index + 1..] {
                assert_ne!(colour, other_colour, "{name} and {other}");
            }
        }
    }

    #[test]
    fn a_tuned_variant_keeps_the_colour_and_differs_in_texture() {
        let plain = paint("THRIFT-NB");
        let tuned = paint("THRIFT-NB+malloc");
        assert_eq!(plain.colour, tuned.colour);
        assert_ne!(plain.texture, tuned.texture);
    }

    #[test]
    fn the_order_is_that_of_the_thesis_then_ours_then_strangers() {
        let mut subjects = [
            "ZZZ",
            "CW-S",
            "THRIFT-S+malloc",
            "GRPC-S",
            "THRIFT-S",
            "TCP-AS",
        ]
        .map(str::to_owned)
        .to_vec();
        sort(&mut subjects);
        assert_eq!(
            subjects,
            [
                "TCP-AS",
                "THRIFT-S",
                "THRIFT-S+malloc",
                "GRPC-S",
                "CW-S",
                "ZZZ"
            ]
        );
    }
}
