//! Git around the mirror, for one-shot commands: the same rules as in the daemon (`daemon::work_queue`).
//!
//! The state has the HEAD at which both sides last agreed on removals, and the published branch. Commands and the
//! daemon store both. Commands that write are refused while the published branch is not checked out, or while git is
//! busy; commands that only read, and dry runs, are never refused.

use super::{ask, context::Context, failure::Failure};
use crate::{
    config::{Config, Root},
    daemon::git::{self, Busy, Git, Known, Pause, Remembered},
    engine::status::Branches,
    state::Store,
};
use std::{path::Path, time::Duration};

/// Looks at the repositories of the workspaces' folders, before a scan.
pub(super) fn look(config: &Config) -> Vec<Known> {
    let roots = config.roots();
    let remembered = |at: &str| {
        let root = roots.iter().find(|root| root.prefix == at);
        root.map(remembered).unwrap_or_default()
    };
    let folders = roots.iter();
    let folders = folders.map(|root| (root.prefix.as_str(), root.path.as_path()));
    git::look(folders, &config.options.git_branch, remembered)
}

/// Returns the branches of the mirror's repository, or of that of its first workspace in one, for `kbsync status`.
pub(super) fn branches(config: &Config, found: &[Known]) -> Option<Branches> {
    let known = found.first()?;
    Some(Branches {
        published: known.published.name().map(str::to_owned),
        checked_out: known.state.branch.clone(),
        synced: git::not_published(&config.options.git_branch, found).is_none(),
    })
}

fn remembered(root: &Root) -> Remembered {
    let store = Store::open_read_only(&root.state, None).ok().flatten();
    store
        .map(|store| git::remembered(&store))
        .unwrap_or_default()
}

/// The longest wait for a git command that changes files.
const PATIENCE: Duration = Duration::from_secs(2);

/// The interval of the checks while a command waits.
const LOOK: Duration = Duration::from_millis(50);

/// Refuses a command that writes while git is busy or the published branch is not checked out.
pub(super) async fn may_write(config: &Config) -> Result<(), Failure> {
    match wait_for_git(config).await {
        None => Ok(()),
        Some(why) => Err(refusal(&why)),
    }
}

/// Returns the note of a dry run whose real command would be refused.
pub(super) fn refusal_of(config: &Config) -> Option<String> {
    let why = git::not_published(&config.options.git_branch, &look(config))?;
    Some(format!(
        "without --dry-run this is refused: {why}; {}",
        why.remedy()
    ))
}

/// Waits until git no longer changes files, at most [`PATIENCE`]. Returns why git pauses the sync then.
async fn wait_for_git(config: &Config) -> Option<Pause> {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let pause = git::pause(&config.options.git_branch, &look(config));
        if pause != Some(Pause::Busy(Busy::Lock)) || tokio::time::Instant::now() >= until {
            return pause;
        }
        tracing::debug!("waiting for git, which is changing files");
        tokio::time::sleep(LOOK).await;
    }
}

/// Makes the refusal, with the remedy.
pub(super) fn refusal(why: &Pause) -> Failure {
    let message = format!("nothing is synced: {why}");
    Failure::new(why.code(), message, why.remedy())
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
        // The branches of a repository in the reftable format cannot be read, so any name is accepted.
        let exists = |name: &str| state.reftable || !git.tips(name).is_empty();
        context
            .out
            .note("this folder is in a git repository; kbsync syncs only one branch of it");
        return ask::branch(&branch, exists).map(Some);
    }
    context.out.note(format!(
        "this folder is in a git repository, and branch {branch} is the published branch: nothing is synced on other branches"
    ));
    Ok(Some(branch))
}
