//! Messages in words, as the specifications name them.

use super::ue::{Received, TestUe};
use corewire_core5g_nas::{
    NasMessage, PayloadKind, PduSessionId, PduSessionSet, STmsi, Snssai, Tai,
};
use corewire_core5g_ngap::{
    Cause, ElementFault, ErrorIndication, NgapMessage, SessionSetup, SessionTransfer, UeConnection,
    UeIds,
};
use corewire_core5g_runtime::SbiRequest;
use corewire_core5g_sbi::Multipart;
use corewire_core5g_transcripts::words::{add, list, root, spaced};
use corewire_guti::Tmsi;
use serde_json::Value;

/// Temporary identities by the order in which they came up.
#[derive(Default)]
pub(super) struct Names(Vec<Tmsi>);

impl Names {
    fn of(&mut self, tmsi: Tmsi) -> String {
        let known = self.0.iter().position(|known| *known == tmsi);
        let number = known.unwrap_or_else(|| {
            self.0.push(tmsi);
            self.0.len() - 1
        });
        format!("guti-{}", number + 1)
    }

    /// The name of a record in the UDSF: set, pointer and TMSI, or a SUPI.
    fn of_record(&mut self, record: &str) -> String {
        let tmsi = record.get(5..13).filter(|_| record.len() == 13);
        let tmsi = tmsi.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match tmsi.map(Tmsi::try_from) {
            Some(Ok(tmsi)) => self.of(tmsi),
            _ => record.to_owned(),
        }
    }

    /// A NAS message that a UE got.
    pub(super) fn nas(&mut self, ue: &mut TestUe, octets: &[u8]) -> String {
        match ue.read(octets) {
            Received::Protected(message) => self.message(&message),
            Received::Plain(message) => format!("{} (plain)", self.message(&message)),
            Received::Unreadable => "a message under other keys".to_owned(),
        }
    }

    fn message(&mut self, message: &NasMessage) -> String {
        let mut text = spaced(message.name());
        let out = &mut text;
        match message {
            NasMessage::AuthenticationRequest(m) => add(out, format!("ngKSI={}", m.ksi.value())),
            NasMessage::IdentityRequest(m) => add(out, format!("{:?}", m.kind).to_uppercase()),
            NasMessage::SecurityModeCommand(m) => {
                let algorithms = m.algorithms;
                let names = format!("{:?} {:?}", algorithms.ciphering, algorithms.integrity);
                add(
                    out,
                    format!("ngKSI={} {}", m.ksi.value(), names.to_uppercase()),
                );
            }
            NasMessage::RegistrationAccept(m) => {
                if let Some(guti) = m.guti {
                    add(out, self.of(guti.tmsi()));
                }
                add(out, format!("TAI {}", list(&m.tai_list, tai)));
                add(
                    out,
                    format!("NSSAI {}", list(&m.allowed_nssai, Snssai::to_string)),
                );
                add(
                    out,
                    format!("T3512={}s", m.t3512.unwrap_or_default().as_secs()),
                );
                sessions(out, m.sessions, m.reactivation_failed);
            }
            NasMessage::ServiceAccept(m) => sessions(out, m.sessions, m.reactivation_failed),
            NasMessage::RegistrationReject(m) => add(out, m.cause.to_string()),
            NasMessage::ServiceReject(m) => add(out, m.cause.to_string()),
            NasMessage::MmStatus(m) => add(out, m.cause.to_string()),
            NasMessage::DeregistrationRequestToUe(m) if m.reregistration_required => {
                add(out, "re-registration required".into());
            }
            NasMessage::DownlinkNasTransport(m) => {
                if m.kind != PayloadKind::Sm {
                    add(out, format!("{:?}", m.kind).to_uppercase());
                }
                if let Some(additional) = &m.additional {
                    add(out, format!("({})", String::from_utf8_lossy(additional)));
                }
                if let Some(session) = m.session {
                    add(out, format!("session {}", session.value()));
                }
                if let Some(cause) = m.cause {
                    add(out, cause.to_string());
                }
                add(out, format!("\"{}\"", String::from_utf8_lossy(&m.payload)));
            }
            _ => {}
        }
        text
    }

    /// A message that a gNB got, without what it carries for the UE.
    pub(super) fn ngap(&mut self, message: &NgapMessage) -> String {
        let mut text = spaced(message.name());
        let out = &mut text;
        match message {
            NgapMessage::NgSetupFailure(m) => refused(out, m.cause, &m.faults),
            NgapMessage::RanConfigurationUpdateFailure(m) => refused(out, m.cause, &m.faults),
            NgapMessage::NgResetAcknowledge(m) => add(out, list(&m.ues, connection)),
            NgapMessage::ErrorIndication(m) => error(out, m),
            NgapMessage::Paging(m) => {
                add(out, self.paged(m.s_tmsi));
                add(out, format!("TAI {}", list(&m.tais, tai)));
            }
            NgapMessage::InitialContextSetupRequest(m) => setups(out, &m.sessions),
            NgapMessage::PduSessionResourceSetupRequest(m) => setups(out, &m.sessions),
            NgapMessage::PduSessionResourceModifyRequest(m) => {
                for one in &m.sessions {
                    add(out, transfer(one.session, &one.transfer));
                }
            }
            NgapMessage::PduSessionResourceReleaseCommand(m) => transfers(out, &m.sessions),
            NgapMessage::UeContextReleaseCommand(m) => {
                if let UeIds::Amf(id) = m.ue {
                    add(out, format!("AMF-UE-{}", id.value()));
                }
                add(out, m.cause.to_string());
            }
            _ => {}
        }
        text
    }

    fn paged(&mut self, s_tmsi: STmsi) -> String {
        self.of(s_tmsi.tmsi)
    }

    /// A request to another network function.
    pub(super) fn request(&mut self, at: Option<&str>, request: &SbiRequest) -> String {
        let (method, path, content_type, body) = request.parts();
        if let Some(record) = path.strip_prefix("/nudsf-dr/v1/corewire/amf/records/") {
            return format!("{method} nudsf-dr {}", self.of_record(record));
        }
        let mut text = format!("{method} {}{path}", at.map(root).unwrap_or_default());
        if let Ok(parts) = Multipart::decode(content_type, body) {
            let document: Value = parts.json().expect("a JSON part");
            add(&mut text, self.document(document));
            for part in parts.parts() {
                add(
                    &mut text,
                    format!("\"{}\"", String::from_utf8_lossy(&part.content)),
                );
            }
        } else if !body.is_empty() {
            let document = serde_json::from_slice(body).expect("JSON");
            add(&mut text, self.document(document));
        }
        text
    }

    /// A document, without the members that are of no procedure.
    fn document(&mut self, mut document: Value) -> String {
        if let Value::Object(members) = &mut document {
            for constant in [
                "servingNetworkName",
                "servingNetwork",
                "anType",
                "ratType",
                "guami",
            ] {
                members.remove(constant);
            }
            for of_answer in ["n1SmMsg", "n2SmInfo"] {
                members.remove(of_answer);
            }
            for key in ["rand", "auts", "resStar"] {
                if let Some(value) = members.get_mut(key) {
                    *value = "..".into();
                }
            }
            if members.contains_key("resynchronizationInfo") {
                members.insert("resynchronizationInfo".into(), "..".into());
            }
        }
        document.to_string()
    }
}

fn tai(tai: &Tai) -> String {
    let [a, b, c] = tai.tac.0;
    u32::from_be_bytes([0, a, b, c]).to_string()
}

fn connection(ue: &UeConnection) -> String {
    match (ue.amf, ue.ran) {
        (_, Some(ran)) => format!("RAN-UE-{}", ran.0),
        (Some(amf), None) => format!("AMF-UE-{}", amf.value()),
        (None, None) => "nothing".to_owned(),
    }
}

fn refused(out: &mut String, cause: Cause, faults: &[ElementFault]) {
    add(out, cause.to_string());
    for fault in faults {
        let what = if fault.is_missing {
            "missing"
        } else {
            "not understood"
        };
        add(
            out,
            format!("(element {} {what}, {:?})", fault.id, fault.criticality),
        );
    }
}

fn error(out: &mut String, indication: &ErrorIndication) {
    if let Some(amf) = indication.amf {
        add(out, format!("AMF-UE-{}", amf.value()));
    }
    if let Some(ran) = indication.ran {
        add(out, format!("RAN-UE-{}", ran.0));
    }
    if let Some(cause) = indication.cause {
        add(out, cause.to_string());
    }
}

fn set(set: PduSessionSet) -> String {
    let numbers: Vec<_> = set.iter().map(|id| id.value().to_string()).collect();
    if numbers.is_empty() {
        "none".to_owned()
    } else {
        numbers.join(",")
    }
}

fn sessions(out: &mut String, has: Option<PduSessionSet>, failed: Option<PduSessionSet>) {
    if let Some(has) = has {
        add(out, format!("sessions {}", set(has)));
    }
    if let Some(failed) = failed {
        add(out, format!("not reactivated {}", set(failed)));
    }
}

fn setups(out: &mut String, sessions: &[SessionSetup]) {
    for one in sessions {
        add(out, transfer(one.session, &one.transfer));
    }
}

fn transfers(out: &mut String, sessions: &[SessionTransfer]) {
    for one in sessions {
        add(out, transfer(one.session, &one.transfer));
    }
}

fn transfer(session: PduSessionId, octets: &[u8]) -> String {
    format!(
        "session {} \"{}\"",
        session.value(),
        String::from_utf8_lossy(octets)
    )
}
