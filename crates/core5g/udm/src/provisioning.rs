//! Subscribers by command: not a 3GPP interface, and for the loopback of who runs the core.

use super::Udm;
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router};
use corewire_core5g_subscribers::{AddedSubscriber, Entry};
use std::sync::Arc;

impl Udm {
    pub(super) fn provisioning_resources(router: Router<Self>) -> Router<Self> {
        router
            .get(corewire_core5g_subscribers::ADDED, Self::list_subscribers)
            .post(corewire_core5g_subscribers::ADDED, Self::add_subscriber)
            .delete(
                "/corewire-subscribers/v1/subscribers/{supi}",
                Self::remove_subscriber,
            )
    }

    async fn list_subscribers(self: Arc<Self>, _exchange: Exchange) -> Result<Reply, Problem> {
        let all: Vec<AddedSubscriber> = self
            .store
            .entries()
            .into_iter()
            .map(|entry| AddedSubscriber {
                slices: entry
                    .slices
                    .iter()
                    .map(|slice| slice.snssai().to_string())
                    .collect(),
                supi: entry.supi,
                count: entry.count,
            })
            .collect();
        Ok(Reply::ok(&all))
    }

    async fn add_subscriber(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let entry: Entry = exchange.json()?;
        entry.check().map_err(|fault| {
            let (param, reason) = fault.split_once(": ").unwrap_or(("", &fault));
            Problem::mandatory_incorrect(param, reason.to_owned())
        })?;
        let location = format!("{}{}/{}", self.api_root, exchange.path(), entry.supi);
        self.store.add(entry).await?;
        Ok(Reply::status(201).header("location", &location))
    }

    async fn remove_subscriber(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        if self.store.remove(exchange.param("supi")).await? {
            return Ok(Reply::no_content());
        }
        let detail = "nothing was added under this SUPI; what the file provides stays";
        Err(super::user_not_found().detail(detail))
    }
}
