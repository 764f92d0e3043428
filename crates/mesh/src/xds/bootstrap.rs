//! Where the control plane is: gRPC's bootstrap file (gRFC A27, A47, A65, A71), as Istio's
//! `grpc-agent` writes it.

use super::ads::{ServerConfig, Variant};
use super::name::TargetName;
use crate::config::FieldFault;
use corewire_transport::tls::Files;
use corewire_xds::envoy::config::core::v3::{Locality, Node, node};
use corewire_xds::{Struct, Value, value::Kind};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The longest bootstrap that is read, octets.
const MAX_BOOTSTRAP: u64 = 1 << 20;
/// The most servers of a list.
const MAX_SERVERS: usize = 16;
/// The server feature, of our own, by which a server is asked for changes only.
const INCREMENTAL: &str = "corewire.incremental";

/// Where a bootstrap comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BootstrapSource {
    /// A file, which may appear late.
    File(PathBuf),
    /// The text itself.
    Text(String),
}

impl BootstrapSource {
    /// What `GRPC_XDS_BOOTSTRAP` (a path) or `GRPC_XDS_BOOTSTRAP_CONFIG` (the text) say, the first
    /// that is set.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = set("GRPC_XDS_BOOTSTRAP") {
            return Some(Self::File(path.into()));
        }
        let text = set("GRPC_XDS_BOOTSTRAP_CONFIG")?;
        Some(Self::Text(text.to_string_lossy().into_owned()))
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is not there (yet), or with everything that is wrong with it.
    pub fn read(&self) -> Result<Bootstrap, BootstrapFault> {
        match self {
            Self::Text(text) => Bootstrap::parse(text),
            Self::File(path) => {
                let unreadable = |error| BootstrapFault {
                    faults: vec![FieldFault {
                        path: path.display().to_string(),
                        reason: format!("cannot be read: {error}"),
                    }],
                    is_absent: true,
                };
                let size = std::fs::metadata(path).map_err(unreadable)?.len();
                if size > MAX_BOOTSTRAP {
                    return Err(BootstrapFault {
                        faults: vec![FieldFault {
                            path: path.display().to_string(),
                            reason: format!("has {size} octets, at most {MAX_BOOTSTRAP}"),
                        }],
                        is_absent: false,
                    });
                }
                Bootstrap::parse(&std::fs::read_to_string(path).map_err(unreadable)?)
            }
        }
    }
}

/// What a bootstrap says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bootstrap {
    /// The servers, the most preferred first; never empty.
    pub servers: Vec<BootstrapServer>,
    /// Who we are.
    pub node: Node,
    /// What a target's listener is called; `%s` stands for the target's name.
    pub listener_template: String,
    /// The same for targets of other authorities.
    pub authorities: BTreeMap<String, String>,
    /// Certificate providers by name: files that are read again when they change
    /// (`file_watcher`, gRFC A29).
    pub certificate_providers: BTreeMap<String, Files>,
    /// What it says that is not carried out.
    pub notices: Vec<FieldFault>,
}

/// A server of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BootstrapServer {
    /// As it was written.
    pub uri: String,
    /// The endpoint in the words of `corewire-transport`: `grpc://HOST:PORT`, `grpc+unix:PATH`.
    pub endpoint: String,
    /// How it is asked.
    pub variant: Variant,
    /// Resources that it takes away are kept.
    pub ignores_deletion: bool,
    /// It is spoken to by TLS, with these certificates (gRFC A65). `None`: in clear text.
    pub tls: Option<Files>,
}

impl BootstrapServer {
    /// What the core has to know of it.
    #[must_use]
    pub const fn config(&self) -> ServerConfig {
        ServerConfig {
            variant: self.variant,
            ignores_deletion: self.ignores_deletion,
        }
    }
}

impl Bootstrap {
    /// A bootstrap of one server at `HOST:PORT` or `unix:PATH`, in clear text.
    ///
    /// # Errors
    /// When that is not written so.
    pub fn of_server(uri: &str, node_id: &str) -> Result<Self, BootstrapFault> {
        let server = serde_json::json!({
            "server_uri": uri, "channel_creds": [{ "type": "insecure" }],
        });
        let all = serde_json::json!({ "xds_servers": [server], "node": { "id": node_id } });
        Self::parse(&all.to_string())
    }

    /// Reads the text of a bootstrap file.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, BootstrapFault> {
        let mut reader = Reader::default();
        let json: Json = match serde_json::from_str(text) {
            Ok(json) => json,
            Err(error) => {
                reader.fault("", format!("is no JSON: {error}"));
                Json::Null
            }
        };
        let bootstrap = match json {
            Json::Object(fields) => Some(reader.bootstrap(fields)),
            Json::Null if !reader.faults.is_empty() => None,
            _ => {
                reader.fault("", "must be an object");
                None
            }
        };
        match bootstrap {
            Some(bootstrap) if reader.faults.is_empty() => Ok(bootstrap),
            _ => Err(BootstrapFault {
                faults: reader.faults,
                is_absent: false,
            }),
        }
    }

    /// What the listener of this target is called.
    ///
    /// # Errors
    /// When the target belongs to an authority that the bootstrap does not know.
    pub fn listener_name(&self, target: &TargetName) -> Result<String, UnknownAuthority> {
        let template = match target.authority() {
            None => &self.listener_template,
            Some(authority) => self
                .authorities
                .get(authority)
                .ok_or_else(|| UnknownAuthority {
                    authority: authority.to_owned(),
                })?,
        };
        let name = if template.starts_with("xdstp:") {
            percent_encoded(target.name())
        } else {
            target.name().to_owned()
        };
        Ok(template.replace("%s", &name))
    }
}

/// Names in `xdstp:` templates are percent-encoded (gRFC A47).
fn percent_encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for octet in name.bytes() {
        let plain = octet.is_ascii_alphanumeric() || b"-_.!~*'();/?:@&=+$,".contains(&octet);
        if plain {
            out.push(char::from(octet));
        } else {
            out.push_str(&format!("%{octet:02X}"));
        }
    }
    out
}

#[derive(Default)]
struct Reader {
    faults: Vec<FieldFault>,
    notices: Vec<FieldFault>,
}

impl Reader {
    fn fault(&mut self, path: &str, reason: impl Into<String>) {
        self.faults.push(FieldFault {
            path: path.into(),
            reason: reason.into(),
        });
    }

    fn bootstrap(&mut self, mut fields: Map<String, Json>) -> Bootstrap {
        let template = fields.remove("client_default_listener_resource_name_template");
        let template = self.text(template, "client_default_listener_resource_name_template");
        let bootstrap = Bootstrap {
            servers: self.servers(fields.remove("xds_servers")),
            node: self.node(fields.remove("node")),
            listener_template: template.unwrap_or_else(|| "%s".into()),
            authorities: self.authorities(fields.remove("authorities")),
            certificate_providers: self.providers(fields.remove("certificate_providers")),
            notices: Vec::new(),
        };
        // For servers that get their listeners by xDS.
        fields.remove("server_listener_resource_name_template");
        self.unknown("", fields);
        Bootstrap {
            notices: std::mem::take(&mut self.notices),
            ..bootstrap
        }
    }

    /// Fields that are left over.
    fn unknown(&mut self, path: &str, fields: Map<String, Json>) {
        for name in fields.into_iter().map(|(name, _)| name) {
            self.notices.push(FieldFault {
                path: format!("{path}{name}"),
                reason: "is not known here".into(),
            });
        }
    }

    fn text(&mut self, json: Option<Json>, path: &str) -> Option<String> {
        match json {
            None | Some(Json::Null) => None,
            Some(Json::String(text)) => Some(text),
            Some(_) => {
                self.fault(path, "must be a text");
                None
            }
        }
    }

    fn object(&mut self, json: Option<Json>, path: &str) -> Option<Map<String, Json>> {
        match json {
            None | Some(Json::Null) => None,
            Some(Json::Object(fields)) => Some(fields),
            Some(_) => {
                self.fault(path, "must be an object");
                None
            }
        }
    }

    fn servers(&mut self, json: Option<Json>) -> Vec<BootstrapServer> {
        let list = match json {
            Some(Json::Array(list)) if !list.is_empty() => list,
            _ => {
                self.fault("xds_servers", "must be a list of at least one server");
                return Vec::new();
            }
        };
        if list.len() > MAX_SERVERS {
            let reason = format!("has {} servers, at most {MAX_SERVERS}", list.len());
            self.fault("xds_servers", reason);
            return Vec::new();
        }
        let mut servers = Vec::new();
        for (at, json) in list.into_iter().enumerate() {
            let path = format!("xds_servers[{at}]");
            match self.object(Some(json), &path) {
                Some(fields) => servers.extend(self.server(fields, &path)),
                None => continue,
            }
        }
        servers
    }

    fn server(&mut self, mut fields: Map<String, Json>, path: &str) -> Option<BootstrapServer> {
        let uri_path = format!("{path}.server_uri");
        let uri = self.text(fields.remove("server_uri"), &uri_path);
        let tls = self.credentials(
            fields.remove("channel_creds"),
            &format!("{path}.channel_creds"),
        );
        let features_path = format!("{path}.server_features");
        let features = self.texts(fields.remove("server_features"), &features_path);
        self.unknown(&format!("{path}."), fields);
        let has = |feature: &str| features.iter().any(|it| it == feature);
        let Some(uri) = uri.filter(|uri| !uri.is_empty()) else {
            self.fault(&uri_path, "is missing");
            return None;
        };
        let Some(endpoint) = endpoint_of(&uri) else {
            let reason = format!("{uri:?} is none of HOST:PORT, dns:///HOST:PORT, unix:PATH");
            self.fault(&uri_path, reason);
            return None;
        };
        Some(BootstrapServer {
            uri,
            endpoint,
            variant: if has(INCREMENTAL) {
                Variant::Incremental
            } else {
                Variant::StateOfTheWorld
            },
            ignores_deletion: has("ignore_resource_deletion"),
            tls,
        })
    }

    /// The first credentials that can be used are taken: TLS with its files, or clear text.
    fn credentials(&mut self, json: Option<Json>, path: &str) -> Option<Files> {
        let Some(Json::Array(list)) = json else {
            self.fault(path, "must be a list: [{\"type\": \"insecure\"}]");
            return None;
        };
        let mut found = Vec::new();
        for (at, json) in list.into_iter().enumerate() {
            let path = format!("{path}[{at}]");
            let Some(mut fields) = self.object(Some(json), &path) else {
                continue;
            };
            let kind = self.text(fields.remove("type"), &format!("{path}.type"));
            match kind.as_deref() {
                Some("insecure") => return None,
                Some("tls") => {
                    let path = format!("{path}.config");
                    let config = self.object(fields.remove("config"), &path);
                    let files = self.files(config.unwrap_or_default(), &path);
                    if files.authorities.is_some() {
                        return Some(files);
                    }
                    found.push("tls without ca_certificate_file".to_owned());
                }
                Some(other) => found.push(other.to_owned()),
                None => {}
            }
        }
        let found = found.join(", ");
        let reason = format!(
            "[{found}] cannot be used: offer insecure, or tls with a config of ca_certificate_file \
             and, for mutual TLS, certificate_file and private_key_file"
        );
        self.fault(path, reason);
        None
    }

    /// The files of a `file_watcher` or of TLS credentials. They are looked at when connections
    /// begin, so how often they are read again is not for the bootstrap to say.
    fn files(&mut self, mut config: Map<String, Json>, path: &str) -> Files {
        let mut file = |name: &str| {
            let text = self.text(config.remove(name), &format!("{path}.{name}"));
            text.filter(|text| !text.is_empty()).map(PathBuf::from)
        };
        let mut files = Files::new();
        files.certificate = file("certificate_file");
        files.key = file("private_key_file");
        files.authorities = file("ca_certificate_file");
        config.remove("refresh_interval");
        if files.certificate.is_some() != files.key.is_some() {
            let reason = "certificate_file and private_key_file belong together";
            self.notices.push(FieldFault {
                path: path.to_owned(),
                reason: reason.into(),
            });
        }
        self.unknown(&format!("{path}."), config);
        files
    }

    fn texts(&mut self, json: Option<Json>, path: &str) -> Vec<String> {
        match json {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(list)) => {
                let numbered = list.into_iter().enumerate();
                let texts =
                    numbered.filter_map(|(at, it)| self.text(Some(it), &format!("{path}[{at}]")));
                texts.collect()
            }
            Some(_) => {
                self.fault(path, "must be a list of texts");
                Vec::new()
            }
        }
    }

    fn node(&mut self, json: Option<Json>) -> Node {
        let mut fields = self.object(json, "node").unwrap_or_default();
        let locality = self.object(fields.remove("locality"), "node.locality");
        let locality = locality.map(|mut it| {
            let mut part =
                |name: &str| self.text(it.remove(name), &format!("node.locality.{name}"));
            Locality {
                region: part("region").unwrap_or_default(),
                zone: part("zone").unwrap_or_default(),
                sub_zone: part("sub_zone").unwrap_or_default(),
            }
        });
        let metadata = self.object(fields.remove("metadata"), "node.metadata");
        let node = Node {
            id: self
                .text(fields.remove("id"), "node.id")
                .unwrap_or_default(),
            cluster: self
                .text(fields.remove("cluster"), "node.cluster")
                .unwrap_or_default(),
            metadata: metadata.map(structure),
            locality,
            user_agent_name: "corewire".into(),
            user_agent_version_type: Some(node::UserAgentVersionType::UserAgentVersion(
                env!("CARGO_PKG_VERSION").into(),
            )),
            client_features: vec!["xds.config.resource-in-sotw".into()],
            ..Node::default()
        };
        self.unknown("node.", fields);
        node
    }

    fn authorities(&mut self, json: Option<Json>) -> BTreeMap<String, String> {
        let mut authorities = BTreeMap::new();
        for (name, json) in self.object(json, "authorities").unwrap_or_default() {
            let path = format!("authorities[{name:?}]");
            let Some(mut fields) = self.object(Some(json), &path) else {
                continue;
            };
            let template_path = format!("{path}.client_listener_resource_name_template");
            let template = fields.remove("client_listener_resource_name_template");
            let template = self
                .text(template, &template_path)
                .unwrap_or_else(|| format!("xdstp://{name}/envoy.config.listener.v3.Listener/%s"));
            let own = fields.remove("xds_servers");
            if own.is_some_and(|it| it.as_array().is_none_or(|list| !list.is_empty())) {
                self.notices.push(FieldFault {
                    path: format!("{path}.xds_servers"),
                    reason: "authorities with servers of their own are not asked: its targets fail"
                        .into(),
                });
                continue;
            }
            authorities.insert(name, template);
        }
        authorities
    }

    fn providers(&mut self, json: Option<Json>) -> BTreeMap<String, Files> {
        let mut providers = BTreeMap::new();
        for (name, json) in self
            .object(json, "certificate_providers")
            .unwrap_or_default()
        {
            let path = format!("certificate_providers[{name:?}]");
            let Some(mut fields) = self.object(Some(json), &path) else {
                continue;
            };
            let plugin_path = format!("{path}.plugin_name");
            let plugin = self.text(fields.remove("plugin_name"), &plugin_path);
            if plugin.as_deref() != Some("file_watcher") {
                self.notices.push(FieldFault {
                    path: plugin_path,
                    reason: "only file_watcher is known: clusters that need this one are refused"
                        .into(),
                });
                continue;
            }
            let path = format!("{path}.config");
            let config = self.object(fields.remove("config"), &path);
            let files = self.files(config.unwrap_or_default(), &path);
            providers.insert(name, files);
        }
        providers
    }
}

/// A server's URI in the words of our transport.
fn endpoint_of(uri: &str) -> Option<String> {
    if let Some(path) = uri.strip_prefix("unix:") {
        // unix:PATH, unix:///PATH
        let path = path.strip_prefix("//").unwrap_or(path);
        return (!path.is_empty()).then(|| format!("grpc+unix:{path}"));
    }
    let known = ["dns:", "passthrough:", "ipv4:", "ipv6:"];
    let rest = known.iter().find_map(|scheme| uri.strip_prefix(scheme));
    let authority = rest.unwrap_or(uri).trim_start_matches('/');
    let (host, port) = authority.rsplit_once(':')?;
    let is_port = port.parse::<u16>().is_ok_and(|port| port != 0);
    let is_host = !host.is_empty() && !host.contains('/');
    (is_port && is_host).then(|| format!("grpc://{authority}"))
}

fn structure(fields: Map<String, Json>) -> Struct {
    let fields = fields.into_iter();
    Struct {
        fields: fields.map(|(name, json)| (name, value(json))).collect(),
    }
}

fn value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(it) => Kind::BoolValue(it),
        Json::Number(it) => Kind::NumberValue(it.as_f64().unwrap_or_default()),
        Json::String(it) => Kind::StringValue(it),
        Json::Array(list) => {
            let values = list.into_iter().map(value).collect();
            Kind::ListValue(corewire_xds::ListValue { values })
        }
        Json::Object(fields) => Kind::StructValue(structure(fields)),
    };
    Value { kind: Some(kind) }
}

/// Everything that is wrong with a bootstrap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BootstrapFault {
    /// What; never empty.
    pub faults: Vec<FieldFault>,
    /// It is not there or cannot be read: it may come later.
    pub is_absent: bool,
}

impl fmt::Display for BootstrapFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the xDS bootstrap cannot be used")?;
        for fault in &self.faults {
            write!(f, "; {fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BootstrapFault {}

/// A target belongs to an authority that the bootstrap does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownAuthority {
    /// Its name.
    pub authority: String,
}

impl fmt::Display for UnknownAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { authority } = self;
        write!(
            f,
            "the bootstrap knows no authority {authority:?} (authorities)"
        )
    }
}

impl std::error::Error for UnknownAuthority {}

#[cfg(test)]
mod tests;
