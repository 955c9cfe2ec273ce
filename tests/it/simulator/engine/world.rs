//! The world that both ports and all people share: the files, the service, the time, the planned faults, and the ledger
//! for the invariants.

use super::births::Births;
use super::hidden::Hidden;
use super::isolation::Struck;
use super::kb::Kb;
use super::mirror::Mirror;
use super::random::mix;
use super::step::{Call, Setup, What};
use super::token::Tokens;
use kbsync::drill::death;
use kbsync::mirror::document::Document;
use kbsync::model::{ArticleId, CategoryId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A violation of an invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Violation {
    /// The invariant, such as `I1`.
    pub(crate) invariant: &'static str,
    /// The description of the violation.
    pub(crate) message: String,
}

/// A side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The files.
    Mirror,
    /// The service.
    Service,
}

/// The record for the invariants: who wrote and who removed which words.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the present cycle"
)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Words that must be found somewhere.
    pub(crate) owed: Tokens,
    /// Words that kbsync has seen.
    pub(crate) seen: Tokens,
    /// The side that the present command may not change.
    pub(crate) spared: Option<Side>,
    /// Words that kbsync put somewhere in this cycle.
    pub(crate) written: Tokens,
    /// Words that a person removed from the mirror, or gave up.
    pub(crate) removed: Tokens,
    /// The removed words that this cycle brought back into the mirror, for good or in a conflict copy.
    pub(crate) brought_back: Tokens,
    /// Words that a person had removed from the mirror, and that came back only in a conflict copy.
    pub(crate) shown_beside: Tokens,
    /// Words that a person removed from the service.
    pub(crate) removed_there: Tokens,
    /// The words removed from the service that were gone when kbsync read it in this cycle.
    pub(crate) gone_when_seen: Tokens,
    /// For each article that a colleague deleted, the words that kbsync had sent for it.
    pub(crate) deleted_there: Vec<Tokens>,
    /// The number of these articles that were deleted when kbsync read the service in this cycle.
    pub(crate) deleted_when_seen: usize,
    /// Words that a colleague wrote while the present cycle ran.
    pub(crate) fresh: Tokens,
    /// Words in categories and in keys of the writer's own, which have no history of their own.
    pub(crate) aside: Tokens,
    /// Words that a person copied.
    pub(crate) copied: Tokens,
    /// Words of files that a recovery sets beside others.
    pub(crate) set_aside: Tokens,
    /// Words that were found in the history.
    pub(crate) archived: Tokens,
    /// Articles whose file a person removed.
    pub(crate) withdrawn: BTreeSet<ArticleId>,
    /// The places of articles' files that the writer emptied: an empty file has no words, and is no removal.
    pub(crate) emptied: BTreeMap<ArticleId, (String, String)>,
    /// Articles whose file the writer changed since both sides were equal.
    pub(crate) touched: BTreeSet<ArticleId>,
    /// Words that two articles have, and that the file of one no longer has.
    pub(crate) parting: BTreeMap<(ArticleId, ArticleId), Tokens>,
    /// Articles whose folder belongs to another category since the writer deleted its `_category.yaml`.
    pub(crate) recategorized: BTreeSet<ArticleId>,
    /// Folders whose `_category.yaml` the writer has deleted.
    pub(crate) unnamed: BTreeSet<u8>,
    /// Articles that a colleague changed since both sides were equal, with the time.
    pub(crate) edited: BTreeMap<ArticleId, i64>,
    /// Articles that a colleague deleted in this cycle.
    pub(crate) lately_gone: BTreeSet<ArticleId>,
    /// Articles that kbsync deleted before its state was lost or rolled back, so the deletion is not remembered.
    pub(crate) unremembered: BTreeSet<ArticleId>,
    /// Articles that kbsync wrote before its state was lost or rolled back, with the words and the revision of the
    /// write: the superseded version is not remembered.
    pub(crate) unremembered_words: BTreeMap<ArticleId, (Tokens, i64)>,
    /// The unremembered words that an answer of this cycle did not show yet.
    pub(crate) outdated: Tokens,
    /// Words that a rolled-back state takes for removed by the writer, because it knows the files in another version. A
    /// colleague who brings such words back restores the last known version of that state.
    pub(crate) taken_for_edits: BTreeMap<ArticleId, Tokens>,
    /// By side, the words that a rolled-back state knows, and that the side no longer had at the roll-back. If they are
    /// put back before the next whole cycle, the side is as the state expects, and the other side's words count as
    /// newer. For the mirror also the words of articles that kbsync takes for deleted by a colleague.
    pub(crate) expected: [Tokens; 2],
    /// Words that a person had removed from the mirror when kbsync scanned it in this cycle.
    pub(crate) gone_when_scanned: Tokens,
    /// Words that a person removed from a file without an id, by its folder and name.
    pub(crate) taken_out: BTreeMap<(String, String), Tokens>,
    /// The time at which an article's file came back into the mirror.
    pub(crate) came_back: BTreeMap<ArticleId, i64>,
    /// The time of kbsync's last look at a folder or a file, and the number of its requests by then.
    pub(crate) looked: BTreeMap<(String, String), (i64, u64)>,
    /// The articles that kbsync created, and its knowledge of them.
    pub(crate) births: Births,
    /// Deleted articles that a listing of this cycle still showed.
    pub(crate) shown_gone: BTreeSet<ArticleId>,
    /// The time at which kbsync last saw an article, and the number of its requests by then.
    pub(crate) read: BTreeMap<ArticleId, (i64, u64)>,
    /// Writes with a lost response in this cycle, by kbsync's requests.
    pub(crate) unanswered: BTreeMap<ArticleId, u64>,
    /// The words that stale reads hide after such a write.
    pub(crate) hidden: Hidden,
    /// Whether git moved HEAD before this cycle.
    pub(crate) head_moved: bool,
    /// Whether the state was lost or rolled back: then old edits look like new edits.
    pub(crate) forgetful: bool,
    /// Whether a process died since both sides were equal, or a written file could not be made durable: its row was not
    /// recorded.
    pub(crate) died: bool,
    /// The articles whose DELETE got no answer; whether that was in an earlier cycle.
    pub(crate) unanswered_deletes: BTreeMap<ArticleId, bool>,
    /// The articles that are there although their DELETE got no answer and a stale read of a later cycle did not find
    /// them: without probes, nothing tells that the DELETE was lost, until the tombstone ends.
    pub(crate) believed_gone: BTreeSet<ArticleId>,
    /// The categories whose creation got no answer: kbsync does not know their ids.
    pub(crate) unanswered_categories: BTreeSet<CategoryId>,
    /// Whether the journal had an unfinished entry when the present cycle began.
    pub(crate) unfinished: bool,
    /// Whether a part of the scan or of the listing failed in this cycle.
    pub(crate) doubt: bool,
    /// The articles whose files were missing when the cycle began, for the guard against mass deletion.
    pub(crate) pending: BTreeSet<ArticleId>,
    /// The articles that a person approved.
    pub(crate) released: BTreeSet<ArticleId>,
    /// Whether any number of deletions is allowed in this cycle.
    pub(crate) allow_deletes: bool,
    /// The most deletions of one cycle.
    pub(crate) limit: usize,
    /// Deletions on the service in this cycle that nobody approved.
    pub(crate) deleted: usize,
    /// Whether the command settles sides in a way that the ledger does not follow: `--prefer`, `resolve`.
    pub(crate) loose: bool,
    /// Whether the files' words win wherever both sides changed: `--prefer local`.
    pub(crate) local_wins: bool,
    /// Changes of either side by kbsync in this cycle.
    pub(crate) effects: usize,
    /// Whether this is a dry run: nothing may change.
    pub(crate) dry: bool,
    /// The first violation.
    pub(crate) violation: Option<Violation>,
}

impl Ledger {
    /// Records the words of articles whose deletion kbsync does not remember as its own: it removes their files, even
    /// those that the writer had put back.
    pub(crate) fn count_as_deleted(&mut self, words: &Tokens) {
        let [files, _] = &mut self.expected;
        files.add(words);
    }
}

/// The files with one id.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Known {
    digest: u64,
    files: usize,
    tokens: Tokens,
}

/// A planned fault at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Armed {
    pub(crate) call: Call,
    pub(crate) nth: u8,
    pub(crate) what: What,
}

/// The whole world.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) mirror: Mirror,
    pub(crate) kb: Kb,
    pub(crate) ledger: Ledger,
    /// The time in nanoseconds since 1970.
    pub(crate) now: i64,
    /// The time at which the present cycle began, and the number of requests by then.
    pub(super) began: (i64, u64),
    /// The articles that kbsync asked for by themselves in this cycle.
    pub(crate) asked: BTreeSet<ArticleId>,
    pub(crate) armed: Vec<Armed>,
    /// The number of calls of each kind in this cycle.
    pub(crate) calls: BTreeMap<Call, u8>,
    /// The times of the requests in the last day.
    pub(crate) sent: VecDeque<i64>,
    /// The number of the next requests that get no response.
    pub(crate) down: u8,
    /// Whether the disk is full.
    pub(crate) full: bool,
    /// Whether there was any fault in this cycle.
    pub(crate) troubled: bool,
    /// The last failed call of this cycle, and its object.
    pub(crate) struck: Option<Struck>,
    /// A digest of everything that happened.
    pub(crate) hash: u64,
    /// The stashed files.
    pub(crate) stash: Option<Vec<(String, String, Vec<u8>)>>,
    /// The events in words, if asked for.
    pub(crate) log: Option<Vec<String>>,
}

/// The conditions of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Entered {
    /// Whether the process is dead.
    pub(crate) dead: bool,
    /// The fault.
    pub(crate) what: Option<What>,
    /// The seconds that the call takes.
    pub(crate) slow: u8,
    pub(crate) stale: bool,
    pub(crate) skip: Option<u8>,
    pub(crate) garble: Option<u8>,
}

impl World {
    /// A new world.
    pub(crate) fn new(setup: Setup, mirror: Mirror, now: i64) -> Self {
        Self {
            setup,
            mirror,
            kb: Kb::new(setup),
            ledger: Ledger::default(),
            now,
            began: (now, 0),
            asked: BTreeSet::new(),
            armed: Vec::new(),
            calls: BTreeMap::new(),
            sent: VecDeque::new(),
            down: 0,
            full: false,
            troubled: false,
            struck: None,
            hash: 0,
            stash: None,
            log: None,
        }
    }

    /// Adds an event to the digest.
    pub(crate) fn note(&mut self, words: &str) {
        for chunk in words.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.hash = mix(self.hash ^ u64::from_le_bytes(bytes));
        }
        if let Some(log) = &mut self.log {
            log.push(words.to_owned());
        }
    }

    /// Records a violation. Only the first one counts.
    pub(crate) fn violated(&mut self, invariant: &'static str, message: String) {
        if let Some(log) = &mut self.log {
            log.push(format!("!! {invariant}: {message}"));
        }
        self.ledger
            .violation
            .get_or_insert(Violation { invariant, message });
    }

    /// Returns the words of a side that count for people.
    pub(crate) fn tokens(&self, side: Side) -> Tokens {
        match side {
            Side::Mirror => self.mirror.tokens(),
            Side::Service => self.kb.tokens(),
        }
    }

    /// Returns the files at places of articles, by their ids.
    pub(super) fn ids_in_mirror(&self) -> BTreeMap<ArticleId, Known> {
        let mut ids: BTreeMap<ArticleId, Known> = BTreeMap::new();
        self.mirror.each(&mut |folder, name, bytes, _| {
            if is_article(folder, name)
                && let Some(id) = id_of(bytes)
            {
                let mut digest = DefaultHasher::new();
                (folder, name, bytes).hash(&mut digest);
                let known = ids.entry(id).or_default();
                known.digest ^= digest.finish();
                known.files += 1;
                known.tokens.read(bytes);
            }
        });
        ids
    }

    /// Carries out a deed of a person's on a side, and updates the ledger.
    pub(crate) fn human<T>(&mut self, side: Side, deed: impl FnOnce(&mut Self) -> T) -> T {
        let (before, all) = (self.tokens(side), self.mirror.all_tokens());
        let ids = (side == Side::Mirror).then(|| self.ids_in_mirror());
        let nameless = self.nameless_files(side);
        let done = deed(self);
        self.note_taken_out(nameless);
        let after = self.tokens(side);
        let other = match side {
            Side::Mirror => self.kb.tokens(),
            Side::Service => self.mirror.tokens(),
        };
        let (new, gone) = (after.without(&before), before.without(&after));
        // The file at a name that does not count may be lost as well.
        let lost = all.without(&self.mirror.all_tokens());
        let ledger = &mut self.ledger;
        if side == Side::Service {
            ledger.fresh.add(&new);
        }
        // Words that come back to a side cancel their removal on this side only.
        let removed = match side {
            Side::Mirror => &mut ledger.removed,
            Side::Service => &mut ledger.removed_there,
        };
        removed.remove(&new);
        removed.add(&gone);
        // Words that were replaced before kbsync could see them are not owed.
        let mut excused = gone.without(&ledger.seen).without(&other);
        excused.add(&lost.without(&ledger.seen).without(&self.kb.tokens()));
        ledger.owed.remove(&excused);
        if let Some(ids) = ids {
            let now = self.ids_in_mirror();
            let ledger = &mut self.ledger;
            ledger.withdrawn.retain(|id| !now.contains_key(id));
            for (id, was) in &ids {
                let is = now.get(id).copied().unwrap_or_default();
                if is.files == 0 {
                    ledger.withdrawn.insert(*id);
                }
                if is.digest != was.digest {
                    ledger.touched.insert(*id);
                    // Words that left an article's file were removed on purpose, even if they are elsewhere.
                    ledger.removed.add(&was.tokens.without(&is.tokens));
                }
                if is.files > 1 {
                    ledger.removed.add(&was.tokens);
                    ledger.removed.add(&is.tokens);
                }
            }
            let new = now.keys().filter(|id| !ids.contains_key(id));
            ledger.touched.extend(new.clone());
            ledger.came_back.extend(new.map(|id| (*id, self.now)));
        }
        done
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.kb.requests.total
    }

    /// Records that kbsync saw articles.
    pub(crate) fn saw(&mut self, ids: impl IntoIterator<Item = ArticleId>) {
        let at = (self.now, self.requests());
        for id in ids {
            self.kb.showed(id);
            self.ledger.read.insert(id, at);
        }
    }

    /// Returns whether this cycle asked for as many articles as one cycle may: the rest have their turn in the next
    /// one.
    pub(crate) fn is_rationed(&self) -> bool {
        self.asked.len() >= self.ledger.limit.max(1)
    }

    /// Records that kbsync looked at a folder, or at a name in it.
    pub(crate) fn looked(&mut self, folder: &str, name: &str) {
        let at = (self.now, self.requests());
        let place = (folder.to_owned(), name.to_owned());
        self.ledger.looked.insert(place, at);
    }

    /// Returns the category of a folder: by the id in its `_category.yaml`, or by its name.
    pub(crate) fn category_of(&self, folder: &str) -> Option<CategoryId> {
        let bytes = self.mirror.bytes(folder, "_category.yaml");
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let mut lines = text.iter().flat_map(|text| text.lines());
        let id = lines.find_map(|line| line.strip_prefix("id: ")?.trim().parse().ok());
        id.or_else(|| self.kb.category_at(folder))
    }

    /// Returns the words of files without an id, by their folders and names.
    pub(crate) fn nameless_files(&self, side: Side) -> BTreeMap<(String, String), Tokens> {
        let mut files = BTreeMap::new();
        if side == Side::Mirror {
            self.mirror.each(&mut |folder, name, bytes, _| {
                if is_article(folder, name) && id_of(bytes).is_none() {
                    let place = (folder.to_owned(), name.to_owned());
                    files.insert(place, Tokens::of(bytes));
                }
            });
        }
        files
    }

    /// Records words that a person removed from files without an id, by replacing the files or by moving them away: the
    /// next file there is the article's.
    fn note_taken_out(&mut self, before: BTreeMap<(String, String), Tokens>) {
        for (place, was) in before {
            let bytes = self.mirror.bytes(&place.0, &place.1).unwrap_or_default();
            let out = was.without(&Tokens::of(&bytes));
            if !out.is_empty() {
                self.ledger.taken_out.entry(place).or_default().add(&out);
            }
        }
    }

    /// Records the articles of a listing, some of which may be gone.
    pub(crate) fn listed(&mut self, ids: Vec<ArticleId>) {
        let gone = ids.iter().filter(|id| !self.kb.articles.contains_key(id));
        self.ledger.shown_gone.extend(gone);
        self.ledger.gone_when_seen = self.ledger.removed_there;
        self.ledger.deleted_when_seen = self.ledger.deleted_there.len();
        self.saw(ids);
    }

    /// A stale replica answers, which lacks kbsync's last writes. Only the state knows the superseded versions: once it
    /// is lost, a superseded version of an article that is still as kbsync left it looks like a colleague's revert, and
    /// is pulled until the next cycle brings kbsync's version back. Nor does it know of its own deletions: an article
    /// that the replica still shows is believed, and counts as deleted by a colleague when it is shown no more.
    pub(crate) fn answered_late(&mut self) {
        for gone in self.kb.ghosts() {
            if self.ledger.unremembered.contains(&gone.id) {
                self.ledger.count_as_deleted(&gone.tokens);
            }
        }
        let left = |id: &ArticleId| self.kb.articles.get(id).map(|article| article.revision);
        for (id, (words, revision)) in &self.ledger.unremembered_words {
            if left(id) == Some(*revision) {
                self.ledger.outdated.add(words);
            }
        }
    }

    /// Begins a call across a port.
    pub(crate) fn enter(&mut self, call: Call, what: &str) -> Entered {
        let mut entered = Entered::default();
        if death::came() {
            entered.dead = true;
            return entered;
        }
        death::pass();
        if death::came() {
            entered.dead = true;
            return entered;
        }
        self.now += 10_000;
        self.mirror.set_time(self.now);
        let count = self.calls.entry(call).or_default();
        let number = *count;
        *count = count.saturating_add(1);
        if self.log.is_some() || call.writes() {
            self.note(&format!("{call:?} {what}"));
        } else {
            self.hash = mix(self.hash ^ (call as u64 + 1));
        }
        while let Some(position) = self
            .armed
            .iter()
            .position(|armed| armed.call == call && armed.nth == number)
        {
            let armed = self.armed.remove(position);
            self.note(&format!("  {:?}", armed.what));
            self.happen(armed.what, call, &mut entered);
        }
        let scans = matches!(call, Call::Listing | Call::ReadFile | Call::Look);
        if scans && self.requests() == self.began.1 {
            let gone = self.ledger.removed;
            self.ledger.gone_when_scanned.add(&gone);
        }
        if self.down > 0 && call.is_request() {
            self.down -= 1;
            entered.what = Some(What::LostBefore);
        }
        if self.full && matches!(call, Call::Stage | Call::MakeFolder) {
            entered.what = Some(What::Full);
        }
        if let Some(trouble) = entered.what {
            self.troubled = true;
            let (folder, name) = what.split_once('/').unwrap_or_default();
            let bytes = self.mirror.bytes(folder, name);
            self.struck = Some(Struck {
                call,
                what: what.to_owned(),
                id: bytes.and_then(|bytes| id_of(&bytes)),
            });
            let unanswered = matches!(
                trouble,
                What::LostBefore | What::LostAfter | What::TooMany | What::Unauthorized
            );
            let looking = matches!(call, Call::List | Call::Read | Call::Probe);
            self.ledger.doubt |= (looking && unanswered) || call == Call::Listing;
        }
        entered
    }

    fn happen(&mut self, what: What, call: Call, entered: &mut Entered) {
        match what {
            What::ByWriter { deed } => {
                self.note_meanwhile(deed);
                self.writer(deed);
                self.troubled = true;
            }
            What::ByColleague { deed } => {
                self.colleague(deed);
                self.troubled = true;
            }
            What::Slow { seconds } => {
                entered.slow = seconds;
            }
            What::Down { requests } => {
                self.down = requests;
                self.troubled = true;
            }
            What::Stale => {
                entered.stale = true;
                self.answered_late();
                self.troubled = true;
            }
            What::Skip { entry } => {
                entered.skip = Some(entry);
                self.troubled = true;
            }
            What::Garbled { entry } => {
                entered.garble = Some(entry);
                self.troubled = true;
            }
            What::Full => {
                self.full = true;
                entered.what = (!call.is_request()).then_some(what);
                self.troubled = true;
            }
            What::LostBefore
            | What::LostAfter
            | What::Refused
            | What::Forbidden
            | What::TooMany
            | What::Unauthorized
            | What::Html
            | What::HtmlNotFound => entered.what = call.is_request().then_some(what),
            What::Denied | What::Broken => {
                entered.what = (!call.is_request()).then_some(what);
            }
        }
    }

    /// A category whose id a person wrote into `_category.yaml` is known.
    fn forget_answered_categories(&mut self) {
        let unanswered = std::mem::take(&mut self.ledger.unanswered_categories);
        let mut named = String::new();
        self.mirror.each(&mut |_, name, bytes, _| {
            if !unanswered.is_empty() && name == "_category.yaml" {
                named.push_str(&String::from_utf8_lossy(bytes));
            }
        });
        let rest = unanswered.into_iter();
        let rest = rest.filter(|id| !named.contains(&id.to_string()));
        self.ledger.unanswered_categories = rest.collect();
    }

    /// Begins a new cycle, with new counts of calls.
    pub(crate) fn begin(&mut self) {
        self.calls.clear();
        self.troubled = false;
        self.struck = None;
        self.down = 0;
        self.full = false;
        self.began = (self.now, self.requests());
        self.asked.clear();
        self.begin_births();
        self.forget_answered_categories();
        let unanswered = self.ledger.unanswered_deletes.values_mut();
        unanswered.for_each(|is_earlier| *is_earlier = true);
        let ledger = &mut self.ledger;
        ledger.gone_when_scanned = Tokens::default();
        ledger.looked.clear();
        ledger.fresh = Tokens::default();
        ledger.brought_back = Tokens::default();
        ledger.written = Tokens::default();
        ledger.lately_gone.clear();
        ledger.shown_gone.clear();
        ledger.gone_when_seen = Tokens::default();
        ledger.deleted_when_seen = 0;
        ledger.outdated = Tokens::default();
        ledger.read.clear();
        ledger.unanswered.clear();
        ledger.hidden.begin();
        ledger.doubt = false;
        ledger.effects = 0;
        ledger.deleted = 0;
        ledger.pending = ledger
            .withdrawn
            .iter()
            .filter(|id| self.kb.articles.contains_key(id))
            .copied()
            .collect();
    }

    /// Carries out a write of kbsync's on the service.
    pub(crate) fn write<T>(
        &mut self,
        what: &str,
        article: Option<ArticleId>,
        work: impl FnOnce(&mut Kb) -> T,
    ) -> T {
        let before = self.kb.tokens();
        let done = work(&mut self.kb);
        self.effect(Side::Service, &before, what, article);
        done
    }
}

/// Returns whether a name has this ending, in this case.
pub(crate) fn has_ending(name: &str, ending: &str) -> bool {
    name.ends_with(ending)
}

/// Returns whether articles can have such a name.
pub(crate) fn is_article(folder: &str, name: &str) -> bool {
    !folder.is_empty()
        && has_ending(name, ".html")
        && !name.starts_with(['.', '_'])
        && !has_ending(name, ".conflict.html")
}

/// Returns the id in a file.
pub(crate) fn id_of(bytes: &[u8]) -> Option<ArticleId> {
    let text = std::str::from_utf8(bytes).ok()?;
    let line = text
        .lines()
        .take(12)
        .find_map(|line| line.strip_prefix("id: "))?;
    line.trim().parse().ok()
}

/// Returns whether a file can be an article.
pub(crate) fn is_ready(bytes: &[u8]) -> bool {
    Document::parse(bytes).is_ok()
}

/// The world, for its two ports.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<World>>);

impl Shared {
    /// Shares a world.
    pub(crate) fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    /// Locks the world. There is never a wait, because everything runs on one thread.
    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
