//! Nnrf_NFManagement, instances (TS 29.510, 5.2.2 and 6.1.3.2, 6.1.3.3).

use super::Nrf;
use super::clients::Rights;
use super::profile_store::Profile;
use corewire_core5g_sbi::holder::Holder;
use corewire_core5g_sbi::patch::PatchItem;
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router, media};
use serde_json::{Value, json};
use std::sync::Arc;

const INSTANCES: &str = "/nnrf-nfm/v1/nf-instances";
const INSTANCE: &str = "/nnrf-nfm/v1/nf-instances/{nfInstanceID}";
/// Links that one list gives.
const MAX_LISTED: usize = 1000;

impl Nrf {
    pub(super) fn instance_resources(router: Router<Self>) -> Router<Self> {
        router
            .get(INSTANCES, Self::list_instances)
            .put(INSTANCE, Self::register)
            .get(INSTANCE, Self::instance)
            .patch(INSTANCE, Self::update)
            .delete(INSTANCE, Self::deregister)
    }

    async fn register(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let document: Value = exchange.json()?;
        let id = exchange.param("nfInstanceID");
        let nf_type = document.get("nfType").and_then(Value::as_str);
        if !is_about_holder(&exchange)?.may_be_of(nf_type.unwrap_or_default()) {
            return Err(not_the_holders("nfType"));
        }
        let rights = self.clients.rights_of(&exchange);
        if !rights.may_be_of(nf_type.unwrap_or_default()) {
            return Err(not_allowed());
        }
        self.may_change(&rights, id)?;
        let (profile, is_new) = self.book().register(self.now(), id, document)?;
        self.tell();
        let body = answer_of(&profile);
        let reply = if is_new {
            Reply::created(exchange.path(), &body)
        } else {
            Reply::ok(&body)
        };
        Ok(tagged(reply, &profile))
    }

    async fn update(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let items: Vec<PatchItem> = exchange.json_of(media::JSON_PATCH)?;
        let holder = is_about_holder(&exchange)?;
        let is_type = |item: &PatchItem| ["", "/nfType"].contains(&item.path.as_str());
        if holder.is_named() && items.iter().any(is_type) {
            return Err(not_the_holders("nfType"));
        }
        let expected = exchange.headers().get_str("if-match");
        let id = exchange.param("nfInstanceID");
        let rights = self.clients.rights_of(&exchange);
        if rights != Rights::Any && items.iter().any(is_type) {
            return Err(not_allowed());
        }
        self.may_change(&rights, id)?;
        let profile = self.book().patch(self.now(), id, &items, expected)?;
        self.tell();
        Ok(tagged(Reply::no_content(), &profile))
    }

    async fn deregister(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        is_about_holder(&exchange)?;
        let id = exchange.param("nfInstanceID");
        self.may_change(&self.clients.rights_of(&exchange), id)?;
        self.book().remove(id)?;
        self.tell();
        Ok(Reply::no_content())
    }

    /// Whether a peer with these rights may change this instance: one that is registered has a type.
    ///
    /// # Errors
    /// 403, when the peer may not be of that type.
    fn may_change(&self, rights: &Rights, id: &str) -> Result<(), Problem> {
        match self.book().find(id) {
            Ok(profile) if !rights.may_be_of(&profile.view.nf_type) => Err(not_allowed()),
            _ => Ok(()),
        }
    }

    async fn instance(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let profile = Arc::clone(self.book().find(exchange.param("nfInstanceID"))?);
        Ok(tagged(Reply::ok(&profile.document), &profile))
    }

    async fn list_instances(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let query = exchange.query()?;
        let wanted = query.one("nf-type");
        let limit: usize = query.parsed("limit")?.unwrap_or(MAX_LISTED);
        let book = self.book();
        let found: Vec<&str> = book
            .iter()
            .filter(|profile| wanted.is_none_or(|wanted| profile.view.nf_type == wanted))
            .map(|profile| profile.view.nf_instance_id.as_str())
            .collect();
        let links: Vec<Value> = found
            .iter()
            .take(limit.min(MAX_LISTED))
            .map(|id| json!({"href": format!("{}{INSTANCES}/{id}", self.api_root)}))
            .collect();
        let document = json!({
            "_links": {"self": {"href": format!("{}{INSTANCES}", self.api_root)}, "item": links},
            "totalItemCount": found.len(),
        });
        let octets = serde_json::to_vec(&document).unwrap_or_default();
        Ok(Reply::octets(200, media::HAL, octets))
    }
}

/// Whether who asks is the instance that it is about, where his certificate says which he is; gives him.
///
/// # Errors
/// 403, when he is another (TS 33.501, 13.1: the subject is the network function).
fn is_about_holder(exchange: &Exchange) -> Result<Holder, Problem> {
    let holder = exchange.holder();
    if holder.may_be(exchange.param("nfInstanceID")) {
        Ok(holder)
    } else {
        Err(not_the_holders("nfInstanceId"))
    }
}

fn not_allowed() -> Problem {
    Problem::new(403, "MODIFICATION_NOT_ALLOWED").invalid(
        "nfType",
        "not what the secret that is shown is for (--allow-nf)",
    )
}

pub(super) fn not_the_holders(what: &'static str) -> Problem {
    Problem::new(403, "MODIFICATION_NOT_ALLOWED")
        .invalid(what, "not what the certificate of who asks is for")
}

/// What who registered is told: everything, or what is new to it if it can take that.
fn answer_of(profile: &Profile) -> Value {
    if !profile.view.nf_profile_changes_support_ind {
        return profile.document.clone();
    }
    json!({
        "nfInstanceId": profile.view.nf_instance_id,
        "nfType": profile.view.nf_type,
        "nfStatus": profile.view.nf_status,
        "heartBeatTimer": profile.heartbeat(),
        "nfProfileChangesInd": true,
    })
}

fn tagged(reply: Reply, profile: &Profile) -> Reply {
    reply.header("etag", &format!("\"{}\"", profile.tag))
}
