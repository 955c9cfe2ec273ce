//! Changes: what differs from the base here, and what an action of a plan says of the two sides.

use super::{Change, ChangeKind};
use crate::engine::report::Line;
use crate::model::base::ArticleRow;
use crate::model::path::fold;
use crate::model::{CategoryVersion, Field, Side};
use crate::reconcile::pairing::Paired;
use crate::reconcile::plan::Kind;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot};

/// What changed in the mirror since both sides agreed.
pub(super) fn changes(base: &Base, local: &LocalSnapshot, paired: &Paired) -> Vec<Change> {
    let mut changes = Vec::new();
    for row in base.articles.values() {
        if paired.unknown.contains_key(&row.id) {
            continue;
        }
        match paired.files.get(&row.id) {
            Some(file) => changes.extend(edited(row, file)),
            None => changes.push(Change {
                path: row.place.to_string(),
                id: Some(row.id.to_string()),
                change: ChangeKind::Deleted,
                fields: Vec::new(),
                side: None,
            }),
        }
    }
    let strangers = paired
        .files
        .iter()
        .filter(|(id, _)| !base.articles.contains_key(id) && !base.conflicts.contains_key(id))
        .map(|(_, file)| file);
    for file in strangers.chain(&paired.fresh) {
        changes.push(Change {
            path: file.place.to_string(),
            id: file.id.map(|id| id.to_string()),
            change: ChangeKind::Created,
            fields: Vec::new(),
            side: None,
        });
    }
    changes.extend(category_changes(base, local, paired));
    changes
}

fn edited(row: &ArticleRow, file: &LocalFile) -> Option<Change> {
    let mut fields = file.version.differing(&row.local);
    if file.flags.enabled != row.file_flags.enabled {
        fields.push(Field::Enabled);
    }
    if file.flags.draft != row.file_flags.draft {
        fields.push(Field::Draft);
    }
    let moved = file.place != row.place
        || fields.contains(&Field::Slug)
        || fields.contains(&Field::Category);
    if fields.is_empty() && !moved {
        return None;
    }
    // A folder that was renamed takes its files along; that is the category's change.
    let with_folder = fields.is_empty() && file.place.file == row.place.file;
    (!with_folder).then(|| Change {
        path: file.place.to_string(),
        id: Some(row.id.to_string()),
        change: if moved {
            ChangeKind::Moved
        } else {
            ChangeKind::Modified
        },
        fields,
        side: None,
    })
}

fn category_changes(base: &Base, local: &LocalSnapshot, paired: &Paired) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, category) in &paired.categories {
        let Some(row) = base.categories.get(id) else {
            changes.push(Change {
                path: category.folder.clone(),
                id: category.id.map(|id| id.to_string()),
                change: ChangeKind::Created,
                fields: Vec::new(),
                side: None,
            });
            continue;
        };
        let mut fields = Vec::new();
        if let Some(version) = &category.version {
            fields.extend(
                CategoryVersion::FIELDS
                    .into_iter()
                    .filter(|field| version.get(*field) != row.local.get(*field)),
            );
        }
        let moved = row
            .folder
            .as_ref()
            .is_some_and(|folder| *folder != category.folder);
        if moved || !fields.is_empty() {
            changes.push(Change {
                path: category.folder.clone(),
                id: Some(id.to_string()),
                change: if moved {
                    ChangeKind::Moved
                } else {
                    ChangeKind::Modified
                },
                fields,
                side: None,
            });
        }
    }
    let gone = base.categories.values().filter_map(|row| {
        let folder = row.folder.as_ref()?;
        let there = paired.categories.contains_key(&row.id)
            || local.unreadable.contains(folder)
            || local.unready_categories.contains(folder)
            || local.top.contains(&fold(folder));
        (!there).then(|| Change {
            path: folder.clone(),
            id: Some(row.id.to_string()),
            change: ChangeKind::Deleted,
            fields: Vec::new(),
            side: None,
        })
    });
    changes.extend(gone);
    changes
}

/// The changes that an action answers to, on the side where they were made.
pub(super) fn changes_behind(line: &Line) -> Vec<Change> {
    let change = |change: ChangeKind, side: Side| Change {
        path: line.path.clone(),
        id: line.id.map(|id| id.to_string()),
        change,
        fields: line.fields.clone(),
        side: Some(side),
    };
    let maker = match line.side {
        Side::Local => Side::Remote,
        Side::Remote => Side::Local,
        Side::Both => Side::Both,
    };
    match line.action {
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
