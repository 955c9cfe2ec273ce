//! The subject of an answer: finds an article, or a new file, in a world before and after a plan.

use super::answers::After;
use super::carry::Wrong;
use super::layout::{File, Layout};
use super::scene::Scene;
use super::texts;
use super::words::Words;
use kbsync::model::{ArticleId, Flags, Place, Version};
use kbsync::reconcile::plan::{Action, Plan, Step};
use kbsync::reconcile::snapshot::Remote;

/// The subject that the model judges: an article, or a file that is an article of its own.
pub(super) struct Subject {
    id: Option<ArticleId>,
    place: Option<Place>,
    /// Another file with the same id, which is not the subject.
    not: Option<Place>,
}

/// One side of an article, before or after.
pub(super) type Said = Option<Words>;

pub(super) fn subjects(layout: &Layout) -> Vec<Subject> {
    let place = |file: Option<File>| file.map(|file| texts::place(file.folder, file.name));
    let pieces = layout.pieces.iter().enumerate();
    let articles = pieces.map(|(slot, piece)| Subject {
        id: Some(texts::article(slot)),
        place: place(piece.files[0]),
        not: place(piece.files[1]),
    });
    let copies = layout.pieces.iter().filter(|piece| piece.copy.is_some());
    let copies = copies.map(|piece| Subject {
        id: None,
        place: place(piece.files[1]),
        not: None,
    });
    articles.chain(copies).collect()
}

impl Subject {
    pub(super) fn sides(&self, scene: &Scene) -> Result<(Said, Said), Wrong> {
        let made = scene
            .created
            .iter()
            .find(|(_, place)| Some(place) == self.place.as_ref());
        let made = made.map(|(id, _)| *id);
        let file = scene.local.files.iter().find(|file| {
            let known = file.id.is_some() && (file.id == self.id || file.id == made);
            let at_place = Some(&file.place) == self.place.as_ref();
            Some(&file.place) != self.not.as_ref()
                && (known || at_place && (file.id.is_none() || self.id.is_none()))
        });
        let file = match file {
            Some(file) => {
                let mut words = words(&file.version, file.flags)?;
                // The folder decides the category, whatever the plan assumed.
                let folder = (0..2).find(|number| texts::folder(*number) == file.place.folder);
                words.at.0 = folder.ok_or("a folder that nobody made")?;
                Some(words)
            }
            None => None,
        };
        let entry = [made, self.id].into_iter().flatten().find_map(|id| {
            match scene.remote.articles.get(&id) {
                Some(Remote::Present(seen)) => Some(seen),
                Some(
                    Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign,
                )
                | None => None,
            }
        });
        let service = match entry {
            Some(seen) => Some(words(&seen.version, seen.flags)?),
            None => None,
        };
        Ok((file, service))
    }

    pub(super) fn action<'p>(&self, plan: &'p Plan) -> Option<&'p Action> {
        plan.actions.iter().find(|action| match &action.step {
            Step::CreateArticle { place, .. } => Some(place) == self.place.as_ref(),
            Step::Settle(_)
            | Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => action.id.is_some() && action.id == self.id,
        })
    }

    pub(super) fn told(&self, plan: &Plan) -> bool {
        plan.problems.iter().any(|problem| {
            problem.id.is_some() && problem.id == self.id
                || self
                    .place
                    .as_ref()
                    .is_some_and(|place| problem.path == place.to_string())
        })
    }
}

fn words(version: &Version, flags: Flags) -> Result<Words, Wrong> {
    let words = texts::words(version, flags).map(|(_, words)| words);
    words.ok_or_else(|| format!("nobody wrote {version:?}"))
}

pub(super) fn change(before: Said, after: Said) -> After {
    match (before, after) {
        (None, None) => After::Kept,
        (Some(_), None) => After::Removed,
        (Some(before), Some(after)) if before == after => After::Kept,
        (_, Some(after)) => After::Says(after),
    }
}
