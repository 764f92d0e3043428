//! Plays a transcript: what happens to an SMF, line by line, and what it does then.

use super::said;
use super::smf::{World, gateway_of, replica_of};
use super::words;
use crate::context::gateway::Gateway;
use crate::context::replica::Replica;
use crate::procedures::{gateway, nsmf};
use corewire::Headers;
use corewire_core5g_runtime::SbiFailure;
use corewire_core5g_sbi::Router;
use corewire_core5g_transcripts as transcripts;
use corewire_core5g_transcripts::args::{Args, duration, message_name};
use corewire_core5g_transcripts::words::ask;
use corewire_core5g_transcripts::world::{Answered, Output, Udsf, answer};
use std::sync::Arc;

const CONTEXTS: &str = "/nsmf-pdusession/v1/sm-contexts";

/// The half of an SMF that a transcript is about.
enum Half {
    Replica(Arc<Router<Replica>>),
    Gateway(Arc<Router<Gateway>>),
}

/// An SMF and the script.
pub(super) struct Player {
    settings: String,
    world: World,
    half: Half,
    /// References of earlier processes have numbers below.
    before: u64,
}

impl transcripts::Player for Player {
    const OUTPUTS: &'static [&'static str] = &["smf>", "sbi>"];

    /// A replica that has found nothing in the store and nothing at the UPF; or the gateway.
    fn new(settings: &str) -> Self {
        let world = World::new("/nudsf-dr/v1/corewire/smf/records");
        let args = Args::new(settings);
        let half = match args.value("half") {
            Some("gateway") => Half::Gateway(Arc::new(gateway::router(gateway_of(&world)))),
            _ => Half::Replica(Arc::new(nsmf::router(replica_of(settings, 0, &world)))),
        };
        let is_replica = matches!(half, Half::Replica(_));
        let mut player = Self {
            settings: settings.to_owned(),
            world,
            half,
            before: 0,
        };
        player.world.run();
        if is_replica {
            player.step("sbi< 200 sessions");
            let _recovered = player.outputs();
        }
        player
    }

    fn step(&mut self, line: &str) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("tick", time) => self.world.pass(duration(time)),
            ("sbi<", rest) => self.world.answer(0, answered(rest)),
            ("sbi<2", rest) => self.world.answer(1, answered(rest)),
            ("udsf", "serves") => self.world.set_udsf(Udsf::Serves),
            ("udsf", "full") => self.world.set_udsf(Udsf::Full),
            ("udsf", "gone") => self.world.set_udsf(Udsf::Gone),
            ("udsf", rest) => self.store(rest.strip_prefix("has ").expect("what it has")),
            ("smf", "restarts") => self.restart(),
            (actor, rest) => {
                let actor = actor.strip_suffix(':').expect("an actor");
                self.act(actor, rest);
            }
        }
        self.world.run();
    }

    fn outputs(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(output) = self.world.output() {
            let line = match output {
                Output::Request { at, request } => {
                    format!("sbi> {}", words::request(at.as_deref(), &request))
                }
                Output::Answer(text) => format!("smf> {text}"),
                Output::Own(()) => continue,
            };
            lines.push(words::named(&line));
        }
        lines
    }
}

impl Player {
    /// Another process takes the replica's place: it has nothing but what the UDSF has.
    fn restart(&mut self) {
        self.world.restart();
        self.before += 100;
        let replica = replica_of(&self.settings, self.before, &self.world);
        self.half = Half::Replica(Arc::new(nsmf::router(replica)));
    }

    /// The UDSF has what another replica has stored.
    fn store(&self, line: &str) {
        let args = Args::new(line);
        let name = args.0[0];
        let record = said::record(name, &args).to_string();
        self.world.store(&words::reference(name), record.into());
    }

    fn act(&self, actor: &str, line: &str) {
        let (name, args) = message_name(line);
        let words = Args::new(line);
        let context = words.0.iter().find(|word| is_context(word));
        let reference = words::reference(context.copied().unwrap_or("context-1"));
        let of_context = |operation: &str| format!("{CONTEXTS}/{reference}/{operation}");
        let callback = |what: &str| format!("/nsmf-callback/v1/{reference}/{what}");
        let empty = || ("application/json".to_owned(), "{}".to_owned().into());
        let (path, body) = match (actor, words.0[0]) {
            ("gnb", kind) => (of_context("modify"), said::update_n2(kind, &words)),
            ("amf", "UpdateSMContext") => (of_context("modify"), said::update(&words)),
            ("amf", "ReleaseSMContext") => (of_context("release"), empty()),
            ("amf", "N1N2TransferFailureNotification") => (
                callback("n1-n2-failure-notify"),
                said::not_transferred(&words),
            ),
            ("udm", "DeregistrationNotification") => (callback("dereg-notify"), empty()),
            (ue, _) => {
                let ue = ue.strip_prefix("ue");
                let ue = ue.unwrap_or_else(|| panic!("{line:?} is of no actor"));
                match (name, context) {
                    ("PDU SESSION ESTABLISHMENT REQUEST", None) => {
                        let created = said::create(ue.parse().unwrap_or(1), name, &args);
                        (CONTEXTS.to_owned(), created)
                    }
                    _ => (of_context("modify"), said::update_n1(name, &args)),
                }
            }
        };
        let asked = (body.0.as_str(), body.1);
        match &self.half {
            Half::Replica(router) => ask(&self.world, router, &path, asked, words::answer),
            Half::Gateway(router) => ask(&self.world, router, &path, asked, words::answer),
        }
    }
}

/// Whether a word names a context; a `strange-1` is no reference.
fn is_context(word: &str) -> bool {
    let kinds = ["context-", "other-", "strange-"];
    kinds.iter().any(|kind| word.starts_with(kind))
}

/// What another network function answers.
fn answered(text: &str) -> Answered {
    let (status, rest) = text.split_once(' ').unwrap_or((text, ""));
    match status {
        "none" => return Err(SbiFailure::local("no answer")),
        "unsent" => return Err(SbiFailure::not_sent()),
        _ => {}
    }
    let status: u16 = status.parse().unwrap();
    let args = Args::new(rest);
    let what = args.0.first().copied().unwrap_or_default();
    if status >= 400 {
        return Err(SbiFailure::answered(status, what));
    }
    let body = match status {
        204 => String::new(),
        _ if what.starts_with('{') => rest.to_owned(),
        _ => said::answered(what, &args).to_string(),
    };
    let mut headers = Headers::new();
    headers.append("content-type", "application/json").unwrap();
    Ok((answer(status, headers, body.into()), None))
}
