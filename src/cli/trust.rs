//! `kbsync trust`: agrees to the settings of a folder, lists agreements, revokes them.
//!
//! The command sends and runs nothing, and reads only the settings and the records.

use super::{
    ExitCode, Outcome, consent, context::Context, failure::Failure, layout::Column, pager,
    print::escape,
};
use crate::config::{
    self, Config, Need,
    consent::{Agreement, agreements, revoke},
};
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The mirror's folder [default: as for every command]
    #[arg(value_name = "DIR", conflicts_with = "list")]
    folder: Option<PathBuf>,
    /// List all agreements
    #[arg(long)]
    list: bool,
    /// Revoke the agreement
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    if args.list {
        return list(context);
    }
    if args.folder.is_some() && context.global.config.is_some() {
        return Err(Failure::usage(
            "DIR and `--config` both name the folder",
            "leave out one of them",
        ));
    }
    if args.revoke {
        return take_back(args, context);
    }
    let mut request = context.request();
    if args.folder.is_some() {
        request.dir = args.folder.as_deref();
    }
    let config = Config::load(&request, Need::Service)?;
    let Some(asked) = &config.asked else {
        return Err(Failure::usage(
            format!("{} has no settings to agree to", config.mirror.display()),
            "name a folder with a kbsync.yaml; a service and a token from the environment need no consent",
        ));
    };
    let agreement = asked.agree(&config.user_state_dir)?;
    if context.out.json {
        return print(context, "agree", &[agreement]);
    }
    for line in consent::shown(&config, asked) {
        context.out.line(line)?;
    }
    context
        .out
        .note("this folder is trusted now; `kbsync trust --revoke` revokes the agreement");
    Ok(ExitCode::Done)
}

fn list(context: &Context) -> Outcome {
    let request = context.request();
    let agreed = agreements(&config::user_state_dir(request.env)?)?;
    if context.out.json {
        return print(context, "list", &agreed);
    }
    if agreed.is_empty() {
        context.out.note("no folder is trusted");
        return Ok(ExitCode::Done);
    }
    let columns = [
        Column::whole("folder"),
        Column::whole("service").rank(1),
        Column::details("token from"),
    ];
    let rows = agreed
        .into_iter()
        .map(|one| vec![one.folder, one.service, one.source]);
    pager::table(context, &columns, rows)?;
    Ok(ExitCode::Done)
}

fn take_back(args: &Args, context: &Context) -> Outcome {
    let request = context.request();
    let folder = match &args.folder {
        // The folder may be gone.
        Some(folder) => context.current.join(folder),
        None => match request.file {
            Some(file) => {
                let file = context.current.join(file);
                file.parent().unwrap_or(&context.current).to_owned()
            }
            None => config::find_mirror(&request)?,
        },
    };
    let Some(agreement) = revoke(&config::user_state_dir(request.env)?, &folder)? else {
        return Err(Failure::usage(
            format!("{} is not trusted", folder.display()),
            "`kbsync trust --list` lists the trusted folders",
        ));
    };
    if context.out.json {
        return print(context, "revoke", &[agreement]);
    }
    context.out.line(format!(
        "{} is not trusted any more",
        escape(&agreement.folder)
    ))?;
    Ok(ExitCode::Done)
}

fn print(context: &Context, action: &str, folders: &[Agreement]) -> Outcome {
    let report = json!({ "action": action, "folders": folders });
    context.out.json(&report)?;
    Ok(ExitCode::Done)
}
