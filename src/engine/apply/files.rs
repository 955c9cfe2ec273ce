//! What a plan changes in the mirror: files written, moved and brought back.
//!
//! Many files go in batches: stage all, make them durable, rename all, make that durable, record. Few are
//! made durable one by one, which is quicker for them.

use super::record::{agreed, asked_for, deed, row_after};
use super::render::{Rendered, digest_of, keep_whole, says};
use super::{Done, Run, not_written, wall};
use crate::drill::defect::{self, Defect};
use crate::engine::report::Status;
use crate::engine::{Engine, Stop};
use crate::mirror::disk::{At, Disk, DiskError, Durability, Staged};
use crate::mirror::document::Document;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Digest, Flags, Place, Side, Stamp, TextDigest, Version};
use crate::reconcile::plan::{Action, Settle, Step};
use crate::service::Service;
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};

/// Files in one batch.
const BATCH: usize = 2048;
/// Up to so many files are made durable one by one.
const FEW: usize = 8;

/// One file on its way.
pub(super) struct Job<'a> {
    pub(super) action: &'a Action,
    pub(super) settle: &'a Settle,
    pub(super) old: Option<(Stamp, Vec<u8>)>,
    /// Whether the file is as it was scanned; otherwise it may have comments and keys that nobody kept.
    pub(super) scanned: bool,
    pub(super) staged: Option<Staged>,
    pub(super) text_lf: Option<TextDigest>,
    /// The digest of the bytes that the file has afterwards.
    pub(super) bytes: Option<Digest>,
    pub(super) intent: Option<IntentId>,
    /// What both sides agreed on before.
    pub(super) was: Option<Digest>,
    pub(super) outcome: Option<Result<Stamp, Done>>,
    /// Whether the file may have been changed although the outcome is a failure: then the intent stays.
    pub(super) unclear: bool,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Carries out a run of actions that only touch the mirror.
    pub(super) async fn settle_files(
        &mut self,
        actions: Vec<Action>,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        if actions.len() > FEW {
            self.tell("writing files", Some(actions.len() as u64), 0);
        }
        let total = actions.len();
        for (number, batch) in actions.chunks(BATCH).enumerate() {
            self.settle_batch(batch, total > FEW, run).await?;
            self.told(((number + 1) * BATCH).min(total) as u64);
        }
        Ok(())
    }

    /// The first half of an action that also sends: its file. Gives why it cannot be sent now.
    pub(super) async fn settle_first_half(
        &mut self,
        action: &Action,
        settle: &Settle,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Option<Done>> {
        let mut settle = settle.clone();
        settle.send.clear();
        settle.send_enabled = None;
        self.let_settle(settle.from.iter(), run).await;
        let mut jobs = vec![self.prepare(action, &settle, Durability::Now, run).await?];
        self.carry_out(&mut jobs, false, run).await?;
        self.record_batch(&mut jobs, false, run)?;
        Ok(jobs.pop().and_then(|job| job.outcome?.err()))
    }

    async fn settle_batch(
        &mut self,
        actions: &[Action],
        many: bool,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        let durability = if many {
            Durability::Later
        } else {
            Durability::Now
        };
        let files = actions.iter().filter_map(replaced);
        self.let_settle(files, run).await;
        let mut jobs = Vec::with_capacity(actions.len());
        let mut wall: Option<Stop> = None;
        for action in actions {
            let Step::Settle(settle) = &action.step else {
                continue;
            };
            if let Some((status, reason)) = run.obstacle(action) {
                run.say(action, status, Some(reason));
                continue;
            }
            if let Some(wall) = wall.as_ref().filter(|_| settle.touches_file()) {
                run.say(action, Status::Skipped, Some(wall.message.clone()));
                continue;
            }
            let job = self.prepare(action, settle, durability, run).await?;
            if let Some(Err(Done::Wall(stop))) = &job.outcome {
                wall = Some(stop.clone());
            }
            jobs.push(job);
        }
        self.carry_out(&mut jobs, many, run).await?;
        self.record_batch(&mut jobs, true, run)?;
        for mut job in jobs {
            let done = match job.outcome.take() {
                Some(Ok(_)) | None => Done::Yes(None),
                Some(Err(done)) => done,
            };
            self.conclude(job.action, done, run)?;
        }
        Ok(())
    }

    /// Intents, then the files under their names, then all of it durable.
    async fn carry_out(
        &mut self,
        jobs: &mut [Job<'_>],
        many: bool,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        self.note_intents(jobs)?;
        if defect::is(Defect::BaseBeforeFile) {
            let rows: Vec<_> = jobs
                .iter()
                .filter(|job| job.outcome.is_none())
                .map(|job| row_after(run.row_for(job.settle), job.settle, None, None, None))
                .collect();
            let now = self.clock.now();
            self.store.write(now, |tx| {
                rows.iter().try_for_each(|row| tx.put_article(row))
            })?;
        }
        if many && let Err(error) = self.disk.flush() {
            self.give_up(jobs, &error);
            return Ok(());
        }
        self.publish_all(jobs);
        self.make_durable(jobs, many);
        for job in jobs.iter() {
            if let (Some(Ok(stamp)), true) = (&job.outcome, job.settle.touches_file()) {
                let place = &job.settle.to;
                run.sight.stamps.insert(place.clone(), *stamp);
                run.sight.written.insert(place.clone(), job.settle.id);
                let text = job.settle.file.text;
                run.sight.text_lf.extend(job.text_lf.map(|lf| (text, lf)));
            }
        }
        self.wait_out_racy_stamps(jobs, run).await;
        Ok(())
    }

    /// The staged bytes are not on the disk: none of them may replace anything.
    fn give_up(&self, jobs: &mut [Job<'_>], error: &DiskError) {
        for job in jobs
            .iter_mut()
            .filter(|job| job.outcome.is_none() && job.settle.touches_file())
        {
            self.drop_staged(job);
            job.outcome = Some(Err(Done::Wall(wall(error))));
        }
    }

    async fn prepare<'a>(
        &mut self,
        action: &'a Action,
        settle: &'a Settle,
        durability: Durability,
        run: &Run<'_>,
    ) -> anyhow::Result<Job<'a>> {
        let mut job = Job {
            action,
            settle,
            old: None,
            scanned: true,
            staged: None,
            text_lf: run.sight.text_lf.get(&settle.file.text).copied(),
            bytes: None,
            intent: None,
            was: None,
            outcome: None,
            unclear: false,
        };
        if !settle.touches_file() {
            return Ok(job);
        }
        let durability = if defect::is(Defect::BytesNotSynced) {
            Durability::Later
        } else {
            durability
        };
        match self.rendered(settle, run).await? {
            Ok(Rendered { bytes, old, lf }) => {
                job.text_lf = lf.or(job.text_lf);
                job.bytes = Some(digest_of(&bytes));
                let same = old.as_ref().is_some_and(|(_, had)| *had == bytes);
                let stamp = old.as_ref().map(|(stamp, _)| *stamp);
                job.scanned =
                    stamp.is_none_or(|stamp| run.sight.vouches(settle.from.as_ref(), stamp));
                job.old = old;
                if !same {
                    match self
                        .disk
                        .stage(At::Folder(&settle.to.folder), &bytes, durability)
                    {
                        Ok(staged) => job.staged = Some(staged),
                        Err(error) => job.outcome = Some(Err(not_written(&error))),
                    }
                }
            }
            Err(done) => job.outcome = Some(Err(done)),
        }
        Ok(job)
    }

    /// Intents and the bytes that are about to be replaced, in one transaction.
    fn note_intents(&mut self, jobs: &mut [Job<'_>]) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| {
            for job in jobs
                .iter_mut()
                .filter(|job| job.outcome.is_none() && job.settle.touches_file())
            {
                let settle = job.settle;
                if let (Some((_, bytes)), Some(had), Some(from), true) = (
                    &job.old,
                    &settle.had,
                    &settle.from,
                    job.staged.is_some() || !job.scanned,
                ) {
                    let file = keep_whole(tx, bytes, had, from)?;
                    tx.record(&SeenVersion {
                        subject: Subject::Article(settle.id),
                        place: from.clone(),
                        side: Side::Local,
                        cause: "replaced".to_owned(),
                        version: had.clone(),
                        file,
                    })?;
                }
                let before = job.old.as_ref();
                let only_flags = before.and_then(|(_, bytes)| only_flags(bytes, settle));
                let row = tx.article(settle.id)?;
                job.was = row.as_ref().map(ArticleRow::agreement);
                let intent = write_intent(settle, only_flags, job.was, false);
                job.intent = Some(tx.add_intent(&intent)?);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Writes the rows. Of the first half of an action only the row counts: it is told when it is whole.
    fn record_batch(
        &mut self,
        jobs: &mut [Job<'_>],
        whole: bool,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        let now = self.clock.now();
        let mut done = Vec::with_capacity(jobs.len());
        for job in jobs.iter() {
            let stamp = match &job.outcome {
                Some(Ok(stamp)) => Some(*stamp),
                Some(Err(_)) => continue,
                None => run.sight.stamps.get(&job.settle.to).copied(),
            };
            done.push((
                stamp.and_then(|stamp| self.trusted_scan(stamp, run.sight)),
                job,
            ));
        }
        self.store.write(now, |tx| {
            for &(stamp, job) in &done {
                // A failure ends the cycle, and the base in memory with it.
                let row = row_after(
                    run.row_for(job.settle),
                    job.settle,
                    stamp,
                    job.text_lf,
                    None,
                );
                let row = asked_for(row, now);
                tx.put_article(&row)?;
                if job.settle.settles {
                    tx.remove_conflict(row.id)?;
                }
                if !whole && run.row(row.id).is_none() {
                    // On a first meeting nothing else remembers what is going to be overwritten.
                    let seen = &job.settle.seen;
                    tx.record(&met(row.id, &row.place, &seen.version))?;
                }
                if !whole {
                    run.sight.base.articles.insert(row.id, row);
                    continue;
                }
                let cause = job.action.kind.word();
                tx.record(&agreed(row.id, &row.place, &row.remote, cause))?;
                // Where the service rewrites what it is sent, or a merge is not sent yet, the file says something else.
                let file = &job.settle.file;
                if job.settle.touches_file() && *file != row.remote {
                    tx.record(&SeenVersion {
                        side: Side::Local,
                        ..agreed(row.id, &row.place, file, cause)
                    })?;
                }
                let side = job.action.side;
                let fields: Vec<_> = job.action.fields.iter().map(|field| field.key()).collect();
                tx.event(&deed(
                    cause,
                    side,
                    &job.action.path,
                    Some(row.id),
                    fields.join(", "),
                ))?;
                run.sight.base.articles.insert(row.id, row);
            }
            for job in jobs.iter() {
                match job.intent {
                    Some(intent) if !job.unclear => tx.remove_intent(intent)?,
                    Some(intent) if job.settle.from.is_none() || named_no_article(job) => {
                        tx.replace_intent(intent, &write_intent(job.settle, None, job.was, true))?;
                    }
                    Some(_) | None => {}
                }
            }
            Ok(())
        })?;
        for (_, job) in done.iter().filter(|(_, job)| job.settle.settles) {
            self.clear_copy(job.settle.id, run)?;
        }
        Ok(())
    }
}

/// Returns whether a file that was replaced named no article: the id in it afterwards is of our writing.
fn named_no_article(job: &Job<'_>) -> bool {
    let old = job.old.as_ref();
    let document = old.and_then(|(_, bytes)| Document::parse_with_markers(bytes).ok());
    job.bytes.is_some() && document.is_some_and(|document| document.id().is_none())
}

/// What is written down before a file is written, and once a new one is under its name and not durable.
fn write_intent(
    settle: &Settle,
    only_flags: Option<Flags>,
    was: Option<Digest>,
    made: bool,
) -> Intent {
    Intent::WriteFile {
        id: settle.id,
        from: settle.from.clone(),
        to: settle.to.clone(),
        version: settle.file.clone(),
        // A wish that was not sent is still one after a crash.
        flags: settle.unsent_flags,
        only_flags,
        remote: settle.seen.version.clone(),
        revision: settle.seen.revision.clone(),
        remote_flags: settle.seen.flags,
        settles: settle.settles,
        had: settle.had.clone().map(Box::new),
        was,
        made,
    }
}

/// The service's version of an article that the base does not know.
pub(in crate::engine) fn met(id: ArticleId, place: &Place, version: &Version) -> SeenVersion {
    SeenVersion {
        subject: Subject::Article(id),
        place: place.clone(),
        side: Side::Remote,
        cause: "met".to_owned(),
        version: version.clone(),
        file: None,
    }
}

/// `enabled` and `draft` of a file in which nothing but these changes.
fn only_flags(bytes: &[u8], settle: &Settle) -> Option<Flags> {
    let document = Document::parse_with_markers(bytes).ok()?;
    let flags = document.flags();
    let stays = says(&document, &settle.file) && flags != settle.file_flags;
    stays.then_some(flags)
}

/// The file that an action replaces.
fn replaced(action: &Action) -> Option<&Place> {
    match &action.step {
        Step::Settle(settle) if settle.touches_file() => settle.from.as_ref(),
        Step::Settle(_)
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::CreateArticle { .. }
        | Step::ParkSlug { .. }
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}
