use super::*;

/// As Istio's `grpc-agent` writes it.
const ISTIO: &str = r#"{
  "xds_servers": [{
    "server_uri": "unix:///etc/istio/proxy/XDS",
    "channel_creds": [{ "type": "insecure" }],
    "server_features": ["xds_v3"]
  }],
  "node": {
    "id": "sidecar~127.0.0.1~echo.ns~ns.svc.cluster.local",
    "metadata": { "GENERATOR": "grpc", "NAMESPACE": "ns", "CLUSTER_ID": "Kubernetes", "PORTS": [1] },
    "locality": {}
  },
  "certificate_providers": {
    "default": {
      "plugin_name": "file_watcher",
      "config": {
        "certificate_file": "/var/lib/istio/data/cert-chain.pem",
        "private_key_file": "/var/lib/istio/data/key.pem",
        "ca_certificate_file": "/var/lib/istio/data/root-cert.pem",
        "refresh_interval": "900s"
      }
    }
  },
  "server_listener_resource_name_template": "xds.istio.io/grpc/lds/inbound/%s"
}"#;

#[test]
fn the_bootstrap_of_istio_is_understood() {
    let bootstrap = Bootstrap::parse(ISTIO).unwrap();
    assert_eq!(bootstrap.servers.len(), 1);
    let server = &bootstrap.servers[0];
    assert_eq!(server.endpoint, "grpc+unix:/etc/istio/proxy/XDS");
    assert_eq!(server.variant, Variant::StateOfTheWorld);
    assert_eq!(
        bootstrap.node.id,
        "sidecar~127.0.0.1~echo.ns~ns.svc.cluster.local"
    );
    let metadata = bootstrap.node.metadata.as_ref().unwrap();
    assert!(metadata.fields.contains_key("GENERATOR"));
    let own = &bootstrap.certificate_providers["default"];
    let root = std::path::Path::new("/var/lib/istio/data/root-cert.pem");
    assert_eq!(own.authorities.as_deref(), Some(root));
    assert!(own.certificate.is_some() && own.key.is_some());
    assert!(bootstrap.notices.is_empty(), "{:?}", bootstrap.notices);
    let target = TargetName::parse("xds:///echo.ns.svc.cluster.local:7070").unwrap();
    let listener = bootstrap.listener_name(&target);
    assert_eq!(listener.as_deref(), Ok("echo.ns.svc.cluster.local:7070"));
}

#[test]
fn every_fault_is_told_with_its_path() {
    let fault = Bootstrap::parse(
        r#"{
          "xds_servers": [
            { "server_uri": "nowhere", "channel_creds": [{ "type": "tls" }, { "type": "google_default" }] },
            { "channel_creds": 5, "server_features": [1] }
          ],
          "node": { "id": 7, "locality": { "region": [] } }
        }"#,
    );
    let fault = fault.unwrap_err();
    let paths: Vec<_> = fault
        .faults
        .iter()
        .map(|fault| fault.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "xds_servers[0].channel_creds",
            "xds_servers[0].server_uri",
            "xds_servers[1].channel_creds",
            "xds_servers[1].server_features[0]",
            "xds_servers[1].server_uri",
            "node.locality.region",
            "node.id",
        ]
    );
    assert!(
        fault.to_string().contains("offer insecure, or tls"),
        "{fault}"
    );
    for text in ["", "[]", "{", "{}", r#"{"xds_servers": []}"#] {
        assert!(Bootstrap::parse(text).is_err(), "{text}");
    }
}

#[test]
fn servers_are_written_in_several_ways() {
    for (uri, endpoint) in [
        ("127.0.0.1:18000", Some("grpc://127.0.0.1:18000")),
        ("dns:///control:18000", Some("grpc://control:18000")),
        ("ipv4:127.0.0.1:1", Some("grpc://127.0.0.1:1")),
        ("[::1]:5", Some("grpc://[::1]:5")),
        ("unix:/run/xds", Some("grpc+unix:/run/xds")),
        ("unix:", None),
        ("control", None),
        ("control:0", None),
        ("https://control:1/x", None),
    ] {
        assert_eq!(endpoint_of(uri).as_deref(), endpoint, "{uri}");
    }
}

#[test]
fn what_is_not_known_is_noticed() {
    let bootstrap = Bootstrap::parse(
        r#"{
          "xds_servers": [{ "server_uri": "a:1", "channel_creds": [{ "type": "insecure" }],
                            "server_features": ["ignore_resource_deletion", "corewire.incremental"] }],
          "authorities": { "other": { "xds_servers": [{}] }, "same": {} },
          "zzz": 1
        }"#,
    )
    .unwrap();
    assert!(bootstrap.servers[0].ignores_deletion);
    assert_eq!(bootstrap.servers[0].variant, Variant::Incremental);
    let paths: Vec<_> = bootstrap
        .notices
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(paths, [r#"authorities["other"].xds_servers"#, "zzz"]);
    let name = |text| bootstrap.listener_name(&TargetName::parse(text).unwrap());
    assert_eq!(
        name("xds://same/a|b").as_deref(),
        Ok("xdstp://same/envoy.config.listener.v3.Listener/a%7Cb")
    );
    let fault = name("xds://other/a").unwrap_err();
    assert_eq!(fault.authority, "other");
}

#[test]
fn a_file_may_be_absent() {
    let folder = std::env::temp_dir().join("corewire-no-such-folder");
    let fault = BootstrapSource::File(folder.join("bootstrap.json"));
    assert!(fault.read().unwrap_err().is_absent);
}

#[test]
fn servers_are_spoken_to_by_the_first_credentials_that_can_be_used() {
    let server = |credentials: &str| {
        let text = format!(
            r#"{{ "xds_servers": [{{ "server_uri": "a:1", "channel_creds": [{credentials}] }}] }}"#
        );
        Bootstrap::parse(&text).map(|it| it.servers[0].tls.clone())
    };
    let tls = r#"{ "type": "tls", "config": { "ca_certificate_file": "/ca.pem" } }"#;
    let insecure = r#"{ "type": "insecure" }"#;
    let files = server(tls).unwrap().expect("TLS");
    assert_eq!(files, Files::new().with_authorities("/ca.pem"));
    assert!(server(&format!("{insecure}, {tls}")).unwrap().is_none());
    let unknown = r#"{ "type": "google_default" }"#;
    assert!(server(&format!("{unknown}, {tls}")).unwrap().is_some());
    // TLS that believes nobody is no TLS, and never clear text instead.
    let fault = server(r#"{ "type": "tls" }"#).unwrap_err();
    assert!(fault.to_string().contains("ca_certificate_file"), "{fault}");
}

#[test]
fn providers_that_are_not_known_are_told() {
    let bootstrap = Bootstrap::parse(
        r#"{ "xds_servers": [{ "server_uri": "a:1", "channel_creds": [{ "type": "insecure" }] }],
             "certificate_providers": { "x": { "plugin_name": "magic" },
               "y": { "plugin_name": "file_watcher", "config": { "certificate_file": "/c" } } } }"#,
    )
    .unwrap();
    assert!(!bootstrap.certificate_providers.contains_key("x"));
    let told: Vec<_> = bootstrap
        .notices
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "certificate_providers[\"x\"].plugin_name",
            "certificate_providers[\"y\"].config"
        ]
    );
}
