//! Articles follow their folder: the place in the state is a folder's category and a file's name, whatever the folder is
//! called and whether the file can be read now or not.

use crate::engine::observation::Observation;
use crate::model::Place;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::slug_of_stem;
use crate::reconcile::snapshot::Base;
use std::collections::BTreeSet;

/// A category's row when its folder got a new name from us, and no more was done. What the name says for the slug, if
/// it does, is from us on both halves of the base: whatever slug the service has by now is another one then, though a
/// colleague may have taken back the one that the folder was renamed for.
pub(in crate::engine) fn row_renamed(
    row: &CategoryRow,
    folder: &str,
    slug: Option<&str>,
) -> CategoryRow {
    let mut row = CategoryRow {
        folder: Some(folder.to_owned()),
        stamp: None,
        ..row.clone()
    };
    if let Some(slug) = slug.filter(|slug| slug_of_stem(folder).is_ok_and(|stem| stem == *slug)) {
        slug.clone_into(&mut row.local.slug);
        slug.clone_into(&mut row.remote.slug);
    }
    row
}

/// The rows of the articles in a category's folder under the name that it has now, also of those whose own category has
/// another folder: pairing looks for their files there. A file that was left behind, and lies where it was and not in the
/// folder, keeps its place.
pub(in crate::engine) fn rows_along(
    base: &Base,
    observed: &Observation,
    category: &CategoryRow,
) -> Vec<ArticleRow> {
    let old = base.categories.get(&category.id);
    let from = old.and_then(|row| row.folder.as_ref());
    let (Some(from), Some(to)) = (from, &category.folder) else {
        return Vec::new();
    };
    if from == to {
        return Vec::new();
    }
    let files = observed.local.files.iter().map(|file| &file.place);
    let unknown = observed.local.unknown.iter().map(|unknown| &unknown.place);
    let lying: BTreeSet<&Place> = files
        .chain(unknown)
        .filter(|place| place.folder == *from || place.folder == *to)
        .collect();
    let rows = base.articles.values();
    rows.filter(|row| row.place.folder == *from)
        .map(|row| (row, Place::new(to, row.place.file.clone())))
        .filter(|(row, place)| lying.contains(place) || !lying.contains(&row.place))
        .map(|(row, place)| ArticleRow {
            place,
            ..row.clone()
        })
        .collect()
}
