//! Where records are: in this process, or in Redis.

use super::embedded::Embedded;
use super::record::Record;
use super::redis::Redis;
use corewire_core5g_sbi::Problem;

/// One of the two.
#[derive(Debug)]
pub(super) enum Store {
    /// In this process.
    Embedded(Embedded),
    /// In Redis.
    Redis(Redis),
}

impl Store {
    /// Puts a record; gives whether there was none.
    ///
    /// # Errors
    /// 507 when there is no room, 503 when the disk refuses or Redis does not answer.
    pub(super) async fn put(&self, name: &str, record: &Record) -> Result<bool, Problem> {
        match self {
            Self::Embedded(store) => store.put(name, record.to_value()).await,
            Self::Redis(store) => store.put(name, record.to_value()).await,
        }
    }

    /// The record of this name.
    ///
    /// # Errors
    /// 503 when Redis does not answer.
    pub(super) async fn get(&self, name: &str) -> Result<Option<Record>, Problem> {
        let value = match self {
            Self::Embedded(store) => store.get(name),
            Self::Redis(store) => store.get(name).await?,
        };
        Ok(value.as_ref().and_then(Record::of_value))
    }

    /// Removes a record; gives whether there was one.
    ///
    /// # Errors
    /// 507 or 503 when the disk refuses or Redis does not answer.
    pub(super) async fn remove(&self, name: &str) -> Result<bool, Problem> {
        match self {
            Self::Embedded(store) => store.remove(name).await,
            Self::Redis(store) => store.remove(name).await,
        }
    }

    /// Records whose name begins so and is behind `after`, in order, at most [`MAX_LISTED`](super::record::MAX_LISTED).
    ///
    /// # Errors
    /// 503 when Redis does not answer.
    pub(super) async fn list(
        &self,
        prefix: &str,
        after: &str,
    ) -> Result<Vec<(String, Record)>, Problem> {
        let values = match self {
            Self::Embedded(store) => store.list(prefix, after),
            Self::Redis(store) => store.list(prefix, after).await?,
        };
        let records = values
            .into_iter()
            .filter_map(|(name, value)| Some((name, Record::of_value(&value)?)));
        Ok(records.collect())
    }
}
