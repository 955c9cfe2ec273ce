//! `kbsync init`: makes a folder a mirror.
//!
//! Everything is checked before the settings are written, and an existing file is never overwritten. If the folder
//! has files already, a person must agree to what a sync would create from them.

use super::{
    ExitCode, Outcome,
    ask::{self, Chosen},
    conflict_copies,
    context::Context,
    failure::Failure,
    first_sync_preview::{Counts, FirstSyncPreview},
    git_head,
};
use crate::{
    config::{
        self, NewSettings, consent::agree_to_own, parse_poll, parse_service, parse_workspace,
    },
    model::WorkspaceId,
};
use serde::Serialize;
use std::path::Path;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The service's address [default: KBSYNC_SERVICE]
    #[arg(long, value_name = "URL")]
    service: Option<String>,
    /// The workspace's id [default: KBSYNC_WORKSPACE]
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
    /// When the service is asked for changes: 5m, or a cron line
    #[arg(long, value_name = "WHEN")]
    poll: Option<String>,
    /// Agree to make a mirror of a folder that has files already, without a question
    #[arg(short, long)]
    yes: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    path: &'a Path,
    service: &'a str,
    workspace: WorkspaceId,
    found: Counts,
}

pub(super) async fn run(args: Args, context: &Context) -> Outcome {
    let folder = config::new_mirror(&context.request());
    refuse_occupied(&folder)?;
    if let Some(poll) = &args.poll {
        parse_poll(poll).map_err(|wrong| wrong.given_by("--poll"))?;
    }
    let found = FirstSyncPreview::from(&folder)?;
    if found.has_any() && !args.yes && !is_meant(&found, context)? {
        context.out.note("nothing was written");
        return Ok(ExitCode::Attention);
    }
    let settings = chosen(args, &folder, context).await?;
    let user_state_dir = config::user_state_dir(context.request().env)?;
    // The settings make the folder a mirror, so they come last: an `init` that was killed before that can be run again.
    conflict_copies::hide(&folder, context);
    let path = config::create(&folder, &settings)?;
    // The user chose the service: that is consent.
    agree_to_own(&user_state_dir, &folder, &settings.service)?;
    if context.out.json {
        context.out.json(&Report {
            path: &path,
            service: &settings.service,
            workspace: settings.workspace,
            found: found.counts(),
        })?;
    } else {
        context.out.line(path.display().to_string())?;
        let next = if config::token_from_environment(&context.request()).is_some() {
            "next: `kbsync doctor` checks the set-up, `kbsync sync` starts the first sync"
        } else {
            "next: set KBSYNC_TOKEN and run `kbsync sync`; or write `token:` into the file and run `kbsync trust`, then `kbsync sync`"
        };
        context.out.note(next);
    }
    Ok(ExitCode::Done)
}

/// Refuses a folder that is a mirror, is in one, or contains one (failures row 120).
fn refuse_occupied(folder: &Path) -> Result<(), Failure> {
    let own = folder.join(config::SETTINGS_FILE);
    if own.exists() {
        return Err(Failure::usage(
            format!(
                "{}: the settings exist already, and are not overwritten",
                own.display()
            ),
            "edit the file, or remove it first",
        ));
    }
    match config::overlapping_mirror(folder) {
        None => Ok(()),
        Some(other) => Err(Failure::usage(
            format!(
                "{} would overlap with the mirror of {}",
                folder.display(),
                other.display()
            ),
            "choose a folder outside of it with -C; several workspaces of one mirror are listed under `workspaces:`",
        )),
    }
}

/// Asks whether the files in the folder are meant for the service.
fn is_meant(found: &FirstSyncPreview, context: &Context) -> Result<bool, Failure> {
    context.out.note(format!(
        "This folder is not empty. The first sync would create up to {}, and pair those that the service has:",
        found.in_words()
    ));
    for line in found.lines() {
        context.out.note(line);
    }
    if ask::possible() && !context.out.json {
        return ask::agrees("Make this folder a mirror?");
    }
    Err(Failure::usage(
        format!(
            "this folder is not empty: the first sync would create up to {}",
            found.in_words()
        ),
        format!(
            "list the files to leave out in .kbsyncignore, then agree with:\n  {}",
            ask::again()
        ),
    ))
}

async fn chosen(args: Args, folder: &Path, context: &Context) -> Result<NewSettings, Failure> {
    let given = |flag: Option<String>, name: &'static str, variable: &'static str| match flag {
        Some(value) => Some((value, name)),
        None => (context.env)(variable)
            .filter(|value| !value.trim().is_empty())
            .map(|value| (value, variable)),
    };
    let insecure = context.global.insecure_http;
    let service = match given(args.service, "--service", "KBSYNC_SERVICE") {
        Some((text, from)) => {
            Some(parse_service(&text, insecure).map_err(|wrong| wrong.given_by(from))?)
        }
        None => None,
    };
    let workspace = match given(args.workspace, "--workspace", "KBSYNC_WORKSPACE") {
        Some((text, from)) => Some(parse_workspace(&text).map_err(|wrong| wrong.given_by(from))?),
        None => None,
    };
    let asks = ask::possible() && !context.out.json;
    let service = match service {
        Some(service) => service,
        None if asks => ask::service(insecure)?,
        None => return Err(missing()),
    };
    let chosen = if let Some(id) = workspace {
        ask::known(&service, id, context).await?;
        Chosen { id, name: None }
    } else {
        let chosen = ask::workspace(&service, asks, context).await?;
        chosen.ok_or_else(missing)?
    };
    Ok(NewSettings {
        service,
        workspace: chosen.id,
        name: chosen.name,
        poll: args.poll,
        branch: git_head::chosen(folder, asks, context)?,
    })
}

fn missing() -> Failure {
    Failure::usage(
        "the service or the workspace is missing, and there is no terminal to ask on",
        "write `kbsync init --service URL --workspace ID`; with the token in KBSYNC_TOKEN, your only workspace needs no \
         `--workspace`, and `KBSYNC_SERVICE=URL kbsync workspaces` lists the ids",
    )
}
