//! `kbsync demo`: a sandbox, a mirror in a temporary folder, and seven scenes of what can happen between them.
//!
//! The commands are those of this program, with their real output. After each step both sides are checked, and the
//! demo fails if one is not as promised. `stage` has the sandbox and the mirror, `scenes` the steps.

mod scenes;
mod stage;

use super::{
    Outcome, ask,
    context::Context,
    exit::ExitCode,
    failure::Failure,
    print::{DIM, HELP},
    sandbox::stopped,
};
use stage::Stage;
use std::io::{self, IsTerminal as _};

/// Plays what can happen between a mirror and its service.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Keep the folder
    #[arg(long)]
    keep: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    if context.out.json {
        return Err(Failure::usage(
            "the demo is a play for people; it has no JSON",
            "leave --json out: its exit code says whether every step checked out",
        ));
    }
    let mut stage = Stage::build(context).await?;
    let played = scenes::play(&mut stage).await;
    if played.is_ok() && ask::possible() && io::stdout().is_terminal() {
        show_next_steps(context, &stage)?;
        stopped().await;
    }
    let folder = stage.close(args.keep)?;
    if let Some(folder) = folder {
        context.out.note(format!("kept: {}", folder.display()));
    }
    played.map(|()| ExitCode::Done)
}

/// Shows how to continue after the demo.
fn show_next_steps(context: &Context, stage: &Stage<'_>) -> Result<(), Failure> {
    for line in [
        String::new(),
        format!("{HELP}Your turn.{HELP:#} In another terminal:"),
        format!("  cd {}", stage.mirror().display()),
        format!("  export KBSYNC_TOKEN={}", stage.token()),
        "  kbsync status".to_owned(),
        format!("Be the colleague in the dashboard: {}/", stage.url()),
        format!("{DIM}Ctrl-C ends it.{DIM:#}"),
    ] {
        context.out.line(line)?;
    }
    Ok(())
}
