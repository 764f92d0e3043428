//! Nudm_SubscriberDataManagement (TS 29.503, 5.2 and 6.1): what a UE may do.

use super::store::MAX_SUBSCRIPTIONS;
use super::{Udm, user_not_found};
use corewire_core5g_sbi::model::common::Snssai;
use corewire_core5g_sbi::model::udm::{
    AccessAndMobilitySubscriptionData, Arp, DnnConfiguration, DnnInfo, Nssai, PduSessionTypes,
    QosProfile, SdmSubscription, SessionManagementSubscriptionData, SmfSelectionSubscriptionData,
    SnssaiInfo, SscModes,
};
use corewire_core5g_sbi::{Exchange, Problem, Query, Reply, Router};
use corewire_core5g_subscribers::{Entry, Slice};
use std::sync::Arc;

impl Udm {
    pub(super) fn data_resources(router: Router<Self>) -> Router<Self> {
        router
            .get("/nudm-sdm/v2/{supi}/am-data", Self::am_data)
            .get("/nudm-sdm/v2/{supi}/nssai", Self::nssai)
            .get("/nudm-sdm/v2/{supi}/smf-select-data", Self::smf_select_data)
            .get("/nudm-sdm/v2/{supi}/sm-data", Self::sm_data)
            .get(
                "/nudm-sdm/v2/{supi}/ue-context-in-smf-data",
                Self::ue_context_in_smf_data,
            )
            .post("/nudm-sdm/v2/{ueId}/sdm-subscriptions", Self::subscribe)
            .delete(
                "/nudm-sdm/v2/{ueId}/sdm-subscriptions/{subscriptionId}",
                Self::unsubscribe,
            )
    }

    fn data<T>(
        &self,
        exchange: &Exchange,
        make: impl FnOnce(&Entry, &Query<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let query = exchange.query()?;
        let supi = self.known(exchange.param("supi"))?;
        self.store
            .with_entry(&supi, |entry| make(entry, &query))
            .unwrap_or_else(|| Err(user_not_found()))
    }

    async fn am_data(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        self.data(&exchange, |entry, _| {
            Ok(Reply::ok(&access_and_mobility(entry)))
        })
    }

    async fn nssai(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        self.data(&exchange, |entry, _| Ok(Reply::ok(&nssai_of(entry))))
    }

    async fn smf_select_data(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        self.data(&exchange, |entry, _| {
            let info = |slice: &Slice| SnssaiInfo {
                dnn_infos: slice
                    .dnns
                    .iter()
                    .enumerate()
                    .map(|(number, dnn)| DnnInfo {
                        dnn: dnn.clone(),
                        default_dnn_indicator: number == 0,
                    })
                    .collect(),
            };
            let infos = entry
                .slices
                .iter()
                .map(|slice| (slice.snssai().to_string(), info(slice)));
            Ok(Reply::ok(&SmfSelectionSubscriptionData {
                subscribed_snssai_infos: infos.collect(),
            }))
        })
    }

    /// Sessions of the slice and data network that the query names, or of all.
    async fn sm_data(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        self.data(&exchange, |entry, query| {
            let wanted: Option<Snssai> = query.json("single-nssai")?;
            let dnn = query.one("dnn");
            let all = session_management(entry, wanted.as_ref(), dnn);
            if all.is_empty() {
                return Err(Problem::new(404, "DATA_NOT_FOUND"));
            }
            Ok(Reply::ok(&all))
        })
    }

    async fn ue_context_in_smf_data(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("supi"))?;
        let sessions: serde_json::Map<_, _> = self.store.read(&supi, |state| {
            let sessions = state.iter().flat_map(|state| &state.sessions);
            sessions
                .map(|(number, session)| {
                    let found = serde_json::json!({
                        "dnn": session.dnn.clone().unwrap_or_default(),
                        "smfInstanceId": session.smf_instance_id,
                        "plmnId": session.plmn_id,
                        "singleNssai": session.single_nssai,
                    });
                    (number.to_string(), found)
                })
                .collect()
        });
        Ok(Reply::ok(&serde_json::json!({ "pduSessions": sessions })))
    }

    async fn subscribe(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let mut subscription: SdmSubscription = exchange.json()?;
        let subscribed = self.store.change(&supi, |state| {
            // The same once more is no new one.
            let known = state
                .subscriptions
                .iter()
                .find(|(_, known)| {
                    known.nf_instance_id == subscription.nf_instance_id
                        && known.callback_reference == subscription.callback_reference
                })
                .map(|(id, _)| id.clone());
            if known.is_none() && state.subscriptions.len() >= MAX_SUBSCRIPTIONS {
                return Err(Problem::new(403, "INSUFFICIENT_RESOURCES"));
            }
            let id = known.unwrap_or_else(|| {
                (1..)
                    .map(|number: u32| number.to_string())
                    .find(|id| !state.subscriptions.contains_key(id))
                    .unwrap_or_default()
            });
            subscription.subscription_id = Some(id.clone());
            state.subscriptions.insert(id.clone(), subscription.clone());
            Ok(id)
        });
        let id = subscribed.await??;
        let location = format!("{}{}/{id}", self.api_root, exchange.path());
        Ok(Reply::created(&location, &subscription))
    }

    async fn unsubscribe(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let id = exchange.param("subscriptionId");
        let was = self
            .store
            .change(&supi, |state| state.subscriptions.remove(id))
            .await?;
        was.map(|_| Reply::no_content())
            .ok_or_else(|| Problem::new(404, "SUBSCRIPTION_NOT_FOUND"))
    }
}

/// What a UE may have (TS 29.503, 6.1.6.2.4).
pub(super) fn access_and_mobility(entry: &Entry) -> AccessAndMobilitySubscriptionData {
    AccessAndMobilitySubscriptionData {
        gpsis: None,
        subscribed_ue_ambr: Some(entry.ambr.clone()),
        nssai: Some(nssai_of(entry)),
    }
}

/// What its sessions may be, of this slice and to this data network or of all.
pub(super) fn session_management(
    entry: &Entry,
    wanted: Option<&Snssai>,
    dnn: Option<&str>,
) -> Vec<SessionManagementSubscriptionData> {
    entry
        .slices
        .iter()
        .filter(|slice| wanted.is_none_or(|name| slice.snssai().is(name)))
        .map(|slice| SessionManagementSubscriptionData {
            single_nssai: slice.snssai(),
            dnn_configurations: slice
                .dnns
                .iter()
                .filter(|name| dnn.is_none_or(|dnn| dnn.eq_ignore_ascii_case(name)))
                .map(|name| (name.clone(), configuration(entry)))
                .collect(),
        })
        .filter(|data| !data.dnn_configurations.is_empty())
        .collect()
}

fn nssai_of(entry: &Entry) -> Nssai {
    let mut slices = entry.slices.iter().map(Slice::snssai);
    Nssai {
        default_single_nssais: slices.by_ref().take(1).collect(),
        single_nssais: slices.collect(),
    }
}

/// One kind of session: IPv4 over a default flow without guarantees (TS 23.501, table 5.7.4-1: 5QI 9).
fn configuration(entry: &Entry) -> DnnConfiguration {
    DnnConfiguration {
        pdu_session_types: PduSessionTypes {
            default_session_type: "IPV4".to_owned(),
            allowed_session_types: vec!["IPV4".to_owned()],
        },
        ssc_modes: SscModes {
            default_ssc_mode: "SSC_MODE_1".to_owned(),
        },
        five_g_qos_profile: QosProfile {
            five_qi: 9,
            arp: Arp {
                priority_level: 8,
                preempt_cap: "NOT_PREEMPT".to_owned(),
                preempt_vuln: "NOT_PREEMPTABLE".to_owned(),
            },
        },
        session_ambr: entry.ambr.clone(),
    }
}
