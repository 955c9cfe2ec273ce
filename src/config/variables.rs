//! The environment variables that kbsync reads, and a note about those that are similar.

use crate::model::path::near::likely_meant;
use std::collections::BTreeSet;

/// The variables that kbsync reads.
const KNOWN: [&str; 12] = [
    "KBSYNC_DIR",
    "KBSYNC_LISTEN",
    "KBSYNC_LOG",
    "KBSYNC_MERGE_TOOL",
    "KBSYNC_PAGER",
    "KBSYNC_POLL",
    "KBSYNC_SERVICE",
    "KBSYNC_STATE_DIR",
    "KBSYNC_TOKEN",
    "KBSYNC_TOKEN_FILE",
    "KBSYNC_USER_STATE_DIR",
    "KBSYNC_WORKSPACE",
];

/// Returns a note for each unknown variable whose name is similar to that of a known, unset variable.
pub fn mistyped(names: impl Iterator<Item = String>) -> Vec<String> {
    let set: BTreeSet<String> = names.filter(|name| name.starts_with("KBSYNC_")).collect();
    let unset = || KNOWN.into_iter().filter(|known| !set.contains(*known));
    set.iter()
        .filter(|name| !KNOWN.contains(&name.as_str()))
        .filter_map(|name| {
            let meant = likely_meant(name, unset())?;
            Some(format!(
                "kbsync does not read the variable {name}; did you mean {meant}?"
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_variable_is_noticed_unless_the_right_one_is_set() {
        let notes = |names: &[&str]| mistyped(names.iter().map(|name| (*name).to_owned()));
        let note = "kbsync does not read the variable KBSYNC_TOKENN; did you mean KBSYNC_TOKEN?";
        assert_eq!(notes(&["HOME", "KBSYNC_TOKENN"]), [note]);
        for fine in [
            &["KBSYNC_TOKENN", "KBSYNC_TOKEN"][..],
            &["KBSYNC_POLL", "KBSYNC_DRILL_HURRY", "KBSYNC_BRANCH"],
        ] {
            assert!(notes(fine).is_empty(), "{fine:?}");
        }
    }
}
