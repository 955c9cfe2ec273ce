//! Keeps `NAME.conflict.html` out of commits: `init` adds a rule for git, `doctor` checks the rule.
//!
//! A sync and the daemon never write the rule; for a repository that is created later, `doctor` warns.

use super::context::Context;
use crate::{
    daemon::git::Git,
    mirror::git_ignore::{GIT_IGNORE, add_line, leaves_copies_alone, line},
    model::path::quoted,
};
use std::path::{Path, PathBuf};

/// Returns the file that lacks the rule, if git would commit the mirror's conflict copies.
pub(super) fn committed_by(mirror: &Path) -> Option<PathBuf> {
    let (tree, exclude) = repository(mirror)?;
    (!leaves_copies_alone(mirror, &tree, Some(&exclude))).then(|| mirror.join(GIT_IGNORE))
}

/// Returns the work tree of a mirror, and the repository's exclude file.
fn repository(mirror: &Path) -> Option<(PathBuf, PathBuf)> {
    let exclude = Git::find(mirror)?.exclude_file();
    let mut above = mirror.ancestors();
    let tree = above.find(|folder| folder.join(".git").exists())?;
    Some((tree.to_owned(), exclude))
}

/// Returns the command that adds the rule to a file.
pub(super) fn command(file: &Path) -> String {
    let file = file.display().to_string();
    format!("echo '{}' >> {}", line(), quoted(&file))
}

/// Makes git ignore the conflict copies of a folder that becomes a mirror, in every clone. A mirror works without the
/// rule, so a failure is only reported, with the command that adds the rule.
pub(super) fn hide(mirror: &Path, context: &Context) {
    let mirror = mirror.canonicalize().unwrap_or_else(|_| mirror.to_owned());
    let repository = repository(&mirror);
    let is_shared = |(tree, _): &(PathBuf, PathBuf)| leaves_copies_alone(&mirror, tree, None);
    if repository.as_ref().is_some_and(is_shared) {
        return;
    }
    let file = mirror.join(GIT_IGNORE);
    let shown = file.display();
    match add_line(&file) {
        Ok(false) => {}
        Ok(true) => {
            let line = line();
            let commit = repository.map_or("", |_| "; commit that file");
            context.out.note(format!(
                "{line} was added to {shown}, so that git ignores conflict copies{commit}"
            ));
        }
        Err(why) => context.out.note(format!(
            "git would commit conflict copies: {shown} was left as it is ({why}). Add the line yourself:\n  {}",
            command(&file)
        )),
    }
}
