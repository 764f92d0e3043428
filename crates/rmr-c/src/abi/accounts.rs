//! What became of messages, beyond RMR: `rmr_corewire.h`.

use super::context;
use crate::boundary::boundary;
use crate::context::Context;
use crate::errno;
use corewire_rmr::{Counter, DropKind, EndpointCounters, LossKind};
use libc::{c_int, c_void};

/// `rmr_tx_counts_t`.
#[repr(C)]
pub struct SendCounts {
    accepted: u64,
    written: u64,
    dropped_copy: u64,
    dropped_connection: u64,
    dropped_closed: u64,
    refused_retry: u64,
    refused: u64,
    refused_no_route: u64,
}

/// `rmr_rx_counts_t`.
#[repr(C)]
pub struct ReceiveCounts {
    taken: u64,
    malformed: u64,
    too_long: u64,
    late_reply: u64,
    queue_full: u64,
    no_memory: u64,
    connections: u64,
    unread: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_tx_dropped(vctx: *mut c_void) -> u64 {
    boundary(0, || {
        // SAFETY: as the header says.
        unsafe { context(vctx) }.map_or(0, Context::dropped)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_tx_counts(vctx: *mut c_void, counts: *mut SendCounts) -> c_int {
    boundary(libc::EINVAL, || {
        // SAFETY: as the header says.
        let (context, counts) = unsafe { (context(vctx), counts.as_mut()) };
        let (Some(context), Some(counts)) = (context, counts) else {
            errno::set(libc::EINVAL);
            return libc::EINVAL;
        };
        *counts = sent(context);
        0
    })
}

fn sent(context: &Context) -> SendCounts {
    let sum = |of: fn(&EndpointCounters) -> &Counter| context.sent().map(|it| of(it).get()).sum();
    SendCounts {
        accepted: sum(|it| &it.accepted),
        written: sum(|it| &it.written),
        dropped_copy: sum(|it| it.dropped(DropKind::Copy)),
        dropped_connection: sum(|it| it.dropped(DropKind::ConnectionLost)),
        dropped_closed: sum(|it| it.dropped(DropKind::Closed)),
        refused_retry: sum(|it| &it.retry),
        refused: sum(|it| &it.failed),
        refused_no_route: context.router().counters().all(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_rx_counts(vctx: *mut c_void, counts: *mut ReceiveCounts) -> c_int {
    boundary(libc::EINVAL, || {
        // SAFETY: as the header says.
        let (context, counts) = unsafe { (context(vctx), counts.as_mut()) };
        let (Some(context), Some(counts)) = (context, counts) else {
            errno::set(libc::EINVAL);
            return libc::EINVAL;
        };
        let came = context.inbox().counters();
        let lost = |kind| came.lost(kind).get();
        *counts = ReceiveCounts {
            taken: came.all_taken(),
            malformed: lost(LossKind::Malformed),
            too_long: lost(LossKind::TooLong),
            late_reply: lost(LossKind::LateReply),
            queue_full: lost(LossKind::QueueFull),
            no_memory: lost(LossKind::NoMemory),
            connections: lost(LossKind::LostStream) + lost(LossKind::Crowded),
            unread: lost(LossKind::Unread),
        };
        0
    })
}
