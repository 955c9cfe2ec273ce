//! What a plan changes in the mirror: files written, moved and brought back.
//!
//! Many files go in batches: stage all, make them durable, rename all, make that durable, record. Few are
//! made durable one by one, which is quicker for them (design, section 13).

use super::record::{agreed, deed, row_after};
use super::{Done, Run, not_written};
use crate::engine::Engine;
use crate::engine::spool::text_lf;
use crate::mirror::disk::{At, Disk, DiskError, Durability, Expect, Staged};
use crate::mirror::document::{Changes, Document};
use crate::model::path::slug_of_stem;
use crate::model::{Field, Place, Side, Stamp, TextDigest, Version};
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
    staged: Option<Staged>,
    text_lf: Option<TextDigest>,
    intent: Option<IntentId>,
    outcome: Option<Result<Stamp, Done>>,
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
        let mut jobs = Vec::with_capacity(actions.len());
        for action in actions {
            let Step::Settle(settle) = &action.step else {
                continue;
            };
            if let Some((status, reason)) = run.obstacle(action) {
                run.say(action, status, Some(reason));
                continue;
            }
            jobs.push(self.prepare(action, settle, durability, run)?);
        }
        self.note_intents(&mut jobs)?;
        if many {
            self.disk.flush()?;
        }
        self.publish_all(&mut jobs);
        if many {
            self.disk.flush()?;
        } else {
            self.sync_folders(&jobs)?;
        }
        self.wait_out_racy_stamps(&jobs).await;
        self.record_batch(&mut jobs, run)?;
        for mut job in jobs {
            let done = match job.outcome.take() {
                Some(Ok(_)) | None => Done::Yes(None),
                Some(Err(done)) => done,
            };
            self.conclude(job.action, done, run)?;
        }
        Ok(())
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
            staged: None,
            text_lf: run.sight.text_lf.get(&settle.file.text).copied(),
            intent: None,
            outcome: None,
        };
        if !settle.touches_file() {
            return Ok(job);
        }
        match self.rendered(settle, run)? {
            Ok(Rendered { bytes, old, lf }) => {
                job.text_lf = lf.or(job.text_lf);
                let same = old.as_ref().is_some_and(|(_, had)| *had == bytes);
                job.old = old;
                if !same {
                    match self
                        .disk
                        .stage(At::Folder(&settle.to.folder), &bytes, durability)
                    {
                        Ok(staged) => job.staged = Some(staged),
                        Err(error) => job.outcome = Some(Err(not_written(error))),
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
            Err(error) => return Ok(Err(not_written(error))),
        };
        let unchanged = run.sight.stamps.get(from) == Some(&content.stamp);
        let Ok(document) = Document::parse_with_markers(&content.bytes) else {
            return Ok(Err(Done::Later(
                "the file changed during the cycle".to_owned(),
            )));
        };
        if !unchanged && !settle.had.as_ref().is_some_and(|had| says(&document, had)) {
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
                if let (Some((_, bytes)), Some(had), Some(from), true) =
                    (&job.old, &settle.had, &settle.from, job.staged.is_some())
                {
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
                job.intent = Some(tx.add_intent(&Intent::WriteFile {
                    id: settle.id,
                    from: settle.from.clone(),
                    to: settle.to.clone(),
                    version: settle.file.clone(),
                    flags: settle.file_flags,
                    remote: settle.seen.version.clone(),
                    revision: settle.seen.revision.clone(),
                    remote_flags: settle.seen.flags,
                })?);
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
                jobs[index].outcome = Some(outcome.map_err(not_written));
            }
            waiting = blocked;
        }
    }

    /// Files that take each other's names: each exchange puts one of them in its place.
    fn open_circle(&self, jobs: &mut [Job<'_>], circle: &[usize]) {
        let mut at: Vec<Place> = circle
            .iter()
            .filter_map(|&index| jobs[index].settle.from.clone())
            .collect();
        for position in 0..circle.len() {
            let to = jobs[circle[position]].settle.to.clone();
            if at[position] == to {
                continue;
            }
            if let Err(error) = self.disk.exchange(&at[position], &to) {
                jobs[circle[position]].outcome = Some(Err(not_written(error)));
                continue;
            }
            if let Some(other) = at.iter().position(|place| *place == to) {
                at.swap(position, other);
            }
        }
        for (position, &index) in circle.iter().enumerate() {
            if jobs[index].outcome.is_none() && at[position] == jobs[index].settle.to {
                let outcome = self.publish_here(&mut jobs[index]);
                jobs[index].outcome = Some(outcome.map_err(not_written));
            }
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
                    if let Some(staged) = job.staged.take() {
                        self.disk.discard(staged)?;
                    }
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
                let same = now.filter(|entry| {
                    entry.stamp.inode == stamp.inode && entry.stamp.mtime == stamp.mtime
                });
                let expect = same.map_or(Expect::Stamp(*stamp), |entry| Expect::Stamp(entry.stamp));
                self.disk.publish(staged, &to.file, expect)
            }
            (Some(staged), None) => self.disk.publish(staged, &to.file, Expect::Absent),
            (None, _) => {
                let entry = self.disk.look(At::Folder(&to.folder), &to.file)?;
                Ok(entry.map(|entry| entry.stamp).unwrap_or_default())
            }
        }
    }

    fn sync_folders(&self, jobs: &[Job<'_>]) -> anyhow::Result<()> {
        let mut folders: Vec<&str> = jobs
            .iter()
            .filter(|job| matches!(job.outcome, Some(Ok(_))) && job.settle.touches_file())
            .flat_map(|job| {
                let from = job.settle.from.as_ref().map(|from| from.folder.as_str());
                [Some(job.settle.to.folder.as_str()), from]
            })
            .flatten()
            .collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            self.disk.sync_folder(At::Folder(folder))?;
        }
        Ok(())
    }

    /// A stamp as young as the clock's grain cannot vouch for its file: a little later it can.
    async fn wait_out_racy_stamps(&self, jobs: &[Job<'_>]) {
        let racy = jobs.iter().any(|job| {
            job.settle.touches_file()
                && matches!(&job.outcome, Some(Ok(stamp)) if self.trusted(*stamp).is_none())
        });
        if racy {
            self.clock.pause(GRAIN).await;
        }
    }

    fn record_batch(&mut self, jobs: &mut [Job<'_>], run: &mut Run<'_>) -> anyhow::Result<()> {
        let now = self.clock.now();
        let mut rows = Vec::with_capacity(jobs.len());
        for job in jobs.iter() {
            let stamp = match &job.outcome {
                Some(Ok(stamp)) => Some(*stamp),
                Some(Err(_)) => continue,
                None => run.sight.stamps.get(&job.settle.to).copied(),
            };
            let stamp = stamp.and_then(|stamp| self.trusted(stamp));
            let row = row_after(run.row(job.settle.id), job.settle, stamp, job.text_lf, None);
            rows.push((row, job));
        }
        self.store.write(now, |tx| {
            for (row, job) in &rows {
                tx.put_article(row)?;
                let cause = job.action.kind.word();
                tx.record(&agreed(row.id, &row.place, &row.remote, cause))?;
                if job.settle.settles {
                    tx.remove_conflict(row.id)?;
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
            }
            jobs.iter()
                .filter_map(|job| job.intent)
                .try_for_each(|intent| tx.remove_intent(intent))
        })?;
        for (row, _) in rows {
            if run.sight.base.conflicts.contains_key(&row.id) {
                self.clear_copy(row.id, run)?;
            }
            run.sight.base.articles.insert(row.id, row);
        }
        Ok(())
    }
}

/// How long a stamp may be racy (see `mirror::scan::settled`).
const GRAIN: std::time::Duration = std::time::Duration::from_millis(25);

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
