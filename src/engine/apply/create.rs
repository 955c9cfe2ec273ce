//! POST: a new article, never twice (design, section 5, "POST without doubles").
//!
//! The slug is always sent, and the service refuses a second article with the same slug in a category, so
//! the slug is the idempotency key: after a lost answer the same POST is sent again, and a 422 then means
//! that the first one arrived.

use super::record::deed;
use super::send::pause;
use super::{Done, Run, failed};
use crate::engine::observe::remote::{Known, ListError, list, visibility_of};
use crate::engine::spool::{Spool, text_lf};
use crate::engine::{Engine, Stop};
use crate::mirror::disk::{At, Disk, Durability, Expect};
use crate::mirror::document::{Changes, Document};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Flags, Place, Side, Stamp, TextDigest, Version};
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::{ErrorKind, ListRequest, NewArticle, Purpose, RemoteArticle, Service};
use crate::state::{FigureRow, Intent, IntentId, Seen as SeenVersion, Subject};
use std::collections::{BTreeSet, HashSet};

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
        let birth = Birth {
            action,
            place,
            version,
            flags,
            instead_of,
            text,
        };
        let (intent, mut lost) = self.birth_intent(&birth)?;
        let new = NewArticle {
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
                Ok(article) => return self.born(&birth, article, intent, run).await,
                Err(error) => error,
            };
            if error.answer_lost {
                lost = true;
                self.note_lost(intent, &birth)?;
            }
            if error.kind == ErrorKind::Unavailable && tries < TRIES {
                tries += 1;
                tracing::warn!(path = %place, %error, tries, "no answer to a POST; its slug tells whether it arrived");
                self.clock.pause(pause(tries)).await;
                continue;
            }
            return match error.kind {
                ErrorKind::Refused if lost => self.find_born(&birth, intent, run).await,
                ErrorKind::Refused | ErrorKind::Forbidden | ErrorKind::TooLarge => {
                    self.drop_intent(intent)?;
                    self.refused(action, &error)
                }
                _ if error.answer_lost => Ok(Done::Stopped(Stop::of(error))),
                ErrorKind::Unauthorized
                | ErrorKind::NotFound
                | ErrorKind::RateLimited { .. }
                | ErrorKind::BudgetSpent { .. }
                | ErrorKind::Unavailable
                | ErrorKind::Unreadable
                | ErrorKind::NoEndpoint => {
                    if !lost {
                        self.drop_intent(intent)?;
                    }
                    Ok(failed(error))
                }
            };
        }
    }

    /// The intent for a birth: the one that an earlier run left, whose answer counts as lost, or a new one.
    fn birth_intent(&mut self, birth: &Birth<'_>) -> anyhow::Result<(IntentId, bool)> {
        let earlier = self
            .store
            .intents()?
            .into_iter()
            .find_map(|(id, intent)| match intent {
                Intent::CreateArticle { version, .. }
                    if version.slug == birth.version.slug
                        && version.category == birth.version.category =>
                {
                    Some(id)
                }
                Intent::CreateArticle { .. }
                | Intent::UpdateArticle { .. }
                | Intent::DeleteArticle { .. }
                | Intent::CreateCategory { .. }
                | Intent::UpdateCategory { .. }
                | Intent::WriteFile { .. }
                | Intent::RemoveFile { .. }
                | Intent::WriteCategory { .. } => None,
            });
        if let Some(id) = earlier {
            return Ok((id, true));
        }
        let intent = birth.intent(false);
        let now = self.clock.now();
        let id = self.store.write(now, |tx| tx.add_intent(&intent))?;
        Ok((id, false))
    }

    fn note_lost(&mut self, id: IntentId, birth: &Birth<'_>) -> anyhow::Result<()> {
        let now = self.clock.now();
        let intent = birth.intent(true);
        self.store.write(now, |tx| tx.replace_intent(id, &intent))?;
        Ok(())
    }

    fn drop_intent(&mut self, id: IntentId) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| tx.remove_intent(id))?;
        Ok(())
    }

    /// The slug is taken after a lost answer: by ours, by somebody else's, or by what cannot be seen.
    async fn find_born(
        &mut self,
        birth: &Birth<'_>,
        intent: IntentId,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let now = self.clock.now();
        let rows = run.sight.base.articles.clone();
        let (tombstones, changed) = (HashSet::new(), BTreeSet::new());
        let known = Known {
            rows: &rows,
            tombstones: &tombstones,
            changed: &changed,
            now,
        };
        let request = ListRequest {
            workspace: self.settings.workspace,
            categories: vec![birth.version.category],
            validator: None,
            purpose: Purpose::Push,
        };
        let mut spool = Spool::new(false, now);
        let listing = match list(&self.service, &request, &known, &mut self.store, &mut spool).await
        {
            Ok(listing) => listing,
            Err(ListError::Service(error)) => {
                return Ok(failed(error));
            }
            Err(ListError::State(error)) => {
                return Err(error.into());
            }
        };
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
                **category == birth.version.category && **slug == birth.version.slug
            })
            .map(|(id, _, _, title, seen)| (id, title == &birth.version.title, seen.cloned()));
        match found {
            Some((id, true, seen)) if !run.sight.base.articles.contains_key(&id) => {
                let article = match seen {
                    Some(seen) => as_article(id, &seen),
                    None => match self.read_one(id, Visibility::Published).await {
                        Ok(article) => article,
                        Err(error) => return Ok(failed(error)),
                    },
                };
                self.born(birth, article, intent, run).await
            }
            Some((id, ..)) => {
                self.drop_intent(intent)?;
                Ok(Done::Held(format!(
                    "its slug \"{}\" is that of article {id}, which somebody else created; choose another",
                    birth.version.slug
                )))
            }
            None => Ok(Done::Held(
                "the article exists, but it cannot be read; publish it in the dashboard, or put its id into \
                 the file"
                    .to_owned(),
            )),
        }
    }

    /// Records a new article, then writes its id into the file.
    async fn born(
        &mut self,
        birth: &Birth<'_>,
        article: RemoteArticle,
        intent: IntentId,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let id = article.id;
        let remote = super::send::version_of(&article, &birth.version);
        let flags = Flags {
            enabled: article.flags.enabled.or(birth.flags.enabled),
            draft: article.flags.draft.or(birth.flags.draft),
        };
        if let Some(old) = birth.instead_of {
            self.clear_copy(old, run)?;
        }
        let now = self.clock.now();
        let row = ArticleRow {
            id,
            place: birth.place.clone(),
            local: birth.version.clone(),
            local_text_lf: text_lf(&birth.text),
            remote,
            revision: article.revision.clone(),
            file_flags: Flags::default(),
            remote_flags: flags,
            visibility: visibility_of(flags),
            stamp: None,
            replaced: None,
            written: Some(article.revision.clone()),
            asked: Some(now),
        };
        self.store.write(now, |tx| {
            if let Some(text) = article
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
            tx.put_article(&row)?;
            tx.record(&SeenVersion {
                subject: Subject::Article(id),
                place: birth.place.clone(),
                side: Side::Both,
                cause: "created".to_owned(),
                version: birth.version.clone(),
                file: None,
            })?;
            tx.remove_intent(intent)?;
            tx.event(&deed(
                "create",
                Side::Remote,
                &birth.action.path,
                Some(id),
                "",
            ))
        })?;
        let (stamp, file_flags) = match self.write_id(birth, id, flags, run) {
            Ok(written) => written,
            Err(reason) => {
                // The article is there and known; the id is written by the next cycle.
                tracing::warn!(path = %birth.place, %reason, "the new article's id is not in its file yet");
                (None, Flags::default())
            }
        };
        if let Some(stamp) = stamp
            && self.trusted(stamp).is_none()
        {
            self.clock.pause(std::time::Duration::from_millis(25)).await;
        }
        let row = ArticleRow {
            stamp: stamp.and_then(|stamp| self.trusted(stamp)),
            file_flags,
            ..row
        };
        let now = self.clock.now();
        self.store.write(now, |tx| tx.put_article(&row))?;
        if let Some(old) = birth.instead_of {
            run.sight.base.articles.remove(&old);
        }
        run.sight.base.articles.insert(id, row);
        self.figures.insert(id, FigureRow::default());
        run.born.insert(birth.action.path.clone(), id);
        Ok(Done::Yes(None))
    }

    /// Writes `id:`, and what became of `enabled` and `draft`, into the file of a new article.
    fn write_id(
        &self,
        birth: &Birth<'_>,
        id: ArticleId,
        flags: Flags,
        run: &Run<'_>,
    ) -> anyhow::Result<(Option<Stamp>, Flags)> {
        let place = birth.place;
        let at = At::Folder(&place.folder);
        let content = self.disk.read(at, &place.file, super::files::MAX_FILE)?;
        let document = Document::parse_with_markers(&content.bytes)?;
        let same = TextDigest::of(document.text()) == birth.version.text
            || run.sight.stamps.get(place) == Some(&content.stamp);
        let file = Flags {
            enabled: flags.enabled.filter(|on| !on).or(document.flags().enabled),
            draft: flags.draft.filter(|on| *on).or(document.flags().draft),
        };
        let source = document.edit(&Changes {
            id: Some(id),
            enabled: Some(file.enabled),
            draft: Some(file.draft),
            ..Changes::default()
        });
        let staged = self.disk.stage(at, source.as_bytes(), Durability::Now)?;
        let stamp = self
            .disk
            .publish(staged, &place.file, Expect::Stamp(content.stamp))?;
        self.disk.sync_folder(at)?;
        // If the writer saved meanwhile, the file is more than what was sent: read it again next time.
        Ok((same.then_some(stamp), file))
    }
}

impl Birth<'_> {
    fn intent(&self, answer_lost: bool) -> Intent {
        Intent::CreateArticle {
            place: self.place.clone(),
            version: self.version.clone(),
            flags: self.flags,
            answer_lost,
        }
    }
}

fn as_article(id: ArticleId, seen: &Seen) -> RemoteArticle {
    RemoteArticle {
        id,
        category: seen.version.category,
        title: seen.version.title.clone(),
        slug: seen.version.slug.clone(),
        text: None,
        introtext: seen.version.introtext.clone(),
        keywords: seen.version.keywords.clone(),
        flags: seen.flags,
        revision: seen.revision.clone(),
        figures: None,
        full_url: None,
    }
}
