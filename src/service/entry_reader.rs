//! Parses the entries of a listing one by one, and passes them to a sink. Pure, except for the sink.
//! An unreadable entry is passed on as unknown, and the other entries are kept (failures rows 39 and 128). A fault
//! that makes the whole answer invalid is stored.

use super::{
    Listed, RemoteCategory, answer,
    fingerprint::KnownEntries,
    splitter_types::{Entry, Sink},
    wire::{Seen, WireArticle, peek_id},
};
use crate::model::{ArticleId, CategoryId};
use std::collections::HashSet;

/// What was read so far, and where it goes.
pub(super) struct EntryReader<'a> {
    sink: &'a mut (dyn FnMut(Listed) + Send),
    known: Option<&'a KnownEntries>,
    /// The familiar entry that is due.
    due: usize,
    /// The category that was asked for, where one was.
    owner: Option<CategoryId>,
    seen: HashSet<ArticleId>,
    /// What the answer that is being read has handed on.
    delivered: Delivered,
    /// Entries so far.
    pub(super) entries: u64,
    /// Those that are articles.
    pub(super) readable: u64,
    /// Why the whole answer is none.
    pub(super) fault: Option<String>,
    /// Why the last unreadable entry was.
    pub(super) last_why: Option<String>,
}

/// What one answer has handed on, and the counts before it.
#[derive(Default)]
struct Delivered {
    ids: HashSet<ArticleId>,
    without_id: usize,
    due: usize,
    entries: u64,
    readable: u64,
    last_why: Option<String>,
}

impl<'a> EntryReader<'a> {
    /// Starts with nothing read.
    pub(super) fn new(sink: &'a mut (dyn FnMut(Listed) + Send)) -> Self {
        Self {
            sink,
            known: None,
            due: 0,
            owner: None,
            seen: HashSet::new(),
            delivered: Delivered::default(),
            entries: 0,
            readable: 0,
            fault: None,
            last_why: None,
        }
    }

    /// Tells entries again that need not be read, and fingerprints the others.
    pub(super) fn with(mut self, known: Option<&'a KnownEntries>) -> Self {
        self.known = known;
        self
    }

    /// Begins an answer: of one category, or of all.
    pub(super) fn begin(&mut self, owner: Option<CategoryId>) {
        self.owner = owner;
        self.delivered = Delivered {
            due: self.due,
            entries: self.entries,
            readable: self.readable,
            last_why: self.last_why.clone(),
            ..Delivered::default()
        };
    }

    /// Takes back what an answer has handed on that broke off: the same question is asked again.
    pub(super) fn retract(&mut self) {
        let delivered = std::mem::take(&mut self.delivered);
        if delivered.ids.is_empty() && delivered.without_id == 0 {
            return;
        }
        for id in &delivered.ids {
            self.seen.remove(id);
        }
        self.due = delivered.due;
        self.entries = delivered.entries;
        self.readable = delivered.readable;
        self.last_why = delivered.last_why;
        (self.sink)(Listed::Retracted {
            ids: delivered.ids,
            without_id: delivered.without_id,
        });
    }

    /// Hands on what an entry came to.
    fn deliver(&mut self, listed: Listed) {
        self.entries += 1;
        let id = match &listed {
            Listed::Article(article) => {
                self.readable += 1;
                Some(article.id)
            }
            Listed::Known(id) => {
                self.readable += 1;
                Some(*id)
            }
            Listed::Category(_) | Listed::Retracted { .. } => None,
            Listed::Unreadable { id, why } => {
                self.last_why = Some(why.clone());
                *id
            }
        };
        if let Some(id) = id.filter(|&id| !self.seen.insert(id)) {
            self.fault = Some(format!("two entries with the id {id}"));
            return;
        }
        self.delivered.ids.extend(id);
        self.delivered.without_id += usize::from(id.is_none());
        (self.sink)(listed);
    }

    /// Reads one entry, unless it is familiar.
    fn read(&mut self, entry: &Entry<'_>) -> Result<Listed, String> {
        // Of an entry over a cap not all bytes are there.
        let Some(known) = self.known.filter(|_| entry.over.is_none()) else {
            return decode(entry, self.owner);
        };
        let fingerprint = known.fingerprint(entry.bytes, around(self.owner.as_ref(), entry.owner));
        if let Some((at, id)) = known.find(fingerprint) {
            self.due = at + 1;
            return Ok(Listed::Known(id));
        }
        let mut listed = decode(entry, self.owner)?;
        if let Listed::Article(article) = &mut listed {
            article.fingerprint = Some(fingerprint);
        }
        Ok(listed)
    }

    /// Hands over a category that was read on the way.
    pub(super) fn category(&mut self, category: RemoteCategory) {
        (self.sink)(Listed::Category(Box::new(category)));
    }

    /// When there were entries and none was an article, this is a shape that is not known.
    pub(super) fn check(&self) -> Result<(), String> {
        match &self.last_why {
            Some(why) if self.readable == 0 => {
                Err(format!("no entry of the listing is an article: {why}"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Sink for EntryReader<'_> {
    fn take(&mut self, entry: &Entry<'_>) {
        if self.fault.is_some() {
            return;
        }
        match self.read(entry) {
            Ok(listed) => self.deliver(listed),
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn take_known(&mut self, bytes: &[u8], owner: Option<&[u8]>) -> Option<usize> {
        let known = self.known.filter(|_| self.fault.is_none())?;
        let (length, id) = known.begins(self.due, bytes, around(self.owner.as_ref(), owner))?;
        self.due += 1;
        self.deliver(Listed::Known(id));
        Some(length)
    }
}

/// The category around an entry, as it goes into the entry's fingerprint: that which was asked for, where one was.
fn around<'a>(asked_for: Option<&'a CategoryId>, around: Option<&'a [u8]>) -> &'a [u8] {
    match asked_for {
        Some(owner) => owner.as_bytes(),
        None => around.unwrap_or_default(),
    }
}

/// Reads one entry. Fails when it is not JSON: then the whole answer is not.
fn decode(entry: &Entry<'_>, owner: Option<CategoryId>) -> Result<Listed, String> {
    let unreadable = |why: String| Listed::Unreadable {
        id: peek_id(entry.bytes),
        why,
    };
    if let Some(why) = entry.over {
        return Ok(unreadable(why.to_owned()));
    }
    let Ok(text) = std::str::from_utf8(entry.bytes) else {
        return Ok(unreadable("it is not UTF-8".to_owned()));
    };
    let article: WireArticle = match serde_json::from_str(text) {
        Ok(article) => article,
        Err(error) if error.is_data() => {
            return Ok(unreadable(answer::shown(&error.to_string(), 200)));
        }
        Err(error) => return Err(format!("an article in it is no JSON: {error}")),
    };
    let owner = owner.or_else(|| std::str::from_utf8(entry.owner?).ok()?.parse().ok());
    Ok(match article.into_article(Seen::Listed, owner) {
        Ok(article) => Listed::Article(Box::new(article)),
        Err(why) => unreadable(why),
    })
}
