//! A stream as the status shows it to people.

use super::{AdsStream, Variant};
use crate::generated::control::{ClientStatus, TypeStatus};
use crate::resources::View;
use crate::xds::node::version;
use corewire_xds::ResourceType;
use std::time::Instant;

impl AdsStream {
    /// What is known of the client, for people.
    pub(crate) fn status(&self, now: Instant) -> ClientStatus {
        let node = self.node.clone().unwrap_or_default();
        let version = version(&node);
        let mut notices: Vec<String> = Vec::new();
        if self.view == View::Envoy(None) {
            notices.push("no [[sidecar]] matches its node: it gets no listeners".into());
        }
        if let Some(view) = self.snapshot.views.get(&self.view) {
            notices.extend(view.notices.iter().take(100).cloned());
        }
        ClientStatus {
            node_id: node.id,
            node_cluster: node.cluster,
            user_agent: format!("{} {version}", node.user_agent_name)
                .trim()
                .to_owned(),
            peer: String::new(),
            variant: match self.variant {
                Variant::Sotw => "sotw".into(),
                Variant::Delta => "delta".into(),
            },
            kind: self.view.name().into(),
            sidecar: match &self.view {
                View::Envoy(Some(sidecar)) => sidecar.to_string(),
                _ => String::new(),
            },
            connected_ms: u64::try_from(now.saturating_duration_since(self.opened).as_millis())
                .unwrap_or(u64::MAX),
            types: self.type_status(),
            notices,
        }
    }

    fn type_status(&self) -> Vec<TypeStatus> {
        let asked = ResourceType::ALL.map(|kind| (kind, &self.types[kind as usize]));
        let asked = asked.into_iter().filter(|(_, state)| state.wanted.asked);
        asked
            .map(|(kind, state)| TypeStatus {
                r#type: kind.short_name().into(),
                subscribed: u32::try_from(state.wanted.names.len()).unwrap_or(u32::MAX),
                wildcard: state.wanted.wildcard,
                sent_version: state.held.digest().to_string(),
                acked_version: state.accepted.clone(),
                acks: state.acks,
                nacks: state.nacks,
                refusal: state.refusal.clone(),
                refused_version: state.refused_version.clone(),
                outstanding: state.outstanding.is_some(),
            })
            .collect()
    }
}
