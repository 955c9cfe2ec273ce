//! What goes: articles on the service, rows of what is gone from both.
//!
//! A DELETE is for ever (`docs/api.md`, A4.8): the last version is in the history before it.

use super::guard_read::{changed_meanwhile, is_old_copy, shown_as_before};
use super::put::version_of;
use super::record::deed;
use super::{Done, Run, failed, not_written};
use crate::drill::defect::{self, Defect};
use crate::engine::Engine;
use crate::engine::history::noted;
use crate::engine::pending::{may_repeat, worth_another_look};
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::mirror::scan;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Flags, Place, Revision, Side, Stamp};
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::{ErrorKind, Purpose, RemoteArticle, Service, ServiceError};
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};

impl<S: Service, D: Disk> Engine<S, D> {
    /// What is open of an earlier DELETE of this article: it may have arrived or not, and this one takes its place.
    fn open_deletion(&self, article: ArticleId) -> anyhow::Result<Option<IntentId>> {
        let is_of =
            |intent: &Intent| matches!(intent, Intent::DeleteArticle { id, .. } if *id == article);
        let mut intents = self.store.intents()?.into_iter();
        Ok(intents
            .find(|(_, intent)| is_of(intent))
            .map(|(number, _)| number))
    }

    /// Deletes an article whose file was removed.
    pub(super) async fn delete_article(
        &mut self,
        action: &Action,
        id: ArticleId,
        place: &Place,
        seen: &Seen,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        if let Some(done) = self.ensure_seen(id, seen, run).await? {
            return Ok(done);
        }
        if let Some((_, doubt)) = run.obstacle(action) {
            return Ok(Done::Later(doubt));
        }
        if let Some(done) = self.is_back(id, place, run) {
            return Ok(done);
        }
        let now = self.clock.now();
        let earlier = self.open_deletion(id)?;
        let intent = self.store.write(now, |tx| {
            tx.record(&SeenVersion {
                subject: Subject::Article(id),
                place: place.clone(),
                side: Side::Remote,
                cause: "deleted here".to_owned(),
                version: seen.version.clone(),
                file: None,
            })?;
            let intent = Intent::DeleteArticle {
                id,
                revision: last_seen(run, id, seen),
            };
            match earlier {
                Some(earlier) => tx.replace_intent(earlier, &intent).map(|()| earlier),
                None => tx.add_intent(&intent),
            }
        })?;
        match self.send_delete(id, place, seen, run).await? {
            Deleted::Yes => {}
            Deleted::Unclear(done) => return Ok(done),
            // An earlier one may have arrived, and only its intent says so.
            Deleted::No(done) if earlier.is_some() => return Ok(done),
            Deleted::No(done) => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                return Ok(done);
            }
            Deleted::Refused(error) => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                return self.refused(action, &error);
            }
        }
        let approved = run.request.allow_deletes || self.was_approved(action)?;
        let hidden = run.row(id).map(hidden).unwrap_or_default();
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_article(id)?;
            tx.remove_conflict(id)?;
            tx.bury(id, &last_seen(run, id, seen), run.row(id))?;
            tx.count_deletion(Side::Remote, approved, 1)?;
            tx.remove_intent(intent)?;
            tx.event(&deed(
                "delete",
                Side::Remote,
                &place.to_string(),
                Some(id),
                hidden,
            ))
        })?;
        self.clear_copies(id, run)?;
        run.sight.base.articles.remove(&id);
        Ok(Done::Yes(None))
    }

    /// The file of an article that is to be deleted must still be gone. Gives why it is not deleted.
    fn is_back(&self, id: ArticleId, place: &Place, run: &Run<'_>) -> Option<Done> {
        for place in homes(run, id, place) {
            match self.disk.look(At::Folder(&place.folder), &place.file) {
                Ok(None) => {}
                // Another article's file was moved there; the scan saw it.
                Ok(Some(entry)) if is_of_another(run, id, &place, entry.stamp) => {}
                Ok(Some(_)) if defect::is(Defect::ReturnedFileIgnored) => {}
                Ok(Some(_)) => return Some(Done::Later("its file is there again".to_owned())),
                // A folder that is gone holds no file; anything else is doubt.
                Err(error) if error.kind == DiskErrorKind::NotFound => {}
                Err(error) => return Some(not_written(&error)),
            }
        }
        self.lies_elsewhere(id, run)
    }

    /// It may have come back under another name, too: whatever came into the mirror since it was scanned is
    /// asked for its id.
    fn lies_elsewhere(&self, id: ArticleId, run: &Run<'_>) -> Option<Done> {
        if defect::is(Defect::ReturnedFileIgnored) {
            return None;
        }
        let (stamps, copies) = (&run.sight.stamps, &run.sight.local.copies);
        let known =
            |place: &Place, stamp| stamps.get(place) == Some(&stamp) || copies.contains_key(place);
        let came = match scan::appeared(&*self.disk, &run.sight.layout, &known) {
            Ok(came) => came,
            Err(error) => return Some(not_written(&error)),
        };
        let found = scan::read_strays(&*self.disk, &came);
        if let Some((place, _)) = found.ids.iter().find(|(_, found)| *found == id) {
            return Some(Done::Later(format!("its file is there again, as {place}")));
        }
        let unread = found.unreadable.first();
        unread.map(|place| Done::Later(format!("{place} cannot be read, which may be its file")))
    }

    /// Sends a DELETE, and looks after a lost answer: it is repeated only over the version that was seen.
    async fn send_delete(
        &mut self,
        id: ArticleId,
        place: &Place,
        seen: &Seen,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Deleted> {
        let (mut tries, mut lost) = (0, false);
        loop {
            let id = victim(run, id, seen);
            let error = match self.service.delete_article(id).await {
                Ok(()) => return Ok(Deleted::Yes),
                // With our own intent open, this is what we wanted (failures row 16).
                Err(error) if error.kind == ErrorKind::NotFound => return Ok(Deleted::Yes),
                Err(error) => error,
            };
            lost |= error.answer_lost;
            if error.answer_lost && defect::is(Defect::LostDeleteIsDone) {
                return Ok(Deleted::Yes);
            }
            if !worth_another_look(&error) || tries == TRIES {
                let refused = matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Refused);
                return Ok(match (lost, refused) {
                    (true, _) => Deleted::Unclear(failed(error)),
                    (false, true) => Deleted::Refused(error),
                    (false, false) => Deleted::No(failed(error)),
                });
            }
            tries += 1;
            if let Err(error) = self.before_another_look(&error, tries, lost).await {
                return Ok(Deleted::perhaps(lost, failed(error)));
            }
            let shown = (seen.visibility, &seen.version);
            match self.read_after(id, shown, lost).await? {
                // What was there before our own last write says nothing of what became of this one.
                Ok(found) if is_old(run, &found, seen) => {
                    return Ok(Deleted::perhaps(lost, shown_as_before()));
                }
                Ok(found)
                    if version_of(&found, &seen.version) == seen.version
                        && !is_hidden_since(&found, seen) =>
                {
                    let again = (seen.version.clone(), found.revision);
                    run.latest.insert(id, again);
                    if let Some(done) = self.is_back(id, place, run) {
                        return Ok(Deleted::perhaps(lost, done));
                    }
                    if !may_repeat(&error) {
                        return Ok(Deleted::Unclear(failed(error)));
                    }
                }
                Ok(found) => {
                    let version = version_of(&found, &seen.version);
                    self.keep_found(id, &version, &found, run)?;
                    return Ok(Deleted::No(changed_meanwhile()));
                }
                Err(found) if found.kind == ErrorKind::NotFound => {
                    return self.tell_gone_from_hidden(id, error).await;
                }
                Err(found) if found.stops_all() => return Ok(Deleted::Unclear(failed(found))),
                Err(_) => return Ok(Deleted::Unclear(failed(error))),
            }
        }
    }

    /// A GET that finds nothing may mean an article that a colleague took off the air meanwhile.
    async fn tell_gone_from_hidden(
        &self,
        id: ArticleId,
        error: ServiceError,
    ) -> anyhow::Result<Deleted> {
        if !self.may_probe()? {
            return Ok(Deleted::Unclear(failed(error)));
        }
        Ok(match self.service.probe(id, Purpose::Push).await {
            Ok(_) => Deleted::No(changed_meanwhile()),
            Err(error) if error.kind == ErrorKind::NotFound => Deleted::Yes,
            Err(_) => Deleted::Unclear(failed(error)),
        })
    }

    /// Drops the row of an article that is gone from both sides.
    pub(super) fn forget(&mut self, id: ArticleId, run: &mut Run<'_>) -> anyhow::Result<Done> {
        let place = run
            .row(id)
            .map(|row| row.place.to_string())
            .unwrap_or_default();
        let hidden = run.row(id).map(hidden).unwrap_or_default();
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_article(id)?;
            tx.remove_conflict(id)?;
            tx.event(&deed("forget", Side::Both, &place, Some(id), hidden))
        })?;
        self.clear_copies(id, run)?;
        run.sight.base.articles.remove(&id);
        Ok(Done::Yes(None))
    }

    /// Returns whether a person approved just this deletion: then it does not count against the day.
    pub(super) fn was_approved(&self, action: &Action) -> anyhow::Result<bool> {
        let mark = action.fingerprint();
        Ok(self
            .store
            .approvals()?
            .iter()
            .any(|approval| approval.set == mark))
    }
}

/// Returns whether a colleague took an article off the air since it was seen.
fn is_hidden_since(found: &RemoteArticle, seen: &Seen) -> bool {
    seen.visibility == Visibility::Published && found.flags.hides()
}

/// Whether readers saw an article, for the log: if it comes back, it must not show what was hidden.
pub(in crate::engine) fn hidden(row: &ArticleRow) -> String {
    let (there, here) = (row.remote_flags, row.file_flags);
    noted(Flags {
        enabled: there.enabled.or(here.enabled),
        draft: there.draft.or(here.draft),
    })
}

/// The revision under which the words that go were seen last: a colleague may have saved them once more since the
/// listing, and an old copy shows the later one.
fn last_seen(run: &Run<'_>, id: ArticleId, seen: &Seen) -> Revision {
    let latest = run.latest.get(&id);
    latest.map_or_else(|| seen.revision.clone(), |(_, revision)| revision.clone())
}

/// Returns whether an answer is from before our own last write of an article.
fn is_old(run: &Run<'_>, found: &RemoteArticle, seen: &Seen) -> bool {
    let version = version_of(found, &seen.version);
    is_old_copy(run, found.id, &version, &found.revision)
}

/// The article that goes: the one with that id, whatever address it has.
fn victim(run: &Run<'_>, id: ArticleId, seen: &Seen) -> ArticleId {
    if !defect::is(Defect::DeletedBySlug) {
        return id;
    }
    let listed = run.sight.remote.articles.iter();
    let mut same = listed.filter_map(|(other, entry)| match entry {
        Remote::Present(article) if article.version.slug == seen.version.slug => Some(*other),
        Remote::Present(_) | Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
    });
    same.next().unwrap_or(id)
}

/// What a DELETE came to.
enum Deleted {
    /// The article is gone.
    Yes,
    /// It is there still, and why.
    No(Done),
    /// The service did not want to.
    Refused(ServiceError),
    /// Who knows; the intent stays.
    Unclear(Done),
}

impl Deleted {
    /// Why it was given up: with an answer lost before, it may be gone all the same.
    fn perhaps(lost: bool, why: Done) -> Self {
        if lost {
            Self::Unclear(why)
        } else {
            Self::No(why)
        }
    }
}

/// How often a lost answer is looked after before the article waits for the next cycle.
const TRIES: u32 = 5;

/// Where a file would be that came back: at its place, which its folder may have left since.
fn homes(run: &Run<'_>, id: ArticleId, place: &Place) -> Vec<Place> {
    let category = run.row(id).map(|row| row.local.category);
    let folder = category.and_then(|category| run.sight.paired.folder(category));
    let now = folder.map(|folder| Place::new(folder, &place.file));
    let mut homes = vec![place.clone()];
    homes.extend(now.filter(|now| now != place));
    homes
}

/// Returns whether the file at an article's place is another article's, and just as it was scanned.
fn is_of_another(run: &Run<'_>, id: ArticleId, place: &Place, stamp: Stamp) -> bool {
    let paired = &run.sight.paired;
    let others = paired.files.iter().filter(|(other, _)| **other != id);
    let mut files = others.map(|(_, file)| file).chain(&paired.fresh);
    run.sight.stamps.get(place) == Some(&stamp) && files.any(|file| file.place == *place)
}
