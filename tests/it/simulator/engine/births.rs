//! The check that no article is created twice (I8).
//!
//! Two articles may have the same words if a person copied the text. So may an article whose id was in no file when a
//! later cycle began: if nothing showed that the new file belonged to it, or if a report said that it waits for its
//! file. Within one cycle only the same POST creates a second article, once a colleague has moved the first.

use super::token::Tokens;
use super::world::{Side, World, id_of, is_article};
use kbsync::mirror::document::Document;
use kbsync::model::{ArticleId, Place};
use kbsync::service::NewArticle;
use std::collections::{BTreeMap, BTreeSet};

/// The articles that kbsync created, and its knowledge of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Births {
    /// The request that created each article.
    pub(crate) sent: BTreeMap<ArticleId, NewArticle>,
    /// The articles that the state knew when the present cycle began, with the places of their files.
    pub(crate) known: BTreeMap<ArticleId, Place>,
    /// The created articles whose ids were in no file when the present cycle began.
    unnamed: BTreeSet<ArticleId>,
    /// The articles that got another file, pulled from the service, while the file that was sent is still without an
    /// id: the writer had moved and edited it.
    left_behind: BTreeSet<ArticleId>,
    /// The articles that got another file, pulled from the service, while the file that was sent is still without an
    /// id: a colleague had moved the article before kbsync had the answer to the POST.
    moved_unanswered: BTreeSet<ArticleId>,
    /// Articles that were created in the present cycle.
    now: BTreeSet<ArticleId>,
    /// Articles in any report.
    told: BTreeSet<ArticleId>,
    /// Articles whose POST was in flight when a process died, with a lost response.
    pub(crate) died_over: BTreeSet<ArticleId>,
    /// Pairs of articles that may have the same words: nothing showed that the second file belonged to the first
    /// article, or the report said that one of the two waits for its file.
    twins: BTreeSet<(ArticleId, ArticleId)>,
}

impl Births {
    fn are_twins(&self, one: ArticleId, other: ArticleId) -> bool {
        self.twins.contains(&(one, other)) || self.twins.contains(&(other, one))
    }
}

impl World {
    /// kbsync creates an article. Its file may belong to an article that kbsync created before, and whose id is in no
    /// file: the writer moved and edited that file, or a colleague gave that article another slug, or a new state knows
    /// nothing of it.
    pub(crate) fn note_birth(&mut self, id: ArticleId, new: &NewArticle) {
        let births = &self.ledger.births;
        let address = |sent: &NewArticle| (sent.category, sent.slug.clone());
        let is_lost = |(other, sent): &(&ArticleId, &NewArticle)| {
            let again = births.now.contains(other) && address(sent) == address(new);
            let is_edited = (&sent.title, &sent.text) != (&new.title, &new.text);
            let is_left_behind = births.left_behind.contains(*other) && is_edited;
            // Only an equal text shows that the file is the moved article's: the service may have rewritten the text.
            let there = self.kb.articles.get(other);
            let is_other_text =
                there.is_some_and(|there| (&there.title, &there.text) != (&new.title, &new.text));
            let is_moved = births.moved_unanswered.contains(*other) && is_other_text;
            let is_unclear = births.unnamed.contains(*other) && !self.tells(**other, sent, new);
            again || is_left_behind || is_moved || is_unclear
        };
        let lost = births.sent.iter().filter(is_lost);
        let twins: Vec<_> = lost.map(|(other, _)| (*other, id)).collect();
        let births = &mut self.ledger.births;
        births.twins.extend(twins);
        births.sent.insert(id, new.clone());
        births.now.insert(id);
    }

    /// Begins a new cycle.
    pub(crate) fn begin_births(&mut self) {
        self.ledger.births.now.clear();
        if !self.ledger.births.sent.is_empty() {
            let named = self.ids_in_mirror();
            let nameless = self.nameless_files(Side::Mirror);
            // Whether a file without an id has the words that were sent, at their own place or elsewhere.
            let has_file = |id: &ArticleId, elsewhere: bool| {
                let sent = self.ledger.births.sent.get(id);
                sent.is_some_and(|sent| {
                    let own = format!("{}.html", sent.slug);
                    nameless.iter().any(|((folder, name), words)| {
                        let is_elsewhere =
                            *name != own || self.category_of(folder) != Some(sent.category);
                        is_elsewhere == elsewhere
                            && !Tokens::of(sent.text.as_bytes()).and(words).is_empty()
                    })
                })
            };
            let is_moved = |id: &ArticleId| {
                let sent = self.ledger.births.sent.get(id);
                let both = sent.zip(self.kb.articles.get(id));
                both.is_some_and(|(sent, there)| {
                    (sent.category, &sent.slug) != (there.category, &there.slug)
                })
            };
            let unnamed = self.ledger.births.unnamed.iter();
            let pulled: Vec<ArticleId> =
                (unnamed.filter(|id| named.contains_key(id)).copied()).collect();
            let left = pulled.iter().filter(|id| has_file(id, true)).copied();
            let moved = (pulled.iter()).filter(|id| is_moved(id) && has_file(id, false));
            let (left, moved) = (left.collect::<Vec<_>>(), moved.copied().collect::<Vec<_>>());
            let births = &mut self.ledger.births;
            births.left_behind.extend(left);
            births.moved_unanswered.extend(moved);
            let sent = births.sent.keys().copied();
            births.unnamed = sent.filter(|id| !named.contains_key(id)).collect();
        }
    }

    /// Returns whether title and text identify a new file as an article's file: the state has the article, or the
    /// listing of this cycle showed it, and no other file at its place is without an id, or was without one when the
    /// cycle began: such a file is the article's, and gets its id.
    fn tells(&self, id: ArticleId, sent: &NewArticle, new: &NewArticle) -> bool {
        let Some(article) = self.kb.articles.get(&id) else {
            return false;
        };
        let words = (&new.title, &new.text);
        let home = self.ledger.births.known.get(&id);
        let is_same = match home {
            Some(_) => (&sent.title, &sent.text) == words,
            None => self.ledger.read.contains_key(&id) && (&article.title, &article.text) == words,
        };
        let at_address = format!("{}.html", article.slug);
        let mut is_claimed = false;
        self.mirror.each(&mut |folder, name, bytes, _| {
            let is_home = home.is_some_and(|home| {
                let beside = self.category_of(folder) == Some(article.category);
                name == home.file && (folder == home.folder || beside)
            });
            let is_there = name == at_address && self.category_of(folder) == Some(article.category);
            let is_free = is_article(folder, name) && id_of(bytes).is_none_or(|named| named == id);
            is_claimed |= is_free && (is_home || is_there) && Document::parse(bytes).is_ok();
        });
        is_same && !is_claimed
    }

    /// Finds twins (I8). Words that an article has and its file no longer has are about to be removed: by a PUT, in the
    /// next cycle, or after a person's decision. I3 and I12 check that they are removed. `told` has the articles of the
    /// report.
    pub(crate) fn judge_births(&mut self, told: &BTreeSet<ArticleId>) {
        let copied = self.ledger.copied;
        let ours: Vec<(ArticleId, Tokens)> = self
            .kb
            .articles
            .values()
            .map(|article| {
                let tokens = Tokens::of(article.text.as_bytes()).without(&copied);
                (article.id, tokens)
            })
            .collect();
        let pairs = ours.iter().enumerate().flat_map(|(index, (id, tokens))| {
            let others = ours.iter().skip(index + 1);
            others.map(move |(other, more)| (*id, *other, tokens.and(more)))
        });
        let pairs: Vec<_> = pairs.filter(|pair| !pair.2.is_empty()).collect();
        let births = &mut self.ledger.births;
        births.told.extend(told);
        for (one, other, _) in &pairs {
            // A person is told once about an article that the state does not know.
            let is_told = |id: &ArticleId| {
                let before = births.told.contains(id) && !births.known.contains_key(id);
                told.contains(id) || before
            };
            let waits = |id: &&ArticleId| births.unnamed.contains(*id) && is_told(id);
            if [one, other].iter().any(waits) {
                births.twins.insert((*one, *other));
            }
        }
        let pairs = pairs.into_iter();
        let pairs: Vec<_> = pairs
            .filter(|(one, other, _)| !births.are_twins(*one, *other))
            .collect();
        let mut parting = std::mem::take(&mut self.ledger.parting);
        if pairs.is_empty() {
            return;
        }
        let files = self.words_of_files();
        for (id, other, both) in pairs {
            let own: Vec<_> = [id, other].iter().filter_map(|id| files.get(id)).collect();
            let stays = own.iter().fold(both, |both, file| both.and(file));
            if own.len() == 2 {
                // If the files are removed before that, nothing sends the removal any more.
                let going = both.without(&stays);
                self.ledger.parting.insert((id, other), going);
            } else if let Some(going) = parting.remove(&(id, other)) {
                self.ledger.parting.insert((id, other), going);
            }
            let going = self.ledger.parting.get(&(id, other));
            let stays = going.map_or(stays, |going| stays.without(going));
            if !stays.is_empty() {
                let words = stays.all();
                let message =
                    format!("articles {id} and {other} both say {words:?}, and nobody copied it");
                self.violated("I8", message);
                return;
            }
        }
    }

    /// Returns the words in the files of articles, ready or not. A file without an id belongs to the article at its
    /// address.
    pub(crate) fn words_of_files(&self) -> BTreeMap<ArticleId, Tokens> {
        let at_address = |folder: &str, name: &str| {
            let category = self.category_of(folder)?;
            let stem = name.strip_suffix(".html")?;
            let mut all = self.kb.articles.values();
            all.find(|article| article.category == category && article.slug == stem)
                .map(|article| article.id)
        };
        let mut files: BTreeMap<ArticleId, Tokens> = BTreeMap::new();
        self.mirror.each(&mut |folder, name, bytes, _| {
            let id = id_of(bytes).or_else(|| at_address(folder, name));
            if let Some(id) = id.filter(|_| is_article(folder, name)) {
                files.entry(id).or_default().add(&Tokens::of(bytes));
            }
        });
        files
    }
}
