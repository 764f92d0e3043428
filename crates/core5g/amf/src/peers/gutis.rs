//! Where GUTIs come from: the allocator of the evaluation, in this process or as a service.

use crate::context::ue::Gutis;
use crate::ports::Sbi;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_guti::Guti;
use corewire_guti::message::json;

/// The GUTI service's operations as resources.
const ALLOCATE: &str = "/guti.v1.GutiService/Allocate";
const DEALLOCATE: &str = "/guti.v1.GutiService/Deallocate";

impl Gutis {
    /// A GUTI that nobody has.
    ///
    /// # Errors
    /// When all are taken, or the service does not answer.
    pub(crate) async fn allocate(&self, sbi: &Sbi) -> Result<Guti, SbiFailure> {
        match self {
            Self::Own(allocator) => allocator
                .allocate()
                .map_err(|error| SbiFailure::local(error.to_string())),
            Self::Service(address) => {
                let request = SbiRequest::post(ALLOCATE).octets("application/json", "{}");
                let answer = sbi.at(address, request).await?;
                let (guti, _) = json::parse_allocate_response_json(&answer.body)
                    .map_err(|error| SbiFailure::local(error.to_string()))?;
                Ok(guti)
            }
        }
    }

    /// Takes a GUTI back. One that this process did not give away is not its own to take.
    pub(crate) async fn deallocate(&self, guti: &Guti, sbi: &Sbi) {
        match self {
            Self::Own(allocator) => {
                let _of_an_earlier_process = allocator.deallocate(guti);
            }
            Self::Service(address) => {
                let body = json::deallocate_request_json(guti);
                let request = SbiRequest::post(DEALLOCATE).octets("application/json", body);
                if let Err(failure) = sbi.at(address, request).await {
                    tracing::warn!(name: "guti-release-failed", "the GUTI service keeps a GUTI: {failure}");
                }
            }
        }
    }
}
