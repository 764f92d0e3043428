//! HTTP/2 with programs that are not ours: curl, nghttp, h2load and nghttpd. They are declared
//! needs of the tests: a missing one fails.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallKind, Code, Headers, Inbound, Operation, Outbound, Request, Response,
    Service, Status,
};
use corewire_transport::{
    Address, ClientOptions, Endpoint, Protocol, Server, ServerOptions, blocking,
};
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn instance(request: &Request) -> Response {
    let (code, http_status) = match request.headers.get_str("corewire-method") {
        Some("PUT") => (Code::Ok, "201"),
        Some("PATCH" | "DELETE") => (Code::Ok, "204"),
        Some("GET") => (Code::FailedPrecondition, "304"),
        _ => (Code::NotFound, "200"),
    };
    let mut headers = Headers::new();
    let location = format!("/{}", request.operation);
    for (name, value) in [
        ("corewire-http-status", http_status),
        ("location", &location),
    ] {
        headers.append(name, value).unwrap();
    }
    let body = match http_status {
        "201" => request.body.clone(),
        _ => Body::new(),
    };
    Response {
        status: Status::of(code),
        headers,
        body,
    }
}

struct Test;

impl Service for Test {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        match operation.as_str() {
            "test.v1.Test/Chat" => Some(CallKind::Stream),
            "test.v1.Test/Echo"
            | "test.v1.Test/Fail"
            | "test.v1.Test/Hang"
            | "nnrf-nfm/v1/nf-instances/one"
            | "nnrf-disc/v1/nf-instances" => Some(CallKind::Unary),
            _ => None,
        }
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        match request.operation.method() {
            "Fail" => Response::failed(Status::new(Code::AlreadyExists, "there is one \u{fc}")),
            "Hang" => std::future::pending().await,
            "one" => instance(&request),
            "nf-instances" => {
                let query = request
                    .headers
                    .get_str("corewire-query")
                    .unwrap_or_default();
                Response::ok(query.to_owned())
            }
            _ => Response::ok(request.body).with_headers(request.headers),
        }
    }

    async fn stream(
        &self,
        _context: &CallContext,
        _request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        while let Ok(Some(message)) = inbound.message().await {
            if outbound.send(message).await.is_err() {
                break;
            }
        }
        Response::ok(Body::new())
    }
}

/// A server and where it is: `http://127.0.0.1:port`.
fn server() -> (Server, String) {
    let mut options = ServerOptions::default();
    options.loops = 1;
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    let server = Server::start(&[anywhere], Arc::new(Test), options).unwrap();
    let Address::Tcp(address) = &server.addresses()[0] else {
        panic!("not TCP")
    };
    let url = format!("http://{address}");
    (server, url)
}

fn run(program: &str, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} is needed by this test: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // It may leave early: what it says of that is what is tested.
        let _left = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Runs curl for at most ten seconds; gives status, headers and body.
fn curl(arguments: &[&str], input: &[u8]) -> (u16, String, Vec<u8>) {
    let mut all = vec!["--http2-prior-knowledge", "-sS", "--max-time", "10", "-i"];
    all.extend(arguments);
    let output = run("curl", &all, input);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "curl: {errors}");
    let end = output
        .stdout
        .windows(4)
        .position(|octets| octets == b"\r\n\r\n")
        .expect("a header section");
    let headers = String::from_utf8(output.stdout[..end].to_vec()).unwrap();
    let status = headers
        .strip_prefix("HTTP/2 ")
        .and_then(|rest| rest[..3].parse().ok())
        .unwrap_or_else(|| panic!("no HTTP/2 status: {headers}"));
    (status, headers, output.stdout[end + 4..].to_vec())
}

#[test]
fn curl_posts_and_gets() {
    let (_server, url) = server();
    let echo = format!("{url}/test.v1.Test/Echo");
    let json = ["-H", "content-type: application/json", "-H", "x-mine: 7"];
    let (status, headers, body) = curl(&[&[&echo, "-d", "{\"a\":1}"], &json[..]].concat(), b"");
    assert_eq!((status, &body[..]), (200, &b"{\"a\":1}"[..]));
    assert!(
        headers.contains("content-type: application/json"),
        "{headers}"
    );
    assert!(headers.contains("x-mine: 7"), "{headers}");

    let (status, _, body) = curl(&[&echo], b"");
    assert_eq!((status, body.len()), (200, 0));

    let find = format!("{url}/nnrf-disc/v1/nf-instances?target-nf-type=SMF&limit=3");
    let (status, _, body) = curl(&[&find], b"");
    assert_eq!(
        (status, &body[..]),
        (200, &b"target-nf-type=SMF&limit=3"[..])
    );
}

#[test]
fn curl_carries_long_bodies() {
    let (_server, url) = server();
    let echo = format!("{url}/test.v1.Test/Echo");
    for length in [100_000, 5_000_000, 16 << 20] {
        let octets: Vec<u8> = (0..length).map(|i| (i % 253) as u8).collect();
        let (status, _, body) = curl(&[&echo, "--data-binary", "@-"], &octets);
        assert_eq!(status, 200);
        assert!(body == octets, "{length} octets");
    }
}

#[test]
fn curl_sees_failures_as_problem_documents() {
    let (_server, url) = server();
    let (status, headers, body) = curl(&[&format!("{url}/test.v1.Test/Fail"), "-d", "x"], b"");
    assert_eq!(status, 409);
    assert!(
        headers.contains("content-type: application/problem+json"),
        "{headers}"
    );
    assert!(headers.contains("corewire-status: 6"), "{headers}");
    let expected =
        "{\"status\":409,\"detail\":\"there is one \u{fc}\",\"cause\":\"ALREADY_EXISTS\"}";
    assert_eq!(String::from_utf8(body).unwrap(), expected);

    let (status, _, body) = curl(&[&format!("{url}/test.v1.Test/Nothing"), "-d", "x"], b"");
    assert_eq!(status, 404);
    assert!(
        String::from_utf8(body)
            .unwrap()
            .contains("no such operation")
    );

    let hang = format!("{url}/test.v1.Test/Hang");
    let (status, _, _) = curl(&[&hang, "-d", "x", "-H", "3gpp-Sbi-Max-Rsp-Time: 50"], b"");
    assert_eq!(status, 504);

    let (status, _, _) = curl(&[&format!("{url}/test.v1.Test/Chat"), "-d", "x"], b"");
    assert_eq!(status, 415);

    // 1,900 fields count 32 octets more each (RFC 9113, 6.5.2).
    let echo = format!("{url}/test.v1.Test/Echo");
    let many: Vec<&str> = ["-H", "x-a: 1"].repeat(1900);
    let (status, _, _) = curl(&[&[&echo[..]], &many[..]].concat(), b"");
    assert_eq!(status, 431);
}

#[test]
fn curl_makes_changes_and_ends_a_resource() {
    let (_server, url) = server();
    let one = format!("{url}/nnrf-nfm/v1/nf-instances/one");
    let (status, headers, body) = curl(&[&one, "-X", "PUT", "-d", "profile"], b"");
    assert_eq!((status, &body[..]), (201, &b"profile"[..]));
    assert!(headers.contains("location: /nnrf-nfm/v1/nf-instances/one"));
    assert!(!headers.contains("corewire"), "{headers}");

    let (status, _, body) = curl(&[&one, "-X", "PATCH", "-d", "[]"], b"");
    assert_eq!((status, body.len()), (204, 0));
    let (status, _, body) = curl(&[&one, "-X", "DELETE"], b"");
    assert_eq!((status, body.len()), (204, 0));
    let (status, headers, body) = curl(&[&one], b"");
    assert_eq!((status, body.len()), (304, 0));
    assert!(!headers.contains("content-type"), "{headers}");
    // The service says 200 of a failure: its code counts.
    let (status, _, _) = curl(&[&one, "-d", "x"], b"");
    assert_eq!(status, 404);
    // A stranger's field of the reserved name is not the method.
    let (status, _, _) = curl(&[&one, "-d", "x", "-H", "corewire-method: PUT"], b"");
    assert_eq!(status, 404);
    let (status, headers, _) = curl(&[&one, "-X", "OPTIONS"], b"");
    assert_eq!(status, 405);
    assert!(headers.contains("allow: POST, GET, PUT, PATCH, DELETE"));
}

#[test]
fn curl_is_told_which_methods_reach_an_operation() {
    let (_server, url) = server();
    let echo = format!("{url}/test.v1.Test/Echo");
    for method in [&["-X", "DELETE"][..], &["-X", "PUT", "-d", "x"], &["-I"]] {
        let (status, headers, _) = curl(&[&[&echo[..]], method].concat(), b"");
        assert_eq!(status, 405, "{method:?}");
        assert!(headers.contains("allow: POST, GET"), "{headers}");
    }
}

#[test]
fn curl_sends_events() {
    let (_server, url) = server();
    let echo = format!("{url}/test.v1.Test/Echo");
    let (status, _, body) = curl(&[&echo, "-d", "x", "-H", "corewire-event: 1"], b"");
    assert_eq!((status, body.len()), (204, 0));
}

#[test]
fn curl_speaks_the_stream_framing() {
    let (_server, url) = server();
    let chat = format!("{url}/test.v1.Test/Chat");
    let messages = b"\0\0\0\0\x03one\0\0\0\0\0\0\0\0\0\x02ab";
    let stream = "content-type: application/corewire-stream";
    let (status, headers, body) = curl(&[&chat, "--data-binary", "@-", "-H", stream], messages);
    assert_eq!(status, 200);
    assert!(headers.contains(stream), "{headers}");
    // curl prints the trailers behind the body.
    assert_eq!(&body[..messages.len()], messages);
}

#[test]
fn curl_speaks_grpc() {
    let (_server, url) = server();
    let grpc = [
        "-H",
        "content-type: application/grpc+proto",
        "-H",
        "te: trailers",
    ];
    let message = b"\0\0\0\0\x03abc";
    let echo = format!("{url}/test.v1.Test/Echo");
    let (status, headers, body) = curl(
        &[&[&echo[..], "--data-binary", "@-"], &grpc[..]].concat(),
        message,
    );
    assert_eq!(status, 200);
    assert_eq!(&body[..8], message);
    assert!(
        headers.contains("content-type: application/grpc"),
        "{headers}"
    );

    let fail = format!("{url}/test.v1.Test/Fail");
    let (status, headers, _) = curl(
        &[&[&fail[..], "--data-binary", "@-"], &grpc[..]].concat(),
        message,
    );
    assert_eq!(status, 200);
    assert!(headers.contains("grpc-status: 6"), "{headers}");
    assert!(
        headers.contains("grpc-message: there is one %C3%BC"),
        "{headers}"
    );
}

#[test]
fn nghttp_and_h2load_find_nothing_wrong() {
    let (_server, url) = server();
    let body = tempfile(&[7; 10_000]);
    let echo = format!("{url}/test.v1.Test/Echo");
    let output = run(
        "nghttp",
        &["-v", "-t", "10", "-m", "20", "-d", &body.0, &echo],
        b"",
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches(":status: 200").count(), 20, "{text}");
    assert!(!text.contains("RST_STREAM"), "{text}");

    let load = [
        "-n", "5000", "-c", "5", "-m", "20", "-T", "20", "-d", &body.0, &echo,
    ];
    let output = run("h2load", &load, b"");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("5000 succeeded, 0 failed, 0 errored"),
        "{text}"
    );
    assert!(text.contains("status codes: 5000 2xx"), "{text}");
}

#[test]
fn our_client_understands_a_strangers_answers() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let folder = std::env::temp_dir().join(format!("corewire-nghttpd-{port}"));
    std::fs::create_dir_all(folder.join("docs")).unwrap();
    std::fs::write(folder.join("docs/page"), "from nghttpd").unwrap();
    let _nghttpd = Running(
        Command::new("nghttpd")
            .args(["--no-tls", "-a", "127.0.0.1", "-d"])
            .arg(&folder)
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("nghttpd is needed by this test: {error}")),
    );
    let address = Address::Tcp(([127, 0, 0, 1], port).into());
    let endpoint = Endpoint::new(Protocol::Rest, address);
    let until = Instant::now() + Duration::from_secs(30);
    let client = loop {
        match blocking::Client::connect(endpoint.clone(), ClientOptions::default()) {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < until, "nghttpd does not listen: {error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let page = Operation::from_static("docs/page");
    let answer = client
        .call(Request::new(page).with_body(vec![1; 100_000]))
        .unwrap();
    assert_eq!(answer.body, Body::from_static(b"from nghttpd"));
    assert!(
        answer
            .headers
            .get_str("server")
            .unwrap()
            .starts_with("nghttpd")
    );

    let missing = Operation::from_static("docs/missing");
    let error = client.call(Request::new(missing)).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let answer = error.into_response().unwrap();
    assert_eq!(
        answer.status.message(),
        "the peer answered with HTTP status 404"
    );
    assert!(!answer.body.is_empty());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn our_own_clients_reach_our_server_in_both_flavours() {
    let (server, _) = server();
    for protocol in [Protocol::Rest, Protocol::Grpc] {
        let endpoint = Endpoint::new(protocol, server.addresses()[0].clone());
        let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
        let echo = Operation::from_static("test.v1.Test/Echo");
        let mut headers = Headers::new();
        headers.append("x-data-bin", [0x80, 9]).unwrap();
        let request = Request::new(echo)
            .with_body(vec![5; 300_000])
            .with_headers(headers.clone());
        let answer = client.call(request).unwrap();
        assert_eq!(
            (answer.body, answer.headers),
            (vec![5; 300_000].into(), headers)
        );
        let fail = Operation::from_static("test.v1.Test/Fail");
        let error = client.call(Request::new(fail)).unwrap_err();
        assert_eq!(error.code(), Code::AlreadyExists);
        assert_eq!(
            error.response().unwrap().status.message(),
            "there is one \u{fc}"
        );
        let chat = Operation::from_static("test.v1.Test/Chat");
        let mut stream = client.open(Request::new(chat)).unwrap();
        for round in 0..20u8 {
            stream.send(vec![round; 50_000]).unwrap();
            assert_eq!(stream.receive().unwrap(), Some(vec![round; 50_000].into()));
        }
        stream.finish().unwrap();
        assert_eq!(stream.receive().unwrap(), None);
    }
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone is as good.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// A file that goes with the test.
struct TempFile(String);

fn tempfile(octets: &[u8]) -> TempFile {
    let name = format!("corewire-interop-{}-{}", std::process::id(), octets.len());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, octets).unwrap();
    TempFile(path.to_str().unwrap().to_owned())
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}
