//! Takes the entries of a listing one by one, and hands them on. Pure but for where they go.
//!
//! An entry that cannot be read is handed on as unknown and leaves the rest alone (failures rows 39 and
//! 128); what voids the whole answer is kept as its fault.

use super::{
    Listed, RemoteCategory, answer,
    familiar::Familiar,
    pieces::{Entry, Sink},
    wire::{Seen, WireArticle, peek_id},
};
use crate::model::{ArticleId, CategoryId};
use std::collections::HashSet;

/// What was read so far, and where it goes.
pub(super) struct Harvest<'a> {
    sink: &'a mut (dyn FnMut(Listed) + Send),
    familiar: Option<&'a Familiar>,
    /// The familiar entry that is due.
    due: usize,
    /// The category that was asked for, where one was.
    owner: Option<CategoryId>,
    seen: HashSet<ArticleId>,
    /// What the answer that is being read has handed on.
    handed: Handed,
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
struct Handed {
    ids: HashSet<ArticleId>,
    nameless: usize,
    due: usize,
    entries: u64,
    readable: u64,
    last_why: Option<String>,
}

impl<'a> Harvest<'a> {
    /// Starts with nothing read.
    pub(super) fn new(sink: &'a mut (dyn FnMut(Listed) + Send)) -> Self {
        Self {
            sink,
            familiar: None,
            due: 0,
            owner: None,
            seen: HashSet::new(),
            handed: Handed::default(),
            entries: 0,
            readable: 0,
            fault: None,
            last_why: None,
        }
    }

    /// Tells entries again that need not be read, and marks the others.
    pub(super) fn with(mut self, familiar: Option<&'a Familiar>) -> Self {
        self.familiar = familiar;
        self
    }

    /// Begins an answer: of one category, or of all.
    pub(super) fn begin(&mut self, owner: Option<CategoryId>) {
        self.owner = owner;
        self.handed = Handed {
            due: self.due,
            entries: self.entries,
            readable: self.readable,
            last_why: self.last_why.clone(),
            ..Handed::default()
        };
    }

    /// Takes back what an answer has handed on that broke off: the same question is asked again.
    pub(super) fn take_back(&mut self) {
        let handed = std::mem::take(&mut self.handed);
        if handed.ids.is_empty() && handed.nameless == 0 {
            return;
        }
        for id in &handed.ids {
            self.seen.remove(id);
        }
        self.due = handed.due;
        self.entries = handed.entries;
        self.readable = handed.readable;
        self.last_why = handed.last_why;
        (self.sink)(Listed::TakenBack {
            ids: handed.ids,
            nameless: handed.nameless,
        });
    }

    /// Hands on what an entry came to.
    fn hand_on(&mut self, listed: Listed) {
        self.entries += 1;
        let id = match &listed {
            Listed::Article(article) => {
                self.readable += 1;
                Some(article.id)
            }
            Listed::Familiar(id) => {
                self.readable += 1;
                Some(*id)
            }
            Listed::Category(_) | Listed::TakenBack { .. } => None,
            Listed::Unreadable { id, why } => {
                self.last_why = Some(why.clone());
                *id
            }
        };
        if let Some(id) = id.filter(|&id| !self.seen.insert(id)) {
            self.fault = Some(format!("two entries with the id {id}"));
            return;
        }
        self.handed.ids.extend(id);
        self.handed.nameless += usize::from(id.is_none());
        (self.sink)(listed);
    }

    /// Reads one entry, unless it is familiar.
    fn read(&mut self, entry: &Entry<'_>) -> Result<Listed, String> {
        // Of an entry over a cap not all bytes are there.
        let Some(familiar) = self.familiar.filter(|_| entry.over.is_none()) else {
            return decode(entry, self.owner);
        };
        let mark = familiar.mark(entry.bytes, around(self.owner.as_ref(), entry.owner));
        if let Some((at, id)) = familiar.find(mark) {
            self.due = at + 1;
            return Ok(Listed::Familiar(id));
        }
        let mut listed = decode(entry, self.owner)?;
        if let Listed::Article(article) = &mut listed {
            article.mark = Some(mark);
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

impl Sink for Harvest<'_> {
    fn take(&mut self, entry: &Entry<'_>) {
        if self.fault.is_some() {
            return;
        }
        match self.read(entry) {
            Ok(listed) => self.hand_on(listed),
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn take_met(&mut self, bytes: &[u8], owner: Option<&[u8]>) -> Option<usize> {
        let familiar = self.familiar.filter(|_| self.fault.is_none())?;
        let (length, id) = familiar.begins(self.due, bytes, around(self.owner.as_ref(), owner))?;
        self.due += 1;
        self.hand_on(Listed::Familiar(id));
        Some(length)
    }
}

/// The category around an entry, as it goes into the entry's mark: that which was asked for, where one was.
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
