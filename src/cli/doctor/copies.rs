//! Checks that git ignores conflict copies. Nothing is written.

use super::{Check, Verdict};
use crate::{cli::conflict_copies, config::Config, daemon::git::Git};

/// Checks the rules of the mirror's repository; `None`: the mirror is in no repository.
pub(super) fn check(config: &Config) -> Option<Check> {
    let mirror = config.mirror.canonicalize().ok()?;
    Git::find(&mirror)?;
    Some(match conflict_copies::committed_by(&mirror) {
        None => Check::good("git-ignore", "git ignores conflict copies"),
        Some(exclude) => Check::new(
            "git-ignore",
            Verdict::Warning,
            "git would commit conflict copies (NAME.conflict.html)",
        )
        .help(conflict_copies::command(&exclude)),
    })
}
