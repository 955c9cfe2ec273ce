//! Changes: the differences of the mirror from the base, and those behind an action of a plan.

use super::{Change, ChangeKind};
use crate::engine::mirror_view::{Difference, MirrorView};
use crate::engine::report::Line;
use crate::model::base::ArticleRow;
use crate::model::path::{CATEGORY_FILE, fold};
use crate::model::{Field, Side, Texts};
use crate::reconcile::plan::Kind;
use crate::reconcile::snapshot::LocalFile;
use crate::state::store::Store;

impl ChangeKind {
    fn of(is_moved: bool) -> Self {
        if is_moved {
            Self::Moved
        } else {
            Self::Modified
        }
    }
}

impl Change {
    fn of(path: &impl ToString, id: Option<impl ToString>, change: ChangeKind) -> Self {
        Self {
            path: path.to_string(),
            id: id.map(|id| id.to_string()),
            change,
            fields: Vec::new(),
            older: false,
            side: None,
        }
    }
}

/// Returns the changes in the mirror since both sides agreed.
pub(super) fn changes(view: &MirrorView, store: &Store) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for Difference { row, file } in view.differences() {
        changes.extend(match (row, file) {
            (Some(row), Some(file)) => match edited(row, file) {
                Some(change) if change.change == ChangeKind::Modified => Some(Change {
                    older: is_older(store, row, file)?,
                    ..change
                }),
                change => change,
            },
            (Some(row), None) => Some(Change::of(&row.place, Some(row.id), ChangeKind::Deleted)),
            (None, file) => file.map(|file| Change::of(&file.place, file.id, ChangeKind::Created)),
        });
    }
    changes.extend(category_changes(view));
    Ok(changes)
}

/// Returns whether the history has the file's version, and a newer one that replaced it.
fn is_older(store: &Store, row: &ArticleRow, file: &LocalFile) -> anyhow::Result<bool> {
    // Flags have no history.
    if file.version == row.local {
        return Ok(false);
    }
    let known = store.superseded_version(row.id, file.version.digest(), Side::Local)?;
    Ok(known.is_some())
}

fn edited(row: &ArticleRow, file: &LocalFile) -> Option<Change> {
    let mut fields = file.version.differing(&row.local);
    fields.extend(file.flags.differing(row.file_flags));
    // A renamed folder moves its files; that is the category's change.
    if fields.is_empty() && file.place.file == row.place.file {
        return None;
    }
    let moved = file.place != row.place
        || fields.contains(&Field::Slug)
        || fields.contains(&Field::Category);
    Some(Change {
        fields,
        ..Change::of(&file.place, Some(row.id), ChangeKind::of(moved))
    })
}

fn category_changes(view: &MirrorView) -> impl Iterator<Item = Change> {
    let (base, local, paired) = (&view.base, &view.local, &view.paired);
    let there = paired.categories.iter().flat_map(|(id, category)| {
        let folder = &category.folder;
        let Some(row) = base.categories.get(id) else {
            return vec![Change::of(folder, category.id, ChangeKind::Created)];
        };
        let version = category.version.as_ref();
        let fields = version.map_or_else(Vec::new, |version| version.differing(&row.local));
        let is_moved = row.folder.as_ref().is_some_and(|known| known != folder);
        let changed = (is_moved || !fields.is_empty()).then(|| Change {
            fields,
            ..Change::of(folder, Some(id), ChangeKind::of(is_moved))
        });
        let is_without = category.version.is_none() && !local.unready_categories.contains(folder);
        let without = is_without.then(|| without_yaml(folder, Some(id)));
        changed.into_iter().chain(without).collect()
    });
    let gone = base.categories.values().filter_map(|row| {
        let folder = row.folder.as_ref()?;
        let there = paired.categories.contains_key(&row.id)
            || local.unreadable.contains(folder)
            || local.unready_categories.contains(folder)
            || local.top.contains(&fold(folder));
        (!there).then(|| Change::of(folder, Some(row.id), ChangeKind::Deleted))
    });
    there.chain(gone)
}

/// Makes the change of a removed `_category.yaml`. The folder is still the category's, and the file is written again.
fn without_yaml(folder: &str, id: Option<impl ToString>) -> Change {
    let path = format!("{folder}/{CATEGORY_FILE}");
    Change::of(&path, id, ChangeKind::Deleted)
}

/// Returns the changes behind an action, on the side where they were made.
pub(super) fn changes_behind(line: &Line) -> Vec<Change> {
    let change = |kind: ChangeKind, side: Side| Change {
        fields: line.fields.clone(),
        side: Some(side),
        ..Change::of(&line.path, line.id, kind)
    };
    let maker = match line.side {
        Side::Local => Side::Remote,
        Side::Remote => Side::Local,
        Side::Both => Side::Both,
    };
    match line.action {
        // Neither side's words changed.
        Kind::UpdateCategory if line.fields.is_empty() => vec![Change {
            side: Some(Side::Local),
            ..without_yaml(&line.path, line.id)
        }],
        Kind::Create | Kind::CreateCategory => vec![change(ChangeKind::Created, maker)],
        Kind::Update | Kind::UpdateCategory => vec![change(ChangeKind::Modified, maker)],
        Kind::Move => vec![change(ChangeKind::Moved, maker)],
        Kind::Delete => vec![change(ChangeKind::Deleted, maker)],
        Kind::Merge => vec![
            change(ChangeKind::Modified, Side::Local),
            change(ChangeKind::Modified, Side::Remote),
        ],
        Kind::Restore => vec![
            change(ChangeKind::Deleted, Side::Local),
            change(ChangeKind::Modified, Side::Remote),
        ],
        // Both sides are equal, or it is among the conflicts.
        Kind::Adopt | Kind::Forget | Kind::Conflict => Vec::new(),
    }
}
