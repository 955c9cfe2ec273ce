//! Whether an article is created twice (I8).

use super::token::Tokens;
use super::world::{World, id_of, is_article};
use kbsync::model::ArticleId;
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// An article is created, perhaps a second time. One whose answer was lost is found again by its address, or
    /// in a listing: one that a colleague gave another address, and that is hidden, cannot be found at all, since
    /// only its slug could tell. Nor can one that was given another address
    /// after the last request before this one: the POST is repeated by then. Nor one whose file was given another, once
    /// the state that knew of the POST is lost.
    pub(crate) fn judge_birth(&mut self, id: ArticleId) {
        let Some(born) = self.kb.articles.get(&id) else {
            return;
        };
        let mut twice = Tokens::default();
        for (other, (category, slug)) in &self.ledger.unrecorded_births {
            let article = self.kb.articles.get(other).filter(|_| *other != id);
            let lost = article.filter(|article| {
                let moved = (article.category, &article.slug) != (*category, slug);
                let edited = self.ledger.edited.get(other);
                let before = self.sent.iter().rev().nth(1);
                let just_now = before.is_some_and(|before| edited > Some(before));
                moved && (just_now || !self.kb.is_readable(article))
            });
            if let Some(article) = lost {
                twice.add(&born.tokens.and(&article.tokens));
            }
        }
        for (other, (category, slug)) in &self.ledger.forgotten_births {
            let article = self.kb.articles.get(other).filter(|_| *other != id);
            let elsewhere = (born.category, &born.slug) != (*category, slug);
            if let Some(article) = article.filter(|_| elsewhere) {
                twice.add(&born.tokens.and(&article.tokens));
            }
        }
        self.ledger.copied.add(&twice);
    }

    /// The state is lost. Of a hidden article whose id is in no file, and whose words a file without an id has, nothing
    /// else told: the API shows it to nobody, and only its slug could tell, if neither its file nor a colleague gave it
    /// another. Nor does anything else tell of one that is shown, once its
    /// file is given another address.
    pub(crate) fn forget_hidden(&mut self) {
        let mut named = BTreeSet::new();
        let mut nameless = Tokens::default();
        self.mirror.each(&mut |folder, name, bytes, _| {
            if !is_article(folder, name) {
                return;
            }
            match id_of(bytes) {
                Some(id) => drop(named.insert(id)),
                None => nameless.add(&Tokens::of(bytes)),
            }
        });
        let articles = self.kb.articles.values();
        for article in articles.filter(|article| !named.contains(&article.id)) {
            let words = article.tokens.and(&nameless);
            if !article.is_published() {
                self.ledger.copied.add(&words);
            } else if !words.is_empty() {
                let address = (article.category, article.slug.clone());
                self.ledger.forgotten_births.insert(article.id, address);
            }
        }
    }

    /// Who created twins (I8)? What an article says, and its file does not any more, is about to go: a PUT sends it, or
    /// it waits for the next cycle, or for a person. That it does go is I3's and I12's.
    pub(crate) fn judge_births(&mut self) {
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
        let mut parting = std::mem::take(&mut self.ledger.parting);
        if pairs.is_empty() {
            return;
        }
        let files = self.words_of_files();
        for (id, other, both) in pairs {
            let own: Vec<_> = [id, other].iter().filter_map(|id| files.get(id)).collect();
            let stays = own.iter().fold(both, |both, file| both.and(file));
            if own.len() == 2 {
                // Should the files go before it does, nothing sends it any more.
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

    /// The words in the files of articles, ready or not. One without an id is its article's by its address.
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
