//! The two operations of source 3's registry, which was Consul's agent: `ServiceRegister` and
//! `ServiceDiscover`, with Consul's JSON.

use super::Nrf;
use super::clients::Rights;
use super::instances::not_the_holders;
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Seconds between heartbeats of who registered this way and does not say: an agent's services stay
/// until they are deregistered.
const HEARTBEAT: u32 = 3600;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Service {
    name: String,
    #[serde(rename = "ID")]
    id: Option<String>,
    #[serde(default)]
    address: String,
    #[serde(default)]
    port: u16,
    #[serde(default)]
    tags: Vec<String>,
}

/// A service here has a name and no type: who has a certificate for one registers by 3GPP's interface.
fn is_anybody(exchange: &Exchange) -> Result<(), Problem> {
    if exchange.holder().is_named() {
        Err(not_the_holders("ID"))
    } else {
        Ok(())
    }
}

impl Nrf {
    pub(super) fn agent_resources(router: Router<Self>) -> Router<Self> {
        router
            .put("/v1/agent/service/register", Self::agent_register)
            .post("/v1/agent/service/register", Self::agent_register)
            .put("/v1/agent/service/deregister/{id}", Self::agent_deregister)
            .get("/v1/agent/services", Self::agent_services)
    }

    /// A service has no type here: a peer must be allowed to register as any.
    fn may_register_any(&self, exchange: &Exchange) -> Result<(), Problem> {
        match self.clients.rights_of(exchange) {
            Rights::Any => Ok(()),
            Rights::Types(_) => Err(Problem::new(403, "MODIFICATION_NOT_ALLOWED")),
        }
    }

    async fn agent_register(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        is_anybody(&exchange)?;
        self.may_register_any(&exchange)?;
        let service: Service = exchange.json()?;
        let id = service.id.unwrap_or_else(|| service.name.clone());
        let address = match service.address.as_str() {
            "" => "127.0.0.1",
            given => given,
        };
        // A network function of one service, so that it is found by every way of looking.
        let document = json!({
            "nfInstanceId": id, "nfType": service.name.to_uppercase(), "nfStatus": "REGISTERED",
            "ipv4Addresses": [address], "heartBeatTimer": HEARTBEAT,
            "nfServices": [{
                "serviceInstanceId": id, "serviceName": service.name, "scheme": "http",
                "versions": [{"apiVersionInUri": "v1", "apiFullVersion": "1.0.0"}],
                "nfServiceStatus": "REGISTERED", "tags": service.tags,
                "ipEndPoints": [{"ipv4Address": address, "port": service.port}],
            }],
        });
        self.book().register(self.now(), &id, document)?;
        self.tell();
        Ok(Reply::status(200))
    }

    async fn agent_deregister(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        is_anybody(&exchange)?;
        self.may_register_any(&exchange)?;
        self.book().remove(exchange.param("id"))?;
        self.tell();
        Ok(Reply::status(200))
    }

    async fn agent_services(self: Arc<Self>, _exchange: Exchange) -> Result<Reply, Problem> {
        let book = self.book();
        let mut all = Map::new();
        for profile in book.iter() {
            for service in profile.view.services() {
                let end_point = service.ip_end_points.first();
                let address = end_point.and_then(|one| one.ipv4_address.clone());
                let address = address.or_else(|| profile.view.ipv4_addresses.first().cloned());
                let nf = &profile.view.nf_instance_id;
                let id = if *nf == service.service_instance_id {
                    nf.clone()
                } else {
                    format!("{nf}.{}", service.service_instance_id)
                };
                let told: Value = json!({
                    "ID": id, "Service": service.service_name, "Tags": [profile.view.nf_type],
                    "Address": address.unwrap_or_default(),
                    "Port": end_point.and_then(|one| one.port).unwrap_or(80),
                });
                all.insert(id, told);
            }
        }
        Ok(Reply::ok(&all))
    }
}
