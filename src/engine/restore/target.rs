//! Where a version comes back to: the file that is there, the place that it left, or a new place.

use super::{Preparer, Refused, RefusedKind, RestoreRequest};
use crate::engine::history::History;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind, Kind};
use crate::model::path::{CATEGORY_FILE, EXTENSION, ignored_name, quoted, slug_of_stem};
use crate::model::{ArticleId, CategoryId, Place};
use crate::reconcile::place_in_conflict;
use crate::state::Subject;

/// The place that a version comes back to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) to: Existing,
    /// The category of a folder that has to be named again.
    pub(super) category: Option<CategoryId>,
}

/// The form in which a version comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Existing {
    /// A file that is there; `None`: it never became an article.
    File(Option<ArticleId>),
    /// An article that lives and whose file was removed.
    Article(ArticleId),
    /// Nothing: it becomes a new article, instead of the one that was deleted.
    Nothing(Option<ArticleId>),
    /// A category with its folder.
    Category(CategoryId),
}

impl Target {
    fn new(place: Place, to: Existing) -> Self {
        Self {
            place,
            to,
            category: None,
        }
    }
}

const OTHER_PLACE: &str = "name another place with --to FOLDER/NAME.html";

impl<D: Disk> Preparer<'_, D> {
    /// Finds out where a version comes back to. Fails with [`Refused`].
    pub(super) fn target(
        &self,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let target = match &history.subject {
            Subject::Article(id) => self.of_article(*id, history, request)?,
            Subject::File(key) if key.file == CATEGORY_FILE => {
                self.of_category(key, history, request)?
            }
            Subject::File(place) => self.of_file(place, history, request)?,
        };
        let layout = &self.view.layout;
        let is_ignored = match target.to {
            Existing::Category(_) => layout.ignores_folder(&target.place.folder),
            Existing::File(_) | Existing::Article(_) | Existing::Nothing(_) => {
                layout.ignores(&target.place)
            }
        };
        if is_ignored {
            // Only what has no article can come back elsewhere.
            let ways = match target.to {
                Existing::File(None) | Existing::Nothing(_) => {
                    format!("take it out of .kbsyncignore, or {OTHER_PLACE}")
                }
                Existing::File(Some(_)) | Existing::Article(_) | Existing::Category(_) => {
                    "take it out of .kbsyncignore".to_owned()
                }
            };
            let message = format!("{} is ignored, so it would not be synced", target.place);
            return refuse(message, ways);
        }
        Ok(target)
    }

    fn of_article(
        &self,
        id: ArticleId,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let (base, paired) = (&self.view.base, &self.view.paired);
        let (conflict, row) = (base.conflicts.get(&id), base.articles.get(&id));
        let last = match (conflict, row) {
            (Some(conflict), _) => Some((place_in_conflict(base, conflict), &conflict.local)),
            (None, row) => row.map(|row| (&row.place, &row.local)),
        };
        // The folder may have been renamed since.
        let last = last.map(|(place, version)| {
            let folder = paired.folder(version.category).unwrap_or(&place.folder);
            let place = Place::new(folder, place.file.clone());
            (place, version.category)
        });
        // Before both sides met in a conflict, only the place says whose file it is.
        let unmatched = || {
            let (place, _) = last.as_ref().filter(|_| conflict.is_some())?;
            paired.fresh.iter().find(|file| file.place == *place)
        };
        let file = paired.files.get(&id).or_else(unmatched);
        let known = file.map(|file| &file.place);
        let known = known.or(last.as_ref().map(|(place, _)| place));
        if let (Some(place), Some(_)) = (known, &request.to) {
            return refuse(
                format!("--to is for deleted articles, and this one is at {place}"),
                "leave --to out: the file gets the version's words where it is",
            );
        }
        if let Some(file) = file {
            if request.missing {
                return is_there_again(&file.place);
            }
            if conflict.is_some() {
                return in_conflict(&file.place);
            }
            return Ok(Target {
                category: last.map(|(_, category)| category),
                ..Target::new(file.place.clone(), Existing::File(Some(id)))
            });
        }
        let unreadable = paired.unknown.get(&id);
        let Some((place, category)) = last else {
            return self.of_no_article(id, history, request);
        };
        let to = match (self.lies_at(&place)?, unreadable) {
            (None, None) => Existing::Article(id),
            (None, Some(why)) => return not_readable(id, why),
            (Some(Kind::File), _) if !self.is_anothers(&place) => {
                if request.missing {
                    return is_there_again(&place);
                }
                if conflict.is_some() {
                    return in_conflict(&place);
                }
                Existing::File(Some(id))
            }
            (Some(_), _) => return taken(&place, "move it away"),
        };
        Ok(Target {
            category: Some(category),
            ..Target::new(place, to)
        })
    }

    /// An article that is not in the base.
    fn of_no_article(
        &self,
        id: ArticleId,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        if request.missing {
            return refuse(
                format!("the article {id} was deleted meanwhile"),
                format!("`kbsync restore {id}` brings it back as a new one"),
            );
        }
        if let Some(why) = self.view.paired.unknown.get(&id) {
            return not_readable(id, why);
        }
        // It may live: as a new one it would be there twice. A person who names a place for it says that it does not.
        if !history.was_met() && request.to.is_none() {
            return refuse(
                format!("article {id} was only seen on the service, and never fetched"),
                "`kbsync pull` fetches it; if the article is gone, `--to FOLDER/NAME.html` makes a new article from it",
            );
        }
        self.new_file(Some(id), history, request)
    }

    /// A file that never became an article.
    fn of_file(
        &self,
        place: &Place,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let paired = &self.view.paired;
        let is_article = paired.files.values().any(|file| file.place == *place);
        let is_there = self.lies_at(place)? == Some(Kind::File);
        if request.to.is_none() && is_there && !is_article {
            return Ok(Target::new(place.clone(), Existing::File(None)));
        }
        self.new_file(None, history, request)
    }

    fn of_category(
        &self,
        key: &Place,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        if request.to.is_some() {
            return refuse(
                "--to is for deleted articles",
                "leave it out: a category's words come back to its folder",
            );
        }
        let found = key.folder.parse::<CategoryId>().ok().and_then(|id| {
            let row = self.view.base.categories.get(&id);
            let known = row.and_then(|row| row.folder.as_deref());
            Some((id, self.view.paired.folder(id).or(known)?))
        });
        let Some((id, folder)) = found else {
            let last = history.newest().map(|last| last.seen.place.folder.as_str());
            return refuse(
                format!(
                    "the category {} has no folder any more",
                    last.unwrap_or_default()
                ),
                "make one, or run `kbsync sync`; `kbsync show` prints what the file said",
            );
        };
        if self.disk.look(At::Root, folder)?.is_none() {
            return refuse(
                format!("the category's folder {folder} is not there"),
                format!(
                    "`kbsync restore {}` brings it back with the files that are missing in it; or make it, and run \
                     the command again",
                    quoted(folder)
                ),
            );
        }
        let place = Place::new(folder, CATEGORY_FILE);
        Ok(Target::new(place, Existing::Category(id)))
    }

    /// A new file at the last place, in the folder that its category has now.
    fn new_file(
        &self,
        old: Option<ArticleId>,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let last = history.last_address().map(|last| &last.seen);
        let place = match (&request.to, last) {
            (Some(to), _) => to.clone(),
            (None, Some(last)) => {
                let folder = self.view.paired.folder(last.version.category);
                let folder = folder.unwrap_or(&last.place.folder);
                Place::new(folder, last.place.file.clone())
            }
            (None, None) => {
                return refuse(
                    "its file had no name that an article can have",
                    "name a place with --to FOLDER/NAME.html",
                );
            }
        };
        let last = last.filter(|last| last.place.folder == place.folder);
        let category = last.map(|last| last.version.category);
        let category = category.filter(|id| self.view.base.categories.contains_key(id));
        let folder = self.disk.look(At::Root, &place.folder)?;
        // The name of a folder that a category has need not be its slug.
        let has_folder = folder.is_some_and(|entry| entry.kind == Kind::Folder);
        must_be_possible(&place, has_folder || category.is_some())?;
        if self.lies_at(&place)?.is_some() {
            return taken(&place, OTHER_PLACE);
        }
        Ok(Target {
            category,
            ..Target::new(place, Existing::Nothing(old))
        })
    }

    /// Returns the kind of entry at a place; none in a folder that is not there.
    fn lies_at(&self, place: &Place) -> Result<Option<Kind>, DiskError> {
        match self.disk.look(At::Folder(&place.folder), &place.file) {
            Ok(entry) => Ok(entry.map(|entry| entry.kind)),
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether another article or a new one has a readable file at a place.
    fn is_anothers(&self, place: &Place) -> bool {
        let paired = &self.view.paired;
        let mut files = paired.files.values().chain(&paired.fresh);
        files.any(|file| file.place == *place)
    }
}

fn must_be_possible(place: &Place, has_category: bool) -> anyhow::Result<()> {
    if !place.file.ends_with(EXTENSION) {
        return refuse(
            format!("an article cannot be at {place}"),
            "name a file like FOLDER/NAME.html",
        );
    }
    if let Some(why) = ignored_name(&place.folder).or_else(|| ignored_name(&place.file)) {
        return refuse(
            format!("an article cannot be at {place}: it has {why}"),
            OTHER_PLACE,
        );
    }
    let folder = (!has_category).then(|| slug_of_stem(&place.folder));
    match folder.transpose().and_then(|_| slug_of_stem(place.stem())) {
        Ok(_) => Ok(()),
        Err(problem) => refuse(
            format!("an article cannot be at {place}: {problem}"),
            OTHER_PLACE,
        ),
    }
}

fn in_conflict<T>(place: &Place) -> anyhow::Result<T> {
    let path = place.to_string();
    let help = format!(
        "settle that first with `kbsync resolve {} --keep local` (or `remote`, `both`); both versions are in the history",
        quoted(&path)
    );
    Err(Refused {
        kind: RefusedKind::Undecided,
        ..Refused::impossible(format!("{path} is in conflict"), help)
    }
    .into())
}

fn is_there_again<T>(place: &Place) -> anyhow::Result<T> {
    let path = place.to_string();
    let shown = quoted(&path);
    let help = format!("`kbsync restore {shown}` restores its previous version");
    let message = format!("{path} is there again, and was left as it is");
    Err(Refused {
        kind: RefusedKind::Changed,
        ..Refused::impossible(message, help)
    }
    .into())
}

fn taken<T>(place: &Place, help: &str) -> anyhow::Result<T> {
    refuse(format!("something else is at {place}"), help)
}

fn not_readable<T>(id: ArticleId, why: &str) -> anyhow::Result<T> {
    refuse(
        format!("the article {id} cannot be restored: {why}"),
        "`kbsync status` names the file; put it right or remove it",
    )
}

pub(super) fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> anyhow::Result<T> {
    Err(Refused::impossible(message, help).into())
}
