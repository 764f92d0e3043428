//! The registry's operations as messages: protobuf, and JSON for who sends JSON.

use super::{Instance, Refusal};
use crate::codec::{self, Form};
use crate::generated::registry as message;
use corewire_message::{Operation, Request, Response, Status};

/// Adds an instance.
pub const REGISTER: Operation = Operation::from_static("corewire.registry.v1.Registry/Register");
/// Says that it is still there.
pub const HEARTBEAT: Operation = Operation::from_static("corewire.registry.v1.Registry/Heartbeat");
/// Takes it away.
pub const LEAVE: Operation = Operation::from_static("corewire.registry.v1.Registry/Leave");
/// Lists who is there.
pub const LIST: Operation = Operation::from_static("corewire.registry.v1.Registry/List");

/// Who does what the messages ask for.
pub(crate) trait RegistryAnswer {
    fn register(&self, instance: Instance) -> Result<message::RegisterResponse, Refusal>;
    /// An empty lease is whichever holds.
    fn heartbeat(&self, id: &str, lease: &str) -> Result<(), Refusal>;
    fn leave(&self, id: &str, lease: &str) -> Result<(), Refusal>;
    fn list(&self, service: &str) -> message::ListResponse;
}

/// Answers an operation of the registry; `None` when it is none.
pub(crate) fn answer(
    registry: &impl RegistryAnswer,
    request: &Request,
) -> Option<Result<Response, Status>> {
    let form = Form::of(&request.headers, &request.body);
    let refused = |refusal: Refusal| refusal.to_status();
    let operation = &request.operation;
    Some(if *operation == HEARTBEAT {
        codec::read::<message::HeartbeatRequest>(form, request)
            .and_then(|beat| {
                let (id, lease) = (&beat.instance_id, &beat.lease_id);
                registry.heartbeat(id, lease).map_err(refused)
            })
            .map(|()| codec::write(form, &message::HeartbeatResponse {}))
    } else if *operation == REGISTER {
        codec::read::<message::RegisterRequest>(form, request)
            .and_then(|wanted| Instance::try_from(wanted).map_err(refused))
            .and_then(|instance| registry.register(instance).map_err(refused))
            .map(|granted| codec::write(form, &granted))
    } else if *operation == LEAVE {
        codec::read::<message::LeaveRequest>(form, request)
            .and_then(|leave| {
                let (id, lease) = (&leave.instance_id, &leave.lease_id);
                registry.leave(id, lease).map_err(refused)
            })
            .map(|()| codec::write(form, &message::LeaveResponse {}))
    } else if *operation == LIST {
        codec::read::<message::ListRequest>(form, request)
            .map(|list| codec::write(form, &registry.list(&list.service)))
    } else {
        return None;
    })
}
