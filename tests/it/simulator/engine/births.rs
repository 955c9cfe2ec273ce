//! Whether an article is created twice (I8).

use super::token::Tokens;
use super::world::{Side, World, id_of, is_article};
use kbsync::model::ArticleId;
use std::collections::BTreeMap;

impl World {
    /// The state is lost: of an article whose id is in no file, and whose words a file without an id has, only its address
    /// tells, and its words where they are all the same.
    pub(crate) fn forget_births(&mut self) {
        let named = self.ids_in_mirror();
        let nameless = self.nameless_files(Side::Mirror);
        let mut words = Tokens::default();
        for file in nameless.values() {
            words.add(file);
        }
        let articles = self.kb.articles.values();
        let lost = articles.filter(|article| {
            !named.contains_key(&article.id) && !article.tokens.and(&words).is_empty()
        });
        self.ledger
            .unnamed_births
            .extend(lost.map(|article| article.id));
    }

    /// kbsync has finished, or died: the new articles whose id is in a file by now are known by it.
    pub(crate) fn note_named(&mut self) {
        if !self.ledger.unnamed_births.is_empty() {
            let named = self.ids_in_mirror();
            let births = &mut self.ledger.unnamed_births;
            births.retain(|id| !named.contains_key(id));
        }
    }

    /// What an article says whose id came into no file may be created anew: its file has another place or other words by
    /// now, or a colleague gave the article another address.
    fn excuse_unnamed(&mut self, pairs: &[(ArticleId, ArticleId, Tokens)]) {
        let births = &self.ledger.unnamed_births;
        for (id, other, both) in pairs {
            if births.contains(id) || births.contains(other) {
                self.ledger.copied.add(both);
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
        self.excuse_unnamed(&pairs);
        let copied = self.ledger.copied;
        let files = self.words_of_files();
        for (id, other, both) in pairs {
            let both = both.without(&copied);
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
