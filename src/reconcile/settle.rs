//! A comparison without clashes becomes an action, a row of the base, or nothing.
//!
//! This includes `enabled` and `draft`: the service's flags, the writer's wishes, and the lines in the file.

use super::articles::waiting;
use super::change::ThreeWay;
use super::creation::homeless;
use super::names;
use super::plan::{Action, HoldRule, Kind, Outcome, Settle};
use super::snapshot::{Direction, LocalFile, Seen};
use super::{Case, Planner};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::path::fold;
use crate::model::{Field, Flags, Place, Side, Version};

/// Turns a comparison without clashes into an action, a record, or nothing.
pub(super) fn settle_article(
    planner: &mut Planner<'_>,
    case: Case<'_>,
    mut way: ThreeWay<Version>,
) -> Outcome {
    let Case {
        id,
        row,
        file,
        seen,
    } = case;
    let direction = planner.world.policy.direction;
    let flags = flag_change(planner, case);
    let wishes = flags.send.is_some() || !way.pushed.is_empty();
    let comes = !way.pulled.is_empty() || flags.file != file.flags;
    if direction == Direction::Push && wishes && comes {
        return held_merge(planner, case, &way);
    }
    let excluded = (!direction.pushes() && wishes && !comes) || (!direction.pulls() && comes);
    if excluded {
        return Outcome::Excluded;
    }
    let to = match place_after(planner, case, &way) {
        Ok(to) => to,
        Err(outcome) => return outcome,
    };
    way.pushed.retain(|_| direction.pushes());
    let needs_id = file.id != Some(id);
    let from = planner.placed(&file.place);
    let content = way.pulled.iter().any(|field| *field != Field::Category);
    let settle = Settle {
        id,
        write: content || flags.file != file.flags || needs_id || to.file != file.place.file,
        file: way.merged,
        file_flags: flags.file,
        send_enabled: flags.send.filter(|_| direction.pushes()),
        seen: Seen {
            flags: flags.remote,
            ..seen.clone()
        },
        base_if_unsent: way.base_if_unsent,
        base_flags_if_unsent: flags.base_if_unsent,
        ends_conflict: planner.world.base.conflicts.contains_key(&id),
        send: way.pushed,
        before: Some(LocalFile {
            place: from.clone(),
            ..file.clone()
        }),
        to,
    };
    // Another file may take the file's name only if the file is certain to leave it.
    if settle.moves_file() && !settle.sends() {
        planner.names.free(&from);
        planner.names.reserve_again(&settle.to);
    }
    if let Some((digest, body)) = way.body {
        planner.plan.bodies.insert(digest, body);
    }
    let mut pulled = way.pulled;
    pulled.extend(file.flags.differing(settle.file_flags));
    push_settle(
        planner,
        row,
        settle,
        &pulled,
        !way.agreed.is_empty(),
        needs_id,
    )
}

fn push_settle(
    planner: &mut Planner<'_>,
    row: Option<&ArticleRow>,
    settle: Settle,
    pulled: &[Field],
    agreed: bool,
    needs_id: bool,
) -> Outcome {
    let mut fields = all_fields(&settle.send, pulled);
    fields.extend(settle.send_enabled.map(|_| Field::Enabled));
    fields.sort_unstable();
    fields.dedup();
    let pulls = settle.touches_file() && (!pulled.is_empty() || !needs_id);
    let (kind, side) = match (settle.sends(), pulls) {
        (true, true) => (Kind::Merge, Side::Both),
        (true, false) if settle.sends_address() => (Kind::Move, Side::Remote),
        (true, false) => (Kind::Update, Side::Remote),
        (false, true) if settle.moves_file() => (Kind::Move, Side::Local),
        (false, true) => (Kind::Update, Side::Local),
        (false, false) => (Kind::Adopt, Side::Both),
    };
    let news =
        settle.sends() || pulls || agreed || needs_id || row.is_none() || settle.ends_conflict;
    if !news {
        return record_article(planner, row, settle);
    }
    let note = match (kind, needs_id) {
        (Kind::Move, _) => moved(row, &settle),
        (Kind::Adopt, true) => Some("its id is written into the file".to_owned()),
        _ => None,
    };
    planner.add(Action {
        fields,
        note,
        ..Action::settle(kind, side, settle)
    })
}

/// Returns the note for a move: the old place of the file, and the two addresses.
fn moved(row: Option<&ArticleRow>, settle: &Settle) -> Option<String> {
    let was = row.and_then(|row| {
        let (was, now) = (&row.place, &settle.to);
        match (was.file == now.file, was.folder == now.folder) {
            (true, true) => None,
            (true, false) => Some(format!("was in {}/", was.folder)),
            (false, true) => Some(format!("was {}", was.file)),
            (false, false) => Some(format!("was {} in {}/", was.file, was.folder)),
        }
    });
    let addresses = settle
        .send
        .contains(&Field::Slug)
        .then(|| new_address(&settle.seen.version.slug, &settle.file.slug));
    let parts: Vec<String> = was.into_iter().chain(addresses).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the sentence about a new public address.
pub(super) fn new_address(was: &str, is: &str) -> String {
    format!("its public address changes from {was} to {is}")
}

/// Records a change that is not reported. A row that is up to date stays untouched.
fn record_article(planner: &mut Planner<'_>, row: Option<&ArticleRow>, settle: Settle) -> Outcome {
    let known = row.is_some_and(|row| {
        row.place == settle.to
            && row.revision == settle.seen.revision
            && row.visibility == settle.seen.visibility
            && row.remote == settle.seen.version
            && row.local == settle.base_if_unsent
            && row.file_flags == settle.base_flags_if_unsent
            && row.remote_flags == settle.seen.flags
    });
    if !known {
        planner.plan.records.push(settle);
    }
    Outcome::Decided
}

fn held_merge(planner: &mut Planner<'_>, case: Case<'_>, way: &ThreeWay<Version>) -> Outcome {
    let (kind, side, rule) = (Kind::Merge, Side::Both, HoldRule::Person);
    let reason = "both sides changed it; `kbsync sync` merges them";
    let place = planner.placed(&case.file.place);
    let mut action = waiting(kind, side, case.id, &place, rule, reason);
    action.fields = all_fields(&way.pushed, &way.pulled);
    planner.add(action)
}

/// Returns the fields of both lists, each once.
pub(super) fn all_fields(one: &[Field], other: &[Field]) -> Vec<Field> {
    let more = other.iter().filter(|field| !one.contains(field));
    one.iter().chain(more).copied().collect()
}

/// Returns the place of the file after the step: a pulled address or category moves the file, unless a writer chose its
/// name. The error is the outcome for the article if its new folder is unknown or out of reach.
fn place_after(
    planner: &mut Planner<'_>,
    case: Case<'_>,
    way: &ThreeWay<Version>,
) -> Result<Place, Outcome> {
    let Case { id, file, seen, .. } = case;
    let from = planner.placed(&file.place);
    let slug = way.pulled.contains(&Field::Slug);
    let category = way.pulled.contains(&Field::Category);
    if !slug && !category {
        return Ok(from);
    }
    let known = planner.names.folder(way.merged.category).is_some();
    let folder = if category {
        let folder = planner.folder_for(way.merged.category);
        let unreadable = &planner.world.local.unreadable;
        let Some(folder) = folder.filter(|folder| !unreadable.contains(folder)) else {
            return Err(homeless(planner, id, Some(&file.place), seen));
        };
        folder
    } else {
        from.folder.clone()
    };
    // The file's own name does not count as taken.
    planner.names.free(&from);
    let mut to = if slug && names::derived(from.stem(), &file.version.slug, id.uuid()) {
        planner.names.give_place(&folder, &way.merged.slug, id)
    } else {
        planner.names.keep_name(&folder, &from, id)
    };
    // For another case the name stays, and the file gets a `slug:` line: some file systems have one name for both.
    if to.folder == from.folder && fold(&to.file) == fold(&from.file) {
        to = from.clone();
    }
    if to == from || !(planner.world.out_of_reach)(&to) {
        planner.names.reserve_again(&from);
        return Ok(to);
    }
    planner.names.free(&to);
    planner.names.reserve_again(&from);
    if !category {
        // The file gets a `slug:` line.
        return Ok(from);
    }
    if !known {
        planner.names.take_back(way.merged.category);
    }
    let message = format!(
        "its article moved to {to} on the service, which `.kbsyncignore` leaves out, or which is being written"
    );
    planner.problem(&file.place, Some(id), message);
    Err(Outcome::Unknown)
}

/// The changes of `enabled` and `draft`.
struct FlagChange {
    /// The file's flags after the step.
    file: Flags,
    /// The service's flags, as far as known.
    remote: Flags,
    /// The value of `enabled` to send, if any.
    send: Option<bool>,
    /// The base's file flags while nothing has been sent.
    base_if_unsent: Flags,
}

/// Returns the changes of the flags of an article that both sides have.
fn flag_change(planner: &mut Planner<'_>, case: Case<'_>) -> FlagChange {
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
        base_if_unsent: file.flags,
    };
    let wish = file.flags.or(planner.world.policy.new_articles).enabled;
    let wished = row.is_some() && file.flags.enabled != was.enabled;
    if wished && wish != shown.enabled {
        change.send = wish;
        change.base_if_unsent.enabled = was.enabled;
    } else if !wished && shown.enabled != known.enabled {
        let on = shown.enabled;
        change.file.enabled = on.and_then(|on| flag_line(file.flags.enabled, on, true));
        change.base_if_unsent.enabled = change.file.enabled;
    }
    // Removing `draft: true` is a wish to publish, as is `draft: false`.
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
        change.base_if_unsent.draft = was.draft;
        // Whoever asks for a draft does not ask for a public article.
        if file.flags.draft == Some(true) && change.send == Some(true) {
            change.send = None;
        }
        planner.problem(&file.place, Some(id), message);
    } else if shown.draft != known.draft {
        let on = shown.draft;
        change.file.draft = on.and_then(|on| flag_line(file.flags.draft, on, false));
        change.base_if_unsent.draft = change.file.draft;
    }
    change
}

/// Returns whether the entry of an unchanged article in a listing agrees with the known flags. `own`: our own last
/// write made the revision.
pub(crate) fn listed_as_known(own: bool, listed: Flags, known: Flags) -> bool {
    own || listed.or(Flags::SHOWN) == known
}

/// Returns the flags that the service shows. Unless stated otherwise, a listed article is published, but our own last
/// write may still be missing from the listing (replica lag).
fn shown(row: Option<&ArticleRow>, seen: &Seen, known: Flags) -> Flags {
    match (seen.visibility, row) {
        (Visibility::Published, Some(row)) if row.written.as_ref() == Some(&seen.revision) => known,
        (Visibility::Published, _) => seen.flags.or(Flags::SHOWN),
        (Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone, _) => {
            seen.flags.or(known)
        }
    }
}

/// Returns the flag's line for the file: an unusual value is written; a usual value keeps an equal line and removes any
/// other.
fn flag_line(line: Option<bool>, value: bool, usual: bool) -> Option<bool> {
    if value != usual || line == Some(value) {
        Some(value)
    } else {
        None
    }
}
