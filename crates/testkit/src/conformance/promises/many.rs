//! Many calls at once on one connection.

use super::super::service::text;
use super::super::{Bench, join_all, operations as op};
use super::octets;
use corewire_message::{Caller, Request};

async fn at_once(bench: &Bench, calls: usize, client: &corewire_message::Channel) {
    let echo = async |number: usize| {
        let body = format!("the body of call {number}");
        let answer = client
            .call(Request::new(op::ECHO).with_body(body.clone()))
            .await
            .unwrap();
        assert_eq!(text(&answer.body), body);
    };
    join_all((0..calls).map(echo)).await;
    bench.works().await;
}

/// A hundred calls at once, each with its own answer.
pub async fn a_hundred_calls_at_once(bench: &Bench) {
    at_once(bench, 100, &bench.client).await;
}

/// A thousand calls at once, each with its own answer.
pub async fn a_thousand_calls_at_once(bench: &Bench) {
    at_once(bench, 1000, &bench.client).await;
}

/// A thousand calls that all wait are all in flight at once.
pub async fn a_thousand_calls_wait_together(bench: &Bench) {
    let calls: Vec<_> = (0..1000)
        .map(|number: usize| {
            let request = Request::new(op::WAIT).with_body(number.to_string());
            (number, bench.client.call(request))
        })
        .collect();
    let (numbers, calls): (Vec<usize>, Vec<_>) = calls.into_iter().unzip();
    let open = async {
        bench.until_started(1000).await;
        bench.probe.gate.open();
        Vec::new()
    };
    let both: [std::pin::Pin<Box<dyn Future<Output = Vec<_>> + '_>>; 2] =
        [Box::pin(join_all(calls)), Box::pin(open)];
    let answers = join_all(both).await.swap_remove(0);
    for (number, answer) in numbers.into_iter().zip(answers) {
        assert_eq!(text(&answer.unwrap().body), number.to_string());
    }
}

/// Small calls and large ones at once, each with its own answer.
pub async fn large_and_small_calls_at_once(bench: &Bench) {
    let echo = async |number: usize| {
        let body = octets(number % 7 * 40_000 + number);
        let request = Request::new(op::ECHO).with_body(body.clone());
        let answer = bench.client.call(request).await.unwrap();
        assert!(
            answer.body.into_bytes() == body,
            "call {number} got another's answer"
        );
    };
    join_all((0..70).map(echo)).await;
}
