use crate::bench::*;
use corewire_mesh::bridge::Bridge;
use corewire_mesh::config::{Route, Transport};
use corewire_message::{CallKind, Caller, Code, Event, Headers, Operation, Request};
use corewire_transport::{
    Client, ClientOptions, Endpoint, EventLoop, LoopHandle, Protocol, Server, ServerOptions,
};
use std::sync::Arc;

fn shapes(operation: &Operation) -> Option<CallKind> {
    match operation.method() {
        "Stream" => Some(CallKind::Stream),
        "Unknown" => None,
        _ => Some(CallKind::Unary),
    }
}

/// A loop beside the test.
fn client_loop() -> LoopHandle {
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut event_loop = EventLoop::new().unwrap();
        tell.send(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
    });
    told.recv().unwrap()
}

/// Every protocol in front of a bridge, every protocol behind it.
#[test]
fn whoever_speaks_whatever_reaches_whom_it_wants() {
    let client_loop = client_loop();
    for behind in [Transport::Rest, Transport::Grpc, Transport::Native] {
        let server = Running::start("behind");
        let mut cluster = cluster("test");
        cluster.transport = Some(behind);
        let route = vec![Route::to_cluster("test")];
        let servers = std::slice::from_ref(&server);
        let (_mesh, channel) = mesh(snapshot(cluster, servers, route));
        ready(&channel);
        let mut options = ServerOptions::default();
        options.loops = 1;
        let bridge = Arc::new(Bridge::new(channel).with_shapes(shapes));
        let bridge = Server::start(&[anywhere()], bridge, options).unwrap();
        for front in Protocol::ALL {
            let endpoint = Endpoint::new(front, bridge.addresses()[0].clone());
            let client = client_loop.connect(endpoint, ClientOptions::default());
            let case = format!("{front} to {behind}");
            server.replica.answer(Code::Ok);
            unary(&client, &case);
            block_on(client.send(Event::new(CALL, "note".to_owned()))).unwrap();
            streams(&client, &case);
            server.replica.answer(Code::NotFound);
            let error = block_on(client.call(request())).unwrap_err();
            assert_eq!(error.code(), Code::NotFound, "{case}");
            assert_eq!(error.to_status().message(), "as told", "{case}");
        }
        until("events arrive", || server.replica.events() == 3);
    }
    client_loop.stop();
}

fn unary(client: &Client, case: &str) {
    let mut headers = Headers::new();
    headers
        .append("3gpp-sbi-correlation-info", "imsi-1")
        .unwrap();
    headers.append("content-type", "application/json").unwrap();
    let request = request()
        .with_headers(headers)
        .with_body(br#"{"a":1}"#.to_vec());
    let response = block_on(client.call(request)).unwrap();
    assert_eq!(&response.body.into_bytes()[..], b"behind", "{case}");
    let info = response.headers.get_str("3gpp-sbi-correlation-info");
    assert_eq!(info, Some("imsi-1"), "{case}");
    let media = response.headers.get_str("content-type");
    assert_eq!(media, Some("application/json"), "{case}");
    let unknown = Operation::from_static("test.v1.Test/Unknown");
    let error = block_on(client.call(Request::new(unknown))).unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented, "{case}");
}

fn streams(client: &Client, case: &str) {
    block_on(async {
        let mut stream = client.open(Request::new(STREAM)).await.unwrap();
        let name = stream.inbound.message().await.unwrap().unwrap();
        assert_eq!(&name.into_bytes()[..], b"behind", "{case}");
        for number in 0..10 {
            let text = format!("message {number}");
            stream.outbound.send(text.clone()).await.unwrap();
            let echo = stream.inbound.message().await.unwrap().unwrap();
            assert_eq!(&echo.into_bytes()[..], text.as_bytes(), "{case}");
        }
        stream.outbound.finish();
        assert!(stream.inbound.message().await.unwrap().is_none(), "{case}");
    });
}

#[test]
fn a_bridge_says_when_nobody_is_behind_it() {
    let (_mesh, channel) = mesh(simple(&[]));
    let mut options = ServerOptions::default();
    options.loops = 1;
    let bridge = Server::start(&[anywhere()], Arc::new(Bridge::new(channel)), options).unwrap();
    let client_loop = client_loop();
    for front in Protocol::ALL {
        let endpoint = Endpoint::new(front, bridge.addresses()[0].clone());
        let client = client_loop.connect(endpoint, ClientOptions::default());
        let error = block_on(client.call(request())).unwrap_err();
        assert_eq!(error.code(), Code::Unavailable);
        assert!(error.to_string().contains("has no endpoints"), "{error}");
    }
    client_loop.stop();
}
