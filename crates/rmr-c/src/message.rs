//! The message that C sees, and the buffer behind it.
//!
//! A buffer holds a message as SI95 sends it, whatever the transport: 50 octets for the transport,
//! the RMR header, trace data, the call's octets, the payload. `tp_buf` points at its beginning,
//! `header` 50 octets on. In front of it, where C does not look, stand its real size and the time
//! of arrival.
//!
//! What keeps this sound: C uses only the fields that the header calls the program's; the private
//! ones are written here alone. `tp_buf` is null or points at `capacity` initialised octets, of
//! which `alloc_len` may be used.

use crate::link::Link;
use crate::ready::{Parts, Ready};
use corewire_wire::rmr::si95::TRANSPORT_OCTETS;
use corewire_wire::rmr::{D1_OCTETS, HEADER_OCTETS, Header, HeaderMut};
use libc::{c_int, c_uchar, c_void};
use std::ops::Range;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// `rmr_mbuf_t`.
#[repr(C)]
pub(crate) struct Message {
    pub(crate) state: c_int,
    pub(crate) mtype: c_int,
    pub(crate) len: c_int,
    pub(crate) payload: *mut c_uchar,
    pub(crate) xaction: *mut c_uchar,
    pub(crate) sub_id: c_int,
    pub(crate) tp_state: c_int,
    tp_buf: *mut c_void,
    header: *mut c_void,
    id: *mut c_uchar,
    pub(crate) flags: c_int,
    alloc_len: c_int,
    /// The pool it goes back to.
    pub(crate) ring: *const c_void,
    /// The number of the connection it came by, or -1.
    pub(crate) rts_fd: c_int,
    cookie: c_int,
}

/// Our names must go into the header before this message is sent: it was received from somebody.
pub(crate) const ADD_SOURCE: c_int = 0x04;

/// In a message that lives.
const LIVE: c_int = 0x4942;
/// In one that rests in a pool or was freed.
const FREED: c_int = 0;

/// A buffer beyond this ...
const LARGE: usize = 1 << 20;
/// ... is given back when this many of the message that is received into it would fit.
const LEFT_LARGE: usize = 8;

/// Octets in front of every buffer.
const PREFIX: usize = size_of::<Prefix>();

/// Octets in front of the payload of a message without trace data.
pub(crate) const OVERHEAD: usize = TRANSPORT_OCTETS + HEADER_OCTETS + D1_OCTETS;

// Where the lengths of the header, the trace data and the two extra areas stand in it.
const LENGTHS: usize = 196;
const XACTION: usize = 12;

#[repr(C, align(16))]
struct Prefix {
    capacity: usize,
    arrival: u64,
    /// The address of the names that the message was begun with, without trace data, if nobody
    /// has changed its header since; what sending writes there does not count. 0: begin it anew.
    begun: usize,
    /// Where a message in this buffer went to last.
    route: Option<Route>,
}

/// Where messages of one type and subscription go, as long as there is no other table.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) generation: u64,
    pub(crate) message_type: i32,
    pub(crate) sub_id: i32,
    /// The address of the context whose table says so: contexts and their links are never freed.
    pub(crate) context: usize,
    pub(crate) link: &'static Arc<Link>,
}

/// The names that go into what is sent.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// "host:port".
    pub(crate) name: Vec<u8>,
    /// "address:port".
    pub(crate) address: Vec<u8>,
}

impl Message {
    /// A message with room for `capacity` octets, all of them zero. `None` when there is no memory
    /// or C could not count that many.
    pub(crate) fn new(capacity: usize, ring: *const c_void) -> Option<NonNull<Self>> {
        let buffer = new_buffer(capacity)?;
        let message = Self {
            state: crate::state::OK,
            mtype: -1,
            len: 0,
            payload: null_mut(),
            xaction: null_mut(),
            sub_id: -1,
            tp_state: 0,
            tp_buf: null_mut(),
            header: null_mut(),
            id: null_mut(),
            flags: 0,
            alloc_len: 0,
            ring,
            rts_fd: -1,
            cookie: LIVE,
        };
        let mut message = NonNull::from(Box::leak(Box::new(message)));
        // SAFETY: just made, and nobody else has it.
        unsafe { message.as_mut() }.adopt(buffer, capacity);
        Some(message)
    }

    /// Frees a message and its buffer.
    ///
    /// # Safety
    /// `message` came from [`new`](Self::new) and is not used again.
    pub(crate) unsafe fn destroy(message: NonNull<Self>) {
        // SAFETY: a `Box` made it, and it is the caller's.
        let mut message = unsafe { Box::from_raw(message.as_ptr()) };
        message.cookie = FREED;
        message.drop_buffer();
    }

    /// Whether it was freed before, which is the program's fault.
    pub(crate) fn is_freed(&self) -> bool {
        self.cookie != LIVE
    }

    /// Marks it as resting or as in use.
    pub(crate) fn set_freed(&mut self, freed: bool) {
        self.cookie = if freed { FREED } else { LIVE };
    }

    /// Whether there is a buffer with a header in it.
    pub(crate) fn has_header(&self) -> bool {
        !self.header.is_null() && !self.tp_buf.is_null()
    }

    /// Octets that the buffer has, used or not.
    pub(crate) fn capacity(&self) -> usize {
        if self.tp_buf.is_null() {
            return 0;
        }
        self.prefix().capacity
    }

    /// When it came, in nanoseconds of the monotonic clock; 0 when that was not asked for.
    pub(crate) fn arrival(&self) -> u64 {
        if self.tp_buf.is_null() {
            return 0;
        }
        self.prefix().arrival
    }

    /// Sets when it came.
    pub(crate) fn set_arrival(&mut self, at: u64) {
        if !self.tp_buf.is_null() {
            // SAFETY: every buffer has a prefix, and `self` is borrowed alone.
            unsafe { (*prefix_of(self.tp_buf)).arrival = at };
        }
    }

    /// Where a message in this buffer went to last.
    pub(crate) fn route(&self) -> Option<&Route> {
        if self.tp_buf.is_null() {
            return None;
        }
        self.prefix().route.as_ref()
    }

    /// Notes where it goes.
    pub(crate) fn set_route(&mut self, route: Route) {
        if !self.tp_buf.is_null() {
            // SAFETY: every buffer has a prefix, and `self` is borrowed alone.
            unsafe { (*prefix_of(self.tp_buf)).route = Some(route) };
        }
    }

    /// Whose names stand in it: a number for those of one context, 0 when it may be anybody's.
    pub(crate) fn begun(&self) -> usize {
        if self.tp_buf.is_null() {
            return 0;
        }
        self.prefix().begun
    }

    fn set_begun(&mut self, begun: usize) {
        if !self.tp_buf.is_null() {
            // SAFETY: every buffer has a prefix, and `self` is borrowed alone.
            unsafe { (*prefix_of(self.tp_buf)).begun = begun };
        }
    }

    fn prefix(&self) -> &Prefix {
        // SAFETY: not null (the callers look), and every buffer has a prefix.
        unsafe { &*prefix_of(self.tp_buf) }
    }

    /// Begins a message to be sent, `size` octets of payload and `trace` of trace data; makes the
    /// buffer larger if it must. `false` when there is no memory: the message is as it was.
    pub(crate) fn begin(&mut self, size: usize, trace: usize, names: &Names) -> bool {
        let needed = OVERHEAD.saturating_add(trace).saturating_add(size);
        if !self.grow(needed) {
            return false;
        }
        self.alloc_len = needed as c_int;
        self.begin_again(trace, names);
        true
    }

    /// Begins the next message in the room that this one has, after it was sent.
    pub(crate) fn begin_again(&mut self, trace: usize, names: &Names) {
        let begun = std::ptr::from_ref(names).addr();
        if trace > 0 || self.begun() != begun {
            let header = HeaderMut::init(self.rmr_octets_mut(), trace);
            let is_plain = header.is_some() && trace == 0;
            if let Some(mut header) = header {
                header.set_source(&names.name);
                header.set_source_ip(&names.address);
            }
            self.set_begun(if is_plain { begun } else { 0 });
        } else if let Some(mut header) = self.sending_header() {
            // The rest is as it was, or is written by sending.
            header.xaction_mut().fill(0);
        }
        self.point();
        self.state = crate::state::OK;
        self.mtype = -1;
        self.sub_id = -1;
        self.len = 0;
        self.flags = 0;
        self.rts_fd = -1;
    }

    /// Takes in a message that was received; `standard` is the room to have at least. `false`
    /// when there is no memory: the message is as it was.
    pub(crate) fn take_in(&mut self, header: &Header<'_>, standard: usize) -> bool {
        let octets = header.octets();
        let needed = TRANSPORT_OCTETS + octets.len();
        if !self.fit(needed.max(standard)) {
            return false;
        }
        // Grown: it was counted as a C int then.
        self.alloc_len = self.capacity() as c_int;
        self.rmr_octets_mut()[..octets.len()].copy_from_slice(octets);
        self.received(
            header.message_type(),
            header.sub_id(),
            header.layout().payload,
        );
        true
    }

    /// Sets what C sees of a message whose octets stand in the buffer.
    pub(crate) fn received(&mut self, message_type: i32, sub_id: i32, payload: usize) {
        self.mtype = message_type;
        self.sub_id = sub_id;
        self.len = payload as c_int;
        self.state = crate::state::OK;
        self.tp_state = 0;
        // What is received may be sent on, and is then ours.
        self.flags = ADD_SOURCE;
        self.point();
    }

    /// Makes room for `needed` octets; what is in the buffer is lost if it must grow.
    pub(crate) fn grow(&mut self, needed: usize) -> bool {
        if self.capacity() >= needed {
            return true;
        }
        let Some(buffer) = new_buffer(needed) else {
            return false;
        };
        self.drop_buffer();
        self.adopt(buffer, needed);
        true
    }

    /// Makes room for a message of `needed` octets that was received; a buffer that a much larger one has
    /// left goes. What is in it is lost then.
    pub(crate) fn fit(&mut self, needed: usize) -> bool {
        let capacity = self.capacity();
        if capacity > LARGE && capacity / LEFT_LARGE > needed {
            let Some(buffer) = new_buffer(needed) else {
                return true;
            };
            self.drop_buffer();
            self.adopt(buffer, needed);
        }
        self.grow(needed)
    }

    /// Another message with the same header and what belongs to it, room for `size` octets of
    /// payload at `payload_at`, and the first `kept` octets copied; all counted from the RMR
    /// header on.
    pub(crate) fn with_payload_at(
        &self,
        payload_at: usize,
        size: usize,
        kept: usize,
    ) -> Option<NonNull<Self>> {
        let needed = TRANSPORT_OCTETS
            .checked_add(payload_at)?
            .checked_add(size)?;
        let mut other = Self::new(needed, self.ring)?;
        // SAFETY: just made.
        let fresh = unsafe { other.as_mut() };
        let from = self.rmr_octets();
        let kept = kept.min(from.len());
        fresh.rmr_octets_mut()[..kept].copy_from_slice(&from[..kept]);
        fresh.like(self);
        Some(other)
    }

    /// Another message with the same fields and payload, and room for `trace` octets of trace data,
    /// of which the old ones are copied as far as they fit.
    pub(crate) fn with_trace(&self, trace: usize) -> Option<NonNull<Self>> {
        let old = self.trace_range();
        let call = self.call_range().start..self.payload_at();
        let size = self.payload_size();
        let payload_at = old.start.checked_add(trace)?.checked_add(call.len())?;
        let mut other = self.with_payload_at(payload_at, size, old.start)?;
        // SAFETY: just made.
        let fresh = unsafe { other.as_mut() };
        fresh
            .header_mut()?
            .set_trace_length(u32::try_from(trace).ok()?);
        let (from, to) = (self.rmr_octets(), fresh.rmr_octets_mut());
        let same = trace.min(old.len());
        to[old.start..][..same].copy_from_slice(from.get(old.start..old.start + same)?);
        to[old.start + trace..][..call.len()].copy_from_slice(from.get(call.clone())?);
        to[payload_at..][..size].copy_from_slice(from.get(call.end..call.end + size)?);
        fresh.point();
        Some(other)
    }

    /// Takes over what C sees, and where the other came from.
    fn like(&mut self, other: &Self) {
        self.mtype = other.mtype;
        self.sub_id = other.sub_id;
        self.len = other.len;
        self.flags = other.flags;
        self.rts_fd = other.rts_fd;
        self.state = other.state;
        self.tp_state = other.tp_state;
        self.set_arrival(other.arrival());
        self.point();
    }

    /// Takes the other's buffer, and gives it this one's.
    pub(crate) fn swap_buffers(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.tp_buf, &mut other.tp_buf);
        std::mem::swap(&mut self.alloc_len, &mut other.alloc_len);
        self.point();
        other.point();
    }

    /// Octets that may be used, from the transport's on.
    pub(crate) fn octets(&self) -> &[u8] {
        if self.tp_buf.is_null() {
            return &[];
        }
        // SAFETY: the buffer has `capacity` initialised octets, and `alloc_len` is at most that.
        unsafe { std::slice::from_raw_parts(self.tp_buf.cast(), self.alloc_len as usize) }
    }

    /// The same, to be written.
    pub(crate) fn octets_mut(&mut self) -> &mut [u8] {
        self.set_begun(0);
        self.sending_octets()
    }

    /// The same, for what is written into each message that is sent.
    pub(crate) fn sending_octets(&mut self) -> &mut [u8] {
        if self.tp_buf.is_null() {
            return &mut [];
        }
        // SAFETY: as in `octets`, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.tp_buf.cast(), self.alloc_len as usize) }
    }

    /// From the RMR header on.
    pub(crate) fn rmr_octets(&self) -> &[u8] {
        self.octets().get(TRANSPORT_OCTETS..).unwrap_or_default()
    }

    /// Where these octets stand, counted from the RMR header on, for who copies from or to pointers
    /// of C's: those may lie in this very message, beside which no reference to it may live.
    pub(crate) fn place(&mut self, range: Range<usize>) -> Option<*mut u8> {
        let start = range.start;
        self.rmr_octets().get(range)?;
        self.set_begun(0);
        Some(self.rmr_start().wrapping_add(start))
    }

    /// The buffer's own pointer, which C's and every reference come from.
    const fn rmr_start(&self) -> *mut u8 {
        let start: *mut u8 = self.tp_buf.cast();
        start.wrapping_add(TRANSPORT_OCTETS)
    }

    /// The same, to be written.
    pub(crate) fn rmr_octets_mut(&mut self) -> &mut [u8] {
        self.octets_mut()
            .get_mut(TRANSPORT_OCTETS..)
            .unwrap_or_default()
    }

    /// The header, to be written.
    pub(crate) fn header_mut(&mut self) -> Option<HeaderMut<'_>> {
        HeaderMut::over(self.rmr_octets_mut())
    }

    /// The same, for what is written into each message that is sent: type, subscription, length,
    /// transaction, and that no call waits for it.
    pub(crate) fn sending_header(&mut self) -> Option<HeaderMut<'_>> {
        HeaderMut::over(self.sending_octets().get_mut(TRANSPORT_OCTETS..)?)
    }

    /// Octets `at..at + N` of the header.
    pub(crate) fn field<const N: usize>(&self, at: usize) -> &[u8] {
        self.rmr_octets().get(at..at + N).unwrap_or_default()
    }

    /// Where its parts stand.
    pub(crate) fn parts(&self) -> Parts {
        let lengths = self.field::<16>(LENGTHS).first_chunk::<16>();
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = lengths.copied().unwrap_or_default();
        let [header, trace, d1, d2] = [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]]
            .map(|length| u32::from_be_bytes(length) as usize);
        let call = header + trace;
        Parts {
            trace: header..call,
            call: call..call + d1,
            payload: call + d1 + d2,
        }
    }

    /// As it goes to a connection, now that its header is complete and its parts are found.
    #[inline]
    pub(crate) fn ready(&self, parts: Parts) -> Ready<'_> {
        Ready {
            octets: self.octets(),
            parts,
            used: usize::try_from(self.len).unwrap_or(0),
            message_type: self.mtype,
            sub_id: self.sub_id,
            begun: self.begun(),
        }
    }

    /// Where the trace data begins, from the RMR header on, and its length.
    pub(crate) fn trace_range(&self) -> Range<usize> {
        self.parts().trace
    }

    /// Where the octets of a call stand, from the RMR header on.
    pub(crate) fn call_range(&self) -> Range<usize> {
        self.parts().call
    }

    /// Where the payload begins, from the RMR header on.
    pub(crate) fn payload_at(&self) -> usize {
        self.parts().payload
    }

    /// Octets of payload there is room for.
    pub(crate) fn payload_size(&self) -> usize {
        self.rmr_octets().len().saturating_sub(self.payload_at())
    }

    /// The octets of payload that are used, as many as are there.
    pub(crate) fn used_payload(&self) -> &[u8] {
        let used = usize::try_from(self.len).unwrap_or(0);
        let payload = self
            .rmr_octets()
            .get(self.payload_at()..)
            .unwrap_or_default();
        &payload[..used.min(payload.len())]
    }

    /// Copies a payload in, as much as there is room for, and says how long it is.
    pub(crate) fn set_payload(&mut self, payload: &[u8]) -> usize {
        let at = self.payload_at();
        let room = self.rmr_octets_mut().get_mut(at..).unwrap_or_default();
        let length = payload.len().min(room.len());
        room[..length].copy_from_slice(&payload[..length]);
        self.len = length as c_int;
        length
    }

    /// Sets the pointers that C sees to where the header says that things are.
    fn point(&mut self) {
        let octets = self.rmr_octets().len();
        if octets < HEADER_OCTETS {
            (self.header, self.xaction, self.payload) = (null_mut(), null_mut(), null_mut());
            return;
        }
        let at = self.payload_at().min(octets);
        let base = self.rmr_start();
        self.header = base.cast();
        self.xaction = base.wrapping_add(XACTION);
        self.payload = base.wrapping_add(at);
    }

    /// Says that `length` octets may be used; they were made room for.
    pub(crate) fn set_usable(&mut self, length: usize) {
        self.alloc_len = length.min(self.capacity()) as c_int;
    }

    fn adopt(&mut self, buffer: NonNull<u8>, capacity: usize) {
        self.tp_buf = buffer.as_ptr().cast();
        self.alloc_len = capacity as c_int;
    }

    fn drop_buffer(&mut self) {
        if !self.tp_buf.is_null() {
            // SAFETY: `new_buffer` allocated it, prefix included, and it is not used again.
            unsafe { libc::free(prefix_of(self.tp_buf).cast()) };
            self.tp_buf = null_mut();
            self.header = null_mut();
            self.alloc_len = 0;
        }
    }
}

fn prefix_of(buffer: *mut c_void) -> *mut Prefix {
    buffer.wrapping_byte_sub(PREFIX).cast()
}

/// Octets, all zero, behind a prefix.
fn new_buffer(capacity: usize) -> Option<NonNull<u8>> {
    c_int::try_from(capacity).ok()?;
    // SAFETY: calloc touches no memory of ours.
    let raw = NonNull::new(unsafe { libc::calloc(1, PREFIX + capacity) })?;
    let prefix = Prefix {
        capacity,
        arrival: 0,
        begun: 0,
        route: None,
    };
    // SAFETY: the block is larger than a prefix, and calloc aligns for every type.
    unsafe { raw.cast::<Prefix>().write(prefix) };
    // SAFETY: within the block.
    Some(unsafe { raw.cast::<u8>().add(PREFIX) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_wire::rmr::XACTION_OCTETS;

    fn names() -> Names {
        Names {
            name: b"here:4560".to_vec(),
            address: b"10.0.0.1:4560".to_vec(),
        }
    }

    #[test]
    fn the_layout_is_c_s() {
        assert_eq!(size_of::<Message>(), 88);
        assert_eq!(std::mem::offset_of!(Message, payload), 16);
        assert_eq!(std::mem::offset_of!(Message, xaction), 24);
        assert_eq!(std::mem::offset_of!(Message, sub_id), 32);
        assert_eq!(std::mem::offset_of!(Message, tp_state), 36);
        assert_eq!(std::mem::offset_of!(Message, cookie), 84);
    }

    #[test]
    fn a_message_begins_empty_with_exactly_the_room_asked_for() {
        let mut pointer = Message::new(4096, std::ptr::null()).unwrap();
        // SAFETY: just made.
        let message = unsafe { pointer.as_mut() };
        assert!(message.begin(100, 7, &names()));
        assert_eq!(message.payload_size(), 100);
        assert_eq!(message.trace_range().len(), 7);
        assert_eq!((message.mtype, message.sub_id, message.len), (-1, -1, 0));
        // Grown when it must.
        assert!(message.begin(10_000, 0, &names()));
        assert_eq!(message.payload_size(), 10_000);
        assert!(!message.begin(usize::MAX, 0, &names()));
        assert!(!message.begin(c_int::MAX as usize, 0, &names()));
        assert_eq!(message.payload_size(), 10_000);
        // SAFETY: made above, and not used again.
        unsafe { Message::destroy(pointer) };
    }

    #[test]
    fn what_was_sent_begins_again_without_what_it_said() {
        let mut pointer = Message::new(4096, std::ptr::null()).unwrap();
        // SAFETY: just made.
        let message = unsafe { pointer.as_mut() };
        let names = names();
        assert!(message.begin(100, 0, &names));
        let fresh = message.octets().to_vec();
        for changes_header in [false, true, false] {
            (message.mtype, message.sub_id, message.flags) = (7, 8, 9);
            // As C does.
            // SAFETY: the transaction is a field of the header, within the buffer.
            unsafe { message.xaction.write_bytes(1, XACTION_OCTETS) };
            if changes_header {
                message.header_mut().unwrap().set_meid(b"gnb");
                message.header_mut().unwrap().set_source(b"there:1");
                assert!(crate::send::set_call(message, 3, true));
            } else {
                assert!(crate::send::set_call(message, 0, false));
            }
            message.begin_again(0, &names);
            assert_eq!((message.mtype, message.sub_id, message.flags), (-1, -1, 0));
            assert_eq!(message.octets(), fresh);
        }
        // SAFETY: made above, and not used again.
        unsafe { Message::destroy(pointer) };
    }

    #[test]
    fn lengths_that_a_peer_made_up_reach_nowhere() {
        let mut pointer = Message::new(OVERHEAD + 8, std::ptr::null()).unwrap();
        // SAFETY: just made.
        let message = unsafe { pointer.as_mut() };
        assert!(message.begin(8, 0, &names()));
        message.rmr_octets_mut()[200..204].fill(0xff);
        message.len = c_int::MAX;
        assert_eq!(message.payload_size(), 0);
        assert_eq!(message.used_payload(), b"");
        // SAFETY: made above, and not used again.
        unsafe { Message::destroy(pointer) };
    }
}
