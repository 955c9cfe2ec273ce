//! The target of a restore: the present file, its old place, or a new place.

use super::{Preparer, Refused, RestoreRequest};
use crate::engine::history::History;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind, Kind};
use crate::model::path::{CATEGORY_FILE, EXTENSION, is_ignored, quoted, slug_of_stem};
use crate::model::{ArticleId, CategoryId, ExitCode, Place};
use crate::state::Subject;

/// The target file of a restore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The place of the file now or later.
    pub place: Place,
    /// The article of the file; `None`: it is or becomes a new article, or is a category's file.
    pub id: Option<ArticleId>,
    /// The deleted article that comes back as a new one.
    pub(super) instead_of: Option<ArticleId>,
    /// The category of the file's folder, if known.
    pub(super) category: Option<CategoryId>,
    /// Whether the file exists.
    pub(super) has_file: bool,
}

impl Target {
    /// Returns whether the file is a category's own.
    pub(super) fn is_category(&self) -> bool {
        self.place.file == CATEGORY_FILE
    }
}

const OTHER_PLACE: &str = "name another place with --to FOLDER/NAME.html";

impl<D: Disk> Preparer<'_, D> {
    /// Finds the target of a restore. Fails with [`Refused`].
    pub(super) fn target(
        &self,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let target = match &history.subject {
            Subject::Article(id) => self.of_article(*id, history, request)?,
            Subject::File(key) if key.file == CATEGORY_FILE => self.of_category(key, history)?,
            Subject::File(place) => self.of_file(place, history, request)?,
        };
        let place = &target.place;
        if request.to.as_ref().is_some_and(|to| to != place) {
            return refuse(
                format!("--to is for deleted articles, and this one is at {place}"),
                "leave --to out: the file gets the version's words where it is",
            );
        }
        let layout = &self.view.layout;
        let is_ignored = if target.is_category() {
            layout.ignores_folder(&place.folder)
        } else {
            layout.ignores(place)
        };
        if is_ignored {
            return refuse(
                format!("{place} is ignored, so it would not be synced"),
                format!(
                    "take it out of .kbsyncignore; or, if its article was deleted, {OTHER_PLACE}"
                ),
            );
        }
        Ok(target)
    }

    fn of_article(
        &self,
        id: ArticleId,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let paired = &self.view.paired;
        let last = self.view.last_place(id);
        let (place, has_file) = match (paired.files.get(&id), &last) {
            (Some(file), _) => (file.place.clone(), true),
            (None, Some((place, _))) => (place.clone(), self.has_file(id, place)?),
            (None, None) => return self.of_no_article(id, history, request),
        };
        if has_file && request.missing {
            let path = place.to_string();
            let help = format!(
                "`kbsync restore {}` restores its previous version",
                quoted(&path)
            );
            let message = format!("{path} is there again, and was left as it is");
            return Err(Refused::new(ExitCode::Retry, message, help).into());
        }
        if has_file && self.view.base.conflicts.contains_key(&id) {
            let path = place.to_string();
            let help = format!(
                "settle that first with `kbsync resolve {} --keep local` (or `remote`, `both`); both versions are in \
                 the history",
                quoted(&path)
            );
            let message = format!("{path} is in conflict");
            return Err(Refused::new(ExitCode::Attention, message, help).into());
        }
        Ok(Target {
            place,
            id: Some(id),
            instead_of: None,
            category: last.map(|(_, category)| category),
            has_file,
        })
    }

    /// Returns whether an article's unpaired file is at its place. Fails if another entry is there.
    fn has_file(&self, id: ArticleId, place: &Place) -> anyhow::Result<bool> {
        let (base, paired) = (&self.view.base, &self.view.paired);
        // For a conflict without a row, only the place shows whose file it is.
        let is_matched = !base.conflicts.contains_key(&id);
        let new_files = paired.new_files.iter().filter(|_| is_matched);
        let mut others = paired.files.values().chain(new_files);
        match self.lies_at(place)? {
            None => match paired.unknown.get(&id) {
                None => Ok(false),
                Some(why) => not_readable(id, why),
            },
            Some(Kind::File) if others.all(|other| other.place != *place) => Ok(true),
            Some(_) => refuse(format!("something else is at {place}"), "move it away"),
        }
    }

    /// Finds the target of an article that is not in the base.
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
        // It may exist, and a new one would be a duplicate. A person who names a place says that it does not.
        if !history.was_met() && request.to.is_none() {
            return refuse(
                format!("article {id} was only seen on the service, and never fetched"),
                "`kbsync pull` fetches it; if the article is gone, `--to FOLDER/NAME.html` makes a new article from it",
            );
        }
        self.new_file(Some(id), history, request)
    }

    /// Finds the target of a file that never became an article.
    fn of_file(
        &self,
        place: &Place,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let mut files = self.view.paired.files.values();
        let is_article = files.any(|file| file.place == *place);
        if request.to.is_some() || is_article || self.lies_at(place)? != Some(Kind::File) {
            return self.new_file(None, history, request);
        }
        Ok(Target {
            place: place.clone(),
            id: None,
            instead_of: None,
            category: None,
            has_file: true,
        })
    }

    fn of_category(&self, key: &Place, history: &History) -> anyhow::Result<Target> {
        let found = key.folder.parse::<CategoryId>().ok().and_then(|id| {
            let row = self.view.base.categories.get(&id);
            let known = row.and_then(|row| row.folder.as_deref());
            Some((id, self.view.paired.folder(id).or(known)?))
        });
        let Some((id, folder)) = found else {
            let last = &history.newest().seen.place.folder;
            return refuse(
                format!("the category {last} has no folder any more"),
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
        Ok(Target {
            has_file: self.lies_at(&place)?.is_some(),
            place,
            id: None,
            instead_of: None,
            category: Some(id),
        })
    }

    /// Makes a new file at the last place, in the present folder of its category.
    fn new_file(
        &self,
        old: Option<ArticleId>,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Target> {
        let last = history.last_address().map(|last| &last.seen);
        let last_place = last.map(|last| {
            let folder = self.view.paired.folder(last.version.category);
            Place::new(folder.unwrap_or(&last.place.folder), &last.place.file)
        });
        let Some(place) = request.to.clone().or(last_place) else {
            return refuse("its file had no name that an article can have", OTHER_PLACE);
        };
        let last = last.filter(|last| last.place.folder == place.folder);
        let category = last.map(|last| last.version.category);
        let category = category.filter(|id| self.view.base.categories.contains_key(id));
        let folder = self.disk.look(At::Root, &place.folder)?;
        // The folder of an existing category may have any name.
        let has_folder = folder.is_some_and(|entry| entry.kind == Kind::Folder);
        if let Err(why) = check_names(&place, has_folder || category.is_some()) {
            let message = format!("an article cannot be at {place}: {why}");
            return refuse(message, OTHER_PLACE);
        }
        if self.lies_at(&place)?.is_some() {
            return refuse(format!("something else is at {place}"), OTHER_PLACE);
        }
        Ok(Target {
            place,
            id: None,
            instead_of: old,
            category,
            has_file: false,
        })
    }

    /// Returns the kind of entry at a place; `None` if it or its folder is missing.
    fn lies_at(&self, place: &Place) -> Result<Option<Kind>, DiskError> {
        match self.disk.look(At::Folder(&place.folder), &place.file) {
            Ok(entry) => Ok(entry.map(|entry| entry.kind)),
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Fails with the reason that no article can be at a place. An existing folder may have any name.
fn check_names(place: &Place, has_folder: bool) -> Result<(), String> {
    if !place.file.ends_with(EXTENSION) {
        return Err(format!("its name does not end in {EXTENSION}"));
    }
    if is_ignored(&place.folder) || is_ignored(&place.file) {
        return Err("it has a name that kbsync ignores".to_owned());
    }
    let folder = (!has_folder).then_some(place.folder.as_str());
    let names = folder.into_iter().chain([place.stem()]);
    let mut slugs = names.map(slug_of_stem);
    slugs.try_for_each(|slug| slug.map(drop).map_err(|problem| problem.to_string()))
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
