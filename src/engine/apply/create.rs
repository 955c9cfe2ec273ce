//! POST: a new article, never twice (design, section 5, "POST without doubles").
//!
//! The slug is always sent, and the service refuses a second article with the same slug in a category, so
//! the slug is the idempotency key: after a lost answer the same POST is sent again, and a 422 then means
//! that the first one arrived.

use super::files::GRAIN;
use super::record::{agreed, deed};
use super::render::{MAX_FILE, digest_of, needs_whole};
use super::send::{pause, version_of, worth_another_try};
use super::{Done, Run, failed, not_written};
use crate::drill::defect::{self, Defect};
use crate::engine::Engine;
use crate::engine::observe::remote::{ListError, Listing, visibility_of};
use crate::engine::recover::is_posted;
use crate::engine::spool::text_lf;
use crate::mirror::disk::{At, Content, Disk, Durability, Expect};
use crate::mirror::document::{Changes, Document};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{
    ArticleId, Digest, Flags, Place, Revision, Side, Stamp, TextDigest, Timestamp, Version,
};
use crate::reconcile::guard::FOR_A_PERSON;
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::{LocalFile, Remote};
use crate::service::{ErrorKind, NewArticle, Service, ServiceError};
use crate::state::{FigureRow, Intent, IntentId, Parked, Seen as SeenVersion, Subject};
use tokio::time::Instant;

/// How often a POST without an answer is repeated before the article waits for the next cycle.
const TRIES: u32 = 4;

/// What is created, and where it comes from.
struct Birth<'a> {
    action: &'a Action,
    place: &'a Place,
    version: Version,
    flags: Flags,
    instead_of: Option<ArticleId>,
    text: String,
    /// Whether it is sent under an address that its file had before.
    moved: bool,
}

/// A new article's file with its id in it.
struct Written {
    /// Its stamp, if it holds what was sent.
    stamp: Option<Stamp>,
    /// What the base has of its flags.
    flags: Flags,
    /// The digest of all of it.
    bytes: Digest,
    /// What it was before, if it had comments or keys of the writer's own that the scan may not have seen.
    own: Option<String>,
}

/// What was sent under an intent, in this run or an earlier one.
type Birthright = (IntentId, Version);

/// An article that a POST made.
struct Newborn {
    id: ArticleId,
    /// What was sent; of an earlier try, where that is the one that arrived.
    sent: Version,
    /// The service's half of the base.
    remote: Version,
    /// The revision that goes with `remote`.
    revision: Revision,
    flags: Flags,
    /// The body as the service answered it.
    text: Option<String>,
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Creates an article from a file, and writes the id into it.
    pub(super) async fn create_article(
        &mut self,
        action: &Action,
        place: &Place,
        version: &Version,
        flags: Flags,
        instead_of: Option<ArticleId>,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let Some(version) = run.resolved(version) else {
            return Ok(Done::Later("its category could not be created".to_owned()));
        };
        let text = self.text(version.text, run)?;
        let mut birth = Birth {
            action,
            place,
            version,
            flags,
            instead_of,
            text,
            moved: false,
        };
        if let Err(done) = Box::pin(self.forget_id(&birth)).await {
            return Ok(done);
        }
        let earlier = self.earlier_intents(&mut birth, run)?;
        let mut lost = !earlier.is_empty();
        let sent = self.birth_intents(&birth, earlier)?;
        let mut new = NewArticle {
            category: birth.version.category,
            title: birth.version.title.clone(),
            slug: birth.version.slug.clone(),
            text: birth.text.clone(),
            introtext: birth.version.introtext.clone(),
            keywords: birth.version.keywords.clone(),
            enabled: flags.enabled.unwrap_or(true),
            draft: flags.draft.unwrap_or(false),
        };
        let mut tries = 0;
        loop {
            let error = match self.service.create_article(&new).await {
                Ok(article) => {
                    let newborn = Newborn {
                        id: article.id,
                        remote: version_of(&article, &birth.version),
                        sent: birth.version.clone(),
                        revision: article.revision,
                        flags: article.flags,
                        text: article.text,
                    };
                    return self.born(&birth, newborn, &sent, run).await;
                }
                Err(error) => error,
            };
            lost |= error.answer_lost;
            if worth_another_try(&error) && tries < TRIES {
                tries += 1;
                tracing::warn!(path = %place, %error, tries, "no answer to a POST; its slug tells whether it arrived");
                self.clock.pause(pause(tries)).await;
                if defect::is(Defect::SlugInvented) {
                    new.slug = format!("{}-{tries}", birth.version.slug);
                }
                continue;
            }
            if error.kind == ErrorKind::Refused && lost {
                return self.find_born(&birth, &error, &sent, run).await;
            }
            if !lost {
                self.drop_intents(&sent)?;
            }
            return match error.kind {
                ErrorKind::Refused | ErrorKind::Forbidden | ErrorKind::TooLarge => {
                    self.refused(action, &error)
                }
                ErrorKind::Unauthorized
                | ErrorKind::NotFound
                | ErrorKind::RateLimited { .. }
                | ErrorKind::BudgetSpent { .. }
                | ErrorKind::Unavailable
                | ErrorKind::Unreadable
                | ErrorKind::NoEndpoint => Ok(failed(error)),
            };
        }
    }

    /// Intents for this address that an earlier run left: their answers count as lost. Where there is none,
    /// but the same was sent under another address before the file got this one, it is sent under that one
    /// again, since only that slug can tell whether it arrived; the new address is an edit, then.
    fn earlier_intents(
        &self,
        birth: &mut Birth<'_>,
        run: &Run<'_>,
    ) -> anyhow::Result<Vec<Birthright>> {
        let mut sent = Vec::new();
        for (id, intent) in self.store.intents()? {
            if let Intent::CreateArticle { place, version, .. } = intent {
                sent.push((id, place, version));
            }
        }
        let here = |wanted: &Version, version: &Version| {
            version.slug == wanted.slug && version.category == wanted.category
        };
        if !sent
            .iter()
            .any(|(_, _, version)| here(&birth.version, version))
        {
            let posted = (birth.place, &birth.version);
            let earlier = sent
                .iter()
                .find(|(_, place, version)| is_posted(&run.sight.local, posted, (place, version)));
            if let Some((_, _, version)) = earlier {
                birth.version.slug.clone_from(&version.slug);
                birth.version.category = version.category;
                birth.moved = true;
            }
        }
        sent.retain(|(_, _, version)| here(&birth.version, version));
        Ok(sent
            .into_iter()
            .map(|(id, _, version)| (id, version))
            .collect())
    }

    /// Adds the intent for what is sent now. What was sent before may be what arrived, so it stays, too.
    fn birth_intents(
        &mut self,
        birth: &Birth<'_>,
        mut earlier: Vec<Birthright>,
    ) -> anyhow::Result<Vec<Birthright>> {
        if earlier.iter().any(|(_, version)| *version == birth.version) {
            return Ok(earlier);
        }
        let intent = Intent::CreateArticle {
            place: birth.place.clone(),
            version: birth.version.clone(),
            flags: birth.flags,
            answer_lost: false,
        };
        let now = self.clock.now();
        let id = self.store.write(now, |tx| tx.add_intent(&intent))?;
        earlier.push((id, birth.version.clone()));
        Ok(earlier)
    }

    /// An article that is created anew takes the place of one that is gone. Its file must not name that one
    /// any more when the new one is there: a crash in between would leave two articles for one file.
    async fn forget_id(&self, birth: &Birth<'_>) -> Result<(), Done> {
        if birth.instead_of.is_none() {
            return Ok(());
        }
        let at = At::Folder(&birth.place.folder);
        let (content, document) = self.own_file(birth).await?;
        if document.id().is_none() {
            return Ok(());
        }
        let source = document.without_id();
        let expect = Expect::Stamp(content.stamp);
        self.disk
            .stage(at, source.as_bytes(), Durability::Now)
            .and_then(|staged| self.disk.publish(staged, &birth.place.file, expect))
            .and_then(|_| self.disk.sync_folder(at))
            .map_err(|error| not_written(&error))
    }

    /// The file of a new article, as it is now. One that was saved within the clock's grain could be saved
    /// once more without anybody noticing, and is replaced soon: it is read a little later.
    async fn own_file(&self, birth: &Birth<'_>) -> Result<(Content, Document), Done> {
        let read = || {
            let Place { folder, file } = birth.place;
            let content = self.disk.read(At::Folder(folder), file, MAX_FILE);
            content.map_err(|error| not_written(&error))
        };
        let mut content = read()?;
        if self.trusted(content.stamp).is_none() {
            self.clock.pause(GRAIN).await;
            content = read()?;
        }
        let document = Document::parse_with_markers(&content.bytes)
            .map_err(|_not_ready| Done::Later("the file changed during the cycle".to_owned()))?;
        Ok((content, document))
    }

    fn drop_intents(&mut self, sent: &[Birthright]) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| {
            sent.iter().try_for_each(|(id, _)| tx.remove_intent(*id))
        })?;
        Ok(())
    }

    /// The slug is taken after a lost answer: by ours, by somebody else's, or by what cannot be seen.
    async fn find_born(
        &mut self,
        birth: &Birth<'_>,
        refusal: &ServiceError,
        sent: &[Birthright],
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let at = Instant::now();
        let listing = match self.list_again(vec![birth.version.category], run).await {
            Ok(listing) => listing,
            Err(ListError::Service(error)) => {
                return Ok(failed(error));
            }
            Err(ListError::State(error)) => {
                return Err(error.into());
            }
        };
        count_as_seen(&listing, at, run);
        let bodiless = listing.bodiless.iter().map(|article| {
            (
                article.id,
                &article.category,
                &article.slug,
                &article.title,
                None,
            )
        });
        let found = listing
            .articles
            .iter()
            .filter_map(|(id, entry)| match entry {
                Remote::Present(seen) => Some((
                    *id,
                    &seen.version.category,
                    &seen.version.slug,
                    &seen.version.title,
                    Some(seen),
                )),
                Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
            })
            .chain(bodiless)
            .find(|(_, category, slug, ..)| {
                **category == birth.version.category && same(slug, &birth.version.slug)
            })
            .map(|(id, _, _, title, seen)| (id, title.clone(), seen.cloned()));
        let Some((id, title, seen)) = found else {
            let reason = format!(
                "the article exists, but it cannot be read; publish it in the dashboard, or put its id into \
                 the file; if it is not there any more, edit the file (the service says: {})",
                refusal.message
            );
            return self.wait_for_person(birth.action, reason);
        };
        let ours = sent
            .iter()
            .find(|(_, version)| same(&version.title, &title));
        let Some((_, version)) = ours.filter(|_| !run.sight.base.articles.contains_key(&id)) else {
            self.drop_intents(sent)?;
            if birth.moved {
                let reason = "what was sent from where its file was before did not arrive";
                return Ok(Done::Later(reason.to_owned()));
            }
            let reason = format!(
                "its slug \"{}\" is that of article {id}, which somebody else created; choose another",
                birth.version.slug
            );
            return Ok(Done::Held(reason));
        };
        let (version, flags) = (version.clone(), seen.as_ref().map(|seen| seen.flags));
        let (found, revision) = match seen {
            Some(seen) => (seen.version, seen.revision),
            None => match self.read_one(id, Visibility::Published).await {
                Ok(article) => (version_of(&article, &version), article.revision),
                Err(error) => return Ok(failed(error)),
            },
        };
        let newborn = Newborn {
            id,
            // Whether the service rewrote it or a colleague did is not known: what was sent is the base, and
            // the next cycle pulls the rest.
            revision: if found == version {
                revision
            } else {
                Revision::default()
            },
            remote: version.clone(),
            sent: version,
            flags: flags.unwrap_or_default(),
            text: None,
        };
        self.born(birth, newborn, sent, run).await
    }

    /// Records a new article, then writes its id into the file.
    async fn born(
        &mut self,
        birth: &Birth<'_>,
        newborn: Newborn,
        sent: &[Birthright],
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let id = newborn.id;
        let flags = Flags {
            enabled: newborn.flags.enabled.or(birth.flags.enabled),
            draft: newborn.flags.draft.or(birth.flags.draft),
        };
        let row = birth.row(&newborn, flags, self.clock.now());
        self.record_birth(birth, &newborn, &row, sent)?;
        if let Some(old) = birth.instead_of {
            self.clear_copy(old, run)?;
            run.sight.base.articles.remove(&old);
        }
        run.sight.base.articles.insert(id, row.clone());
        self.figures.insert(id, FigureRow::default());
        run.born.insert(birth.action.path.clone(), id);
        let written = match Box::pin(self.write_id(birth, &row, run)).await {
            Ok(written) => written,
            // The article is there and known; the id is written by the next cycle.
            Err(done) => return Ok(without_id(done, run)),
        };
        let mut stamp = written.stamp;
        if stamp.is_some_and(|stamp| self.trusted(stamp).is_none()) {
            self.clock.pause(GRAIN).await;
            stamp = stamp.filter(|_| self.still_holds(birth.place, written.bytes));
        }
        let row = ArticleRow {
            stamp: stamp.and_then(|stamp| self.trusted(stamp)),
            file_flags: written.flags,
            ..row
        };
        let now = self.clock.now();
        self.store.write(now, |tx| {
            if let Some(own) = &written.own {
                let file = Some(tx.put_body(own)?);
                tx.record(&whole(&row, file))?;
            }
            tx.put_article(&row)
        })?;
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
            }
            tx.rename_subject(&Subject::File(birth.place.clone()), &Subject::Article(id))?;
            tx.put_article(row)?;
            tx.record(&agreed(id, &row.place, &row.local, "created"))?;
            sent.iter()
                .try_for_each(|(intent, _)| tx.remove_intent(*intent))?;
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

    /// Writes `id:`, and what became of `enabled` and `draft`, into the file of a new article.
    ///
    /// A file that by now names an article that the scan did not find there is that article's.
    async fn write_id(
        &self,
        birth: &Birth<'_>,
        row: &ArticleRow,
        run: &Run<'_>,
    ) -> Result<Written, Done> {
        let at = At::Folder(&birth.place.folder);
        let (content, document) = self.own_file(birth).await?;
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
        let (had, sent) = (document.flags(), row.remote_flags);
        let as_sent =
            had.enabled.unwrap_or(self.settings.new_enabled) == birth.flags.enabled.unwrap_or(true);
        // If the writer saved meanwhile, the file is more than what was sent. So it is if it was sent under the
        // address that it had before, which only its place can tell.
        let same = as_sent && !birth.moved && super::render::says(&document, &row.local);
        // Comments and keys of the writer's own that came just before, too, are in no history yet.
        let unseen = !run.sight.vouches(Some(birth.place), content.stamp)
            && needs_whole(document.source(), &row.local, birth.place);
        let flags = if as_sent {
            Flags {
                enabled: sent.enabled.filter(|on| !on).or(had.enabled),
                draft: sent.draft.filter(|on| *on).or(had.draft),
            }
        } else {
            had
        };
        let source = document.edit(&Changes {
            id: Some(row.id),
            enabled: Some(flags.enabled),
            draft: Some(flags.draft),
            ..Changes::default()
        });
        let staged = self
            .disk
            .stage(at, source.as_bytes(), Durability::Now)
            .map_err(|error| not_written(&error))?;
        let stamp = self
            .disk
            .publish(staged, &birth.place.file, Expect::Stamp(content.stamp))
            .map_err(|error| not_written(&error))?;
        self.disk
            .sync_folder(at)
            .map_err(|error| not_written(&error))?;
        Ok(Written {
            stamp: same.then_some(stamp),
            flags: if as_sent { flags } else { sent },
            bytes: digest_of(source.as_bytes()),
            own: (same && unseen).then(|| document.source().to_owned()),
        })
    }

    /// Remembers what only a person can settle, so that the same is not sent in every cycle.
    pub(super) fn wait_for_person(
        &mut self,
        action: &Action,
        reason: String,
    ) -> anyhow::Result<Done> {
        let now = self.clock.now();
        let parked = Parked {
            key: action.key(),
            fingerprint: action.fingerprint(),
            reason: format!("{FOR_A_PERSON}{reason}"),
            at: now,
        };
        self.store.write(now, |tx| tx.park(&parked))?;
        Ok(Done::Held(reason))
    }
}

impl Birth<'_> {
    /// The base of a new article.
    fn row(&self, newborn: &Newborn, flags: Flags, now: Timestamp) -> ArticleRow {
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
            written: Some(newborn.revision.clone()).filter(|known| *known != Revision::default()),
            asked: Some(now),
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
        Done::Yes(_) | Done::Held(_) | Done::Later(_) => {
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

/// Tells whether a word is what was sent: the service may trim it or write it in lower case.
pub(in crate::engine) fn same(sent: &str, found: &str) -> bool {
    sent.trim().to_lowercase() == found.trim().to_lowercase()
}

/// What a second listing shows of other articles that wait to be sent counts for them, too.
fn count_as_seen(listing: &Listing, at: Instant, run: &mut Run<'_>) {
    for (other, entry) in &listing.articles {
        if let Remote::Present(seen) = entry {
            let version = (seen.version.clone(), seen.revision.clone());
            run.latest.insert(*other, version);
            run.reseen.insert(*other, at);
        }
    }
}
