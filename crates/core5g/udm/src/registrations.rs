//! Nudm_UEContextManagement (TS 29.503, 5.3 and 6.2): which AMF and which SMFs serve a UE.

use super::{Udm, context_not_found};
use corewire_core5g_sbi::model::common::GuamiModel;
use corewire_core5g_sbi::model::udm::{
    Amf3GppAccessRegistration, DeregistrationData, SmfRegistration, SmfRegistrationInfo,
};
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router, media, patch};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

const AMF: &str = "/nudm-uecm/v1/{ueId}/registrations/amf-3gpp-access";
const SESSIONS: &str = "/nudm-uecm/v1/{ueId}/registrations/smf-registrations";
const SESSION: &str = "/nudm-uecm/v1/{ueId}/registrations/smf-registrations/{pduSessionId}";
/// PDU sessions of one UE (TS 24.007, 11.2.3.1b).
const PDU_SESSIONS: std::ops::RangeInclusive<u8> = 1..=15;

/// What an AMF changes of its registration.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Modification {
    guami: GuamiModel,
    #[serde(default)]
    purge_flag: bool,
}

impl Udm {
    pub(super) fn registration_resources(router: Router<Self>) -> Router<Self> {
        router
            .put(AMF, Self::register_amf)
            .get(AMF, Self::amf)
            .patch(AMF, Self::change_amf)
            .get(SESSIONS, Self::sessions)
            .put(SESSION, Self::register_smf)
            .get(SESSION, Self::session)
            .patch(SESSION, Self::change_session)
            .delete(SESSION, Self::deregister_smf)
    }

    /// Takes a UE over; the AMF that had it is told (TS 29.503, 5.3.2.2.2).
    async fn register_amf(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let registration: Amf3GppAccessRegistration = exchange.json()?;
        let now = registration.clone();
        let taken_over = self.store.change(&supi, |state| state.amf.replace(now));
        let before = taken_over.await?;
        let Some(before) = before else {
            let location = format!("{}{}", self.api_root, exchange.path());
            return Ok(Reply::created(&location, &registration));
        };
        if before.amf_instance_id != registration.amf_instance_id {
            let initial = registration.initial_registration_ind.unwrap_or_default();
            let reason = if initial {
                "UE_INITIAL_REGISTRATION"
            } else {
                "UE_REGISTRATION_AREA_CHANGE"
            };
            let data = DeregistrationData {
                dereg_reason: reason.to_owned(),
                access_type: Some("3GPP_ACCESS".to_owned()),
                pdu_session_id: None,
            };
            self.notify_deregistration(before.dereg_callback_uri, data);
        }
        Ok(Reply::ok(&registration))
    }

    async fn amf(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        self.store.read(&supi, |state| {
            let registration = state.and_then(|state| state.amf.as_ref());
            registration.map(Reply::ok).ok_or_else(context_not_found)
        })
    }

    /// Changes of an AMF's registration, or its end by `purgeFlag` (TS 29.503, 5.3.2.6.2).
    async fn change_amf(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let changes: Value = exchange.json_of(media::MERGE_PATCH)?;
        let modification: Modification = exchange.json_of(media::MERGE_PATCH)?;
        let changed = self.store.change(&supi, |state| {
            let registration = state.amf.as_ref().ok_or_else(context_not_found)?;
            if registration.guami != modification.guami {
                return Err(Problem::new(403, "INVALID_GUAMI"));
            }
            if modification.purge_flag {
                state.amf = None;
                return Ok(Reply::no_content());
            }
            let mut document = serde_json::to_value(registration)
                .map_err(|error| Problem::failure(error.to_string()))?;
            patch::merge(&mut document, changes)?;
            let changed = serde_json::from_value(document)
                .map_err(|error| Problem::mandatory_incorrect("/", error.to_string()))?;
            state.amf = Some(changed);
            Ok(Reply::no_content())
        });
        changed.await?
    }

    async fn sessions(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let all = self.store.read(&supi, |state| SmfRegistrationInfo {
            smf_registration_list: state
                .map(|state| state.sessions.values().map(|one| (**one).clone()).collect())
                .unwrap_or_default(),
        });
        if all.smf_registration_list.is_empty() {
            return Err(context_not_found());
        }
        Ok(Reply::ok(&all))
    }

    /// Takes a session over; the SMF that had it is told (TS 29.503, 5.3.2.2.3 and 5.3.2.3.2).
    async fn register_smf(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let number = session(&exchange)?;
        let registration: SmfRegistration = exchange.json()?;
        if registration.pdu_session_id != number {
            let reason = "another session than the path's";
            return Err(Problem::mandatory_incorrect("/pduSessionId", reason));
        }
        let now = Box::new(registration.clone());
        let before = self
            .store
            .change(&supi, |state| state.sessions.insert(number, now))
            .await?;
        if let Some(before) = before {
            let uri = before.dereg_callback_uri;
            // The UE has begun its session anew, and who has the former does not know.
            if let Some(uri) =
                uri.filter(|uri| Some(uri) != registration.dereg_callback_uri.as_ref())
            {
                let data = DeregistrationData {
                    dereg_reason: "DUPLICATE_PDU_SESSION".to_owned(),
                    access_type: None,
                    pdu_session_id: Some(number),
                };
                self.notify_deregistration(uri, data);
            }
            return Ok(Reply::ok(&registration));
        }
        let location = format!("{}{}", self.api_root, exchange.path());
        Ok(Reply::created(&location, &registration))
    }

    async fn session(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let number = session(&exchange)?;
        self.store.read(&supi, |state| {
            let registration = state.and_then(|state| state.sessions.get(&number));
            registration.map(Reply::ok).ok_or_else(context_not_found)
        })
    }

    async fn change_session(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let number = session(&exchange)?;
        let changes: Value = exchange.json_of(media::MERGE_PATCH)?;
        let changed = self.store.change(&supi, |state| {
            let registration = state.sessions.get(&number).ok_or_else(context_not_found)?;
            let mut document = serde_json::to_value(registration)
                .map_err(|error| Problem::failure(error.to_string()))?;
            patch::merge(&mut document, changes)?;
            let changed: SmfRegistration = serde_json::from_value(document)
                .map_err(|error| Problem::mandatory_incorrect("/", error.to_string()))?;
            if changed.pdu_session_id != number {
                return Err(Problem::new(403, "MODIFICATION_NOT_ALLOWED"));
            }
            state.sessions.insert(number, Box::new(changed));
            Ok(Reply::no_content())
        });
        changed.await?
    }

    async fn deregister_smf(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("ueId"))?;
        let number = session(&exchange)?;
        let was = self
            .store
            .change(&supi, |state| state.sessions.remove(&number))
            .await?;
        was.map(|_| Reply::no_content())
            .ok_or_else(context_not_found)
    }
}

fn session(exchange: &Exchange) -> Result<u8, Problem> {
    let number = exchange.param("pduSessionId").parse().ok();
    number
        .filter(|number| PDU_SESSIONS.contains(number))
        .ok_or_else(|| Problem::mandatory_incorrect("pduSessionId", "1 to 15"))
}
