//! What goes: articles on the service, files in the mirror, rows of what is gone from both.
//!
//! A DELETE is for ever (API specification, section 4.8): the last version is in the history before it.

use super::record::deed;
use super::{Done, Run, failed, not_written};
use crate::engine::{Engine, Stop};
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::mirror::document::Document;
use crate::model::{ArticleId, Place, Side, Stamp, Version};
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::Seen;
use crate::service::{ErrorKind, Service};
use crate::state::{Intent, Seen as SeenVersion, Subject};

impl<S: Service, D: Disk> Engine<S, D> {
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
        match self.disk.look(At::Folder(&place.folder), &place.file) {
            Ok(None) => {}
            // Another article's file was moved there; the scan saw it.
            Ok(Some(entry)) if is_of_another(run, id, place, entry.stamp) => {}
            Ok(Some(_)) => return Ok(Done::Later("its file is there again".to_owned())),
            // A folder that is gone holds no file; anything else is doubt.
            Err(error) if error.kind == DiskErrorKind::NotFound => {}
            Err(error) => return Ok(not_written(error)),
        }
        let now = self.clock.now();
        let intent = self.store.write(now, |tx| {
            tx.record(&SeenVersion {
                subject: Subject::Article(id),
                place: place.clone(),
                side: Side::Remote,
                cause: "deleted here".to_owned(),
                version: seen.version.clone(),
                file: None,
            })?;
            tx.add_intent(&Intent::DeleteArticle {
                id,
                revision: seen.revision.clone(),
            })
        })?;
        match self.service.delete_article(id).await {
            Ok(()) => {}
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Err(error) if error.answer_lost => return Ok(Done::Stopped(Stop::of(error))),
            Err(error) => {
                let now = self.clock.now();
                self.store.write(now, |tx| tx.remove_intent(intent))?;
                return Ok(match error.kind {
                    ErrorKind::Forbidden | ErrorKind::Refused => self.refused(action, &error)?,
                    ErrorKind::Unauthorized
                    | ErrorKind::NotFound
                    | ErrorKind::RateLimited { .. }
                    | ErrorKind::BudgetSpent { .. }
                    | ErrorKind::Unavailable
                    | ErrorKind::Unreadable
                    | ErrorKind::NoEndpoint
                    | ErrorKind::TooLarge => failed(error),
                });
            }
        }
        let approved = run.request.allow_deletes || self.was_approved(Side::Remote)?;
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_article(id)?;
            tx.remove_conflict(id)?;
            tx.tombstone(id, &seen.revision)?;
            tx.count_deletion(Side::Remote, approved, 1)?;
            tx.remove_intent(intent)?;
            tx.event(&deed(
                "delete",
                Side::Remote,
                &place.to_string(),
                Some(id),
                "",
            ))
        })?;
        run.sight.base.articles.remove(&id);
        Ok(Done::Yes(None))
    }

    /// Removes a file whose article is gone; its bytes stay in the history.
    pub(super) fn remove_file(
        &mut self,
        id: ArticleId,
        place: &Place,
        version: &Version,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let at = At::Folder(&place.folder);
        let content = match self.disk.read(at, &place.file, super::files::MAX_FILE) {
            Ok(content) => content,
            Err(error) => return Ok(not_written(error)),
        };
        let unchanged = run.sight.stamps.get(place) == Some(&content.stamp);
        let says = Document::parse_with_markers(&content.bytes)
            .is_ok_and(|document| super::files::says(&document, version));
        if !content.whole || (!unchanged && !says) {
            return Ok(Done::Later("the file changed during the cycle".to_owned()));
        }
        let now = self.clock.now();
        let text = Document::parse_with_markers(&content.bytes)
            .map(|document| document.text().to_owned())
            .unwrap_or_default();
        let intent = self.store.write(now, |tx| {
            tx.put_body(&text)?;
            let file = super::files::keep_whole(tx, &content.bytes, version, place)?;
            tx.record(&SeenVersion {
                subject: Subject::Article(id),
                place: place.clone(),
                side: Side::Local,
                cause: "deleted on the service".to_owned(),
                version: version.clone(),
                file,
            })?;
            tx.add_intent(&Intent::RemoveFile {
                id,
                place: place.clone(),
            })
        })?;
        if let Err(error) = self.disk.remove(at, &place.file, content.stamp) {
            let now = self.clock.now();
            self.store.write(now, |tx| tx.remove_intent(intent))?;
            return Ok(not_written(error));
        }
        self.disk.sync_folder(at)?;
        self.clear_copy(id, run)?;
        let approved = run.request.allow_deletes || self.was_approved(Side::Local)?;
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_article(id)?;
            tx.remove_conflict(id)?;
            tx.count_deletion(Side::Local, approved, 1)?;
            tx.remove_intent(intent)?;
            tx.event(&deed(
                "delete",
                Side::Local,
                &place.to_string(),
                Some(id),
                "",
            ))
        })?;
        run.sight.base.articles.remove(&id);
        Ok(Done::Yes(None))
    }

    /// Drops the row of an article that is gone from both sides.
    pub(super) fn forget(&mut self, id: ArticleId, run: &mut Run<'_>) -> anyhow::Result<Done> {
        let place = run
            .row(id)
            .map(|row| row.place.to_string())
            .unwrap_or_default();
        self.clear_copy(id, run)?;
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.remove_article(id)?;
            tx.remove_conflict(id)?;
            tx.event(&deed("forget", Side::Both, &place, Some(id), ""))
        })?;
        run.sight.base.articles.remove(&id);
        Ok(Done::Yes(None))
    }

    /// Tells whether a person approved deletions towards a side: those do not count against the day.
    fn was_approved(&self, side: Side) -> anyhow::Result<bool> {
        Ok(self
            .store
            .approvals()?
            .iter()
            .any(|approval| approval.side == side))
    }
}

/// Tells whether the file at an article's place is another article's, and just as it was scanned.
fn is_of_another(run: &Run<'_>, id: ArticleId, place: &Place, stamp: Stamp) -> bool {
    let paired = &run.sight.paired;
    let others = paired.files.iter().filter(|(other, _)| **other != id);
    let mut files = others.map(|(_, file)| file).chain(&paired.fresh);
    run.sight.stamps.get(place) == Some(&stamp) && files.any(|file| file.place == *place)
}
