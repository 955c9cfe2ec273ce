//! Files that git brought back to a former place of an article or a category.

use crate::engine::observation::Observation;
use crate::mirror::document::{CategoryDocument, Document};
use crate::model::Place;
use crate::model::path::{CATEGORY_FILE, quoted};
use crate::reconcile::plan::{Action, Step};

/// A file that would become a new article or category, but has the committed id of one that is elsewhere.
pub(super) struct Duplicate<'a> {
    pub(super) action: &'a Action,
    pub(super) path: String,
    place_now: String,
}

impl<'a> Duplicate<'a> {
    /// Returns the duplicate that an action would make of a file with these committed bytes, if it is one.
    pub(super) fn find(
        action: &'a Action,
        path: String,
        committed: &[u8],
        observed: &Observation,
    ) -> Option<Self> {
        let place_now = place_now(committed, action, observed)?;
        Some(Self {
            action,
            path,
            place_now,
        })
    }

    /// Returns the reason for a hold.
    pub(super) fn reason(&self) -> String {
        let (subject, file) = if matches!(self.action.step, Step::CreateCategory { .. }) {
            ("category", "folder")
        } else {
            ("article", "file")
        };
        format!(
            "git brought this {file} back from a commit (git checkout, git stash?), but its {subject} is now at {}: remove \
             this {file} and commit the move; `kbsync approve` creates a second {subject} from this {file} instead",
            quoted(&self.place_now)
        )
    }
}

/// Returns the file from which an action creates an article or a category.
pub(super) fn created_at(action: &Action) -> Option<Place> {
    if let Step::CreateArticle {
        place,
        instead_of: None,
        ..
    } = &action.step
    {
        return Some(place.clone());
    }
    let Step::CreateCategory { folder, .. } = &action.step else {
        return None;
    };
    Some(Place::new(folder, CATEGORY_FILE))
}

/// Returns the present place of the article or category in a committed file.
fn place_now(bytes: &[u8], action: &Action, observed: &Observation) -> Option<String> {
    if matches!(action.step, Step::CreateCategory { .. }) {
        let id = CategoryDocument::parse(bytes).ok()?.id()?;
        let recorded = observed.base.categories.get(&id)?.folder.as_ref()?;
        let here = observed.paired.categories.get(&id);
        return Some(here.map_or(recorded, |here| &here.folder).clone());
    }
    let id = Document::parse_leniently(bytes).ok()?.id()?;
    let recorded = &observed.row(id)?.place;
    // A person may have renamed the file or its folder just now.
    let here = observed.paired.files.get(&id);
    Some(here.map_or(recorded, |here| &here.place).to_string())
}
