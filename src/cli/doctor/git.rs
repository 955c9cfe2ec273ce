//! The checks of git: the repositories around the mirror, and those within it. Nothing is changed.

use super::{Check, Verdict};
use crate::{
    cli::{conflict_copies, git_head},
    config::Config,
    daemon::git::{Git, not_published, objects::Objects},
    engine::open,
};
use std::path::PathBuf;

pub(super) fn checks(config: &Config) -> Vec<Check> {
    let branch = branch(config).into_iter();
    branch.chain(nested(config)).chain(copies(config)).collect()
}

/// Warns about categories in repositories of their own.
fn nested(config: &Config) -> Vec<Check> {
    let roots = config.roots().into_iter();
    let folders = roots.flat_map(|root| {
        let store = open::known_state(config, &root).ok().flatten();
        let categories = store.and_then(|store| store.categories().ok());
        let folders = categories.unwrap_or_default().into_iter();
        folders.filter_map(move |category| Some(root.path.join(category.folder?)))
    });
    let nested = folders.filter(|folder| folder.join(".git").exists());
    let warning = |folder: PathBuf| {
        let message = format!(
            "{} is a repository of its own, and kbsync does not look at its branch, its stashes and its unfinished merges",
            folder.display()
        );
        Check::new("git", Verdict::Warning, message)
            .help("keep the category in the repository of the mirror")
    };
    nested.map(warning).collect()
}

/// Checks that the published branch is checked out, and that git answers; `None`: there is no published branch.
fn branch(config: &Config) -> Option<Check> {
    let repositories = git_head::look(config);
    if let Some(why) = not_published(&config.options.git_branch, &repositories) {
        return Some(Check {
            result: Verdict::Warning,
            ..Check::failed("git", &git_head::refusal(&why))
        });
    }
    let known = repositories.first()?;
    let root = config
        .roots()
        .into_iter()
        .find(|root| root.prefix == known.prefix)?;
    if let Err(why) = Objects::around(&root.path).check() {
        let check = Check::new("git", Verdict::Warning, why);
        return Some(check.help("without git, deletions that git may have made are held"));
    }
    let published = known.published.name()?;
    let message = format!("branch {published} is published, and checked out");
    Some(Check::good("git", message))
}

/// Checks that git ignores conflict copies; `None`: the mirror is in no repository.
fn copies(config: &Config) -> Option<Check> {
    let mirror = config.mirror.canonicalize().ok()?;
    Git::find(&mirror)?;
    let Some(exclude) = conflict_copies::committed_by(&mirror) else {
        return Some(Check::good("git-ignore", "git ignores conflict copies"));
    };
    let message = "git would commit conflict copies (NAME.conflict.html)";
    let check = Check::new("git-ignore", Verdict::Warning, message);
    Some(check.help(conflict_copies::command(&exclude)))
}
