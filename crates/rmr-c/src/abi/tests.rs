//! Messages in the hands of a C program: what it does with their pointers, also with those that lie in the message itself.
//! Miri runs these.

use super::mbuf::{
    rmr_bytes2meid, rmr_bytes2payload, rmr_bytes2xact, rmr_free_msg, rmr_get_meid, rmr_get_src,
    rmr_get_xact, rmr_payload_size, rmr_realloc_msg, rmr_realloc_payload, rmr_str2meid,
    rmr_str2payload, rmr_str2xact,
};
use super::trace::{rmr_get_trace, rmr_get_trlen, rmr_set_trace, rmr_trace_ref};
use crate::message::{Message, Names};
use crate::state;
use libc::{c_int, c_uchar};
use std::ptr::{null, null_mut};

/// A message with so much payload and trace data, of no context.
fn message(payload: usize, trace: usize) -> *mut Message {
    let names = Names {
        name: b"here:4560".to_vec(),
        address: b"10.0.0.1:4560".to_vec(),
    };
    let mut message = Message::new(payload, null()).unwrap();
    // SAFETY: just made.
    assert!(unsafe { message.as_mut() }.begin(payload, trace, &names));
    message.as_ptr()
}

/// The first octets of the payload, as C reads them.
///
/// # Safety
/// The message is alive and has as many.
unsafe fn payload<const N: usize>(message: *mut Message) -> [u8; N] {
    // SAFETY: as the caller says.
    unsafe { (*message).payload.cast::<[u8; N]>().read() }
}

#[test]
fn a_payload_is_written_from_anywhere_also_from_itself() {
    let message = message(20, 4);
    // SAFETY: a live message, and sources of the lengths that are said.
    unsafe {
        rmr_bytes2payload(message, b"0123456789".as_ptr(), 10);
        assert_eq!((*message).len, 10);
        let inside = (*message).payload.add(2);
        rmr_bytes2payload(message, inside, 8);
        assert_eq!(payload(message), *b"2345678989");
        rmr_str2payload(message, c"text".as_ptr().cast());
        assert_eq!((payload(message), (*message).len), (*b"text\0", 5));
        // More than there is room for.
        rmr_bytes2payload(message, [7; 30].as_ptr(), 30);
        assert_eq!((*message).state, state::OVERFLOW);
        assert_eq!((payload(message), (*message).len), ([7; 20], 20));
        // What C writes by itself.
        (*message).payload.add(19).write(9);
        assert_eq!(payload::<20>(message)[18..], [7, 9]);
        rmr_free_msg(message);
    }
}

#[test]
fn a_message_that_grows_keeps_its_octets_and_its_address() {
    let message = message(10, 3);
    // SAFETY: a live message, and sources of the lengths that are said.
    unsafe {
        rmr_bytes2payload(message, b"0123456789".as_ptr(), 10);
        assert_eq!(rmr_set_trace(message, b"abc".as_ptr(), 3), 3);
        assert_eq!(rmr_realloc_payload(message, 1000, 1, 0), message);
        assert_eq!(rmr_payload_size(message), 1000);
        assert_eq!(payload(message), *b"0123456789");
        (*message).payload.add(999).write(1);

        let other = rmr_realloc_payload(message, 2000, 1, 1);
        assert_ne!(other, message);
        assert_eq!(payload(other), *b"0123456789");
        (*other).payload.write(b'x');
        assert_eq!(payload(message), *b"0");

        let longer = rmr_realloc_msg(message, 50);
        assert_eq!(rmr_get_trlen(longer), 50);
        assert_eq!(payload(longer), *b"0123456789");
        for message in [message, other, longer] {
            rmr_free_msg(message);
        }
        rmr_free_msg(null_mut());
    }
}

#[test]
fn fields_are_copied_in_and_out_within_their_room() {
    let message = message(40, 0);
    // SAFETY: a live message, sources of the lengths that are said, places of 64 octets.
    unsafe {
        assert_eq!(rmr_str2xact(message, c"transaction".as_ptr().cast()), 0);
        assert_eq!(rmr_str2meid(message, c"gnb".as_ptr().cast()), 0);
        assert_eq!(
            (*message).xaction.cast::<[u8; 12]>().read(),
            *b"transaction\0"
        );
        let mut place: [c_uchar; 64] = [1; 64];
        assert_eq!(
            rmr_get_xact(message, place.as_mut_ptr()),
            place.as_mut_ptr()
        );
        assert_eq!((&place[..12], place[32]), (&b"transaction\0"[..], 1));
        assert_eq!(rmr_get_src(message, place.as_mut_ptr()), place.as_mut_ptr());
        assert_eq!(place[..10], *b"here:4560\0");
        let own = rmr_get_meid(message, null_mut());
        assert_eq!(own.cast::<[u8; 4]>().read(), *b"gnb\0");
        libc::free(own.cast());
        // From one field of the message into another, and back over itself.
        assert_eq!(rmr_bytes2meid(message, (*message).xaction, 12), 12);
        assert_eq!(rmr_bytes2xact(message, (*message).xaction.add(5), 11), 11);
        assert_eq!((*message).xaction.cast::<[u8; 6]>().read(), *b"action");
        assert_eq!(rmr_bytes2xact(message, [5; 40].as_ptr(), 40), 32);
        rmr_free_msg(message);
    }
}

#[test]
fn trace_data_comes_from_the_message_that_it_is_for() {
    let message = message(16, 8);
    // SAFETY: a live message, sources and places of the lengths that are said.
    unsafe {
        assert_eq!(rmr_set_trace(message, b"abcdefgh".as_ptr(), 8), 8);
        let mut size: c_int = 0;
        let inside = rmr_trace_ref(message, &raw mut size).cast::<u8>();
        assert_eq!((inside.read(), size), (b'a', 8));
        inside.write(b'A');
        // Another length: into a new buffer, from the old one.
        assert_eq!(rmr_set_trace(message, inside.add(4), 3), 3);
        let mut place = [0; 8];
        assert_eq!(rmr_get_trace(message, place.as_mut_ptr(), 8), 3);
        assert_eq!(place, *b"efg\0\0\0\0\0");
        // The same length: over itself.
        let inside = rmr_trace_ref(message, null_mut()).cast::<u8>();
        assert_eq!(rmr_set_trace(message, inside, 3), 3);
        assert_eq!(rmr_get_trace(message, place.as_mut_ptr(), 2), 2);
        assert_eq!(place[..3], *b"efg");
        rmr_free_msg(message);
    }
}
