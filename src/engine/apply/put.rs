//! A temporary slug: it frees an address for a moment, so that two addresses can be swapped.

use super::{ApplyState, StepResult};
use crate::engine::Engine;
use crate::engine::apply::guard_read::ensure_seen;
use crate::engine::apply::send::send_seen;
use crate::engine::pending::{Change, Recorded};
use crate::mirror::disk::Disk;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Field, Version};
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::Seen;
use crate::service::Service;
use crate::state::{RowChange, Update};

/// Sends a temporary slug. An article without a row gets none by this: what both sides agree on is known once its
/// file was sent.
pub(super) async fn park_slug<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    (id, slug, seen): (ArticleId, &str, &Seen),
    run: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    if let Some(done) = ensure_seen(engine, id, seen, run).await? {
        return Ok(done);
    }
    let change = |_: &Engine<S, D>, run: &ApplyState<'_>| {
        let row = run.row(id).map(|row| parked(row, slug));
        let remote = row.as_ref().map_or(&seen.version, |row| &row.remote);
        Ok(Change::Put(Update {
            id,
            version: Version {
                slug: slug.to_owned(),
                ..remote.clone()
            },
            fields: vec![Field::Slug],
            enabled: None,
            over: seen.version.digest(),
            over_revision: seen.revision.clone(),
            rows: row
                .into_iter()
                .map(|row| RowChange::Article(Box::new(row)))
                .collect(),
        }))
    };
    let Recorded { row, answer, .. } =
        match send_seen(engine, action, id, seen, &change, run).await? {
            Ok(recorded) => recorded,
            Err(done) => return Ok(done),
        };
    let meddled = row.as_ref().is_none_or(|row| row.written.is_none());
    engine.gathered.answers.ask_again(id, meddled);
    if let Some(answer) = answer {
        let version = Version {
            slug: answer.slug,
            ..seen.version.clone()
        };
        run.wrote(id, version, answer.revision);
    }
    run.observed.base.articles.extend(row.map(|row| (id, *row)));
    Ok(StepResult::Done(None))
}

/// The row of an article that has a temporary slug. Only the slug is agreed on: what else a colleague changed is still to
/// be pulled. The file never said this slug: whatever it says now is an edit to be sent.
fn parked(row: &ArticleRow, slug: &str) -> ArticleRow {
    let mut row = row.clone();
    slug.clone_into(&mut row.remote.slug);
    slug.clone_into(&mut row.local.slug);
    row.stamp = None;
    row
}
