//! Nudsf_DataRepository: records (TS 29.598, 6.1.3).

use super::record::{MAX_LISTED_OCTETS, MAX_NAME, MAX_RECORD, Record};
use super::store::Store;
use corewire_core5g_runtime::Gauge;
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router, media};
use serde_json::{Value, json};
use std::sync::Arc;

/// The UDSF.
#[derive(Debug)]
pub(super) struct Udsf {
    pub(super) store: Store,
    /// How many there are; not told of Redis, which others fill as well.
    pub(super) records: Gauge,
}

const RECORD: &str = "/nudsf-dr/v1/{realmId}/{storageId}/records/{recordId}";

impl Udsf {
    /// Its resources.
    pub(super) fn router(self) -> Router<Self> {
        Router::new(Arc::new(self))
            .get("/nudsf-dr/v1/{realmId}/{storageId}/records", Self::list)
            .put(RECORD, Self::put)
            .get(RECORD, Self::get)
            .delete(RECORD, Self::delete)
    }

    /// Creates or replaces a record: JSON as one block, or the specification's `multipart/mixed`
    /// or `multipart/related` as it is.
    async fn put(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let name = name(&exchange)?;
        if exchange.body().len() > MAX_RECORD {
            let most = format!("a record of more than {MAX_RECORD} octets");
            return Err(Problem::new(413, "PAYLOAD_TOO_LARGE").detail(most));
        }
        let record = Record {
            media_type: exchange.media_type().to_owned(),
            content: exchange.body().clone(),
        };
        if self.store.put(&name, &record).await? {
            self.count();
            Ok(Reply::status(201).header("location", exchange.path()))
        } else {
            Ok(Reply::no_content())
        }
    }

    fn count(&self) {
        if let Store::Embedded(embedded) = &self.store {
            self.records.set(embedded.len() as u64);
        }
    }

    async fn get(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let found = self.store.get(&name(&exchange)?).await?;
        let record = found.ok_or_else(not_found)?;
        if record.media_type.is_empty() {
            return Ok(Reply::octets(200, media::JSON, record.content));
        }
        Ok(Reply::octets(200, &record.media_type, record.content))
    }

    async fn delete(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        if self.store.remove(&name(&exchange)?).await? {
            self.count();
            Ok(Reply::no_content())
        } else {
            Err(not_found())
        }
    }

    /// Records whose id begins with `prefix` and is behind `after`: ours, for who takes over the
    /// contexts of another instance; behind the last come no more. A record that is no JSON is told by
    /// its id.
    async fn list(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let folder = folder(&exchange);
        let query = exchange.query()?;
        let of = |name: &str| format!("{folder}{}", query.one(name).unwrap_or_default());
        let found = self.store.list(&of("prefix"), &of("after")).await?;
        let mut octets = 0;
        let fits = |(_, record): &(String, Record)| {
            let is_first = octets == 0;
            octets += record.content.len().max(1);
            is_first || octets <= MAX_LISTED_OCTETS
        };
        let all: Vec<Value> = found
            .into_iter()
            .take_while(fits)
            .map(|(name, record)| {
                let id = name.strip_prefix(&folder).unwrap_or_default();
                let content = serde_json::from_slice(&record.content).unwrap_or(Value::Null);
                json!({"id": id, "record": content})
            })
            .collect();
        Ok(Reply::ok(&all))
    }
}

fn folder(exchange: &Exchange) -> String {
    let (realm, storage) = (exchange.param("realmId"), exchange.param("storageId"));
    format!("{realm}/{storage}/")
}

fn name(exchange: &Exchange) -> Result<String, Problem> {
    let name = folder(exchange) + exchange.param("recordId");
    // A slash within a part would make two names one.
    let parts = name.bytes().filter(|octet| *octet == b'/').count();
    if name.len() > MAX_NAME || parts != 2 {
        let reason = format!("realm, storage and record have {MAX_NAME} octets and no slash");
        return Err(Problem::mandatory_incorrect("recordId", reason));
    }
    Ok(name)
}

fn not_found() -> Problem {
    Problem::new(404, "RECORD_NOT_FOUND")
}
