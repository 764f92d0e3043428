use super::*;
use std::time::Duration;

const WHOLE: &str = include_str!("../../../../deploy/control/control.toml");

fn faults(text: &str) -> Vec<String> {
    let faults = Config::parse(text).unwrap_err();
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn the_example_is_valid_and_says_everything() {
    let config = Config::parse(WHOLE).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(config.services.len() >= 2);
    assert!(!config.routes.is_empty());
    assert!(
        config
            .sidecars
            .iter()
            .any(|sidecar| !sidecar.inbound.is_empty())
    );
}

#[test]
fn an_empty_file_is_valid_and_serves_what_registers() {
    let config = Config::parse("").unwrap();
    assert_eq!(config, Config::default());
    assert!(config.registry.open);
}

#[test]
fn tls_is_read_and_what_would_trust_nobody_is_refused() {
    let config = Config::parse(
        r#"
[tls]
certificate = "c.pem"
key = "c.key"
authorities = "ca.pem"
[registry]
by-certificate = true
[[service]]
name = "a"
tls = { names = "a.example" }
"#,
    );
    let config = config.unwrap_or_else(|faults| panic!("{faults}"));
    let tls = config.services["a"].tls.clone().unwrap();
    assert_eq!((&*tls.provider, &*tls.names[0]), ("default", "a.example"));
    assert!(!config.tls.unwrap().allow_clear_text);

    let found = faults("[registry]\nby-certificate = true\n");
    assert!(found[0].contains("nobody is asked"), "{found:?}");
    let found = faults("[tls]\ncertificate = \"c\"\n");
    assert!(found[0].contains("key"), "{found:?}");
    let sidecar =
        "[[sidecar]]\nname = \"s\"\nnode = \"s\"\ntls = { certificate = \"c\", key = \"k\" }\n";
    let found = faults(sidecar);
    assert!(found[0].contains("nobody would be trusted"), "{found:?}");
}

#[test]
fn every_fault_is_told_with_its_place() {
    let text = r#"
lissten = ["127.0.0.1:1"]

[[service]]
name = "a"
balance = "round-robbin"
endpoints = ["127.0.0.1:1", "nowhere", { address = "127.0.0.1:1", weight = 0 }]

[[service]]
name = "a"

[[route]]
service = "b"
timeout = "5 parsecs"
to = [{ subset = "canary" }]

[[route]]
service = "a"
headers = [{ name = "x", exact = "1", prefix = "2" }]
to = [{ subset = "canary", weight = 0 }]
retry = { on = [] }

[[sidecar]]
name = "s"
inbound = [{ listen = "127.0.0.1:65535", to = "127.0.0.1:1", count = 2 }]
"#;
    let found = faults(text);
    let expected = [
        "line 2, column 1: lissten: this setting is not known; did you mean \"listen\"?",
        "line 6, column 11: service[0].balance: \"round-robbin\" is not known here; did you mean \"round-robin\"?",
        "line 7, column 29: service[0].endpoints[1]: \"nowhere\" is no address",
        "service[0].endpoints[2].weight: 0 is out of range; give 1 to 65535",
        "service[0].endpoints[2]: 127.0.0.1:1 is listed twice",
        "line 10, column 8: service[1].name: service \"a\" is defined twice",
        "line 13, column 11: route[0].service: there is no service \"b\"",
        "route[0].timeout: \"5 parsecs\" is no time span",
        "route[1].headers[0]: a header has one of",
        "service \"a\" has no subset \"canary\"",
        "route[1].to: the weights add up to nothing",
        "route[1].retry.on: a retry after nothing",
        "sidecar[0]: nothing says which Envoys this is for",
        "sidecar[0].inbound[0]: 2 ports from 127.0.0.1:65535",
    ];
    for expected in expected {
        assert!(
            found.iter().any(|fault| fault.contains(expected)),
            "{expected:?} is not among\n{}",
            found.join("\n")
        );
    }
    assert_eq!(found.len(), expected.len(), "{}", found.join("\n"));
}

#[test]
fn every_syntax_fault_is_told() {
    let found = faults("a = \nb = 1\nc = [\n");
    assert!(found.len() >= 2, "{found:?}");
    assert!(found[0].starts_with("line 1, column "), "{found:?}");
    assert!(
        found.iter().all(|fault| fault.contains("not TOML")),
        "{found:?}"
    );
}

#[test]
fn settings_mean_what_they_say() {
    let text = r#"
[[service]]
name = "a"
balance = "ring-hash"
ring-hash = { min = 16 }
subsets = [{ name = "canary", match = { version = "v2" } }]

[[route]]
service = "a"
path = "/x"
percent = 2.5
headers = [{ name = "X-Canary", prefix = "1", invert = true }]
to = [{ weight = 90 }, { subset = "canary", weight = 10 }]
timeout = "1.5s"
retry = { on = ["unavailable", "5xx"], attempts = 2, backoff = "5ms" }
fault = { delay = "10ms", delay-percent = 1, abort-grpc = 14 }
"#;
    let config = Config::parse(text).unwrap();
    let balance = config.services["a"].balance;
    assert_eq!(
        balance,
        Balance::RingHash {
            min: 16,
            max: 8 << 20
        }
    );
    let [route] = &*config.routes["a"] else {
        panic!("one route");
    };
    assert_eq!(route.path, PathMatch::Exact("/x".into()));
    assert_eq!(route.share, Some(25_000));
    assert_eq!(route.headers[0].name, "x-canary");
    assert!(route.headers[0].invert);
    assert_eq!(route.to[1].subset.as_deref(), Some("canary"));
    assert_eq!(route.timeout, Some(Duration::from_millis(1500)));
    let fault = route.fault.unwrap();
    assert_eq!(fault.delay, Some((Duration::from_millis(10), 10_000)));
    assert_eq!(fault.abort_grpc, Some((14, 1_000_000)));
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_read_or_refused(text in "[\\[\\]a-z0-9=\"{}.,#\\n -]{0,200}") {
            if let Err(faults) = Config::parse(&text) {
                prop_assert!(faults.iter().len() > 0);
            }
        }

        #[test]
        fn cuts_of_the_example_are_read_or_refused(cut in 0..WHOLE.len(), octet in any::<char>()) {
            if WHOLE.is_char_boundary(cut) {
                let mut text = WHOLE[..cut].to_owned();
                text.push(octet);
                let _read = Config::parse(&text);
            }
        }
    }
}
