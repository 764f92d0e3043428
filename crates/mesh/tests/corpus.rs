//! Replays the fuzz targets' corpus, so that what was once found stays found.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

#[path = "support/resources.rs"]
mod resources;
#[path = "../../../fuzz/src/xds_bootstrap.rs"]
mod xds_bootstrap;
#[path = "../../../fuzz/src/xds_responses.rs"]
mod xds_responses;

use corewire_testkit::corpus::replay;
use corewire_xds::envoy::service::discovery::v3 as discovery;
use corewire_xds::{Message, ResourceType};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/xds_responses")
}

#[test]
fn xds_responses() {
    replay("xds_responses", &[], xds_responses::run);
}

#[test]
fn xds_bootstrap() {
    replay("xds_bootstrap", b"\",}", xds_bootstrap::run);
}

/// What a whole configuration looks like, as an input of the fuzz target.
fn whole(variant: u8, lists: &[(ResourceType, &[&str])]) -> Vec<u8> {
    let mut input = vec![variant];
    for (kind, lines) in lists {
        let made = lines.iter().map(|line| resources::resource(line));
        let octets = if variant & 1 == 0 {
            discovery::DiscoveryResponse {
                version_info: "1".into(),
                resources: made.map(|(_, any)| any).collect(),
                type_url: kind.type_url().into(),
                nonce: "n".into(),
                ..Default::default()
            }
            .encode_to_vec()
        } else {
            let made = made.map(|(name, any)| discovery::Resource {
                name,
                version: "1".into(),
                resource: Some(any),
                ..Default::default()
            });
            discovery::DeltaDiscoveryResponse {
                resources: made.collect(),
                type_url: kind.type_url().into(),
                nonce: "n".into(),
                ..Default::default()
            }
            .encode_to_vec()
        };
        input.push(0);
        input.extend(u16::try_from(octets.len()).unwrap().to_be_bytes());
        input.extend(octets);
    }
    input
}

/// The corpus is made of these; with `COREWIRE_REGENERATE=1` it is written.
#[test]
fn the_corpus_reaches_every_kind() {
    use ResourceType::{Cluster, Endpoints, Listener, Route};
    let lists: [(ResourceType, &[&str]); 4] = [
        (
            Listener,
            &["listener smf rds smf filter fault abort 503 50"],
        ),
        (
            Route,
            &[
                "route smf header x string_match.prefix a weighted a=9 b=1 | regex /a.* cluster c mirror d retry 5xx,reset timeout 2 transport grpc",
            ],
        ),
        (
            Cluster,
            &[
                "cluster a eds a lb least_request",
                "cluster b static 10.0.0.1:80 p1 10.0.0.2:80*3!",
                "cluster c aggregate a b d",
                "cluster d dns d.example:80",
            ],
        ),
        (Endpoints, &["endpoints a p0 10.0.0.1:80*2 p1 10.0.0.2:80!"]),
    ];
    for (variant, name) in [(0, "state_of_the_world"), (1, "incremental"), (2, "kept")] {
        let made = whole(variant, &lists);
        let file = folder().join(name);
        if std::env::var_os("COREWIRE_REGENERATE").is_some() {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&file, &made).unwrap();
        }
        assert!(
            fs::read(&file).unwrap() == made,
            "{} is stale",
            file.display()
        );
    }
}
