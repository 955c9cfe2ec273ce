//! A small world in few words: what the enumeration makes, and what the reference model judges.
//!
//! Numbers stand for texts. Nothing of the program's own types is in here but three words of its public
//! interface: direction, `on_conflict` and the kinds of actions.

use kbsync::reconcile::snapshot::{Direction, OnConflict};

/// Where an article is: its category and its slug.
pub(crate) type Address = (u8, u8);

/// The bit of [`Words::hidden`] for `enabled: false`.
pub(crate) const DISABLED: u8 = 1;

/// The bit of [`Words::hidden`] for `draft: true`.
pub(crate) const DRAFT: u8 = 2;

/// What an article says on one side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Words {
    /// The title.
    pub(crate) title: u8,
    /// Category and slug.
    pub(crate) at: Address,
    /// The body: three paragraphs.
    pub(crate) body: [u8; 3],
    /// [`DISABLED`] and [`DRAFT`]; what stands in the file, or what the service knows.
    pub(crate) hidden: u8,
}

/// A title with a mark at its end, which the service trims: it answers with title 0.
pub(crate) const UNTRIMMED: u8 = 3;

impl Words {
    /// Title, category, slug and the paragraphs.
    pub(crate) fn fields(self) -> [u8; 6] {
        let [one, two, three] = self.body;
        [self.title, self.at.0, self.at.1, one, two, three]
    }

    /// The way back.
    pub(crate) fn from_fields(fields: [u8; 6], hidden: u8) -> Self {
        let [title, category, slug, one, two, three] = fields;
        Self {
            title,
            at: (category, slug),
            body: [one, two, three],
            hidden,
        }
    }

    /// Whether they differ in what readers are shown, and not in whether they are.
    pub(crate) fn same_text(self, other: Self) -> bool {
        self.fields() == other.fields()
    }

    /// What the service makes of them.
    pub(crate) const fn answered(mut self) -> Self {
        if self.title == UNTRIMMED {
            self.title = 0;
        }
        self
    }
}

/// What both sides held when they last agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Agreed {
    /// In the file.
    pub(crate) file: Words,
    /// What the service answered.
    pub(crate) service: Words,
}

/// The mirror, for one article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Local {
    /// No file.
    Absent,
    /// A ready file of a known article.
    File {
        /// What it says.
        words: Words,
        /// Whether it has its `id:` line; else it is known by its place or its address.
        line: bool,
    },
    /// A ready file of which nobody knows: it has no `id:` line, or is a copy.
    New(Words),
    /// Something that cannot be read as an article.
    Unready,
    /// Two files with its id, neither at its place.
    Twice,
}

/// The service, for one article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remote {
    /// Nothing was heard of it.
    Missing,
    /// It was listed, or a probe answered.
    Seen(Words),
    /// 404 to a GET and to a probe.
    Gone,
    /// It left the listing, and nothing says why.
    NotVisible,
    /// Its entry could not be read.
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
    /// Whether the command's paths name its place.
    pub(crate) scope: Scope,
}

/// How many articles may be removed besides those that are known to be, from the mirror and from the service: what
/// vanished and was not asked for yet, and what was removed and cannot be read.
pub(super) fn waiting(articles: &[Article]) -> [usize; 2] {
    let vanished = articles.iter().filter(|one| one.has_vanished()).count();
    let unread = articles
        .iter()
        .filter(|one| one.is_removed_unread())
        .count();
    [vanished, vanished + unread]
}

impl Article {
    /// Returns whether the service does not show it any more, and nobody knows why.
    fn has_vanished(&self) -> bool {
        self.remote == Remote::NotVisible && self.file().is_some()
    }

    /// Returns whether its file is gone, and the service did not say what it has.
    fn is_removed_unread(&self) -> bool {
        let unread = matches!(self.remote, Remote::Unknown | Remote::Missing);
        self.base.is_some() && unread && self.file().is_none()
    }

    /// The address that it is seen to have on the service.
    pub(crate) fn address(&self) -> Option<Address> {
        match self.remote {
            Remote::Seen(words) => Some(words.at),
            Remote::Missing | Remote::Gone | Remote::NotVisible | Remote::Unknown => None,
        }
    }

    /// What its file says.
    pub(crate) fn file(&self) -> Option<Words> {
        match self.local {
            Local::File { words, .. } | Local::New(words) => Some(words),
            Local::Absent | Local::Unready | Local::Twice => None,
        }
    }
}

/// Whether an article is meant by the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// It is.
    In,
    /// It is not.
    Out,
    /// It was or will be at a place that is, and at one that is not.
    Partly,
}

/// What holds for the whole cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    /// `sync`, `pull` or `push`.
    pub(crate) direction: Direction,
    /// The setting.
    pub(crate) on_conflict: OnConflict,
    /// Whether the listing was read whole.
    pub(crate) listed: bool,
    /// Whether the mirror was listed whole.
    pub(crate) scanned: bool,
    /// How many deletions towards one side go through.
    pub(crate) max_deletes: usize,
}

impl Rules {
    pub(crate) fn pulls(&self) -> bool {
        self.direction.pulls()
    }

    pub(crate) fn pushes(&self) -> bool {
        self.direction.pushes()
    }

    /// Returns whether everything may be done that is not in conflict.
    pub(crate) fn settles_all(&self) -> bool {
        self.direction == Direction::Both && self.on_conflict == OnConflict::Hold
    }
}
