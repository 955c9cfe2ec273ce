//! PUT: the changed fields of one article, and what the service made of them.

use super::copies::clear_copies;
use super::files::settle_first_half;
use super::guard_read::changed_meanwhile;
use super::record::{row_after, trusted_scan};
use super::{ApplyState, StepResult, failed};
use crate::engine::Engine;
use crate::engine::history::agreed;
use crate::engine::pending::{Change, Recorded, SendOutcome, TRIES, may_repeat};
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Digest, Revision, Side};
use crate::reconcile::plan::{Action, Settle};
use crate::reconcile::snapshot::Seen;
use crate::service::Service;
use crate::state::{Deed, RowChange, Seen as SeenVersion, Subject, Update};

impl<S: Service, D: Disk> Engine<S, D> {
    /// Writes the file if that is needed, then sends: a merged article is pushed in the same cycle.
    pub(super) async fn settle_and_send(
        &mut self,
        action: &Action,
        settle: &Settle,
        run: &mut ApplyState<'_>,
    ) -> anyhow::Result<StepResult> {
        let Some(file) = run.resolved(&settle.file) else {
            return Ok(StepResult::Retry(
                "its category could not be created".to_owned(),
            ));
        };
        let settle = Settle {
            file,
            ..settle.clone()
        };
        if let Some(done) = self.ensure_seen(settle.id, &settle.seen, run).await? {
            return Ok(done);
        }
        let first = run.row(settle.id).is_none();
        if settle.touches_file()
            && let Some(done) = settle_first_half(&mut self.journal(), action, &settle, run)?
        {
            return Ok(done);
        }
        if first {
            self.keep_replaced(&settle)?;
        }
        self.send(action, &settle, run).await
    }

    /// On a first meeting nothing else remembers what is overwritten.
    fn keep_replaced(&mut self, settle: &Settle) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.record(&SeenVersion {
                subject: Subject::Article(settle.id),
                place: settle.to.clone(),
                side: Side::Remote,
                cause: "replaced".to_owned(),
                version: settle.seen.version.clone(),
                file: None,
            })
        })?;
        Ok(())
    }

    async fn send(
        &mut self,
        action: &Action,
        settle: &Settle,
        run: &mut ApplyState<'_>,
    ) -> anyhow::Result<StepResult> {
        let change = |engine: &Self, run: &ApplyState<'_>| {
            let (over, over_revision) = over(settle, run);
            Ok(Change::Put(Update {
                id: settle.id,
                version: settle.file.clone(),
                fields: settle.send.clone(),
                enabled: settle.send_enabled,
                over,
                over_revision,
                rows: engine.rows_when_sent(action, settle, run),
            }))
        };
        let sent = self.send_seen(action, settle.id, &settle.seen, &change, run);
        let Recorded { row, warning, .. } = match sent.await? {
            Ok(recorded) => recorded,
            Err(done) => return Ok(done),
        };
        if settle.settles {
            clear_copies(&mut self.journal(), settle.id, run)?;
        }
        if let Some(row) = row {
            self.ask_again(settle.id, row.written.is_none());
            run.wrote(settle.id, row.remote.clone(), row.revision.clone());
            run.observed.base.articles.insert(settle.id, *row);
        }
        let warning =
            warning.map(|lost| format!("the service keeps less than it was sent: {lost}"));
        Ok(StepResult::Done(warning.or_else(|| action.note.clone())))
    }

    /// Sends a request for an article that was seen. What was not carried out, for want of budget or of the service, is
    /// sent again once the article was seen again. `change` makes the request, or says why it is not wanted any more.
    pub(super) async fn send_seen(
        &mut self,
        action: &Action,
        id: ArticleId,
        seen: &Seen,
        change: &(dyn Fn(&Self, &ApplyState<'_>) -> Result<Change, StepResult> + Sync),
        run: &mut ApplyState<'_>,
    ) -> anyhow::Result<Result<Recorded, StepResult>> {
        let mut tries = 0;
        loop {
            let request = match change(self, run) {
                Ok(request) => request,
                Err(done) => return Ok(Err(done)),
            };
            let (error, is_seen) = match self.send_request(&request).await? {
                SendOutcome::Done(recorded) => return Ok(Ok(recorded)),
                SendOutcome::Changed => return Ok(Err(changed_meanwhile())),
                SendOutcome::Pending(error) => return Ok(Err(failed(error))),
                SendOutcome::NotDone(error) => (error, false),
                SendOutcome::NotArrived(error) => (error, true),
            };
            tries += 1;
            if tries > TRIES || !may_repeat(&error) {
                return Ok(Err(self.not_done(action, error)?));
            }
            if let Err(error) = self.wait_to_repeat(&error, tries).await {
                return Ok(Err(failed(error)));
            }
            if is_seen {
                continue;
            }
            run.reseen.remove(&id);
            run.observed.service.recalled.insert(id);
            if let Some(done) = self.ensure_seen(id, seen, run).await? {
                return Ok(Err(done));
            }
        }
    }

    /// The rows that become true with an update.
    fn rows_when_sent(
        &self,
        action: &Action,
        settle: &Settle,
        run: &ApplyState<'_>,
    ) -> Vec<RowChange> {
        // Of the file as it was scanned or written: it may have been saved again since.
        let stamp = run.observed.mirror.stamps.get(&settle.to).copied();
        let stamp = stamp.and_then(|stamp| trusted_scan(stamp, run.observed, self.clock.now()));
        let lf = run.observed.mirror.text_lf.get(&settle.file.text).copied();
        let row = row_after(run.row_for(settle), settle, stamp, lf, true);
        let pushed = agreed(row.id, &row.place, &settle.file, "pushed");
        let fields: Vec<_> = action.fields.iter().map(|field| field.key()).collect();
        let event = Deed::new(
            action.kind.word(),
            action.side,
            &action.path,
            Some(row.id),
            fields.join(", "),
        );
        let mut rows = vec![
            RowChange::Article(Box::new(row)),
            RowChange::Version(Box::new(pushed)),
            RowChange::Event(Box::new(event)),
        ];
        if settle.settles {
            rows.push(RowChange::NoConflict(settle.id));
        }
        rows
    }
}

/// The version that a PUT replaces: the one that was seen, or that this run itself has made.
fn over(settle: &Settle, run: &ApplyState<'_>) -> (Digest, Revision) {
    let own = run.own.get(&settle.id);
    let latest = run.latest.get(&settle.id);
    let (version, revision) = own.or(latest).map_or_else(
        || (&settle.seen.version, &settle.seen.revision),
        |(version, revision)| (version, revision),
    );
    match run.row(settle.id) {
        // An old copy, from before our own last write: what is replaced is what that left.
        Some(row) if row.has_replaced(version, revision) => {
            let left = row.written.as_ref().unwrap_or(&row.revision);
            (row.remote.digest(), left.clone())
        }
        Some(_) | None => (version.digest(), revision.clone()),
    }
}
