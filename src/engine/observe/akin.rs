//! Texts that have words in common which no other article has: a file that names no article may be what was sent as a
//! new one, though it was moved and edited since.

use super::Sight;
use crate::engine::Engine;
use crate::engine::spool::Spool;
use crate::mirror::disk::Disk;
use crate::model::TextDigest;
use crate::model::base::ArticleRow;
use crate::model::html::units;
use crate::reconcile::pairing;
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use crate::state::Intent;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// What was sent, and what was found of it.
type Pair = (TextDigest, TextDigest);

impl<S: Service, D: Disk> Engine<S, D> {
    /// Finds what files without an id have of what was sent as new, and whose id may not have come into its file; and
    /// which of the texts that were sent tell by themselves whose they are. Hardly ever is there anything of the kind.
    pub(super) fn akin(
        &self,
        base: &Base,
        sight: &Sight,
    ) -> anyhow::Result<(BTreeSet<Pair>, BTreeSet<TextDigest>)> {
        let sent = self.sent_as_new(base, sight)?;
        if sent.is_empty() {
            return Ok(Default::default());
        }
        let nameless = sight.local.files.iter().filter(|file| file.id.is_none());
        let nameless: Vec<TextDigest> = nameless.map(|file| file.version.text).collect();
        let mut akin = akin(&self.store, &sight.spool, base, &sent, &nameless)?;
        akin.append(&mut self.akin_to_copies(base, sight, &sent)?);
        // What says little, as the text that `kbsync new` writes, or what two files without an id say, is nobody's.
        let mut telling = BTreeSet::new();
        for digest in sent {
            let alone = nameless.iter().filter(|text| **text == digest).count() < 2;
            let text = sight.spool.text(&self.store, digest)?;
            if alone && text.is_some_and(|text| says(&text) >= TELLING_TEXT) {
                telling.insert(digest);
            }
        }
        Ok((akin, telling))
    }

    /// The same for files that name an article: one that has nothing left of what that one alone says may be a copy of
    /// it, which was created and has its id still.
    fn akin_to_copies(
        &self,
        base: &Base,
        sight: &Sight,
        sent: &BTreeSet<TextDigest>,
    ) -> anyhow::Result<BTreeSet<Pair>> {
        let edited = sight.local.files.iter().filter_map(|file| {
            let row = base.articles.get(&file.id?)?;
            let (own, text) = (row.local.text, file.version.text);
            (own != text).then_some((text, own))
        });
        let own: BTreeMap<TextDigest, TextDigest> = edited.collect();
        let texts: Vec<TextDigest> = own.keys().copied().collect();
        let mut copies = BTreeSet::new();
        for (from, text) in akin(&self.store, &sight.spool, base, sent, &texts)? {
            let words = |digest| words_of(&self.store, &sight.spool, digest);
            let mut kept = match own.get(&text) {
                Some(own) => words(*own)?,
                None => BTreeSet::new(),
            };
            let (sent, found) = (words(from)?, words(text)?);
            kept.retain(|unit| found.contains(unit) && !sent.contains(unit));
            if kept.is_empty() {
                copies.insert((from, text));
            }
        }
        Ok(copies)
    }

    /// Returns whether something was sent as new whose answer, or whose id in its file, may be missing, or a file was about
    /// to be written for an article that the base does not know: before the mirror and the service are looked at.
    pub(super) fn misses_new(&self, base: &Base) -> anyhow::Result<bool> {
        let is_new = |intent: &Intent| match intent {
            Intent::CreateArticle { .. } => true,
            Intent::WriteFile { id, .. } => !base.articles.contains_key(id),
            Intent::UpdateArticle { .. }
            | Intent::DeleteArticle { .. }
            | Intent::RemoveFile { .. }
            | Intent::ClearCopy { .. }
            | Intent::CreateCategory { .. }
            | Intent::UpdateCategory { .. }
            | Intent::WriteCategory { .. } => false,
        };
        let mut intents = self.store.intents()?.into_iter();
        let begun = intents.any(|(_, intent)| is_new(&intent));
        Ok(begun || base.articles.values().any(pairing::is_unread))
    }

    /// Texts that were sent without an answer, and those of articles whose id may not have come into their file.
    fn sent_as_new(&self, base: &Base, sight: &Sight) -> anyhow::Result<BTreeSet<TextDigest>> {
        let mut sent = BTreeSet::new();
        for (_, intent) in self.store.intents()? {
            if let Intent::CreateArticle { version, .. } = intent {
                sent.insert(version.text);
            }
        }
        let rows = base.articles.values().filter(|row| pairing::is_unread(row));
        for row in rows {
            if sight.local.files.iter().all(|file| file.id != Some(row.id)) {
                sent.insert(row.local.text);
            }
        }
        Ok(sent)
    }
}

/// So many letters and digits a line or block needs to tell whose it is.
const TELLING: usize = 8;
/// So many a whole text needs.
const TELLING_TEXT: usize = 20;

/// How many letters and digits there are outside of tags.
fn says(text: &str) -> usize {
    let mut in_tag = false;
    let words = text.chars().filter(|c| {
        match c {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ => return !in_tag && c.is_alphanumeric(),
        }
        false
    });
    words.count()
}

fn akin(
    store: &Store,
    spool: &Spool,
    base: &Base,
    sent: &BTreeSet<TextDigest>,
    found: &[TextDigest],
) -> anyhow::Result<BTreeSet<Pair>> {
    let mut words: BTreeMap<TextDigest, BTreeSet<String>> = BTreeMap::new();
    for digest in sent {
        words.insert(*digest, words_of(store, spool, *digest)?);
    }
    let mut shared: BTreeMap<Pair, BTreeSet<String>> = BTreeMap::new();
    let mut texts = Vec::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for digest in found {
        let text = words_of(store, spool, *digest)?;
        for unit in &text {
            *times.entry(unit.clone()).or_default() += 1;
        }
        texts.push((digest, text));
    }
    for (digest, text) in &texts {
        for (from, sent) in &words {
            // What two new files say tells them apart from nobody.
            let both = sent.intersection(text).filter(|unit| times[*unit] < 2);
            let both: BTreeSet<String> = both.cloned().collect();
            if !both.is_empty() {
                shared.insert((*from, **digest), both);
            }
        }
    }
    let own = |(from, found): &Pair, row: &ArticleRow| [from, found].contains(&&row.local.text);
    let words = |digest| words_of(store, spool, digest);
    leave_out_phrases(base, &mut shared, &own, &words)?;
    Ok(shared.into_keys().collect())
}

/// Leaves out what another article says as well: that is a phrase that many have. What is left without anything goes.
/// `own`: whether a row is what something was found in, and no other; `words`: what a text says.
pub(super) fn leave_out_phrases<K: Ord>(
    base: &Base,
    shared: &mut BTreeMap<K, BTreeSet<String>>,
    own: &dyn Fn(&K, &ArticleRow) -> bool,
    words: &dyn Fn(TextDigest) -> anyhow::Result<BTreeSet<String>>,
) -> anyhow::Result<()> {
    shared.retain(|_, both| !both.is_empty());
    for row in base.articles.values() {
        if shared.is_empty() {
            break;
        }
        if shared.keys().all(|key| own(key, row)) {
            continue;
        }
        let said = words(row.local.text)?;
        shared.retain(|key, both| {
            if !own(key, row) {
                both.retain(|unit| !said.contains(unit));
            }
            !both.is_empty()
        });
    }
    Ok(())
}

/// The lines and blocks of a text that say something; none of one that is not kept any more.
pub(super) fn words_of(
    store: &Store,
    spool: &Spool,
    digest: TextDigest,
) -> anyhow::Result<BTreeSet<String>> {
    let text = spool.text(store, digest)?.unwrap_or_default();
    let units = units(&text)
        .into_iter()
        .filter(|unit| says(unit) >= TELLING);
    Ok(units.map(str::to_owned).collect())
}
