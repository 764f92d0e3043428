//! Threads that share one client.

use super::super::{Bench, operations as op};
use super::octets;
use corewire_message::blocking::{Caller, Channel};
use corewire_message::{Code, Request};
use std::time::Duration;

fn client(bench: &Bench) -> Channel {
    let client = bench.fixture().connect_thread();
    client.expect("a transport that a thread can drive")
}

/// Sixteen threads share one client; each gets its own answers.
pub async fn sixteen_threads_share_one_client(bench: &Bench) {
    let client = client(bench);
    std::thread::scope(|scope| {
        for thread in 0..16usize {
            let client = &client;
            scope.spawn(move || {
                for round in 0..100usize {
                    let body = octets(thread * 100 + round * 11);
                    let request = Request::new(op::ECHO).with_body(body.clone());
                    let answer = client.call(request).unwrap();
                    assert!(
                        answer.body.into_bytes() == body,
                        "thread {thread}, round {round}"
                    );
                }
            });
        }
    });
}

/// A thread that waits long does not keep the others from being answered.
pub async fn a_thread_that_waits_does_not_hold_up_others(bench: &Bench) {
    let client = client(bench);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| client.call(Request::new(op::WAIT)));
        while bench.probe.started() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..50 {
            client.call(Request::new(op::ECHO)).unwrap();
        }
        assert!(!slow.is_finished());
        bench.probe.gate.open();
        slow.join().unwrap().unwrap();
    });
}

/// Each thread's deadline passes at its own time, whoever reads for all.
pub async fn deadlines_of_threads_are_their_own(bench: &Bench) {
    let client = client(bench);
    client.call(Request::new(op::ECHO)).unwrap();
    std::thread::scope(|scope| {
        for millis in [40, 80, 120, 400] {
            let client = &client;
            scope.spawn(move || {
                let after = Duration::from_millis(millis);
                let start = bench_now();
                let request = Request::new(op::WAIT).with_deadline(start + after);
                let error = client.call(request).unwrap_err();
                let took = start.elapsed();
                assert_eq!(error.code(), Code::DeadlineExceeded);
                assert!(
                    took >= after && took < after + Duration::from_secs(8),
                    "{took:?}"
                );
            });
        }
    });
}

fn bench_now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Streams of several threads share one client.
pub async fn streams_of_threads_share_one_client(bench: &Bench) {
    let client = client(bench);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let client = &client;
            scope.spawn(move || {
                let mut stream = client.open(Request::new(op::STREAM_ECHO)).unwrap();
                for round in 0..50 {
                    let message = format!("{thread} {round}");
                    stream.send(message.clone()).unwrap();
                    assert_eq!(stream.receive().unwrap().unwrap().into_bytes(), message);
                }
                stream.finish().unwrap();
                assert!(stream.receive().unwrap().is_none());
                assert_eq!(stream.trailers().get_str("x-count"), Some("50"));
            });
        }
    });
}

/// The server dies: every thread that waits is told.
pub async fn every_waiting_thread_is_told_when_the_server_dies(bench: &Bench) {
    let client = client(bench);
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| client.call(Request::new(op::WAIT))))
            .collect();
        while bench.probe.started() < 8 {
            std::thread::sleep(Duration::from_millis(1));
        }
        bench.fixture().stop_server();
        for thread in waiting {
            let error = thread.join().unwrap().unwrap_err();
            assert_eq!(error.code(), Code::Unavailable);
            assert!(error.may_have_executed());
        }
    });
}
