//! `kbsync sandbox`: runs a local stand-in for the service, with a dashboard, until Ctrl-C.

use super::{Outcome, context::Context, exit::ExitCode, failure::Failure, print::HELP};
use crate::sandbox::{EmptyPut, ListingEndpoint, Normalise, Options, Paging, Sandbox, Shape};
use serde::Serialize;
use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

/// Runs a local stand-in for the service.
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
    /// Keep the content in this file, and begin with what it holds
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The token that it accepts
    #[arg(long, value_name = "TEXT", default_value = crate::sandbox::TOKEN)]
    accept_token: String,
    /// Where the articles are in the listing's JSON
    #[arg(long, value_enum, default_value_t = ShapeName::Articles, value_name = "SHAPE")]
    shape: ShapeName,
    /// How the listing is split into pages
    #[arg(long, value_enum, default_value_t = PagingName::None, value_name = "HOW")]
    paging: PagingName,
    /// Articles per page
    #[arg(long, value_name = "N", default_value_t = 100)]
    page_size: usize,
    /// Leave the bodies out of the listing
    #[arg(long)]
    no_bodies: bool,
    /// Leave the bodies out of categories too
    #[arg(long)]
    no_category_bodies: bool,
    /// Send an ETag with listings and answer 304
    #[arg(long)]
    etag: bool,
    /// Have no listing endpoint, and answer with this status
    #[arg(long, value_name = "STATUS", value_parser = clap::value_parser!(u16).range(400..600))]
    no_listing: Option<u16>,
    /// Rewrite what is sent, as services do
    #[arg(long, value_enum, value_delimiter = ',', value_name = "HOW")]
    normalise: Vec<Habit>,
    /// Refuse an update that changes nothing with this status: 422 or 403
    #[arg(long, value_name = "STATUS", value_parser = ["422", "403"])]
    refuse_probe: Option<String>,
    /// Requests allowed in a minute; 0: any number
    #[arg(long, value_name = "N", default_value_t = 60)]
    per_minute: u32,
    /// Requests allowed in a day; 0: any number
    #[arg(long, value_name = "N", default_value_t = 1440)]
    per_day: u32,
    /// Invent the same ids each time
    #[arg(long, value_name = "N")]
    id_seed: Option<u64>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum ShapeName {
    /// {"articles": []}
    Articles,
    /// {"data": []}
    Data,
    /// {"base": {"articles": []}}
    BaseArticles,
    /// {"base": [{"articles": []}]}
    BaseArray,
    /// {"categories": [{"articles": []}]}
    Categories,
    /// {"data": {"data": []}}
    DataData,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum PagingName {
    /// Not at all
    None,
    /// By `next_page_url`
    NextPageUrl,
    /// By `links.next`
    LinksNext,
    /// By `meta.current_page` and `meta.last_page`
    Meta,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Habit {
    /// Drop white space at both ends
    Trim,
    /// Take scripts and styles out
    Sanitise,
    /// Write bodies in one line
    OneLine,
    /// Keep slugs in lower case
    LowercaseSlug,
    /// Keep empty texts as null
    EmptyAsNull,
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    service: &'a str,
    token: &'a str,
    workspace: String,
    dashboard: &'a str,
}

pub(super) async fn run(args: Args, context: &Context) -> Outcome {
    let options = options(&args);
    let token = options.token.clone();
    let sandbox = match &args.data {
        Some(path) => Sandbox::load(path, options).map_err(|error| unusable(path, error))?,
        None => Sandbox::new(options),
    };
    let workspace = match sandbox.workspaces().first() {
        Some(kept) => kept.id,
        None => sandbox.seed(args.articles, args.categories),
    };
    if let Some(path) = &args.data {
        // An unwritable file is reported at the start, not after an afternoon's work.
        sandbox.save().map_err(|error| unkept(path, error))?;
    }
    let address = SocketAddr::new(args.bind, args.port);
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .map_err(|error| {
            let message = format!("failed to listen on {address}");
            Failure::failed(anyhow::Error::new(error).context(message))
                .help("choose another port with --port, or 0 for a free one")
        })?;
    let service = format!("http://{}", reachable(listener.local_addr()?));
    announce(context, &service, &token, &workspace.to_string())?;
    sandbox.serve(listener, stopped()).await.map_err(|error| {
        Failure::failed(anyhow::Error::new(error).context("the sandbox stopped"))
    })?;
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
            version: 1,
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

fn options(args: &Args) -> Options {
    let has = |habit| args.normalise.contains(&habit);
    Options {
        shape: match args.shape {
            ShapeName::Articles => Shape::Articles,
            ShapeName::Data => Shape::Data,
            ShapeName::BaseArticles => Shape::BaseArticles,
            ShapeName::BaseArray => Shape::BaseArrayArticles,
            ShapeName::Categories => Shape::CategoriesArticles,
            ShapeName::DataData => Shape::DataData,
        },
        paging: match args.paging {
            PagingName::None => Paging::None,
            PagingName::NextPageUrl => Paging::NextPageUrl,
            PagingName::LinksNext => Paging::LinksNext,
            PagingName::Meta => Paging::Meta,
        },
        page_size: args.page_size.max(1),
        bodies: !args.no_bodies,
        category_bodies: !args.no_category_bodies,
        listing_endpoint: match args.no_listing {
            Some(status) => ListingEndpoint::Missing(status),
            None => ListingEndpoint::Present,
        },
        etag: args.etag,
        normalise: Normalise {
            trim: has(Habit::Trim),
            sanitise: has(Habit::Sanitise),
            one_line: has(Habit::OneLine),
            lowercase_slug: has(Habit::LowercaseSlug),
            empty_as_null: has(Habit::EmptyAsNull),
        },
        empty_put: match args.refuse_probe.as_deref() {
            Some("422") => EmptyPut::Refused422,
            Some(_) => EmptyPut::Forbidden403,
            None => EmptyPut::Ok,
        },
        per_minute: args.per_minute,
        per_day: args.per_day,
        token: args.accept_token.clone(),
        id_seed: args.id_seed,
        ..Options::default()
    }
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn stopped() {
    let interrupted = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "failed to wait for Ctrl-C");
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(error) => {
            tracing::error!(%error, "failed to wait for SIGTERM");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending::<()>().await;
}

fn unusable(path: &std::path::Path, error: std::io::Error) -> Failure {
    let message = format!("failed to read {}", path.display());
    Failure::failed(anyhow::Error::new(error).context(message))
        .help("name another file with --data, or remove this one")
}

fn unkept(path: &std::path::Path, error: std::io::Error) -> Failure {
    let message = format!("failed to write {}", path.display());
    Failure::failed(anyhow::Error::new(error).context(message))
        .help("name a file with --data that can be written, in a folder that can be written")
}
