//! PUT of a category: looked at before it is sent, and looked at again after a lost answer.

use super::guard_read::read_before_replaced;
use super::{Done, Run, failed};
use crate::engine::Engine;
use crate::engine::pending::{may_repeat, worth_another_look};
use crate::mirror::disk::Disk;
use crate::model::{CategoryId, CategoryVersion, Field, Revision, Side, Timestamp};
use crate::reconcile::plan::{Action, SettleCategory};
use crate::service::{Answer, CategoryPatch, ErrorKind, Listed, Purpose, RemoteCategory, Service};
use crate::state::Deed;

/// How often a PUT without an answer is repeated.
const TRIES: u32 = 4;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Sends what changed in a category, and records what the service made of it.
    pub(super) async fn send_category(
        &mut self,
        action: &Action,
        settle: &SettleCategory,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        if let Some(done) = self.ensure_category_seen(settle, run).await {
            return Ok(done);
        }
        self.keep_both_sides(settle)?;
        let mut patch = CategoryPatch::default();
        for field in &settle.send {
            let value = Some(settle.file.get(*field).to_owned());
            match field {
                Field::Name => patch.name = value,
                Field::Slug => patch.slug = value,
                Field::Description => patch.description = value,
                Field::MetaDescription => patch.meta_description = value,
                Field::Title
                | Field::Category
                | Field::Introtext
                | Field::Keywords
                | Field::Text
                | Field::Enabled
                | Field::Draft => {}
            }
        }
        match self.put_category(settle, &patch, run).await {
            Ok(category) => {
                let now = self.clock.now();
                let (sent, read_at) = own_part(category, settle, now);
                let row = self.category_row(settle, Some(sent), Some(read_at), run);
                let fields: Vec<_> = settle.send.iter().map(|field| field.key()).collect();
                let folder = settle.to.clone().unwrap_or_default();
                self.store.write(now, |tx| {
                    tx.put_category(&row)?;
                    tx.event(&Deed::new(
                        "update-category",
                        Side::Remote,
                        &folder,
                        None,
                        fields.join(", "),
                    ))
                })?;
                run.sight.base.categories.insert(settle.id, row);
                self.keep_pushed(settle)?;
                Ok(Done::Yes(None))
            }
            // The next cycle reads the category, and sees what became of it.
            Err(error) if error.answer_lost => Ok(failed(error)),
            Err(error) => self.not_done(action, error),
        }
    }

    /// Returns whether a category was read in this cycle, and recently enough to be changed.
    pub(super) fn is_category_seen(&self, id: CategoryId, run: &Run<'_>) -> bool {
        let window = self.settings.guard_window;
        let read = run.sight.remote.categories.contains_key(&id);
        read && !window.is_zero() && run.sight.service.seen_at.elapsed() <= window
    }

    /// GET before PUT, unless the category was read just now.
    async fn ensure_category_seen(
        &self,
        settle: &SettleCategory,
        run: &mut Run<'_>,
    ) -> Option<Done> {
        if self.is_category_seen(settle.id, run) {
            return None;
        }
        match self.look_at_category(settle.id, run).await {
            Ok(category) if category.version == settle.seen => None,
            Ok(_) => Some(Done::Overtaken(
                "the category changed on the service since it was read".to_owned(),
            )),
            // A category that cannot be read stops only itself.
            Err(error) if error.kind == ErrorKind::Unreadable => {
                Some(Done::Failed(error.to_string()))
            }
            Err(error) => Some(failed(error)),
        }
    }

    /// Reads a category. Its articles come along, and some may have changed since they were listed.
    async fn look_at_category(&self, id: CategoryId, run: &mut Run<'_>) -> Answer<RemoteCategory> {
        let (category, entries) = self.service.category(id, Purpose::Push).await?;
        let articles = entries.iter().filter_map(|entry| match entry {
            Listed::Article(article) => Some(&**article),
            Listed::Category(_)
            | Listed::Known(_)
            | Listed::Unreadable { .. }
            | Listed::Retracted { .. } => None,
        });
        read_before_replaced(articles, run);
        Ok(category)
    }

    /// Sends, and looks after a lost answer: a PUT is repeated only over the version that it was meant for.
    async fn put_category(
        &self,
        settle: &SettleCategory,
        patch: &CategoryPatch,
        run: &mut Run<'_>,
    ) -> Answer<RemoteCategory> {
        let mut after = settle.seen.clone();
        settle
            .send
            .iter()
            .for_each(|field| after.take(*field, &settle.file));
        let mut tries = 0;
        loop {
            let error = match self.service.update_category(settle.id, patch).await {
                Ok(category) => return Ok(category),
                Err(error) if worth_another_look(&error) && tries < TRIES => error,
                Err(error) => return Err(error),
            };
            tries += 1;
            self.wait_to_repeat(&error, tries).await?;
            let Ok(found) = self.look_at_category(settle.id, run).await else {
                return Err(error);
            };
            if found.version == after {
                return Ok(found);
            }
            if found.version != settle.seen || !may_repeat(&error) {
                return Err(error);
            }
        }
    }
}

/// Returns the words that an answer has for the fields that were sent, and when the category counts as read. What else is new in
/// it is a colleague's, from the moment before: it is pulled by the next cycle, which reads the category.
fn own_part(
    answer: RemoteCategory,
    settle: &SettleCategory,
    now: Timestamp,
) -> ((CategoryVersion, Revision), Timestamp) {
    let mut version = answer.version;
    let theirs: Vec<_> = CategoryVersion::FIELDS
        .into_iter()
        .filter(|field| !settle.send.contains(field))
        .filter(|field| version.get(*field) != settle.seen.get(*field))
        .collect();
    if theirs.is_empty() {
        return ((version, answer.revision), now);
    }
    for field in theirs {
        version.take(field, &settle.seen);
    }
    ((version, settle.revision.clone()), Timestamp::default())
}
