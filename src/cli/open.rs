//! `kbsync open`: opens an article's public page, whose address comes from the service in one request.

use super::{
    ExitCode, Outcome, connect::connect, context::Context, failure::Failure, version_spec::lookup,
};
use crate::{
    config::Need,
    model::ArticleId,
    service::{ErrorKind, Purpose, ServiceRead as _},
};
use serde::Serialize;
use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::{Command, Stdio},
};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file, or an article's id
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print the page's address, and open nothing
    ///
    /// The address is also printed when stdout is not a terminal. The program that opens the page is the command in
    /// BROWSER, or xdg-open.
    #[arg(long)]
    print: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    path: &'a str,
    id: ArticleId,
    url: &'a str,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let named = lookup(context, &config, &args.path)?;
    let id = named.history.article().ok_or_else(|| {
        Failure::usage(
            format!("{} is no article of the service", named.name),
            "only an article has a public page; `kbsync sync` makes one of a new file",
        )
    })?;
    let client = connect(context, &config)?;
    let article = match client.article(id, Purpose::Push).await {
        Ok(article) => article,
        Err(error) if error.kind == ErrorKind::NotFound => {
            // A missing workspace gives the same answer, so the workspace is checked first.
            client.workspace(named.part.root.workspace).await?;
            let message = format!("{} has no public page", named.name);
            let help = "the article is hidden, or it was deleted; `kbsync status` says which";
            return Err(Failure::failed(message, help));
        }
        Err(error) => return Err(error.into()),
    };
    // Another scheme could make the browser run something.
    let is_page = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    let url = article.figures.and_then(|figures| figures.full_url);
    let url = url.filter(is_page).ok_or_else(|| {
        let name = &named.name;
        Failure::failed(
            format!("the service does not say where the public page of {name} is"),
            "look for it in the dashboard",
        )
    })?;
    if context.out.json {
        context.out.json(&Report {
            path: &named.now_at().unwrap_or(named.name),
            id,
            url: &url,
        })?;
        return Ok(ExitCode::Done);
    }
    if args.print || !io::stdout().is_terminal() || !opened(context, &url) {
        context.out.line(url)?;
    } else {
        context.out.line(format!("opened {url}"))?;
    }
    Ok(ExitCode::Done)
}

/// Opens an address in the browser, and returns whether that succeeded.
fn opened(context: &Context, url: &str) -> bool {
    let browser = (context.env)("BROWSER").filter(|name| !name.trim().is_empty());
    let browser = browser.unwrap_or_else(|| "xdg-open".to_owned());
    let ended = Command::new(browser.trim())
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}
