//! A request kept while it is under way, in case that it must be sent again.

use corewire_message::{Body, Bytes, Headers, Operation, Priority, Request};
use std::time::Instant;

/// Header blocks up to so many octets are kept without an allocation.
const INLINE: usize = 256;

/// What a request is made of again: its body is shared, its headers are copied to the stack.
pub(crate) struct Kept {
    operation: Operation,
    headers: KeptHeaders,
    body: Body,
    priority: Priority,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a box would be the allocation that this avoids"
)]
enum KeptHeaders {
    None,
    Inline([u8; INLINE], usize),
    Long(Headers),
}

impl Kept {
    pub(crate) fn of(request: &Request) -> Self {
        let block = request.headers.as_block();
        let headers = if block.is_empty() {
            KeptHeaders::None
        } else if block.len() <= INLINE {
            let mut inline = [0; INLINE];
            inline[..block.len()].copy_from_slice(block);
            KeptHeaders::Inline(inline, block.len())
        } else {
            KeptHeaders::Long(request.headers.clone())
        };
        Self {
            operation: request.operation.clone(),
            headers,
            body: request.body.clone(),
            priority: request.priority,
        }
    }

    /// The request again, with this deadline.
    pub(crate) fn request(&self, deadline: Option<Instant>) -> Request {
        let headers = match &self.headers {
            KeptHeaders::None => Headers::new(),
            KeptHeaders::Long(headers) => headers.clone(),
            KeptHeaders::Inline(block, length) => {
                let block = Bytes::copy_from_slice(&block[..*length]);
                // It was one before.
                Headers::from_block(block).unwrap_or_default()
            }
        };
        Request {
            operation: self.operation.clone(),
            headers,
            body: self.body.clone(),
            deadline,
            priority: self.priority,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_whole() {
        let deadline = Some(Instant::now());
        for values in [0, 1, 5, 20] {
            let mut headers = Headers::new();
            for number in 0..values {
                headers
                    .append("x-header", format!("value number {number}"))
                    .unwrap();
            }
            let mut request = Request::new(Operation::from_static("a/b"))
                .with_body(vec![7; 1000])
                .with_headers(headers.clone())
                .with_priority(Priority::HIGHEST);
            request.deadline = deadline;
            let kept = Kept::of(&request);
            drop(request);
            for _ in 0..2 {
                let again = kept.request(deadline);
                assert_eq!(again.operation.as_str(), "a/b");
                assert_eq!(again.headers, headers);
                assert_eq!(again.body.into_bytes(), vec![7; 1000]);
                assert_eq!(
                    (again.deadline, again.priority),
                    (deadline, Priority::HIGHEST)
                );
            }
        }
    }
}
