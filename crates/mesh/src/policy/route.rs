//! Route: from a request to the cluster that takes it.

pub mod hash_policy;
pub mod header;
pub mod path;
pub mod weighted;
pub mod xx_hash;

use super::random::Random;
use crate::config::{RouteMatch, VirtualHost};
use corewire_message::{Headers, Operation};

/// A request as conditions see it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "what conditions can name")]
pub struct RequestHead<'a> {
    /// What is asked for: the path without its first slash.
    pub operation: &'a Operation,
    /// Its headers; the method and the query are among them.
    pub headers: &'a Headers,
    /// The host that the caller asked for: the target's name.
    pub authority: &'a str,
}

/// The first route of a virtual host that fits a request.
pub fn choose(
    host: &VirtualHost,
    request: &RequestHead<'_>,
    random: &mut impl Random,
) -> Option<usize> {
    host.routes
        .iter()
        .position(|route| fits(&route.matcher, request, random))
}

fn fits(matcher: &RouteMatch, request: &RequestHead<'_>, random: &mut impl Random) -> bool {
    path::matches(&matcher.path, request.operation)
        && matcher
            .headers
            .iter()
            .all(|condition| header::matches(condition, request))
        && matcher
            .fraction
            .is_none_or(|fraction| fraction.holds(random.next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Fraction, HeaderCondition, HeaderMatch, PathMatch, Route};
    use crate::policy::random::SplitMix;

    static CREATE: Operation = Operation::from_static("nsmf/create");

    #[test]
    fn the_first_route_that_fits_in_all_its_conditions_is_taken() {
        let mut by_path = Route::to_cluster("other");
        by_path.matcher.path = PathMatch::Exact {
            path: "/namf/create".into(),
            ignore_case: false,
        };
        let mut canary = Route::to_cluster("canary");
        canary.matcher.headers.push(HeaderMatch {
            name: "x-canary".into(),
            condition: HeaderCondition::Present(true),
            invert: false,
            missing_as_empty: false,
        });
        let mut half = Route::to_cluster("half");
        half.matcher.fraction = Some(Fraction::percent(50));
        let host = VirtualHost {
            routes: vec![by_path, canary, half, Route::to_cluster("rest")],
            ..VirtualHost::default()
        };
        let mut random = SplitMix::new(5);
        let mut marked = Headers::new();
        marked.append("x-canary", "1").unwrap();
        let none = Headers::new();
        let head = |headers| RequestHead {
            operation: &CREATE,
            headers,
            authority: "smf",
        };
        let (marked, plain) = (head(&marked), head(&none));
        assert_eq!(choose(&host, &marked, &mut random), Some(1));
        let mut taken = [0_u32; 4];
        for _ in 0..10_000 {
            taken[choose(&host, &plain, &mut random).unwrap()] += 1;
        }
        assert_eq!(taken[0] + taken[1], 0);
        assert!(taken[2].abs_diff(5000) < 250, "{taken:?}");
        let nothing = VirtualHost::default();
        assert_eq!(choose(&nothing, &marked, &mut random), None);
    }
}
