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
      "config": { "certificate_file": "/var/lib/istio/data/cert-chain.pem", "refresh_interval": "900s" }
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
    assert_eq!(bootstrap.certificate_providers["default"], "file_watcher");
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
    assert!(fault.to_string().contains("TLS is not built yet"));
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
    assert!(name("xds://other/a").is_err());
}

#[test]
fn a_file_may_be_absent() {
    let folder = std::env::temp_dir().join("corewire-no-such-folder");
    let fault = BootstrapSource::File(folder.join("bootstrap.json"));
    assert!(fault.read().unwrap_err().is_absent);
}
