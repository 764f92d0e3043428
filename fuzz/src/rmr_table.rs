//! A route table bears anything, in one message or in several, and what is live can be written as
//! text that makes the same table.

use corewire_rmr::{Action, Identity, Reply, Router, Settings, TableLimits, TableSource};
use corewire_wire::rmr::message_type::TABLE_DATA;
use std::sync::Arc;
use std::time::Instant;

/// One input: the first octet says how much of the text comes in one message; 0 for all of it.
#[expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; nothing waits"
)]
pub(crate) fn run(data: &[u8]) {
    let Some((chunk, text)) = data.split_first() else {
        return;
    };
    let chunk = match chunk {
        0 => text.len().max(1),
        chunk => usize::from(*chunk) * 4,
    };
    let now = Instant::now();
    let router = router();
    let mut source = TableSource::new(&Settings::default(), Arc::clone(&router), now);
    for piece in text.chunks(chunk) {
        let before = router.table();
        source.handle_message(now, TABLE_DATA, piece, Reply(0));
        let mut taken = false;
        while let Some(action) = source.poll() {
            match action {
                Action::Acknowledge { state, .. } => {
                    taken |= state.taken;
                    let mut payload = Vec::new();
                    state.write(&mut payload);
                    assert!(payload.ends_with(b"\n\0") && payload.len() <= 1024);
                }
                Action::Report(report) => assert!(!report.to_string().is_empty()),
                other => panic!("{other:?} for nothing"),
            }
        }
        // Only a table that was taken changes what is live.
        assert_eq!(!std::ptr::eq(&*before, &*router.table()), taken);
    }
    for message_type in -1..4 {
        let table = router.table();
        if let Ok(targets) = table.targets(message_type, 1, b"m1") {
            assert_ne!(targets.len(), 0);
            assert!(
                targets
                    .map(|id| router.endpoints().get(id).name())
                    .all(|name| !name.is_empty())
            );
        }
    }
    again(&router, now);
}

/// The live table as text makes the same table.
fn again(first: &Router, now: Instant) {
    let text = first.table().to_text(first.endpoints());
    let router = router();
    let mut source = TableSource::new(&Settings::default(), Arc::clone(&router), now);
    source.handle_message(now, TABLE_DATA, text.as_bytes(), Reply(0));
    while let Some(action) = source.poll() {
        if let Action::Acknowledge { state, .. } = action {
            assert!(state.taken, "{state}:\n{text}");
        }
    }
    assert_eq!(router.table().to_text(router.endpoints()), text);
}

fn router() -> Arc<Router> {
    let identity = Identity::named("me:1").expect("a short name");
    let identity = identity.with_addresses(["10.0.0.1:1"]);
    Arc::new(Router::new(identity, TableLimits::default()))
}
