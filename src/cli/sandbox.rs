//! `kbsync sandbox`: runs a local stand-in for the service, with a dashboard, until Ctrl-C.

use super::{ExitCode, Outcome, context::Context, failure::Failure, print::HELP};
use crate::sandbox::{Options, Sandbox};
use anyhow::Context as _;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use tokio::signal::unix::{SignalKind, signal};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The port; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 7580)]
    port: u16,
    /// The address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// How many articles to invent
    #[arg(long, value_name = "N", default_value_t = 25)]
    articles: usize,
    /// How many categories to invent
    #[arg(long, value_name = "N", default_value_t = 4)]
    categories: usize,
    /// The token that it accepts
    #[arg(long, value_name = "TEXT", default_value = crate::sandbox::TOKEN)]
    accept_token: String,
    /// Requests allowed in a minute; 0: any number
    #[arg(long, value_name = "N", default_value_t = 60)]
    per_minute: u32,
    /// Requests allowed in a day; 0: any number
    #[arg(long, value_name = "N", default_value_t = 1440)]
    per_day: u32,
}

#[derive(Serialize)]
struct Report<'a> {
    service: &'a str,
    token: &'a str,
    workspace: String,
    dashboard: &'a str,
}

pub(super) async fn run(args: Args, context: &Context) -> Outcome {
    let token = args.accept_token.clone();
    let options = Options {
        per_minute: args.per_minute,
        per_day: args.per_day,
        token: args.accept_token,
        ..Options::default()
    };
    let sandbox = Sandbox::new(options);
    let workspace = sandbox.seed(args.articles, args.categories);
    let address = SocketAddr::new(args.bind, args.port);
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("failed to listen on {address}"));
    let listener = listener.map_err(|error| {
        Failure::from(error).help("choose another port with --port, or 0 for a free one")
    })?;
    let bound = listener.local_addr().context("failed to read the port")?;
    let service = format!("http://{}", reachable(bound));
    announce(context, &service, &token, &workspace.to_string())?;
    let served = sandbox.serve(listener, stopped()).await;
    served.context("the sandbox stopped")?;
    Ok(ExitCode::Done)
}

/// Returns an address that a browser on this machine can open.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), address.port())
    } else {
        address
    }
}

fn announce(context: &Context, service: &str, token: &str, workspace: &str) -> Result<(), Failure> {
    let dashboard = format!("{service}/");
    if context.out.json {
        return Ok(context.out.json(&Report {
            service,
            token,
            workspace: workspace.to_owned(),
            dashboard: &dashboard,
        })?);
    }
    for line in [
        format!("service    {service}"),
        format!("token      {token}"),
        format!("workspace  {workspace}"),
        format!("dashboard  {dashboard}"),
        String::new(),
        format!("{HELP}in an empty folder:{HELP:#}"),
        format!("  export KBSYNC_TOKEN={token}"),
        format!("  kbsync init --service {service} --workspace {workspace}"),
    ] {
        context.out.line(line)?;
    }
    context.out.note("Ctrl-C ends it");
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn stopped() {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
        tracing::error!("failed to wait for Ctrl-C");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
