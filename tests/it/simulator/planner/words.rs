//! A small world in few words, for the enumeration and for the reference model.
//!
//! Numbers stand for texts. The only types of the program here are three from its public interface: direction,
//! `on_conflict` and the kinds of actions.

use kbsync::reconcile::snapshot::{Direction, OnConflict};

/// The address of an article: its category and its slug.
pub(crate) type Address = (u8, u8);

/// The bit of [`Words::hidden`] for `enabled: false`.
pub(crate) const DISABLED: u8 = 1;

/// The bit of [`Words::hidden`] for `draft: true`.
pub(crate) const DRAFT: u8 = 2;

/// The words of an article on one side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Words {
    /// The title.
    pub(crate) title: u8,
    /// Category and slug.
    pub(crate) at: Address,
    /// The body: three paragraphs.
    pub(crate) body: [u8; 3],
    /// [`DISABLED`] and [`DRAFT`], as in the file, or as the service knows them.
    pub(crate) hidden: u8,
}

/// A title with a mark at its end, which the service trims: its response has title 0.
pub(crate) const UNTRIMMED: u8 = 3;

impl Words {
    /// Title, category, slug and the paragraphs.
    pub(crate) fn fields(self) -> [u8; 6] {
        let [one, two, three] = self.body;
        [self.title, self.at.0, self.at.1, one, two, three]
    }

    /// The inverse of [`Self::fields`].
    pub(crate) fn from_fields(fields: [u8; 6], hidden: u8) -> Self {
        let [title, category, slug, one, two, three] = fields;
        Self {
            title,
            at: (category, slug),
            body: [one, two, three],
            hidden,
        }
    }

    /// Returns whether the texts are the same, whatever the visibility.
    pub(crate) fn same_text(self, other: Self) -> bool {
        self.fields() == other.fields()
    }

    /// Returns the words as the service rewrites them.
    pub(crate) const fn answered(mut self) -> Self {
        if self.title == UNTRIMMED {
            self.title = 0;
        }
        self
    }
}

/// The words on which both sides last agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Agreed {
    /// The words of the file.
    pub(crate) file: Words,
    /// The words of the service's response.
    pub(crate) service: Words,
}

/// The mirror, for one article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Local {
    /// No file.
    Absent,
    /// A ready file of a known article.
    File {
        /// The words of the file.
        words: Words,
        /// Whether the file has its `id:` line; otherwise it is known by its place or its address.
        line: bool,
    },
    /// A ready file that is not known: it has no `id:` line, or is a copy.
    New(Words),
    /// A file that cannot be read as an article.
    Unready,
    /// Two files with the article's id, neither at its place.
    Twice,
}

/// The service, for one article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remote {
    /// No answer was received about it.
    Missing,
    /// The article was listed, or a probe was answered.
    Seen(Words),
    /// 404 to a GET and to a probe.
    Gone,
    /// The article left the listing, for an unknown reason.
    NotVisible,
    /// The article's entry could not be read.
    Unknown,
}

/// One article of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Article {
    /// The base, if there is one.
    pub(crate) base: Option<Agreed>,
    /// The mirror.
    pub(crate) local: Local,
    /// The service.
    pub(crate) remote: Remote,
    /// Whether the command's paths name the article's place.
    pub(crate) scope: Scope,
}

/// Returns the number of further articles that may have been removed, from the mirror and from the service: articles
/// that vanished and are not read yet, and articles with a removed file that cannot be read.
pub(super) fn waiting(articles: &[Article]) -> [usize; 2] {
    let vanished = articles.iter().filter(|one| one.has_vanished()).count();
    let unread = articles
        .iter()
        .filter(|one| one.is_removed_unread())
        .count();
    [vanished, vanished + unread]
}

impl Article {
    /// Returns whether the service no longer shows the article, for an unknown reason.
    fn has_vanished(&self) -> bool {
        self.remote == Remote::NotVisible && self.file().is_some()
    }

    /// Returns whether the article's file is gone, and the service did not answer with its version.
    fn is_removed_unread(&self) -> bool {
        let unread = matches!(self.remote, Remote::Unknown | Remote::Missing);
        self.base.is_some() && unread && self.file().is_none()
    }

    /// Returns the address that the article has on the service.
    pub(crate) fn address(&self) -> Option<Address> {
        match self.remote {
            Remote::Seen(words) => Some(words.at),
            Remote::Missing | Remote::Gone | Remote::NotVisible | Remote::Unknown => None,
        }
    }

    /// Returns the words of the article's file.
    pub(crate) fn file(&self) -> Option<Words> {
        match self.local {
            Local::File { words, .. } | Local::New(words) => Some(words),
            Local::Absent | Local::Unready | Local::Twice => None,
        }
    }
}

/// Whether the command is about an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// The article's places are in scope.
    In,
    /// The article's places are out of scope.
    Out,
    /// One of the article's present and future places is in scope, and one is not.
    Partly,
}

/// The rules of the whole cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    /// `sync`, `pull` or `push`.
    pub(crate) direction: Direction,
    /// The setting `on_conflict`.
    pub(crate) on_conflict: OnConflict,
    /// Whether the listing is complete.
    pub(crate) listed: bool,
    /// Whether the scan is complete.
    pub(crate) scanned: bool,
    /// The largest number of deletions on one side without a hold.
    pub(crate) max_deletes: usize,
}

impl Rules {
    pub(crate) fn pulls(&self) -> bool {
        self.direction.pulls()
    }

    pub(crate) fn pushes(&self) -> bool {
        self.direction.pushes()
    }

    /// Returns whether everything without a conflict may be done.
    pub(crate) fn settles_all(&self) -> bool {
        self.direction == Direction::Both && self.on_conflict == OnConflict::Hold
    }
}
