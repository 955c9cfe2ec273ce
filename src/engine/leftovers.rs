//! Files that a crash left under reserved names: cleared up once, before the first scan.
//!
//! Such a file is a version that was to be written, one that was being replaced, or an editor's save that an
//! exchange caught. Whatever the history does not have goes into it before the file goes (failures row 1).

use super::Engine;
use super::apply::{met, needs_whole};
use crate::mirror::disk::{Disk, Leftover};
use crate::mirror::document::Document;
use crate::model::{CategoryId, Place, Side, TextDigest, Timestamp, Version};
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{Intent, Outcome, Seen, Subject};

impl<S: Service, D: Disk> Engine<S, D> {
    /// Clears up after a crash. What cannot be read now is cleared up another time.
    pub(super) fn clear_up(&mut self) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.keep_begun(now)?;
        let (disk, store) = (&*self.disk, &mut self.store);
        let mut broken = None;
        let swept = disk.sweep(&mut |leftover| match keep(store, leftover, CAUSE, now) {
            Ok(kept) => kept,
            Err(error) => {
                broken.get_or_insert(error);
                false
            }
        });
        if let Some(error) = broken {
            return Err(error.into());
        }
        match swept {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "cleared up what an earlier run left behind"),
            Err(error) => tracing::warn!(%error, "cannot clear up what an earlier run left behind"),
        }
        Ok(())
    }

    /// Puts into the history what an earlier run was about to write of articles that no base knows. The file may hold
    /// words that nothing else has any more, and go with the power before it is durable. What a run before kept is not
    /// kept again, as the service may have gone on since.
    fn keep_begun(&mut self, now: Timestamp) -> Outcome<()> {
        let mut begun = Vec::new();
        for (_, intent) in self.store.intents()? {
            if let Intent::WriteFile { id, to, remote, .. } = intent
                && self.store.article(id)?.is_none()
                && !self
                    .store
                    .has_version(&Subject::Article(id), &to, remote.digest())?
            {
                begun.push(met(id, &to, &remote));
            }
        }
        if begun.is_empty() {
            return Ok(());
        }
        self.store.write(now, |tx| {
            begun
                .iter()
                .try_for_each(|seen| tx.record(seen).map(|_| ()))
        })
    }
}

/// Keeps what a leftover says. Gives whether the file may go.
pub(super) fn keep(
    store: &mut Store,
    leftover: &Leftover,
    cause: &str,
    now: Timestamp,
) -> Outcome<bool> {
    if leftover.bytes.is_empty() {
        return Ok(true);
    }
    let Ok(source) = std::str::from_utf8(&leftover.bytes) else {
        return Ok(false);
    };
    if store.has_body(TextDigest::of(source))? {
        return Ok(true);
    }
    let (seen, text) = match Document::parse_with_markers(&leftover.bytes) {
        Ok(document) => (
            seen(store, leftover, &document, cause)?,
            document.text().to_owned(),
        ),
        Err(_not_an_article) => (unread(leftover, source, cause), source.to_owned()),
    };
    let whole = needs_whole(source, &seen.version, &seen.place);
    store.write(now, |tx| {
        tx.put_body(&text)?;
        let file = whole.then(|| tx.put_body(source)).transpose()?;
        tx.record(&Seen { file, ..seen })
    })?;
    Ok(true)
}

fn place_of(leftover: &Leftover) -> Place {
    let folder = leftover.folder.as_deref().unwrap_or_default();
    let name = leftover.name.as_deref().unwrap_or("unnamed.html");
    Place::new(folder, name)
}

fn seen(store: &Store, leftover: &Leftover, document: &Document, cause: &str) -> Outcome<Seen> {
    let row = match document.id() {
        Some(id) => store.article(id)?,
        None => None,
    };
    let place = row
        .as_ref()
        .filter(|_| leftover.name.is_none())
        .map_or_else(|| place_of(leftover), |row| row.place.clone());
    let slug = document.slug().map(str::to_owned);
    Ok(Seen {
        subject: document
            .id()
            .map_or_else(|| Subject::File(place.clone()), Subject::Article),
        side: Side::Local,
        cause: cause.to_owned(),
        version: Version {
            title: document.title().to_owned(),
            slug: slug
                .or_else(|| row.as_ref().map(|row| row.local.slug.clone()))
                .unwrap_or_else(|| place.stem().to_owned()),
            category: row.map_or_else(
                || CategoryId::provisional(&place.folder),
                |row| row.local.category,
            ),
            introtext: document.introtext().to_owned(),
            keywords: document.keywords().to_owned(),
            text: TextDigest::of(document.text()),
        },
        file: None,
        place,
    })
}

/// What is no article is kept as a whole.
fn unread(leftover: &Leftover, source: &str, cause: &str) -> Seen {
    let place = place_of(leftover);
    Seen {
        subject: Subject::File(place.clone()),
        side: Side::Local,
        cause: cause.to_owned(),
        version: Version {
            title: cause.to_owned(),
            slug: place.stem().to_owned(),
            category: CategoryId::provisional(&place.folder),
            introtext: String::new(),
            keywords: String::new(),
            text: TextDigest::of(source),
        },
        file: None,
        place,
    }
}

const CAUSE: &str = "found after a crash";
