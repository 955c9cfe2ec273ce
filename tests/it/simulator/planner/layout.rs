//! A world as it is laid out: the mirror, the service, and the model's view of them.

use super::states::{Here, Known, State, There};
use super::words::{
    Address, Agreed, Article, DISABLED, DRAFT, Local, Remote, Rules, Scope, UNTRIMMED, Words,
};

/// The addresses around an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Around {
    pub(super) home: Address,
    pub(super) away: Address,
    pub(super) neighbour: Address,
    /// The number in the `slug:` line.
    pub(super) line: u8,
    /// The names of two files beside the article's file.
    pub(super) copies: [u8; 2],
}

/// Returns the addresses of two articles in one folder, or of one slug in two folders.
pub(super) fn around(slot: u8, together: bool) -> Around {
    let other = 1 - slot;
    let copies = [40 + slot, 50 + slot];
    if together {
        return Around {
            home: (0, slot),
            away: (0, 20 + slot),
            neighbour: (0, other),
            line: other,
            copies,
        };
    }
    Around {
        home: (slot, 0),
        away: (slot, 20 + slot),
        neighbour: (other, 0),
        line: 60 + slot,
        copies,
    }
}

/// A file in the mirror.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct File {
    pub(super) folder: u8,
    pub(super) name: u8,
    /// Whether the file has its `id:` line.
    pub(super) line: bool,
    pub(super) words: Words,
}

/// An article of a world as it is laid out: the model's view, and the files in the mirror.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) article: Article,
    /// A second file, which counts as an article of its own.
    pub(super) copy: Option<Article>,
    pub(super) home: Address,
    pub(super) files: [Option<File>; 2],
    /// The folder and name of an unreadable file, and whether its id is readable.
    pub(super) unready: Option<(u8, u8, bool)>,
}

/// Lays an article out.
pub(super) fn piece(state: State, around: Around) -> Piece {
    let plain = Words {
        title: 0,
        at: around.home,
        body: [0; 3],
        hidden: if state.base == Known::Draft { DRAFT } else { 0 },
    };
    let agreed = Agreed {
        file: Words {
            title: if state.base == Known::Rewritten {
                UNTRIMMED
            } else {
                0
            },
            ..plain
        },
        service: plain,
    };
    let base = (state.base != Known::No).then_some(agreed);
    let words = here(state.here, agreed.file, around);
    let file = |name: u8, words: Words| File {
        folder: words.at.0,
        name,
        line: !matches!(state.here, Here::NoId | Here::Fresh),
        words,
    };
    let copy_words = |name: u8| Words {
        at: (around.home.0, name),
        ..agreed.file
    };
    let [one, two] = around.copies;
    // A file without an id whose article is not shown is an article of its own.
    let alone = state.here == Here::Fresh && there(state.there, plain, around).is_none();
    let files = match state.here {
        Here::Absent | Here::Unready => [None, None],
        Here::Fresh if alone => [None, Some(file(words.at.1, words))],
        Here::ByLine => [Some(file(around.home.1, words)), None],
        Here::Copied => [
            Some(file(around.home.1, words)),
            Some(file(one, copy_words(one))),
        ],
        Here::Twice => [one, two].map(|name| Some(file(name, copy_words(name)))),
        Here::Same
        | Here::Title
        | Here::First
        | Here::Middle
        | Here::Agreed
        | Here::Away
        | Here::AwayMiddle
        | Here::Neighbour
        | Here::Disabled
        | Here::NoId
        | Here::New
        | Here::Fresh => [Some(file(words.at.1, words)), None],
    };
    let local = match state.here {
        Here::Absent => Local::Absent,
        Here::Unready => Local::Unready,
        Here::Twice => Local::Twice,
        Here::Fresh if alone => Local::Absent,
        Here::Same
        | Here::Title
        | Here::First
        | Here::Middle
        | Here::Agreed
        | Here::Away
        | Here::AwayMiddle
        | Here::Neighbour
        | Here::ByLine
        | Here::Copied
        | Here::Disabled
        | Here::NoId
        | Here::New
        | Here::Fresh => Local::File {
            words,
            line: !matches!(state.here, Here::NoId | Here::Fresh),
        },
    };
    Piece {
        article: Article {
            base,
            local,
            remote: remote(state.there, plain, around),
            scope: Scope::In,
        },
        copy: (state.here == Here::Copied || alone).then(|| Article {
            base: None,
            local: Local::New(if alone { words } else { copy_words(one) }),
            remote: Remote::Missing,
            scope: Scope::In,
        }),
        home: around.home,
        files,
        unready: (state.here == Here::Unready).then_some((
            around.home.0,
            around.home.1,
            base.is_none(),
        )),
    }
}

fn here(here: Here, was: Words, around: Around) -> Words {
    let [one, two, three] = was.body;
    match here {
        Here::Title => Words { title: 1, ..was },
        Here::First => Words {
            body: [1, two, three],
            ..was
        },
        Here::Middle => Words {
            body: [one, 1, three],
            ..was
        },
        Here::Agreed => Words {
            body: [one, 3, three],
            ..was
        },
        Here::Away => Words {
            at: around.away,
            ..was
        },
        Here::AwayMiddle => Words {
            at: around.away,
            body: [one, 1, three],
            ..was
        },
        Here::Neighbour => Words {
            at: around.neighbour,
            ..was
        },
        Here::ByLine => Words {
            at: (around.home.0, around.line),
            ..was
        },
        Here::Disabled => Words {
            hidden: was.hidden | DISABLED,
            ..was
        },
        Here::Absent
        | Here::Same
        | Here::Unready
        | Here::Copied
        | Here::Twice
        | Here::NoId
        | Here::New
        | Here::Fresh => was,
    }
}

/// Returns the words that the service shows, if it shows any.
fn there(there: There, was: Words, around: Around) -> Option<Words> {
    let [one, two, three] = was.body;
    Some(match there {
        There::Same => was,
        There::Title => Words { title: 2, ..was },
        There::Last => Words {
            body: [one, two, 2],
            ..was
        },
        There::Middle => Words {
            body: [one, 2, three],
            ..was
        },
        There::Agreed => Words {
            body: [one, 3, three],
            ..was
        },
        There::Away => Words {
            at: (around.away.0, around.away.1 + 10),
            ..was
        },
        There::Neighbour => Words {
            at: around.neighbour,
            ..was
        },
        There::Hidden => Words {
            hidden: DRAFT,
            ..was
        },
        There::HiddenTitle => Words {
            title: 2,
            hidden: DRAFT,
            ..was
        },
        There::Published => Words { hidden: 0, ..was },
        There::Missing | There::Gone | There::NotVisible | There::Unknown => return None,
    })
}

fn remote(state: There, was: Words, around: Around) -> Remote {
    match (there(state, was, around), state) {
        (Some(words), _) => Remote::Seen(words),
        (None, There::Gone) => Remote::Gone,
        (None, There::NotVisible) => Remote::NotVisible,
        (None, There::Unknown) => Remote::Unknown,
        (None, _) => Remote::Missing,
    }
}

/// A whole world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) pieces: Vec<Piece>,
    pub(super) rules: Rules,
    /// The path that the command names, as an address.
    pub(super) only: Option<Address>,
    /// The number of categories.
    pub(super) folders: u8,
}

impl Layout {
    /// Returns whether such a world is possible.
    pub(super) fn possible(&self) -> bool {
        for (index, piece) in self.pieces.iter().enumerate() {
            for other in &self.pieces[..index] {
                let clash = piece
                    .taken()
                    .any(|place| other.taken().any(|taken| taken == place));
                let addresses = match (piece.article.remote, other.article.remote) {
                    (Remote::Seen(one), Remote::Seen(two)) => one.at == two.at,
                    _ => false,
                };
                if clash || addresses {
                    return false;
                }
            }
        }
        true
    }

    /// Returns whether both layouts look the same: paths, direction and settings may differ.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        self.pieces == other.pieces
            && self.folders == other.folders
            && (self.rules.listed, self.rules.scanned) == (other.rules.listed, other.rules.scanned)
    }

    /// Returns whether the two differ in `on_conflict` at most.
    pub(super) fn but_for_conflicts(&self, other: &Self) -> bool {
        self.looks_like(other)
            && self.only == other.only
            && self.rules.direction == other.rules.direction
            && self.rules.max_deletes == other.rules.max_deletes
    }

    /// Returns the model's view: the articles in order, then the copies.
    pub(super) fn articles(&self) -> Vec<Article> {
        let articles = self
            .pieces
            .iter()
            .map(|piece| self.told(piece, piece.article, 0));
        let copies = self.pieces.iter();
        let copies = copies.filter_map(|piece| Some(self.told(piece, piece.copy?, 1)));
        articles.chain(copies).collect()
    }

    fn told(&self, piece: &Piece, article: Article, file: usize) -> Article {
        let Some(only) = self.only else {
            return article;
        };
        let at = piece.files[file].map(|file| (file.folder, file.name));
        let new = match (article.base, article.remote) {
            (None, Remote::Seen(words)) => Some(words.at),
            _ => None,
        };
        let home = article.base.is_some().then_some(piece.home);
        let places = [at, new, home].into_iter().flatten();
        let (inside, outside): (Vec<Address>, Vec<Address>) = places.partition(|at| *at == only);
        // A new file is not at its address if another file has the name.
        let mut pieces = self.pieces.iter();
        let elsewhere =
            new.is_some_and(|at| pieces.any(|other| other.taken().any(|taken| taken == at)));
        let scope = match (inside.is_empty(), outside.is_empty()) {
            (false, true) if !elsewhere => Scope::In,
            (true, _) => Scope::Out,
            (false, _) => Scope::Partly,
        };
        Article { scope, ..article }
    }
}

impl Piece {
    fn taken(&self) -> impl Iterator<Item = Address> {
        let files = self.files.into_iter().flatten();
        files
            .map(|file| (file.folder, file.name))
            .chain(self.unready.map(|(folder, name, _)| (folder, name)))
    }
}
