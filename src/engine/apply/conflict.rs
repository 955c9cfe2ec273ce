//! Conflicts: the service's version beside the file, until a person settles it (design, section 4).

use super::Run;
use crate::engine::Engine;
use crate::mirror::disk::{At, Disk, Durability, Expect};
use crate::mirror::document::{Changes, Document};
use crate::model::base::ConflictRow;
use crate::model::{ArticleId, Place, Revision, Side};
use crate::reconcile::plan::Conflict;
use crate::service::Service;
use crate::state::{Seen as SeenVersion, Subject};

impl<S: Service, D: Disk> Engine<S, D> {
    /// Puts the copy beside the file, then remembers which two versions were shown. Gives what went wrong.
    ///
    /// The copy comes first: a remembered conflict without its copy would count as settled.
    pub(super) fn show_conflict(
        &mut self,
        conflict: &Conflict,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Option<String>> {
        if !conflict.fresh {
            return Ok(None);
        }
        if let (Some(seen), Some(copy)) = (&conflict.seen, &conflict.copy) {
            let text = self.text(seen.version.text, run)?;
            let source = Document::compose(&Changes {
                id: Some(conflict.id),
                title: Some(seen.version.title.clone()),
                slug: Some(Some(seen.version.slug.clone())),
                enabled: Some(None),
                draft: Some(None),
                introtext: Some(seen.version.introtext.clone()),
                keywords: Some(seen.version.keywords.clone()),
                text: Some(text),
            });
            if let Err(error) = self.write_copy(conflict, copy, &source) {
                return Ok(Some(format!("the copy could not be written: {error:#}")));
            }
        }
        let elsewhere = |row: &ConflictRow| row.place.folder != conflict.place.folder;
        if run
            .sight
            .base
            .conflicts
            .get(&conflict.id)
            .is_some_and(elsewhere)
        {
            self.clear_copy(conflict.id, run)?;
        }
        let now = self.clock.now();
        let row = ConflictRow {
            id: conflict.id,
            place: conflict.place.clone(),
            local: conflict.local.clone(),
            remote: conflict.seen.as_ref().map(|seen| seen.version.clone()),
            revision: conflict
                .seen
                .as_ref()
                .map_or_else(Revision::default, |seen| seen.revision.clone()),
            copy: conflict.copy.clone(),
            reason: conflict.reason.clone(),
            at: now,
        };
        let detail = conflict.reason.clone();
        self.store.write(now, |tx| {
            tx.put_conflict(&row)?;
            tx.event(&super::record::deed(
                "conflict",
                Side::Both,
                &conflict.place.to_string(),
                Some(conflict.id),
                detail,
            ))
        })?;
        let earlier = run.sight.base.conflicts.get(&conflict.id);
        if earlier.is_some_and(|earlier| earlier.place.folder != conflict.place.folder) {
            self.clear_copy(conflict.id, run)?;
        }
        Ok(None)
    }

    fn write_copy(&mut self, conflict: &Conflict, copy: &str, source: &str) -> anyhow::Result<()> {
        let at = At::Folder(&conflict.place.folder);
        let expect = match self.disk.look(at, copy)? {
            None => Expect::Absent,
            Some(entry) => {
                let content = self.disk.read(at, copy, super::files::MAX_FILE)?;
                if content.bytes == source.as_bytes() {
                    return Ok(());
                }
                // An earlier copy, perhaps edited: its bytes are kept before it is replaced.
                self.keep_copy(conflict, copy, &content.bytes)?;
                Expect::Stamp(entry.stamp)
            }
        };
        let staged = self.disk.stage(at, source.as_bytes(), Durability::Now)?;
        self.disk.publish(staged, copy, expect)?;
        self.disk.sync_folder(at)?;
        Ok(())
    }

    fn keep_copy(&mut self, conflict: &Conflict, copy: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let now = self.clock.now();
        let source = String::from_utf8_lossy(bytes).into_owned();
        self.store.write(now, |tx| {
            let file = tx.put_body(&source)?;
            tx.record(&SeenVersion {
                subject: Subject::Article(conflict.id),
                place: Place::new(&conflict.place.folder, copy),
                side: Side::Local,
                cause: "an earlier conflict copy".to_owned(),
                version: conflict.local.clone(),
                file: Some(file),
            })
        })?;
        Ok(())
    }

    /// Takes the copy of a settled conflict away, if it is still there. What it held is in the history.
    pub(super) fn clear_copy(&mut self, id: ArticleId, run: &mut Run<'_>) -> anyhow::Result<()> {
        let Some(row) = run.sight.base.conflicts.remove(&id) else {
            return Ok(());
        };
        let Some(copy) = &row.copy else { return Ok(()) };
        let at = At::Folder(&row.place.folder);
        let Ok(Some(entry)) = self.disk.look(at, copy) else {
            return Ok(());
        };
        let content = self.disk.read(at, copy, super::files::MAX_FILE)?;
        let conflict = Conflict {
            id,
            place: row.place.clone(),
            local: row.local.clone(),
            flags: crate::model::Flags::default(),
            seen: None,
            copy: None,
            fresh: false,
            reason: String::new(),
        };
        self.keep_copy(&conflict, copy, &content.bytes)?;
        if let Err(error) = self.disk.remove(at, copy, entry.stamp) {
            tracing::warn!(path = %format!("{}/{copy}", row.place.folder), %error, "the conflict copy stays");
        }
        Ok(())
    }
}
