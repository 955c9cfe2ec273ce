//! Texts that have words in common which no other article has: a file that names no article may be what was sent as a
//! new one, though it was moved and edited since.

use super::Sight;
use crate::engine::Engine;
use crate::engine::spool::Spool;
use crate::mirror::disk::Disk;
use crate::model::TextDigest;
use crate::model::html::{is_blank, units};
use crate::reconcile::pairing;
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use crate::state::Intent;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// What was sent, and what was found of it.
type Pair = (TextDigest, TextDigest);

impl<S: Service, D: Disk> Engine<S, D> {
    /// Finds what files without an id have of what was sent as new, and whose id may not have come into its file. Hardly
    /// ever is there anything of the kind.
    pub(super) fn akin(&self, base: &Base, sight: &Sight) -> anyhow::Result<BTreeSet<Pair>> {
        let sent = self.sent_as_new(base, sight)?;
        if sent.is_empty() {
            return Ok(BTreeSet::new());
        }
        let ready = sight.local.files.iter().filter(|file| file.id.is_none());
        let found = ready.map(|file| file.version.text).collect();
        akin(&self.store, &sight.spool, base, &sent, &found)
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

fn akin(
    store: &Store,
    spool: &Spool,
    base: &Base,
    sent: &BTreeSet<TextDigest>,
    found: &BTreeSet<TextDigest>,
) -> anyhow::Result<BTreeSet<Pair>> {
    let mut words: BTreeMap<TextDigest, BTreeSet<String>> = BTreeMap::new();
    for digest in sent {
        words.insert(*digest, words_of(store, spool, *digest)?);
    }
    let mut shared: BTreeMap<Pair, BTreeSet<String>> = BTreeMap::new();
    for digest in found {
        let text = words_of(store, spool, *digest)?;
        for (from, sent) in &words {
            let both: BTreeSet<String> = sent.intersection(&text).cloned().collect();
            if !both.is_empty() {
                shared.insert((*from, *digest), both);
            }
        }
    }
    // What another article says as well is a phrase that many have.
    for row in base.articles.values() {
        if shared.is_empty() {
            break;
        }
        let digest = row.local.text;
        let mut text = None;
        let mut others: Vec<Pair> = shared.keys().copied().collect();
        others.retain(|(from, found)| *from != digest && *found != digest);
        for pair in others {
            let text = match &mut text {
                Some(text) => &*text,
                None => text.insert(words_of(store, spool, digest)?),
            };
            let left = shared.get_mut(&pair).map(|both| {
                both.retain(|unit| !text.contains(unit));
                both.len()
            });
            if left == Some(0) {
                shared.remove(&pair);
            }
        }
    }
    Ok(shared.into_keys().collect())
}

/// The lines and blocks of a text; none of one that is not kept any more.
pub(super) fn words_of(
    store: &Store,
    spool: &Spool,
    digest: TextDigest,
) -> anyhow::Result<BTreeSet<String>> {
    let text = spool.text(store, digest)?.unwrap_or_default();
    let units = units(&text).into_iter().filter(|unit| !is_blank(unit));
    Ok(units.map(str::to_owned).collect())
}
