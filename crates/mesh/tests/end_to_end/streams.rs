use crate::bench::*;
use corewire_message::{Caller, Code, Request};

#[test]
fn streams_are_balanced_counted_and_keep_their_end() {
    let servers = Running::several(2);
    let (mesh, channel) = mesh(simple(&servers));
    all_connected(&mesh, "test");
    let state = || mesh.state().cluster("test").cloned().unwrap();
    block_on(async {
        let mut streams = Vec::new();
        for _ in 0..4 {
            streams.push(channel.open(Request::new(STREAM)).await.unwrap());
        }
        until("all have begun", || {
            servers[0].replica.calls() + servers[1].replica.calls() == 4
        });
        let found = state();
        assert_eq!(found.requests, 4);
        assert!(
            found
                .endpoints
                .iter()
                .all(|endpoint| endpoint.in_flight == 2)
        );
        servers[0].replica.answer(Code::Internal);
        let mut failed = 0;
        for mut stream in streams {
            stream.outbound.send("hello".to_owned()).await.unwrap();
            let name = stream.inbound.message().await.unwrap().unwrap();
            assert!(name.into_bytes().starts_with(b"replica-"));
            let echo = stream.inbound.message().await.unwrap().unwrap();
            assert_eq!(&echo.into_bytes()[..], b"hello");
            stream.outbound.finish();
            match stream.inbound.message().await {
                Ok(end) => assert!(end.is_none()),
                Err(error) => {
                    assert_eq!(error.code(), Code::Internal);
                    failed += 1;
                }
            }
        }
        assert_eq!(failed, 2);
    });
    let found = state();
    assert_eq!(
        (found.requests, found.tries.ok, found.tries.failed),
        (0, 2, 2)
    );
    // Dropped before its end: given up, and given back.
    let stream = block_on(channel.open(Request::new(STREAM))).unwrap();
    assert_eq!(state().requests, 1);
    drop(stream);
    assert_eq!((state().requests, state().tries.own), (0, 1));
}
