//! The operations of source 3 that have no path in 3GPP, or another: `/source3/v1/<service>/<operation>`.
//!
//! Its AMF and SMF keep a UE's context in the UDM: each of the UECM operations says what has become
//! of it. Here they all merge what they are sent into the UE's context and answer with the whole, two of
//! them with what the UE may have besides; the two that end one remove it.

use super::data::{access_and_mobility, session_management};
use super::{Udm, context_not_found, user_not_found};
use corewire_core5g_aka::Supi;
use corewire_core5g_sbi::model::udm::AuthenticationInfoRequest;
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router, patch};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Octets of one UE's context.
const MAX_CONTEXT: usize = 16 << 10;

/// The operations that change a context, by their names in source 3's table: (3) to (15), (17) to (20),
/// without the two that answer with more.
const CHANGES: [&str; 15] = [
    "/source3/v1/nudm-uecm/update-initial-attach-init",
    "/source3/v1/nudm-uecm/update-initial-attach",
    "/source3/v1/nudm-uecm/set-auth",
    "/source3/v1/nudm-uecm/set-security-cmd",
    "/source3/v1/nudm-uecm/set-crypt",
    "/source3/v1/nudm-uecm/set-integrity",
    "/source3/v1/nudm-uecm/handle-security-mode",
    "/source3/v1/nudm-uecm/handle-create-session-begin",
    "/source3/v1/nudm-uecm/handle-create-session-end",
    "/source3/v1/nudm-uecm/handle-attach-complete",
    "/source3/v1/nudm-uecm/update-attach-complete",
    "/source3/v1/nudm-uecm/handle-modify-bearer",
    "/source3/v1/nudm-uecm/set-upf-info",
    "/source3/v1/nudm-uecm/update-smf-create-session",
    "/source3/v1/nudm-uecm/request-smf-modify-bearer",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GetAuthInfo {
    supi_or_suci: String,
}

#[derive(Deserialize)]
struct Whose {
    supi: String,
}

impl Udm {
    pub(super) fn source3_resources(router: Router<Self>) -> Router<Self> {
        let router = router
            .post(
                "/source3/v1/nudm-ueauthentication/get-auth-info",
                Self::get_auth_info,
            )
            .post(
                "/source3/v1/nudm-ueauthentication/set-loc-info",
                Self::change_context,
            )
            .post(
                "/source3/v1/nudm-uecm/handle-location-update",
                Self::update_location,
            )
            .post(
                "/source3/v1/nudm-uecm/request-smf-create-session",
                Self::request_session,
            )
            .post("/source3/v1/nudm-uecm/handle-detach", Self::end_context)
            .post(
                "/source3/v1/nudm-uecm/request-smf-detach",
                Self::end_session_context,
            );
        CHANGES.into_iter().fold(router, |router, path| {
            router.post(path, Self::change_context)
        })
    }

    /// (1) GetAuthInfo.
    async fn get_auth_info(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let whose: GetAuthInfo = exchange.json()?;
        let asked: AuthenticationInfoRequest = exchange.json()?;
        Ok(Reply::ok(&self.vector(&whose.supi_or_suci, &asked)?))
    }

    async fn change_context(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let whose: Whose = exchange.json()?;
        let changes: Value = exchange.json()?;
        let supi = self.identified(&whose.supi)?;
        let changed = self.store.change(&supi, |state| {
            let mut context = Value::Object(state.source3.clone());
            patch::merge(&mut context, changes)?;
            if context.to_string().len() > MAX_CONTEXT {
                let most = format!("a context of more than {MAX_CONTEXT} octets");
                return Err(Problem::new(413, "PAYLOAD_TOO_LARGE").detail(most));
            }
            // By whatever name it came: the context is the subscriber's.
            context["supi"] = supi.to_string().into();
            if let Value::Object(members) = &context {
                state.source3.clone_from(members);
            }
            Ok(context)
        });
        let context = changed.await??;
        Ok(Reply::ok(&context))
    }

    /// (10) HandleLocationUpdate: answers with what the UE may have, too.
    async fn update_location(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.whose(&exchange)?;
        let reply = Arc::clone(&self).change_context(exchange).await?;
        let subscription = self.store.with_entry(&supi, access_and_mobility);
        reply.with_member("subscription", &subscription.ok_or_else(user_not_found)?)
    }

    /// (18) RequestSMFCreateSession: answers with what the session may be, too.
    async fn request_session(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.whose(&exchange)?;
        let reply = Arc::clone(&self).change_context(exchange).await?;
        let sessions = self
            .store
            .with_entry(&supi, |entry| session_management(entry, None, None));
        reply.with_member("smSubscription", &sessions.ok_or_else(user_not_found)?)
    }

    fn whose(&self, exchange: &Exchange) -> Result<Supi, Problem> {
        let whose: Whose = exchange.json()?;
        self.identified(&whose.supi)
    }

    /// (16) HandleDetach.
    async fn end_context(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let whose: Whose = exchange.json()?;
        let supi = self.known(&whose.supi)?;
        let was = self
            .store
            .change(&supi, |state| std::mem::take(&mut state.source3))
            .await?;
        if was.is_empty() {
            return Err(context_not_found());
        }
        Ok(Reply::ok(&json!({"supi": whose.supi})))
    }

    /// (21) RequestSMFDetach: the session's part of the context ends.
    async fn end_session_context(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let whose: Whose = exchange.json()?;
        let supi = self.known(&whose.supi)?;
        let changed = self.store.change(&supi, |state| {
            state.source3.remove("session");
            state.source3.clone()
        });
        let context = changed.await?;
        Ok(Reply::ok(&context))
    }
}
