//! `corewire control status`: what a running control plane tells of itself.

use super::ASKED;
use crate::generated::control::{ClientStatus, StatusRequest, StatusResponse, TypeStatus};
use crate::service::STATUS;
use anyhow::Context;
use clap::Args;
use corewire_message::Request;
use corewire_message::blocking::Caller;
use corewire_transport::blocking::Client;
use corewire_transport::tls::{ClientTls, Files};
use corewire_transport::{ClientOptions, Endpoint};
use prost::Message;
use std::fmt::Write;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Services that are printed without `--json`.
const PRINTED: usize = 40;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Where it listens: HOST:PORT or unix:PATH
    #[arg(long, default_value = ASKED, value_name = "ADDRESS")]
    at: String,
    /// Whose certificates are believed: the control plane is asked by TLS then
    #[arg(long, value_name = "FILE")]
    tls_authorities: Option<PathBuf>,
    /// A certificate to present
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_authorities"])]
    tls_certificate: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

#[expect(clippy::disallowed_methods, reason = "the driver's clock")]
pub(super) fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let endpoint: Endpoint = match args.at.strip_prefix("unix:") {
        Some(path) => format!("native+unix:{path}").parse()?,
        None => format!("native://{}", args.at).parse()?,
    };
    let mut options = ClientOptions::default();
    options.connect_timeout = Duration::from_secs(2);
    if let Some(authorities) = &args.tls_authorities {
        let mut files = Files::new().with_authorities(authorities);
        files.certificate.clone_from(&args.tls_certificate);
        files.key.clone_from(&args.tls_key);
        options.tls = Some(ClientTls::new(files)?);
    }
    let client = Client::new(endpoint, options);
    let request = Request::new(STATUS)
        .with_body(StatusRequest {}.encode_to_vec())
        .with_deadline(Instant::now() + Duration::from_secs(5));
    let response = client.call(request).with_context(|| {
        format!(
            "no control plane answers at {}; give its address with --at",
            args.at
        )
    })?;
    let response = response
        .into_result()
        .with_context(|| format!("{} is no control plane", args.at))?;
    let status = StatusResponse::decode(response.body.into_bytes())
        .context("its answer cannot be read: it is of another version")?;
    let text = if args.json {
        serde_json::to_string_pretty(&status)?
    } else {
        text_of(&status)
    };
    // A reader that has seen enough is no fault.
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The same for people.
fn text_of(status: &StatusResponse) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_all(&mut text, status);
    text
}

fn write_all(text: &mut String, status: &StatusResponse) -> std::fmt::Result {
    writeln!(
        text,
        "{}: generation {}, up {} s, {} reloads, {} refused",
        status.config_file,
        status.generation,
        status.uptime_ms / 1000,
        status.reloads,
        status.refused_reloads
    )?;
    if !status.faults.is_empty() {
        writeln!(text, "  the file is refused, what was served before stays:")?;
        for fault in &status.faults {
            writeln!(text, "    {fault}")?;
        }
    }
    if !status.store_fault.is_empty() {
        writeln!(
            text,
            "  the state cannot be written: {}",
            status.store_fault
        )?;
    }
    writeln!(
        text,
        "\n{} services, {} registered instances",
        status.services.len(),
        status.instances
    )?;
    for service in status.services.iter().take(PRINTED) {
        writeln!(
            text,
            "  {:<32} {:>5} listed {:>5} registered   endpoints {}",
            service.name, service.listed, service.registered, service.version
        )?;
    }
    if status.services.len() > PRINTED {
        let more = status.services.len() - PRINTED;
        writeln!(text, "  … and {more} more (--json prints all)")?;
    }
    writeln!(text, "\n{} xDS clients", status.clients.len())?;
    for client in &status.clients {
        write_client(text, client)?;
    }
    if status.left_out > 0 {
        writeln!(
            text,
            "\n{} services or clients are left out",
            status.left_out
        )?;
    }
    Ok(())
}

fn write_client(text: &mut String, client: &ClientStatus) -> std::fmt::Result {
    let sidecar = match &*client.sidecar {
        "" => String::new(),
        sidecar => format!(", sidecar {sidecar}"),
    };
    writeln!(
        text,
        "  {} at {}: {} ({}{sidecar}), {}, for {} s",
        client.node_id,
        client.peer,
        client.user_agent,
        client.kind,
        client.variant,
        client.connected_ms / 1000
    )?;
    for kind in &client.types {
        write_type(text, kind)?;
    }
    for notice in &client.notices {
        writeln!(text, "    note: {notice}")?;
    }
    Ok(())
}

fn write_type(text: &mut String, kind: &TypeStatus) -> std::fmt::Result {
    let asked = match (kind.wildcard, kind.subscribed) {
        (true, _) => "all".to_owned(),
        (false, count) => format!("{count} named"),
    };
    let state = if kind.outstanding {
        "on its way"
    } else if kind.acked_version == kind.sent_version {
        "taken"
    } else if kind.refused_version == kind.sent_version {
        "REFUSED"
    } else if kind.acks + kind.nacks == 0 {
        "known from before"
    } else {
        "given up waiting"
    };
    writeln!(
        text,
        "    {} {asked:<12} sent {} {state}; {} ACK, {} NACK",
        kind.r#type, kind.sent_version, kind.acks, kind.nacks
    )?;
    if !kind.refusal.is_empty() {
        writeln!(
            text,
            "        last refused {}: {}",
            kind.refused_version, kind.refusal
        )?;
    }
    Ok(())
}
