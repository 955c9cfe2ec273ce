//! I13: a fault at one article delays this article alone.
//!
//! Two runs are compared after the last cycle of a trace: one without a fault, and one in which the service refused one
//! article (403, 422) or the disk refused one file. Only these may differ: the struck article; an article that has its
//! address in either run and waits for it; an article that has or wants the address that the struck file wants, and
//! that waited for it in the run without a fault; and an article whose file wants the struck article's address.

use super::run::Outcome;
use super::step::{Call, Step, What};
use super::world::{Side, Violation, World, has_ending, id_of};
use kbsync::model::ArticleId;
use std::collections::BTreeSet;

/// A folder or a category, and a name without its ending.
pub(crate) type Address = (String, String);

/// A file or an article at some moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) side: Side,
    pub(crate) id: Option<ArticleId>,
    pub(crate) at: Address,
    pub(crate) words: String,
}

/// Returns all files and articles.
pub(crate) fn pieces(world: &World) -> Vec<Piece> {
    let mut pieces = Vec::new();
    world.mirror.each(&mut |folder, name, bytes, _| {
        if !has_ending(name, ".html") || name.starts_with('.') {
            return;
        }
        let stem = name.strip_suffix(".html").unwrap_or(name);
        let stem = stem.strip_suffix(".conflict").unwrap_or(stem);
        pieces.push(Piece {
            side: Side::Mirror,
            id: id_of(bytes),
            at: (folder.to_owned(), stem.to_owned()),
            words: format!("{folder}/{name}: {}", String::from_utf8_lossy(bytes)),
        });
    });
    for article in world.kb.articles.values() {
        let category = world.kb.categories.get(&article.category);
        let category = category.map(|category| category.version.slug.clone());
        pieces.push(Piece {
            side: Side::Service,
            id: Some(article.id),
            at: (category.unwrap_or_default(), article.slug.clone()),
            words: article.line(),
        });
    }
    pieces
}

/// Returns the address that a file wants by its `slug:` line.
fn wanted(piece: &Piece) -> Option<Address> {
    let mut lines = piece.words.lines().filter(|_| piece.side == Side::Mirror);
    let slug = lines.find_map(|line| line.strip_prefix("slug: "))?;
    Some((piece.at.0.clone(), slug.to_owned()))
}

/// Returns whether a piece is a conflict copy.
fn is_copy(piece: &Piece) -> bool {
    let path = piece.words.split(": ").next();
    piece.side == Side::Mirror && path.is_some_and(|path| path.ends_with(".conflict.html"))
}

/// The object of a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Struck {
    /// The call that failed.
    pub(crate) call: Call,
    /// The path or id of the call.
    pub(crate) what: String,
    /// The article of the file: its folder may have another name by the end of the cycle.
    pub(crate) id: Option<ArticleId>,
}

/// The faults that can strike one article.
const FAULTS: [(Call, What); 12] = [
    (Call::Update, What::Refused),
    (Call::Create, What::Refused),
    (Call::Delete, What::Refused),
    (Call::Read, What::Forbidden),
    (Call::Update, What::Forbidden),
    (Call::Create, What::Forbidden),
    (Call::Delete, What::Forbidden),
    (Call::Publish, What::Denied),
    (Call::ReadFile, What::Denied),
    (Call::RenameFile, What::Denied),
    (Call::RemoveFile, What::Denied),
    (Call::Publish, What::Broken),
];

/// Returns one of the faults that can strike a run in its last cycle.
pub(crate) fn fault(number: u16, run: &Outcome) -> Option<Step> {
    let number = usize::from(number);
    let made = |call: Call| run.calls.get(&call).copied().unwrap_or_default();
    let can: Vec<_> = FAULTS.iter().filter(|(call, _)| made(*call) > 0).collect();
    let (call, what) = *can.get(number.checked_rem(can.len())?)?;
    let nth = u8::try_from(number).unwrap_or_default() % made(*call);
    let (call, what) = (*call, *what);
    Some(Step::Fault { call, nth, what })
}

/// Returns whether the fault concerns one article, and not the ignore rules or a category.
pub(crate) fn is_one_article(struck: Option<&Struck>) -> bool {
    struck.is_some_and(|struck| struck.call.is_request() || has_ending(&struck.what, ".html"))
}

/// Returns what one run did and the other did not, apart from the effects of the fault.
///
/// A cycle in which the disk failed deletes nothing, so the second run may still have what the first run deleted. An
/// unreadable file may belong to an article of its folder that has no file, and with a new state to any article: no
/// second file is written for it. A folder is a category by its ready files: if its only file is unreadable, its name
/// is taken, and the service's category of that name gets another folder.
pub(crate) fn differ(first: &Outcome, second: &Outcome) -> Option<Violation> {
    let Struck {
        call,
        what: struck,
        id: own,
    } = second.struck.as_ref()?;
    let hit = |piece: &Piece| {
        let (folder, stem) = &piece.at;
        let named = |id: ArticleId| *own == Some(id) || struck.contains(&id.to_string());
        piece.id.is_some_and(named)
            || struck.contains(&format!("{folder}/{stem}."))
            || (*call == Call::Create && struck == stem)
    };
    // An article whose file was removed and that cannot be read counts as one deletion more, so that the second run may
    // hold all its deletions. A copy of a deleted article may lie elsewhere, in both runs.
    let waits = |piece: &Piece| {
        let same = |other: &&Piece| (other.id, other.side) == (piece.id, piece.side);
        let mut there = first.halfway.iter().filter(same);
        let stays = |other: &Piece| other != piece && second.halfway.contains(other);
        (!call.is_request() || *call == Call::Read) && there.all(stays)
    };
    let unmade = |piece: &Piece| {
        let same = |other: &Piece| (other.id, other.side) == (piece.id, piece.side);
        let beside = struck
            .split_once('/')
            .is_some_and(|(at, _)| at == piece.at.0);
        // A conflict copy is not the article's file.
        let is_file = |other: &Piece| same(other) && !is_copy(other);
        let is_missing = piece.side == Side::Mirror && !second.halfway.iter().any(is_file);
        *call == Call::ReadFile && (beside || second.first) && is_missing
    };
    let renamed = |piece: &Piece| {
        let at = struck.split_once('/').map_or("", |(folder, _)| folder);
        let other = format!("{at}~");
        let gets = |piece: &Piece| piece.at.0.starts_with(&other);
        let here = piece.at.0 == at || gets(piece);
        let gets_it = second.halfway.iter().any(gets) && !first.halfway.iter().any(gets);
        *call == Call::ReadFile && here && gets_it
    };
    let both = || first.halfway.iter().chain(&second.halfway);
    let known = || first.known.iter().chain(&second.known);
    let (mut ids, mut places) = (BTreeSet::new(), BTreeSet::new());
    let named = |id: ArticleId| *own == Some(id) || struck.contains(&id.to_string());
    ids.extend(known().map(|(id, _)| *id).filter(|id| named(*id)));
    // Only the article's own addresses: an article at another article's address waits for nobody.
    let addresses = known().filter(|(id, _)| ids.contains(id));
    places.extend(addresses.map(|(_, at)| at.clone()));
    // An article waits for an address as long as the address is known to be taken, and the address of an unreadable
    // article is not known.
    let taken: BTreeSet<Address> = both()
        .filter(|piece| piece.side == Side::Service && hit(piece))
        .map(|piece| piece.at.clone())
        .collect();
    let wants_it = |piece: &Piece| wanted(piece).is_some_and(|at| taken.contains(&at));
    loop {
        let before = (ids.len(), places.len());
        for piece in both() {
            let id = piece.id.is_some_and(|id| ids.contains(&id));
            let known = id || places.contains(&piece.at);
            let other = waits(piece) || unmade(piece) || renamed(piece) || wants_it(piece);
            if known || hit(piece) || other {
                ids.extend(piece.id);
                places.insert(piece.at.clone());
                places.extend(wanted(piece).filter(|_| hit(piece)));
            }
        }
        if before == (ids.len(), places.len()) {
            break;
        }
    }
    let apart: Vec<&Piece> = both()
        .filter(|piece| !(first.halfway.contains(piece) && second.halfway.contains(piece)))
        .filter(|piece| !places.contains(&piece.at))
        .collect();
    (!apart.is_empty()).then(|| Violation {
        invariant: "I13",
        message: format!("{call:?} of {struck} went wrong, and these differ: {apart:#?}"),
    })
}
