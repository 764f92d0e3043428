//! Plays a transcript: what happens to an AMF, line by line, and what it does then.

use super::amf::{amf_of, plmn};
use super::gnb::{ToGnb, World, association};
use super::said;
use super::ue::TestUe;
use super::words::Names;
use crate::context::ue::{Amf, Gnb};
use crate::procedures::{n2, namf};
use corewire::Headers;
use corewire_core5g_aka::ServingNetwork;
use corewire_core5g_nas::*;
use corewire_core5g_ngap::*;
use corewire_core5g_runtime::SbiFailure;
use corewire_core5g_sbi::{Multipart, Router};
use corewire_core5g_transcripts::args::{Args, duration, message_name, tac};
use corewire_core5g_transcripts::world::{Answered, Output, Udsf, answer};
use corewire_core5g_transcripts::{self as transcripts, Player as _};
use corewire_guti::Plmn;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An AMF, its gNBs and UEs, and the script.
pub(super) struct Player {
    settings: String,
    world: World,
    amf: Arc<Amf>,
    router: Arc<Router<Amf>>,
    gnbs: BTreeMap<usize, Arc<Gnb>>,
    ues: BTreeMap<usize, TestUe>,
    names: Names,
    next_ran: u32,
    /// What the AMF asked last for a resynchronisation with: RAND and AUTS.
    resynchronisation: Option<(String, String)>,
    /// The UE that is authenticated: its vectors are given.
    challenged: usize,
    confirmed: Option<String>,
}

impl transcripts::Player for Player {
    const OUTPUTS: &'static [&'static str] = &["amf>", "sbi>"];

    /// An AMF with gNB 1, as the first line of a transcript wants it.
    fn new(settings: &str) -> Self {
        let world = World::new("/nudsf-dr/v1/corewire/amf/records");
        let amf = amf_of(settings, &world);
        let mut player = Self {
            settings: settings.to_owned(),
            world,
            router: Arc::new(namf::router(Arc::clone(&amf))),
            amf,
            gnbs: BTreeMap::new(),
            ues: BTreeMap::new(),
            names: Names::default(),
            next_ran: 0,
            resynchronisation: None,
            challenged: 1,
            confirmed: None,
        };
        player.step("gnb: NG SETUP REQUEST");
        let _set_up = player.outputs();
        player
    }

    /// Does what a line says.
    fn step(&mut self, line: &str) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("tick", time) => self.world.pass(duration(time)),
            ("sbi<", rest) => {
                let answered = self.answered(rest);
                self.world.answer(0, answered);
            }
            ("udsf", "serves") => self.world.set_udsf(Udsf::Serves),
            ("udsf", "full") => self.world.set_udsf(Udsf::Full),
            ("udsf", "gone") => self.world.set_udsf(Udsf::Gone),
            ("amf", "restarts") => self.restart(),
            ("nf:", rest) => self.ask(rest),
            (actor, rest) => {
                let actor = actor
                    .strip_suffix(':')
                    .unwrap_or_else(|| panic!("{line:?}"));
                let number = |text: &str| text.parse().unwrap_or(1);
                if let Some(gnb) = actor.strip_prefix("gnb") {
                    self.gnb(number(gnb), rest);
                } else if let Some(ue) = actor.strip_prefix("ue") {
                    self.ue(number(ue), rest);
                } else {
                    panic!("{line:?} begins with no actor");
                }
            }
        }
        self.world.run();
    }

    /// What the AMF has done since it was last asked, a line each.
    fn outputs(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(output) = self.world.output() {
            lines.push(match output {
                Output::Own(ToGnb::N2 { gnb, octets }) => self.n2(gnb, &octets),
                Output::Own(ToGnb::Abort { gnb }) => {
                    format!("amf> ends the association of gnb{gnb}")
                }
                Output::Request { at, request } => {
                    let (_, path, _, body) = request.parts();
                    if path.ends_with("/ue-authentications") {
                        self.note_authentication(&serde_json::from_slice(body).unwrap());
                    }
                    format!("sbi> {}", self.names.request(at.as_deref(), &request))
                }
                Output::Answer(text) => format!("amf> {text}"),
            });
        }
        lines
    }
}

impl Player {
    /// Another process takes the AMF's place: it has nothing but what the UDSF has.
    fn restart(&mut self) {
        self.world.restart();
        self.amf = amf_of(&self.settings, &self.world);
        self.router = Arc::new(namf::router(Arc::clone(&self.amf)));
        self.gnbs.clear();
        self.ues.values_mut().for_each(|ue| ue.ran = None);
        self.step("gnb: NG SETUP REQUEST");
        let _set_up = self.outputs();
    }

    fn note_authentication(&mut self, asked: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let identity = text(&asked["supiOrSuci"]);
        let found = self
            .ues
            .iter()
            .find(|(_, ue)| ue.suci().to_string() == identity);
        self.challenged = found.map_or(1, |(number, _)| *number);
        let info = &asked["resynchronizationInfo"];
        if !info.is_null() {
            self.resynchronisation = Some((text(&info["rand"]), text(&info["auts"])));
        }
    }

    fn n2(&mut self, gnb: usize, octets: &[u8]) -> String {
        let message = NgapMessage::decode(octets).expect("an NGAP message");
        let (ue, nas) = match &message {
            NgapMessage::DownlinkNas(m) => (Some(m.ue), Some(m.nas.clone())),
            NgapMessage::InitialContextSetupRequest(m) => (Some(m.ue), m.nas.clone()),
            NgapMessage::PduSessionResourceSetupRequest(m) => {
                (Some(m.ue), m.sessions[0].nas.clone())
            }
            NgapMessage::PduSessionResourceModifyRequest(m) => {
                (Some(m.ue), m.sessions[0].nas.clone())
            }
            NgapMessage::PduSessionResourceReleaseCommand(m) => (Some(m.ue), m.nas.clone()),
            NgapMessage::UeContextReleaseCommand(UeContextReleaseCommand {
                ue: UeIds::Pair(pair),
                ..
            }) => (Some(*pair), None),
            _ => (None, None),
        };
        let named = ue.and_then(|pair| {
            let served = |ue: &&mut TestUe| ue.gnb == gnb && ue.ran == Some(pair.ran.0);
            let mut ues = self.ues.iter_mut().map(|(number, ue)| (*number, ue));
            let (number, found) = ues.find(|(_, ue)| served(ue))?;
            found.amf = Some(pair.amf);
            Some((number, found))
        });
        let whose = match &named {
            Some((1, _)) | None => String::new(),
            Some((number, _)) => format!(" (ue{number})"),
        };
        let by = match (gnb, &named) {
            (1, _) => String::new(),
            (_, Some(_)) => String::new(),
            (gnb, None) => format!(" (gnb{gnb})"),
        };
        let is_carried = matches!(message, NgapMessage::DownlinkNas(_));
        let mut text = if is_carried {
            String::new()
        } else {
            self.names.ngap(&message)
        };
        if let Some((_, ue)) = named {
            if let NgapMessage::InitialContextSetupRequest(request) = &message {
                let security = ue.security.as_ref().expect("a UE with keys");
                let kgnb = security.kgnb(ue.access_count);
                assert_eq!(kgnb.as_bytes(), request.kgnb.as_bytes(), "the gNB's key");
            }
            if let Some(nas) = nas {
                let nas = self.names.nas(ue, &nas);
                text += &if is_carried { nas } else { format!(": {nas}") };
            }
        }
        format!("amf> {text}{whose}{by}")
    }

    /// What a gNB does.
    fn gnb(&mut self, number: usize, line: &str) {
        if line == "ends" {
            let gnb = self.gnbs.remove(&number).expect("a gNB");
            return n2::ended(&self.amf, &gnb);
        }
        let (name, args) = message_name(line);
        if !self.gnbs.contains_key(&number) {
            let peer = [127, 0, 0, number as u8].into();
            let association = association(&self.world, number);
            let gnb = self.amf.gnbs.accept(peer, association).expect("room");
            self.amf.numbers.gnbs.up();
            self.gnbs.insert(number, gnb);
        }
        if let Some(octets) = args.value("octets") {
            let octets: Vec<u8> = (0..octets.len() / 2)
                .map(|at| u8::from_str_radix(&octets[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            return n2::handle(&self.amf, &self.gnbs[&number], 0, &octets);
        }
        let ue_number = args.value("ue").map_or(1, |ue| ue.parse().unwrap());
        let ue = self.ues.get(&ue_number);
        let pair = || {
            let ue = ue.expect("a UE");
            UePair {
                amf: ue.amf.expect("a UE that the AMF has named"),
                ran: RanUeNgapId(ue.ran.expect("a UE with a connection")),
            }
        };
        let transfers = |key: &str| -> Vec<SessionTransfer> {
            let sessions = args.set(key).unwrap_or_default();
            let one = |session: PduSessionId| SessionTransfer {
                session,
                transfer: args.text(),
            };
            sessions.iter().map(one).collect()
        };
        let message: NgapMessage = match name {
            "NG SETUP REQUEST" => NgSetupRequest {
                gnb: GnbId {
                    plmn: plmn(),
                    value: number as u32,
                    bits: 24,
                },
                name: None,
                areas: vec![area(
                    args.value("tac").unwrap_or("1"),
                    args.value("plmn")
                        .map_or_else(plmn, |other| other.parse().unwrap()),
                )],
            }
            .into(),
            "RAN CONFIGURATION UPDATE" => RanConfigurationUpdate {
                name: args.value("name").map(str::to_owned),
                areas: args.value("tac").map(|code| vec![area(code, plmn())]),
            }
            .into(),
            "NG RESET" => NgReset {
                cause: Cause::UNSPECIFIED,
                scope: if args.has("all") {
                    ResetScope::All
                } else {
                    ResetScope::Ues(vec![UeConnection {
                        amf: None,
                        ran: Some(pair().ran),
                    }])
                },
            }
            .into(),
            "ERROR INDICATION" => ErrorIndication {
                amf: Some(pair().amf),
                ran: Some(pair().ran),
                cause: Some(Cause::UNKNOWN_LOCAL_UE_ID),
            }
            .into(),
            "INITIAL CONTEXT SETUP RESPONSE" => InitialContextSetupResponse {
                ue: pair(),
                set_up: transfers("sessions"),
                failed: transfers("failed"),
            }
            .into(),
            "INITIAL CONTEXT SETUP FAILURE" => InitialContextSetupFailure {
                ue: pair(),
                cause: Cause::RADIO_RESOURCES,
            }
            .into(),
            "PDU SESSION RESOURCE SETUP RESPONSE" => PduSessionResourceSetupResponse {
                ue: pair(),
                set_up: transfers("sessions"),
                failed: transfers("failed"),
            }
            .into(),
            "PDU SESSION RESOURCE MODIFY RESPONSE" => PduSessionResourceModifyResponse {
                ue: pair(),
                modified: transfers("sessions"),
                failed: transfers("failed"),
            }
            .into(),
            "PDU SESSION RESOURCE RELEASE RESPONSE" => PduSessionResourceReleaseResponse {
                ue: pair(),
                released: transfers("sessions"),
            }
            .into(),
            "UE CONTEXT RELEASE REQUEST" => UeContextReleaseRequest {
                ue: pair(),
                sessions: Vec::new(),
                cause: Cause::USER_INACTIVITY,
            }
            .into(),
            "UE CONTEXT RELEASE COMPLETE" => {
                let complete = UeContextReleaseComplete {
                    ue: pair(),
                    sessions: Vec::new(),
                };
                self.ues.get_mut(&ue_number).unwrap().ran = None;
                complete.into()
            }
            other => panic!("{other:?} is nothing that a gNB says here"),
        };
        let mut octets = message.encode().unwrap();
        if let Some(element) = args.value("without") {
            // Its identifier becomes one that no specification has.
            let id = element.parse::<u16>().unwrap().to_be_bytes();
            let at = octets
                .windows(2)
                .position(|two| two == id)
                .expect("the element");
            octets[at] = 0xfe;
        }
        n2::handle(&self.amf, &self.gnbs[&number], 1, &octets);
    }

    /// What a UE does.
    fn ue(&mut self, number: usize, line: &str) {
        let ue = self
            .ues
            .entry(number)
            .or_insert_with(|| TestUe::new(number));
        match line {
            "is out of step" => return ue.desynchronise(),
            "forgets its keys" => return ue.forget(),
            "leaves" => {
                ue.ran = None;
                return;
            }
            _ => {}
        }
        let (name, args) = message_name(line);
        if let Some(gnb) = args.value("gnb") {
            ue.gnb = gnb.parse().unwrap();
            ue.ran = None;
        }
        let is_new = ue.ran.is_none();
        let octets = match line {
            "says it again" => ue.last_said.clone(),
            _ => {
                let message = said::message(ue, name, &args);
                if args.has("plain") {
                    message.encode().unwrap()
                } else {
                    ue.protect(&message, is_new)
                }
            }
        };
        ue.last_said.clone_from(&octets);
        let octets = if args.has("damaged") {
            octets
                .iter()
                .enumerate()
                .map(|(at, o)| if at == 3 { !o } else { *o })
                .collect()
        } else {
            octets
        };
        let ran = *ue.ran.get_or_insert_with(|| {
            self.next_ran += 1;
            self.next_ran
        });
        let location = Location {
            cell: NrCell {
                plmn: plmn(),
                value: 1,
            },
            tai: Tai {
                plmn: args
                    .value("plmn")
                    .map_or_else(plmn, |other| other.parse().unwrap()),
                tac: tac(args.value("tac").unwrap_or("1")),
            },
        };
        let message: NgapMessage = if is_new {
            InitialUeMessage {
                ran: RanUeNgapId(ran),
                nas: octets,
                location,
                establishment: EstablishmentCause::Signalling,
                s_tmsi: ue.guti.filter(|_| !args.has("suci")).map(STmsi::of),
                context_requested: true,
            }
            .into()
        } else {
            UplinkNas {
                ue: UePair {
                    amf: ue.amf.expect("a UE that the AMF has named"),
                    ran: RanUeNgapId(ran),
                },
                nas: octets,
                location,
            }
            .into()
        };
        let octets = message.encode().unwrap();
        n2::handle(&self.amf, &self.gnbs[&ue.gnb], 1, &octets);
    }

    /// What another network function answers.
    fn answered(&mut self, text: &str) -> Answered {
        let (status, rest) = text.split_once(' ').unwrap_or((text, ""));
        if status == "none" {
            return Err(SbiFailure::local("nobody answers"));
        }
        let status: u16 = status.parse().unwrap();
        let args = Args::new(rest);
        let n1 = args.value("n1").map(str::to_owned);
        if status >= 400 {
            let failure = SbiFailure::answered(status, args.0.first().copied().unwrap_or_default());
            return Err(match n1 {
                Some(n1) => {
                    let parts =
                        Multipart::new(&json!({})).with("n1", "application/vnd.3gpp.5gnas", n1);
                    let (content_type, body) = parts.encode();
                    failure.with_answer(&content_type, body)
                }
                None => failure,
            });
        }
        let mut headers = Headers::new();
        if let Some(location) = args.value("location") {
            headers.append("location", location).unwrap();
        }
        let ue = self
            .ues
            .entry(self.challenged)
            .or_insert_with(|| TestUe::new(1));
        let document = match args.0.first().copied().unwrap_or_default() {
            "challenge" => {
                if let Some((rand, auts)) = self.resynchronisation.take() {
                    ue.resynchronise(&rand, &auts);
                }
                let vector = ue.vector(!args.has("again"));
                let network = ServingNetwork::of(plmn());
                self.confirmed = Some(vector.kausf.kseaf(&network).to_hex());
                json!({
                    "5gAuthData": {
                        "rand": vector.rand.to_hex(),
                        "autn": vector.autn.to_hex(),
                        "hxresStar": vector.hxres_star().to_hex(),
                    },
                    "_links": {"5g-aka": {"href": "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation"}},
                    "authCtxId": "1",
                })
            }
            "confirmed" => json!({
                "authResult": "AUTHENTICATION_SUCCESS",
                "supi": ue.supi.to_string(),
                "kseaf": self.confirmed,
            }),
            "failed" => json!({"authResult": "AUTHENTICATION_FAILURE"}),
            "am-data" => {
                let slices = args.slices("slices").into_iter();
                let slices: Vec<_> = slices.map(|slice| json!({"sst": slice.sst})).collect();
                json!({"nssai": {"defaultSingleNssais": slices}})
            }
            "smf-select-data" => {
                let dnn = args.value("default");
                let infos = json!([
                    {"dnn": "another"},
                    {"dnn": dnn, "defaultDnnIndicator": dnn.is_some()},
                ]);
                json!({"subscribedSnssaiInfos": {"2": {}, "1": {"dnnInfos": infos}}})
            }
            "located" => json!({"subscription": {"nssai": {"singleNssais": [{"sst": 1}]}}}),
            _ => json!({}),
        };
        if n1.is_some() || args.value("n2").is_some() {
            let mut parts = Multipart::new(&json!({"n2SmInfoType": args.value("n2")}));
            if let Some(n1) = n1 {
                parts = parts.with("n1", "application/vnd.3gpp.5gnas", n1);
            }
            if args.value("n2").is_some() {
                parts = parts.with("n2", "application/vnd.3gpp.ngap", args.text());
            }
            let (content_type, body) = parts.encode();
            headers.append("content-type", &content_type).unwrap();
            return Ok((answer(status, headers, body), None));
        }
        let body = match status {
            204 => String::new(),
            _ => document.to_string(),
        };
        let root = args.value("root").map(str::to_owned);
        Ok((answer(status, headers, body.into()), root))
    }

    /// Another network function asks the AMF: method, path, and a document or parts.
    fn ask(&mut self, line: &str) {
        let (path, rest) = line.split_once(' ').unwrap_or((line, ""));
        let args = Args::new(rest);
        let (content_type, body) = if rest.starts_with('{') {
            ("application/json".to_owned(), rest.to_owned().into())
        } else {
            said::transfer(&args)
        };
        let asked = (content_type.as_str(), body);
        transcripts::words::ask(&self.world, &self.router, path, asked, |_, _| String::new());
    }
}

fn area(code: &str, plmn: Plmn) -> SupportedArea {
    SupportedArea {
        tac: tac(code),
        plmns: vec![PlmnSlices {
            plmn,
            slices: vec!["01".parse().unwrap()],
        }],
    }
}
