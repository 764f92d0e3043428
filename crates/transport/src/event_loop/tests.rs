//! What cannot be seen from outside a loop: what it keeps, and who it blames.

use super::connection::State;
use super::*;
use crate::{ClientOptions, Endpoint, Protocol};
use corewire_message::{Body, CallContext, Caller as _, Event, Operation, Request, Response};

const HANG: Operation = Operation::from_static("test.v1.Test/Hang");
const MILLI: Duration = Duration::from_millis(1);

/// Never answers.
struct Hang;

impl Service for Hang {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        std::future::pending().await
    }
}

fn anywhere() -> Address {
    Address::Tcp(([127, 0, 0, 1], 0).into())
}

#[test]
fn a_connection_has_one_timer_however_many_calls_it_carries() {
    let mut event_loop = EventLoop::new().unwrap();
    let mut options = ServerOptions::default();
    let mut client_options = ClientOptions::default();
    for native in [&mut options.native, &mut client_options.native] {
        native.keep_alive_interval = Some(200 * MILLI);
    }
    let address = event_loop
        .listen(&anywhere(), Arc::new(Hang), Arc::new(options))
        .unwrap();
    let endpoint = Endpoint::new(Protocol::Native, address);
    let client = event_loop.handle().connect(endpoint, client_options);
    let (mut most, mut turns) = (0, 0);
    for _ in 0..100 {
        let request = Request::new(HANG).with_deadline(clock() + 2 * MILLI);
        let answer = event_loop.block_on(client.call(request)).unwrap();
        assert!(answer.is_err(), "{answer:?}");
        most = most.max(event_loop.timers.len());
    }
    // One for each of the two ends.
    assert!(most <= 2, "{most} timers");
    let end = clock() + 500 * MILLI;
    while clock() < end {
        event_loop.run_once(Some(10 * MILLI)).unwrap();
        turns += 1;
    }
    assert!(event_loop.timers.len() <= 2, "{}", event_loop.timers.len());
    assert!(turns < 200, "{turns} turns in half a second of silence");
    drop(client);
    let end = clock() + Duration::from_secs(30);
    while event_loop.connections.len() > 0 && clock() < end {
        event_loop.run_once(Some(MILLI)).unwrap();
    }
    assert_eq!(event_loop.timers.len(), 0, "of connections that are gone");
}

#[test]
fn a_sleep_is_one_timer_however_often_it_is_polled() {
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let mut sleep = Box::pin(handle.sleep_until(clock() + Duration::from_secs(3600)));
    for _ in 0..100 {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        event_loop.run_once(Some(Duration::ZERO)).unwrap();
    }
    assert_eq!(event_loop.timers.len(), 1);
}

#[test]
fn a_channel_is_not_blamed_for_a_connection_of_the_one_that_had_its_number() {
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(silent.local_addr().unwrap());
    let endpoint = Endpoint::new(Protocol::Native, address);
    let first = handle.connect(endpoint.clone(), ClientOptions::default());
    let mut call = Box::pin(first.call(Request::new(HANG)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    event_loop.do_inbox();
    drop(call);
    drop(first);
    event_loop.do_inbox();
    let _second = handle.connect(endpoint, ClientOptions::default());
    event_loop.do_inbox();
    let key = event_loop.connections.keys()[0];
    assert_eq!(event_loop.channels.len(), 1, "the number is used again");
    event_loop.close(key, Some("connecting took too long".into()));
    let channel = event_loop.channels[0].as_ref().unwrap();
    assert!(channel.may_connect(clock()).is_ok());
}

#[test]
fn a_loop_that_drains_does_not_turn_for_a_listener_that_others_share() {
    let path = std::env::temp_dir().join(format!("corewire-shared-{}", std::process::id()));
    let socket = Listener::bind(&Address::Unix(path.clone()), false).unwrap();
    let shared = socket.share().unwrap();
    let mut event_loop = EventLoop::new().unwrap();
    let address = event_loop
        .accept_from(shared, Arc::new(Hang), Arc::default(), Arc::default())
        .unwrap();
    let endpoint = Endpoint::new(Protocol::Native, address);
    let client = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    let mut call = Box::pin(client.call(Request::new(HANG)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    for _ in 0..50 {
        event_loop.run_once(Some(MILLI)).unwrap();
    }
    event_loop.handle().drain(Duration::from_secs(60));
    let end = clock() + 2 * UNDECIDED_GRACE;
    while clock() < end {
        event_loop.run_once(Some(MILLI)).unwrap();
    }
    // Waits for the other loop to accept it.
    let _waits = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let begun = clock();
    for _ in 0..10 {
        assert!(event_loop.run_once(Some(10 * MILLI)).unwrap());
    }
    assert!(begun.elapsed() >= 80 * MILLI, "{:?}", begun.elapsed());
    drop(socket);
    let _gone_already = std::fs::remove_file(path);
}

#[test]
fn a_time_beyond_what_can_be_said_is_far() {
    let now = clock();
    assert_eq!(after(now, MILLI), now + MILLI);
    assert!(after(now, Duration::MAX) > now + Duration::from_secs(365 * 24 * 60 * 60));
}

#[test]
fn small_messages_that_wait_do_not_hold_the_buffer_they_came_in() {
    let shared = Arc::new(Shared::new().unwrap());
    let stream = stream_slot::StreamSlot::new(None, 0);
    let (_outbound, mut inbound) = stream::ends(&shared, &stream, stream::Side::Service);
    let buffer = bytes::Bytes::from(vec![7; 256 * 1024]);
    stream.deliver(Body::from(buffer.slice(..100)));
    stream.deliver(Body::from(buffer.slice(..100_000)));
    assert!(!buffer.is_unique(), "a large one is not copied");
    let mut take = || {
        let mut message = Box::pin(inbound.message());
        let mut cx = Context::from_waker(Waker::noop());
        match message.as_mut().poll(&mut cx) {
            Poll::Ready(Ok(Some(message))) => message,
            other => panic!("{other:?}"),
        }
    };
    let small = take();
    assert_eq!(small, Body::from(vec![7; 100]));
    assert_eq!(take().len(), 100_000);
    assert!(buffer.is_unique(), "the small one still holds it");
}

#[test]
fn an_event_is_sent_though_its_client_is_gone_before_it_is_connected() {
    #[derive(Default)]
    struct Counts(AtomicBool);
    impl Service for Counts {
        fn kind(&self, _operation: &Operation) -> Option<corewire_message::CallKind> {
            Some(corewire_message::CallKind::Unary)
        }
        async fn call(&self, _context: &CallContext, request: Request) -> Response {
            Response::ok(request.body)
        }
        async fn event(&self, _context: &CallContext, _event: Event) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let service = Arc::new(Counts::default());
    let mut event_loop = EventLoop::new().unwrap();
    let address = event_loop
        .listen(&anywhere(), Arc::clone(&service), Arc::default())
        .unwrap();
    let endpoint = Endpoint::new(Protocol::Native, address);
    let client = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    let mut sent = Box::pin(client.send(Event::new(HANG, Body::new())));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(sent.as_mut().poll(&mut cx).is_pending());
    event_loop.do_inbox();
    assert!(matches!(sent.as_mut().poll(&mut cx), Poll::Ready(Ok(()))));
    drop(sent);
    drop(client);
    let end = clock() + Duration::from_secs(30);
    while !service.0.load(Ordering::SeqCst) {
        assert!(clock() < end, "the event is lost");
        event_loop.run_once(Some(MILLI)).unwrap();
    }
}

#[test]
fn half_of_many_calls_are_written_while_the_others_are_made() {
    let mut event_loop = EventLoop::new().unwrap();
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(peer.local_addr().unwrap());
    let endpoint = Endpoint::new(Protocol::Native, address);
    let handle = event_loop.handle();
    let client = handle.connect(endpoint, ClientOptions::default());
    client.prepare().unwrap();
    let end = clock() + Duration::from_secs(60);
    let key = loop {
        assert!(clock() < end, "not connected");
        event_loop.run_once(Some(MILLI)).unwrap();
        match event_loop.connections.keys()[..] {
            [key] if event_loop.connections.get_mut(key).unwrap().state == State::Open => {
                break key;
            }
            _ => {}
        }
    };
    // How many of so many at a time are left to the end of the round, and how many calls are in
    // progress then.
    let mut left = |at_a_time: usize| {
        for _ in 0..at_a_time {
            client.call_then(Request::new(HANG), |_| {});
        }
        event_loop.do_inbox();
        let connection = event_loop.connections.get_mut(key).unwrap();
        let left = connection.unwritten;
        let in_progress = connection.core.as_ref().unwrap().in_flight();
        event_loop.flush_dirty();
        (left, in_progress)
    };
    assert_eq!(left(15), (15, 15), "few go together");
    assert_eq!(left(49), (17, 64), "32 of 64 have gone");
    assert_eq!(left(10), (10, 74), "most are with the peer already");
}

#[test]
fn a_spawned_task_runs_with_nobody_waiting_and_may_sleep_and_call() {
    let mut event_loop = EventLoop::new().unwrap();
    let address = event_loop
        .listen(&anywhere(), Arc::new(Hang), Arc::default())
        .unwrap();
    let handle = event_loop.handle();
    let endpoint = Endpoint::new(Protocol::Native, address);
    let client = handle.connect(endpoint, ClientOptions::default());
    let (told, ended) = std::sync::mpsc::channel();
    handle.clone().spawn(async move {
        handle.sleep_until(clock() + MILLI).await;
        let request = Request::new(HANG).with_deadline(clock() + MILLI);
        let _told = told.send(client.call(request).await.is_err());
    });
    event_loop.handle().spawn(async { panic!("alone") });
    let end = clock() + Duration::from_secs(30);
    let failed = loop {
        assert!(clock() < end, "the task has not ended");
        event_loop.run_once(Some(10 * MILLI)).unwrap();
        if let Ok(failed) = ended.try_recv() {
            break failed;
        }
    };
    assert!(failed, "nobody answers");
}

#[test]
fn spawned_tasks_are_dropped_with_their_loop() {
    let held = Arc::new(());
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    for _ in 0..2 {
        let held = Arc::clone(&held);
        handle.spawn(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
    }
    event_loop.run_once(Some(Duration::ZERO)).unwrap();
    assert_eq!(Arc::strong_count(&held), 3);
    handle.stop();
    assert!(!event_loop.run_once(Some(MILLI)).unwrap());
    let late = Arc::clone(&held);
    handle.spawn(async move { drop(late) });
    assert_eq!(Arc::strong_count(&held), 1);
}

/// A peer that reads a long answer as fast as it is written.
#[test]
fn one_turn_writes_a_bounded_part_of_a_long_answer() {
    const LONG: usize = 8 << 20;
    struct Long;
    impl Service for Long {
        async fn call(&self, _context: &CallContext, _request: Request) -> Response {
            Response::ok(Body::from(vec![0; LONG]))
        }
    }
    let mut event_loop = EventLoop::new().unwrap();
    let address = event_loop
        .listen(&anywhere(), Arc::new(Long), Arc::default())
        .unwrap();
    let endpoint = Endpoint::new(Protocol::Native, address);
    let peer = std::thread::spawn(move || {
        use corewire_message::blocking::Caller as _;
        let client = crate::blocking::Client::new(endpoint, ClientOptions::default());
        let answer = client.call(Request::new(HANG)).unwrap();
        assert_eq!(answer.body.len(), LONG);
    });
    let (mut waited, mut most) = (0, 0);
    let end = clock() + Duration::from_secs(30);
    while !peer.is_finished() {
        assert!(clock() < end, "the answer does not come");
        event_loop.run_once(Some(MILLI)).unwrap();
        let waits = match event_loop.connections.keys()[..] {
            [key] => event_loop.connections.get_mut(key).unwrap().waiting(),
            _ => 0,
        };
        if waits == 0 && waited == 0 {
            continue;
        }
        // In the turn of the request the whole answer is there, and its first part goes.
        let before = if waited == 0 { LONG } else { waited };
        most = most.max(before.saturating_sub(waits));
        waited = waits;
    }
    peer.join().unwrap();
    assert!(most > 0, "it was never seen waiting");
    assert!(most <= 512 << 10, "{most} octets in one turn");
}
