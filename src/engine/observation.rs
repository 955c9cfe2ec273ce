//! The observation of both sides that one cycle acts on.

use crate::engine::Stop;
use crate::engine::settings::CycleRequest;
use crate::mirror::layout::Layout;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Place, Stamp, TextDigest, Version};
use crate::reconcile::is_outdated;
use crate::reconcile::pairing::Paired;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalSnapshot, Remote, RemoteSnapshot, Seen};
use crate::service::{RemoteArticle, ServiceError, Validator};
use crate::state::store::ListingEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tokio::time::Instant;

/// Set once all of the mirror was read with this state, and its articles are in it.
pub(super) const MIRROR_READ: &str = "mirror_read";

/// The things that were looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) enum Extent {
    /// At everything, and everything is compared.
    All,
    /// At everything; the base has the rows of the few articles that differ from the index.
    Differences,
    /// At a few files and their articles: nothing was listed, and nothing is said of the rest.
    Paths,
}

impl Extent {
    /// Returns whether the workspace was listed.
    pub(in crate::engine) const fn lists(self) -> bool {
        match self {
            Self::All | Self::Differences => true,
            Self::Paths => false,
        }
    }

    /// Returns whether everything was looked at and compared.
    pub(in crate::engine) const fn sees_all(self) -> bool {
        matches!(self, Self::All)
    }

    /// Returns whether the base has the rows of a few articles only.
    pub(in crate::engine) const fn has_few(self) -> bool {
        match self {
            Self::Differences | Self::Paths => true,
            Self::All => false,
        }
    }
}

/// The observation of both sides in one cycle.
pub(in crate::engine) struct Observation {
    /// The rows that both sides are compared with.
    pub(in crate::engine) base: Base,
    /// The request that it answers.
    pub(in crate::engine) request: Arc<CycleRequest>,
    pub(in crate::engine) local: LocalSnapshot,
    pub(in crate::engine) remote: RemoteSnapshot,
    pub(in crate::engine) paired: Paired,
    pub(in crate::engine) mirror: MirrorSide,
    pub(in crate::engine) service: ServiceSide,
    /// The time at which the service's versions were seen.
    pub(in crate::engine) seen_at: Instant,
    /// The extent of the look.
    pub(in crate::engine) extent: Extent,
    /// The reason that nothing may be deleted, if a part of the look failed.
    pub(in crate::engine) doubt: Option<String>,
    /// Articles whose file equals an older version, of those that are to be settled and were not released.
    pub(in crate::engine) older: BTreeSet<ArticleId>,
    pub(in crate::engine) problems: Vec<Problem>,
}

/// The facts about the mirror that applying a plan needs, besides the files.
#[derive(Default)]
pub(in crate::engine) struct MirrorSide {
    /// Stamps of the files that were scanned.
    pub(in crate::engine) stamps: BTreeMap<Place, Stamp>,
    pub(in crate::engine) category_stamps: BTreeMap<String, Stamp>,
    /// Scanned stamps that were too young to vouch for what was read.
    pub(in crate::engine) racy: Vec<Stamp>,
    /// The rules for places out of scope in the mirror.
    pub(in crate::engine) layout: Layout,
    /// Digests of bodies with their CRLF read as LF.
    pub(in crate::engine) text_lf: HashMap<TextDigest, TextDigest>,
    /// Whether there are places in scope where nobody could look: a removal there goes unseen.
    pub(in crate::engine) hides: bool,
}

/// The facts about the service that applying a plan needs, besides the articles.
#[derive(Default)]
pub(in crate::engine) struct ServiceSide {
    /// The validator for the next listing, if this cycle leaves nothing open.
    pub(in crate::engine) validator: Option<Validator>,
    /// Whether the listing was answered with "not modified".
    pub(in crate::engine) not_modified: bool,
    /// Whether an answer showed a published article that the listing lacks, or has under another revision or as an old
    /// copy: the listing's tag does not vouch for that article.
    pub(in crate::engine) unlisted: bool,
    /// Articles whose version may be out of date (a stored answer, two different answers, a possible old copy): they
    /// are read again before a write.
    pub(in crate::engine) read_first: BTreeSet<ArticleId>,
    /// The meaning of the listing's entries, to be stored once their figures are recorded.
    pub(in crate::engine) entries: Option<Vec<ListingEntry>>,
    /// The reason that the service is not asked any more.
    pub(in crate::engine) stop: Option<Stop>,
    /// The number of listed articles whose bodies, or whose new categories, were not read.
    pub(in crate::engine) unread: usize,
}

impl Observation {
    /// Returns whether a file with this stamp is just what the scan found at a place.
    pub(in crate::engine) fn vouches(&self, place: Option<&Place>, stamp: Stamp) -> bool {
        let scanned = place.and_then(|place| self.mirror.stamps.get(place));
        scanned == Some(&stamp) && !self.mirror.racy.contains(&stamp)
    }

    /// Returns whether both sides were seen whole, so that what was not seen is not there.
    pub(in crate::engine) fn is_complete(&self) -> bool {
        self.doubt.is_none() && !self.mirror.hides && self.local.complete && self.remote.complete
    }

    /// Returns whether everything on both sides was seen, and nothing that is there was left out.
    pub(in crate::engine) fn saw_all(&self) -> bool {
        let local = &self.local;
        self.request.is_whole()
            && self.request.in_motion.paths.is_empty()
            && self.is_complete()
            && self.service.read_first.is_empty()
            && self.base.conflicts.is_empty()
            && self.remote.foreign.is_empty()
            && local.unknown.is_empty()
            && local.unread.is_empty()
            && local.unreadable.is_empty()
            && local.unready_categories.is_empty()
            && local.copies.is_empty()
    }

    /// Returns whether all of the mirror was read, for the first time with this state, and every article that has a
    /// file, or may have one, is in it.
    pub(in crate::engine) fn is_first_full_read(&self) -> bool {
        let local = &self.local;
        let files = local.files.iter().filter_map(|file| file.id);
        let unknown = local.unknown.iter().filter_map(|unknown| unknown.id);
        local.first
            && self.doubt.is_none()
            && local.unread.is_empty()
            && files
                .chain(unknown)
                .chain(self.paired.unknown.keys().copied())
                .all(|id| self.base.articles.contains_key(&id))
    }

    /// Marks the articles of which an old copy was shown: it counts as what our own last write left, and whoever acts
    /// on that reads the article first.
    pub(in crate::engine) fn mark_old_copies(&mut self) {
        let articles = &self.remote.articles;
        let old = |row: &&ArticleRow| match articles.get(&row.id) {
            Some(Remote::Present(seen)) => is_outdated(row, &seen.revision, &seen.version),
            Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => false,
        };
        let rows = self.base.articles.values();
        let rows = rows.filter(|row| row.replaced.is_some() || !row.earlier.is_empty());
        let old: Vec<ArticleId> = rows.filter(old).map(|row| row.id).collect();
        self.service.unlisted |= !old.is_empty();
        self.service.read_first.extend(old);
        self.mark_unclaimed_revisions();
    }

    /// Marks the articles that say what our own last write left, under a revision that nobody has told us: a colleague
    /// may have saved them as they were, or that PUT was made twice, since its first answer was lost, and this is an
    /// old copy of what the first one made.
    fn mark_unclaimed_revisions(&mut self) {
        let articles = &self.remote.articles;
        let unclaimed = |row: &&ArticleRow| match articles.get(&row.id) {
            Some(Remote::Present(seen)) => {
                seen.visibility == Visibility::Published
                    && seen.revision != row.revision
                    && seen.version == row.remote
            }
            Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => false,
        };
        let rows = self.base.articles.values();
        let rows = rows.filter(|row| {
            row.visibility == Visibility::Published && row.written.as_ref() == Some(&row.revision)
        });
        let unclaimed: Vec<ArticleId> = rows.filter(unclaimed).map(|row| row.id).collect();
        self.service.read_first.extend(unclaimed);
    }

    /// Remembers what ended the looking; nothing is deleted in such a cycle.
    pub(in crate::engine) fn stop_for(&mut self, error: ServiceError) {
        self.doubt = Some(format!("the service could not be asked ({error})"));
        self.service.stop = Some(Stop::of(error));
        self.remote.complete = false;
        self.remote.cut_off = true;
    }
}

/// Returns the version in an answer; a body that the answer leaves out is the expected one.
pub(in crate::engine) fn version_of(article: &RemoteArticle, expected: &Version) -> Version {
    let text = article.text.as_deref();
    version_with(article, text.map_or(expected.text, TextDigest::of))
}

/// Returns the version in an answer, with this text.
pub(in crate::engine) fn version_with(article: &RemoteArticle, text: TextDigest) -> Version {
    Version {
        title: article.title.clone(),
        slug: article.slug.clone(),
        category: article.category,
        introtext: article.introtext.clone(),
        keywords: article.keywords.clone(),
        text,
    }
}

/// The service's version as the base has it.
pub(in crate::engine) fn as_recorded(row: &ArticleRow) -> Seen {
    Seen {
        version: row.remote.clone(),
        revision: row.revision.clone(),
        flags: row.remote_flags,
        visibility: row.visibility,
    }
}
