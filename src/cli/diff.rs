//! `kbsync diff`: shows how the files differ from the last agreed versions, or from the service's.

use super::{
    ExitCode, Outcome,
    context::Context,
    differences::{View, print},
    failure::Failure,
    scope::{self, Part},
    session::Session,
    version_spec::never_synced,
};
use crate::{
    config::{Config, Need},
    engine::{
        compare::{Comparer, Comparison},
        open,
    },
    mirror::RealDisk,
};
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command"
)]
pub(super) struct Args {
    /// Files and category folders [default: all]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Compare with what the service has now, not with the last sync
    #[arg(long)]
    remote: bool,
    /// Lines around each change [default: 1 on a terminal, 3 in a pipe]
    #[arg(short = 'U', long, value_name = "N")]
    unified: Option<usize>,
    /// Show both sides beside each other
    #[arg(long, conflicts_with = "stat")]
    side_by_side: bool,
    /// Show only how many lines were added and removed
    #[arg(long)]
    stat: bool,
    /// Exit with 1 when there are differences
    #[arg(long)]
    exit_code: bool,
}

/// The note that is printed instead of a whole mirror as one difference.
const NEVER_SYNCED: &str = "never synced here, so there is nothing to compare with; `kbsync diff --remote` compares with the service";

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let parts = scope::parts(context, &config, &args.paths)?;
    let mut all = Comparison::default();
    let session = args.remote.then(|| Session::open(context, &config));
    let session = session.transpose()?;
    for part in &parts {
        let found = compare(&config, part, session.as_ref()).await?;
        all.pairs.extend(found.pairs);
        all.notes.extend(found.notes);
    }
    if let Some(session) = &session {
        session.finish();
    }
    let theirs = if args.remote { "theirs" } else { "last agreed" };
    let view = View {
        context: args.unified,
        is_side_by_side: args.side_by_side,
        ..View::between(theirs, "yours")
    };
    if !args.remote && !context.out.json && never_synced(&config, &parts)? {
        context.out.note(NEVER_SYNCED);
    } else {
        print(context, &all, (!args.stat).then_some(view))?;
    }
    Ok(if args.exit_code && !all.pairs.is_empty() {
        ExitCode::Failed
    } else {
        ExitCode::Done
    })
}

async fn compare(
    config: &Config,
    part: &Part,
    session: Option<&Session<'_>>,
) -> Result<Comparison, Failure> {
    let mut store = open::read_state(config, &part.root)?;
    let disk = RealDisk::open(&part.root.path)?;
    let settings = open::settings(config, &part.root);
    let comparer = Comparer::new(&disk, &mut store, part.scope.clone())?;
    match session {
        Some(session) => Ok(comparer.with_service(&session.client()?, &settings).await?),
        None => Ok(comparer.with_base(&settings)?),
    }
}
