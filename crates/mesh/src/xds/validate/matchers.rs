//! Which requests a route is for: paths and headers, in every form that xDS has had.

use super::report::{Path, Report};
use super::scalar::{not_empty, regex, runtime_fraction, string_match};
use crate::config::{
    HeaderCondition, HeaderMatch, PathMatch, RouteMatch, StringMatch, StringPattern,
};
use corewire_xds::envoy::config::route::v3 as route;

/// The condition, or `None` when there is a fault. Conditions that are not known here are refused by
/// the table of fields: a route without its condition would take calls that are meant for others.
pub(super) fn route_match(
    message: route::RouteMatch,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<RouteMatch> {
    let ignore_case = !message.case_sensitive.unwrap_or(true);
    let matcher = path_match(message.path_specifier, ignore_case, path, report);
    let fraction_path = path.field("runtime_fraction");
    let fraction = runtime_fraction(message.runtime_fraction, &fraction_path, report);
    let headers = header_matches(message.headers, "headers", path, report);
    Some(RouteMatch {
        path: matcher?,
        headers,
        fraction,
    })
}

fn path_match(
    specifier: Option<route::route_match::PathSpecifier>,
    ignore_case: bool,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<PathMatch> {
    use route::route_match::PathSpecifier;
    Some(match specifier {
        Some(PathSpecifier::Prefix(prefix)) => PathMatch::Prefix {
            prefix: prefix.into(),
            ignore_case,
        },
        Some(PathSpecifier::Path(text)) => PathMatch::Exact {
            path: text.into(),
            ignore_case,
        },
        Some(PathSpecifier::PathSeparatedPrefix(prefix)) => {
            let path = path.field("path_separated_prefix");
            if !prefix.starts_with('/') || prefix.ends_with('/') {
                report.fault(&path, "must begin with a slash and not end with one");
                return None;
            }
            PathMatch::SegmentPrefix {
                prefix: prefix.into(),
                ignore_case,
            }
        }
        Some(PathSpecifier::SafeRegex(matcher)) => {
            PathMatch::Regex(regex(&matcher, &path.field("safe_regex"), report)?)
        }
        Some(PathSpecifier::ConnectMatcher(_)) => {
            let reason = "is for CONNECT, which no caller sends: the route is left out";
            report.notice(&path.field("connect_matcher"), reason);
            return None;
        }
        // Refused by the table of fields.
        Some(PathSpecifier::PathMatchPolicy(_)) => return None,
        None => {
            report.fault(path, "says no path: prefix, path or safe_regex");
            return None;
        }
    })
}

/// Conditions on headers.
pub(super) fn header_matches(
    messages: Vec<route::HeaderMatcher>,
    field: &str,
    path: &Path<'_>,
    report: &mut Report,
) -> Vec<HeaderMatch> {
    let numbered = messages.into_iter().enumerate();
    numbered
        .filter_map(|(at, message)| header_match(message, &path.index(field, at), report))
        .collect()
}

fn header_match(
    message: route::HeaderMatcher,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<HeaderMatch> {
    use route::header_matcher::HeaderMatchSpecifier as Specifier;
    let route::HeaderMatcher {
        mut name,
        header_match_specifier,
        invert_match,
        treat_missing_header_as_empty,
    } = message;
    name.make_ascii_lowercase();
    let value = |pattern| HeaderCondition::Value(StringMatch::new(pattern));
    let condition = match header_match_specifier {
        Some(Specifier::StringMatch(matcher)) => {
            string_match(matcher, &path.field("string_match"), report).map(HeaderCondition::Value)
        }
        Some(Specifier::ExactMatch(text)) => Some(value(StringPattern::Exact(text.into()))),
        Some(Specifier::PrefixMatch(text)) => {
            not_empty(text, "prefix_match", path, report).map(|it| value(StringPattern::Prefix(it)))
        }
        Some(Specifier::SuffixMatch(text)) => {
            not_empty(text, "suffix_match", path, report).map(|it| value(StringPattern::Suffix(it)))
        }
        Some(Specifier::ContainsMatch(text)) => not_empty(text, "contains_match", path, report)
            .map(|it| value(StringPattern::Contains(it))),
        Some(Specifier::SafeRegexMatch(matcher)) => {
            regex(&matcher, &path.field("safe_regex_match"), report)
                .map(|it| value(StringPattern::Regex(it)))
        }
        Some(Specifier::RangeMatch(range)) if range.end < range.start => {
            let reason = format!("ends at {} before it starts at {}", range.end, range.start);
            report.fault(&path.field("range_match"), reason);
            None
        }
        Some(Specifier::RangeMatch(range)) => Some(HeaderCondition::Range {
            start: range.start,
            end: range.end,
        }),
        Some(Specifier::PresentMatch(present)) => Some(HeaderCondition::Present(present)),
        // "If not specified, the presence of the header" (HeaderMatcher in route_components.proto).
        None => Some(HeaderCondition::Present(true)),
    };
    let name = not_empty(name, "name", path, report)?;
    Some(HeaderMatch {
        name,
        condition: condition?,
        invert: invert_match,
        missing_as_empty: treat_missing_header_as_empty,
    })
}
