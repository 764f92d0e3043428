//! Resolve: from a target's name to the set of routes that holds for it.
//!
//! A listener's routes stand in virtual hosts, each for some domains. The host that is looked for
//! is the target's own name, as gRPC does it (gRFC A27); the best match wins: exact, then the
//! longest suffix (`*.example`), then the longest prefix (`smf.*`), then `*`.

/// What a target is called in snapshots: `xds:///smf` and `xds:smf` are `smf`; a name of another
/// authority stays whole.
#[must_use]
pub fn target_key(target: &str) -> &str {
    match target.strip_prefix("xds:") {
        Some(rest) if rest.starts_with("///") || !rest.starts_with("//") => {
            rest.trim_start_matches('/')
        }
        _ => target,
    }
}

/// The name that a target's virtual host is looked for by: `xds://authority/smf` is `smf`.
#[must_use]
pub fn host_name(key: &str) -> &str {
    match key.strip_prefix("xds://") {
        Some(rest) => rest.split_once('/').map_or(rest, |(_, name)| name),
        None => key,
    }
}

/// How well a domain fits a host; greater is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Anything,
    Prefix(usize),
    Suffix(usize),
    Exact,
}

fn fit(domain: &str, host: &str) -> Option<Fit> {
    if domain == "*" {
        return Some(Fit::Anything);
    }
    if let Some(suffix) = domain.strip_prefix('*') {
        // A wildcard stands for at least one character.
        let fits = host.len() > suffix.len() && ends_with(host, suffix);
        return fits.then_some(Fit::Suffix(suffix.len()));
    }
    if let Some(prefix) = domain.strip_suffix('*') {
        let fits = host.len() > prefix.len() && starts_with(host, prefix);
        return fits.then_some(Fit::Prefix(prefix.len()));
    }
    domain.eq_ignore_ascii_case(host).then_some(Fit::Exact)
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn ends_with(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|found| found.eq_ignore_ascii_case(end))
}

/// Which of several virtual hosts, each given by its domains, serves `host`.
///
/// A port in `host` counts only where a domain names one too.
pub fn virtual_host<'a, D>(hosts: impl IntoIterator<Item = D>, host: &str) -> Option<usize>
where
    D: IntoIterator<Item = &'a str>,
{
    let without_port = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let mut best: Option<(Fit, usize)> = None;
    for (index, domains) in hosts.into_iter().enumerate() {
        for domain in domains {
            let found = fit(domain, host).or_else(|| fit(domain, without_port));
            if let Some(found) = found
                && best.is_none_or(|(before, _)| found > before)
            {
                best = Some((found, index));
            }
        }
    }
    best.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_with_or_without_its_scheme() {
        for (target, key, host) in [
            ("smf", "smf", "smf"),
            ("xds:///smf", "smf", "smf"),
            ("xds:smf", "smf", "smf"),
            ("xds://core/smf:7070", "xds://core/smf:7070", "smf:7070"),
            ("xds:///smf.local:7070", "smf.local:7070", "smf.local:7070"),
        ] {
            assert_eq!(
                (target_key(target), host_name(key)),
                (key, host),
                "{target}"
            );
        }
    }

    #[test]
    fn the_best_domain_wins_wherever_it_stands() {
        let hosts: [&[&str]; 6] = [
            &["*"],
            &["*.local"],
            &["*.svc.local"],
            &["smf.*"],
            &["smf.svc.local", "other"],
            &["port:7070"],
        ];
        for (host, index) in [
            ("smf.svc.local", 4),
            ("SMF.svc.LOCAL", 4),
            ("smf.svc.local:80", 4),
            ("amf.svc.local", 2),
            ("amf.local", 1),
            (".local", 0),
            ("smf.", 0),
            ("smf.org", 3),
            ("amf.org", 0),
            ("port:7070", 5),
            ("port:7071", 0),
        ] {
            let found = virtual_host(hosts.iter().map(|host| host.iter().copied()), host);
            assert_eq!(found, Some(index), "{host}");
        }
    }

    #[test]
    fn without_a_fitting_domain_there_is_none() {
        assert_eq!(virtual_host([["a"], ["*.b"]], "c"), None);
        assert_eq!(virtual_host([["a"], ["a"]], "a"), Some(0), "the first");
        assert_eq!(virtual_host(Vec::<[&str; 1]>::new(), "c"), None);
    }
}
