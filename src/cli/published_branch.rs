//! Refuses commands that write while the published branch is not checked out, or while git is busy.
//!
//! Commands that only read, and dry runs, are not refused. The daemon pauses by the same rule (`daemon::work_queue`).

use super::{ask, context::Context, exit::ExitCode, failure::Failure, git_head::GitHeads};
use crate::{
    config::Config,
    daemon::git::{Busy, Git, NotPublished},
};
use std::{path::Path, time::Duration};

/// How long a command waits for a git command that changes files.
const PATIENCE: Duration = Duration::from_secs(2);

/// The interval of the checks while a command waits.
const LOOK: Duration = Duration::from_millis(50);

/// Refuses a command that would write now.
pub(super) async fn may_write(config: &Config) -> Result<(), Failure> {
    let git_heads = wait_for_git(config).await;
    if let Some(busy) = git_heads.busy() {
        let why = format!("nothing is synced: {busy}");
        return Err(Failure::new(ExitCode::Retry, why, busy.remedy()));
    }
    match git_heads.not_published(config) {
        None => Ok(()),
        Some(why) => Err(refusal(&why)),
    }
}

/// Returns what a dry run says where the real command is refused.
pub(super) fn refusal_of(config: &Config) -> Option<String> {
    let why = GitHeads::look(config).not_published(config)?;
    Some(format!(
        "without --dry-run this is refused: {why}; {}",
        why.remedy()
    ))
}

/// Waits until git no longer changes files, at most [`PATIENCE`].
async fn wait_for_git(config: &Config) -> GitHeads {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let git_heads = GitHeads::look(config);
        if git_heads.busy() != Some(Busy::Lock) || tokio::time::Instant::now() >= until {
            return git_heads;
        }
        tracing::debug!("waiting for git, which is changing files");
        tokio::time::sleep(LOOK).await;
    }
}

/// Makes the refusal, with the remedy.
pub(super) fn refusal(why: &NotPublished) -> Failure {
    let message = format!("nothing is synced: {why}");
    Failure::new(ExitCode::Attention, message, why.remedy())
}

/// Prints that the first sync made a branch the published branch.
pub(super) fn note_first(context: &Context, branch: &str) {
    context.out.note(format!(
        "branch {branch} is the published branch from now on, and nothing is synced on other branches; to publish another \
         branch, write `git: {{branch: …}}` into kbsync.yaml"
    ));
}

/// Returns the published branch for the settings of a new mirror: the user's answer on a terminal, else the branch
/// that the team shares. `None`: the folder is in no repository, or the repository does not show that branch.
pub(super) fn chosen(
    folder: &Path,
    asks: bool,
    context: &Context,
) -> Result<Option<String>, Failure> {
    let Some(git) = Git::find(folder) else {
        return Ok(None);
    };
    let state = git.state();
    let Some(branch) = git.shared_branch(&state) else {
        context.out.note(
            "kbsync cannot tell which branch of this git repository is shared: write `git: {branch: NAME}`, with the name of \
             the published branch, into kbsync.yaml",
        );
        return Ok(None);
    };
    if asks {
        // The branches of a repository in the reftable format cannot be read.
        let exists = |name: &str| state.reftable || !git.tips(name).is_empty();
        context
            .out
            .note("this folder is in a git repository, of which one branch is synced");
        return ask::branch(&branch, exists).map(Some);
    }
    context.out.note(format!(
        "this folder is in a git repository, and branch {branch} is the published branch: nothing is synced on other branches"
    ));
    Ok(Some(branch))
}
