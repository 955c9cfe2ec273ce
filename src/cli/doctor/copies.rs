//! Whether git ignores the copies of conflicts. Reads, never writes.

use super::{Check, Verdict};
use crate::{cli::conflict_copies, config::Config, daemon::git::Git};

/// Looks at the rules of the repository that the mirror is in; `None`: it is in none.
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
