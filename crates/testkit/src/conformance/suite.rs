//! Which promises hold where, and the macro that makes tests of them.

/// Makes a module of tests: every promise of the groups named, each on a new fixture.
///
/// ```
/// use corewire_testkit::conformance::{Simulated, Spoken};
/// use corewire_testkit::conformance_suite;
///
/// conformance_suite!(native_simulated, [everywhere, futures], || {
///     Simulated::new(Spoken::Native, 1)
/// });
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance_suite {
    ($name:ident, [$($group:ident),+ $(,)?], $fixture:expr) => {
        mod $name {
            #[expect(unused_imports, reason = "what fixtures are made of")]
            use super::*;
            $($crate::conformance_group!($group, $fixture);)+
        }
    };
}

/// The tests of one group of promises; used by [`conformance_suite!`].
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_group {
    (everywhere, $fixture:expr) => {
        $crate::conformance_tests! { $fixture;
            unary: echo_of_nothing, echo_of_1_octet, echo_of_10_kb, echo_of_100_kb, echo_of_1_mb,
                a_body_with_a_head_is_sent_whole, priority_arrives, a_call_is_executed_once,
                the_service_sees_the_protocol;
            headers: headers_go_both_ways, repeated_names_keep_their_order,
                binary_values_arrive_under_bin_names,
                binary_values_under_plain_names_arrive_or_are_refused, large_headers_arrive,
                too_large_headers_are_not_executed;
            resources: a_resource_is_asked_by_every_method, an_answer_names_its_http_status;
            failures: every_code_arrives, the_message_of_a_failure_arrives,
                the_body_of_a_failure_arrives, the_headers_of_a_failure_arrive,
                an_unknown_operation_is_unimplemented;
            deadlines: a_call_ends_when_its_deadline_passes,
                the_service_is_told_when_the_deadline_passes,
                the_service_sees_the_time_that_is_left, no_deadline_means_the_channels,
                a_deadline_in_the_past_is_not_executed, deadlines_pass_in_their_order,
                a_stream_ends_when_its_deadline_passes, a_slow_call_does_not_hold_up_others,
                a_passed_deadline_is_found_here_or_told_by_the_peer;
            events: events_arrive_in_order_and_once, events_carry_headers_and_priority,
                a_large_event_arrives, more_events_than_the_peers_credit_arrive, an_unknown_event_does_no_harm;
            giving_up: cancelling_a_stream_reaches_the_service,
                dropping_a_stream_reaches_the_service,
                dropping_the_reading_end_reaches_the_service, a_service_that_gives_up_is_heard;
            streams: an_echo_goes_both_ways_in_order, messages_keep_their_boundaries,
                the_opening_body_is_the_first_message, a_client_stream_is_answered_at_its_end,
                a_client_stream_may_be_empty, a_server_stream_goes_on_after_half_close,
                trailers_come_at_the_end, a_failing_status_comes_after_the_messages,
                an_unknown_stream_is_unimplemented, a_service_may_answer_early,
                streams_and_calls_mix;
            flow: a_service_that_does_not_read_bounds_the_caller,
                a_caller_that_does_not_read_bounds_the_service,
                a_stream_that_stands_still_does_not_hold_up_calls;
            sizes: the_longest_message_arrives, a_longer_request_is_not_sent,
                a_request_longer_than_the_server_takes_is_refused, a_longer_answer_is_an_error,
                a_longer_message_of_a_stream_is_refused;
            connections: a_refused_connection_is_not_sent, a_refused_stream_is_not_sent,
                a_server_that_dies_leaves_the_fate_unknown, a_server_that_dies_ends_streams,
                the_same_client_works_after_the_server_came_back,
                draining_finishes_calls_and_refuses_new_ones, draining_finishes_streams,
                calls_that_race_with_a_drain_are_answered_or_refused, clients_are_independent;
            many: a_hundred_calls_at_once, large_and_small_calls_at_once;
        }
    };
    (futures, $fixture:expr) => {
        $crate::conformance_tests! { $fixture;
            giving_up: dropping_a_call_reaches_the_service, dropping_a_call_leaves_others_alone,
                many_dropped_calls_leave_nothing_behind;
            streams: writing_and_reading_at_once_moves_more_than_fits, many_streams_at_once;
            flow: a_writer_that_waits_goes_on;
            many: a_thousand_calls_at_once, a_thousand_calls_wait_together;
        }
    };
    (threads, $fixture:expr) => {
        $crate::conformance_tests! { $fixture;
            threads: sixteen_threads_share_one_client,
                a_thread_that_waits_does_not_hold_up_others, deadlines_of_threads_are_their_own,
                streams_of_threads_share_one_client,
                every_waiting_thread_is_told_when_the_server_dies;
        }
    };
    (loops, $fixture:expr) => {
        $crate::conformance_tests! { $fixture;
            loops: a_call_after_the_loop_ended_says_so, a_call_ends_with_its_loop;
        }
    };
    (sockets, $fixture:expr) => {
        $crate::conformance_tests! { $fixture;
            failures: a_panic_of_the_service_fails_one_call;
        }
    };
}

/// One test a promise; used by [`conformance_suite!`].
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($fixture:expr; $($module:ident: $($promise:ident),+;)+) => {$($(
        #[test]
        fn $promise() {
            $crate::conformance::hold($fixture, $crate::conformance::promises::$module::$promise);
        }
    )+)+};
}

#[cfg(test)]
mod tests {
    /// A promise that stands in no group is tested nowhere.
    #[test]
    fn every_promise_is_in_a_group() {
        let groups = include_str!("suite.rs");
        for module in [
            include_str!("promises/connections.rs"),
            include_str!("promises/deadlines.rs"),
            include_str!("promises/events.rs"),
            include_str!("promises/failures.rs"),
            include_str!("promises/flow.rs"),
            include_str!("promises/giving_up.rs"),
            include_str!("promises/headers.rs"),
            include_str!("promises/loops.rs"),
            include_str!("promises/many.rs"),
            include_str!("promises/resources.rs"),
            include_str!("promises/sizes.rs"),
            include_str!("promises/streams.rs"),
            include_str!("promises/threads.rs"),
            include_str!("promises/unary.rs"),
        ] {
            for rest in module.split("\npub async fn ").skip(1) {
                let name = rest.split('(').next().unwrap();
                let listed = groups.split([' ', ',', ';', '\n']).any(|word| word == name);
                assert!(listed, "{name} is in no group");
            }
        }
    }
}
