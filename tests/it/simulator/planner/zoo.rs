//! Whether it bites: every deliberate defect of the planner is found, and after how many worlds.

use super::run::until_failure;
use kbsync::drill::defect::{Defect, let_in};
use std::fmt;

/// The defects that this layer has to find.
pub(crate) const DEFECTS: [Defect; 23] = [
    Defect::AbsenceIsDeletion,
    Defect::DoubtIgnored,
    Defect::UnseenIsPostedAnew,
    Defect::HolderForgotten,
    Defect::WishOverwritten,
    Defect::EchoIsEdit,
    Defect::PullSends,
    Defect::ScanTrusted,
    Defect::GuardWithoutLimit,
    Defect::DeletionBeatsEdit,
    Defect::GoneBeatsEdit,
    Defect::SlugIsKey,
    Defect::ScopeIgnored,
    Defect::DeletionWithoutBase,
    Defect::RenameIsDeletion,
    Defect::CopyTakesOver,
    Defect::SwapWithoutParking,
    Defect::NameTaken,
    Defect::LastWriterWins,
    Defect::CopyAfterCopy,
    Defect::MergePicksOurs,
    Defect::FalseConflict,
    Defect::WholeFileWins,
];

/// How many worlds are tried for each, at most: an even slice of all.
const SLICE: u64 = 100_000;

/// A defect, and the world that found it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bite {
    /// The defect.
    pub(crate) defect: Defect,
    /// How many worlds it took; `None`: it was not found.
    pub(crate) worlds: Option<u64>,
    /// The world.
    pub(crate) told: String,
}

impl fmt::Display for Bite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.defect);
        let worlds = self
            .worlds
            .map_or_else(|| "never".to_owned(), |worlds| worlds.to_string());
        write!(f, "| {name:22} | {worlds:>7} | {} |", self.told)
    }
}

/// Lets one defect in, on this thread, and looks for it.
pub(crate) fn bite(defect: Defect) -> Bite {
    let_in(Some(defect));
    let found = until_failure(SLICE);
    let_in(None);
    let first = found.failures.first();
    Bite {
        defect,
        worlds: (found.failed > 0).then_some(found.worlds),
        told: first.map_or_else(String::new, |failure| {
            failure.told.lines().next().unwrap_or_default().to_owned()
        }),
    }
}
