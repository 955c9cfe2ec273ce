//! `enabled` and `draft`: what a listing shows of them, what a writer wishes, and the lines in the file.

use super::planner::{Case, Planner};
use super::snapshot::Seen;
use crate::model::Flags;
use crate::model::base::{ArticleRow, Visibility};

/// The outcome for `enabled` and `draft`.
pub(super) struct FlagChange {
    /// In the file afterwards.
    pub(super) file: Flags,
    /// The service's flags, as far as known.
    pub(super) remote: Flags,
    /// `enabled`, if it is to be sent.
    pub(super) send: Option<bool>,
    /// The file's flags in the base while nothing was sent.
    pub(super) unsent: Flags,
}

/// Returns what becomes of the flags of an article that both sides have.
pub(super) fn flag_change(planner: &mut Planner<'_>, case: Case<'_>) -> FlagChange {
    let Case {
        id,
        row,
        file,
        seen,
    } = case;
    let (was, known) = row.map_or((Flags::default(), Flags::default()), |row| {
        (row.file_flags, row.remote_flags)
    });
    let shown = shown(row, seen, known);
    let mut change = FlagChange {
        file: file.flags,
        remote: shown,
        send: None,
        unsent: file.flags,
    };
    let wish = file
        .flags
        .enabled
        .unwrap_or(planner.world.policy.new_enabled);
    let wished = row.is_some() && file.flags.enabled != was.enabled;
    if wished && Some(wish) != shown.enabled {
        change.send = Some(wish);
        change.unsent.enabled = was.enabled;
    } else if !wished && shown.enabled != known.enabled {
        change.file.enabled = shown
            .enabled
            .and_then(|on| flag_line(file.flags.enabled, on, true));
    }
    // A removed `draft: true` is the wish to publish, as `draft: false` is.
    let unfulfilled = match file.flags.draft {
        Some(wish) => shown.draft != Some(wish),
        None => shown.draft == Some(true) && shown.draft == known.draft,
    };
    if row.is_some() && file.flags.draft != was.draft && unfulfilled {
        let message = if file.flags.draft == Some(true) {
            "`draft` of an existing article cannot be changed through the API; `enabled: false` hides it"
        } else {
            "`draft` cannot be changed through the API: publish the article in the dashboard"
        };
        change.unsent.draft = was.draft;
        planner.problem(&file.place, Some(id), message);
    } else if shown.draft != known.draft {
        change.file.draft = shown
            .draft
            .and_then(|on| flag_line(file.flags.draft, on, false));
    }
    if change.send.is_none() {
        change.unsent.enabled = change.file.enabled;
    }
    if change.unsent.draft == file.flags.draft {
        change.unsent.draft = change.file.draft;
    }
    change
}

/// Returns whether a listing's entry shows the flags that are known, of an article that is listed as it was. `own`:
/// its revision is that of our own last write.
pub(crate) fn listed_as_known(own: bool, listed: Flags, known: Flags) -> bool {
    own || in_listing(listed) == known
}

/// A listing has published articles.
fn in_listing(flags: Flags) -> Flags {
    Flags {
        enabled: Some(flags.enabled.unwrap_or(true)),
        draft: Some(flags.draft.unwrap_or(false)),
    }
}

/// Returns the flags that the service shows. A listing has published articles; only our own last write may still be
/// on its way there.
pub(super) fn shown(row: Option<&ArticleRow>, seen: &Seen, known: Flags) -> Flags {
    match (seen.visibility, row) {
        (Visibility::Published, Some(row)) if row.written.as_ref() == Some(&seen.revision) => known,
        (Visibility::Published, _) => in_listing(seen.flags),
        (Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone, _) => Flags {
            enabled: seen.flags.enabled.or(known.enabled),
            draft: seen.flags.draft.or(known.draft),
        },
    }
}

/// A line is written where it says something unusual, and otherwise stays as it is or goes.
fn flag_line(line: Option<bool>, value: bool, usual: bool) -> Option<bool> {
    if value != usual || line == Some(value) {
        Some(value)
    } else {
        None
    }
}
