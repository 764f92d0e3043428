//! Route: from a request to the cluster that takes it.

pub mod hash_policy;
pub mod header;
pub mod path;
pub mod weighted;
pub mod xx_hash;

use super::random::Random;
use crate::config::{RouteMatch, VirtualHost};
use corewire_message::{Headers, Operation};

/// The first route of a virtual host that fits a request.
pub fn choose(
    host: &VirtualHost,
    operation: &Operation,
    headers: &Headers,
    random: &mut impl Random,
) -> Option<usize> {
    host.routes
        .iter()
        .position(|route| fits(&route.matcher, operation, headers, random))
}

fn fits(
    matcher: &RouteMatch,
    operation: &Operation,
    headers: &Headers,
    random: &mut impl Random,
) -> bool {
    path::matches(&matcher.path, operation)
        && matcher
            .headers
            .iter()
            .all(|condition| header::matches(condition, operation, headers))
        && matcher
            .fraction
            .is_none_or(|fraction| fraction.holds(random.next()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Fraction, HeaderCondition, HeaderMatch, PathMatch, Route};
    use crate::policy::random::SplitMix;

    const CREATE: Operation = Operation::from_static("nsmf/create");

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
        assert_eq!(choose(&host, &CREATE, &marked, &mut random), Some(1));
        let mut taken = [0_u32; 4];
        for _ in 0..10_000 {
            taken[choose(&host, &CREATE, &Headers::new(), &mut random).unwrap()] += 1;
        }
        assert_eq!(taken[0] + taken[1], 0);
        assert!(taken[2].abs_diff(5000) < 250, "{taken:?}");
        let nothing = VirtualHost::default();
        assert_eq!(choose(&nothing, &CREATE, &marked, &mut random), None);
    }
}
