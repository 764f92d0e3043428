//! `[[route]]`: which calls go where, and how often they are tried.

use super::Known;
use super::endpoint::Transport;
use super::re2;
use super::reader::{Table, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Regular expressions are compiled by every client.
const MAX_REGEX: usize = 1024;
/// The sum of weights that fits everywhere.
const MAX_WEIGHT: u32 = 1_000_000;

/// Conditions a retry may be tied to: those of gRPC, and those of HTTP that Envoy knows.
const RETRY_ON: [&str; 16] = [
    "cancelled",
    "deadline-exceeded",
    "internal",
    "resource-exhausted",
    "unavailable",
    "5xx",
    "gateway-error",
    "reset",
    "reset-before-request",
    "connect-failure",
    "refused-stream",
    "retriable-4xx",
    "retriable-status-codes",
    "envoy-ratelimited",
    "http3-post-connect-failure",
    "retriable-headers",
];

/// One route: what it applies to, and what happens then.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Route {
    /// Its name, for people.
    pub name: String,
    /// Paths it applies to.
    pub path: PathMatch,
    /// Headers that must be so.
    pub headers: Vec<HeaderMatch>,
    /// The share of calls it applies to, millionths.
    pub share: Option<u32>,
    /// Where calls go, by weight; at least one.
    pub to: Vec<Destination>,
    /// How long a call may take, all tries together; zero: for ever.
    pub timeout: Option<Duration>,
    /// How long a stream may last.
    pub max_duration: Option<Duration>,
    /// Whether a call is tried again.
    pub retry: Option<Retry>,
    /// What a ring is asked with.
    pub hash: Vec<HashKey>,
    /// Who gets copies.
    pub mirror: Vec<Mirror>,
    /// Faults that are injected.
    pub fault: Option<FaultInjection>,
    /// How many calls may pass.
    pub rate_limit: Option<RateLimit>,
    /// How instances are spoken to, whatever their service says.
    pub transport: Option<Transport>,
}

/// Paths a route applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what xDS knows")]
pub enum PathMatch {
    /// Those that begin so.
    Prefix(String),
    /// This one.
    Exact(String),
    /// Those that are wholly so (RE2).
    Regex(String),
}

/// A header that must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderMatch {
    /// Its name, lower case.
    pub name: String,
    /// How its value must be.
    pub test: HeaderTest,
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// It must not be so.
    pub invert: bool,
}

/// How a header's value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what xDS knows")]
pub enum HeaderTest {
    /// This.
    Exact(String),
    /// Begin so.
    Prefix(String),
    /// End so.
    Suffix(String),
    /// Have this in it.
    Contains(String),
    /// Be wholly so (RE2).
    Regex(String),
    /// Be there, or not.
    Present(bool),
    /// A whole number from here to before there.
    Range(i64, i64),
}

/// Where calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Destination {
    /// The service.
    pub service: Arc<str>,
    /// Only these of its instances.
    pub subset: Option<Arc<str>>,
    /// Its share relative to the others.
    pub weight: u32,
}

/// When and how often a call is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// After which failures.
    pub on: Vec<String>,
    /// HTTP status codes that count as `retriable-status-codes`.
    pub status_codes: Vec<u32>,
    /// How often, beside the first try.
    pub attempts: u32,
    /// How long one try may take.
    pub per_try_timeout: Option<Duration>,
    /// The pause before the second try, doubled from then on.
    pub backoff: Option<Duration>,
    /// The longest pause.
    pub max_backoff: Option<Duration>,
    /// All calls of the route may be repeated, not only those whose method is idempotent.
    pub repeat_all: bool,
}

/// What a ring is asked with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HashKey {
    /// The header whose value is the key.
    pub header: String,
    /// Later keys count only when this one is missing.
    pub terminal: bool,
}

/// Who gets copies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mirror {
    /// The service.
    pub service: Arc<str>,
    /// Only these of its instances.
    pub subset: Option<Arc<str>>,
    /// The share of calls, millionths.
    pub share: u32,
}

/// Faults that are injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultInjection {
    /// How long, and for which share (millionths).
    pub delay: Option<(Duration, u32)>,
    /// The HTTP status, and for which share (millionths).
    pub abort_http: Option<(u32, u32)>,
    /// The gRPC status, and for which share (millionths).
    pub abort_grpc: Option<(u32, u32)>,
}

/// How many calls may pass, for each client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// In a second, in the long run.
    pub per_second: u32,
    /// At once.
    pub burst: u32,
}

pub(super) fn read_all(
    root: &mut Table<'_, '_>,
    known: &Known<'_>,
) -> BTreeMap<Arc<str>, Arc<[Route]>> {
    let mut routes: BTreeMap<Arc<str>, Vec<Route>> = BTreeMap::new();
    for mut table in root.take("route").map_or_else(Vec::new, |v| v.tables()) {
        let service = table
            .need("service", "write service = \"…\": whose calls these are")
            .and_then(|value| known.service(&value));
        // Read also when its service is not known: its other faults are faults all the same.
        let route = read(&mut table, service.as_ref(), known);
        table.finish();
        if let (Some(service), Some(route)) = (service, route) {
            routes.entry(service).or_default().push(route);
        }
    }
    let routes = routes.into_iter();
    routes
        .map(|(service, routes)| (service, routes.into()))
        .collect()
}

fn read(table: &mut Table<'_, '_>, service: Option<&Arc<str>>, known: &Known<'_>) -> Option<Route> {
    let name = table.take("name").and_then(|v| v.string());
    let path = path(table);
    let headers = table.take("headers").map_or_else(Vec::new, |v| v.tables());
    let headers = headers.into_iter().filter_map(header).collect();
    let share = table.take("percent").and_then(|v| v.percent());
    let to = destinations(table, service, known);
    let timeout = table
        .take("timeout")
        .and_then(|v| v.duration(Duration::ZERO..=LONGEST));
    let max_duration = table
        .take("max-duration")
        .and_then(|v| v.duration(Duration::ZERO..=LONGEST));
    let retry = table.take("retry").and_then(|v| v.table()).and_then(retry);
    let hash = table.take("hash").map_or_else(Vec::new, |v| v.tables());
    let mirror = table.take("mirror").map_or_else(Vec::new, |v| v.tables());
    let fault = table.take("fault").and_then(|v| v.table()).map(fault);
    let limit = table.take("rate-limit").and_then(|v| v.table());
    let transport = table
        .take("transport")
        .and_then(|v| v.one_of(&Transport::WORDS));
    Some(Route {
        name: name.unwrap_or_default(),
        headers,
        share,
        timeout,
        max_duration,
        retry,
        hash: hash.into_iter().filter_map(hash_key).collect(),
        mirror: mirror
            .into_iter()
            .filter_map(|table| copy(table, known))
            .collect(),
        fault,
        rate_limit: limit.and_then(rate_limit),
        transport,
        path: path?,
        to: to?,
    })
}

fn path(table: &mut Table<'_, '_>) -> Option<PathMatch> {
    let exact = table.take("path");
    let prefix = table.take("path-prefix");
    let regex = table.take("path-regex");
    if [&exact, &prefix, &regex].into_iter().flatten().count() > 1 {
        table.fault(
            "a route has one of path, path-prefix and path-regex",
            "make a route of each",
        );
        return None;
    }
    let begins_well = |value: &Value<'_, '_>, path: &str| {
        if !path.starts_with('/') {
            value.fault(format!("{path:?} is no path"), "begin it with /");
        }
    };
    if let Some(value) = exact {
        let path = value.string()?;
        begins_well(&value, &path);
        return Some(PathMatch::Exact(path));
    }
    if let Some(value) = regex {
        return pattern(&value).map(PathMatch::Regex);
    }
    let Some(value) = prefix else {
        return Some(PathMatch::Prefix("/".into()));
    };
    let path = value.string()?;
    begins_well(&value, &path);
    Some(PathMatch::Prefix(path))
}

/// A regular expression that every client takes.
fn pattern(value: &Value<'_, '_>) -> Option<String> {
    let text = value.string()?;
    if text.is_empty() || text.len() > MAX_REGEX {
        value.fault(
            format!("a regular expression has 1 to {MAX_REGEX} octets"),
            "write \".*\" for anything",
        );
        return None;
    }
    if let Err(fault) = re2::check(&text) {
        value.fault(format!("the regular expression: {fault}"), fault.advice());
        return None;
    }
    Some(text)
}

fn header(mut table: Table<'_, '_>) -> Option<HeaderMatch> {
    let name = table
        .need("name", "write name = \"…\"")
        .and_then(|value| header_name(&value));
    let mut tests = Vec::new();
    let mut string = |word, make: fn(String) -> HeaderTest| {
        if let Some(text) = table.take(word).map(|v: Value<'_, '_>| v.string()) {
            tests.push(text.map(make));
        }
    };
    string("exact", HeaderTest::Exact);
    string("prefix", HeaderTest::Prefix);
    string("suffix", HeaderTest::Suffix);
    string("contains", HeaderTest::Contains);
    if let Some(value) = table.take("regex") {
        tests.push(pattern(&value).map(HeaderTest::Regex));
    }
    if let Some(value) = table.take("present") {
        tests.push(value.boolean().map(HeaderTest::Present));
    }
    if let Some(value) = table.take("range") {
        tests.push(range(&value));
    }
    let mut flag = |word| table.take(word).and_then(|v: Value<'_, '_>| v.boolean());
    let (ignore_case, invert) = (flag("ignore-case"), flag("invert"));
    if tests.len() != 1 {
        table.fault(
            "a header has one of exact, prefix, suffix, contains, regex, present and range",
            "write for example exact = \"1\"; for two tests, list the header twice",
        );
    }
    let test = tests.pop().flatten();
    let textual = matches!(
        test,
        Some(
            HeaderTest::Exact(_)
                | HeaderTest::Prefix(_)
                | HeaderTest::Suffix(_)
                | HeaderTest::Contains(_)
        )
    );
    if ignore_case == Some(true) && test.is_some() && !textual {
        table.fault(
            "ignore-case says nothing here",
            "remove it; a regular expression begins with (?i) instead",
        );
    }
    let empty = matches!(
        &test,
        Some(HeaderTest::Prefix(text) | HeaderTest::Suffix(text) | HeaderTest::Contains(text)) if text.is_empty()
    );
    if empty {
        table.fault("an empty text is in every value", "write present = true");
    }
    table.finish();
    Some(HeaderMatch {
        name: name?,
        test: test?,
        ignore_case: ignore_case.unwrap_or(false),
        invert: invert.unwrap_or(false),
    })
}

fn header_name(value: &Value<'_, '_>) -> Option<String> {
    let name = value.string()?.to_ascii_lowercase();
    let rest = name.strip_prefix(':').unwrap_or(&name);
    let good = !rest.is_empty()
        && name.len() <= 255
        && rest
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&octet));
    if good {
        return Some(name);
    }
    value.fault(
        format!("{name:?} is no header name"),
        "use letters, digits and -; :method and :path are headers too",
    );
    None
}

fn range(value: &Value<'_, '_>) -> Option<HeaderTest> {
    let mut table = value.table()?;
    let limit = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    let mut number = |word| {
        let number = table.take(word)?.integer(0..=limit)?;
        i64::try_from(number).ok()
    };
    let (from, before) = (number("from").unwrap_or(0), number("before"));
    if before.is_none_or(|before| before <= from) {
        table.fault(
            "the range is empty",
            "write range = { from = 1, before = 10 }",
        );
    }
    table.finish();
    Some(HeaderTest::Range(from, before?))
}

fn destinations(
    table: &mut Table<'_, '_>,
    service: Option<&Arc<str>>,
    known: &Known<'_>,
) -> Option<Vec<Destination>> {
    let Some(value) = table.take("to") else {
        let to = Destination {
            service: Arc::clone(service?),
            subset: None,
            weight: 1,
        };
        return Some(vec![to]);
    };
    let tables = value.tables();
    let mut to = Vec::new();
    let all = tables.len();
    for mut table in tables {
        let (service, subset) = target(&mut table, service, known);
        let weight = table
            .take("weight")
            .and_then(|v| v.integer32(0..=MAX_WEIGHT));
        table.finish();
        if let Some(service) = service {
            to.push(Destination {
                service,
                subset,
                weight: weight.unwrap_or(1),
            });
        }
    }
    if all > 0 && to.len() < all {
        // Reported already.
        return None;
    }
    let total: u64 = to.iter().map(|to| u64::from(to.weight)).sum();
    if total == 0 || total > u64::from(u32::MAX) {
        value.fault(
            "the weights add up to nothing that can be divided",
            "give at least one destination a weight above 0",
        );
        return None;
    }
    Some(to)
}

/// `service = …, subset = …`, the service of the route when none is named.
fn target(
    table: &mut Table<'_, '_>,
    default: Option<&Arc<str>>,
    known: &Known<'_>,
) -> (Option<Arc<str>>, Option<Arc<str>>) {
    let service = match table.take("service") {
        Some(value) => known.service(&value),
        None => default.cloned(),
    };
    let subset = table.take("subset").and_then(|value| match &service {
        Some(service) => known.subset(service, &value),
        None => None,
    });
    (service, subset)
}

fn retry(mut table: Table<'_, '_>) -> Option<Retry> {
    let on = table.need("on", "write on = [\"unavailable\"]: after which failures");
    let words: Vec<(&str, &str)> = RETRY_ON.iter().map(|word| (*word, *word)).collect();
    let values = on.as_ref().and_then(Value::array).unwrap_or_default();
    let conditions: Vec<String> = values
        .iter()
        .filter_map(|value| value.one_of(&words).map(str::to_owned))
        .collect();
    if let (Some(value), true) = (&on, values.is_empty()) {
        value.fault(
            "a retry after nothing",
            "name a failure, for example \"unavailable\"",
        );
    }
    let codes = table.take("status-codes").and_then(|v| v.array());
    let codes = codes.unwrap_or_default();
    let codes = codes
        .iter()
        .filter_map(|v| v.integer32(100..=599))
        .collect();
    let attempts = table.take("attempts").and_then(|v| v.integer32(1..=100));
    let mut span = |word| {
        let shortest = Duration::from_millis(1);
        table
            .take(word)
            .and_then(|v| v.duration(shortest..=LONGEST))
    };
    let (per_try_timeout, backoff, max_backoff) = (
        span("per-try-timeout"),
        span("backoff"),
        span("max-backoff"),
    );
    let repeat = table.take("repeat");
    let repeat = repeat.and_then(|value| value.one_of(&[("idempotent", false), ("all", true)]));
    if max_backoff.is_some_and(|most| backoff.is_none_or(|base| base > most)) {
        table.fault(
            "max-backoff is below backoff",
            "set backoff, and max-backoff above it",
        );
    }
    table.finish();
    Some(Retry {
        on: conditions,
        status_codes: codes,
        attempts: attempts.unwrap_or(1),
        per_try_timeout,
        backoff,
        max_backoff,
        repeat_all: repeat.unwrap_or(false),
    })
}

fn hash_key(mut table: Table<'_, '_>) -> Option<HashKey> {
    let header = table
        .need("header", "write header = \"…\": whose value is the key")
        .and_then(|value| header_name(&value));
    let terminal = table.take("terminal").and_then(|v| v.boolean());
    table.finish();
    Some(HashKey {
        header: header?,
        terminal: terminal.unwrap_or(false),
    })
}

fn copy(mut table: Table<'_, '_>, known: &Known<'_>) -> Option<Mirror> {
    let (service, subset) = target(&mut table, None, known);
    if service.is_none() {
        table.need("service", "write service = \"…\": who gets copies");
    }
    let share = table.take("percent").and_then(|v| v.percent());
    table.finish();
    Some(Mirror {
        service: service?,
        subset,
        share: share.unwrap_or(1_000_000),
    })
}

fn fault(mut table: Table<'_, '_>) -> FaultInjection {
    let span = Duration::from_millis(1)..=LONGEST;
    let delay = table.take("delay").and_then(|v| v.duration(span));
    let delay_share = table.take("delay-percent").and_then(|v| v.percent());
    let http = table
        .take("abort-status")
        .and_then(|v| v.integer32(200..=599));
    let grpc = table.take("abort-grpc").and_then(|v| v.integer32(1..=16));
    let abort_share = table.take("abort-percent").and_then(|v| v.percent());
    if http.is_some() && grpc.is_some() {
        table.fault("abort-status and abort-grpc exclude each other", "keep one");
    }
    if delay.is_none() && http.is_none() && grpc.is_none() {
        table.fault(
            "no fault is named",
            "write delay = \"10ms\", abort-status = 503 or abort-grpc = 14",
        );
    }
    table.finish();
    let share = |share: Option<u32>| share.unwrap_or(1_000_000);
    FaultInjection {
        delay: delay.map(|delay| (delay, share(delay_share))),
        abort_http: http.map(|status| (status, share(abort_share))),
        abort_grpc: grpc.map(|status| (status, share(abort_share))),
    }
}

fn rate_limit(mut table: Table<'_, '_>) -> Option<RateLimit> {
    let per_second = table
        .need("per-second", "write per-second = 1000")
        .and_then(|v| v.integer32(1..=10_000_000));
    let burst = table
        .take("burst")
        .and_then(|v| v.integer32(1..=10_000_000));
    table.finish();
    Some(RateLimit {
        per_second: per_second?,
        burst: burst.or(per_second)?,
    })
}
