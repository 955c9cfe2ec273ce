//! The observation of both sides, on which one cycle acts.

use crate::engine::Stop;
use crate::engine::settings::CycleRequest;
use crate::mirror::layout::Layout;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Place, Stamp, TextDigest, Version};
use crate::reconcile::pairing::Paired;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalSnapshot, Remote, RemoteSnapshot};
use crate::reconcile::{has_lost_copy, is_outdated};
use crate::service::{RemoteArticle, ServiceError, Validator};
use crate::state::store::ListingEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// The state's key for the time when the whole mirror had first been read, with all its articles in the state.
pub(super) const MIRROR_READ: &str = "mirror_read";

/// The state's key for the ignore rules of the last cycle over everything.
pub(super) const IGNORE_RULES: &str = "ignore_rules";

/// The number of server errors about single articles that ends a cycle's requests.
const MAX_SERVER_ERRORS: usize = 3;

/// The extent of a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// Everything was looked at and compared.
    All,
    /// Everything was looked at; the base has the rows of the few articles that differ from the index.
    Differences,
    /// A few files and their articles were looked at: there was no listing, and nothing is known of the rest.
    Paths,
}

/// A moment, to tell its age. The time in which the machine sleeps counts, and a clock that was set back makes it old.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct SeenAt {
    at: Instant,
    wall: SystemTime,
}

impl SeenAt {
    pub(super) fn now() -> Self {
        Self {
            at: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    pub(super) fn age(self) -> Duration {
        let wall = self.wall.elapsed().unwrap_or(Duration::MAX);
        wall.max(self.at.elapsed())
    }

    /// Returns whether the moment is at most `window` ago. A window of zero has no moments.
    pub(super) fn is_within(self, window: Duration) -> bool {
        !window.is_zero() && self.age() <= window
    }
}

/// The observation of both sides in one cycle.
pub(super) struct Observation {
    /// The rows to compare both sides with.
    pub(super) base: Base,
    /// The request of the look; the cycle may have widened its own since.
    pub(super) request: Arc<CycleRequest>,
    /// The files and folders.
    pub(super) local: LocalSnapshot,
    /// The articles and categories.
    pub(super) remote: RemoteSnapshot,
    /// The files of the articles, and the folders of the categories.
    pub(super) paired: Paired,
    /// Facts about the mirror besides the files.
    pub(super) mirror: MirrorFacts,
    /// Facts about the service besides the articles.
    pub(super) service: ServiceFacts,
    /// The time at which the service's versions were seen.
    pub(super) seen_at: SeenAt,
    /// The extent of the look.
    pub(super) extent: Extent,
    /// The reason that nothing may be deleted, if a part of the look failed.
    pub(super) doubt: Option<String>,
    /// Articles to be settled whose file went back to an older version. Approved ones are left out.
    pub(super) gone_back: BTreeSet<ArticleId>,
    /// The files and articles that are left out, with the reasons.
    pub(super) problems: Vec<Problem>,
}

/// The facts about the mirror that a plan needs when it is applied, besides the files.
#[derive(Default)]
pub(super) struct MirrorFacts {
    /// Stamps of the files that were scanned.
    pub(super) stamps: BTreeMap<Place, Stamp>,
    pub(super) category_stamps: BTreeMap<String, Stamp>,
    /// Racy stamps: too young at the scan to vouch for the content.
    pub(super) racy: Vec<Stamp>,
    /// The rules for places out of scope in the mirror.
    pub(super) layout: Layout,
    /// The paths that are held because the rules of the last cycle left them out.
    pub(super) unhidden: BTreeSet<String>,
    /// The known files that are missing, except those whose removal is held. Empty if there is no grace time.
    pub(super) missing: BTreeSet<String>,
    /// Whether places in scope could not be looked at, or removals there wait for their grace time: these removals do
    /// not count yet.
    pub(super) may_hide_removals: bool,
}

/// The facts about the service that a plan needs when it is applied, besides the articles.
#[derive(Default)]
pub(super) struct ServiceFacts {
    /// The validator for the next listing, if this cycle leaves nothing open.
    pub(super) validator: Option<Validator>,
    /// Whether the listing was answered with "not modified".
    pub(super) not_modified: bool,
    /// Whether a response showed a published article that the listing lacks, or has under another revision or as a
    /// stale read: the listing's validator does not cover that article.
    pub(super) validator_unsafe: bool,
    /// Articles whose version may be stale (a stored answer, two different answers, a possible stale read): they are
    /// read again before a write.
    pub(super) read_first: BTreeSet<ArticleId>,
    /// The memory of the listing's entries, to be stored with their figures.
    pub(super) entries: Option<Vec<ListingEntry>>,
    /// The reason to send no more requests.
    pub(super) stop: Option<Stop>,
    /// The number of server errors (500, 502 or 504) about single articles.
    server_errors: usize,
    /// The number of listed articles whose bodies, or whose new categories, were not read.
    pub(super) not_fetched: usize,
}

impl ServiceFacts {
    /// Counts a server error about one article, and returns whether the cycle sends no more requests.
    pub(super) fn count_server_error(&mut self) -> bool {
        self.server_errors += 1;
        self.server_errors >= MAX_SERVER_ERRORS
    }
}

impl Observation {
    /// Returns the row of an article.
    pub(super) fn row(&self, id: ArticleId) -> Option<&ArticleRow> {
        self.base.articles.get(&id)
    }

    /// Notes the problem of an article, at its place in the base or else at that of its file.
    pub(super) fn note_problem(&mut self, id: ArticleId, why: impl Into<String>) {
        let path = self.place_of(id).map(ToString::to_string);
        let problem = Problem::at(path.unwrap_or_default(), Some(id), why);
        self.problems.push(problem);
    }

    /// Returns the recorded place of an article, else the place of the file that names it.
    fn place_of(&self, id: ArticleId) -> Option<&Place> {
        let row = self.row(id).map(|row| &row.place);
        row.or_else(|| Some(&self.paired.files.get(&id)?.place))
    }

    /// Returns whether both sides were seen completely: only then does unseen mean absent.
    pub(super) fn is_complete(&self) -> bool {
        self.doubt.is_none()
            && !self.mirror.may_hide_removals
            && self.local.complete
            && self.remote.complete
    }

    /// Returns whether everything on both sides was seen, and nothing was left out.
    pub(super) fn saw_all(&self) -> bool {
        let local = &self.local;
        self.request.is_whole()
            && self.request.in_motion.paths.is_empty()
            && self.is_complete()
            && self.service.read_first.is_empty()
            && self.base.conflicts.is_empty()
            && self.remote.foreign.is_empty()
            && local.unknown.is_empty()
            && local.unreadable_files.is_empty()
            && local.unreadable.is_empty()
            && local.unready_categories.is_empty()
            && local.copies.is_empty()
    }

    /// Returns whether the whole mirror was read for the first time with this state, and every article that may have a
    /// file is in the state.
    pub(super) fn is_first_full_read(&self) -> bool {
        let local = &self.local;
        let files = local.files.iter().filter_map(|file| file.id);
        let unknown = local.unknown.iter().filter_map(|unknown| unknown.id);
        local.first
            && self.doubt.is_none()
            && local.unreadable_files.is_empty()
            && files
                .chain(unknown)
                .chain(self.paired.unknown.keys().copied())
                .all(|id| self.base.articles.contains_key(&id))
    }

    /// Reopens conflicts whose copy is gone while the file has the words that were shown: their copies are written
    /// again. In a git work tree, a missing copy is no decision, because `git clean` and `git stash -u` remove copies.
    pub(super) fn reopen_conflicts(&mut self) {
        for row in self.base.conflicts.values_mut() {
            let file = self.paired.files.get(&row.id);
            let is_as_shown = file.is_some_and(|file| file.version.same_words(&row.local));
            if is_as_shown && has_lost_copy(&self.local, row) {
                row.copy = None;
            }
        }
    }

    /// Marks the articles that are read again before a write: those with an unclaimed revision, and those whose response
    /// was a stale read. A stale read counts as the result of our own last write.
    pub(super) fn mark_read_first(&mut self) {
        let old = self.stale_reads();
        self.service.validator_unsafe |= !old.is_empty();
        self.service.read_first.extend(old);
        self.mark_unclaimed_revisions();
    }

    /// Returns the articles whose response was a stale read.
    pub(super) fn stale_reads(&self) -> Vec<ArticleId> {
        let articles = &self.remote.articles;
        let is_old = |row: &&ArticleRow| {
            let seen = articles.get(&row.id).and_then(Remote::present);
            seen.is_some_and(|seen| is_outdated(row, &seen.version, &seen.revision))
        };
        let rows = self.base.articles.values();
        let rows = rows.filter(|row| !row.superseded.is_empty());
        rows.filter(is_old).map(|row| row.id).collect()
    }

    /// Marks articles with the content of our own last write under an unknown revision. Either a colleague saved them
    /// unchanged; or the PUT was carried out twice after a lost response, and this is a stale read of the first one's
    /// result.
    fn mark_unclaimed_revisions(&mut self) {
        let articles = &self.remote.articles;
        let unclaimed = |row: &&ArticleRow| {
            let seen = articles.get(&row.id).and_then(Remote::present);
            seen.is_some_and(|seen| {
                seen.visibility == Visibility::Published
                    && seen.revision != row.revision
                    && seen.version == row.remote
            })
        };
        let rows = self.base.articles.values();
        let rows = rows.filter(|row| {
            row.visibility == Visibility::Published && row.written.as_ref() == Some(&row.revision)
        });
        let unclaimed: Vec<ArticleId> = rows.filter(unclaimed).map(|row| row.id).collect();
        self.service.read_first.extend(unclaimed);
    }

    /// Takes an error about one article, and returns it; `None`: it ended the look. The other questions do not wait for
    /// a service that is unable to answer one, unless several fail; but the cycle deletes nothing.
    pub(super) fn take_error(
        &mut self,
        id: ArticleId,
        error: ServiceError,
    ) -> Option<ServiceError> {
        let mut ends_look = error.stops_all();
        if error.is_server_error() {
            let place = self.place_of(id);
            let which = place.map_or_else(|| id.to_string(), ToString::to_string);
            let why = || {
                format!(
                    "the service could not say what is with the article {which} ({error}; if this goes on, save or \
                     delete that article in the dashboard)"
                )
            };
            self.doubt.get_or_insert_with(why);
            ends_look = self.service.count_server_error();
        }
        if ends_look {
            self.stop_for(error);
            return None;
        }
        Some(error)
    }

    /// Ends the look because of an error. Such a cycle deletes nothing.
    pub(super) fn stop_for(&mut self, error: ServiceError) {
        let why = || format!("the service could not be asked ({error})");
        self.doubt.get_or_insert_with(why);
        self.service.stop = Some(Stop::of(error));
        self.remote.complete = false;
        self.remote.cut_off = true;
    }
}

/// Returns the version in a response, with the expected body where the response has none.
pub(super) fn version_of(article: &RemoteArticle, expected: &Version) -> Version {
    let text = article.text.as_deref();
    version_with(article, text.map_or(expected.text, TextDigest::of))
}

/// Returns the version in a response, with this body.
pub(super) fn version_with(article: &RemoteArticle, text: TextDigest) -> Version {
    Version {
        title: article.title.clone(),
        slug: article.slug.clone(),
        category: article.category,
        introtext: article.introtext.clone(),
        keywords: article.keywords.clone(),
        text,
    }
}
