//! A new article is recorded, then its id is written into its file.
//!
//! The record comes first: an article without an id in its file is known by its place, and never sent twice. Its id is
//! confirmed once the file with it is durable.

use super::record::{agreed, deed, vouches};
use super::render::{MAX_FILE, needs_whole, says};
use super::{Done, Run, not_written};
use crate::engine::observe::Observation;
use crate::engine::observe::remote::visibility_of;
use crate::engine::recover::said_when_sent;
use crate::engine::spool::text_lf;
use crate::engine::{Engine, anew};
use crate::mirror::disk::{At, Disk, DiskErrorKind, Durability};
use crate::mirror::document::{Changes, Document};
use crate::model::base::ArticleRow;
use crate::model::{
    ArticleId, Flags, KnownFile, Place, Revision, Side, Stamp, TextDigest, Version,
};
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::LocalFile;
use crate::service::Service;
use crate::state::{FigureRow, IntentId, RowChange, Seen as SeenVersion, Subject, Writing};

/// What is created, and where it comes from.
pub(super) struct Birth<'a> {
    pub(super) action: &'a Action,
    pub(super) place: &'a Place,
    pub(super) version: Version,
    pub(super) flags: Flags,
    pub(super) instead_of: Option<ArticleId>,
    pub(super) text: String,
    /// Whether it is sent under an address that its file had before.
    pub(super) moved: bool,
}

/// A new article's file with its id in it, as it is to be.
struct WithId {
    source: String,
    /// The present file.
    over: KnownFile,
    /// Whether it holds what was sent.
    same: bool,
    /// What the base has of its flags.
    flags: Flags,
    /// The present bytes, if the file has comments or keys of its own that the scan may not have read.
    own: Option<String>,
}

/// What was sent under an intent, in this run or an earlier one.
pub(super) struct Birthright {
    pub(super) id: IntentId,
    pub(super) version: Version,
    pub(super) flags: Flags,
}

/// An article that a POST made.
pub(super) struct Newborn {
    pub(super) id: ArticleId,
    /// What was sent; of an earlier try, where that is the one that arrived.
    pub(super) sent: Version,
    /// `enabled` and `draft` as they were sent with it: by now the file may wish otherwise.
    pub(super) wish: Flags,
    /// The service's half of the base.
    pub(super) remote: Version,
    /// The revision that goes with `remote`.
    pub(super) revision: Revision,
    pub(super) flags: Flags,
    /// The body as the service answered it.
    pub(super) text: Option<String>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Records a new article, then writes its id into the file.
    pub(super) fn born(
        &mut self,
        birth: &Birth<'_>,
        newborn: &Newborn,
        sent: &[Birthright],
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let id = newborn.id;
        let flags = Flags {
            enabled: newborn.flags.enabled.or(newborn.wish.enabled),
            draft: newborn.flags.draft.or(newborn.wish.draft),
        };
        // What the file said when it was sent is no new wish, even if this run does not live to write its id.
        let mut scanned = run.sight.local.files.iter();
        let file = scanned.find(|file| file.place == *birth.place);
        let row = ArticleRow {
            file_flags: said_when_sent(
                file.map(|file| file.flags).unwrap_or_default(),
                newborn.wish,
                (self.settings.new_enabled, self.settings.new_draft),
            ),
            ..birth.row(newborn, flags)
        };
        self.record_birth(birth, newborn, &row, sent)?;
        if let Some(old) = birth.instead_of {
            self.clear_copies(old, run)?;
            run.sight.base.articles.remove(&old);
        }
        run.sight.base.articles.insert(id, row.clone());
        self.ask_again(id, false);
        self.figures.insert(id, FigureRow::default());
        run.born.insert(birth.action.path.clone(), id);
        // The article is there and known; what goes wrong with its file is left to the next cycle.
        let with_id = match self.with_id(birth, (&row, newborn.wish), run) {
            Ok(with_id) => with_id,
            Err(done) => return Ok(without_id(done, run)),
        };
        let row = match self.write_id(birth.place, &with_id, &row)? {
            Ok(row) => row,
            Err(done) => return Ok(without_id(done, run)),
        };
        run.sight.base.articles.insert(id, row);
        Ok(if birth.moved {
            let reason = "it is created under the address that it had when it was first sent; the next cycle sends \
                          the new one";
            Done::Later(reason.to_owned())
        } else {
            Done::Yes(None)
        })
    }

    fn record_birth(
        &mut self,
        birth: &Birth<'_>,
        newborn: &Newborn,
        row: &ArticleRow,
        sent: &[Birthright],
    ) -> anyhow::Result<()> {
        let id = row.id;
        let now = self.clock.now();
        self.store.write(now, |tx| {
            if let Some(text) = newborn
                .text
                .as_deref()
                .filter(|_| row.remote.text != row.local.text)
            {
                tx.put_body(text)?;
            }
            tx.put_body(&birth.text)?;
            if let Some(old) = birth.instead_of {
                tx.remove_article(old)?;
                tx.remove_conflict(old)?;
                tx.rename_subject(&Subject::Article(old), &Subject::Article(id))?;
                anew::note(tx, old, id)?;
            }
            tx.rename_subject(&Subject::File(birth.place.clone()), &Subject::Article(id))?;
            tx.put_article(row)?;
            tx.put_unconfirmed_id(id)?;
            tx.record(&agreed(id, &row.place, &row.local, "created"))?;
            sent.iter().try_for_each(|sent| tx.remove_intent(sent.id))?;
            tx.event(&deed(
                "create",
                Side::Remote,
                &birth.action.path,
                Some(id),
                "",
            ))
        })?;
        Ok(())
    }

    /// Puts the id into the file of a new article. Gives the row that is true then.
    fn write_id(
        &mut self,
        place: &Place,
        with_id: &WithId,
        row: &ArticleRow,
    ) -> anyhow::Result<Result<ArticleRow, Done>> {
        let now = self.clock.now();
        let after = |stamp: Option<Stamp>| ArticleRow {
            stamp: stamp
                .filter(|_| with_id.same)
                .and_then(|stamp| vouches(stamp, now)),
            file_flags: with_id.flags,
            ..row.clone()
        };
        let staged = match self.stage(place, with_id.source.as_bytes(), Durability::Now)? {
            Ok(staged) => staged,
            Err(error) => return Ok(Err(not_written(&error))),
        };
        let change = staged.over(Some(with_id.over));
        let before = |tx: &mut Writing<'_>| {
            if let Some(own) = &with_id.own {
                let file = Some(tx.put_body(own)?);
                tx.record(&whole(row, file))?;
            }
            Ok(())
        };
        let rows = |_, stamp| {
            let after = RowChange::Article(Box::new(after(stamp)));
            vec![after, RowChange::IdConfirmed(row.id)]
        };
        let written = self.change_file(change, &before, &rows)?;
        Ok(written
            .map(|stamp| after(Some(stamp)))
            .map_err(|error| not_written(&error)))
    }

    /// The file of a new article with `id:`, and what became of `enabled` and `draft`, in it.
    ///
    /// A file that by now names an article that the scan did not find there is that article's.
    fn with_id(
        &self,
        birth: &Birth<'_>,
        (row, wish): (&ArticleRow, Flags),
        run: &Run<'_>,
    ) -> Result<WithId, Done> {
        let (content, document) = self.own_file(birth)?;
        // A copy keeps its name where its folder took another one in this cycle.
        let paired = &run.sight.paired.files;
        let copy = |file: &LocalFile| {
            let kept = file.id.and_then(|id| paired.get(&id));
            file.place.file == birth.place.file && kept.is_some_and(|kept| kept.place != file.place)
        };
        let scanned = run.sight.local.files.iter();
        let had_id = scanned
            .filter(|file| file.place == *birth.place || copy(file))
            .any(|file| file.id == document.id());
        if document.id().is_some() && !had_id {
            return Err(Done::Later("the file changed during the cycle".to_owned()));
        }
        if !says(&document, &row.local) && self.is_another(birth, &document, run) {
            return Err(Done::Later("another file took its place".to_owned()));
        }
        let (had, sent) = (document.flags(), row.remote_flags);
        let usual = (self.settings.new_enabled, self.settings.new_draft);
        let as_enabled = had.enabled.unwrap_or(usual.0) == wish.enabled.unwrap_or(true);
        let as_drafted = had.draft.unwrap_or(usual.1) == wish.draft.unwrap_or(false);
        // If the writer saved meanwhile, the file is more than what was sent. So it is if it was sent under the
        // address that it had before, which only its place can tell.
        let same = as_enabled && as_drafted && !birth.moved && says(&document, &row.local);
        // Comments and keys of the writer's own that came just before, too, are in no history yet.
        let unseen = !run.sight.vouches(Some(birth.place), content.stamp)
            && needs_whole(document.source(), &row.local, birth.place);
        let hidden = sent.enabled.filter(|on| as_enabled && !on);
        let drafted = sent.draft.filter(|on| as_drafted && *on);
        let flags = Flags {
            enabled: hidden.or(had.enabled),
            draft: drafted.or(had.draft),
        };
        let source = document.edit(&Changes {
            id: Some(row.id),
            enabled: Some(flags.enabled),
            draft: Some(flags.draft),
            ..Changes::default()
        });
        Ok(WithId {
            source,
            over: KnownFile::of(content.stamp, &content.bytes),
            same,
            flags: Flags {
                enabled: if as_enabled {
                    flags.enabled
                } else {
                    sent.enabled
                },
                draft: if as_drafted { flags.draft } else { sent.draft },
            },
            own: (same && unseen).then(|| document.source().to_owned()),
        })
    }

    /// Returns whether a file that does not say what was sent may be another one without an id, which was moved here
    /// since the scan: with this id in it, one article would say what another one says.
    fn is_another(&self, birth: &Birth<'_>, document: &Document, run: &Run<'_>) -> bool {
        let sight = &run.sight;
        let left = |place: &Place| {
            let found = self.disk.look(At::Folder(&place.folder), &place.file);
            let stamp = found.ok().flatten().map(|found| found.stamp);
            stamp.is_none() || sight.mirror.stamps.get(place) != stamp.as_ref()
        };
        let text = TextDigest::of(document.text());
        // One that got its id in this cycle has another stamp by our own hand.
        let is_born = |place: &Place| run.born.contains_key(&place.to_string());
        let mut files = sight
            .local
            .files
            .iter()
            .filter(|file| !is_born(&file.place));
        let mut unready = sight.local.unknown.iter().filter(|file| file.id.is_none());
        files.any(|file| {
            let alike = file.version.text == text || file.version.title == document.title();
            file.id.is_none() && file.place != *birth.place && alike && left(&file.place)
        }) || unready.any(|file| file.place != *birth.place && self.has_left(&file.place, sight))
    }

    /// Returns whether a file that was not ready or in motion when the mirror was scanned does not lie at its place any
    /// more. Where there was none, none can have left.
    fn has_left(&self, place: &Place, sight: &Observation) -> bool {
        let was = sight.mirror.unready.get(place);
        match self
            .disk
            .read(At::Folder(&place.folder), &place.file, MAX_FILE)
        {
            Ok(content) => {
                was.is_some_and(|was| *was != content.stamp)
                    && Document::parse(&content.bytes).is_ok()
            }
            Err(error) => {
                let lay = was.is_some() || sight.local.unread.contains(place);
                lay && error.kind == DiskErrorKind::NotFound
            }
        }
    }
}

impl Birth<'_> {
    /// The base of a new article.
    fn row(&self, newborn: &Newborn, flags: Flags) -> ArticleRow {
        let same_text = newborn.sent.text == self.version.text;
        ArticleRow {
            id: newborn.id,
            place: self.place.clone(),
            local: newborn.sent.clone(),
            local_text_lf: text_lf(&self.text).filter(|_| same_text),
            remote: newborn.remote.clone(),
            revision: newborn.revision.clone(),
            file_flags: Flags::default(),
            remote_flags: flags,
            visibility: visibility_of(flags),
            stamp: None,
            replaced: None,
            earlier: Vec::new(),
            written: Some(newborn.revision.clone()).filter(|known| *known != Revision::default()),
        }
    }
}

/// The whole file of a new article, for the history.
fn whole(row: &ArticleRow, file: Option<TextDigest>) -> SeenVersion {
    SeenVersion {
        subject: Subject::Article(row.id),
        place: row.place.clone(),
        side: Side::Local,
        cause: "edited here".to_owned(),
        version: row.local.clone(),
        file,
    }
}

/// The article is created, and its file does not say so.
fn without_id(done: Done, run: &mut Run<'_>) -> Done {
    let told =
        |reason| format!("the article is created, but its id is not in the file yet: {reason}");
    match done {
        Done::Yes(_) | Done::Held(_) | Done::Later(_) | Done::Overtaken(_) => {
            Done::Yes(Some(told("the file changed during the cycle".to_owned())))
        }
        Done::Failed(reason) => Done::Failed(told(reason)),
        Done::Doubted(reason) => Done::Doubted(told(reason)),
        Done::Stopped(stop) | Done::Wall(stop) => {
            let reason = told(stop.message.clone());
            run.meet_wall(stop);
            Done::Failed(reason)
        }
    }
}
