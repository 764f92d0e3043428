//! Sending: where a message goes and what becomes of its buffer.

use crate::context::Context;
use crate::link::Link;
use crate::log::say;
use crate::message::{ADD_SOURCE, Message, Route};
use crate::ready::{Parts, Ready};
use crate::send_timeout::SendTimeout;
use crate::state::{self, Refused};
use corewire_wire::rmr::MEID_OCTETS;
use corewire_wire::rmr::si95::{TRANSPORT_OCTETS, write_transport};
use std::sync::Arc;

const MEID: usize = 140;
const SOURCE: usize = 76;
const SOURCE_IP: usize = 216;
const FLAGS: usize = 192;
const NAME: usize = 64;

/// Sends by type and subscription, to one endpoint of each group.
///
/// # Errors
/// When none of them took it.
pub(crate) fn routed(
    context: &'static Context,
    message: &mut Message,
    timeout: SendTimeout,
) -> Result<(), Refused> {
    let parts = prepare(context, message)?;
    let generation = context.router().generation();
    if let Some(link) = usual_route(context, message, generation) {
        return deliver(&message.ready(parts), link, timeout);
    }
    let table = context.router().table();
    let meid = until_nul(message.field::<MEID_OCTETS>(MEID));
    let targets = table
        .targets(message.mtype, message.sub_id, meid)
        .map_err(|why| {
            context.router().counters().refused(why).add(1);
            let (message_type, sub_id) = (message.mtype, message.sub_id);
            say!(Warning, "type {message_type}, subscription {sub_id}: {why}");
            Refused::new(state::NO_ENDPOINT, libc::ENXIO)
        })?;
    if let Some(id) = targets.fixed() {
        let link = context.link(id);
        message.set_route(Route {
            generation,
            message_type: message.mtype,
            sub_id: message.sub_id,
            context: std::ptr::from_ref(context).addr(),
            link,
        });
        return deliver(&message.ready(parts), link, timeout);
    }
    let ready = message.ready(parts);
    let mut result = Err(Refused::new(state::NO_ENDPOINT, libc::ENXIO));
    // Allocates only when something fails.
    let mut failed = Vec::new();
    for id in targets {
        let link = context.link(id);
        match link.send(&ready, timeout) {
            Ok(()) => result = Ok(()),
            Err(refused) => {
                failed.push((link, refused));
                result = result.or(Err(refused));
            }
        }
    }
    for (link, refused) in failed {
        if result.is_err() {
            link.count_refused(refused);
            continue;
        }
        // The sender is told that it went: as far as this endpoint goes, it is lost.
        link.count_lost_copy();
        let (message_type, name) = (ready.message_type, link.name());
        say!(
            Warning,
            "a message of type {message_type} went to others and not to {name}"
        );
    }
    result
}

/// Sends to one peer.
///
/// # Errors
/// It did not take it.
pub(crate) fn direct(
    context: &Context,
    message: &mut Message,
    link: &Arc<Link>,
    timeout: SendTimeout,
) -> Result<(), Refused> {
    let parts = prepare(context, message)?;
    deliver(&message.ready(parts), link, timeout)
}

fn deliver(ready: &Ready<'_>, link: &Arc<Link>, timeout: SendTimeout) -> Result<(), Refused> {
    link.send(ready, timeout)
        .inspect_err(|refused| link.count_refused(*refused))
}

/// Where the last message in this buffer went, if this one goes there too.
fn usual_route(
    context: &Context,
    message: &Message,
    generation: u64,
) -> Option<&'static Arc<Link>> {
    let route = message.route()?;
    (route.generation == generation
        && route.message_type == message.mtype
        && route.sub_id == message.sub_id
        && route.context == std::ptr::from_ref(context).addr())
    .then_some(route.link)
}

/// Sends back to where a message came from: to the name of its source, else over the connection
/// that it came by, else to the source's address. The message keeps whom it came from.
///
/// # Errors
/// None of them took it.
pub(crate) fn back(
    context: &Context,
    message: &mut Message,
    timeout: SendTimeout,
) -> Result<(), Refused> {
    let source = <[u8; NAME]>::try_from(message.field::<NAME>(SOURCE));
    let address = <[u8; NAME]>::try_from(message.field::<NAME>(SOURCE_IP));
    let (Ok(source), Ok(address)) = (source, address) else {
        return Err(Refused::new(state::NO_HEADER, libc::EBADMSG));
    };
    if let Some(mut header) = message.header_mut() {
        header.set_source(&context.names().name);
    }
    let way = way_back(context, message.rts_fd, &source, &address);
    let result = match way {
        Some(link) => direct(context, message, &link, timeout),
        None => Err(Refused::new(state::NO_ENDPOINT, libc::ENXIO)),
    };
    if result.is_err() {
        restore_source(message, &source, &address);
        return result;
    }
    context.renew(message);
    restore_source(message, &source, &address);
    message.flags |= ADD_SOURCE;
    result
}

fn way_back(context: &Context, arrival: i32, source: &[u8], address: &[u8]) -> Option<Arc<Link>> {
    let connected = |name: &[u8]| {
        let link = context.link_to(std::str::from_utf8(until_nul(name)).ok()?)?;
        link.connect().is_ok().then_some(link)
    };
    connected(source)
        .or_else(|| context.inbox().way_back(arrival))
        .or_else(|| connected(address))
}

fn restore_source(message: &mut Message, source: &[u8], address: &[u8]) {
    if let Some(mut header) = message.header_mut() {
        header.set_source(until_nul(source));
        header.set_source_ip(until_nul(address));
    }
}

/// Marks a message as one that a caller waits for, or as none.
pub(crate) fn set_call(message: &mut Message, call_id: u8, waits: bool) -> bool {
    let flags =
        <[u8; 4]>::try_from(message.field::<4>(FLAGS)).map_or(0, corewire_wire::rmr::flags::read);
    let call = corewire_wire::rmr::flags::CALL;
    let header = if waits || call_id != 0 {
        message.header_mut()
    } else {
        message.sending_header()
    };
    let Some(mut header) = header else {
        return false;
    };
    header.set_flags(if waits { flags | call } else { flags & !call });
    header.set_call_id(call_id)
}

/// Clears only the mark that a caller waits: a reply keeps the caller's number.
pub(crate) fn clear_call_mark(message: &mut Message) {
    let flags =
        <[u8; 4]>::try_from(message.field::<4>(FLAGS)).map_or(0, corewire_wire::rmr::flags::read);
    if let Some(mut header) = message.header_mut() {
        header.set_flags(flags & !corewire_wire::rmr::flags::CALL);
    }
}

/// Writes into the header what C has set in the message.
fn prepare(context: &Context, message: &mut Message) -> Result<Parts, Refused> {
    let parts = message.parts();
    let size = message.rmr_octets().len().saturating_sub(parts.payload);
    let used = usize::try_from(message.len)
        .ok()
        .filter(|used| *used <= size);
    let (message_type, sub_id) = (message.mtype, message.sub_id);
    let adds_source = message.flags & ADD_SOURCE != 0;
    let Some(used) = used else {
        say!(
            Warning,
            "a message of type {message_type} says that {} of its {size} octets are used",
            message.len
        );
        return Err(Refused::new(state::OVERFLOW, libc::EMSGSIZE));
    };
    let total = TRANSPORT_OCTETS + parts.payload + used;
    let longest = context.longest();
    // Its receiver would drop it after this end reported success.
    if total > longest {
        say!(
            Warning,
            "a message of type {message_type} has {total} octets, and {longest} are taken (COREWIRE_RMR_MAX_MESSAGE)"
        );
        return Err(Refused::new(state::OVERFLOW, libc::EMSGSIZE));
    }
    if let Some(mut header) = message.sending_header() {
        header.set_message_type(message_type);
        header.set_sub_id(sub_id);
        header.set_payload_length(used as u32);
    }
    if adds_source && let Some(mut header) = message.header_mut() {
        header.set_source(&context.names().name);
        header.set_source_ip(&context.names().address);
    }
    if let Some(transport) = message.sending_octets().first_chunk_mut() {
        // A buffer is never longer than a C int can count.
        write_transport(transport, total as u32);
    }
    Ok(parts)
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|octet| *octet == 0).next().unwrap_or_default()
}
