//! The record of what people wrote and meant, and the check that each request that changed the service follows from the
//! record.
//!
//! Every text has a token of its own. A token knows the tokens that it replaced, so that a returning older text is
//! distinguished from a newer text. An older text may come back only where a person took it back on purpose. The judge
//! knows neither git nor files.

use kbsync::sandbox::{RequestRecord, Sandbox};
use std::collections::{BTreeMap, BTreeSet};

/// The slug that stands for the category: its file and its description.
pub(super) const CATEGORY: &str = "_category";

/// The number of a text that somebody wrote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Token(u32);

impl Token {
    /// Returns the body of an article, or the description of the category, with this text.
    pub(super) fn body(self) -> String {
        format!("<p>T{:06}</p>", self.0)
    }

    /// Returns the tokens in a text, each once.
    pub(super) fn all_in(text: &str) -> BTreeSet<Self> {
        let found = text.match_indices("<p>T");
        found
            .filter_map(|(at, _)| text.get(at + 4..at + 10)?.parse().ok().map(Self))
            .collect()
    }

    fn in_request(text: &str) -> Option<Self> {
        let body: serde_json::Value = serde_json::from_str(text).ok()?;
        let texts = [body["text"].as_str(), body["description"].as_str()];
        Self::all_in(texts.into_iter().flatten().next()?)
            .into_iter()
            .next()
    }
}

/// The record of what people did.
#[derive(Default)]
pub(super) struct Judge {
    /// The tokens that each token replaced.
    replaced: BTreeMap<Token, BTreeSet<Token>>,
    /// The texts that came back on purpose.
    back: BTreeSet<(String, Token)>,
    /// The articles that somebody removed, with the text that the person had seen before.
    removed: BTreeMap<String, BTreeSet<Token>>,
    /// The removed articles that were live at that time: nobody creates them anew.
    removed_live: BTreeSet<String>,
    /// The live texts, by slug.
    live: BTreeMap<String, Token>,
    /// The articles' slugs, by id.
    slugs: BTreeMap<String, String>,
    /// The texts that were live at some time.
    was_live: BTreeSet<Token>,
    /// The texts that a person threw away.
    dropped: BTreeSet<Token>,
    /// The texts that were deleted in the dashboard, which perhaps no writer saw.
    gone: BTreeSet<Token>,
}

impl Judge {
    /// Makes a token that replaces others.
    pub(super) fn write(&mut self, replaced: BTreeSet<Token>) -> Token {
        let token = Token(u32::try_from(self.replaced.len()).expect("few"));
        self.replaced.insert(token, replaced);
        token
    }

    /// A person took an older text back.
    pub(super) fn take_back(&mut self, slug: &str, token: Token) {
        self.back.insert((slug.to_owned(), token));
    }

    /// A person threw away texts from a file of theirs.
    pub(super) fn drop_words(&mut self, tokens: impl IntoIterator<Item = Token>) {
        self.dropped.extend(tokens);
    }

    /// An article was deleted in the dashboard.
    pub(super) fn delete(&mut self, slug: &str, text: &str) {
        let tokens = Token::all_in(text);
        self.remove(slug, tokens.iter().copied());
        self.gone.extend(tokens);
    }

    /// A person removed an article after seeing these texts of it.
    pub(super) fn remove(&mut self, slug: &str, had: impl IntoIterator<Item = Token>) {
        self.removed.entry(slug.to_owned()).or_default().extend(had);
        if self.live.contains_key(slug) {
            self.removed_live.insert(slug.to_owned());
        }
    }

    /// A step in the dashboard: the texts that are live now are meant.
    pub(super) fn look(&mut self, sandbox: &Sandbox) {
        self.live.clear();
        for article in sandbox.articles() {
            self.slugs
                .insert(article.id.to_string(), article.slug.clone());
            let token = Token::all_in(&article.text).into_iter().next();
            let token = token.expect("a token");
            self.was_live.insert(token);
            self.live.insert(article.slug, token);
        }
        for category in sandbox.categories() {
            self.slugs
                .insert(category.id.to_string(), CATEGORY.to_owned());
            let description = category.description.unwrap_or_default();
            for token in Token::all_in(&description) {
                self.was_live.insert(token);
                self.live.insert(CATEGORY.to_owned(), token);
            }
        }
    }

    /// Checks the requests since the last check.
    pub(super) fn judge(&mut self, sandbox: &Sandbox) {
        for article in sandbox.articles() {
            self.slugs.insert(article.id.to_string(), article.slug);
        }
        for request in sandbox.requests() {
            self.request(&request);
        }
        sandbox.clear_requests();
        self.look(sandbox);
    }

    fn request(&mut self, request: &RequestRecord) {
        let last = request.path.rsplit('/').next().unwrap_or_default();
        let done = (200..300).contains(&request.status);
        match request.method.as_str() {
            "DELETE" if done => {
                // An article that was created and deleted since the last check was its writer's alone.
                let Some(slug) = self.slugs.get(last).cloned() else {
                    return;
                };
                let removed = self.removed.get(&slug).into_iter().flatten();
                let mut seen = removed.map(|had| (*had, self.before(*had)));
                if let Some(live) = self.live.get(&slug) {
                    assert!(
                        seen.any(|(had, before)| had == *live || before.contains(live)),
                        "{slug} was deleted with {live:?}, and nobody removed that: {:?}",
                        self.removed.get(&slug)
                    );
                } else {
                    assert!(
                        seen.next().is_some(),
                        "{slug} was deleted, and nobody removed it"
                    );
                }
                self.live.remove(&slug);
            }
            "PUT" if done => {
                let Some(token) = Token::in_request(&request.body) else {
                    return;
                };
                if let Some(slug) = self.slugs.get(last).cloned() {
                    self.send(&slug, token);
                }
            }
            "POST" if done => {
                let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
                let (Some(slug), Some(token)) =
                    (body["slug"].as_str(), Token::in_request(&request.body))
                else {
                    return;
                };
                assert!(
                    !self.live.contains_key(slug),
                    "{slug} was made a second time"
                );
                assert!(
                    !self.removed_live.contains(slug)
                        || self.back.contains(&(slug.to_owned(), token)),
                    "{slug} was made anew after somebody had removed it"
                );
                self.send(slug, token);
            }
            _ => {}
        }
    }

    /// A text goes live in the place of another text.
    fn send(&mut self, slug: &str, token: Token) {
        self.was_live.insert(token);
        if let Some(live) = self.live.insert(slug.to_owned(), token) {
            let meant = self.back.contains(&(slug.to_owned(), token));
            assert!(
                live == token || meant || !self.before(live).contains(&token),
                "{slug} went back from {live:?} to {token:?}, and nobody meant that"
            );
        }
    }

    /// Returns all tokens that were replaced on the way to a token.
    fn before(&self, token: Token) -> BTreeSet<Token> {
        let (mut found, mut next) = (BTreeSet::new(), vec![token]);
        while let Some(token) = next.pop() {
            for replaced in &self.replaced[&token] {
                if found.insert(*replaced) {
                    next.push(*replaced);
                }
            }
        }
        found
    }

    /// Returns the live texts.
    pub(super) fn live(&self) -> &BTreeMap<String, Token> {
        &self.live
    }

    /// Returns the texts that nobody replaced, except texts that were thrown away before anybody else could see them.
    /// Each of these texts has to be somewhere.
    pub(super) fn last_words(&self) -> BTreeSet<Token> {
        let replaced: BTreeSet<Token> = self.replaced.values().flatten().copied().collect();
        let all: BTreeSet<Token> = self.replaced.keys().copied().collect();
        let own = self.dropped.difference(&self.was_live).copied().collect();
        let last: BTreeSet<Token> = all.difference(&replaced).copied().collect();
        let last: BTreeSet<Token> = last.difference(&own).copied().collect();
        last.difference(&self.gone).copied().collect()
    }
}
