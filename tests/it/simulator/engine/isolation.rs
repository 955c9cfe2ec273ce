//! I13: what goes wrong with one article delays that article alone.
//!
//! Two runs are compared as they are after the last cycle of a trace: one in which nothing went wrong in it, and one
//! in which the service refused one article (403, 422), or the disk one file. What differs has to be that article,
//! or one that has its address in either of the runs, and waits for it; or that has or wants the address that its file
//! wants, and waited for it as long as nothing went wrong; or whose file wants the address that the article has.

use super::run::Outcome;
use super::step::{Call, Step, What};
use super::world::{Side, Violation, World, has_ending, id_of};
use kbsync::model::ArticleId;
use kbsync::reconcile::guard::MaxDeletes;
use std::collections::BTreeSet;

/// A folder or a category, and a name in it without its ending.
pub(crate) type Address = (String, String);

/// A file or an article, as it is at some moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) side: Side,
    pub(crate) id: Option<ArticleId>,
    pub(crate) at: Address,
    pub(crate) words: String,
}

/// All files and articles.
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

/// The address that a file wants by its line `slug:`.
fn wanted(piece: &Piece) -> Option<Address> {
    let mut lines = piece.words.lines().filter(|_| piece.side == Side::Mirror);
    let slug = lines.find_map(|line| line.strip_prefix("slug: "))?;
    Some((piece.at.0.clone(), slug.to_owned()))
}

/// Returns whether it is the copy of a conflict.
fn is_copy(piece: &Piece) -> bool {
    let path = piece.words.split(": ").next();
    piece.side == Side::Mirror && path.is_some_and(|path| path.ends_with(".conflict.html"))
}

/// What something went wrong with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Struck {
    /// What was called.
    pub(crate) call: Call,
    /// What it was about.
    pub(crate) what: String,
    /// The article whose file that was: its folder may have another name by the end of the cycle.
    pub(crate) id: Option<ArticleId>,
}

/// What may go wrong with one article.
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

/// One of the faults that can strike a run in its last cycle.
pub(crate) fn fault(number: u16, run: &Outcome) -> Option<Step> {
    let number = usize::from(number);
    let made = |call: Call| run.calls.get(&call).copied().unwrap_or_default();
    let can: Vec<_> = FAULTS.iter().filter(|(call, _)| made(*call) > 0).collect();
    let (call, what) = *can.get(number.checked_rem(can.len())?)?;
    let nth = u8::try_from(number).unwrap_or_default() % made(*call);
    let (call, what) = (*call, *what);
    Some(Step::Fault { call, nth, what })
}

/// Returns whether what went wrong concerns one article, and not the rules of the mirror or a category.
pub(crate) fn is_one_article(struck: Option<&Struck>) -> bool {
    struck.is_some_and(|struck| struck.call.is_request() || has_ending(&struck.what, ".html"))
}

/// Returns whether the second run may hold all its deletions: an article whose file was removed, and that cannot be read,
/// counts as one more.
fn is_held(call: Call, first: &Outcome, second: &Outcome) -> bool {
    let there = |run: &Outcome, piece: &Piece| {
        let same = |other: &Piece| (other.id, other.side) == (piece.id, piece.side);
        run.halfway.iter().any(same)
    };
    let on_service = second.halfway.iter();
    let on_service = on_service.filter(|piece| piece.side == Side::Service);
    let deleted = on_service.filter(|piece| !there(first, piece)).count();
    let limits = MaxDeletes {
        count: u32::from(second.trace.setup.max_deletes),
        percent: 25,
    };
    // In the first run they were few enough.
    call == Call::Read && deleted == limits.limit(second.known.len())
}

/// What one of the runs did and the other did not, though it has nothing to do with what was struck.
///
/// Nothing is deleted in a cycle in which the disk failed: what the first run deleted may be there.
/// A file that cannot be read may be that of an article of its folder that has none, or with a new state of any: nobody
/// makes it a second one.
/// A folder is a category by its ready files: where the only one cannot be read, its name is taken, and
/// the service's category of that name gets another one.
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
    // A copy of what was deleted may lie elsewhere, in both runs.
    let waits = |piece: &Piece| {
        let same = |other: &&Piece| (other.id, other.side) == (piece.id, piece.side);
        let mut there = first.halfway.iter().filter(same);
        let stays = |other: &Piece| other != piece && second.halfway.contains(other);
        (!call.is_request() || is_held(*call, first, second)) && there.all(stays)
    };
    let unmade = |piece: &Piece| {
        let same = |other: &Piece| (other.id, other.side) == (piece.id, piece.side);
        let beside = struck
            .split_once('/')
            .is_some_and(|(at, _)| at == piece.at.0);
        // The copy of a conflict is no file of its.
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
    // Only its own addresses: what has another one's waits for nobody.
    let addresses = known().filter(|(id, _)| ids.contains(id));
    places.extend(addresses.map(|(_, at)| at.clone()));
    // What wants its address waits for it as long as it is known to have it: one that cannot be read is not.
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
