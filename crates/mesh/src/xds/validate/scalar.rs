//! Durations, percentages, texts: values that many messages hold.

use super::report::{Path, Report};
use crate::config::{Fraction, Regex, StringMatch, StringPattern};
use corewire_xds::envoy::config::core::v3::RuntimeFractionalPercent;
use corewire_xds::envoy::r#type::matcher::v3::{
    RegexMatchAndSubstitute, RegexMatcher, StringMatcher, string_matcher,
};
use corewire_xds::envoy::r#type::v3::{FractionalPercent, Percent, fractional_percent};
use std::sync::Arc;
use std::time::Duration;

/// The longest duration in protobuf: about 10,000 years.
const MAX_SECONDS: i64 = 315_576_000_000;

/// A duration that is not negative.
pub(crate) fn duration(
    value: Option<corewire_xds::Duration>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Duration> {
    let value = value?;
    let seconds = u64::try_from(value.seconds).ok();
    let nanos = u32::try_from(value.nanos).ok();
    match (seconds, nanos) {
        (Some(seconds), Some(nanos)) if value.seconds <= MAX_SECONDS && nanos <= 999_999_999 => {
            Some(Duration::new(seconds, nanos))
        }
        _ => {
            let (seconds, nanos) = (value.seconds, value.nanos);
            report.fault(path, format!("{seconds} s {nanos} ns is no valid duration"));
            None
        }
    }
}

/// A duration longer than zero.
pub(crate) fn positive_duration(
    value: Option<corewire_xds::Duration>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Duration> {
    let duration = duration(value, path, report)?;
    if duration.is_zero() {
        report.fault(path, "must be longer than zero");
        return None;
    }
    Some(duration)
}

/// A share of the traffic; absent: none of it.
pub(crate) fn fraction(
    value: Option<FractionalPercent>,
    path: &Path<'_>,
    report: &mut Report,
) -> Fraction {
    let Some(value) = value else {
        return Fraction::NEVER;
    };
    use fractional_percent::DenominatorType;
    let parts = match DenominatorType::try_from(value.denominator) {
        Ok(DenominatorType::Hundred) => 10_000,
        Ok(DenominatorType::TenThousand) => 100,
        Ok(DenominatorType::Million) => 1,
        Err(_) => {
            let found = value.denominator;
            report.fault(
                &path.field("denominator"),
                format!("{found} is no known denominator"),
            );
            return Fraction::NEVER;
        }
    };
    Fraction::per_million(value.numerator.saturating_mul(parts))
}

/// A share of the traffic that a run-time key could change where there is one; absent: `None`.
pub(crate) fn runtime_fraction(
    value: Option<RuntimeFractionalPercent>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Fraction> {
    let RuntimeFractionalPercent {
        default_value,
        runtime_key: _,
    } = value?;
    Some(fraction(
        default_value,
        &path.field("default_value"),
        report,
    ))
}

/// A whole percentage from 0 to 100.
pub(crate) fn percent(value: Option<u32>, default: u8, path: &Path<'_>, report: &mut Report) -> u8 {
    let Some(value) = value else {
        return default;
    };
    match u8::try_from(value) {
        Ok(percent) if percent <= 100 => percent,
        _ => {
            report.fault(path, format!("{value} is more than 100 percent"));
            default
        }
    }
}

/// A percentage from 0 to 100, rounded to a whole one.
pub(crate) fn rounded_percent(
    value: Option<Percent>,
    default: u8,
    path: &Path<'_>,
    report: &mut Report,
) -> u8 {
    let Some(Percent { value }) = value else {
        return default;
    };
    if (0.0..=100.0).contains(&value) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was just found to be from 0 to 100"
        )]
        let percent = value.round() as u8;
        return percent;
    }
    report.fault(path, format!("{value} is no percentage from 0 to 100"));
    default
}

/// A regular expression.
pub(crate) fn regex(matcher: &RegexMatcher, path: &Path<'_>, report: &mut Report) -> Option<Regex> {
    // RE2 is the only engine there is, and its settings are deprecated.
    let RegexMatcher {
        engine_type: _,
        regex,
    } = matcher;
    match Regex::new(regex) {
        Ok(regex) => Some(regex),
        Err(fault) => {
            report.fault(&path.field("regex"), format!("{regex:?} {fault}"));
            None
        }
    }
}

/// A regular expression and what replaces its matches, in the syntax of crate `regex`.
pub(crate) fn rewrite(
    value: RegexMatchAndSubstitute,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<(Regex, Arc<str>)> {
    let RegexMatchAndSubstitute {
        pattern,
        substitution,
    } = value;
    let Some(pattern) = pattern else {
        report.fault(&path.field("pattern"), "is missing");
        return None;
    };
    let pattern = regex(&pattern, &path.field("pattern"), report)?;
    Some((pattern, substitution_of_re2(&substitution).into()))
}

/// RE2 writes groups as `\1`, here they are `${1}`.
fn substitution_of_re2(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match rest.next() {
                Some(digit) if digit.is_ascii_digit() => {
                    out.push_str("${");
                    out.push(digit);
                    out.push('}');
                }
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            '$' => out.push_str("$$"),
            other => out.push(other),
        }
    }
    out
}

/// A condition on a text.
pub(crate) fn string_match(
    matcher: StringMatcher,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<StringMatch> {
    use string_matcher::MatchPattern;
    let StringMatcher {
        match_pattern,
        ignore_case,
    } = matcher;
    let pattern = match match_pattern {
        Some(MatchPattern::Exact(text)) => StringPattern::Exact(text.into()),
        Some(MatchPattern::Prefix(text)) => {
            StringPattern::Prefix(not_empty(text, "prefix", path, report)?)
        }
        Some(MatchPattern::Suffix(text)) => {
            StringPattern::Suffix(not_empty(text, "suffix", path, report)?)
        }
        Some(MatchPattern::Contains(text)) => {
            StringPattern::Contains(not_empty(text, "contains", path, report)?)
        }
        Some(MatchPattern::SafeRegex(matcher)) => {
            StringPattern::Regex(regex(&matcher, &path.field("safe_regex"), report)?)
        }
        Some(MatchPattern::Custom(_)) => {
            report.fault(&path.field("custom"), "no custom matcher is known here");
            return None;
        }
        None => {
            report.fault(path, "says nothing to compare with");
            return None;
        }
    };
    Some(StringMatch {
        pattern,
        ignore_case,
    })
}

/// A text that must not be empty.
pub(crate) fn not_empty(
    text: String,
    field: &str,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Arc<str>> {
    if text.is_empty() {
        report.fault(&path.field(field), "is empty");
        return None;
    }
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_re2_become_groups_here() {
        assert_eq!(substitution_of_re2(r"\1-$x\\\0"), r"${1}-$$x\${0}");
        let pattern = regex::Regex::new("imsi-([0-9]{5})[0-9]*").unwrap();
        let with = substitution_of_re2(r"\1");
        assert_eq!(pattern.replace_all("imsi-001011234", with), "00101");
    }

    #[test]
    fn durations_out_of_range_are_faults() {
        let mut report = Report::default();
        let of = |seconds, nanos| Some(corewire_xds::Duration { seconds, nanos });
        for bad in [of(-1, 0), of(0, -1), of(0, 1_000_000_000), of(i64::MAX, 0)] {
            assert_eq!(duration(bad, &Path::ROOT, &mut report), None);
        }
        assert_eq!(report.faults.len(), 4);
        assert_eq!(
            duration(of(1, 5), &Path::ROOT, &mut report),
            Some(Duration::new(1, 5))
        );
        assert_eq!(positive_duration(of(0, 0), &Path::ROOT, &mut report), None);
        assert_eq!(report.faults.len(), 5);
    }
}
