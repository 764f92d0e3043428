//! What the control plane is told: services, endpoints, sidecars; and how its clients find it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::path::Ends;
use crate::certificates::{Certificates, End};

/// Names of nodes, by which the control plane tells sidecars apart.
pub(super) const GATEWAY_NODE: &str = "gateway-sidecar";
pub(super) const REPLICA_NODE: &str = "replica-sidecar";

/// What the replicas' certificate is for, beside the host; the gateway asks for it by the control
/// plane's word.
pub(super) const CERTIFIED: &str = "smf.corewire.test";

/// So many requests and connections that no circuit opens: a stall of the machine must show as
/// latency on every path, not as refusals on those that count.
const CIRCUIT: &str =
    "circuit = { requests = 1000000, pending = 1000000, connections = 1000000, retries = 3 }";

/// A service as the mesh sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) name: String,
    /// Where its clients are sent.
    pub(super) endpoints: Vec<String>,
}

/// A port of a sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outbound {
    pub(super) port: u16,
    pub(super) service: String,
}

/// A port of a sidecar and the replica behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inbound {
    pub(super) port: u16,
    pub(super) to: String,
}

/// Everything that goes into its file.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    pub(super) port: u16,
    pub(super) transport: &'static str,
    pub(super) services: Vec<Service>,
    /// Of the Envoy at the gateway.
    pub(super) outbound: Vec<Outbound>,
    /// Of the Envoys at the replicas, one list an Envoy.
    pub(super) inbound: Vec<Vec<Inbound>>,
    /// There when connections are secured.
    pub(super) certificates: Option<Certificates>,
    /// gRPC C++ takes part, which has no TLS to its control plane.
    pub(super) has_grpc_core: bool,
    /// Further text, for what only one measurement needs.
    pub(super) routes: String,
}

impl Config {
    /// The file.
    pub(super) fn toml(&self) -> String {
        let mut text = format!("listen = [\"127.0.0.1:{}\"]\n", self.port);
        if let Some(made) = &self.certificates {
            let _ = write!(
                text,
                "\n[tls]\ncertificate = {}\nkey = {}\nauthorities = {}\nallow-clear-text = {}\n",
                path(&made.certificate(End::Server)),
                path(&made.key(End::Server)),
                path(&made.authorities()),
                self.has_grpc_core
            );
        }
        let secured = match &self.certificates {
            Some(_) => format!("tls = {{ names = [{}] }}\n", quoted(CERTIFIED)),
            None => String::new(),
        };
        for service in &self.services {
            let endpoints: Vec<String> = service.endpoints.iter().map(quoted).collect();
            let _ = write!(
                text,
                "\n[[service]]\nname = {}\nbalance = \"round-robin\"\ntransport = {}\n{CIRCUIT}\n{secured}endpoints = [{}]\n",
                quoted(&service.name),
                quoted(self.transport),
                endpoints.join(", ")
            );
        }
        text.push_str(&self.routes);
        if !self.outbound.is_empty() {
            let ports: Vec<String> = self
                .outbound
                .iter()
                .map(|port| {
                    format!(
                        "{{ listen = \"127.0.0.1:{}\", services = [{}] }}",
                        port.port,
                        quoted(&port.service)
                    )
                })
                .collect();
            sidecar(&mut text, GATEWAY_NODE, "outbound", &ports);
            self.secure_sidecar(&mut text, End::Client);
        }
        for (number, inbound) in self.inbound.iter().enumerate() {
            let ports: Vec<String> = inbound
                .iter()
                .map(|port| {
                    format!(
                        "{{ listen = \"127.0.0.1:{}\", to = {} }}",
                        port.port,
                        quoted(&port.to)
                    )
                })
                .collect();
            sidecar(&mut text, &replica_node(number), "inbound", &ports);
            self.secure_sidecar(&mut text, End::Server);
        }
        text
    }

    /// The certificate of the sidecar that was just written: that of the function beside it.
    fn secure_sidecar(&self, text: &mut String, end: End) {
        if let Some(made) = &self.certificates {
            let _ = writeln!(
                text,
                "tls = {{ certificate = {}, key = {}, authorities = {} }}",
                path(&made.certificate(end)),
                path(&made.key(end)),
                path(&made.authorities()),
            );
        }
    }
}

fn path(file: &Path) -> String {
    quoted(file.display().to_string())
}

/// The node of the so-manieth Envoy at the replicas.
pub(super) fn replica_node(number: usize) -> String {
    format!("{REPLICA_NODE}-{number}")
}

fn sidecar(text: &mut String, node: &str, direction: &str, ports: &[String]) {
    let _ = write!(
        text,
        "\n[[sidecar]]\nname = {node}\nnode = {node}\n{direction} = [\n    {},\n]\n",
        ports.join(",\n    "),
        node = quoted(node),
    );
}

/// As TOML and JSON write a string.
fn quoted(text: impl AsRef<str>) -> String {
    Value::from(text.as_ref()).to_string()
}

/// The file that `GRPC_XDS_BOOTSTRAP` names, for our client and gRPC's alike.
pub(super) fn grpc_bootstrap(port: u16, ends: Ends, certificates: Option<&Certificates>) -> Value {
    let files = certificates.map(|made| {
        json!({
            "certificate_file": made.certificate(End::Client),
            "private_key_file": made.key(End::Client),
            "ca_certificate_file": made.authorities(),
        })
    });
    let credentials = match (&files, ends) {
        (Some(files), Ends::Corewire(_)) => json!({"type": "tls", "config": files}),
        // gRPC C++ 1.51 knows no TLS towards its control plane (gRFC A65 is younger).
        _ => json!({"type": "insecure"}),
    };
    let mut bootstrap = json!({
        "xds_servers": [{
            "server_uri": format!("127.0.0.1:{port}"),
            "channel_creds": [credentials],
            "server_features": ["xds_v3"],
        }],
        "node": {"id": "smf-gateway", "cluster": "smf-gateway"},
    });
    if let Some(mut files) = files {
        // gRPC C++ insists on it.
        files["refresh_interval"] = "600s".into();
        bootstrap["certificate_providers"] =
            json!({"default": {"plugin_name": "file_watcher", "config": files}});
    }
    bootstrap
}

/// What an Envoy is started with: who it is, and where the control plane is. All else comes from
/// there.
pub(super) fn envoy_bootstrap(
    node: &str,
    port: u16,
    admin: &str,
    certificates: Option<&Certificates>,
) -> Value {
    let http2 = "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    let mut bootstrap = json!({
        "node": {"id": node, "cluster": node},
        "admin": {"address": {"pipe": {"path": admin}}},
        "dynamic_resources": {
            "ads_config": {
                "api_type": "GRPC",
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds_cluster"}}],
            },
            "lds_config": {"ads": {}, "resource_api_version": "V3"},
            "cds_config": {"ads": {}, "resource_api_version": "V3"},
        },
        "static_resources": {"clusters": [{
            "name": "xds_cluster",
            "type": "STATIC",
            "connect_timeout": "1s",
            "typed_extension_protocol_options": {
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": http2,
                    "explicit_http_config": {"http2_protocol_options": {}},
                },
            },
            "load_assignment": {
                "cluster_name": "xds_cluster",
                "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {
                    "socket_address": {"address": "127.0.0.1", "port_value": port},
                }}}]}],
            },
        }]},
    });
    if let Some(made) = certificates {
        bootstrap["static_resources"]["clusters"][0]["transport_socket"] = envoy_tls(made);
    }
    bootstrap
}

/// The socket of an Envoy towards the control plane.
fn envoy_tls(made: &Certificates) -> Value {
    let file = |path: PathBuf| json!({"filename": path});
    json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "common_tls_context": {
                "tls_params": {
                    "tls_minimum_protocol_version": "TLSv1_3",
                    "tls_maximum_protocol_version": "TLSv1_3",
                },
                "tls_certificates": [{
                    "certificate_chain": file(made.certificate(End::Client)),
                    "private_key": file(made.key(End::Client)),
                }],
                "validation_context": {"trusted_ca": file(made.authorities())},
                "alpn_protocols": ["h2"],
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_names_services_and_sidecars() {
        let config = Config {
            port: 18_000,
            transport: "rest",
            services: vec![Service {
                name: "smf-pdu-session".into(),
                endpoints: vec!["127.0.0.1:1".into(), "127.0.0.1:2".into()],
            }],
            outbound: vec![Outbound {
                port: 15_001,
                service: "smf-pdu-session".into(),
            }],
            inbound: vec![vec![Inbound {
                port: 16_001,
                to: "127.0.0.1:9".into(),
            }]],
            ..Config::default()
        };
        let text = config.toml();
        for part in [
            "listen = [\"127.0.0.1:18000\"]",
            "endpoints = [\"127.0.0.1:1\", \"127.0.0.1:2\"]",
            "transport = \"rest\"",
            "{ listen = \"127.0.0.1:15001\", services = [\"smf-pdu-session\"] }",
            "node = \"replica-sidecar-0\"",
            "{ listen = \"127.0.0.1:16001\", to = \"127.0.0.1:9\" }",
        ] {
            assert!(text.contains(part), "{part} in:\n{text}");
        }
    }

    #[test]
    fn clients_are_sent_to_the_control_plane() {
        assert_eq!(
            grpc_bootstrap(7, Ends::Corewire("rest"), None)["xds_servers"][0]["server_uri"],
            "127.0.0.1:7"
        );
        let envoy = envoy_bootstrap("n", 7, "/run/a", None);
        assert_eq!(envoy["node"]["id"], "n");
        assert!(envoy.to_string().contains("\"port_value\":7"));
    }
}
