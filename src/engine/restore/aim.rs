//! Where a version comes back to: the file that is there, the place that it left, or a new place.

use super::{Ground, Refused, RefusedKind, Wish};
use crate::engine::past::Past;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind, Kind};
use crate::mirror::layout::Layout;
use crate::model::base::ConflictRow;
use crate::model::path::{CATEGORY_FILE, EXTENSION, ignored_name, quoted, slug_of_stem};
use crate::model::{ArticleId, CategoryId, Place};
use crate::reconcile::snapshot::{LocalFile, LocalSnapshot};
use crate::reconcile::{copy_of, place_in_conflict};
use crate::state::{StoredVersion, Subject};

/// Where a version comes back to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Aim {
    /// A file that is there is edited.
    Edit {
        /// Where it is.
        place: Place,
        /// The article that it is; `None`: it was never created.
        id: Option<ArticleId>,
    },
    /// The writer removed the file of an article that lives: it comes back.
    Back {
        /// Where it was.
        place: Place,
        /// The article.
        id: ArticleId,
    },
    /// A new file, for a new article.
    Anew {
        /// Where it will be.
        place: Place,
        /// The article that was deleted; `None`: it was never created.
        old: Option<ArticleId>,
    },
    /// A category's `_category.yaml`.
    Category {
        /// Where it is or will be.
        place: Place,
        /// The category.
        id: CategoryId,
    },
}

impl Aim {
    /// The place, if it is out of scope.
    pub(super) fn ignored_by(&self, layout: &Layout) -> Option<&Place> {
        let (place, ignored) = match self {
            Self::Edit { place, .. } | Self::Back { place, .. } | Self::Anew { place, .. } => {
                (place, layout.ignores(place))
            }
            Self::Category { place, .. } => (place, layout.ignores_folder(&place.folder)),
        };
        ignored.then_some(place)
    }
}

impl<D: Disk> Ground<'_, D> {
    /// Finds out where a version comes back to.
    pub(super) fn aim(&self, past: &Past, wish: &Wish) -> Result<Result<Aim, Refused>, DiskError> {
        match &past.subject {
            Subject::Article(id) => self.of_article(*id, past, wish),
            Subject::File(place) if place.file == CATEGORY_FILE => {
                self.of_category(place, past, wish)
            }
            Subject::File(place) => self.of_file(place, past, wish),
        }
    }

    fn of_article(
        &self,
        id: ArticleId,
        past: &Past,
        wish: &Wish,
    ) -> Result<Result<Aim, Refused>, DiskError> {
        if let Some(conflict) = self.base.conflicts.get(&id) {
            return self.in_conflict(conflict, wish);
        }
        let row = self.base.articles.get(&id);
        let file = self.paired.files.get(&id);
        let lives_at = file.map(|file| &file.place).or(row.map(|row| &row.place));
        if let (Some(place), true) = (lives_at, wish.to.is_some()) {
            return Ok(Err(not_deleted(place)));
        }
        if let Some(file) = file {
            return Ok(Ok(Aim::Edit {
                place: file.place.clone(),
                id: Some(id),
            }));
        }
        let Some(row) = row else {
            if wish.missing {
                return Ok(Err(gone_meanwhile(id)));
            }
            return match self.paired.unknown.get(&id) {
                Some(why) => Ok(Err(not_readable(id, why))),
                // It may live: as a new one it would be there twice. Who names a place for it says that it does not.
                None if !past.was_met() && wish.to.is_none() => Ok(Err(impossible(
                    format!("article {id} was only seen on the service, and never fetched"),
                    "`kbsync pull` fetches it; if it is gone, `--to FOLDER/NAME.html` makes a new one of it",
                ))),
                None => self.anew(Some(id), past, wish),
            };
        };
        let place = self.along(&row.place, row.local.category);
        Ok(match self.lies_at(&place)? {
            // It came back, and is not ready: what its writer has in it is no older than what would replace it.
            Some(Kind::File) if wish.missing && self.file_at(&place).is_none() => {
                Err(not_ready(&place))
            }
            Some(Kind::File) if self.file_at(&place).is_none() => Ok(Aim::Edit {
                place,
                id: Some(id),
            }),
            Some(_) => Err(taken(&place, "move it away")),
            None => match self.paired.unknown.get(&id) {
                Some(why) => Err(not_readable(id, why)),
                None => Ok(Aim::Back { place, id }),
            },
        })
    }

    /// Where the file of an article lies that was missing a moment ago, or at least no other article's file.
    pub(super) fn back_at(&self, id: ArticleId) -> Result<Option<Place>, DiskError> {
        if self.paired.unknown.contains_key(&id) {
            return Ok(None);
        }
        if let Some(file) = self.paired.files.get(&id) {
            return Ok(Some(file.place.clone()));
        }
        let row = self.base.articles.get(&id);
        let place = match (self.base.conflicts.get(&id), row) {
            (Some(conflict), _) => self.along(
                place_in_conflict(self.base, conflict),
                conflict.local.category,
            ),
            (None, Some(row)) => self.along(&row.place, row.local.category),
            (None, None) => return Ok(None),
        };
        let is_file = self.lies_at(&place)? == Some(Kind::File);
        let is_another = self.paired.files.values().any(|file| file.place == place);
        Ok((is_file && !is_another).then_some(place))
    }

    /// A file in conflict waits for a person's word. One that was removed meanwhile can come back, to wait for it.
    fn in_conflict(
        &self,
        conflict: &ConflictRow,
        wish: &Wish,
    ) -> Result<Result<Aim, Refused>, DiskError> {
        let id = conflict.id;
        if let Some(why) = self.paired.unknown.get(&id) {
            return Ok(Err(not_readable(id, why)));
        }
        let place = self.along(
            place_in_conflict(self.base, conflict),
            conflict.local.category,
        );
        // Before both met, only the place tells whose file it is.
        let fresh = || self.paired.fresh.iter().find(|file| file.place == place);
        let file = self.paired.files.get(&id).or_else(fresh);
        if let Some(file) = file {
            let path = file.place.to_string();
            return Ok(Err(Refused {
                kind: RefusedKind::Undecided,
                message: format!("{path} is in conflict"),
                help: format!(
                    "settle that first with `kbsync resolve {} --keep local` (or `remote`, `both`); both \
                     versions are in the history",
                    quoted(&path)
                ),
            }));
        }
        if wish.to.is_some() {
            return Ok(Err(not_deleted(&place)));
        }
        Ok(match self.lies_at(&place)? {
            Some(_) => Err(taken(&place, "move it away")),
            None => Ok(Aim::Back { place, id }),
        })
    }

    /// Where a place is by now: its folder may have been renamed since.
    fn along(&self, place: &Place, category: CategoryId) -> Place {
        let folder = self.paired.folder(category).unwrap_or(&place.folder);
        Place::new(folder, place.file.clone())
    }

    /// Returns whether an article in conflict comes back that has no copy beside it any more.
    pub(super) fn has_lost_its_copy(&self, aim: &Aim, local: &LocalSnapshot) -> bool {
        let conflict = match aim {
            Aim::Back { id, .. } => self.base.conflicts.get(id),
            Aim::Edit { .. } | Aim::Anew { .. } | Aim::Category { .. } => None,
        };
        let copy = |row| copy_of(self.base, local, self.paired, row);
        conflict.is_some_and(|row| row.copy.is_some() && copy(row).is_none())
    }

    /// A file that never became an article.
    fn of_file(
        &self,
        place: &Place,
        past: &Past,
        wish: &Wish,
    ) -> Result<Result<Aim, Refused>, DiskError> {
        let is_another = self.paired.files.values().any(|file| file.place == *place);
        let is_there = self.lies_at(place)? == Some(Kind::File);
        if wish.to.is_none() && is_there && !is_another {
            return Ok(Ok(Aim::Edit {
                place: place.clone(),
                id: None,
            }));
        }
        self.anew(None, past, wish)
    }

    fn of_category(
        &self,
        key: &Place,
        past: &Past,
        wish: &Wish,
    ) -> Result<Result<Aim, Refused>, DiskError> {
        if wish.to.is_some() {
            return Ok(Err(impossible(
                "--to is for deleted articles".to_owned(),
                "leave it out: a category's words come back to its folder",
            )));
        }
        let id = key.folder.parse::<CategoryId>().ok();
        let folder = id.and_then(|id| {
            let row = self.base.categories.get(&id);
            let known = row.and_then(|row| row.folder.clone());
            Some((id, self.paired.folder(id).map(str::to_owned).or(known)?))
        });
        if let Some((id, folder)) = folder {
            let is_there = self.disk.look(At::Root, &folder)?.is_some();
            return Ok(if is_there {
                Ok(Aim::Category {
                    place: Place::new(folder, CATEGORY_FILE),
                    id,
                })
            } else {
                Err(folder_gone(&folder))
            });
        }
        let last = past.newest().map(|kept| kept.seen.place.folder.as_str());
        Ok(Err(impossible(
            format!(
                "the category {} has no folder any more",
                last.unwrap_or_default()
            ),
            "make one, or run `kbsync sync`; `kbsync show` prints what the file said",
        )))
    }

    /// A new file, where the old one was last, in the folder that its category has now.
    fn anew(
        &self,
        old: Option<ArticleId>,
        past: &Past,
        wish: &Wish,
    ) -> Result<Result<Aim, Refused>, DiskError> {
        let place = match (&wish.to, past.last_address()) {
            (Some(to), _) => to.clone(),
            (None, Some(last)) => {
                let folder = self.paired.folder(last.seen.version.category);
                let folder = folder.unwrap_or(&last.seen.place.folder);
                Place::new(folder, last.seen.place.file.clone())
            }
            (None, None) => {
                return Ok(Err(impossible(
                    "its file had no name that an article can have".to_owned(),
                    "name a place with --to FOLDER/NAME.html",
                )));
            }
        };
        let folder = self.disk.look(At::Root, &place.folder)?;
        let has_folder = folder.is_some_and(|entry| entry.kind == Kind::Folder);
        let came_from = |last: &StoredVersion| {
            let category = last.seen.version.category;
            last.seen.place.folder == place.folder && self.base.categories.contains_key(&category)
        };
        // The name of a folder that a category has need not be its slug.
        let has_category = has_folder || past.last_address().is_some_and(came_from);
        if let Some(refused) = bad_place(&place, has_category) {
            return Ok(Err(refused));
        }
        Ok(match self.lies_at(&place)? {
            Some(_) => Err(taken(
                &place,
                "name another place with --to FOLDER/NAME.html",
            )),
            None => Ok(Aim::Anew { place, old }),
        })
    }

    /// What lies at a place; nothing in a folder that is not there.
    fn lies_at(&self, place: &Place) -> Result<Option<Kind>, DiskError> {
        match self.disk.look(At::Folder(&place.folder), &place.file) {
            Ok(entry) => Ok(entry.map(|entry| entry.kind)),
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The article or new file at a place, as far as it could be read.
    fn file_at(&self, place: &Place) -> Option<&LocalFile> {
        let files = self.paired.files.values().chain(&self.paired.fresh);
        files.into_iter().find(|file| file.place == *place)
    }
}

fn bad_place(place: &Place, has_category: bool) -> Option<Refused> {
    let is_html = place.file.ends_with(EXTENSION);
    let ignored = ignored_name(&place.folder).or_else(|| ignored_name(&place.file));
    let folder = (!has_category).then(|| slug_of_stem(&place.folder));
    let named = folder.transpose().and_then(|_| slug_of_stem(place.stem()));
    match (is_html, ignored, named) {
        (true, None, Ok(_)) => None,
        (true, None, Err(problem)) => Some(impossible(
            format!("an article cannot be at {place}: {problem}"),
            "name another place with --to FOLDER/NAME.html",
        )),
        (true, Some(why), _) => Some(impossible(
            format!("an article cannot be at {place}: it has {why}"),
            "name another place with --to FOLDER/NAME.html",
        )),
        (false, _, _) => Some(impossible(
            format!("an article cannot be at {place}"),
            "name a file like FOLDER/NAME.html",
        )),
    }
}

fn gone_meanwhile(id: ArticleId) -> Refused {
    impossible(
        format!("the article {id} was deleted meanwhile"),
        &format!("`kbsync restore {id}` brings it back as a new one"),
    )
}

fn not_deleted(place: &Place) -> Refused {
    impossible(
        format!("--to is for deleted articles, and this one is at {place}"),
        "leave --to out: the file gets the version's words where it is",
    )
}

fn taken(place: &Place, help: &str) -> Refused {
    impossible(format!("something else is at {place}"), help)
}

/// What is ignored is out of scope both ways: nothing that is written there gets anywhere.
pub(super) fn ignored(place: &Place) -> Refused {
    impossible(
        format!("{place} is ignored, so it would not be synced"),
        "take it out of .kbsyncignore, or name another place with --to FOLDER/NAME.html",
    )
}

fn folder_gone(folder: &str) -> Refused {
    impossible(
        format!("the category's folder {folder} is not there"),
        &format!(
            "`kbsync restore {}` brings it back with the files that are missing in it; or make it, and run the \
             command again",
            quoted(folder)
        ),
    )
}

fn not_ready(place: &Place) -> Refused {
    impossible(
        format!("{place} is there again, and is not ready"),
        "put it right, or remove it and run the command again",
    )
}

fn not_readable(id: ArticleId, why: &str) -> Refused {
    impossible(
        format!("the article {id} cannot be restored: {why}"),
        "`kbsync status` names the file; put it right or remove it",
    )
}

fn impossible(message: String, help: &str) -> Refused {
    Refused {
        kind: RefusedKind::Impossible,
        message,
        help: help.to_owned(),
    }
}
