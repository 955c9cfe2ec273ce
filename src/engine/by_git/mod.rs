//! Questions to git about changed files, for the guards, which hold changes that git may have made.
//!
//! A file is *behind* when it has the content of the checked-out commit, and the newer content of the base was not
//! committed since both sides last agreed: `git stash`, `git checkout FILE` or `git restore` set the newer content
//! aside, perhaps for a `git pull`. If the newer content was committed, a later commit replaced it on purpose, and the
//! file is an edit; so is a file whose content comes from a commit made here. If git cannot say, a file with an older
//! version, or one that was held as behind, counts as behind; an older version of a file with a filter of git (LFS)
//! always does, because the commits have another form of it. The rule is the same for articles and `_category.yaml`. An
//! edit of such a file is held as well, if a colleague wrote the newer content (`edited`).
//!
//! A file is a *duplicate* when git brought it back to a former place of an article or a category: the committed file
//! has an id whose file is elsewhere now. A copy that a person committed here is intended. If git cannot say, a copy is
//! a new article, as without git.
//!
//! A removal is *unseen* when the newest version of the file is in no commit: the person who removed the file may not
//! have seen that version. If git cannot say, every removal is unseen.

mod content;
mod duplicate;
mod edited;

use super::history::category as category_history;
use super::open_actions::OpenAction;
use super::{Contents, GitView, Since};
use crate::engine::observation::Observation;
use crate::engine::settings::Cause;
use crate::model::path::{CATEGORY_FILE, quoted};
use crate::model::{ArticleId, CategoryId, Field, Place, Side, Texts as _};
use crate::reconcile::guard::ByGit;
use crate::reconcile::plan::{Action, HoldRule, Plan, Step};
use crate::reconcile::snapshot::Keep;
use crate::state::store::Store;
use crate::state::{StateResult, Subject};
use content::Content;
use duplicate::{Duplicate, created_at};
use std::collections::BTreeSet;

/// The reason for holding removals by a commit, where the newest text is in no commit.
const REMOVED_UNSEEN: &str = "git removed these files, and their newest text is in no commit: the person who removed them \
     may not have seen that text. `kbsync restore FOLDER` brings the files back, `kbsync approve` deletes the articles";

/// A file whose content differs from the newest known version.
struct Changed<'a> {
    action: &'a Action,
    /// The file's place now, and in the base.
    places: [Place; 2],
    /// The places of its versions in the history.
    former: Vec<Place>,
    now: Content<'a>,
    /// The newest known version: of the base, or of the file when a conflict was recorded.
    newest: Content<'a>,
}

/// Asks git for the committed contents of a plan's files and, where needed, for their history.
pub(super) fn by_git(
    store: &Store,
    git: &dyn GitView,
    plan: &Plan,
    observed: &Observation,
    held: &[OpenAction],
) -> anyhow::Result<ByGit> {
    let mut found = ByGit::default();
    let actions = || plan.actions.iter();
    let removals = actions().filter(|action| action.deletes() == Some(Side::Remote));
    let removals = removals.filter_map(|action| Some((action.path.clone(), action.id?)));
    // Two articles may have their files at one path.
    let mut removals: Vec<(String, ArticleId)> = removals.collect();
    if !git.is_there() {
        return Ok(found);
    }
    // A person has just restored these versions.
    let is_restored = observed.request.cause == Cause::Restore;
    let mut changed: Vec<_> = actions()
        .filter(|_| !is_restored)
        .filter_map(|action| changed(action, observed, store))
        .collect::<StateResult<_>>()?;
    let created = actions().filter_map(|action| Some((action, created_at(action)?.to_string())));
    let created: Vec<_> = created.collect();
    let mut paths = paths_of(&changed);
    let former = changed.iter().flat_map(|file| &file.former);
    paths.extend(former.map(ToString::to_string));
    paths.extend(created.iter().map(|(_, path)| path.clone()));
    paths.extend(removals.iter().map(|(path, _)| path.clone()));
    if paths.is_empty() {
        return Ok(found);
    }
    if !removals.is_empty() {
        let removed = removals.iter().map(|(path, _)| path.clone());
        let why = git.held_removals(&removed.collect());
        let judged = removals.iter();
        let judged = judged.filter_map(|(path, id)| Some((*id, why.get(path)?.clone())));
        found.removed.extend(judged);
    }
    let committed = git.committed(&paths);
    let (mut duplicates, mut edited) = (Vec::new(), Vec::new());
    if let Ok(committed) = &committed {
        let all = changed.into_iter();
        let (same, other): (_, Vec<_>) = all.partition(|file| file.is_in(committed));
        changed = same;
        hold_filtered(store, git, &other, observed, &mut found)?;
        for file in other {
            if let Some(undone) = file.undone(store, committed, observed)? {
                edited.push((file, undone));
            }
        }
        // HEAD still has the file: a person removed it, not a pull.
        removals.retain(|(path, _)| !committed.contains_key(path));
        let created = created.into_iter();
        duplicates.extend(created.filter_map(|(action, path)| {
            let bytes = committed.get(&path)?;
            Duplicate::find(action, path, bytes, observed)
        }));
    }
    let mut paths = paths_of(changed.iter().chain(edited.iter().map(|(file, _)| file)));
    paths.extend(duplicates.iter().map(|one| one.path.clone()));
    paths.extend(removals.iter().map(|(path, _)| path.clone()));
    let since = match &committed {
        Ok(_) if paths.is_empty() => return Ok(found),
        Ok(_) => git.committed_since(&paths),
        Err(why) => Err(why.clone()),
    };
    let own = since.as_ref().ok().map(|since| &since.by_own_commits);
    let is_own = |path: &String| own.is_some_and(|own| own.contains(path));
    for file in &changed {
        let is_older = is_older(store, file)?;
        let was_held = held.iter().any(|held| {
            held.rule == Some(HoldRule::Behind) && held.is_about(file.action.id, &file.action.path)
        });
        // Without an answer from git only suspicious files are held. Otherwise every file from a pull would be held on
        // a machine without git.
        let is_suspicious = is_older || was_held;
        let is_behind = match &since {
            Ok(since) => file.is_behind(since, is_older, is_suspicious),
            Err(_) => is_suspicious,
        };
        if is_behind {
            let reason = file.reason(since.as_ref().err(), observed);
            found.behind.insert(file.action.fingerprint(), reason);
        }
    }
    for (file, undone) in edited {
        let is_settled = |since: &Since| !file.is_behind(since, true, true);
        if !since.as_ref().is_ok_and(is_settled) {
            let reason = undone.reason(&file.places);
            found.behind.insert(file.action.fingerprint(), reason);
        }
    }
    for one in duplicates.into_iter().filter(|one| !is_own(&one.path)) {
        found.behind.insert(one.action.fingerprint(), one.reason());
    }
    for (path, id) in removals.into_iter().filter(|(path, _)| !is_own(path)) {
        if is_unseen(since.as_ref().ok(), &path, id, observed, store)? {
            found.removed.entry(id).or_insert(REMOVED_UNSEEN.into());
        }
    }
    Ok(found)
}

/// Holds older versions of files that no commit has in the files' form. One request to git, and none without such a
/// file.
fn hold_filtered(
    store: &Store,
    git: &dyn GitView,
    files: &[Changed<'_>],
    observed: &Observation,
    found: &mut ByGit,
) -> anyhow::Result<()> {
    let mut older = Vec::new();
    for file in files {
        if is_older(store, file)? {
            older.push(file);
        }
    }
    if older.is_empty() {
        return Ok(());
    }
    let filtered = git.filtered(&paths_of(older.iter().copied()));
    for file in older {
        if let Some(why) = filtered.get(&file.places[0].to_string()) {
            let reason = file.reason(Some(why), observed);
            found.behind.insert(file.action.fingerprint(), reason);
        }
    }
    Ok(())
}

/// Returns whether the newest version of a removed file is in no commit.
fn is_unseen(
    since: Option<&Since>,
    path: &str,
    id: ArticleId,
    observed: &Observation,
    store: &Store,
) -> StateResult<bool> {
    let Some(contents) = since.and_then(|since| since.contents.as_ref()) else {
        return Ok(true);
    };
    let (Some(row), Some(contents)) = (observed.row(id), contents.get(path)) else {
        return Ok(false);
    };
    let newest = Content::of_article(store, id, &row.local, row.file_flags)?;
    Ok(!contents.iter().any(|bytes| newest.is_in(bytes, &row.place)))
}

/// Returns whether the history has the file's version, and a newer one that replaced it.
fn is_older(store: &Store, file: &Changed<'_>) -> anyhow::Result<bool> {
    Ok(match (file.now, file.newest) {
        // Flags alone have no older version.
        (Content::Article(_, now, ..), Content::Article(_, newest, ..)) if now == newest => false,
        (Content::Article(id, now, ..), _) => store
            .superseded_version(id, now.digest(), Side::Local)?
            .is_some(),
        (Content::Category(id, now), _) => category_history::replaced(store, id, now)?,
    })
}

impl Changed<'_> {
    /// Returns the reason for a hold. `git_error`: why git could not be asked.
    fn reason(&self, git_error: Option<&String>, observed: &Observation) -> String {
        let cause = match git_error {
            None => "as after `git checkout` or `git stash`".to_owned(),
            Some(why) => format!("and git may have done it ({why})"),
        };
        let conflicts = &observed.base.conflicts;
        let has_conflict =
            matches!(self.now, Content::Article(id, ..) if conflicts.contains_key(&id));
        if has_conflict || matches!(self.action.step, Step::Conflict(_)) {
            return format!(
                "the file may have gone back to the committed version, {cause}; the conflict stays, and nothing is sent: bring the newer \
                 file back (`git stash pop`, `git pull`), or edit the file, run `kbsync sync`, and settle the conflict with `kbsync resolve`"
            );
        }
        let [now, newest] = &self.places;
        let (name, was) = match self.newest {
            Content::Article(..) => ("the file", newest.to_string()),
            Content::Category(..) => (CATEGORY_FILE, newest.folder.clone()),
        };
        // The action's fields may also have a slug that a colleague changed.
        let slug = self.newest.slug();
        let approve = "`kbsync approve` sends the file as it is";
        let start = format!(
            "{name} may have gone back to the committed version, {cause}: no commit that kbsync found has the newest version."
        );
        if now != newest {
            let was = quoted(&was);
            // At its old place, a restored version would move the article back.
            let then = if self.has_newest_words() {
                String::new()
            } else {
                let path = newest.to_string();
                let path = quoted(&path);
                format!(", and then run `kbsync restore {path}` for the newest content")
            };
            return format!(
                "{start} If you did not rename {was}, give it that name again{then}; {approve}"
            );
        }
        let undo = if self.now.slug() == slug {
            String::new()
        } else {
            format!(" If you did not change its slug, write `slug: {slug}` into it again.")
        };
        format!(
            "{start}{undo} `kbsync restore {}` brings the newest content back, and so do `git stash pop` and `git pull` if it is in \
             a stash or on the remote; {approve}",
            quoted(&now.to_string())
        )
    }

    fn has_newest_words(&self) -> bool {
        match (self.now, self.newest) {
            (Content::Article(_, now, ..), Content::Article(_, newest, ..)) => {
                now.same_words(newest)
            }
            (Content::Category(_, now), Content::Category(_, newest)) => {
                let mut differing = now.differing(newest).into_iter();
                differing.all(Field::is_of_place)
            }
            (Content::Article(..), Content::Category(..))
            | (Content::Category(..), Content::Article(..)) => false,
        }
    }

    /// Returns whether the file has the content of the commit at its place, or at its place before a rename.
    fn is_in(&self, committed: &Contents) -> bool {
        let [now, _] = &self.places;
        let mut places = self.places.iter().map(ToString::to_string);
        places.any(|path| (committed.get(&path)).is_some_and(|bytes| self.now.is_in(bytes, now)))
    }

    /// Returns whether a file that is as committed, or an edit of it, is behind: no commit has the newest known version,
    /// under the file's old or new name. `is_older`: the history has the file's version.
    fn is_behind(&self, since: &Since, is_older: bool, is_suspicious: bool) -> bool {
        let [now, newest] = &self.places;
        // A commit made here proves nothing for an older version: the commit may precede the newer text.
        if !is_older && since.by_own_commits.contains(&now.to_string()) {
            return false;
        }
        let Some(contents) = &since.contents else {
            return is_suspicious;
        };
        // A file in another folder is another version: the article was moved.
        let places = self.places.iter();
        let mut places = places.filter(|place| place.folder == newest.folder);
        !places.any(|place| {
            let mut contents = contents.get(&place.to_string()).into_iter().flatten();
            contents.any(|bytes| self.newest.is_in(bytes, place))
        })
    }
}

/// The places of files now and in the base.
fn paths_of<'f, 'a: 'f>(files: impl IntoIterator<Item = &'f Changed<'a>>) -> BTreeSet<String> {
    let places = files.into_iter().flat_map(|file| &file.places);
    places.map(ToString::to_string).collect()
}

/// Returns the file that an action compares with the service, if the file differs from the newest known version.
fn changed<'a>(
    action: &'a Action,
    observed: &'a Observation,
    store: &Store,
) -> Option<StateResult<Changed<'a>>> {
    let (id, place, version) = match &action.step {
        Step::Settle(settle) => (settle.id, settle.from()?, settle.had()?),
        Step::Conflict(conflict) => (conflict.id, &conflict.place, &conflict.local),
        // A person may recreate a deleted article.
        Step::CreateArticle {
            place,
            version,
            instead_of,
            ..
        } => ((*instead_of)?, place, version),
        Step::SettleCategory(settle) => {
            return changed_category(action, settle.id, observed, store);
        }
        Step::CreateCategory { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Wait => return None,
    };
    let row = observed.row(id)?;
    // A user who removes a conflict copy accepts the content that the file had in the conflict.
    let conflict = observed.base.conflicts.get(&id);
    let newest = conflict.map_or(&row.local, |conflict| &conflict.local);
    let file = observed.paired.files.get(&id);
    let flags = file.map_or(row.file_flags, |file| file.flags);
    let is_changed = version != newest || flags != row.file_flags;
    // A person may have chosen the service's version over the file.
    let decision = observed.request.resolve.get(&id);
    let is_given_up = decision.is_some_and(|decision| decision.keep == Keep::Remote);
    (is_changed && !is_given_up).then(|| {
        Ok(Changed {
            action,
            places: [place.clone(), row.place.clone()],
            former: former_places(store, &Subject::Article(id))?,
            now: Content::of_article(store, id, version, flags)?,
            newest: Content::of_article(store, id, newest, row.file_flags)?,
        })
    })
}

fn changed_category<'a>(
    action: &'a Action,
    id: CategoryId,
    observed: &'a Observation,
    store: &Store,
) -> Option<StateResult<Changed<'a>>> {
    let row = observed.base.categories.get(&id)?;
    let here = observed.paired.categories.get(&id)?;
    let now = here.version.as_ref()?;
    let before = row.folder.as_ref().unwrap_or(&here.folder);
    (*now != row.local).then(|| {
        Ok(Changed {
            action,
            places: [&here.folder, before].map(|folder| Place::new(folder, CATEGORY_FILE)),
            former: former_places(store, &Subject::category(id))?,
            now: Content::Category(id, now),
            newest: Content::Category(id, &row.local),
        })
    })
}

fn former_places(store: &Store, subject: &Subject) -> StateResult<Vec<Place>> {
    let versions = store.versions(subject)?.into_iter();
    let places: BTreeSet<Place> = versions.map(|kept| kept.seen.place).collect();
    Ok(places.into_iter().collect())
}
