//! A control plane under test, and clients for it.
#![allow(dead_code, reason = "each test program uses its part")]

use corewire_control::{Control, ControlOptions, Log, STATUS, STREAM_RESOURCES, status_messages};
use corewire_message::blocking::{CallStream, Caller};
use corewire_message::{Body, Headers, Operation, Request};
use corewire_transport::{ClientOptions, blocking};
use corewire_xds::envoy::config::core::v3::Node;
use corewire_xds::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
use corewire_xds::google::rpc;
use corewire_xds::{Message, ResourceType};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes; reached only when something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A control plane with a file and a folder for its state.
pub(crate) struct Plane {
    pub(crate) folder: TempDir,
    pub(crate) file: PathBuf,
    pub(crate) control: Option<Control>,
    pub(crate) address: String,
    lines: Receiver<String>,
}

impl Plane {
    pub(crate) fn start(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("control.toml");
        std::fs::write(&file, text).unwrap();
        let (sender, lines) = channel();
        drop(sender);
        let mut plane = Self {
            folder,
            file,
            control: None,
            address: "127.0.0.1:0".into(),
            lines,
        };
        plane.restart();
        plane
    }

    /// Ends it, if it runs, and starts another at the same address with the same state.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let (sender, lines) = channel();
        let mut options = ControlOptions::new(&self.file);
        options.listen = vec![self.address.clone()];
        options.state = Some(self.folder.path().join("state"));
        options.log = Log::new(move |line| {
            let _test_over = sender.send(line.to_owned());
        });
        let control = Control::start(options).unwrap_or_else(|fault| panic!("{fault}"));
        self.address = control.addresses()[0].to_string();
        self.lines = lines;
        self.control = Some(control);
    }

    pub(crate) fn stop(&mut self) {
        if let Some(control) = self.control.take() {
            control.drain(Duration::from_secs(1)).unwrap();
        }
    }

    /// Puts another text in the file's place.
    pub(crate) fn write(&self, text: &str) {
        let new = self.folder.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &self.file).unwrap();
    }

    /// Waits for a line of the log that holds this.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("the log never said {text:?}"));
            if line.contains(text) {
                return line;
            }
        }
    }

    pub(crate) fn client(&self, protocol: &str) -> blocking::Client {
        self.client_with(protocol, ClientOptions::default())
    }

    pub(crate) fn client_with(&self, protocol: &str, options: ClientOptions) -> blocking::Client {
        let endpoint = format!("{protocol}://{}", self.address).parse().unwrap();
        blocking::Client::new(endpoint, options)
    }

    pub(crate) fn status(&self) -> status_messages::StatusResponse {
        call(
            &self.client("native"),
            STATUS,
            &status_messages::StatusRequest {},
        )
        .unwrap()
    }

    /// Asks for the status until it is as wanted.
    pub(crate) fn until(
        &self,
        what: &str,
        wanted: impl Fn(&status_messages::StatusResponse) -> bool,
    ) -> status_messages::StatusResponse {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "never {what}: {status:?}");
            std::thread::yield_now();
        }
    }

    /// An xDS stream of a client with this user agent and node id.
    pub(crate) fn ads(&self, agent: &str, id: &str) -> Ads {
        let request = Request::new(STREAM_RESOURCES).with_deadline(Instant::now() + PATIENCE);
        Ads {
            stream: self.client("grpc").open(request).unwrap(),
            node: Node {
                id: id.into(),
                user_agent_name: agent.into(),
                ..Node::default()
            },
        }
    }
}

/// A unary call with protobuf.
pub(crate) fn call<A: Message, B: Message + Default>(
    client: &blocking::Client,
    operation: Operation,
    message: &A,
) -> Result<B, String> {
    let mut headers = Headers::new();
    headers
        .append("content-type", "application/x-protobuf")
        .unwrap();
    let request = Request::new(operation)
        .with_headers(headers)
        .with_body(message.encode_to_vec())
        .with_deadline(Instant::now() + PATIENCE);
    let response = client.call(request).map_err(|error| error.to_string())?;
    let response = response.into_result().map_err(|error| error.to_string())?;
    Ok(B::decode(response.body.into_bytes()).unwrap())
}

/// The client's end of an xDS stream, state of the world.
pub(crate) struct Ads {
    pub(crate) stream: CallStream,
    node: Node,
}

impl Ads {
    pub(crate) fn send(&mut self, octets: Vec<u8>) -> Result<(), String> {
        let sent = self.stream.send(Body::from(octets));
        sent.map_err(|error| error.to_string())
    }

    pub(crate) fn ask(&mut self, kind: ResourceType, names: &[&str], version: &str) {
        self.request(kind, names, version, "", None);
    }

    pub(crate) fn ack(&mut self, names: &[&str], response: &DiscoveryResponse) {
        let kind = ResourceType::from_type_url(&response.type_url).unwrap();
        self.request(kind, names, &response.version_info, &response.nonce, None);
    }

    pub(crate) fn nack(&mut self, names: &[&str], response: &DiscoveryResponse) {
        let kind = ResourceType::from_type_url(&response.type_url).unwrap();
        self.request(
            kind,
            names,
            "",
            &response.nonce,
            Some("refused by the test"),
        );
    }

    fn request(
        &mut self,
        kind: ResourceType,
        names: &[&str],
        version: &str,
        nonce: &str,
        error: Option<&str>,
    ) {
        let request = DiscoveryRequest {
            version_info: version.into(),
            node: Some(self.node.clone()),
            resource_names: names.iter().map(ToString::to_string).collect(),
            type_url: kind.type_url().into(),
            response_nonce: nonce.into(),
            error_detail: error.map(|message| rpc::Status {
                code: 3,
                message: message.into(),
                ..rpc::Status::default()
            }),
            ..DiscoveryRequest::default()
        };
        self.send(request.encode_to_vec()).unwrap();
    }

    pub(crate) fn hear(&mut self) -> DiscoveryResponse {
        let message = self.stream.receive().unwrap().expect("the stream goes on");
        DiscoveryResponse::decode(message.into_bytes()).unwrap()
    }

    /// Asks, takes the answer, and says so.
    pub(crate) fn subscribe(&mut self, kind: ResourceType, names: &[&str]) -> DiscoveryResponse {
        self.ask(kind, names, "");
        let response = self.hear();
        assert_eq!(response.type_url, kind.type_url());
        self.ack(names, &response);
        response
    }
}
