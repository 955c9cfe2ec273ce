//! Parses the entries of a listing one by one, and passes them to a sink. Pure, except for the sink.
//!
//! An unreadable entry is passed on as unknown, and the other entries are kept (failures rows 39 and 128). A fault
//! that makes the whole answer invalid is stored.

use super::{
    Listed, RemoteCategory, answer,
    fingerprint::KnownEntries,
    splitter_types::{Entry, Sink},
    wire::{Shown, WireArticle, peek_id},
};
use crate::model::{ArticleId, CategoryId};
use std::collections::HashSet;

/// The largest number of entries without an id in one listing: each of them is remembered with its reason.
const MAX_WITHOUT_ID: usize = 1000;

/// The state of a listing that is being parsed.
pub(super) struct EntryReader<'a> {
    sink: &'a mut (dyn FnMut(Listed) + Send),
    known: Option<&'a KnownEntries>,
    /// The category whose listing was requested.
    pub(super) owner: Option<CategoryId>,
    seen: HashSet<ArticleId>,
    /// The entries so far.
    pub(super) progress: Progress,
    /// Why the whole answer is invalid.
    pub(super) fault: Option<String>,
}

/// The entries of a listing that were parsed.
#[derive(Default)]
pub(super) struct Progress {
    /// The index of the next known entry.
    due: usize,
    /// The number of entries.
    pub(super) entries: u64,
    /// The number of readable articles among the entries.
    pub(super) readable: u64,
    /// The number of entries without an id.
    without_id: usize,
    /// Why the last unreadable entry is unreadable.
    pub(super) last_why: Option<String>,
}

impl<'a> EntryReader<'a> {
    /// Makes a reader.
    pub(super) fn new(sink: &'a mut (dyn FnMut(Listed) + Send)) -> Self {
        Self {
            sink,
            known: None,
            owner: None,
            seen: HashSet::new(),
            progress: Progress::default(),
            fault: None,
        }
    }

    /// Takes the known entries, which need not be parsed; all other entries get fingerprints.
    pub(super) fn with(mut self, known: Option<&'a KnownEntries>) -> Self {
        self.known = known;
        self
    }

    /// Voids the entries so far, because their request is repeated.
    pub(super) fn restart(&mut self) {
        if self.progress.entries > 0 {
            self.seen.clear();
            self.progress = Progress::default();
            (self.sink)(Listed::Restart);
        }
    }

    /// Passes an entry to the sink.
    fn deliver(&mut self, listed: Listed) {
        self.progress.entries += 1;
        let id = match &listed {
            Listed::Article(article) => {
                self.progress.readable += 1;
                Some(article.id)
            }
            Listed::Known(id) => {
                self.progress.readable += 1;
                Some(*id)
            }
            Listed::Category(_) | Listed::Restart => None,
            Listed::Unreadable { id, why } => {
                self.progress.last_why = Some(why.clone());
                *id
            }
        };
        if let Some(id) = id.filter(|&id| !self.seen.insert(id)) {
            self.fault = Some(format!("two entries with the id {id}"));
            return;
        }
        self.progress.without_id += usize::from(id.is_none());
        if self.progress.without_id > MAX_WITHOUT_ID {
            self.fault = Some(format!("more than {MAX_WITHOUT_ID} entries without an id"));
            return;
        }
        (self.sink)(listed);
    }

    /// Parses one entry, unless it is known.
    fn read(&mut self, entry: &Entry<'_>) -> Listed {
        // An entry over the limit is incomplete.
        let Some(known) = self.known.filter(|_| entry.over.is_none()) else {
            return decode(entry, self.owner);
        };
        let fingerprint = known.fingerprint(entry.bytes, around(self.owner.as_ref(), entry.owner));
        if let Some((at, id)) = known.find(fingerprint) {
            self.progress.due = at + 1;
            return Listed::Known(id);
        }
        let mut listed = decode(entry, self.owner);
        if let Listed::Article(article) = &mut listed {
            article.fingerprint = Some(fingerprint);
        }
        listed
    }

    /// Passes a category to the sink.
    pub(super) fn category(&mut self, category: RemoteCategory) {
        (self.sink)(Listed::Category(Box::new(category)));
    }

    /// Fails if there were entries and none was an article: the shape is unknown.
    pub(super) fn check(&self) -> Result<(), String> {
        match &self.progress.last_why {
            Some(why) if self.progress.readable == 0 => {
                Err(format!("no entry of the listing is an article: {why}"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Sink for EntryReader<'_> {
    fn take(&mut self, entry: &Entry<'_>) {
        if self.fault.is_none() {
            let listed = self.read(entry);
            self.deliver(listed);
        }
    }

    fn take_known(&mut self, bytes: &[u8], owner: Option<&[u8]>) -> Option<usize> {
        let known = self.known.filter(|_| self.fault.is_none())?;
        let (length, id) =
            known.begins(self.progress.due, bytes, around(self.owner.as_ref(), owner))?;
        self.progress.due += 1;
        self.deliver(Listed::Known(id));
        Some(length)
    }
}

/// Returns the category around an entry, for the fingerprint: the requested category, if one was requested.
fn around<'a>(asked_for: Option<&'a CategoryId>, around: Option<&'a [u8]>) -> &'a [u8] {
    match asked_for {
        Some(owner) => owner.as_bytes(),
        None => around.unwrap_or_default(),
    }
}

/// Parses one entry.
fn decode(entry: &Entry<'_>, owner: Option<CategoryId>) -> Listed {
    let unreadable = |why: String| Listed::Unreadable {
        id: peek_id(entry.bytes),
        why,
    };
    if let Some(why) = entry.over {
        return unreadable(why.to_owned());
    }
    let Ok(text) = std::str::from_utf8(entry.bytes) else {
        return unreadable("it is not UTF-8".to_owned());
    };
    let article: WireArticle = match serde_json::from_str(text) {
        Ok(article) => article,
        Err(error) => return unreadable(answer::shown(&error.to_string(), 200)),
    };
    let owner = owner.or_else(|| std::str::from_utf8(entry.owner?).ok()?.parse().ok());
    match article.into_article(Shown::Listed, owner) {
        Ok(article) => Listed::Article(Box::new(article)),
        Err(why) => unreadable(why),
    }
}
