//! POST: a new article, never twice.
//!
//! The slug is always sent, and the service refuses a second article with the same slug in a category, so
//! the slug is the idempotency key: after a lost answer the same POST is sent again, and a 422 then means
//! that the first one arrived.

use super::birth::{Birth, Birthright, Newborn};
use super::guard_read::count_as_seen;
use super::put::version_of;
use super::render::MAX_FILE;
use super::{Done, Run, failed, not_written};
use crate::engine::Engine;
use crate::engine::observe::remote::ListError;
use crate::engine::pending::{pause, worth_another_try};
use crate::engine::recover::{is_posted, is_same_text};
use crate::mirror::disk::{At, Content, Disk};
use crate::mirror::document::Document;
use crate::model::base::Visibility;
use crate::model::{ArticleId, Flags, KnownFile, Place, Revision, Version};
use crate::reconcile::guard::FOR_A_PERSON;
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::Remote;
use crate::service::{ErrorKind, NewArticle, Service, ServiceError};
use crate::state::{Intent, Parked};
use tokio::time::Instant;

/// How often a POST without an answer is repeated before the article waits for the next cycle.
const TRIES: u32 = 4;

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
        if let Err(done) = self.forget_id(&birth)? {
            return Ok(done);
        }
        let earlier = self.earlier_intents(&mut birth, run)?;
        let before = earlier.len();
        let mut lost = before > 0;
        let mut lost_now = false;
        let mut sent = self.birth_intents(&birth, earlier)?;
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
                Ok(article) => {
                    let newborn = Newborn {
                        id: article.id,
                        remote: version_of(&article, &birth.version),
                        sent: birth.version.clone(),
                        wish: birth.flags,
                        revision: article.revision,
                        flags: article.flags,
                        text: article.text,
                    };
                    return self.born(&birth, &newborn, &sent, run);
                }
                Err(error) => error,
            };
            lost_now |= error.answer_lost;
            lost |= lost_now;
            if worth_another_try(&error) && tries < TRIES {
                tries += 1;
                tracing::warn!(path = %place, %error, tries, "no answer to a POST; its slug tells whether it arrived");
                self.clock.pause(pause(tries)).await;
                continue;
            }
            if error.kind == ErrorKind::Refused && lost {
                if !lost_now {
                    // What is refused made nothing: it was sent before, or is somebody else's. Taken for what arrived,
                    // the words that were edited since would be the base, and what they replaced would be pulled over
                    // them.
                    let refused = sent.split_off(before);
                    self.drop_intents(&refused)?;
                }
                return self.find_born(&birth, &error, &sent, run).await;
            }
            if !lost {
                self.drop_intents(&sent)?;
            }
            return self.not_done(action, error);
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
            if let Intent::CreateArticle {
                place,
                version,
                flags,
            } = intent
            {
                sent.push((place, Birthright { id, version, flags }));
            }
        }
        let here = |wanted: &Version, version: &Version| {
            version.slug == wanted.slug && version.category == wanted.category
        };
        if !sent
            .iter()
            .any(|(_, sent)| here(&birth.version, &sent.version))
        {
            let posted = (birth.place, &birth.version);
            // A folder that got another name since is the same category's.
            let from = |place: &Place, sent: &Version| {
                let here =
                    (sent.category, &place.file) == (birth.version.category, &birth.place.file);
                if here {
                    birth.place.clone()
                } else {
                    place.clone()
                }
            };
            let earlier = sent.iter().find(|(place, sent)| {
                let from = from(place, &sent.version);
                is_posted(&run.sight.local, posted, (&from, &sent.version))
            });
            if let Some((_, sent)) = earlier {
                birth.version.slug.clone_from(&sent.version.slug);
                birth.version.category = sent.version.category;
                birth.moved = true;
            }
        }
        sent.retain(|(_, sent)| here(&birth.version, &sent.version));
        Ok(sent.into_iter().map(|(_, sent)| sent).collect())
    }

    /// Adds the intent for what is sent now. What was sent before may be what arrived, so it stays, too.
    fn birth_intents(
        &mut self,
        birth: &Birth<'_>,
        mut earlier: Vec<Birthright>,
    ) -> anyhow::Result<Vec<Birthright>> {
        let again =
            |sent: &Birthright| (&sent.version, sent.flags) == (&birth.version, birth.flags);
        if earlier.iter().any(again) {
            return Ok(earlier);
        }
        let intent = Intent::CreateArticle {
            place: birth.place.clone(),
            version: birth.version.clone(),
            flags: birth.flags,
        };
        let now = self.clock.now();
        let id = self.store.write(now, |tx| tx.add_intent(&intent))?;
        earlier.push(Birthright {
            id,
            version: birth.version.clone(),
            flags: birth.flags,
        });
        Ok(earlier)
    }

    /// An article that is created anew takes the place of one that is gone. Its file must not name that one
    /// any more when the new one is there: a crash in between would leave two articles for one file.
    fn forget_id(&mut self, birth: &Birth<'_>) -> anyhow::Result<Result<(), Done>> {
        if birth.instead_of.is_none() {
            return Ok(Ok(()));
        }
        let (content, document) = match self.own_file(birth) {
            Ok(found) => found,
            Err(done) => return Ok(Err(done)),
        };
        if document.id().is_none() {
            return Ok(Ok(()));
        }
        let source = document.without_id();
        let over = KnownFile::of(content.stamp, &content.bytes);
        let written =
            self.replace_file(birth.place, source.as_bytes(), over, &|_, _| Vec::new())?;
        Ok(written.map(drop).map_err(|error| not_written(&error)))
    }

    /// The file of a new article, as it is now.
    pub(super) fn own_file(&self, birth: &Birth<'_>) -> Result<(Content, Document), Done> {
        let Place { folder, file } = birth.place;
        let content = self
            .disk
            .read(At::Folder(folder), file, MAX_FILE)
            .map_err(|error| not_written(&error))?;
        let document = Document::parse_with_markers(&content.bytes)
            .map_err(|_not_ready| Done::Later("the file changed during the cycle".to_owned()))?;
        Ok((content, document))
    }

    fn drop_intents(&mut self, sent: &[Birthright]) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| {
            sent.iter().try_for_each(|sent| tx.remove_intent(sent.id))
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
        let text = seen.as_ref().map(|seen| seen.version.text);
        let ours = sent.iter().filter(|sent| {
            same(&sent.version.title, &title)
                || text.is_some_and(|text| is_same_text(sent.version.text, text))
        });
        // It is listed: where it was sent both ways, the one that nothing hides arrived.
        let ours = ours.min_by_key(|sent| sent.flags.hides());
        let Some(ours) = ours.filter(|_| !run.sight.base.articles.contains_key(&id)) else {
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
        let (version, wish) = (ours.version.clone(), ours.flags);
        let flags = seen.as_ref().map(|seen| seen.flags);
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
            // the next cycle pulls the rest. One that was sent hidden and is listed was published since.
            revision: if found == version && !wish.hides() {
                revision
            } else {
                Revision::default()
            },
            remote: version.clone(),
            sent: version,
            wish,
            flags: flags.unwrap_or_default(),
            text: None,
        };
        self.born(birth, &newborn, sent, run)
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

/// Returns whether a word is what was sent: the service may trim it or write it in lower case.
pub(in crate::engine) fn same(sent: &str, found: &str) -> bool {
    sent.trim().to_lowercase() == found.trim().to_lowercase()
}
