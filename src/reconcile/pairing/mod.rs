//! Which file is which article, and which folder is which category (design, section 3, "Identity").
//!
//! In order: the id in the file; the words, of an article whose id may not have come into its file before that
//! was moved; the place in the state, so that a renamed folder takes its files along; category and slug,
//! where the service has an article that nothing else claims; else it is new.
//! Of two files with one id the one at the place in the state keeps it, and the other is a new article.

mod folders;
mod stale;
mod strangers;
mod words;

use crate::drill::defect::{self, Defect};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place, Revision};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{
    Base, LocalCategory, LocalFile, LocalSnapshot, Remote, RemoteSnapshot, Seen,
};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The mirror with every file and folder given its identity.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Paired {
    /// Files of articles that have an id.
    pub files: BTreeMap<ArticleId, LocalFile>,
    /// Articles whose file is there, or may be there, but cannot be read as one.
    pub unknown: BTreeMap<ArticleId, String>,
    /// Files that are new articles.
    pub fresh: Vec<LocalFile>,
    /// Folders of categories, new ones under their provisional ids.
    pub categories: BTreeMap<CategoryId, LocalCategory>,
    /// What could not be paired.
    pub problems: Vec<Problem>,
}

impl Paired {
    /// Gives the folder of a category.
    pub fn folder(&self, id: CategoryId) -> Option<&str> {
        self.categories
            .get(&id)
            .map(|category| category.folder.as_str())
    }

    /// Tells whether nothing in the mirror claims an article.
    fn is_free(&self, id: ArticleId) -> bool {
        !self.files.contains_key(&id) && !self.unknown.contains_key(&id)
    }

    /// Marks articles of which no ready file was found.
    fn mark(&mut self, ids: impl IntoIterator<Item = ArticleId>, why: &str) {
        for id in ids {
            if !self.files.contains_key(&id) {
                self.unknown.entry(id).or_insert_with(|| why.to_owned());
            }
        }
    }
}

/// Pairs a scanned mirror with the base and with what the service lists.
pub fn pair(base: &Base, local: &LocalSnapshot, remote: &RemoteSnapshot) -> Paired {
    let mut paired = Paired::default();
    let folders = folders::pair_folders(base, local, remote, &mut paired);
    let places = StatePlaces::of(base);
    let unready = Unready::of(local, &folders, &places);
    let files = with_categories(local, &folders, &mut paired);
    let (left, copies) = claim_by_id(base, &places, &unready, files, &mut paired);
    stale::take_back(base, local, &places, &unready, &left, &mut paired);
    let over: BTreeSet<ArticleId> = copies.iter().map(|copy| copy.over).collect();
    let left = words::claim_by_words(base, local, &places, (&unready, &over), left, &mut paired);
    let (mut left, doubtful) =
        words::hold_doubtful(base, local, &places, &unready, left, &mut paired);
    settle_copies(copies, &mut left, &mut paired);
    // An id says more than a place: what names an article is its file, though it cannot be read.
    paired.mark(unready.at_home, NOT_READY);
    paired.mark(unready.named, NOT_READY);
    let left = claim_by_place(base, local, &places, left, &mut paired);
    claim_by_slug(base, local, remote, (left, doubtful), &mut paired);
    strangers::hold_moved(base, local, remote, &mut paired);
    mark_nameless(base, local, &folders, &places, &mut paired);
    mark_unproven(base, local, &folders, &mut paired);
    paired
}

const NOT_READY: &str = "its file is not ready";

/// The places in the state: a category and a file's name, not a folder's. Where a folder is not its
/// category's any more, the place itself counts.
struct StatePlaces<'a> {
    by_category: HashMap<(CategoryId, &'a str), ArticleId>,
    /// The categories of the folders in the state.
    categories: BTreeMap<&'a str, CategoryId>,
    /// Hardly ever asked for.
    exact: OnceCell<HashMap<&'a Place, ArticleId>>,
    base: &'a Base,
}

impl<'a> StatePlaces<'a> {
    fn of(base: &'a Base) -> Self {
        let categories = folders::of_rows(base);
        let rows = base.articles.values();
        let mut by_category: HashMap<(CategoryId, &str), ArticleId> = rows
            .clone()
            .filter_map(|row| {
                let category = *categories.get(row.place.folder.as_str())?;
                Some(((category, row.place.file.as_str()), row.id))
            })
            .collect();
        // The folder was renamed since, and the file could not be read then: it is where its folder is.
        for row in rows.clone() {
            if !categories.contains_key(row.place.folder.as_str()) {
                by_category
                    .entry((row.local.category, row.place.file.as_str()))
                    .or_insert(row.id);
            }
        }
        Self {
            by_category,
            categories,
            exact: OnceCell::new(),
            base,
        }
    }

    /// The article that had this place when the two sides last agreed.
    fn owner(&self, category: Option<CategoryId>, place: &Place) -> Option<ArticleId> {
        category
            .and_then(|id| self.by_category.get(&(id, place.file.as_str())))
            .or_else(|| self.exact().get(place))
            .copied()
    }

    /// Tells which of the files that name an article is where it was. Another article may have had this place, too: its
    /// file was moved away, and the two sides do not agree on it since.
    fn home(&self, id: ArticleId, files: &[LocalFile]) -> Option<usize> {
        let row = self.base.articles.get(&id)?;
        let folder = row.place.folder.as_str();
        let category = self.categories.get(folder).copied();
        let category = category.unwrap_or(row.local.category);
        let along = |file: &LocalFile| {
            file.version.category == category && file.place.file == row.place.file
        };
        // A renamed folder took its files along: what lies in a new folder of the old name is a copy.
        let found = files.iter().position(along);
        let owned = |file: &LocalFile| self.owner_of(file) == Some(id);
        found.or_else(|| files.iter().position(owned))
    }

    /// The article whose file this is by its folder's category, wherever that folder is now.
    fn owner_along(&self, file: &LocalFile) -> Option<ArticleId> {
        let place = (file.version.category, file.place.file.as_str());
        self.by_category.get(&place).copied()
    }

    fn exact(&self) -> &HashMap<&'a Place, ArticleId> {
        self.exact.get_or_init(|| {
            let rows = self.base.articles.values();
            rows.map(|row| (&row.place, row.id)).collect()
        })
    }

    fn owner_of(&self, file: &LocalFile) -> Option<ArticleId> {
        self.owner(Some(file.version.category), &file.place)
    }
}

/// Articles of which something lies in the mirror that is no ready article.
struct Unready {
    /// At the article's place in the state.
    at_home: BTreeSet<ArticleId>,
    /// Anywhere, with the article's id in it.
    named: BTreeSet<ArticleId>,
}

impl Unready {
    fn of(
        local: &LocalSnapshot,
        folders: &BTreeMap<&str, CategoryId>,
        places: &StatePlaces<'_>,
    ) -> Self {
        let unknown = local.unknown.iter();
        Self {
            at_home: unknown
                .clone()
                .filter_map(|unknown| {
                    let category = folders.get(unknown.place.folder.as_str()).copied();
                    places.owner(category, &unknown.place)
                })
                .collect(),
            named: unknown.filter_map(|unknown| unknown.id).collect(),
        }
    }
}

/// Gives every file its folder's category; files of folders without identity are left out, as unknown.
fn with_categories(
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    let mut files = Vec::with_capacity(local.files.len());
    for file in &local.files {
        if let Some(&category) = folders.get(file.place.folder.as_str()) {
            let mut file = file.clone();
            file.version.category = category;
            files.push(file);
        } else if let Some(id) = file.id {
            paired
                .unknown
                .insert(id, "its folder's category is not clear".to_owned());
        }
    }
    files
}

/// A copy of an article's file that lies where another article's was.
struct Copied {
    of: ArticleId,
    over: ArticleId,
    file: LocalFile,
}

fn claim_by_id(
    base: &Base,
    places: &StatePlaces<'_>,
    unready: &Unready,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> (Vec<LocalFile>, Vec<Copied>) {
    let mut by_id: BTreeMap<ArticleId, Vec<LocalFile>> = BTreeMap::new();
    let (mut left, mut copies) = (Vec::new(), Vec::new());
    for file in files {
        match file.id {
            Some(id) => by_id.entry(id).or_default().push(file),
            None => left.push(file),
        }
    }
    for (id, mut claimants) in by_id {
        // However the mirror was walked, the same is said of it.
        claimants.sort_by(|one, other| one.place.cmp(&other.place));
        let at_home = places.home(id, &claimants);
        // A file that is not ready may be the article's, and the ready one a copy of it.
        if at_home.is_none() && (unready.at_home.contains(&id) || unready.named.contains(&id)) {
            paired.unknown.insert(id, NOT_READY.to_owned());
            continue;
        }
        let keeper = if defect::is(Defect::CopyTakesOver) {
            Some(claimants.len() - 1)
        } else if defect::is(Defect::RenameIsDeletion) {
            at_home
        } else {
            at_home.or_else(|| (claimants.len() == 1).then_some(0))
        };
        let Some(keeper) = keeper else {
            report_double(id, &claimants, paired);
            continue;
        };
        let file = claimants.swap_remove(keeper);
        paired.files.insert(id, file);
        for mut copy in claimants {
            let over = places.owner_of(&copy).filter(|other| *other != id);
            let row = over.and_then(|other| base.articles.get(&other));
            if let Some(row) = row.filter(|row| !is_newborn(row, &copy)) {
                copies.push(Copied {
                    of: id,
                    over: row.id,
                    file: copy,
                });
            } else {
                copy.id = None;
                left.push(copy);
            }
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
    (left, copies)
}

/// A copy over another article's file: whether that one was meant to go is for a person to say, unless that file was
/// moved before its id was in it, and is found by its words.
fn settle_copies(copies: Vec<Copied>, left: &mut Vec<LocalFile>, paired: &mut Paired) {
    for Copied { of, over, mut file } in copies {
        if paired.files.contains_key(&over) {
            file.id = None;
            left.push(file);
        } else {
            report_overwritten(of, over, &file, paired);
        }
    }
    left.sort_by(|one, other| one.place.cmp(&other.place));
}

/// Tells whether a copy became this article, and nobody has written its id into the file yet.
fn is_newborn(row: &ArticleRow, copy: &LocalFile) -> bool {
    is_unread(row) && row.local.digest() == copy.version.digest()
}

/// Tells whether an article may be one whose id never came into its file: the row is of our own writing, or of
/// a creation whose answer was lost, and no scan has seen the file since.
pub fn is_unread(row: &ArticleRow) -> bool {
    let unknown = row.revision == Revision::default();
    row.stamp.is_none() && (unknown || row.written.as_ref() == Some(&row.revision))
}

fn report_double(id: ArticleId, claimants: &[LocalFile], paired: &mut Paired) {
    let names: Vec<_> = claimants
        .iter()
        .map(|file| file.place.to_string())
        .collect();
    for file in claimants {
        paired.problems.push(Problem {
            path: file.place.to_string(),
            id: Some(id),
            message: format!(
                "the same id stands in {}, and neither is where the article was; remove the `id:` line \
                 from all but one",
                names.join(" and ")
            ),
        });
    }
    paired
        .unknown
        .insert(id, "two files have its id".to_owned());
}

fn report_overwritten(id: ArticleId, other: ArticleId, copy: &LocalFile, paired: &mut Paired) {
    paired.problems.push(Problem {
        path: copy.place.to_string(),
        id: Some(other),
        message: format!(
            "the file of article {other} now has the id of article {id}, which has a file of its own; \
             put `id: {other}` back, or remove the file to delete that article"
        ),
    });
    paired
        .unknown
        .insert(other, "its file has another article's id".to_owned());
}

/// Gives files without an id the articles whose places in the state they have.
fn claim_by_place(
    base: &Base,
    local: &LocalSnapshot,
    places: &StatePlaces<'_>,
    files: Vec<LocalFile>,
    paired: &mut Paired,
) -> Vec<LocalFile> {
    // A renamed folder took its files along: what lies in a new folder of the old name is none of them.
    let left = claim_each(files, base, local, paired, |file| places.owner_along(file));
    claim_each(left, base, local, paired, |file| places.owner_of(file))
}

fn claim_each(
    files: Vec<LocalFile>,
    base: &Base,
    local: &LocalSnapshot,
    paired: &mut Paired,
    owner: impl Fn(&LocalFile) -> Option<ArticleId>,
) -> Vec<LocalFile> {
    let mut left = Vec::new();
    for file in files {
        match owner(&file).filter(|id| paired.is_free(*id)) {
            Some(id) => claim(id, file, base, local, paired),
            None => left.push(file),
        }
    }
    left
}

/// Gives a file that names no article one by its place or address. While something else in the mirror cannot
/// be read that may be the article's own file, moved there by its writer, and then this one's words were never
/// meant for the article.
fn claim(id: ArticleId, file: LocalFile, base: &Base, local: &LocalSnapshot, paired: &mut Paired) {
    let edited = base
        .articles
        .get(&id)
        .is_some_and(|row| !row.local.same_words(&file.version));
    match local.unread.first().filter(|_| edited) {
        Some(unread) => {
            paired.problems.push(Problem {
                path: file.place.to_string(),
                id: Some(id),
                message: format!(
                    "it has no `id:` line, and whether it is the file of article {id} cannot be told while \
                     {unread} cannot be read"
                ),
            });
            paired.unknown.insert(id, UNREAD.to_owned());
        }
        None => {
            paired.files.insert(id, file);
        }
    }
}

const UNREAD: &str = "its file may be one that cannot be read";

/// Gives files without an id the articles that have their category and slug and that nothing else claims.
///
/// An article that came to the address only since both sides last agreed is not what such a file was written
/// for: the file would count as an edit of it, and replace a text that its writer never saw.
fn claim_by_slug(
    base: &Base,
    local: &LocalSnapshot,
    remote: &RemoteSnapshot,
    (files, doubtful): (Vec<LocalFile>, Vec<LocalFile>),
    paired: &mut Paired,
) {
    if files.is_empty() && doubtful.is_empty() {
        return;
    }
    let came = |id: &ArticleId, seen: &Seen| {
        base.articles.get(id).is_some_and(|row| {
            row.remote.category != seen.version.category || row.remote.slug != seen.version.slug
        })
    };
    let mut by_slug: BTreeMap<(CategoryId, &str), ArticleId> = BTreeMap::new();
    for (id, entry) in &remote.articles {
        if let Remote::Present(seen) = entry
            && paired.is_free(*id)
            && !came(id, seen)
        {
            by_slug.insert((seen.version.category, seen.version.slug.as_str()), *id);
        }
    }
    for file in doubtful {
        let address = (file.version.category, file.version.slug.as_str());
        paired.mark(by_slug.get(&address).copied(), words::DOUBTFUL);
    }
    for file in files {
        let address = (file.version.category, file.version.slug.as_str());
        let found = by_slug.get(&address).copied();
        match found.filter(|id| paired.is_free(*id)) {
            Some(id) => claim(id, file, base, local, paired),
            None => paired.fresh.push(file),
        }
    }
}

/// Marks articles whose id may never have come into their file, while something that is no ready article and
/// names none lies where no article was, or has words of theirs: that may be the file, moved by its writer before the
/// id was in it.
fn mark_nameless(
    base: &Base,
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    places: &StatePlaces<'_>,
    paired: &mut Paired,
) {
    let mut unknown = local.unknown.iter();
    if !unknown.any(|unknown| unknown.id.is_none()) {
        return;
    }
    for row in base.articles.values().filter(|row| is_unread(row)) {
        if !paired.is_free(row.id) {
            continue;
        }
        let nameless = local.unknown.iter().find(|unknown| {
            let category = folders.get(unknown.place.folder.as_str()).copied();
            let owner = || places.owner(category, &unknown.place);
            // Another article was there: what can be read in it tells.
            let akin = || local.nameless.contains(&(row.id, unknown.place.clone()));
            unknown.id.is_none() && (owner().is_none() || akin())
        });
        let Some(nameless) = nameless else {
            continue;
        };
        paired.problems.push(Problem {
            path: row.place.to_string(),
            id: Some(row.id),
            message: format!(
                "its file is not there, and whether it is {} cannot be told, which is not ready",
                nameless.place
            ),
        });
        paired.unknown.insert(row.id, UNREAD.to_owned());
    }
}

/// Marks the articles of which absence is not proven.
fn mark_unproven(
    base: &Base,
    local: &LocalSnapshot,
    folders: &BTreeMap<&str, CategoryId>,
    paired: &mut Paired,
) {
    // Several folders claim such a category: a file that has no id may lie in any of them.
    let unclear: BTreeSet<CategoryId> = local
        .categories
        .iter()
        .filter(|category| !folders.contains_key(category.folder.as_str()))
        .filter_map(|category| category.id)
        .collect();
    // A folder of another workspace may lie where files of this one were.
    let homeless: BTreeSet<&str> = local
        .categories
        .iter()
        .map(|category| category.folder.as_str())
        .filter(|folder| !folders.contains_key(folder))
        .collect();
    for row in base.articles.values() {
        let why = if !local.complete && !defect::is(Defect::ScanTrusted) {
            "the mirror was not read whole"
        } else if local.unreadable.contains(row.place.folder.as_str()) {
            "its folder cannot be read"
        } else if unclear.contains(&row.local.category)
            || homeless.contains(row.place.folder.as_str())
        {
            "its folder's category is not clear"
        } else {
            continue;
        };
        paired.mark([row.id], why);
    }
}
