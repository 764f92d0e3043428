//! Nnrf_NFDiscovery (TS 29.510, 5.3 and 6.2): who offers what.
//!
//! An answer is made once for a query and kept until somebody comes, changes or goes; asking again is
//! a look into a map, and with the tag of the last answer not even a body.

use super::Nrf;
use super::cache::Found;
use super::profile_store::{Profile, ProfileStore, names, tag_of};
use bytes::Bytes;
use corewire_core5g_sbi::header;
use corewire_core5g_sbi::model::common::{GuamiModel, PlmnId, Snssai, TaiModel};
use corewire_core5g_sbi::model::nrf::{NfService, SupiInfo};
use corewire_core5g_sbi::{Exchange, Problem, Query, Reply, Router, media};
use serde_json::{Map, Value, json};
use std::sync::{Arc, PoisonError};

/// Seconds that an answer may be used for.
const VALIDITY: u32 = 30;
/// Profiles of one answer where the query does not say.
const MAX_FOUND: usize = 1000;

impl Nrf {
    pub(super) fn discovery_resources(router: Router<Self>) -> Router<Self> {
        router.get("/nnrf-disc/v1/nf-instances", Self::discover)
    }

    async fn discover(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let text = exchange
            .headers()
            .get_str(header::QUERY)
            .unwrap_or_default();
        let found = self.found(text)?;
        let condition = exchange.headers().get_str("if-none-match");
        let is_known = condition.is_some_and(|known| names(known, found.tag.trim_matches('"')));
        let reply = if is_known {
            Reply::status(304)
        } else {
            Reply::octets(200, media::JSON, found.body.clone())
        };
        Ok(reply
            .header("cache-control", CACHE_CONTROL)
            .header("etag", &found.tag))
    }

    /// The answer to a query, made now or before.
    fn found(&self, text: &str) -> Result<Arc<Found>, Problem> {
        let lock = || self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let book = self.book();
        let generation = book.generation();
        if let Some(found) = lock().by_query.get(text)
            && found.generation == generation
        {
            return Ok(Arc::clone(found));
        }
        let query = Query::parse(text)?;
        let document = search(&book, &query)?;
        drop(book);
        let body = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
        let found = Arc::new(Found {
            generation,
            tag: format!("\"{}\"", tag_of(&body)),
            body,
        });
        lock().insert(text, &found);
        Ok(found)
    }
}

/// [`VALIDITY`] as the header has it.
const CACHE_CONTROL: &str = "max-age=30";

/// What a query asks for, as far as this NRF goes into it; other parameters do not narrow the answer
/// (TS 29.510, 6.2.3.2.3.1).
struct Wanted<'q> {
    target: &'q str,
    requester: &'q str,
    services: Vec<&'q str>,
    instance: Option<&'q str>,
    set: Option<&'q str>,
    plmns: Option<Vec<PlmnId>>,
    requester_plmns: Option<Vec<PlmnId>>,
    slices: Option<Vec<Snssai>>,
    dnn: Option<&'q str>,
    guami: Option<GuamiModel>,
    tai: Option<TaiModel>,
    amf_region: Option<&'q str>,
    amf_set: Option<&'q str>,
    supi: Option<&'q str>,
    routing_indicator: Option<&'q str>,
}

impl<'q> Wanted<'q> {
    fn of(query: &'q Query<'_>) -> Result<Self, Problem> {
        Ok(Self {
            target: query.required("target-nf-type")?,
            requester: query.required("requester-nf-type")?,
            services: query.list("service-names").collect(),
            instance: query.one("target-nf-instance-id"),
            set: query.one("target-nf-set-id"),
            plmns: query.json("target-plmn-list")?,
            requester_plmns: query.json("requester-plmn-list")?,
            slices: query.json("snssais")?,
            dnn: query.one("dnn"),
            guami: query.json("guami")?,
            tai: query.json("tai")?,
            amf_region: query.one("amf-region-id"),
            amf_set: query.one("amf-set-id"),
            supi: query.one("supi"),
            routing_indicator: query.one("routing-indicator"),
        })
    }

    fn takes(&self, profile: &Profile) -> bool {
        let view = &profile.view;
        let any_plmn = |wanted: &Option<Vec<PlmnId>>, has: &Option<Vec<PlmnId>>| match (wanted, has)
        {
            (Some(wanted), Some(has)) => wanted.iter().any(|plmn| has.contains(plmn)),
            _ => true,
        };
        view.nf_type == self.target
            && view.nf_status == "REGISTERED"
            && may_ask(view.allowed_nf_types.as_deref(), self.requester)
            && self.instance.is_none_or(|id| view.nf_instance_id == id)
            && self
                .set
                .is_none_or(|set| view.nf_set_id_list.iter().any(|one| one == set))
            && any_plmn(&self.plmns, &view.plmn_list)
            && any_plmn(&self.requester_plmns, &view.allowed_plmns)
            && self.takes_slices(profile)
            && self.takes_amf(profile)
            && self.takes_subscriber(view.udm_info.as_ref().or(view.ausf_info.as_ref()))
            && (self.services.is_empty()
                || view.services().any(|service| self.takes_service(service)))
    }

    fn takes_service(&self, service: &NfService) -> bool {
        service.nf_service_status == "REGISTERED"
            && (self.services.is_empty() || self.services.contains(&service.service_name.as_str()))
            && may_ask(service.allowed_nf_types.as_deref(), self.requester)
    }

    /// Slices, and data networks within them.
    fn takes_slices(&self, profile: &Profile) -> bool {
        let view = &profile.view;
        let Some(smf) = &view.smf_info else {
            let of_profile = match (&self.slices, &view.s_nssais) {
                (Some(wanted), Some(has)) => {
                    wanted.iter().any(|one| has.iter().any(|two| one.is(two)))
                }
                _ => true,
            };
            return of_profile;
        };
        if smf.s_nssai_smf_info_list.is_empty() {
            return true;
        }
        smf.s_nssai_smf_info_list.iter().any(|item| {
            let slice = self
                .slices
                .as_ref()
                .is_none_or(|wanted| wanted.iter().any(|one| one.is(&item.s_nssai)));
            let dnns = &item.dnn_smf_info_list;
            let dnn = self.dnn.is_none_or(|wanted| {
                dnns.is_empty() || dnns.iter().any(|one| one.dnn.eq_ignore_ascii_case(wanted))
            });
            slice && dnn
        })
    }

    fn takes_amf(&self, profile: &Profile) -> bool {
        let Some(amf) = &profile.view.amf_info else {
            return true;
        };
        let same = |wanted: Option<&str>, has: &str| {
            wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(has))
        };
        same(self.amf_region, &amf.amf_region_id)
            && same(self.amf_set, &amf.amf_set_id)
            && self
                .guami
                .as_ref()
                .is_none_or(|guami| amf.guami_list.contains(guami))
            && self
                .tai
                .as_ref()
                .is_none_or(|tai| amf.tai_list.is_empty() || amf.tai_list.contains(tai))
    }

    fn takes_subscriber(&self, info: Option<&SupiInfo>) -> bool {
        let Some(info) = info else {
            return true;
        };
        let number = |text: &str| text.trim_start_matches("imsi-").parse::<u64>().ok();
        let supi = self.supi.and_then(number);
        let in_range = info.supi_ranges.is_empty()
            || supi.is_none_or(|supi| {
                info.supi_ranges.iter().any(|range| {
                    let low = range.start.as_deref().and_then(number);
                    let high = range.end.as_deref().and_then(number);
                    low.is_none_or(|low| low <= supi) && high.is_none_or(|high| supi <= high)
                })
            });
        let indicators = &info.routing_indicators;
        let routed = indicators.is_empty()
            || self
                .routing_indicator
                .is_none_or(|wanted| indicators.iter().any(|one| one == wanted));
        in_range && routed
    }
}

/// Whether somebody of this type may ask (TS 29.510, 6.1.6.2.2, `allowedNfTypes`).
fn may_ask(allowed: Option<&[String]>, requester: &str) -> bool {
    allowed.is_none_or(|allowed| allowed.iter().any(|one| one == requester))
}

fn search(book: &ProfileStore, query: &Query<'_>) -> Result<Value, Problem> {
    let wanted = Wanted::of(query)?;
    let limit: usize = query.parsed("limit")?.unwrap_or(MAX_FOUND);
    let locality = query.one("preferred-locality");
    let mut found: Vec<&Arc<Profile>> = book.iter().filter(|one| wanted.takes(one)).collect();
    // Who is to be preferred comes first (TS 29.510, 6.2.6.2.3: lower is better).
    found.sort_by_key(|profile| {
        let view = &profile.view;
        let elsewhere = locality.is_some() && view.locality.as_deref() != locality;
        (
            elsewhere,
            view.priority.unwrap_or_default(),
            view.load.unwrap_or_default(),
        )
    });
    let total = found.len();
    // Registered as a map, told as a list to who does not say that it reads maps.
    let as_list = query.one("requester-features").is_none();
    let instances: Vec<Value> = found
        .into_iter()
        .take(limit.min(MAX_FOUND))
        .map(|profile| told(profile, &wanted, as_list))
        .collect();
    let complete = instances.len() < total;
    let mut document = json!({"validityPeriod": VALIDITY, "nfInstances": instances});
    if complete {
        document["numNfInstComplete"] = json!(total);
    }
    Ok(document)
}

/// A profile as it is told to who looks for it: with the services asked for, without what is for the
/// NRF alone.
fn told(profile: &Profile, wanted: &Wanted<'_>, as_list: bool) -> Value {
    const OWN: [&str; 5] = [
        "nfProfileChangesSupportInd",
        "nfProfileChangesInd",
        "allowedNfTypes",
        "allowedPlmns",
        "allowedNfDomains",
    ];
    let Some(members) = profile.document.as_object() else {
        return Value::Null;
    };
    let taken: Vec<&str> = profile
        .view
        .services()
        .filter(|service| wanted.takes_service(service))
        .map(|service| service.service_instance_id.as_str())
        .collect();
    let is_taken = |service: &Value| {
        let id = service.get("serviceInstanceId").and_then(Value::as_str);
        id.is_some_and(|id| taken.contains(&id))
    };
    let shown = |service: &Value| {
        let mut service = service.clone();
        if let Some(members) = service.as_object_mut() {
            members.retain(|name, _| !OWN.contains(&name.as_str()));
        }
        service
    };
    let mut told = Map::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            (name, _) if OWN.contains(&name) => {}
            ("nfServices", Value::Array(list)) => {
                let list = list.iter().filter(|one| is_taken(one)).map(shown).collect();
                told.insert("nfServices".to_owned(), Value::Array(list));
            }
            ("nfServiceList", Value::Object(map))
                if as_list && !members.contains_key("nfServices") =>
            {
                let list = map
                    .values()
                    .filter(|one| is_taken(one))
                    .map(shown)
                    .collect();
                told.insert("nfServices".to_owned(), Value::Array(list));
            }
            ("nfServiceList", Value::Object(map)) => {
                let map = map.iter().filter(|(_, one)| is_taken(one));
                let map = map.map(|(name, one)| (name.clone(), shown(one))).collect();
                told.insert("nfServiceList".to_owned(), Value::Object(map));
            }
            (name, value) => {
                told.insert(name.to_owned(), value.clone());
            }
        }
    }
    Value::Object(told)
}
