//! What a plan changes in the mirror: files written, moved and brought back.
//!
//! Many files go in batches: stage all, make them durable, rename all, make that durable, record. Few are
//! made durable one by one, which is quicker for them (design, section 13).

use super::record::{agreed, asked_for, deed, row_after};
use super::{Done, Run, not_written, wall};
use crate::drill::defect::{self, Defect};
use crate::engine::report::Status;
use crate::engine::spool::text_lf;
use crate::engine::{Engine, Stop};
use crate::mirror::disk::{At, Disk, DiskError, Durability, Expect, Staged};
use crate::mirror::document::{Changes, Document};
use crate::model::path::slug_of_stem;
use crate::model::{ArticleId, Digest, Field, Flags, Place, Side, Stamp, TextDigest, Version};
use crate::reconcile::plan::{Action, Settle, Step};
use crate::service::Service;
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};

/// Files in one batch.
const BATCH: usize = 2048;
/// Up to so many files are made durable one by one.
const FEW: usize = 8;
/// The largest article file that is read (design, section 5), with room for front matter.
pub(in crate::engine) const MAX_FILE: usize = (16 << 20) + (128 << 10);

/// One file on its way.
struct Job<'a> {
    action: &'a Action,
    settle: &'a Settle,
    old: Option<(Stamp, Vec<u8>)>,
    /// Whether the file is as it was scanned; otherwise it may have comments and keys that nobody kept.
    scanned: bool,
    staged: Option<Staged>,
    text_lf: Option<TextDigest>,
    /// The digest of the bytes that the file has afterwards.
    bytes: Option<Digest>,
    intent: Option<IntentId>,
    outcome: Option<Result<Stamp, Done>>,
    /// Whether the file may have been changed although the outcome is a failure: then the intent stays.
    unclear: bool,
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
        let mut jobs = vec![self.prepare(action, &settle, Durability::Now, run)?];
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
            let job = self.prepare(action, settle, durability, run)?;
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
                .map(|job| row_after(run.row(job.settle.id), job.settle, None, None, None))
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
                run.sight.stamps.insert(job.settle.to.clone(), *stamp);
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

    fn prepare<'a>(
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
        match self.rendered(settle, run)? {
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

    /// What a file is to hold, and what it holds now. It must hold what the plan was made from.
    fn rendered(&self, settle: &Settle, run: &Run<'_>) -> anyhow::Result<Result<Rendered, Done>> {
        let Some(from) = &settle.from else {
            let text = self.text(settle.file.text, run)?;
            let lf = text_lf(&text);
            let bytes = Document::compose(&changes(settle, Some(text), None)).into_bytes();
            return Ok(representable(bytes).map(|bytes| Rendered {
                bytes,
                old: None,
                lf,
            }));
        };
        let content = match self
            .disk
            .read(At::Folder(&from.folder), &from.file, MAX_FILE)
        {
            Ok(content) if content.whole => content,
            Ok(_) => return Ok(Err(Done::Failed("the file is too large".to_owned()))),
            Err(error) => return Ok(Err(not_written(&error))),
        };
        // A stamp within the clock's grain does not vouch for what was scanned.
        let racy = run.sight.racy.contains(&content.stamp);
        let unchanged = run.sight.stamps.get(from) == Some(&content.stamp);
        let Ok(document) = Document::parse_with_markers(&content.bytes) else {
            return Ok(Err(Done::Later(
                "the file changed during the cycle".to_owned(),
            )));
        };
        let known = |had: &Version| {
            says(&document, had) && (unchanged || knows_flags(&document, settle, run))
        };
        let unchanged = unchanged && !racy;
        let trusted = defect::is(Defect::StampNotCompared);
        if !unchanged && !trusted && !settle.had.as_ref().is_some_and(known) {
            return Ok(Err(Done::Later(
                "the file changed during the cycle".to_owned(),
            )));
        }
        let new_text = settle
            .had
            .as_ref()
            .is_none_or(|had| !had.agrees(&settle.file, Field::Text));
        let text = if new_text {
            Some(self.text(settle.file.text, run)?)
        } else {
            None
        };
        let lf = text.as_deref().and_then(text_lf);
        let bytes = document
            .edit(&changes(settle, text, Some(&document)))
            .into_bytes();
        Ok(representable(bytes).map(|bytes| Rendered {
            bytes,
            old: Some((content.stamp, content.bytes)),
            lf,
        }))
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
                let intent = write_intent(settle, only_flags, false);
                job.intent = Some(tx.add_intent(&intent)?);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Puts every file in its place. Names are left before they are taken; circles are swapped.
    fn publish_all(&self, jobs: &mut [Job<'_>]) {
        let mut waiting: Vec<usize> = (0..jobs.len())
            .filter(|&index| jobs[index].outcome.is_none())
            .collect();
        while !waiting.is_empty() {
            let taken: Vec<Place> = waiting
                .iter()
                .filter_map(|&index| moves(jobs[index].settle))
                .cloned()
                .collect();
            let (blocked, free): (Vec<usize>, Vec<usize>) = waiting.iter().partition(|&&index| {
                moves(jobs[index].settle).is_some() && taken.contains(&jobs[index].settle.to)
            });
            if free.is_empty() {
                self.open_circle(jobs, &blocked);
                return;
            }
            for index in free {
                let outcome = self.publish(&mut jobs[index]);
                jobs[index].outcome = Some(outcome.map_err(|error| not_written(&error)));
            }
            waiting = blocked;
        }
    }

    /// Files that take each other's names: each exchange puts one of them in its place. A circle is opened
    /// as a whole or not at all.
    fn open_circle(&self, jobs: &mut [Job<'_>], circle: &[usize]) {
        let mut at: Vec<Place> = circle
            .iter()
            .filter_map(|&index| jobs[index].settle.from.clone())
            .collect();
        let mut exchanged: Vec<(Place, Place)> = Vec::new();
        for position in 0..circle.len() {
            let to = jobs[circle[position]].settle.to.clone();
            if at[position] == to {
                continue;
            }
            if let Err(error) = self.disk.exchange(&at[position], &to) {
                self.close_circle(&exchanged);
                for &index in circle {
                    self.drop_staged(&mut jobs[index]);
                    jobs[index].outcome = Some(Err(not_written(&error)));
                }
                return;
            }
            exchanged.push((at[position].clone(), to.clone()));
            if let Some(other) = at.iter().position(|place| *place == to) {
                at.swap(position, other);
            }
        }
        for &index in circle {
            let outcome = self.publish_here(&mut jobs[index]);
            jobs[index].outcome = Some(outcome.map_err(|error| not_written(&error)));
        }
    }

    /// Takes exchanges back, the last one first.
    fn close_circle(&self, exchanged: &[(Place, Place)]) {
        for (one, other) in exchanged.iter().rev() {
            if let Err(error) = self.disk.exchange(one, other) {
                tracing::warn!(%one, %other, %error, "two files have each other's names");
            }
        }
    }

    /// A staged file that is not needed any more.
    fn drop_staged(&self, job: &mut Job<'_>) {
        if let Some(staged) = job.staged.take()
            && let Err(error) = self.disk.discard(staged)
        {
            tracing::warn!(%error, "a staged file is left to the next run");
        }
    }

    fn publish(&self, job: &mut Job<'_>) -> Result<Stamp, DiskError> {
        let settle = job.settle;
        if let (Some(from), Some((stamp, _))) = (moves(settle), &job.old) {
            match self.disk.rename(from, &settle.to, *stamp) {
                Ok(stamp) => {
                    if let Some((old, _)) = &mut job.old {
                        *old = stamp;
                    }
                }
                Err(error) => {
                    self.drop_staged(job);
                    return Err(error);
                }
            }
        }
        self.publish_here(job)
    }

    /// Replaces or creates the file at its final name.
    fn publish_here(&self, job: &mut Job<'_>) -> Result<Stamp, DiskError> {
        let to = &job.settle.to;
        match (job.staged.take(), &job.old) {
            (Some(staged), Some((stamp, _))) => {
                let now = self.disk.look(At::Folder(&to.folder), &to.file)?;
                let blind = defect::is(Defect::SaveOverwritten);
                let same = now.filter(|entry| blind || entry.stamp.same_content(stamp));
                let expect = same.map_or(Expect::Stamp(*stamp), |entry| Expect::Stamp(entry.stamp));
                self.disk.publish(staged, &to.file, expect)
            }
            (Some(staged), None) => self.disk.publish(staged, &to.file, Expect::Absent),
            // The stamp that was read, or that the rename gave: one that is looked up now may be that of a
            // newer save. An exchange gave none, and then the file is read again by the next scan.
            (None, old) => Ok(old.as_ref().map(|(stamp, _)| *stamp).unwrap_or_default()),
        }
    }

    /// Makes the names durable. What is not durable does not count as done; its intent stays.
    fn make_durable(&self, jobs: &mut [Job<'_>], many: bool) {
        if defect::is(Defect::NamesNotSynced) {
            return;
        }
        if many {
            if let Err(error) = self.disk.flush() {
                for job in jobs.iter_mut().filter(|job| is_published(job)) {
                    job.unclear = true;
                    job.outcome = Some(Err(Done::Wall(wall(&error))));
                }
            }
            return;
        }
        for (folder, error) in self.sync_folders(jobs) {
            let touched = |job: &Job<'_>| {
                let from = job.settle.from.as_ref();
                is_published(job)
                    && (job.settle.to.folder == folder
                        || from.is_some_and(|from| from.folder == folder))
            };
            let mut error = Some(error);
            for job in jobs.iter_mut().filter(|job| touched(job)) {
                let done = error.take().map_or_else(
                    || Done::Later(format!("{folder}/ could not be made durable")),
                    |error| not_written(&error),
                );
                job.unclear = true;
                job.outcome = Some(Err(done));
            }
        }
    }

    fn sync_folders(&self, jobs: &[Job<'_>]) -> Vec<(String, DiskError)> {
        let mut folders: Vec<&str> = jobs
            .iter()
            .filter(|job| is_published(job))
            .flat_map(|job| {
                let from = job.settle.from.as_ref().map(|from| from.folder.as_str());
                [Some(job.settle.to.folder.as_str()), from]
            })
            .flatten()
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders
            .into_iter()
            .filter_map(|folder| {
                let error = self.disk.sync_folder(At::Folder(folder)).err()?;
                Some((folder.to_owned(), error))
            })
            .collect()
    }

    /// Files that were saved within the clock's grain before the scan could be saved once more without
    /// anybody noticing: a little later they cannot.
    pub(super) async fn let_settle<'a>(
        &self,
        mut files: impl Iterator<Item = &'a Place>,
        run: &Run<'_>,
    ) {
        let racy = files.any(|place| {
            let stamp = run.sight.stamps.get(place);
            stamp.is_some_and(|stamp| self.trusted(*stamp).is_none())
        });
        if racy {
            self.clock.pause(GRAIN).await;
        }
    }

    /// A stamp as young as the clock's grain cannot vouch for its file: a little later it can, unless somebody
    /// saved the file meanwhile, which only a look at what it holds can tell.
    async fn wait_out_racy_stamps(&self, jobs: &[Job<'_>], run: &mut Run<'_>) {
        let young = |job: &&Job<'_>| {
            job.settle.touches_file()
                && matches!(&job.outcome, Some(Ok(stamp)) if self.trusted(*stamp).is_none())
        };
        let young: Vec<&Job<'_>> = jobs.iter().filter(young).collect();
        if young.is_empty() {
            return;
        }
        self.clock.pause(GRAIN).await;
        for job in young {
            if let (Some(Ok(stamp)), Some(bytes)) = (&job.outcome, job.bytes)
                && !self.still_holds(&job.settle.to, bytes)
            {
                run.sight.racy.push(*stamp);
            }
        }
    }

    /// Tells whether a file has these bytes.
    pub(super) fn still_holds(&self, place: &Place, bytes: Digest) -> bool {
        let content = self
            .disk
            .read(At::Folder(&place.folder), &place.file, MAX_FILE);
        content.is_ok_and(|content| content.whole && digest_of(&content.bytes) == bytes)
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
                let row = row_after(run.row(job.settle.id), job.settle, stamp, job.text_lf, None);
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
                        tx.replace_intent(intent, &write_intent(job.settle, None, true))?;
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

/// The digest of a whole file.
pub(super) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::of_parts(&[bytes])
}

/// Tells whether a file that was replaced named no article: the id in it afterwards is of our writing.
fn named_no_article(job: &Job<'_>) -> bool {
    let old = job.old.as_ref();
    let document = old.and_then(|(_, bytes)| Document::parse_with_markers(bytes).ok());
    job.bytes.is_some() && document.is_some_and(|document| document.id().is_none())
}

/// What is written down before a file is written, and once a new one is under its name and not durable.
fn write_intent(settle: &Settle, only_flags: Option<Flags>, made: bool) -> Intent {
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

/// Tells whether `enabled` and `draft` in a file are none that a writer set since the scan.
fn knows_flags(document: &Document, settle: &Settle, run: &Run<'_>) -> bool {
    let had = run.row(settle.id).map(|row| row.file_flags);
    // Of an article that is met for the first time, only the scan knows.
    let scanned = run.sight.paired.files.get(&settle.id);
    let scanned = scanned.map(|file| file.flags);
    [
        Some(settle.file_flags),
        Some(settle.unsent_flags),
        had,
        scanned,
    ]
    .contains(&Some(document.flags()))
}

/// `enabled` and `draft` of a file in which nothing but these changes.
fn only_flags(bytes: &[u8], settle: &Settle) -> Option<Flags> {
    let document = Document::parse_with_markers(bytes).ok()?;
    let flags = document.flags();
    let stays = says(&document, &settle.file) && flags != settle.file_flags;
    stays.then_some(flags)
}

fn is_published(job: &Job<'_>) -> bool {
    matches!(job.outcome, Some(Ok(_))) && job.settle.touches_file()
}

/// How long a stamp may be racy (see `mirror::scan::settled`).
pub(super) const GRAIN: std::time::Duration = std::time::Duration::from_millis(25);

struct Rendered {
    bytes: Vec<u8>,
    old: Option<(Stamp, Vec<u8>)>,
    lf: Option<TextDigest>,
}

/// What cannot be read back is not written: an article with a blank title, say, or with a NUL in it.
fn representable(bytes: Vec<u8>) -> Result<Vec<u8>, Done> {
    match Document::parse_with_markers(&bytes) {
        Ok(_) => Ok(bytes),
        Err(problem) => Err(Done::Failed(format!(
            "the article cannot be kept as a file: {}; change it in the dashboard",
            problem.message
        ))),
    }
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

/// The name that a file leaves, if it moves.
fn moves(settle: &Settle) -> Option<&Place> {
    settle.from.as_ref().filter(|from| **from != settle.to)
}

/// Tells whether a document says what a version says; its category is the folder's business.
pub(in crate::engine) fn says(document: &Document, version: &Version) -> bool {
    document.title() == version.title
        && document.introtext() == version.introtext
        && document.keywords() == version.keywords
        && document.slug().is_none_or(|slug| slug == version.slug)
        && TextDigest::of(document.text()) == version.text
}

/// The changes that make a file say what a settlement wants.
fn changes(settle: &Settle, text: Option<String>, document: Option<&Document>) -> Changes {
    Changes {
        id: Some(settle.id),
        title: Some(settle.file.title.clone()),
        slug: slug_key(
            &settle.to,
            &settle.file.slug,
            document.and_then(Document::slug),
        ),
        enabled: Some(settle.file_flags.enabled),
        draft: Some(settle.file_flags.draft),
        introtext: Some(settle.file.introtext.clone()),
        keywords: Some(settle.file.keywords.clone()),
        text,
    }
}

#[expect(
    clippy::option_option,
    reason = "the same three answers as in `Changes`: leave the key, remove it, write it"
)]
/// `slug:` stands in a file only when it differs from the file's name; a writer's own line may stay.
pub(in crate::engine) fn slug_key(
    place: &Place,
    slug: &str,
    written: Option<&str>,
) -> Option<Option<String>> {
    if written == Some(slug) {
        return None;
    }
    let named = slug_of_stem(place.stem()).is_ok_and(|stem| stem == slug);
    Some((!named).then(|| slug.to_owned()))
}

/// Keeps a whole file, unless it is just what would be written from its version.
pub(in crate::engine) fn keep_whole(
    tx: &mut crate::state::Writing<'_>,
    bytes: &[u8],
    version: &Version,
    place: &Place,
) -> crate::state::Outcome<Option<TextDigest>> {
    let Ok(source) = std::str::from_utf8(bytes) else {
        return Ok(None);
    };
    if !needs_whole(source, version, place) {
        return Ok(None);
    }
    tx.put_body(source).map(Some)
}

/// Tells whether a file without an article is to be hidden: nothing but the file itself says so.
pub(in crate::engine) fn hides_a_new_article(document: &Document) -> bool {
    document.id().is_none() && document.flags().hides()
}

/// Tells whether a file has more than its version says: comments, other keys, other line ends.
pub(in crate::engine) fn needs_whole(source: &str, version: &Version, place: &Place) -> bool {
    let Ok(document) = Document::parse_with_markers(source.as_bytes()) else {
        return true;
    };
    let plain = Document::compose(&Changes {
        id: document.id(),
        title: Some(version.title.clone()),
        slug: slug_key(place, &version.slug, None),
        enabled: Some(document.flags().enabled),
        draft: Some(document.flags().draft),
        introtext: Some(version.introtext.clone()),
        keywords: Some(version.keywords.clone()),
        text: Some(document.text().to_owned()),
    });
    plain != source
}
